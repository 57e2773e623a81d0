//! `keeper replay`: what would have been told of the past, and whether a store has it.

use crate::{
    daemon::Daemon,
    support::{COOLDOWN, Chain, Running, keeper_output, stderr, stdout},
};
use alloy::providers::Provider as _;
use serde_json::Value;
use sqlx::{AnyConnection, Connection as _};
use std::process::Output;

fn daemon(chain: &Chain) -> Daemon {
    Daemon::new(&format!(
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
[channel.hook]
type = "webhook"
url = "http://127.0.0.1:1/"
secrets = ["${{HOOK_SECRET}}"]
[[route]]
match = {{ type = "breaker.opened" }}
channels = ["hook"]
"#,
        chain.url(),
        chain.host
    ))
}

/// The next line about a breaker that is told as seen.
fn told(keeper: &Running) -> Value {
    loop {
        let line = keeper.json();
        if line["type"].as_str().unwrap().starts_with("breaker.") && line["phase"] == "seen" {
            return line;
        }
    }
}

fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(lines: &[Value]) -> Vec<(&str, u64)> {
    let word = |line: &Value| line["block"]["number"].as_u64().unwrap();
    lines.iter().map(|line| (line["type"].as_str().unwrap(), word(line))).collect()
}

fn replay(daemon: &Daemon, from: u64, to: u64) -> Output {
    let file = daemon.file();
    let (from, to) = (from.to_string(), to.to_string());
    let args = ["replay", "--from-block", &from, "--to-block", &to, "--json", "--config"];
    let args = args.into_iter().chain([file.to_str().unwrap()]);
    let mut command = crate::support::keeper(args);
    command.env("HOOK_SECRET", crate::daemon::SECRET).output().unwrap()
}

/// Changes what a keeper has stored, as a bad disk or another program would.
async fn tamper(daemon: &Daemon, statement: &'static str) {
    sqlx::any::install_default_drivers();
    let path = daemon.file().with_file_name("keeper.db");
    let url = format!("sqlite://{}?mode=rw", path.display());
    let mut connection = AnyConnection::connect(&url).await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_tells_what_the_keeper_told_and_finds_what_its_store_has_lost() {
    let chain = Chain::start().await;
    let daemon = daemon(&chain);
    let none = replay(&daemon, 1, 2);
    assert!(none.status.success(), "{}", stderr(&none));
    assert!(stderr(&none).contains("there is no store to compare with"), "{}", stderr(&none));

    let keeper = daemon.start();
    keeper.says(" is closed at block");
    let opened = chain.trip().await;
    let mut live = vec![told(&keeper)];
    let closed = chain.recover().await;
    live.extend([told(&keeper), told(&keeper)]);
    assert_eq!(keeper.stop("TERM").0, Some(0));

    let again = replay(&daemon, 1, closed);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stderr(&again).contains("the store agrees: 2 events"), "{}", stderr(&again));
    let lines = lines(&again);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for (replayed, live) in lines.iter().zip(&live) {
        for field in ["type", "phase", "key", "label", "fact", "block", "retry_at", "cause"] {
            assert_eq!(replayed[field], live[field], "{field}");
        }
    }
    assert_eq!(lines[0]["channels"], serde_json::json!(["hook"]));
    assert_eq!(lines[2]["channels"], serde_json::json!([]));

    tamper(&daemon, "DELETE FROM outbox").await;
    tamper(&daemon, "DELETE FROM message WHERE type = 'breaker.opened'").await;
    tamper(&daemon, "UPDATE fact SET log_index = 9 WHERE kind = 'closed'").await;
    let differs = replay(&daemon, 1, closed);
    assert_eq!(differs.status.code(), Some(7), "{}", stderr(&differs));
    let said = stderr(&differs);
    for part in [
        format!("opened by {} in block {opened} ", chain.host),
        format!("closed by {} in block {closed} ", chain.host),
        "nobody was told".to_owned(),
        "the store lacks it".to_owned(),
        "it is in the store and not on the chain".to_owned(),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    let found = stdout(&differs);
    for difference in ["untold", "missing", "foreign"] {
        assert!(found.contains(&format!("\"difference\":\"{difference}\"")), "{found}");
    }
    let before = replay(&daemon, 1, opened - 1);
    assert_eq!(before.status.code(), Some(0), "only the range counts: {}", stderr(&before));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_file_a_range_is_read_by_its_own_clock_whatever_came_after() {
    let chain = Chain::start().await;
    let first = chain.trip().await;
    let mine = async |blocks: u64| {
        let params = (blocks, COOLDOWN);
        let _: Value = chain.provider.raw_request("anvil_mine".into(), params).await.unwrap();
    };
    mine(3).await;
    let (url, host) = (chain.url(), chain.host.to_string());
    let run = |from: u64, to: u64| {
        let (from, to) = (from.to_string(), to.to_string());
        let args = ["replay", "--json", "-r", &url, "--watch", &host];
        let output =
            keeper_output(args.into_iter().chain(["--from-block", &from, "--to-block", &to]));
        assert!(output.status.success(), "{}", stderr(&output));
        lines(&output)
    };
    // What was open before the first block is in storage.
    let later = run(first + 1, first + 3);
    assert_eq!(later.len(), 1, "{later:?}");
    assert_eq!(later[0]["type"], "breaker.half_open");

    // More than are walked one by one.
    mine(900).await;
    let closed = chain.recover().await;
    let second = chain.trip().await;
    chain.recover().await;
    let whole = run(first, second);
    assert_eq!(whole[0]["retry_at"], later[0]["retry_at"]);
    let words = words(&whole);
    assert_eq!(words.first(), Some(&("breaker.opened", first)));
    assert_eq!(words.last(), Some(&("breaker.opened", second)), "not what came after");
    let kinds: Vec<_> = words.iter().map(|(kind, _)| *kind).collect();
    assert!(kinds.contains(&"breaker.half_open") && kinds.contains(&"breaker.stuck"), "{words:?}");
    assert!(words.contains(&("breaker.closed", closed)));
    assert!(whole.iter().all(|line| line["phase"] == "seen"), "as it was while it was new");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_is_not_there_and_a_node_that_is_not_are_told_apart() {
    let chain = Chain::start().await;
    let host = chain.host.to_string();
    for (from, to, url, code, says) in [
        ("5", "4", chain.url(), 2, "--to-block 4 is before --from-block 5"),
        ("1", "99", chain.url(), 2, "there is no block 99"),
        ("1", "2", "http://127.0.0.1:1".to_owned(), 6, "no answer from"),
    ] {
        let output = keeper_output([
            "replay",
            "-r",
            &url,
            "--watch",
            &host,
            "--from-block",
            from,
            "--to-block",
            to,
        ]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
}
