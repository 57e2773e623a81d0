//! `keeper builder proxy` between a real beacon node, Lodestar, and a block builder.
//!
//! `make e2e-lodestar` runs this; it needs Lodestar from npm, a few minutes, and quiet enough a machine. Whoever is paid in a
//! block says where it was built.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::print_stderr)] // here a panic is the report, and so is what is printed

mod chain;
mod process;

use chain::{Http, Slot, backfilled, recorded, streamed, until};
use fusebox_testkit::{BlockBuilder, BuilderNetwork, Engine};
use process::{Lodestar, Process, SLOT, free_port, keeper, sidecar};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

/// Seconds that the beacon node and the validators have for their start.
const START: u64 = 30;
/// `GENESIS_FORK_VERSION` of the minimal preset.
const FORK_VERSION: [u8; 4] = [0, 0, 0, 1];
/// The paths of the builder API.
const HEADER: &str = "/builder/header/";
const REGISTRATIONS: &str = "/builder/validators";
const STATUS: &str = "/builder/status";
const SUBMIT: &str = "/builder/blinded_blocks";
/// Slots without a block for which the validators are stopped, at least: what `seed` wants, and two more.
const STOPPED: u64 = 8;

struct Setting {
    work: PathBuf,
    lodestar: Lodestar,
    node: Http,
    builder: BlockBuilder,
    sidecar_port: u16,
    genesis: u64,
}

impl Setting {
    /// The sidecar, with a log of its own.
    fn sidecar(&self, name: &str, more: &[&str]) -> (Process, PathBuf) {
        let record = self.work.join(format!("{name}.jsonl"));
        let upstream = self.builder.relay().url();
        (sidecar(self.sidecar_port, &self.lodestar.url(), &upstream, &record, more), record)
    }

    /// Another one in its place. Right after a block, since a signed one that finds a closed port is lost.
    async fn restart(&self, old: Process, name: &str, more: &[&str]) -> (Process, PathBuf) {
        let from = self.now();
        until("a block", async || self.node.head().await.filter(|head| *head > from)).await;
        assert!(old.terminate().await.success(), "the sidecar ends well");
        self.sidecar(name, more)
    }

    fn sidecar_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.sidecar_port)
    }

    fn asked(&self, path: &str) -> usize {
        self.builder.relay().requests_for(path).len()
    }

    /// The slot of the clock.
    fn now(&self) -> u64 {
        unix_seconds().saturating_sub(self.genesis) / SLOT
    }

    /// Waits for the end of this slot.
    async fn after(&self, slot: u64) {
        until(&format!("slot {slot}"), async || (self.now() > slot).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_beacon_node_builds_locally_while_the_breaker_is_open_and_counts_orphans_by_view() {
    let installed = env::var_os("FUSEBOX_LODESTAR_DIR").expect("start it by `make e2e-lodestar`");
    let installed = fs::canonicalize(installed).unwrap();
    // Kept, with all logs, until the next run.
    let work = installed.join("run");
    fs::remove_dir_all(&work).ok();
    fs::create_dir_all(&work).unwrap();

    let genesis = unix_seconds() + START;
    let network =
        BuilderNetwork { genesis, seconds_per_slot: SLOT, genesis_fork_version: FORK_VERSION };
    let engine = Engine::start().await.unwrap();
    let builder = BlockBuilder::start(&engine, network).await.unwrap();
    let lodestar = Lodestar::new(installed, work.clone());
    let node = Http::new(lodestar.url());
    let setting = Setting { work, lodestar, node, builder, sidecar_port: free_port(), genesis };
    let own = Http::new(setting.sidecar_url());

    let mut beacon = setting.lodestar.beacon(genesis, &engine.url(), &setting.sidecar_url());
    let (first, _) = setting.sidecar("first", &[]);
    until("the beacon node", async || {
        assert!(!beacon.has_ended(), "the beacon node has ended: see {}", beacon.log.display());
        setting.node.text("/eth/v1/beacon/genesis").await
    })
    .await;
    let validators = setting.lodestar.validators("validators");

    builders_are_asked_once_lodestar_trusts_them(&setting, &own).await;
    six_missed_slots_open_the_sidecar(&setting, &own, &validators).await;

    let restarted = setting.now();
    let (second, record) = setting.restart(first, "second", &[]).await;
    let slot = setting.node.built(Slot::Builder, 2, restarted).await;
    eprintln!("slot {slot}: the sidecar was restarted, and builders are asked again");

    let orphan = an_orphan_is_seen(&setting, &record).await;
    // One that was not there finds it all the same: this node has no debug/fork_choice, so its heads are walked.
    let (third, record) = setting.restart(second, "third", &["--start", "backfill"]).await;
    an_orphan_fills_its_slot_in_the_tree_only(&setting, &record, orphan).await;

    let _twins = setting.lodestar.validators("twins");
    let (slot, roots) = two_blocks_of_a_slot_are_streamed(&record).await;
    let (fourth, record) = setting.restart(third, "fourth", &["--start", "backfill"]).await;
    let found = until("a backfill", async || backfilled(&record, slot)).await;
    assert_eq!(found, roots);
    assert_eq!(own.json("/status").await["state"], "closed");
    eprintln!("slot {slot}: two blocks, streamed and found again by their heads");
    assert!(fourth.terminate().await.success(), "the sidecar ends well");
}

async fn builders_are_asked_once_lodestar_trusts_them(setting: &Setting, own: &Http) {
    let slot = setting.node.built(Slot::Builder, 1, 1).await;
    let before = setting.node.slots(1..=slot - 1).await;
    let local = before.iter().filter(|slot| **slot == Slot::Local).count();
    // Its breaker wants 8 to 16 blocks in its window, which it draws at random; genesis is one.
    assert!((7..=17).contains(&local), "{before:?}");
    setting.node.built(Slot::Builder, 3, slot).await;
    assert!(own.count("keeper_builder_decisions_total", "answer=\"forward\"").await >= 3);
    assert!(setting.asked(HEADER) >= 3 && setting.asked(SUBMIT) >= 3);
    assert_eq!(own.json("/status").await["state"], "closed");
    eprintln!("slot {slot}: {local} local blocks, then builders");
}

async fn six_missed_slots_open_the_sidecar(setting: &Setting, own: &Http, validators: &Process) {
    // Right after a block, so that none is under way.
    let from = setting.now();
    let last =
        until("a block", async || setting.node.head().await.filter(|head| *head > from)).await;
    validators.signal("STOP");
    until("the trip", async || (own.json("/status").await["state"] == "open").then_some(())).await;
    let status = own.json("/status").await;
    let trip = &status["trip"];
    // Lodestar's stream is silent without blocks, so it is opened again every two slots. A decision may fall into that
    // second, and the next one trips.
    let slot = trip["slot"].as_u64().unwrap();
    assert!((last + 7..=last + 8).contains(&slot), "the head was {last}: {status}");
    let wanted =
        json!({ "slot": slot, "cause": "missed-run", "value": slot - last - 1, "limit": 5 });
    assert_eq!(*trip, wanted, "the head was {last}");
    setting.after(last + STOPPED).await;
    let bids = setting.asked(HEADER);
    let (statuses, registrations) = (setting.asked(STATUS), setting.asked(REGISTRATIONS));
    validators.signal("CONT");
    eprintln!("slot {}: open since {slot}, the validators go on", setting.now());

    // Lodestar's own breaker is open as well by now. What counts begins when that one trusts builders again.
    let refused = until("three refusals", async || {
        let refused = own.count("keeper_builder_decisions_total", "answer=\"refuse\"").await;
        (refused >= 3).then_some(refused)
    })
    .await;
    let slot = setting.node.built(Slot::Local, 2, setting.now()).await;
    let (missed, built) = (last + 1..=last + STOPPED, last + STOPPED + 1..=slot);
    assert!(setting.node.slots(missed).await.iter().all(|slot| *slot == Slot::Missed));
    assert!(setting.node.slots(built).await.iter().all(|slot| *slot != Slot::Builder));
    assert_eq!(setting.asked(HEADER), bids, "no header was asked for");
    assert!(setting.asked(STATUS) > statuses, "status passes");
    until("registrations", async || (setting.asked(REGISTRATIONS) > registrations).then_some(()))
        .await;
    eprintln!(
        "slot {slot}: {refused} requests for a header refused, status and registrations passed"
    );
}

/// Gives the slot of an orphan: a block whose payload the builder revealed when two more slots had theirs already.
async fn an_orphan_is_seen(setting: &Setting, record: &Path) -> u64 {
    let submits = setting.asked(SUBMIT);
    // The next two proposers build on the block before, since this one is not there yet. After only one it could still win:
    // one block's votes are counted in the next slot, and until then the larger root decides.
    setting.builder.reveal_next_after(Duration::from_millis(SLOT * 2_500));
    until("a signed block", async || (setting.asked(SUBMIT) > submits).then_some(())).await;
    let body = &setting.builder.relay().requests_for(SUBMIT)[submits].body;
    let signed: Value = serde_json::from_slice(body).unwrap();
    let orphan: u64 = signed["message"]["slot"].as_str().unwrap().parse().unwrap();
    until("the late block", async || (!streamed(record, orphan).is_empty()).then_some(())).await;
    orphan
}

async fn an_orphan_fills_its_slot_in_the_tree_only(setting: &Setting, record: &Path, orphan: u64) {
    let judged = until("a decision after a backfill", async || {
        let lines = recorded(record).into_iter().skip_while(|line| line["kind"] != "snapshot");
        let headers = lines.filter(|line| line["kind"] == "header");
        headers.filter_map(|line| line["slot"].as_u64()).find(|slot| *slot > orphan + 2)
    })
    .await;
    let around = setting.node.slots(orphan..=judged - 1).await;
    let others = around.iter().skip(1).all(|slot| *slot != Slot::Missed);
    assert!(around[0] == Slot::Missed && others, "{around:?} from slot {orphan}");
    let forwards = |view: &str| {
        let policy = format!("window(slots={},max=0,view={view})", judged - orphan);
        let mut command = Command::new(keeper());
        command.args(["builder", "replay", "--policy", &policy, "--events"]).arg(record);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let decision = lines.find(|line| line["slot"] == judged).unwrap();
        decision["forward"].as_bool().unwrap()
    };
    assert!(forwards("tree"), "slot {orphan} is present in the tree");
    assert!(!forwards("canonical"), "slot {orphan} is missed canonically");
    eprintln!("slot {orphan}: an orphan, present in the tree and missed canonically");
}

/// Gives the slot and the roots.
async fn two_blocks_of_a_slot_are_streamed(record: &Path) -> (u64, Vec<String>) {
    until("two blocks in a slot", async || {
        let blocks = recorded(record).into_iter().filter(|line| line["kind"] == "block");
        let mut slots = blocks.filter_map(|line| line["slot"].as_u64());
        slots.find_map(|slot| Some((slot, streamed(record, slot))).filter(|both| both.1.len() == 2))
    })
    .await
}

fn unix_seconds() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}
