//! `/metrics`: each name that the documentation has is there, and says what is true.

use crate::{
    daemon::{Daemon, SECRET},
    support::Chain,
};
use alloy::providers::Provider as _;
use fusebox_testkit::Sink;
use serde_json::{Value, json};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(20);

/// The first column of the table in the documentation.
fn documented() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/operations/keeper.md");
    let (_, table) = page.split_once("| metric | labels | meaning |").unwrap();
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once('`').unwrap().0).collect()
}

/// What is measured once it holds all of this.
async fn measured(address: &str, parts: &[String]) -> String {
    let mut last = String::new();
    let asked = async {
        loop {
            let answer = reqwest::get(format!("http://{address}/metrics")).await.unwrap();
            last = answer.text().await.unwrap();
            if parts.iter().all(|part| last.contains(part.as_str())) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let is_there = tokio::time::timeout(DEADLINE, asked).await.is_ok();
    let missing: Vec<_> = parts.iter().filter(|part| !last.contains(part.as_str())).collect();
    assert!(is_there, "{missing:?} are never there: {last}");
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn each_documented_metric_is_measured() {
    let chain = Chain::start().await;
    let call = async |method: &'static str, params: Value| {
        let _: Value = chain.provider.raw_request(method.into(), params).await.unwrap();
    };
    // More than are walked one by one, and a reorg that leaves the breaker where it is.
    call("anvil_mine", json!([600, 1])).await;
    let sink = Sink::builder().secret(SECRET).start().await.unwrap();
    let daemon = Daemon::new(&format!(
        r#"
[[profile.default.chain.31337.provider]]
name = "node"
http = "{}"
[chain.dev]
id = 31337
poll = "100ms"
[[chain.dev.watch]]
address = "{}"
start = 1
label = "vault"
breakers = {{ "0x00" = "primary" }}
[channel.hook]
type = "webhook"
url = "{}"
secrets = ["${{HOOK_SECRET}}"]
[[route]]
channels = ["hook"]
"#,
        chain.url(),
        chain.host,
        sink.url()
    ));
    let keeper = daemon.start();
    let said = keeper.says("at http://");
    let address = said.split_once("at http://").unwrap().1.to_owned();
    let key = format!("dev:{}:0x00", chain.host);
    let state = |number: &str| {
        format!(
            "keeper_breaker_state{{chain=\"dev\",key=\"{key}\",label=\"vault/primary\"}} {number}"
        )
    };
    let line =
        |name: &str, labels: &str, value: &str| format!("keeper_{name}{{{labels}}} {value}\n");
    measured(
        &address,
        &[
            state("0"),
            line("breakers", "chain=\"dev\",state=\"closed\"", "1"),
            line("breakers", "chain=\"dev\",state=\"open\"", "0"),
            line("breaker_drift_total", "chain=\"dev\"", "0"),
        ],
    )
    .await;
    chain.trip().await;
    measured(
        &address,
        &[
            state("2"),
            line("breakers", "chain=\"dev\",state=\"closed\"", "0"),
            line("breakers", "chain=\"dev\",state=\"open\"", "1"),
            line("facts_total", "chain=\"dev\",kind=\"opened\",phase=\"seen\"", "1"),
        ],
    )
    .await;
    call("anvil_mine", json!([3, 1])).await;
    let seen = format!("keeper_chain_seen_block{{chain=\"dev\"}} {}\n", {
        chain.provider.get_block_number().await.unwrap()
    });
    measured(&address, &[seen]).await;
    call("anvil_reorg", json!([2, []])).await;
    let all = measured(
        &address,
        &[
            line("reorgs_total", "chain=\"dev\"", "1"),
            "keeper_alert_latency_seconds_count".to_owned(),
            "keeper_alerts_total{channel=\"hook\",result=\"delivered\"}".to_owned(),
        ],
    )
    .await;
    // The sidecar's are there where there is one: `builder_status` looks at them.
    for name in documented().into_iter().filter(|name| !name.starts_with("keeper_builder_")) {
        let is_there = all.lines().any(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ', '_']))
        });
        assert!(is_there, "{name}: {all}");
    }
    assert_eq!(keeper.stop("TERM").0, Some(0));
}
