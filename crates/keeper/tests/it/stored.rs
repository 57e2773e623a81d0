//! `keeper status`, `events` and `mute` from a store, and what a running keeper says of itself over HTTP.

use crate::{
    config::Folder,
    support::{Chain, Running, keeper, stderr, stdout, write_deployment},
};
use serde_json::Value;
use std::{process::Output, time::Duration};

const DEADLINE: Duration = Duration::from_secs(20);

/// A keeper over a chain of its own.
struct Kept {
    chain: Chain,
    folder: Folder,
}

impl Kept {
    async fn new(more: &str) -> Self {
        let chain = Chain::start().await;
        let file = format!(
            "[[profile.default.chain.31337.provider]]
name = \"main\"
http = \"{}\"
[chain.dev]
id = 31337
poll = \"100ms\"
[[chain.dev.watch]]
deployments = \"31337.json\"
[server]
listen = \"127.0.0.1:0\"
{more}",
            chain.url()
        );
        let folder = Folder::with(&file);
        write_deployment(&folder.path("31337.json"), 31337, chain.host, "0x00");
        Self { chain, folder }
    }

    fn start(&self) -> (Running, String) {
        let path = self.folder.path("keeper.toml");
        let running = Running::start(["run", "--config", path.to_str().unwrap()]);
        let said = running.says("at http://");
        let address = said.split_once("at http://").unwrap().1.to_owned();
        (running, address)
    }

    fn ask(&self, args: &[&str]) -> Output {
        self.folder.run(args, &[])
    }
}

async fn get(address: &str, path: &str) -> (u16, String) {
    let answer = reqwest::get(format!("http://{address}{path}")).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// Asks again until the answer is the one that is waited for.
async fn until(address: &str, path: &str, fits: impl Fn(u16, &str) -> bool) -> String {
    let asked = async {
        loop {
            let (status, text) = get(address, path).await;
            if fits(status, &text) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(DEADLINE, asked)
        .await
        .unwrap_or_else(|_| panic!("{path} is never as it should be"))
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output))
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_keeper_has_stored_is_there_while_it_runs_and_when_it_is_down() {
    let kept = Kept::new("").await;
    let none = kept.ask(&["status"]);
    assert_eq!(none.status.code(), Some(5));
    assert!(stderr(&none).contains("there is none; `keeper run` makes it"), "{}", stderr(&none));

    let (running, address) = kept.start();
    until(&address, "/ready", |status, _| status == 200).await;
    let block = kept.chain.trip().await;
    let key = format!("dev:{}:0x00", kept.chain.host);
    let open = |_: u16, text: &str| {
        let document: Value = serde_json::from_str(text).unwrap();
        document["counts"]["open"] == 1 && document["breakers"][0]["failures"] == 3
    };
    let served: Value = serde_json::from_str(&until(&address, "/status", open).await).unwrap();
    assert_eq!(served["breakers"][0]["key"], key);
    assert_eq!(served["chains"][0]["live"]["identified"], true);
    assert_eq!(served["providers"][0]["provider"], "main");

    // The same from the store, but for what only a running keeper knows.
    let stored = json(&kept.ask(&["status", "--json"]));
    assert_eq!(stored["breakers"], served["breakers"]);
    assert_eq!(stored["providers"], Value::Array(Vec::new()));
    assert_eq!(stored["chains"][0]["live"], Value::Null);
    let (code, _) = running.stop("TERM");
    assert_eq!(code, Some(0));

    let one = kept.ask(&["status", "resilient/primary", "--json"]);
    let breaker = json(&one);
    assert_eq!((&breaker["key"], &breaker["state"]), (&key.as_str().into(), &"open".into()));
    assert_eq!((&breaker["failures"], &breaker["threshold"]), (&3.into(), &3.into()));
    for field in ["label", "retry_at", "cause", "since", "phase", "drift", "parked_until"] {
        assert!(breaker.get(field).is_some(), "{field}: {breaker}");
    }
    let table = stdout(&kept.ask(&["status"]));
    assert!(table.lines().nth(1).unwrap().contains("resilient/primary"), "{table}");
    let nobody = kept.ask(&["status", "nobody"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(
        stderr(&nobody).contains("there is no breaker `nobody`; there are resilient/primary"),
        "{}",
        stderr(&nobody)
    );
    for (states, code) in
        [("open", Some(7)), ("half-open,unknown", Some(0)), ("open,unknown", Some(7))]
    {
        assert_eq!(kept.ask(&["status", "--fail-on", states]).status.code(), code, "{states}");
    }

    let events = stdout(&kept.ask(&["events", "--breaker", &key, "--json"]));
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let opened = events.iter().find(|event| event["body"]["type"] == "breaker.opened").unwrap();
    assert_eq!(opened["body"]["data"]["block"]["number"], block);
    let later = (block + 1).to_string();
    assert_eq!(stdout(&kept.ask(&["events", "--from-block", &later])), "");
    assert!(stdout(&kept.ask(&["events", "--to-block", &later])).contains("breaker.opened"));
    assert_eq!(stdout(&kept.ask(&["events", "--phase", "retracted"])), "");
    assert_eq!(stdout(&kept.ask(&["events", "--dead"])), "");
    assert_eq!(
        stdout(&kept.ask(&["events", "retry", "--all-dead"])).trim(),
        "tried again at once: 0"
    );
    let id = opened["id"].as_str().unwrap();
    assert_eq!(kept.ask(&["events", "retry", id]).status.code(), Some(2));
    assert_eq!(kept.ask(&["events", "enable", "hook"]).status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mute_is_stored_beside_a_running_keeper_is_shown_and_ends() {
    let kept = Kept::new("").await;
    let (_running, address) = kept.start();
    until(&address, "/ready", |status, _| status == 200).await;
    let key = format!("dev:{}:0x00", kept.chain.host);
    for name in ["resilient/primary", key.as_str()] {
        let output = kept.ask(&["mute", name, "--for", "2h", "--reason", "the oracle moves"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stdout(&output).starts_with(&format!("{key} is muted until ")),
            "{}",
            stdout(&output)
        );
    }
    let shown = json(&kept.ask(&["status", "--json"]));
    assert_eq!(
        (&shown["mutes"][0]["key"], &shown["mutes"][0]["reason"]),
        (&key.as_str().into(), &"the oracle moves".into())
    );
    assert!(shown["breakers"][0]["muted_until"].is_u64());
    assert!(stdout(&kept.ask(&["status"])).contains("muted until"));
    let output = kept.ask(&["mute", "dev", "--for", "1m", "--reason", "x"]);
    assert!(stdout(&output).starts_with("dev is muted until"), "{}", stderr(&output));
    let output = kept.ask(&["mute", &key, "--for", "0s", "--reason", "over"]);
    assert_eq!(stdout(&output).trim(), format!("{key} is told of again"));
    assert_eq!(json(&kept.ask(&["status", "--json"]))["breakers"][0]["muted_until"], Value::Null);
    for (args, want) in [
        (["mute", "nobody", "--for", "1h", "--reason", "x"], "there is no breaker `nobody`"),
        (["mute", "dev", "--for", "60d", "--reason", "x"], "at most 31 days"),
        (["mute", "dev", "--for", "soon", "--reason", "x"], "not a duration"),
    ] {
        let output = kept.ask(&args);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(want), "{}", stderr(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_a_keeper_are_read_only_and_for_its_own_names() {
    let kept = Kept::new("hosts = [\"keeper.internal\"]\n").await;
    let (_running, address) = kept.start();
    until(&address, "/ready", |status, _| status == 200).await;
    assert_eq!(get(&address, "/health").await, (200, "{\"status\":\"ok\"}".to_owned()));
    let metrics = get(&address, "/metrics").await.1;
    for name in ["keeper_chain_head_block{chain=\"dev\"}", "fusebox_rpc_requests_total"] {
        assert!(metrics.contains(name), "{name}\n{metrics}");
    }
    for (path, status) in [
        ("/", 404),
        ("/status?state=open&q=a&limit=5", 200),
        ("/status?state=ajar", 400),
        ("/status?limit=all", 400),
        ("/status?page=2", 400),
        ("/status?after=nothing", 200),
    ] {
        assert_eq!(get(&address, path).await.0, status, "{path}");
    }
    let client = reqwest::Client::new();
    for path in ["/health", "/ready", "/status", "/metrics"] {
        let url = format!("http://{address}{path}");
        for method in [
            reqwest::Method::POST,
            reqwest::Method::PUT,
            reqwest::Method::DELETE,
            reqwest::Method::OPTIONS,
        ] {
            let answer = client.request(method, &url).send().await.unwrap();
            assert_eq!(
                (answer.status().as_u16(), answer.headers()["allow"].to_str().unwrap()),
                (405, "GET, HEAD")
            );
        }
        let head = client.head(&url).send().await.unwrap();
        assert_eq!(head.status().as_u16(), 200, "{path}");
        for (header, value, status) in [
            ("host", "evil.example", 403),
            ("origin", "https://evil.example", 403),
            ("host", "keeper.internal:9547", 200),
        ] {
            let answer = client.get(&url).header(header, value).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{path} {value}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_node_a_keeper_is_alive_and_not_ready_and_says_why() {
    let file = "[[profile.default.chain.5.provider]]
name = \"main\"
http = \"http://127.0.0.1:1/5ecret\"
[chain.dev]
id = 5
[[chain.dev.watch]]
anywhere = true
[server]
listen = \"127.0.0.1:0\"
";
    let folder = Folder::with(file);
    let path = folder.path("keeper.toml");
    let running = Running::start(["run", "--config", path.to_str().unwrap()]);
    let said = running.says("at http://");
    let address = said.split_once("at http://").unwrap().1.to_owned();
    assert_eq!(get(&address, "/health").await.0, 200);
    let (status, text) = get(&address, "/ready").await;
    assert_eq!(status, 503);
    assert!(text.contains("dev: no node has answered yet") && !text.contains("5ecret"), "{text}");
}

#[test]
fn an_address_for_other_machines_has_to_be_meant() {
    let args = ["run", "-r", "http://127.0.0.1:1", "--anywhere", "--listen", "0.0.0.0:0"];
    let output = keeper(args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--allow-remote"), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_is_told_of_each_change() {
    let kept = Kept::new("").await;
    let (_running, address) = kept.start();
    until(&address, "/ready", |status, _| status == 200).await;
    let closed = |_: u16, text: &str| text.contains("\"state\":\"closed\"");
    until(&address, "/status", closed).await;
    let store = format!("sqlite:{}", kept.folder.path("keeper.db").display());
    let following = Running::start(["status", "--follow", "--json", "--store", &store]);
    assert_eq!(following.json()["state"], "closed");
    kept.chain.trip().await;
    assert_eq!(following.json()["state"], "open");
    let mut failing =
        Running::start(["status", "--follow", "--fail-on", "open", "--store", &store]);
    assert!(failing.line().contains("resilient/primary open; retry at "));
    assert_eq!(failing.end(), Some(7));
}
