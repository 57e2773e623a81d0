//! Keeps to a rate that the operator configured, before the endpoint has to say so.
//!
//! The generic cell rate algorithm: one number, the moment at which the next call would be exactly on schedule. A call
//! may come ahead of it by the length of a burst.

use std::num::NonZeroU32;
use std::time::Duration;

/// A burst is a tenth of a second's calls: enough for calls that arrive together, and never more than 1.1 times the rate
/// within any one second.
const BURST_PART: u32 = 10;

/// At most so many calls per second.
///
/// ```
/// use fusebox_rpc::Pace;
/// use std::time::Duration;
///
/// let mut pace = Pace::per_second(4.try_into()?);
/// assert_eq!(pace.take(Duration::ZERO), Ok(()));
/// assert_eq!(pace.take(Duration::ZERO), Err(Duration::from_millis(250)));
/// assert_eq!(pace.take(Duration::from_millis(250)), Ok(()));
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    interval: Duration,
    burst: Duration,
    /// When the next call would be on schedule.
    next: Duration,
}

impl Pace {
    /// `max_rps` of an endpoint.
    #[must_use]
    pub fn per_second(rate: NonZeroU32) -> Self {
        let interval = Duration::from_secs(1) / rate.get();
        let extra = (rate.get() / BURST_PART).saturating_sub(1);
        Self { interval, burst: interval * extra, next: Duration::ZERO }
    }

    /// Takes the right to send one call now. `now` is the time since an origin of the caller's choice; should it step
    /// back, no time has passed.
    ///
    /// # Errors
    ///
    /// How long to wait; the state is unchanged.
    pub fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let ahead = self.next.saturating_sub(now);
        if ahead > self.burst {
            return Err(ahead - self.burst);
        }
        self.next = self.next.max(now).saturating_add(self.interval);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rate: u32) -> Pace {
        Pace::per_second(NonZeroU32::new(rate).unwrap())
    }

    /// How many calls pass in a second that starts at `from`, asked every millisecond, many times.
    fn passed(pace: &mut Pace, from: u64) -> u32 {
        let mut passed = 0;
        for ms in from..from + 1_000 {
            while pace.take(Duration::from_millis(ms)).is_ok() {
                passed += 1;
            }
        }
        passed
    }

    #[test]
    fn no_second_has_more_than_the_rate_and_a_tenth() {
        for rate in [1, 2, 9, 10, 25, 100, 1_000] {
            let mut pace = pace(rate);
            let first = passed(&mut pace, 0);
            assert!(
                first >= rate && first <= rate + (rate / 10).max(1),
                "{rate}: {first} in the first second"
            );
            let second = passed(&mut pace, 1_000);
            assert!(second.abs_diff(rate) <= 1, "{rate}: {second} in the second");
            let idle = passed(&mut pace, 60_000);
            assert!(idle <= rate + (rate / 10).max(1), "{rate}: {idle} after a quiet minute");
        }
    }

    #[test]
    fn the_wait_is_exact() {
        let mut pace = pace(10);
        assert_eq!(pace.take(Duration::ZERO), Ok(()));
        for (now, want) in [(0, Err(100)), (99, Err(1)), (100, Ok(())), (100, Err(100))] {
            let got = pace.take(Duration::from_millis(now)).map_err(|wait| wait.as_millis());
            assert_eq!(got, want, "at {now}");
        }
    }

    #[test]
    fn after_a_burst_the_wait_is_one_interval() {
        let mut pace = pace(100);
        let burst = (0..100).take_while(|_| pace.take(Duration::ZERO).is_ok()).count();
        assert_eq!(burst, 10);
        assert_eq!(pace.take(Duration::ZERO), Err(Duration::from_millis(10)));
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing_away() {
        let mut pace = pace(1);
        assert_eq!(pace.take(Duration::from_secs(10)), Ok(()));
        assert_eq!(pace.take(Duration::from_secs(5)), Err(Duration::from_secs(6)));
        assert_eq!(pace.take(Duration::MAX), Ok(()));
        assert_eq!(pace.take(Duration::ZERO), Err(Duration::MAX));
    }
}
