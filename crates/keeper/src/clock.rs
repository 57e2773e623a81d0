//! The machine's time, as a value that a test can hold.
//!
//! Deliveries are tried again for three days, and no test waits that long. What is true of a chain goes by the chain's own
//! time and never by this one.

use std::{
    fmt,
    pin::Pin,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// What [`Clock::sleep`] gives.
pub(crate) type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where the time comes from.
pub(crate) trait Clock: fmt::Debug + Send + Sync {
    /// Milliseconds since the Unix epoch. It may step back: the machine's clock is set by others.
    fn now_ms(&self) -> u64;

    /// Ends after that time.
    fn sleep(&self, time: Duration) -> Sleep;
}

/// The wall clock, read anew each time: receivers compare what is signed with theirs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads it")]
    fn now_ms(&self) -> u64 {
        millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    fn sleep(&self, time: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A time in whole milliseconds; beyond what a number holds, the most there is.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
impl Clock for fusebox_testkit::ManualClock {
    fn now_ms(&self) -> u64 {
        millis(fusebox_testkit::Clock::now(self))
    }

    fn sleep(&self, time: Duration) -> Sleep {
        fusebox_testkit::Clock::sleep(self, time)
    }
}
