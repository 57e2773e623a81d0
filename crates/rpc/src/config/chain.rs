//! One chain: its providers, and how calls are spread over them.

use std::collections::BTreeSet;
use std::time::Duration;

use super::breaker::BreakerSettings;
use super::error::Problem;
use super::provider::ProviderConfig;
use super::table::{Table, duration};
use crate::method::MethodClass;

/// How an endpoint is chosen among equally healthy ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// In the order of the file. The default.
    #[default]
    Priority,
    /// At random, by weight.
    LoadBalanced,
    /// The lowest latency, with a few calls elsewhere to notice when that changes.
    Fastest,
    /// At random, weighted by latency.
    LatencyWeighted,
}

/// When what must have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// Connecting, name and TLS included. Default 3 s.
    pub connect: Duration,
    /// One attempt. Default 5 s.
    pub attempt: Duration,
    /// One attempt at logs or traces. Default 15 s.
    pub logs: Duration,
    /// The whole call with all its attempts. Default 20 s. An attempt that this ends before its own time is up counts for
    /// nothing: only what takes longer than `attempt` or `logs` is slow. Where all callers are in a hurry, those are to be
    /// shortened.
    pub call: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(3), attempt: seconds(5), logs: seconds(15), call: seconds(20) }
    }
}

/// When a second endpoint is asked while the first still thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HedgeAfter {
    /// After a fixed time.
    Delay(Duration),
    /// After this percentile of the latencies seen, 50 … 99.
    Percentile(u8),
}

/// Asking a second endpoint before the first has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hedge {
    /// When.
    pub after: HedgeAfter,
    /// How many more, 1 … 3. Default 1.
    pub max: u8,
}

/// One chain of a profile.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChainConfig {
    /// How an endpoint is chosen.
    pub strategy: Strategy,
    /// The hash of block 0, checked besides the chain id.
    pub genesis: Option<[u8; 32]>,
    /// Time between blocks, if it is to be known from the start.
    pub block_time: Option<Duration>,
    /// An endpoint this far behind is still as good as the others. Default 3.
    pub max_lag_blocks: u64,
    /// Whether log ranges that no endpoint serves at once are split. Default true.
    pub auto_split: bool,
    /// While all endpoints are open: one attempt in this time. Default 1 s.
    pub last_resort_interval: Duration,
    /// Time between two background probes. Default 10 s.
    pub probe_interval: Duration,
    /// The longest throttle that a call waits for instead of failing. Default 2 s.
    pub max_inline_wait: Duration,
    /// When what must have ended.
    pub deadlines: Deadlines,
    /// Asking twice. Default off.
    pub hedge: Option<Hedge>,
    /// Methods besides the known ones that may be sent twice.
    pub idempotent: BTreeSet<String>,
    /// Whom to ask.
    pub providers: Vec<ProviderConfig>,
}

impl ChainConfig {
    pub(super) fn read(mut table: Table<'_>, chain: u64, breaker: &BreakerSettings) -> Self {
        let strategies = [
            ("priority", Strategy::Priority),
            ("load_balanced", Strategy::LoadBalanced),
            ("fastest", Strategy::Fastest),
            ("latency_weighted", Strategy::LatencyWeighted),
        ];
        let wanted = "\"priority\", \"load_balanced\", \"fastest\" or \"latency_weighted\"";
        let strategy = table.word("strategy", wanted, &strategies).unwrap_or_default();
        let genesis = read_genesis(&mut table);
        let block_time = table.duration("block_time");
        let max_lag_blocks = table.number("max_lag_blocks", 0, u64::MAX).unwrap_or(3);
        let auto_split = table.flag("auto_split").unwrap_or(true);
        let second = Duration::from_secs(1);
        let last_resort_interval = table.duration("last_resort_interval").unwrap_or(second);
        let probe_interval = table.duration("probe_interval").unwrap_or(10 * second);
        let max_inline_wait = table.duration("max_inline_wait").unwrap_or(2 * second);
        let deadlines = table.table("deadlines").map_or_else(Deadlines::default, read_deadlines);
        let hedge = table.table("hedge").and_then(read_hedge);
        let idempotent = read_idempotent(&mut table);
        let given = table.tables("provider");
        if given.is_empty() {
            table.fail_here(Problem::NoProvider { key: table.key.clone() });
        }
        let mut providers: Vec<ProviderConfig> = Vec::new();
        for given in given {
            let key = given.key.clone();
            let Some(provider) = ProviderConfig::read(given, chain, breaker) else { continue };
            let at = key.strip_prefix(&format!("{}.", table.key)).unwrap_or(&key);
            if providers.iter().any(|other| other.name == provider.name) {
                table.fail(
                    &format!("{at}.name"),
                    Problem::DuplicateName { name: provider.name.clone() },
                );
            }
            providers.push(provider);
        }
        check_leases(&table, &deadlines, &providers);
        table.finish();
        Self {
            strategy,
            genesis,
            block_time,
            max_lag_blocks,
            auto_split,
            last_resort_interval,
            probe_interval,
            max_inline_wait,
            deadlines,
            hedge,
            idempotent,
            providers,
        }
    }
}

fn read_genesis(table: &mut Table<'_>) -> Option<[u8; 32]> {
    let text = table.text("genesis")?;
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 64 && digits.is_ascii());
    let byte = |digits: &str, i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok();
    let hex = |digits: &&str| digits.bytes().all(|b| b.is_ascii_hexdigit());
    let hash = digits.filter(hex).and_then(|digits| {
        let bytes: Option<Vec<u8>> = (0..32).map(|i| byte(digits, i)).collect();
        bytes?.try_into().ok()
    });
    if hash.is_none() {
        table.fail("genesis", Problem::Genesis);
    }
    hash
}

fn read_deadlines(mut table: Table<'_>) -> Deadlines {
    let default = Deadlines::default();
    let read = Deadlines {
        connect: table.duration("connect").unwrap_or(default.connect),
        attempt: table.duration("attempt").unwrap_or(default.attempt),
        logs: table.duration("logs").unwrap_or(default.logs),
        call: table.duration("call").unwrap_or(default.call),
    };
    let contained = [
        ("connect", read.connect, "attempt", read.attempt),
        ("attempt", read.attempt, "call", read.call),
        ("logs", read.logs, "call", read.call),
    ];
    for (name, got, other, limit) in contained {
        if got > limit {
            table.fail(name, Problem::DeadlineOrder { got, other, limit });
        }
    }
    table.finish();
    read
}

/// Every attempt must have ended before its breaker takes it for lost.
fn check_leases(table: &Table<'_>, deadlines: &Deadlines, providers: &[ProviderConfig]) {
    for (name, got) in
        [("deadlines.attempt", deadlines.attempt), ("deadlines.logs", deadlines.logs)]
    {
        let shortest = providers.iter().min_by_key(|provider| provider.breaker.probe_lease());
        if let Some(provider) = shortest.filter(|provider| provider.breaker.probe_lease() <= got) {
            let (provider, lease) = (provider.name.clone(), provider.breaker.probe_lease());
            table.fail(name, Problem::AttemptOutlivesLease { got, provider, lease });
        }
    }
}

fn read_hedge(mut table: Table<'_>) -> Option<Hedge> {
    let after = table.text("after");
    let percentile =
        |text: &str| text.strip_prefix('p')?.parse().ok().filter(|p| (50..=99).contains(p));
    let parsed = after.as_deref().and_then(|text| match percentile(text) {
        Some(percentile) => Some(HedgeAfter::Percentile(percentile)),
        None => duration(text).map(HedgeAfter::Delay),
    });
    if parsed.is_none() {
        table.fail("after", Problem::HedgeAfter);
    }
    let max = table.number("max", 1, 3).unwrap_or(1);
    table.finish();
    Some(Hedge { after: parsed?, max: u8::try_from(max).unwrap_or(1) })
}

fn read_idempotent(table: &mut Table<'_>) -> BTreeSet<String> {
    let methods = table.texts("idempotent").unwrap_or_default();
    for method in methods.iter().filter(|method| MethodClass::of(method) == MethodClass::Send) {
        table.fail("idempotent", Problem::NotIdempotent { method: method.clone() });
    }
    methods.into_iter().collect()
}
