//! Time as a value.
//!
//! A breaker compares instants and never asks where they came from, so tests, simulations and callers that already
//! read a clock pass their own. This is the one module that may call `Instant::now`, which costs about twenty times
//! an atomic load: nothing else in this crate pays for it unless it needs it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Nanoseconds since an arbitrary origin. Only comparable with ticks of the same clock; all arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Tick(u64);

impl Tick {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// The last instant there is, 584 years after the origin. A deadline here never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This instant moved away by `wait`, at most to [`Tick::MAX`].
    #[must_use]
    pub const fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(nanos(wait)))
    }

    /// The time from `earlier` to this instant; zero when `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A duration in nanoseconds; beyond 584 years, the most there is.
pub(crate) const fn nanos(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(duration.subsec_nanos() as u64)
}

/// Where a breaker gets the time from.
///
/// It should not go back. If it does, the breaker takes that as no time passed.
pub trait Clock: Send + Sync {
    /// The present.
    fn now(&self) -> Tick;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Tick {
        (**self).now()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Tick {
        (**self).now()
    }
}

/// One origin for the whole process: the deadline of one breaker can be given to another.
static ORIGIN: LazyLock<Instant> = LazyLock::new(read);

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
#[inline]
fn read() -> Instant {
    Instant::now()
}

/// The operating system's monotonic clock. Every one of them counts from the same origin.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Tick {
        let origin = *ORIGIN;
        Tick(nanos(read().saturating_duration_since(origin)))
    }
}

/// A clock that stands still between calls of [`CachedClock::tick`]; clones show the same time.
///
/// Reading it is one atomic load. Its owner calls `tick` from a loop, say every millisecond. **If nobody does, no
/// cooldown ever ends**: use [`SystemClock`] unless a measurement says that its 20 ns matter.
#[derive(Clone, Debug)]
pub struct CachedClock(Arc<AtomicU64>);

impl CachedClock {
    /// A clock that shows the present, until it is told to move.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(AtomicU64::new(SystemClock.now().0)))
    }

    /// Moves to the present.
    pub fn tick(&self) {
        // Two owners may race here; the later time stays.
        self.0.fetch_max(SystemClock.now().0, Ordering::Relaxed);
    }
}

impl Default for CachedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for CachedClock {
    #[inline]
    fn now(&self) -> Tick {
        Tick(self.0.load(Ordering::Relaxed))
    }
}

/// A clock for tests, moved by hand; clones show the same time.
#[derive(Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows the origin.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves forward.
    pub fn advance(&self, by: Duration) {
        self.set(self.now().after(by));
    }

    /// Jumps to an instant, backwards too: a breaker must live with that.
    pub fn set(&self, to: Tick) {
        self.0.store(to.0, Ordering::Relaxed);
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualClock").field(&self.now()).finish()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Tick {
        Tick(self.0.load(Ordering::Relaxed))
    }
}
