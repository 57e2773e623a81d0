//! The crates, each behind the same few words.
//!
//! All are set up alike, as far as they can be: five consecutive failures or half of 100 calls trip, one good probe
//! closes, one probe at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use circuitbreaker_rs::{BreakerError, CircuitBreaker as Rs, DefaultPolicy, HookRegistry};
use failsafe::{Instrument, backoff, failure_policy};
use fusebox_breaker::{
    Breaker, CallError, Category, Config, CountWindow, Event, EventKind, ManualClock, Outcome,
    State, TimeWindow,
};
use recloser::{AsyncRecloser, Recloser};
use tower::{Layer, Service, service_fn};
use tower_resilience_circuitbreaker::{
    CircuitBreakerError, CircuitBreakerLayer, CircuitState, SlidingWindowType,
};

use crate::call::{Call, Down, End, Upstream};
use crate::clock::wait;

/// How long a first open lasts. Peers wait for real, and a busy machine lets them wait longer: with 40 ms, half of it was
/// sometimes all of it.
pub const COOLDOWN: Duration = Duration::from_millis(200);
/// So that a peer that asks for "later than" is past it.
const MARGIN: Duration = Duration::from_millis(10);

/// What trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// So many failures in a row.
    Consecutive(u16),
    /// Half of the last 100 calls, at least 20.
    Count,
    /// Half of the calls of the last [`Rules::PERIOD`], at least 20.
    Time,
    /// The same, and half of them slow too.
    Slow,
}

impl Rules {
    /// Five failures in a row.
    pub const FIVE: Self = Self::Consecutive(5);
    /// What is slow.
    pub const SLOW: Duration = Duration::from_secs(1);
    /// How far a time window looks back.
    pub const PERIOD: Duration = Duration::from_millis(200);
}

/// A breaker of some crate.
pub trait Subject {
    /// A call that begins now; none if it is rejected.
    fn begin(&self) -> Option<Call>;
    /// Waits for so many thousandths of a cooldown.
    fn wait(&self, thousandths: u32) {
        wait(COOLDOWN * thousandths / 1_000 + MARGIN);
    }
    /// Waits until a breaker that has just opened is due.
    fn cool(&self) {
        self.wait(1_000);
    }
    /// Gives up a call that says nothing about the other side, by the best means the crate has.
    fn cancel(&self, call: Call) {
        drop(call);
    }
    /// Whether the crate can be told that a call ended like this.
    fn understands(&self, end: End) -> bool {
        matches!(end, End::Good | End::Bad | End::Panic)
    }
    /// How often it opened, where the crate tells.
    fn opens(&self) -> Option<u64> {
        None
    }
}

/// A crate.
#[derive(Clone, Copy, Debug)]
pub struct Crate {
    /// Its package.
    pub package: &'static str,
    /// A new breaker; none if it cannot have such rules.
    pub subject: fn(Rules) -> Option<Box<dyn Subject>>,
}

/// Ours first.
pub const CRATES: [Crate; 5] = [
    Crate { package: "fusebox-breaker", subject: |rules| Some(Box::new(Ours::new(rules))) },
    Crate { package: "failsafe", subject: failsafe_subject },
    Crate { package: "recloser", subject: recloser_subject },
    Crate { package: "circuitbreaker-rs", subject: rs_subject },
    Crate { package: "tower-resilience-circuitbreaker", subject: tower_subject },
];

// ── ours ──

/// Ours, on a clock that is moved by hand.
#[derive(Debug)]
pub struct Ours {
    /// The breaker.
    pub breaker: Arc<Breaker<ManualClock>>,
    clock: ManualClock,
}

/// Our rules, as those of the others.
#[must_use]
pub fn our_rules(rules: Rules) -> Config {
    let cfg = Config {
        failure_threshold: if let Rules::Consecutive(failures) = rules { failures } else { 0 },
        success_threshold: 1,
        cooldown: COOLDOWN,
        probe_lease: COOLDOWN,
        jitter_percent: 0,
        ..Config::default()
    };
    match rules {
        Rules::Consecutive(_) => cfg,
        Rules::Count => Config { count_window: Some(CountWindow::default()), ..cfg },
        Rules::Time => {
            let window = TimeWindow { period: Rules::PERIOD, ..TimeWindow::default() };
            Config { time_window: Some(window), ..cfg }
        }
        Rules::Slow => {
            let window = TimeWindow {
                period: Rules::PERIOD,
                slow_percent: Some(50),
                ..TimeWindow::default()
            };
            Config { time_window: Some(window), slow_call: Some(Rules::SLOW), ..cfg }
        }
    }
}

impl Ours {
    /// A new one.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        let clock = ManualClock::new();
        let breaker = Breaker::new(our_rules(rules), clock.clone()).expect("the rules are valid");
        Self { breaker: Arc::new(breaker), clock }
    }

    /// What happened since it was last asked.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        self.breaker.drain(&mut events);
        events
    }
}

impl Subject for Ours {
    fn begin(&self) -> Option<Call> {
        let breaker = Arc::clone(&self.breaker);
        Call::begin(|upstream| async move {
            let classify = |result: &Result<(), Down>| match result {
                Ok(()) => Outcome::Success,
                Err(Down(End::Neutral)) => Outcome::Neutral,
                Err(Down(End::Answered)) => Outcome::Answered,
                Err(_) => Outcome::failure(Category::SERVER),
            };
            let result = breaker.call_async_with(classify, || upstream).await;
            !matches!(result, Err(CallError::Rejected(_)))
        })
    }

    fn wait(&self, thousandths: u32) {
        self.clock.advance(COOLDOWN * thousandths / 1_000);
    }

    fn cool(&self) {
        if let Some(deadline) = self.breaker.view().deadline {
            self.clock.set(deadline);
        }
    }

    fn cancel(&self, call: Call) {
        call.end(End::Neutral);
    }

    fn understands(&self, _: End) -> bool {
        true
    }

    fn opens(&self) -> Option<u64> {
        let opened = |event: &&Event| matches!(event.kind, EventKind::Opened { .. });
        Some(self.events().iter().filter(opened).count() as u64)
    }
}

/// An open breaker on a clock that is read by one load, and its opposite.
#[must_use]
pub fn open_breaker() -> Breaker<fusebox_breaker::CachedClock> {
    let rules = Config { cooldown: Duration::from_secs(600), ..Config::default() };
    let breaker =
        Breaker::new(rules, fusebox_breaker::CachedClock::new()).expect("the rules are valid");
    breaker.trip(None, fusebox_breaker::Cause::Manual);
    assert_eq!(breaker.state(), State::Open);
    breaker
}

// ── failsafe ──

#[derive(Clone, Default)]
struct Opens(Arc<AtomicU64>);

impl Opens {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Instrument for Opens {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        self.add();
    }

    fn on_half_open(&self) {}

    fn on_closed(&self) {}
}

struct Failsafe<B> {
    breaker: B,
    opens: Opens,
}

impl<B> Subject for Failsafe<B>
where
    B: failsafe::futures::CircuitBreaker + Clone + Send + Sync + 'static,
{
    fn begin(&self) -> Option<Call> {
        let breaker = self.breaker.clone();
        Call::begin(|upstream| async move {
            !matches!(breaker.call(upstream).await, Err(failsafe::Error::Rejected))
        })
    }

    fn opens(&self) -> Option<u64> {
        Some(self.opens.get())
    }
}

fn failsafe_subject(rules: Rules) -> Option<Box<dyn Subject>> {
    let opens = Opens::default();
    let wait = backoff::constant(COOLDOWN);
    macro_rules! with {
        ($policy:expr) => {{
            let breaker =
                failsafe::Config::new().failure_policy($policy).instrument(opens.clone()).build();
            Some(Box::new(Failsafe { breaker, opens }))
        }};
    }
    match rules {
        Rules::Consecutive(failures) => {
            with!(failure_policy::consecutive_failures(failures.into(), wait))
        }
        // Its rate is over time alone, and of failures.
        Rules::Count | Rules::Slow => None,
        Rules::Time => {
            with!(failure_policy::success_rate_over_time_window(0.5, 20, Rules::PERIOD, wait))
        }
    }
}

// ── recloser ──

struct Reclosers(AsyncRecloser);

impl Subject for Reclosers {
    fn begin(&self) -> Option<Call> {
        let breaker = self.0.clone();
        Call::begin(|upstream| async move {
            !matches!(breaker.call(upstream).await, Err(recloser::Error::Rejected))
        })
    }
}

/// The nearest that recloser has to these rules.
#[must_use]
pub fn recloser_of(rules: Rules, open_wait: Duration) -> Option<Recloser> {
    let custom = Recloser::custom().half_open_len(1).open_wait(open_wait);
    match rules {
        // Its ring has to fill before a rate is judged: all but one fill it, the last one trips.
        Rules::Consecutive(failures) => {
            Some(custom.closed_len(usize::from(failures) - 1).error_rate_closed(1.0).build())
        }
        Rules::Count => Some(custom.closed_len(100).error_rate_closed(0.5).build()),
        Rules::Time | Rules::Slow => None,
    }
}

fn recloser_subject(rules: Rules) -> Option<Box<dyn Subject>> {
    Some(Box::new(Reclosers(recloser_of(rules, COOLDOWN)?.into())))
}

// ── circuitbreaker-rs ──

struct RsSubject {
    breaker: Rs<DefaultPolicy, Down>,
    opens: Opens,
}

impl Subject for RsSubject {
    fn begin(&self) -> Option<Call> {
        let breaker = self.breaker.clone();
        Call::begin(|upstream: Upstream| async move {
            !matches!(breaker.call_async(|| upstream).await, Err(BreakerError::Open))
        })
    }

    fn opens(&self) -> Option<u64> {
        Some(self.opens.get())
    }
}

/// The nearest that circuitbreaker-rs has to these rules.
#[must_use]
pub fn rs_of<E: std::error::Error + 'static>(
    rules: Rules,
    cooldown: Duration,
    hooks: HookRegistry,
) -> Option<Rs<DefaultPolicy, E>> {
    let builder = Rs::<DefaultPolicy, E>::builder()
        .cooldown(cooldown)
        .probe_interval(1)
        .consecutive_successes(1)
        .hooks(hooks);
    match rules {
        // No rate reaches 2.
        Rules::Consecutive(failures) => {
            Some(builder.failure_threshold(2.0).consecutive_failures(failures.into()).build())
        }
        Rules::Count => Some(
            builder
                .failure_threshold(0.5)
                .min_throughput(20)
                .consecutive_failures(u64::MAX)
                .build(),
        ),
        Rules::Time | Rules::Slow => None,
    }
}

fn rs_subject(rules: Rules) -> Option<Box<dyn Subject>> {
    let (opens, hooks) = (Opens::default(), HookRegistry::new());
    let counter = opens.clone();
    hooks.set_on_open(move || counter.add());
    Some(Box::new(RsSubject { breaker: rs_of(rules, COOLDOWN, hooks)?, opens }))
}

// ── tower-resilience-circuitbreaker ──

/// The layer with these rules.
pub fn tower_layer(
    rules: Rules,
    cooldown: Duration,
    on_open: impl Fn() + Send + Sync + 'static,
) -> CircuitBreakerLayer<tower_resilience_circuitbreaker::DefaultClassifier> {
    let builder = CircuitBreakerLayer::builder()
        .wait_duration_in_open(cooldown)
        .permitted_calls_in_half_open(1)
        .failure_rate_threshold(0.5)
        .minimum_number_of_calls(20)
        .on_state_transition(move |_, to| {
            if to == CircuitState::Open {
                on_open();
            }
        });
    let builder = match rules {
        Rules::Consecutive(failures) => builder.consecutive_failures(failures.into()),
        Rules::Count => builder.sliding_window_size(100),
        Rules::Time => builder
            .sliding_window_type(SlidingWindowType::TimeBased)
            .sliding_window_duration(Rules::PERIOD),
        Rules::Slow => builder
            .sliding_window_type(SlidingWindowType::TimeBased)
            .sliding_window_duration(Rules::PERIOD)
            .slow_call_duration_threshold(Rules::SLOW)
            .slow_call_rate_threshold(0.5),
    };
    builder.build().expect("the rules are valid")
}

struct TowerSubject<S> {
    service: S,
    opens: Opens,
}

impl<S> Subject for TowerSubject<S>
where
    S: Service<Upstream, Error = CircuitBreakerError<Down>> + Clone + Send + 'static,
    S::Future: Send,
{
    fn begin(&self) -> Option<Call> {
        let mut service = self.service.clone();
        Call::begin(|upstream| async move {
            let result = match std::future::poll_fn(|cx| service.poll_ready(cx)).await {
                Ok(()) => service.call(upstream).await,
                Err(error) => Err(error),
            };
            !matches!(result, Err(CircuitBreakerError::OpenCircuit))
        })
    }

    fn opens(&self) -> Option<u64> {
        Some(self.opens.get())
    }
}

fn tower_subject(rules: Rules) -> Option<Box<dyn Subject>> {
    let opens = Opens::default();
    let counter = opens.clone();
    let layer = tower_layer(rules, COOLDOWN, move || counter.add());
    // The upstream is the request, and the answer is what it says.
    let service = layer.layer(service_fn(|upstream: Upstream| upstream));
    Some(Box::new(TowerSubject { service, opens }))
}
