//! `keeper run` beside a sidecar: what that one says is told and shown, and nothing more depends on it.
#![cfg(unix)]

use crate::{
    config::Folder,
    support::{Running, stdout},
};
use fusebox_testkit::{Beacon, BeaconSettings, Chain, Clock as _, Node, SystemClock};
use serde_json::{Value, json};
use std::time::Duration;

/// A sidecar that opens at the first missed slot; slots take a second.
fn sidecar(beacon: &Beacon) -> (Running, String) {
    let node = beacon.url();
    let sidecar = Running::start([
        "builder",
        "watch",
        "--listen",
        "127.0.0.1:0",
        "--beacon-node",
        &node,
        "--policy",
        "consecutive(max=0)",
    ]);
    let said = sidecar.says("status at ");
    let url = said.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    (sidecar, url.trim_end_matches(',').to_owned())
}

async fn get(url: &str) -> (u16, String) {
    let answer = reqwest::get(url).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// Asks the keeper until its `builder` is as it should be.
async fn until(address: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let asked = async {
        loop {
            let (_, text) = get(&format!("{address}/status")).await;
            let document: Value = serde_json::from_str(&text).unwrap();
            if is_so(&document["builder"]) {
                return document["builder"].clone();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asked).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_sidecar_says_is_told_and_shown_and_its_death_stops_nothing() {
    let mut settings = BeaconSettings::default();
    settings.spec = json!({ "SECONDS_PER_SLOT": "1", "SLOTS_PER_EPOCH": "32" });
    settings.genesis = SystemClock::new().now().as_secs() - 101;
    let beacon = Beacon::start(100, settings).await.unwrap();
    let (sidecar, url) = sidecar(&beacon);
    let chain = Chain::with_id(5);
    chain.mine_empty(10);
    let node = Node::scripted(&chain).start().await.unwrap();
    let folder = Folder::with(&format!(
        "[[profile.default.chain.5.provider]]\nname = \"main\"\nhttp = \"{}\"\n[chain.dev]\nid = 5\n[[chain.dev.watch]]\n\
         anywhere = true\n[builder]\nstatus_url = \"{url}/status\"\n",
        node.url()
    ));
    let (folder, checked) = tokio::task::spawn_blocking(move || {
        let checked = folder.run(&["check", "--online"], &[]);
        (folder, checked)
    })
    .await
    .unwrap();
    let said = stdout(&checked);
    assert!(said.contains("ok     the builder's sidecar: "), "{said}");
    assert!(said.contains("policy consecutive(max=0), "), "{said}");

    let file = folder.path("keeper.toml");
    let keeper = Running::start([
        "run",
        "--config",
        file.to_str().unwrap(),
        "--json",
        "--listen",
        "127.0.0.1:0",
    ]);
    let said = keeper.says("serving /health");
    let address = said.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    let opened = keeper.json();
    assert_eq!(
        (&opened["type"], &opened["cause"]),
        (&"builder.opened".into(), &"missed-run".into())
    );
    let shown = until(address, |builder| builder["state"] == "open").await;
    assert_eq!((&shown["answers"], &shown["error"]), (&true.into(), &Value::Null));
    let (_, metrics) = get(&format!("{address}/metrics")).await;
    assert!(metrics.contains("\nkeeper_builder_open 1\n"), "{metrics}");
    assert!(metrics.contains("\nkeeper_builder_answers 1\n"), "{metrics}");
    assert!(metrics.contains("\nkeeper_builder_missed_slots "), "{metrics}");

    sidecar.kill();
    let shown = until(address, |builder| builder["answers"] == false).await;
    assert_eq!((&shown["state"], &shown["policy"]), (&"open".into(), &"consecutive(max=0)".into()));
    assert_eq!(shown["error"], "it refused the connection");
    assert_eq!(get(&format!("{address}/ready")).await.0, 200);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}
