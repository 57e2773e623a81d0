//! `keeper builder proxy` and what belongs to it, as processes between a beacon node and a relay.
#![cfg(unix)]

use crate::support::{Running, keeper, keeper_output, stderr, stdout};
use fusebox_testkit::{
    Beacon, BeaconSettings, Clock as _, Door, HttpReply, Relay, RelayAnswer, SystemClock,
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    time::Duration,
};

const BLINDED: &str = "/eth/v2/builder/blinded_blocks";

/// A node at slot 100 of a chain with slots of 12 s.
async fn beacon() -> Beacon {
    let mut settings = BeaconSettings::default();
    settings.genesis = SystemClock::new().now().as_secs() - 1_201;
    Beacon::start(100, settings).await.unwrap()
}

struct Proxy {
    process: Running,
    url: String,
}

async fn proxy(beacon: &Beacon, relay: &Relay, more: &[&str]) -> Proxy {
    let (node, upstream) = (beacon.url(), relay.url());
    let mut args = vec![
        "builder",
        "proxy",
        "--listen",
        "127.0.0.1:0",
        "--beacon-node",
        &node,
        "--upstream",
        &upstream,
    ];
    args.extend(more);
    let process = Running::start(args);
    let said = process.says("builder API at ");
    let url = said.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    Proxy { url: url.trim_end_matches(',').to_owned(), process }
}

impl Proxy {
    async fn get(&self, path: &str) -> (u16, Value) {
        let response = reqwest::get(format!("{}{path}", self.url)).await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default())
    }

    async fn is_ready(&self) {
        let ready = async {
            while self.get("/ready").await.0 != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), ready).await.unwrap();
    }
}

fn header(slot: u64) -> String {
    format!("/eth/v1/builder/header/{slot}/0xab/0xcd")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_forwards_headers_serves_its_status_and_ends_with_0() {
    let (beacon, relay) = (beacon().await, Relay::start().await.unwrap());
    let proxy = proxy(&beacon, &relay, &[]).await;
    proxy.is_ready().await;
    assert_eq!(proxy.get(&header(101)).await.0, 200);
    let (_, status) = proxy.get("/status").await;
    assert_eq!((&status["policy"], &status["state"]), (&json!("seed"), &json!("closed")));
    assert!(!status.to_string().contains("http"), "no URL is shown");
    let metrics =
        reqwest::get(format!("{}/metrics", proxy.url)).await.unwrap().text().await.unwrap();
    assert!(
        metrics.contains("keeper_builder_decisions_total{answer=\"forward\",cause=\"none\"} 1"),
        "{metrics}"
    );
    assert_eq!(proxy.process.stop("TERM").0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_down_at_the_start_keeps_no_signed_block_from_its_relay() {
    let (beacon, relay) = (beacon().await, Relay::start().await.unwrap());
    beacon.set_door(Door::Refused).await.unwrap();
    let proxy = proxy(&beacon, &relay, &[]).await;
    assert_eq!(proxy.get("/ready").await.0, 503);
    assert_eq!(proxy.get(&header(101)).await.0, 204);
    let post = reqwest::Client::new().post(format!("{}{BLINDED}", proxy.url)).body("signed");
    assert_eq!(post.send().await.unwrap().status(), 200);
    beacon.set_door(Door::Open).await.unwrap();
    proxy.is_ready().await;
    assert_eq!(proxy.get(&header(101)).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_block_that_is_under_way_is_finished_before_the_end() {
    let (beacon, relay) = (beacon().await, Relay::start().await.unwrap());
    relay.answer("blinded_blocks", RelayAnswer::Later(Duration::from_secs(1), HttpReply::new(202)));
    let proxy = proxy(&beacon, &relay, &[]).await;
    let post = reqwest::Client::new().post(format!("{}{BLINDED}", proxy.url)).body("signed");
    let sent = tokio::spawn(post.send());
    relay.asked("blinded_blocks", 1).await;
    assert_eq!(proxy.process.stop("TERM").0, Some(0));
    assert_eq!(sent.await.unwrap().unwrap().status(), 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let (beacon, relay) = (beacon().await, Relay::start().await.unwrap());
    relay.answer("blinded_blocks", RelayAnswer::Hang);
    let (node, upstream, listen) = (beacon.url(), relay.url(), "127.0.0.1:0");
    let args =
        ["builder", "proxy", "--listen", listen, "--beacon-node", &node, "--upstream", &upstream];
    let mut child = keeper(args).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        line
    };
    let first = line();
    let url = first.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    let post = reqwest::Client::new()
        .post(format!("{}{BLINDED}", url.trim_end_matches(',')))
        .body("signed");
    let _sent = tokio::spawn(post.send());
    relay.asked("blinded_blocks", 1).await;
    let signal = || {
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
    };
    signal();
    assert!(line().contains("1 signed blocks under way"));
    signal();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_served_is_refused_with_a_code_of_its_own() {
    let (beacon, relay) = (beacon().await, Relay::start().await.unwrap());
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "0123456789abcdef\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o644)).unwrap();
    let taken = relay.url().trim_start_matches("http://").to_owned();
    let token = token.to_str().unwrap();
    for (more, code, says) in [
        (vec!["--listen", &taken], 1, "cannot listen at"),
        (vec!["--listen", "0.0.0.0:0"], 2, "--allow-remote"),
        (vec!["--listen", "127.0.0.1:0", "--admin-token-file", token], 2, "can be read by others"),
        (vec!["--policy", "consecutive(max=)"], 2, "consecutive"),
        (vec!["--upstream", "https://user:sesame@relay"], 2, "must be http://"),
        (vec!["--beacon-node", "no URL"], 2, "a beacon node is a URL"),
    ] {
        let mut args = vec!["builder".to_owned(), "proxy".to_owned()];
        if !more.contains(&"--beacon-node") {
            args.extend(["--beacon-node".to_owned(), beacon.url()]);
        }
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        let output = keeper_output(args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{more:?}: {said}");
        assert!(said.contains(says) && !said.contains("sesame"), "{said}");
        assert_eq!(stdout(&output), "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_different_chains_are_refused_and_so_is_one_with_two_slot_lengths() {
    let (first, second) = (beacon().await, beacon().await);
    second.set(|settings| settings.genesis += 1);
    let args = [
        "builder",
        "watch",
        "--listen",
        "127.0.0.1:0",
        "--beacon-node",
        &first.url(),
        "--beacon-node",
        &second.url(),
    ];
    let output = keeper_output(args);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    first.set(|settings| {
        settings.spec = json!({ "SECONDS_PER_SLOT": "12", "SLOT_DURATION_MS": "6000", "SLOTS_PER_EPOCH": "32" });
    });
    let args = ["builder", "watch", "--listen", "127.0.0.1:0", "--beacon-node", &first.url()];
    let output = keeper_output(args);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("SLOT_DURATION_MS is 6000"), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn check_says_what_is_well_and_what_the_answer_would_be() {
    let (beacon, relay) = (beacon().await, Relay::start().await.unwrap());
    let (node, upstream) = (beacon.url(), relay.url());
    let args = ["builder", "check", "--beacon-node", &node, "--upstream", &upstream];
    let output = keeper_output(args);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("decision: forward, cause none"));
    relay.set_door(Door::Refused).await.unwrap();
    assert_eq!(keeper_output(args).status.code(), Some(7));
    beacon.set_door(Door::Refused).await.unwrap();
    assert_eq!(keeper_output(args).status.code(), Some(6));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_names_missed_slots_and_orphans_and_replays() {
    let beacon = beacon().await;
    for slot in [101, 102, 105, 106, 110] {
        beacon.block(slot);
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("missed.csv");
    let (node, file) = (beacon.url(), out.to_str().unwrap());
    let args = [
        "builder",
        "history",
        "--beacon-node",
        &node,
        "--from",
        "101",
        "--to",
        "109",
        "--out",
        file,
    ];
    let output = keeper_output(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = "slot,relayed_block_forked\n103,0\n104,0\n107,0\n108,0\n109,0\n";
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no note of the progress is left");
    let args = [
        "builder",
        "replay",
        file,
        "--from",
        "101",
        "--to",
        "109",
        "--warmup",
        "0",
        "--policy",
        "consecutive(max=2)",
        "--fail-on-trip",
    ];
    assert_eq!(keeper_output(args).status.code(), Some(7), "its longest run is 3");
}

/// Writes the history of these slots, and how it ended.
fn history(beacon: &Beacon, (from, to): (u64, u64), out: &std::path::Path) -> std::process::Output {
    let (node, from, to) = (beacon.url(), from.to_string(), to.to_string());
    keeper_output([
        "builder",
        "history",
        "--beacon-node",
        &node,
        "--from",
        &from,
        "--to",
        &to,
        "--out",
        out.to_str().unwrap(),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_slot_with_an_orphan_is_flagged_where_the_node_shows_orphans() {
    let beacon = beacon().await;
    for slot in [101, 104, 106] {
        beacon.block(slot);
    }
    beacon.orphan(103, 1);
    beacon.orphan(104, 1);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("missed.csv");
    for (shows, flag) in [(false, 0), (true, 1)] {
        beacon.set(|settings| settings.shows_orphans = shows);
        let output = history(&beacon, (101, 105), &out);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let expected = format!("slot,relayed_block_forked\n102,0\n103,{flag}\n105,0\n");
        assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_was_interrupted_goes_on_to_the_same_file() {
    let beacon = beacon().await;
    (101..=480).filter(|slot| slot % 7 != 0).for_each(|slot| beacon.block(slot));
    let folder = tempfile::tempdir().unwrap();
    let (whole, out) = (folder.path().join("whole.csv"), folder.path().join("missed.csv"));
    assert_eq!(history(&beacon, (101, 470), &whole).status.code(), Some(0));

    beacon.refuse("headers/400", 503);
    let output = history(&beacon, (101, 470), &out);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
    assert!(stderr(&output).contains("the same command goes on from here"), "{}", stderr(&output));
    // As if it had been killed between a line and the note of it.
    let mut written = fs::read(&out).unwrap();
    written.extend(b"399,0\n40");
    fs::write(&out, written).unwrap();
    beacon.allow("headers/400");
    let early = beacon.count("headers/150");
    let output = history(&beacon, (101, 470), &out);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&out).unwrap(), fs::read_to_string(&whole).unwrap());
    assert_eq!(beacon.count("headers/150"), early, "what was written is not asked for again");
    // Another range begins anew.
    assert_eq!(history(&beacon, (101, 120), &out).status.code(), Some(0));
    let expected = "slot,relayed_block_forked\n105,0\n112,0\n119,0\n";
    assert_eq!(fs::read_to_string(&out).unwrap(), expected);
}
