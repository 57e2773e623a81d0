//! Where the pool gets its time from.
//!
//! Deadlines, throttles and cooldowns are compared on one monotonic clock, so that a test can stand still and step. The
//! wall clock is asked for two things only: dates in replies, and the midnight at which quotas end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fusebox_breaker::{Clock, SystemClock, Tick, UnixMillis};
use tokio::sync::watch;

/// A wait that ends by itself.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A monotonic clock that can be waited on, and the wall clock beside it.
pub trait Time: Clock + fmt::Debug + 'static {
    /// The wall clock.
    fn wall(&self) -> SystemTime;

    /// Ends at `at`, at once if that is past.
    fn sleep_until(&self, at: Tick) -> Sleep;
}

/// What the pool and its breakers share.
pub(crate) type Clk = Arc<dyn Time>;

/// Time since the clock's origin, as throttles and limits want it.
pub(crate) fn since_origin(now: Tick) -> Duration {
    Duration::from_nanos(now.as_nanos())
}

/// The wall clock as snapshots want it.
pub(crate) fn unix_millis(wall: SystemTime) -> UnixMillis {
    let since = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The machine's clocks and tokio's timer. The default.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineTime;

impl Clock for MachineTime {
    fn now(&self) -> Tick {
        SystemClock.now()
    }
}

impl Time for MachineTime {
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads the wall clock")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep_until(&self, at: Tick) -> Sleep {
        Box::pin(tokio::time::sleep(at.since(self.now())))
    }
}

/// A clock for tests, moved by hand; clones show the same time. Its wall clock starts at noon of 2023-11-14 UTC and
/// moves along, unless it is set.
#[derive(Clone)]
pub struct ManualTime {
    now: Arc<watch::Sender<Tick>>,
    wall: Arc<watch::Sender<SystemTime>>,
    sleepers: Arc<watch::Sender<usize>>,
}

/// Noon: half a day from every midnight.
const START: Duration = Duration::from_secs(1_699_963_200);

impl Default for ManualTime {
    fn default() -> Self {
        Self {
            now: Arc::new(watch::Sender::new(Tick::ZERO)),
            wall: Arc::new(watch::Sender::new(UNIX_EPOCH + START)),
            sleepers: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl ManualTime {
    /// A clock at its origin.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves both clocks forward, and wakes those that it is time for.
    pub fn advance(&self, by: Duration) {
        self.wall.send_modify(|wall| *wall = wall.checked_add(by).unwrap_or(*wall));
        self.now.send_modify(|now| *now = now.after(by));
    }

    /// Sets the wall clock alone, as an operator or NTP does.
    pub fn set_wall(&self, wall: SystemTime) {
        self.wall.send_replace(wall);
    }

    /// Waits until at least `count` sleep on this clock: only then does an advance find them.
    pub async fn sleeping(&self, count: usize) {
        let mut sleepers = self.sleepers.subscribe();
        // The sender lives as long as this clock.
        let _ = sleepers.wait_for(|sleeping| *sleeping >= count).await;
    }
}

impl fmt::Debug for ManualTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualTime").field(&self.now()).finish()
    }
}

impl Clock for ManualTime {
    fn now(&self) -> Tick {
        *self.now.borrow()
    }
}

impl Time for ManualTime {
    fn wall(&self) -> SystemTime {
        *self.wall.borrow()
    }

    fn sleep_until(&self, at: Tick) -> Sleep {
        let mut now = self.now.subscribe();
        // Counted from here on, not from the first poll: whoever saw the count may advance.
        let counted = (*now.borrow() < at).then(|| Counted::new(&self.sleepers));
        Box::pin(async move {
            let _counted = counted;
            if now.wait_for(|now| *now >= at).await.is_err() {
                // The last clock is gone: nobody can move it any more.
                std::future::pending::<()>().await;
            }
        })
    }
}

/// One sleeper, for as long as it lives.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(sleepers: &Arc<watch::Sender<usize>>) -> Self {
        sleepers.send_modify(|count| *count += 1);
        Self(Arc::clone(sleepers))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
