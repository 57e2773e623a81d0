//! `keeper run`: what happens on the chain is printed once, in order, whatever the node does.

use crate::support::{COOLDOWN, Chain, Running, anvil, keeper, write_deployment};
use alloy::{
    eips::BlockNumberOrTag, node_bindings::AnvilInstance, primitives::B256, providers::Provider,
    sol_types::SolEvent,
};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, PipeWriter, Write, pipe},
    process::{Child, Command, Stdio},
    time::Duration,
};

fn watch(chain: &Chain, more: &[&str]) -> Running {
    let (url, host) = (chain.url(), chain.host.to_string());
    let args = ["run", "--rpc-url", &url, "--watch", &host];
    Running::start(args.iter().chain(more))
}

async fn time_of(chain: &Chain, block: u64) -> u64 {
    let block = chain.provider.get_block_by_number(BlockNumberOrTag::Number(block)).await;
    block.unwrap().unwrap().header.timestamp
}

#[tokio::test]
async fn each_transition_is_printed_with_all_that_belongs_to_it() {
    let chain = Chain::start().await;
    let keeper = watch(&chain, &["--json"]);
    keeper.says(&format!("31337:{}:0x00 is closed at block", chain.host));

    let block = chain.trip().await;
    let time = time_of(&chain, block).await;
    let opened = keeper.json();
    assert_eq!(opened["type"], "breaker.opened");
    assert_eq!(
        (&opened["v"], &opened["phase"], &opened["late"]),
        (&1.into(), &"seen".into(), &false.into())
    );
    assert_eq!(opened["key"], format!("31337:{}:0x00", chain.host));
    assert_eq!(opened["contract"], chain.host.to_string());
    assert_eq!(opened["breaker"], B256::ZERO.to_string());
    assert_eq!(
        (&opened["block"]["number"], &opened["block"]["time"]),
        (&block.into(), &time.into())
    );
    assert_eq!(opened["cause"], "reverted");
    assert_eq!(opened["retry_at"], time + u64::from(COOLDOWN));
    assert_eq!((&opened["state"], &opened["severity"]), (&"open".into(), &"warning".into()));
    let hash = opened["block"]["hash"].as_str().unwrap();
    assert_eq!(opened["fact"], format!("31337:{hash}:0"));
    let receipt = chain
        .provider
        .get_transaction_receipt(opened["tx"].as_str().unwrap().parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(receipt.block_number, Some(block));

    chain.advance(u64::from(COOLDOWN) - 1).await;
    chain.advance(1).await;
    let half_open = keeper.json();
    assert_eq!(half_open["type"], "breaker.half_open");
    assert_eq!(half_open["retry_at"], opened["retry_at"]);
    assert_eq!(half_open["fact"], opened["fact"], "keyed by what opened it");
    assert_eq!(half_open["block"]["time"], opened["retry_at"], "at the very second");

    chain.toggle_mood().await;
    let block = chain.ask().await;
    let closed = keeper.json();
    assert_eq!(closed["type"], "breaker.closed");
    assert_eq!((&closed["state"], &closed["block"]["number"]), (&"closed".into(), &block.into()));

    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn a_person_reads_one_line_for_each() {
    let chain = Chain::start().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("31337.json");
    write_deployment(&file, 31337, chain.host, &B256::ZERO.to_string());
    let url = chain.url();
    let keeper = Running::start(["run", "-r", &url, "--deployment", file.to_str().unwrap()]);
    keeper.says("watching 1 contract, 1 known breaker on chain 31337");
    keeper.says("resilient/primary is closed");

    let block = chain.trip().await;
    let place = format!("block {block}  resilient/primary {} 0x00  ", chain.host);
    let line = keeper.line();
    assert!(line.contains(&place), "{line}");
    assert!(line.contains("opened: reverted; retry at 2"), "{line}");
    assert!(line.ends_with("Z, in 100 s"), "{line}");
    chain.recover().await;
    let line = keeper.line();
    assert!(line.contains("half-open since 2"), "{line}");
    let line = keeper.line();
    assert!(line.ends_with("0x00  closed"), "{line}");
    assert_eq!(keeper.stop("INT"), (Some(0), vec![]));
}

#[tokio::test]
async fn history_is_read_in_ranges_and_joins_the_present_without_a_gap_or_a_repeat() {
    let chain = Chain::start().await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        let opened = chain.trip().await;
        // Far more blocks than are walked one by one, so that this lies in a range of the past; the first of them is
        // the one at the deadline.
        let _: serde_json::Value =
            chain.provider.raw_request("anvil_mine".into(), (900, COOLDOWN)).await.unwrap();
        let deadline = time_of(&chain, opened).await + u64::from(COOLDOWN);
        let mut half_open = opened + 1;
        while time_of(&chain, half_open).await < deadline {
            half_open += 1;
        }
        expected.push(("breaker.opened", opened));
        expected.push(("breaker.half_open", half_open));
        expected.push(("breaker.closed", chain.recover().await));
    }
    let keeper = watch(&chain, &["--json", "--from-block", "0"]);
    for _ in 0..2 {
        // Later ones while it is still reading, or after.
        expected.push(("breaker.opened", chain.trip().await));
        let closed = chain.recover().await;
        expected.push(("breaker.half_open", closed - 1));
        expected.push(("breaker.closed", closed));
    }
    let mut last = 0;
    for (kind, block) in expected {
        let mut line = keeper.json();
        // Blocks are 100 seconds apart: in those that are walked it is open for more than an hour.
        while line["type"] == "breaker.stuck" {
            line = keeper.json();
        }
        assert_eq!(line["type"], kind);
        let number = line["block"]["number"].as_u64().unwrap();
        match kind {
            // Of a range, the first block that is known to be later: each is read for its events only.
            "breaker.half_open" => assert!((block..).contains(&number)),
            _ => assert_eq!(number, block),
        }
        assert!(number >= last, "in order");
        last = number;
    }
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn what_happened_before_the_start_is_read_from_storage() {
    let chain = Chain::start().await;
    chain.trip().await;
    let keeper = watch(&chain, &["--json"]);
    keeper.says("0x00 is open at block");
    chain.advance(COOLDOWN.into()).await;
    let line = keeper.json();
    assert_eq!(line["type"], "breaker.half_open", "though its opening was never seen");
    assert!(line.get("fact").is_none());
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn a_node_that_goes_away_and_comes_back_loses_and_repeats_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let node = |port: u16| anvil().port(port).arg("--state").arg(state.to_str().unwrap());
    let port = free_port();

    let mut chain = Chain::on(node(port).spawn()).await;
    let keeper = watch(&chain, &["--json"]);
    keeper.says("is closed at block");
    let mut expected = vec![("breaker.opened", chain.trip().await)];

    for round in 0..2 {
        let Chain { moody, host, .. } = chain;
        stop_gently(chain.anvil);
        keeper.says("no answer from http://localhost");
        chain = Chain::revived(node(port).spawn(), moody, host);
        // In the first round while it may not know yet that the node is back, in the second when it does.
        if round == 1 {
            keeper.says("answers again");
        }
        let closed = chain.recover().await;
        expected.extend([("breaker.half_open", closed - 1), ("breaker.closed", closed)]);
        expected.push(("breaker.opened", chain.trip().await));
        if round == 0 {
            keeper.says("answers again");
        }
    }
    for (kind, block) in expected {
        let line = keeper.json();
        assert_eq!((&line["type"], &line["block"]["number"]), (&kind.into(), &block.into()));
    }
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn a_chain_that_was_begun_anew_is_not_taken_for_the_old_one() {
    let port = free_port();
    let chain = Chain::on(anvil().port(port).spawn()).await;
    let keeper = watch(&chain, &["--json"]);
    keeper.says("is closed at block");
    chain.trip().await;
    assert_eq!(keeper.json()["type"], "breaker.opened");
    stop_gently(chain.anvil);
    keeper.says("no answer from");

    let other = Chain::on(anvil().port(port).spawn()).await;
    for _ in 0..5 {
        other.trip().await;
        other.recover().await;
    }
    // It stays up, and says nothing of that chain.
    let halted = keeper.json();
    assert_eq!(
        (&halted["type"], &halted["severity"]),
        (&"chain.identity".into(), &"critical".into())
    );
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn a_reorg_takes_back_what_left_the_chain() {
    let chain = Chain::start().await;
    let keeper = watch(&chain, &["--json"]);
    keeper.says("is closed at block");
    let block = chain.trip().await;
    let opened = keeper.json();
    assert_eq!((&opened["type"], &opened["phase"]), (&"breaker.opened".into(), &"seen".into()));

    // The block that opened it and the one before are replaced by empty ones.
    let _: serde_json::Value =
        chain.provider.raw_request("anvil_reorg".into(), (2, json!([]))).await.unwrap();
    let retracted = keeper.json();
    assert_eq!(
        (&retracted["type"], &retracted["phase"]),
        (&"breaker.opened".into(), &"retracted".into())
    );
    assert_eq!(retracted["fact"], opened["fact"]);
    assert!(retracted.get("state").is_none(), "no event has told");

    // One failure is left on the new chain, so it takes two more.
    chain.ask().await;
    let again = chain.ask().await;
    let line = keeper.json();
    assert_eq!((&line["phase"], &line["block"]["number"]), (&"seen".into(), &again.into()));
    assert_eq!(again, block + 2);
    assert_ne!(line["fact"], opened["fact"]);
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn a_reorg_of_the_block_it_began_at_is_no_other_chain() {
    let chain = Chain::start().await;
    let keeper = watch(&chain, &["--json"]);
    keeper.says("is closed at block");
    chain.advance(1).await;
    chain.advance(1).await;
    // This one's ground is the tip, which is replaced.
    let again = watch(&chain, &["--json"]);
    again.says("is closed at block");
    let _: serde_json::Value =
        chain.provider.raw_request("anvil_reorg".into(), (1, json!([]))).await.unwrap();
    let block = chain.trip().await;
    for keeper in [keeper, again] {
        let line = keeper.json();
        assert_eq!(
            (&line["type"], &line["block"]["number"]),
            (&"breaker.opened".into(), &block.into())
        );
        assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
    }
}

#[tokio::test]
async fn anywhere_finds_contracts_that_nobody_named() {
    let chain = Chain::start().await;
    let url = chain.url();
    let keeper = Running::start(["run", "-r", &url, "--anywhere", "--from-block", "0", "--json"]);
    chain.trip().await;
    assert_eq!(keeper.json()["contract"], chain.host.to_string());
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn a_log_that_cannot_be_decoded_is_a_warning_with_all_of_it() {
    let chain = Chain::start().await;
    // Emits Opened with its second topic, and one byte of data, 0x2a: PUSH1 0x2a, PUSH0, MSTORE8, PUSH1 7, PUSH32 topic,
    // PUSH1 1, PUSH0, LOG2, STOP.
    let topic = fusebox_bindings::events::Opened::SIGNATURE_HASH;
    let code = [
        &[0x60, 0x2a, 0x5f, 0x53, 0x60, 7, 0x7f][..],
        topic.as_slice(),
        &[0x60, 1, 0x5f, 0xa2, 0x00],
    ];
    let liar = chain.deploy_code(&code.concat()).await;
    let url = chain.url();
    let keeper = Running::start(["run", "-r", &url, "--anywhere"]);
    keeper.says("watching every contract");
    chain.poke(liar).await;
    let warning = keeper.line();
    let slot = B256::with_last_byte(7);
    for part in ["warning: ", &liar.to_string(), &topic.to_string(), &slot.to_string(), "data 0x2a"]
    {
        assert!(warning.contains(part), "no {part} in {warning}");
    }
    // And it goes on.
    chain.trip().await;
    assert!(keeper.line().contains("opened"));
    assert_eq!(keeper.stop("TERM"), (Some(0), vec![]));
}

#[tokio::test]
async fn a_node_that_is_not_there_yet_is_waited_for() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}");
    let keeper = Running::start(["run", "-r", &url, "--anywhere", "--from-block", "0", "--json"]);
    assert!(keeper.says("no answer from").contains("trying again"));
    let chain = Chain::on(anvil().port(port).spawn()).await;
    chain.trip().await;
    assert_eq!(keeper.json()["type"], "breaker.opened");
    assert_eq!(keeper.stop("INT"), (Some(0), vec![]));
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Ctrl-C, so that it writes its state; over when it has ended.
fn stop_gently(mut anvil: AnvilInstance) {
    let id = anvil.child().id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    anvil.child_mut().wait().unwrap();
}

/// The keeper with this as its standard output.
fn watch_into(chain: &Chain, out: PipeWriter) -> (Child, impl Iterator<Item = String>) {
    let (url, host) = (chain.url(), chain.host.to_string());
    let mut command = keeper(["run", "-r", &url, "--watch", &host]);
    let mut child = command.stdout(out).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("is closed at block")));
    (child, said)
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_nobody_can_be_told_of_are_a_failure() {
    let chain = Chain::start().await;
    let (reader, out) = pipe().unwrap();
    let (mut child, mut said) = watch_into(&chain, out);
    drop(reader);
    chain.trip().await;
    let error = said.find(|line| line.starts_with("error: ")).unwrap();
    assert!(error.contains("cannot be told any more") && error.contains("opened: "), "{error}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[cfg(target_os = "linux")] // elsewhere nobody says what a thread waits for
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_gone_to_sleep_does_not_keep_it_from_stopping() {
    let chain = Chain::start().await;
    let (_reader, mut out) = pipe().unwrap();
    // Full: the first line waits for room.
    out.write_all(&[b' '; 64 * 1024]).unwrap();
    let (mut child, _said) = watch_into(&chain, out);
    chain.trip().await;
    let tasks = format!("/proc/{}/task", child.id());
    let tripped = tokio::time::Instant::now();
    // Some kernels do not say what a thread waits for.
    let is_stuck = || {
        tripped.elapsed() > Duration::from_secs(5)
            || std::fs::read_dir(&tasks).unwrap().any(|task| {
                let at = task.unwrap().path().join("wchan");
                std::fs::read_to_string(at).is_ok_and(|at| at.contains("pipe_write"))
            })
    };
    until(&mut child, "it waits for room", |_| is_stuck().then_some(())).await;
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    let ended = until(&mut child, "it stops", |child| child.try_wait().unwrap()).await;
    assert_eq!(ended.code(), Some(0));
}

/// What is there in the end; else the keeper is killed.
#[cfg(target_os = "linux")]
async fn until<T>(child: &mut Child, what: &str, is: impl Fn(&mut Child) -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(found) = is(child) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().unwrap();
    panic!("never: {what}");
}
