//! `keeper check --online`: each node by itself, the contracts, the store.

use crate::{
    config::Folder,
    support::{Chain, stderr, stdout, write_deployment},
};
use fusebox_testkit::{Chain as Scripted, Node};

fn provider(chain: u64, name: &str, url: &str) -> String {
    format!("[[profile.default.chain.{chain}.provider]]\nname = \"{name}\"\nhttp = \"{url}\"\n")
}

fn chain(id: u64, watch: &str) -> String {
    format!("[chain.dev]\nid = {id}\n[[chain.dev.watch]]\n{watch}\n")
}

#[tokio::test]
async fn what_is_well_is_told_of_each_node_and_it_ends_with_0() {
    let dev = Chain::start().await;
    dev.trip().await;
    let watch = "deployments = \"31337.json\"";
    let folder = Folder::with(&(provider(31337, "main", &dev.url()) + &chain(31337, watch)));
    write_deployment(&folder.path("31337.json"), 31337, dev.host, "0x00");
    let output = folder.run(&["check", "--online"], &[]);
    let out = stdout(&output);
    assert!(output.status.success(), "{out}{}", stderr(&output));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "ok     the file: 1 chain, 1 contract, 0 channels, 0 routes");
    assert!(lines[1].starts_with("ok     dev main: head 7, genesis 0x"), "{out}");
    assert!(lines[1].contains("has finalized, safe, receipts, logs by hash"), "{out}");
    assert!(lines[2].contains("keeper.db is made at the first start"), "{out}");
    assert!(!folder.path("keeper.db").exists());
}

#[tokio::test]
async fn an_address_without_a_contract_ends_with_3() {
    let dev = Chain::start().await;
    let watch =
        "address = \"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\"\nlabel = \"vault\"\nstart = 0";
    let folder = Folder::with(&(provider(31337, "main", &dev.url()) + &chain(31337, watch)));
    let output = folder.run(&["check", "--online"], &[]);
    assert_eq!(output.status.code(), Some(3));
    let want =
        "wrong  dev: there is no contract at 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed (vault)";
    assert!(stdout(&output).contains(want), "{}", stdout(&output));
    assert!(
        stderr(&output).starts_with("error: 1 finding: dev: there is no contract"),
        "{}",
        stderr(&output)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_wrong_silent_or_behind_are_findings() {
    let node = |id: u64, blocks: u64| {
        let chain = Scripted::with_id(id);
        chain.mine_empty(blocks);
        Node::scripted(&chain)
    };
    let watch = "anywhere = true";
    let ahead = node(5, 10).start().await.unwrap();
    let other = node(6, 10).start().await.unwrap();
    let behind = node(5, 2).start().await.unwrap();
    for (nodes, code, want) in [
        (vec![ahead.url()], Some(0), "ok     dev n0: head 10"),
        (vec![other.url()], Some(4), "dev n0 is on another chain: it says 0x6, the file says 5"),
        (vec![ahead.url(), other.url()], Some(4), "dev n1 is on another chain"),
        (
            vec!["http://127.0.0.1:1".to_owned()],
            Some(6),
            "dev n0 gives no answer: the connection is refused",
        ),
        (vec![ahead.url(), "http://127.0.0.1:1".to_owned()], Some(7), "dev n1 gives no answer"),
        (vec![ahead.url(), behind.url()], Some(7), "dev n1 is 8 blocks behind the best node"),
    ] {
        let providers = nodes.iter().enumerate();
        let providers: String =
            providers.map(|(at, url)| provider(5, &format!("n{at}"), url)).collect();
        let folder = Folder::with(&(providers + &chain(5, watch)));
        let output = tokio::task::spawn_blocking(move || folder.run(&["check", "--online"], &[]))
            .await
            .unwrap();
        let out = stdout(&output);
        assert_eq!(output.status.code(), code, "{out}{}", stderr(&output));
        assert!(out.contains(want), "{want}\n{out}");
    }
}

#[test]
fn a_store_that_is_none_ends_with_5() {
    let file = provider(1, "a", "http://127.0.0.1:1") + &chain(1, "anywhere = true");
    let folder = Folder::with(&file);
    std::fs::write(folder.path("keeper.db"), "not a database, whatever it is").unwrap();
    let output = folder.run(&["check", "--online"], &[]);
    let out = stdout(&output);
    // The node is silent as well; the store is graver.
    assert_eq!(output.status.code(), Some(5), "{out}");
    assert!(
        out.contains("it is no SQLite database") && out.contains("dev a gives no answer"),
        "{out}"
    );
    assert!(stderr(&output).starts_with("error: 2 findings: the store "), "{}", stderr(&output));
}
