//! `keeper status`: breakers read straight from storage.

use crate::support::{Chain, keeper_output, stderr, stdout, write_deployment};

fn row(output: &std::process::Output) -> Vec<String> {
    assert!(output.status.success(), "{}", stderr(output));
    let out = stdout(output);
    let row = out.lines().nth(1).unwrap_or_else(|| panic!("no row in {out}"));
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

#[tokio::test]
async fn it_shows_a_breaker_through_its_life() {
    let chain = Chain::start().await;
    let key = format!("31337:{}:0x00", chain.host);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("31337.json");
    write_deployment(&file, 31337, chain.host, &format!("{:#066x}", 0));
    let url = chain.url();
    let by_file = ["status", "--rpc-url", &url, "--deployment", file.to_str().unwrap()];
    let host = chain.host.to_string();
    let by_address = ["status", "--rpc-url", &url, "--watch", &host];

    assert_eq!(
        row(&keeper_output(by_file)),
        ["resilient/primary", "closed", "0/3", "–", "0", &key]
    );
    assert_eq!(row(&keeper_output(by_address)), ["–", "closed", "0/3", "–", "0", &key]);

    chain.trip().await;
    assert_eq!(
        row(&keeper_output(by_file)),
        ["resilient/primary", "open", "3/3", "100 s", "0", &key]
    );

    chain.advance(40).await;
    assert_eq!(row(&keeper_output(by_file))[3], "60 s");
    chain.advance(60).await;
    assert_eq!(
        row(&keeper_output(by_file)),
        ["resilient/primary", "half-open", "3/3", "now", "0", &key]
    );

    chain.ask().await;
    assert_eq!(
        row(&keeper_output(by_file)),
        ["resilient/primary", "open", "3/3", "100 s", "1", &key]
    );
}

#[tokio::test]
async fn one_breaker_is_shown_by_its_label_or_its_key() {
    let chain = Chain::start().await;
    let url = chain.url();
    let host = chain.host.to_string();
    let key = format!("31337:{}:0x00", chain.host);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("31337.json");
    write_deployment(&file, 31337, chain.host, &format!("{:#066x}", 0));
    // The id as the key has it does for the file, too.
    write_deployment(&file, 31337, chain.host, "0x00");
    for name in ["resilient/primary", &key, &key.to_lowercase()] {
        let output =
            keeper_output(["status", name, "-r", &url, "--deployment", file.to_str().unwrap()]);
        assert_eq!(row(&output)[5], key);
    }
    let output = keeper_output(["status", "resilient/backup", "-r", &url, "--watch", &host]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output)
            .contains(&format!("there is no breaker `resilient/backup`; there are {key}")),
        "{}",
        stderr(&output)
    );
}

#[tokio::test]
async fn json_has_the_same_for_programs() {
    let chain = Chain::start().await;
    let block = chain.trip().await;
    let output =
        keeper_output(["status", "-r", &chain.url(), "--watch", &chain.host.to_string(), "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let breaker = &document[0];
    assert_eq!(breaker["key"], format!("31337:{}:0x00", chain.host));
    assert_eq!(
        (&breaker["state"], &breaker["failures"], &breaker["threshold"]),
        (&"open".into(), &3.into(), &3.into())
    );
    assert_eq!(breaker["block"], block);
    assert!(breaker["retry_at"].is_u64());
}
