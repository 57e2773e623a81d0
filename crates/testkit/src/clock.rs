//! Time, as a value that a test can hold.
//!
//! A paused tokio clock does not mix with sockets: while the runtime waits for the network it counts as idle, so tokio
//! jumps to the next timer, and every time-out fires at once. Hence a clock of our own: delays, drips, token buckets
//! and blocks follow [`ManualClock`], while the network goes on in real time.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// What [`Clock::sleep_until`] gives.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where time comes from. Times are counted from the Unix epoch and never go back.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present time.
    fn now(&self) -> Duration;

    /// Ends as soon as [`now`](Self::now) is `at` or later; at once if it is already.
    fn sleep_until(&self, at: Duration) -> Sleep;

    /// Ends after `time`; saturates at the end of time.
    fn sleep(&self, time: Duration) -> Sleep {
        self.sleep_until(self.now().saturating_add(time))
    }
}

/// The machine's time: the wall clock when it was made, then tokio's, so that it never steps back.
#[derive(Clone, Debug)]
pub struct SystemClock {
    epoch: Duration,
    made: Instant,
}

impl SystemClock {
    /// Reads the wall clock, once.
    #[expect(clippy::disallowed_methods, reason = "the clock is the one place that reads it")]
    pub fn new() -> Self {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self { epoch: wall.unwrap_or_default(), made: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.epoch.saturating_add(self.made.elapsed())
    }

    fn sleep_until(&self, at: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(at.saturating_sub(self.now())))
    }
}

/// A clock that stands still until it is told to go on. Clones share the time.
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: Arc<watch::Sender<Duration>>,
    sleepers: Arc<watch::Sender<usize>>,
}

impl ManualClock {
    /// Stands at `now` since the Unix epoch.
    pub fn new(now: Duration) -> Self {
        Self { now: Arc::new(watch::Sender::new(now)), sleepers: Arc::new(watch::Sender::new(0)) }
    }

    /// Goes on by `time`, and wakes those that it is time for.
    pub fn advance(&self, time: Duration) {
        self.now.send_modify(|now| *now = now.saturating_add(time));
    }

    /// Waits until at least `count` sleep on this clock: only then does an advance find them.
    ///
    /// # Panics
    /// After 20 s of real time.
    pub async fn sleeping(&self, count: usize) {
        let mut sleepers = self.sleepers.subscribe();
        crate::deadline::within(format!("{count} sleepers"), sleepers.wait_for(|n| *n >= count))
            .await
            .expect("the sender lives as long as this clock");
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        *self.now.borrow()
    }

    fn sleep_until(&self, at: Duration) -> Sleep {
        let mut now = self.now.subscribe();
        if *now.borrow() >= at {
            return Box::pin(std::future::ready(()));
        }
        // Counted from here on, not from the first poll: whoever saw the count may advance.
        let counted = Counted::new(&self.sleepers);
        Box::pin(async move {
            let _counted = counted;
            // The last clock is gone: nobody can advance it any more.
            if now.wait_for(|now| *now >= at).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

/// One sleeper, for as long as it lives.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(sleepers: &Arc<watch::Sender<usize>>) -> Self {
        sleepers.send_modify(|n| *n += 1);
        Self(Arc::clone(sleepers))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}
