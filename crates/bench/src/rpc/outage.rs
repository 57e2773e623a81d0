//! A minute of outages on three nodes.
//!
//! | | | | |
//! |---|---|---|---|
//! | A | 0–10 s healthy | 10–20 s hangs | 20–60 s healthy |
//! | B | 0–20 s 429 with `Retry-After` | 20–40 s 200 with −32005 | 40–60 s 502 with HTML |
//! | C | 0–40 s healthy at 40 ms | 40–50 s 20 blocks behind | 50–60 s every other second without an answer |
//!
//! A healthy node is there at every moment: C is so for long enough that A, which hung, is known to be back before C
//! goes bad. No pool can serve from a node that it has not looked at again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use fusebox_breaker::{Clock as _, EventKind, SystemClock as Ticks, Tick};
use fusebox_rpc::PoolEvent;
use fusebox_testkit::{
    Call, Chain, Clock as _, HttpReply, Node, RpcError, StartError, SystemClock, any,
};

use super::load::{METHODS, Sample, is_traffic, ms, open_loop, quantile, secs};
use super::nodes::Farm;
use super::subjects::{ATTEMPT, Kind, PROBE_INTERVAL, Subject, TIMEOUT_THRESHOLD};
use crate::about::Bound;

/// How long it takes.
pub const TIME: Duration = Duration::from_secs(60);
/// Calls a second, of each subject.
pub const RATE: u32 = 60;

const HANGS: Range<Duration> = seconds(10, 20);
const BLOCK_TIME: Duration = Duration::from_secs(1);
/// Beyond what a node may be behind.
const BLOCKS: u64 = 100;
const LATE: Duration = Duration::from_millis(50);
const SECOND: Duration = Duration::from_secs(1);

const fn seconds(from: u64, to: u64) -> Range<Duration> {
    Duration::from_secs(from)..Duration::from_secs(to)
}

/// What a subject made of it.
#[derive(Debug)]
pub struct Outage {
    /// Who.
    pub kind: Kind,
    samples: Vec<Sample>,
    /// What A was asked while it hung.
    dead: usize,
    /// From A's recovery until it first answered a call of each method, or none.
    recovered: Option<Duration>,
    /// Of the pool.
    breaker: Breaker,
}

/// What the pool knew of A.
#[derive(Debug, Default)]
struct Breaker {
    /// Trials while it hung.
    probes: usize,
    /// From A's recovery to the last deadline of its breakers.
    deadline: Duration,
}

/// Plays it.
///
/// # Errors
///
/// A node cannot be started.
pub async fn play(farm: &Farm, kind: Kind) -> Result<Outage, StartError> {
    let chain = Chain::new();
    chain.mine_empty(BLOCKS);
    let clock = SystemClock::new();
    let (start, tick) = (clock.now(), Ticks.now());
    let nodes = [
        farm.start(a(&chain).clock(clock.clone()).block_time(BLOCK_TIME)).await?,
        farm.start(b(&chain).clock(clock.clone())).await?,
        farm.start(c(&chain).clock(clock.clone())).await?,
    ];
    let subject = Subject::new(kind, &nodes).await;
    let samples = open_loop(&subject.provider, &chain, RATE, TIME).await;
    let events = subject.end().await;

    let calls = nodes[0].all_calls();
    let at = |call: &Call| call.at.saturating_sub(start);
    let dead = calls.iter().filter(|call| HANGS.contains(&at(call))).count();
    let mut first: BTreeMap<&str, Duration> = BTreeMap::new();
    let answered = calls.iter().filter(|call| is_traffic(call) && call.upstream.is_some());
    for call in answered.filter(|call| at(call) >= HANGS.end) {
        first.entry(call.method.as_str()).or_insert(at(call) - HANGS.end);
    }
    let recovered: Option<Vec<Duration>> =
        METHODS.iter().map(|method| first.get(method).copied()).collect();
    Ok(Outage {
        kind,
        samples,
        dead,
        recovered: recovered.and_then(|all| all.into_iter().max()),
        breaker: Breaker::of(&events, tick),
    })
}

fn a(chain: &Chain) -> fusebox_testkit::NodeBuilder {
    Node::scripted(chain).rule(any().during(HANGS).hang())
}

fn b(chain: &Chain) -> fusebox_testkit::NodeBuilder {
    // As Alchemy says it: with a JSON-RPC body.
    let too_fast = RpcError::new(429, "Too many requests").status(429).header("retry-after", "2");
    let page = HttpReply::new(502)
        .header("content-type", "text/html")
        .body("<html><body><h1>502 Bad Gateway</h1></body></html>");
    Node::scripted(chain)
        .rule(any().during(seconds(0, 20)).error(too_fast))
        .rule(any().during(seconds(20, 40)).error(RpcError::new(-32005, "rate limit exceeded")))
        .rule(any().during(seconds(40, 60)).http(page))
}

fn c(chain: &Chain) -> fusebox_testkit::NodeBuilder {
    let node = Node::scripted(chain)
        .rule(any().delay(Duration::from_millis(40)))
        .rule(any().during(seconds(40, 50)).stale(20));
    let flaps = (50..60).step_by(2).map(|from| seconds(from, from + 1));
    flaps.fold(node, |node, down| node.rule(any().during(down).close_before_forwarding()))
}

impl Breaker {
    /// From the events of A, on the clock that stood at `start` when the script began.
    fn of(events: &[PoolEvent], start: Tick) -> Self {
        let mut this = Self::default();
        for event in events {
            let PoolEvent::Breaker { provider, event, .. } = event else { continue };
            let at = event.at.since(start);
            if &**provider != "A" || at < HANGS.start {
                continue;
            }
            match event.kind {
                EventKind::HalfOpened { .. } if at < HANGS.end => this.probes += 1,
                EventKind::Opened { deadline, .. } => {
                    let left = deadline.since(start).saturating_sub(HANGS.end);
                    this.deadline = this.deadline.max(left);
                }
                _ => {}
            }
        }
        this
    }
}

impl Outage {
    fn answered(&self) -> Vec<Duration> {
        let good = self.samples.iter().filter(|sample| sample.end.is_ok());
        good.map(|sample| sample.took).collect()
    }

    fn success(&self) -> f64 {
        self.answered().len() as f64 * 100.0 / self.samples.len() as f64
    }

    /// Why calls failed, and how many.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<&str, usize> {
        let mut reasons = BTreeMap::new();
        for why in self.samples.iter().filter_map(|sample| sample.end.as_ref().err()) {
            *reasons.entry(why.as_str()).or_insert(0) += 1;
        }
        reasons
    }

    /// What is wanted of ours.
    #[must_use]
    pub fn bounds(&self) -> Vec<Bound> {
        let p99 = quantile(&self.answered(), 0.99);
        // What was on its way when the call that opens the breaker timed out cannot be called back; nor the one
        // background probe that each class may have had under way.
        let in_flight = (ATTEMPT.as_secs_f64() * f64::from(RATE) / METHODS.len() as f64).ceil();
        let per_class = TIMEOUT_THRESHOLD as usize + in_flight as usize + 1;
        let dead = METHODS.len() * per_class + self.breaker.probes;
        let recovered = self.recovered.unwrap_or(Duration::MAX);
        let served = self.breaker.deadline + PROBE_INTERVAL + SECOND;
        let what = |figure| format!("outages, {}: {figure}", self.kind.name());
        vec![
            Bound::exactly(what("calls answered"), self.answered().len(), self.samples.len()),
            Bound::at_most(what("p99"), p99, ATTEMPT + LATE, ms),
            Bound::at_most(what("requests to the dead node"), self.dead, dead, |n| n.to_string()),
            Bound::at_most(what("A serves again after"), recovered, served, secs),
        ]
    }
}

/// All of them as a table.
#[must_use]
pub fn table(all: &[Outage]) -> String {
    let head = "| | answered | p50 | p99 | slowest | old answers | requests to the dead node | A serves again after |\n\
                |---|---:|---:|---:|---:|---:|---:|---:|\n";
    all.iter().fold(head.to_owned(), |table, outage| {
        let times = outage.answered();
        let [p50, p99, slowest] = [0.5, 0.99, 1.0].map(|share| ms(quantile(&times, share)));
        let old = outage.samples.iter().filter(|sample| sample.is_old).count();
        let recovered = secs(outage.recovered.unwrap_or(Duration::MAX));
        let Outage { kind, dead, .. } = outage;
        let (name, success) = (kind.name(), outage.success());
        table
            + &format!("| {name} | {success:.2} % | {p50} | {p99} | {slowest} | {old} | {dead} | {recovered} |\n")
    })
}
