//! When a breaker trips, how long it stays open, and what closes it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::outcome::{Category, CategoryNames};
use crate::state::Mode;

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// A longer cooldown is an outage of its own making; an operator who wants it has [`Mode::ForcedOpen`].
const LONGEST_COOLDOWN: Duration = Duration::from_secs(7 * 86_400);
/// "Until 00:00 UTC" is at most a day away; one hour more for the other side's clock.
const DEFAULT_MAX_HINT: Duration = Duration::from_secs(25 * 3_600);
/// The slots of a half-open breaker are one bit each in 16.
const MOST_PROBES: u8 = 16;
/// 8 KiB a breaker. Whoever needs more samples has enough traffic for a time window.
const MOST_SAMPLES: usize = 4_096;
/// A minute in seconds; the window is rescanned in whole when the breaker was idle for longer than its period.
const MOST_BUCKETS: u8 = 60;
/// Above half of the back-off, jitter is the rule and the back-off the exception.
const MOST_JITTER: u8 = 50;
/// One storm of failures would push out the event that explains it.
const LEAST_EVENTS: usize = 16;
/// Some 100 MB a ring, which is taken at once. Whoever drains once a minute and still loses events has other problems.
const MOST_EVENTS: usize = 1 << 20;

/// The rules of a breaker. Fields are free to set; [`Config::validate`] judges them together.
///
/// ```
/// use fusebox_breaker::{Category, Config};
/// use std::time::Duration;
///
/// let cfg = Config { cooldown: Duration::from_secs(5), ..Config::default() }.category_threshold(Category::TIMEOUT, 2);
/// assert!(cfg.validate().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Config {
    /// Consecutive failures of any category that trip; 0 = never. Default 5.
    pub failure_threshold: u16,
    /// Consecutive failures of one category that trip. Default: none.
    pub category_thresholds: CategoryThresholds,
    /// Successful probes that close, 1 … 255. Default 2.
    pub success_threshold: u8,
    /// Probes at once, 1 … 16, and never more than successes are still needed. Default 1.
    pub half_open_max_inflight: u8,
    /// How long the first open lasts, 1 ms … `max_cooldown`. Default 60 s.
    #[cfg_attr(feature = "serde", serde(alias = "recovery_timeout", with = "crate::duration"))]
    pub cooldown: Duration,
    /// What the doubled cooldown never exceeds, jitter included, at most 7 days. Default 600 s.
    #[cfg_attr(feature = "serde", serde(alias = "max_recovery_timeout", with = "crate::duration"))]
    pub max_cooldown: Duration,
    /// The least a hint counts for, at most `cooldown`. None, the default, is 1 s, or `cooldown` where that is shorter.
    #[cfg_attr(feature = "serde", serde(with = "crate::duration::optional"))]
    pub min_cooldown: Option<Duration>,
    /// The most a hint counts for, at least `max_cooldown`. None, the default, is 25 h, or `max_cooldown` where that
    /// is longer.
    #[cfg_attr(feature = "serde", serde(with = "crate::duration::optional"))]
    pub max_hint: Option<Duration>,
    /// The random part of a cooldown in percent, 0 … 50. Default 5.
    pub jitter_percent: u8,
    /// How long a probe may take before it is given up as lost, at least 1 ms. Default 30 s.
    #[cfg_attr(feature = "serde", serde(with = "crate::duration"))]
    pub probe_lease: Duration,
    /// A failure rate over the last calls. Default: off.
    pub count_window: Option<CountWindow>,
    /// A failure rate over the last seconds. Default: off.
    pub time_window: Option<TimeWindow>,
    /// A call that took at least this long is slow, at least 1 ms. Needs a `slow_percent`. Default: off.
    #[cfg_attr(feature = "serde", serde(with = "crate::duration::optional"))]
    pub slow_call: Option<Duration>,
    /// What the drop of an unsettled permit means. Default: a failure.
    pub on_drop: OnDrop,
    /// The mode it starts in. Default: normal.
    pub mode: Mode,
    /// Whether each admission and rejection is an event. They cost a lock a call. Default: off.
    pub call_events: bool,
    /// How many events each of the two rings holds, 16 … 1,048,576. Default 1,024.
    pub event_capacity: usize,
    /// Other names for categories, for display.
    #[cfg_attr(feature = "serde", serde(with = "crate::serde_impl::names"))]
    pub category_names: CategoryNames,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            failure_threshold: 5,
            category_thresholds: CategoryThresholds::default(),
            success_threshold: 2,
            half_open_max_inflight: 1,
            cooldown: 60 * SECOND,
            max_cooldown: 600 * SECOND,
            min_cooldown: None,
            max_hint: None,
            jitter_percent: 5,
            probe_lease: 30 * SECOND,
            count_window: None,
            time_window: None,
            slow_call: None,
            on_drop: OnDrop::Fail,
            mode: Mode::Normal,
            call_events: false,
            event_capacity: 1_024,
            category_names: CategoryNames::default(),
        }
    }
}

/// What becomes of a permit that is dropped without being settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum OnDrop {
    /// A timeout: the caller gave up on a hanging call, which is the commonest reason for a dropped future.
    #[default]
    Fail,
    /// Nothing, as [`Outcome::Neutral`](crate::Outcome::Neutral). Twenty hung calls then trip nothing.
    Cancel,
}

/// Thresholds by category, where there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CategoryThresholds([Option<u16>; Category::COUNT]);

impl CategoryThresholds {
    /// The threshold of `category`.
    #[must_use]
    pub const fn get(&self, category: Category) -> Option<u16> {
        self.0[category.index()]
    }

    /// Sets or removes the threshold of `category`.
    pub const fn set(&mut self, category: Category, threshold: Option<u16>) {
        self.0[category.index()] = threshold;
    }

    /// Those that are set.
    pub fn iter(&self) -> impl Iterator<Item = (Category, u16)> {
        Category::ALL.into_iter().filter_map(|category| Some((category, self.get(category)?)))
    }
}

impl FromIterator<(Category, u16)> for CategoryThresholds {
    fn from_iter<I: IntoIterator<Item = (Category, u16)>>(thresholds: I) -> Self {
        let mut all = Self::default();
        for (category, threshold) in thresholds {
            all.set(category, Some(threshold));
        }
        all
    }
}

/// The last calls, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct CountWindow {
    /// How many samples are remembered, 1 … 4,096. Default 100.
    pub size: usize,
    /// How many there must be before a rate means anything, 1 … `size`. Default 20.
    pub min_calls: u32,
    /// Failures in percent that trip, 1 … 100. Default 50.
    pub failure_percent: u8,
    /// Slow calls in percent that trip, 1 … 100; needs `slow_call`. Default: off.
    pub slow_percent: Option<u8>,
}

impl Default for CountWindow {
    fn default() -> Self {
        Self { size: 100, min_calls: 20, failure_percent: 50, slow_percent: None }
    }
}

/// The last seconds, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct TimeWindow {
    /// How far back it looks. Default 10 s.
    #[cfg_attr(feature = "serde", serde(with = "crate::duration"))]
    pub period: Duration,
    /// In how many steps old samples leave, 2 … 60, each at least 1 ms long. Default 10.
    pub buckets: u8,
    /// How many samples there must be before a rate means anything, at least 1. Default 20.
    pub min_calls: u32,
    /// Failures in percent that trip, 1 … 100. Default 50.
    pub failure_percent: u8,
    /// Slow calls in percent that trip, 1 … 100; needs `slow_call`. Default: off.
    pub slow_percent: Option<u8>,
}

impl Default for TimeWindow {
    fn default() -> Self {
        Self {
            period: 10 * SECOND,
            buckets: 10,
            min_calls: 20,
            failure_percent: 50,
            slow_percent: None,
        }
    }
}

impl Config {
    /// The figures of Lasso's circuit-breaker document for Ethereum RPC providers.
    #[must_use]
    pub fn lasso() -> Self {
        Self { half_open_max_inflight: 3, ..Self::default() }
            .category_threshold(Category::SERVER, 5)
            .category_threshold(Category::NETWORK, 3)
            .category_threshold(Category::TIMEOUT, 2)
            .category_threshold(Category::AUTH, 2)
    }

    /// For calls so rare that five failures take an hour: 3 trip, one success closes, 30 s.
    #[must_use]
    pub fn low_traffic() -> Self {
        Self {
            failure_threshold: 3,
            success_threshold: 1,
            cooldown: 30 * SECOND,
            ..Self::default()
        }
    }

    /// For calls so many that some fail at any moment: a rate over 10 s decides, and 10 failures in a row.
    #[must_use]
    pub fn high_traffic() -> Self {
        Self {
            failure_threshold: 10,
            success_threshold: 3,
            half_open_max_inflight: 3,
            time_window: Some(TimeWindow { min_calls: 100, ..TimeWindow::default() }),
            ..Self::default()
        }
    }

    /// The same with a threshold for `category`.
    #[must_use]
    pub const fn category_threshold(mut self, category: Category, threshold: u16) -> Self {
        self.category_thresholds.set(category, Some(threshold));
        self
    }

    pub(crate) fn shortest_hint(&self) -> Duration {
        self.min_cooldown.unwrap_or(SECOND.min(self.cooldown))
    }

    pub(crate) fn longest_hint(&self) -> Duration {
        self.max_hint.unwrap_or(DEFAULT_MAX_HINT.max(self.max_cooldown))
    }

    /// Whether these are rules that a breaker can follow.
    ///
    /// # Errors
    ///
    /// Every problem there is, not just the first.
    pub fn validate(&self) -> Result<(), ConfigErrors> {
        let mut found = Findings::default();

        found.within("success_threshold", self.success_threshold, 1, u8::MAX);
        found.within("half_open_max_inflight", self.half_open_max_inflight, 1, MOST_PROBES);
        found.within("max_cooldown", self.max_cooldown, MILLISECOND, LONGEST_COOLDOWN);
        found.within("cooldown", self.cooldown, MILLISECOND, LONGEST_COOLDOWN);
        found.within("jitter_percent", self.jitter_percent, 0, MOST_JITTER);
        found.within("probe_lease", self.probe_lease, MILLISECOND, Duration::MAX);
        found.within("event_capacity", self.event_capacity, LEAST_EVENTS, MOST_EVENTS);
        if let Some(slow) = self.slow_call {
            found.within("slow_call", slow, MILLISECOND, Duration::MAX);
        }
        if self.cooldown > self.max_cooldown {
            found.add(ConfigError::CooldownAboveMax {
                cooldown: self.cooldown,
                max_cooldown: self.max_cooldown,
            });
        }
        if self.shortest_hint() > self.cooldown || self.longest_hint() < self.max_cooldown {
            found.add(ConfigError::HintBounds {
                min_cooldown: self.shortest_hint(),
                cooldown: self.cooldown,
                max_hint: self.longest_hint(),
                max_cooldown: self.max_cooldown,
            });
        }
        self.validate_categories(&mut found);
        self.validate_windows(&mut found);

        let has_threshold =
            self.failure_threshold > 0 || self.category_thresholds.iter().next().is_some();
        if !has_threshold && self.count_window.is_none() && self.time_window.is_none() {
            found.add(ConfigError::NothingTrips);
        }
        found.verdict()
    }

    fn validate_categories(&self, found: &mut Findings) {
        for (category, threshold) in self.category_thresholds.iter() {
            found.within("category_thresholds", threshold, 1, u16::MAX);
            if self.failure_threshold > 0 && threshold > self.failure_threshold {
                found.add(ConfigError::CategoryAboveTotal {
                    category,
                    threshold,
                    failure_threshold: self.failure_threshold,
                });
            }
        }
    }

    fn validate_windows(&self, found: &mut Findings) {
        let mut slow_percents = [None; 2];
        if let Some(window) = &self.count_window {
            found.within("count_window.size", window.size, 1, MOST_SAMPLES);
            found.within("count_window.min_calls", window.min_calls, 1, u32::MAX);
            found.within("count_window.failure_percent", window.failure_percent, 1, 100);
            if window.min_calls as usize > window.size {
                found.add(ConfigError::MinCallsAboveWindow {
                    min_calls: window.min_calls,
                    size: window.size,
                });
            }
            slow_percents[0] =
                window.slow_percent.map(|percent| ("count_window.slow_percent", percent));
        }
        if let Some(window) = &self.time_window {
            found.within("time_window.buckets", window.buckets, 2, MOST_BUCKETS);
            let shortest = MILLISECOND * u32::from(window.buckets.clamp(2, MOST_BUCKETS));
            // A longer window would outlive most processes.
            found.within("time_window.period", window.period, shortest, 7 * DAY);
            found.within("time_window.min_calls", window.min_calls, 1, u32::MAX);
            found.within("time_window.failure_percent", window.failure_percent, 1, 100);
            slow_percents[1] =
                window.slow_percent.map(|percent| ("time_window.slow_percent", percent));
        }
        for (field, percent) in slow_percents.into_iter().flatten() {
            found.within(field, percent, 1, 100);
        }
        if self.slow_call.is_some() != slow_percents.iter().any(Option::is_some) {
            found.add(ConfigError::SlowWithoutWindow);
        }
    }
}

#[derive(Default)]
struct Findings(Vec<ConfigError>);

impl Findings {
    fn add(&mut self, error: ConfigError) {
        self.0.push(error);
    }

    fn within<T: Copy + PartialOrd + Into<Quantity>>(
        &mut self,
        field: &'static str,
        got: T,
        min: T,
        max: T,
    ) {
        if got < min || got > max {
            self.add(ConfigError::OutOfRange {
                field,
                min: min.into(),
                max: max.into(),
                got: got.into(),
            });
        }
    }

    fn verdict(self) -> Result<(), ConfigErrors> {
        if self.0.is_empty() { Ok(()) } else { Err(ConfigErrors(self.0)) }
    }
}

/// A value of a configuration field, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A number.
    Number(u64),
    /// A time.
    Time(Duration),
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Number(u64::MAX) | Self::Time(Duration::MAX) => f.write_str("any"),
            Self::Number(number) => number.fmt(f),
            Self::Time(time) => write!(f, "{time:?}"),
        }
    }
}

impl From<u8> for Quantity {
    fn from(number: u8) -> Self {
        Self::Number(number.into())
    }
}

impl From<u16> for Quantity {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Quantity {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Quantity {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<Duration> for Quantity {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

/// Something wrong with a [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A field has a value that it can't have: choose one between `min` and `max`.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The least it may be.
        min: Quantity,
        /// The most it may be.
        max: Quantity,
        /// What it is.
        got: Quantity,
    },
    /// The first cooldown is longer than the longest: raise `max_cooldown` or lower `cooldown`.
    CooldownAboveMax {
        /// The first cooldown.
        cooldown: Duration,
        /// The longest.
        max_cooldown: Duration,
    },
    /// A hint could make the wait shorter than it should ever be, or could not make it as long as the back-off does.
    HintBounds {
        /// Must be at most `cooldown`.
        min_cooldown: Duration,
        /// The first cooldown.
        cooldown: Duration,
        /// Must be at least `max_cooldown`.
        max_hint: Duration,
        /// The longest cooldown.
        max_cooldown: Duration,
    },
    /// A category's threshold is never reached, since the total trips before: lower it or raise `failure_threshold`.
    CategoryAboveTotal {
        /// The category.
        category: Category,
        /// Its threshold.
        threshold: u16,
        /// The total's threshold.
        failure_threshold: u16,
    },
    /// A count window that can never have enough samples: lower `min_calls` or raise `size`.
    MinCallsAboveWindow {
        /// Samples asked for.
        min_calls: u32,
        /// Samples kept.
        size: usize,
    },
    /// `slow_call` without a window's `slow_percent`, or the reverse: set both or neither.
    SlowWithoutWindow,
    /// No threshold, no category, no window: nothing would ever trip. Set one, or use [`Mode::Disabled`].
    NothingTrips,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { field, min, max, got } => {
                write!(f, "{field} is {got}: choose a value from {min} to {max}")
            }
            Self::CooldownAboveMax { cooldown, max_cooldown } => write!(
                f,
                "cooldown is {cooldown:?}, above max_cooldown {max_cooldown:?}: lower the one or raise the other"
            ),
            Self::HintBounds { min_cooldown, cooldown, max_hint, max_cooldown } => write!(
                f,
                "min_cooldown {min_cooldown:?} must be at most cooldown {cooldown:?}, and max_hint {max_hint:?} at \
                 least max_cooldown {max_cooldown:?}"
            ),
            Self::CategoryAboveTotal { category, threshold, failure_threshold } => write!(
                f,
                "the threshold of category {category} is {threshold}, but failure_threshold {failure_threshold} trips \
                 before: lower the one or raise the other"
            ),
            Self::MinCallsAboveWindow { min_calls, size } => write!(
                f,
                "count_window.min_calls is {min_calls}, but only {size} samples are kept: lower it or raise \
                 count_window.size"
            ),
            Self::SlowWithoutWindow => {
                f.write_str("slow_call and a window's slow_percent need each other: set both or neither")
            }
            Self::NothingTrips => f.write_str(
                "nothing would ever trip: set failure_threshold, a category threshold or a window, or disable it by \
                 its mode",
            ),
        }
    }
}

impl Error for ConfigError {}

/// All that is wrong with a [`Config`]; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl Error for ConfigErrors {}
