//! Whether an endpoint allows the next call.
//!
//! *Am I allowed?* is another question than *is it broken?*: a node that answers "slow down" within a millisecond is as
//! healthy as can be, and a breaker that opened for it would then probe it, which is one request too many again. So a
//! refusal for speed or quota never reaches the breaker; it moves a deadline here, and nothing is sent before it.
//!
//! Time is the time since an origin that the caller chooses, the same for all calls.

use std::time::{Duration, SystemTime};

use crate::hint::to_midnight;

/// A shorter pause is over before the refusal has been read.
pub const MIN_PAUSE: Duration = Duration::from_millis(100);

/// "Until 00:00 UTC" is at most a day away; one hour more for the other side's clock. A longer hint is asked again.
pub const MAX_PAUSE: Duration = Duration::from_secs(25 * 3_600);

/// The first pause where the endpoint names none; providers count per second.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// The longest pause we choose by ourselves. Nobody said to wait longer, so we look twice a minute.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// A used-up quota does not come back within a minute, even right before midnight.
const MIN_PARK: Duration = Duration::from_secs(60);

/// How late after midnight to come back: the other side's clock is not ours, and all its users come at once.
const PARK_SPREAD: Duration = Duration::from_secs(300);

/// The random part of a pause, in percent, so that clients that were refused together do not return together.
const SPREAD_PERCENT: u32 = 5;

/// The pause an endpoint has asked for. Not the breaker, which it never touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Throttle {
    until: Duration,
    /// Refusals without a hint in a row.
    refusals: u32,
}

impl Throttle {
    /// How long until a call may be sent; zero when it may.
    #[must_use]
    pub fn wait(&self, now: Duration) -> Duration {
        self.until.saturating_sub(now)
    }

    /// A pause that began in an earlier process.
    pub(crate) fn resume(&mut self, now: Duration, left: Duration) {
        self.until = self.until.max(now.saturating_add(left.min(MAX_PAUSE)));
    }

    /// The endpoint refused a call for its rate. `draw` is a random number.
    ///
    /// With a hint, the pause is the hint, at least 100 ms and at most 25 h. Without, it is 1 s, doubled for each
    /// refusal in a row, up to 30 s; within a pause such a refusal changes nothing, since it is of a call that was sent
    /// before: one burst, not many. Up to 5 % is added. The later of two deadlines stays.
    pub fn refused(&mut self, now: Duration, hint: Option<Duration>, draw: u32) {
        let pause = match hint {
            Some(hint) => hint.clamp(MIN_PAUSE, MAX_PAUSE),
            None if self.wait(now).is_zero() => {
                let pause =
                    FIRST_BACKOFF.saturating_mul(1 << self.refusals.min(5)).min(MAX_BACKOFF);
                self.refusals = self.refusals.saturating_add(1);
                pause
            }
            None => return,
        };
        self.pause(now, pause + part(pause * SPREAD_PERCENT / 100, draw));
    }

    /// The endpoint refused a call because its quota is used up: parked to the next 00:00 UTC and up to 5 minutes more,
    /// at least 60 s, longer if it said so. `wall` is the wall clock; quotas are counted by it.
    pub fn parked(&mut self, now: Duration, wall: SystemTime, hint: Option<Duration>, draw: u32) {
        let midnight = to_midnight(wall) + part(PARK_SPREAD, draw);
        self.pause(now, midnight.max(hint.unwrap_or_default().min(MAX_PAUSE)).max(MIN_PARK));
    }

    /// A call succeeded. Ends the doubling; a pause that runs is not shortened by calls that were sent before it.
    pub fn succeeded(&mut self, now: Duration) {
        if self.wait(now).is_zero() {
            self.refusals = 0;
        }
    }

    fn pause(&mut self, now: Duration, pause: Duration) {
        self.until = self.until.max(now.saturating_add(pause));
    }
}

/// A random part of a whole: none of it for `draw` 0, all of it for the largest.
fn part(whole: Duration, draw: u32) -> Duration {
    let nanos = whole.as_nanos() * u128::from(draw) / u128::from(u32::MAX);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const NOW: Duration = Duration::from_secs(1_000);

    fn after(hint: Option<Duration>, draw: u32) -> Duration {
        let mut throttle = Throttle::default();
        throttle.refused(NOW, hint, draw);
        throttle.wait(NOW)
    }

    #[test]
    fn a_hint_is_kept_within_its_bounds_and_never_shortened() {
        for (hint, want) in [
            (Duration::ZERO, MIN_PAUSE),
            (ms(99), ms(100)),
            (ms(100), ms(100)),
            (ms(101), ms(101)),
            (ms(60_000), ms(60_000)),
            (MAX_PAUSE - ms(1), MAX_PAUSE - ms(1)),
            (MAX_PAUSE, MAX_PAUSE),
            (Duration::MAX, MAX_PAUSE),
        ] {
            assert_eq!(after(Some(hint), 0), want, "{hint:?}");
            let most = after(Some(hint), u32::MAX);
            assert!(most >= want && most <= want * 105 / 100, "{hint:?} gave {most:?}");
        }
        assert_eq!(after(Some(ms(60_000)), u32::MAX), ms(63_000));
    }

    #[test]
    fn without_a_hint_pauses_double_up_to_30_seconds() {
        let mut throttle = Throttle::default();
        let mut now = NOW;
        for want in [1, 2, 4, 8, 16, 30, 30, 30] {
            throttle.refused(now, None, 0);
            assert_eq!(throttle.wait(now), Duration::from_secs(want));
            now += throttle.wait(now);
        }
        throttle.succeeded(now);
        throttle.refused(now, None, 0);
        assert_eq!(throttle.wait(now), Duration::from_secs(1));
    }

    #[test]
    fn a_burst_of_refusals_counts_once() {
        let mut throttle = Throttle::default();
        for _ in 0..100 {
            throttle.refused(NOW, None, 0);
        }
        assert_eq!(throttle.wait(NOW), Duration::from_secs(1));
        let later = NOW + Duration::from_secs(1);
        throttle.refused(later, None, 0);
        assert_eq!(throttle.wait(later), Duration::from_secs(2));
    }

    #[test]
    fn the_later_deadline_stays() {
        let mut throttle = Throttle::default();
        throttle.refused(NOW, Some(ms(60_000)), 0);
        throttle.refused(NOW, Some(ms(1_000)), 0);
        throttle.succeeded(NOW);
        assert_eq!(throttle.wait(NOW), ms(60_000));
        assert_eq!(throttle.wait(NOW + ms(59_999)), ms(1));
        assert_eq!(throttle.wait(NOW + ms(60_000)), Duration::ZERO);
        assert_eq!(throttle.wait(NOW + ms(60_001)), Duration::ZERO);
    }

    #[test]
    fn a_quota_is_parked_past_midnight() {
        let parked = |wall: u64, hint, draw| {
            let mut throttle = Throttle::default();
            throttle.parked(NOW, UNIX_EPOCH + Duration::from_secs(wall), hint, draw);
            throttle.wait(NOW).as_secs()
        };
        assert_eq!(parked(43_200, None, 0), 43_200, "noon");
        assert_eq!(parked(43_200, None, u32::MAX), 43_200 + 300);
        assert_eq!(parked(0, None, 0), 86_400, "at midnight it has just begun");
        for (wall, want) in [(86_339, 61), (86_340, 60), (86_341, 60), (86_399, 60)] {
            assert_eq!(parked(wall, None, 0), want, "{wall}");
        }
        let hint = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(parked(43_200, hint(10), 0), 43_200, "a shorter hint changes nothing");
        assert_eq!(parked(43_200, hint(50_000), 0), 50_000);
        assert_eq!(parked(43_200, hint(10_000_000), 0), MAX_PAUSE.as_secs());
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let mut throttle = Throttle::default();
        throttle.refused(Duration::MAX, Some(Duration::MAX), u32::MAX);
        throttle.parked(Duration::MAX, UNIX_EPOCH, Some(Duration::MAX), u32::MAX);
        assert_eq!(throttle.wait(Duration::ZERO), Duration::MAX);
        assert_eq!(throttle.wait(Duration::MAX), Duration::ZERO);
    }
}
