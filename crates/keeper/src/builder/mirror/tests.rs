//! Answers of real sidecars, and of others.

use super::*;
use crate::{builder::listen, config::BuilderSettings, store::Store};
use fusebox_builder::{
    Action, Live, LiveOptions, Network, Observation, OnUnknown, Paths, Root, Seen, Sidecar,
    SidecarOptions, Sleep, SlotClock, SlotsPerEpoch, Start,
};
use fusebox_rpc::SecretUrl;
use fusebox_testkit::{Clock as _, Door, HttpReply, ManualClock, Relay};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const SLOT: Duration = Duration::from_secs(12);
/// The genesis of the chain: the clock begins in its slot 100, after that one's decision.
const GENESIS: u64 = 1_767_323_045;

#[derive(Clone, Debug)]
struct Manual(ManualClock);

impl fusebox_builder::Clock for Manual {
    fn unix_ms(&self) -> i64 {
        self.0.now().as_millis() as i64
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Clock::sleep(&self.0, time)
    }
}

fn clock() -> ManualClock {
    ManualClock::new(Duration::from_secs(GENESIS + 7) + 100 * SLOT)
}

/// A sidecar that trips at the first missed slot and closes at the next block.
struct Proxy {
    live: Arc<Live>,
    clock: ManualClock,
    url: String,
    stop: CancellationToken,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Proxy {
    async fn start(clock: &ManualClock) -> Self {
        let options = LiveOptions {
            policy: "consecutive(max=0)".parse().unwrap(),
            recovery: None,
            start: Start::Zero,
            on_unknown: OnUnknown::Local,
        };
        let time = Arc::new(Manual(clock.clone()));
        let live = Live::new(options, time, vec!["node".to_owned()], None);
        let (slot_ms, slots_per_epoch) = (12_000.try_into().unwrap(), SlotsPerEpoch::MAINNET);
        let slots = SlotClock { slot_ms, slots_per_epoch };
        assert!(live.join(Network { clock: slots, genesis: GENESIS, gloas_epoch: None }));
        let now = live.with_machine(|machine| machine.now()).unwrap();
        live.observe(Observation::Stream { node: 0, up: true });
        let blocks = Vec::new();
        live.observe(Observation::Snapshot { node: 0, from: now, blocks, whole_tree: true });
        let options = SidecarOptions {
            live: Arc::clone(&live),
            upstream: None,
            token: None,
            metrics: Box::new(String::new),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/status", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(listen::serve(listener, Sidecar::new(options, Paths::Own), stop.clone()));
        Self { live, clock: clock.clone(), url, stop }
    }

    /// The next slot, up to its decision. The current one has a block, or none.
    fn next(&self, has_block: bool) {
        if has_block {
            let slot = self.live.with_machine(|machine| machine.now()).unwrap();
            let root: Root = format!("0x{slot:x}").parse().unwrap();
            let block = Seen::new(slot, root, None);
            self.live.observe(Observation::Block { node: 0, block });
        }
        for _ in 0..2 {
            self.clock.advance(SLOT / 2);
            self.live.observe(Observation::Sync {
                node: 0,
                head_slot: 0,
                is_syncing: false,
                is_optimistic: false,
                el_offline: false,
            });
        }
    }
}

fn settings(url: &str) -> BuilderSettings {
    BuilderSettings { status_url: SecretUrl::new(url) }
}

/// A keeper that was just started.
struct Keeper {
    mirror: Mirror,
    outage: Outage,
}

impl Keeper {
    fn start(url: &str, store: &Store, clock: &ManualClock) -> Self {
        let router: Router = Arc::new(|_| vec!["hook".to_owned()]);
        let (http, clock) = (Http::new().unwrap(), Arc::new(clock.clone()));
        let mirror = Mirror::new(&settings(url), http, store.clone(), router, clock).unwrap();
        Self { mirror, outage: Outage::default() }
    }

    async fn look(&mut self) {
        self.mirror.look(&mut self.outage).await.unwrap();
    }

    fn shown(&self) -> Value {
        self.mirror.handle().document()
    }
}

/// What was told so far: type, cause, slot.
async fn told(store: &Store) -> Vec<(String, String)> {
    let rows = sqlx::query("SELECT type, body FROM message ORDER BY seq").fetch_all(store.reader());
    let read = |row: &sqlx::any::AnyRow| {
        let body: Value = serde_json::from_str(&row.get::<String, _>(1)).unwrap();
        let data = &body["data"];
        let why = data["cause"].as_str().or(data["reason"].as_str()).unwrap();
        let place = data["slot"].as_u64().map(|slot| format!(" {slot}")).unwrap_or_default();
        (row.get(0), format!("{why}{place}"))
    };
    rows.await.unwrap().iter().map(read).collect()
}

fn list(told: &[(&str, &str)]) -> Vec<(String, String)> {
    told.iter().map(|(kind, why)| ((*kind).to_owned(), (*why).to_owned())).collect()
}

#[tokio::test]
async fn each_opening_and_closing_is_told_once_whichever_of_the_two_is_started_again() {
    let (clock, store) = (clock(), Store::in_memory().await.unwrap());
    let proxy = Proxy::start(&clock).await;
    let mut keeper = Keeper::start(&proxy.url, &store, &clock);
    keeper.look().await;
    assert!(told(&store).await.is_empty());
    assert_eq!(
        (&keeper.shown()["answers"], &keeper.shown()["state"]),
        (&true.into(), &"closed".into())
    );
    assert_eq!(keeper.shown()["answered_at"], GENESIS + 1_207);

    proxy.next(true);
    proxy.next(false);
    keeper.look().await;
    let mut want = vec![("builder.opened", "missed-run 102")];
    assert_eq!(told(&store).await, list(&want));
    assert_eq!(keeper.shown()["state"], "open");
    assert_eq!(keeper.shown()["trip"]["limit"], 0);

    // The keeper is started again, and nothing has happened; then the whole of it between two looks.
    let mut keeper = Keeper::start(&proxy.url, &store, &clock);
    keeper.look().await;
    assert_eq!(told(&store).await, list(&want));
    proxy.next(true);
    proxy.next(false);
    keeper.look().await;
    want.extend([("builder.closed", "none 103"), ("builder.opened", "missed-run 104")]);
    assert_eq!(told(&store).await, list(&want));

    // Another sidecar in its place begins closed, and numbers anew.
    let again = Proxy::start(&clock).await;
    let mut keeper = Keeper::start(&again.url, &store, &clock);
    keeper.look().await;
    want.push(("builder.closed", "restart"));
    assert_eq!(told(&store).await, list(&want));
    let now = again.live.with_machine(|machine| machine.now()).unwrap();
    again.next(true);
    again.next(false);
    keeper.look().await;
    keeper.look().await;
    let slot = format!("missed-run {}", now + 2);
    want.push(("builder.opened", &slot));
    assert_eq!(told(&store).await, list(&want));
}

#[tokio::test]
async fn a_message_says_when_it_happened_and_why_and_goes_where_routes_lead() {
    let (clock, store) = (clock(), Store::in_memory().await.unwrap());
    let proxy = Proxy::start(&clock).await;
    let mut keeper = Keeper::start(&proxy.url, &store, &clock);
    keeper.look().await;
    proxy.next(true);
    proxy.next(false);
    clock.advance(Duration::from_secs(30));
    keeper.look().await;
    let row = sqlx::query(
        "SELECT message.body, message.key, outbox.channel FROM message JOIN outbox ON outbox.message = message.id",
    )
    .fetch_one(store.reader())
    .await
    .unwrap();
    let body: Value = serde_json::from_str(&row.get::<String, _>(0)).unwrap();
    // A third into slot 102, and not when it was heard of.
    assert_eq!(body["timestamp"], crate::output::utc(GENESIS + 102 * 12 + 4));
    let data = &body["data"];
    assert_eq!(data["summary"], "slot 102: missed-run (1, limit 0)");
    assert_eq!((&data["value"], &data["limit"]), (&1.into(), &0.into()));
    assert_eq!(data["policy"], "consecutive(max=0)");
    assert_eq!(data["runbook"], "docs/runbooks/builder.opened.md");
    assert_eq!(
        (row.get::<String, _>(1), row.get::<String, _>(2)),
        ("builder".into(), "hook".into())
    );
}

#[tokio::test]
async fn of_a_sidecar_that_is_met_first_only_what_it_is_now_is_told() {
    let clock = clock();
    let proxy = Proxy::start(&clock).await;
    proxy.next(true);
    proxy.next(false);
    proxy.next(true);
    let store = Store::in_memory().await.unwrap();
    Keeper::start(&proxy.url, &store, &clock).look().await;
    assert!(told(&store).await.is_empty(), "it has opened, and closed since");

    proxy.next(false);
    let store = Store::in_memory().await.unwrap();
    let mut keeper = Keeper::start(&proxy.url, &store, &clock);
    keeper.look().await;
    assert_eq!(told(&store).await, list(&[("builder.opened", "missed-run 104")]));
    proxy.next(true);
    keeper.look().await;
    assert_eq!(told(&store).await.last().unwrap().0, "builder.closed");
}

#[tokio::test]
async fn more_transitions_than_are_shown_leave_openings_and_closings_in_turn() {
    let (clock, store) = (clock(), Store::in_memory().await.unwrap());
    let proxy = Proxy::start(&clock).await;
    let mut keeper = Keeper::start(&proxy.url, &store, &clock);
    keeper.look().await;
    for slot in 0..67 {
        proxy.next(slot % 2 == 0);
    }
    // An admin's moves are transitions, and push others out.
    proxy.live.admin(Action::ForceClosed, None);
    keeper.look().await;
    let told = told(&store).await;
    assert_eq!(told[0], ("builder.opened".to_owned(), "unseen".to_owned()));
    for pair in told.windows(2) {
        assert_ne!(pair[0].0, pair[1].0);
    }
    assert_eq!(told.last().unwrap().0, "builder.closed");
}

#[tokio::test]
async fn a_silence_is_shown_at_once_and_told_after_a_minute_and_once() {
    let (clock, store) = (clock(), Store::in_memory().await.unwrap());
    let sidecar = Relay::start().await.unwrap();
    let url = format!("{}/status", sidecar.url());
    let mut keeper = Keeper::start(&url, &store, &clock);
    sidecar.set_door(Door::Refused).await.unwrap();
    keeper.look().await;
    let shown = keeper.shown();
    assert_eq!((&shown["answers"], &shown["answered_at"]), (&false.into(), &Value::Null));
    assert_eq!(shown["error"], "it refused the connection");
    clock.advance(LASTING - Duration::from_millis(1));
    keeper.look().await;
    assert!(told(&store).await.is_empty());
    clock.advance(Duration::from_millis(1));
    keeper.look().await;
    keeper.look().await;
    let mut want = vec![("provider.down", "it refused the connection")];
    assert_eq!(told(&store).await, list(&want));

    // Nor is it told by a keeper that is started again meanwhile.
    let mut keeper = Keeper::start(&url, &store, &clock);
    for _ in 0..3 {
        keeper.look().await;
        clock.advance(LASTING);
    }
    assert_eq!(told(&store).await, list(&want));

    // The next silence is news.
    let proxy = Proxy::start(&clock).await;
    Keeper::start(&proxy.url, &store, &clock).look().await;
    for _ in 0..2 {
        clock.advance(LASTING);
        keeper.look().await;
    }
    want.push(want[0]);
    assert_eq!(told(&store).await, list(&want));
}

#[tokio::test]
async fn what_is_no_answer_of_a_sidecar_is_a_silence_that_says_why() {
    let (clock, store) = (clock(), Store::in_memory().await.unwrap());
    let other = Relay::start().await.unwrap();
    let mut keeper = Keeper::start(&format!("{}/status", other.url()), &store, &clock);
    let moved = |seq: u64| json!({ "seq": seq, "ms": 0, "slot": 1, "from": "closed", "to": "open", "cause": "none" });
    let good = json!({
        "instance": "a", "started_ms": 0, "policy": "seed", "state": "closed", "transitions": [],
    });
    let with = |name: &str, value: Value| {
        let mut document = good.clone();
        document[name] = value;
        document.to_string()
    };
    let endless = format!("{{\"instance\":\"{}", "a".repeat(LARGEST));
    for (body, why) in [
        ("{}".to_owned(), "no /status"),
        ("5ecret".to_owned(), "no /status"),
        ("[".repeat(100_000), "no /status"),
        (endless, "no /status"),
        (with("state", "ajar".into()), "no /status"),
        (with("transitions", json!([moved(1), moved(2)])), "contradicts itself"),
        (with("transitions", json!([moved(1), moved(1)])), "contradicts itself"),
        (with("transitions", (0..65).rev().map(moved).collect()), "contradicts itself"),
        (with("nodes", (0..9).map(|_| json!({ "name": "n" })).collect()), "contradicts itself"),
    ] {
        other.answer("/status", HttpReply::new(200).body(body.clone()));
        keeper.look().await;
        let error = keeper.shown()["error"].as_str().unwrap().to_owned();
        assert!(
            error.contains(why) && !error.contains("5ecret"),
            "{error}: {}",
            &body[..50.min(body.len())]
        );
    }
    other.answer("/status", HttpReply::new(503).body(good.to_string()));
    keeper.look().await;
    assert_eq!(keeper.shown()["error"], "it answers with status 503");
    other.answer("/status", HttpReply::new(200).body(good.to_string()));
    keeper.look().await;
    assert_eq!(
        (&keeper.shown()["error"], &keeper.shown()["answers"]),
        (&Value::Null, &true.into())
    );
    assert!(told(&store).await.is_empty());
}

#[tokio::test]
async fn what_a_sidecar_makes_up_is_bounded_and_told_once() {
    let (clock, store) = (clock(), Store::in_memory().await.unwrap());
    let other = Relay::start().await.unwrap();
    let mut keeper = Keeper::start(&format!("{}/status", other.url()), &store, &clock);
    let long = format!("a\n\u{1b}[31m{}", "x".repeat(50_000));
    for state in ["closed", "open", "closed", "open"] {
        let moved = json!({
            "seq": u64::MAX, "ms": i64::MAX, "slot": u64::MAX, "from": "half-open", "to": "open", "cause": long,
        });
        let document = json!({
            "instance": long, "started_ms": i64::MIN, "genesis": u64::MAX, "policy": long, "state": state,
            "transitions": [moved],
        });
        other.answer("/status", HttpReply::new(200).body(document.to_string()));
        keeper.look().await;
    }
    let kinds: Vec<_> = told(&store).await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["builder.opened", "builder.closed"], "one number is one transition");
    let shown = keeper.shown().to_string();
    assert!(shown.len() < 2_000 && !shown.contains("\\u001b") && !shown.contains("\\n"), "{shown}");
}

#[tokio::test]
async fn check_asks_it_once() {
    let clock = clock();
    let proxy = Proxy::start(&clock).await;
    let http = Http::new().unwrap();
    let said = summary(&settings(&proxy.url), &http, &clock).await;
    let want = "closed, policy consecutive(max=0), 1 of 1 beacon nodes eligible";
    assert_eq!(said.as_deref(), Ok(want));
    proxy.next(true);
    proxy.next(false);
    let said = summary(&settings(&proxy.url), &http, &clock).await.unwrap();
    assert!(said.starts_with("open since slot 102 (missed-run), "), "{said}");
    let nobody = settings("http://127.0.0.1:1/status");
    let said = summary(&nobody, &http, &clock).await;
    assert_eq!(said.unwrap_err(), "it refused the connection");
}
