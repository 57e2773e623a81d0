//! A token bucket, as providers throttle.

use crate::{clock::Clock, rpc::RpcError};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Clones share the tokens.
#[derive(Clone, Debug)]
pub(crate) struct Throttle(Arc<Mutex<Bucket>>);

/// Instead of counting tokens it remembers when the bucket will be full: one number, and nothing to refill.
#[derive(Debug)]
struct Bucket {
    refill: Duration,
    /// What it takes to fill all but one token: how far the bucket may be from full and still give one.
    slack: Duration,
    full_at: Duration,
}

impl Throttle {
    pub(crate) fn new(burst: u32, refill: Duration) -> Self {
        assert_ne!(burst, 0, "a bucket for 0 tokens never gives one");
        assert!(!refill.is_zero(), "a bucket that refills in no time throttles nothing");
        let slack = refill.saturating_mul(burst - 1);
        Self(Arc::new(Mutex::new(Bucket { refill, slack, full_at: Duration::ZERO })))
    }

    /// Takes a token, or says how one is told that there is none.
    pub(crate) fn refuse(&self, clock: &dyn Clock) -> Option<RpcError> {
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = bucket.take(clock.now()).err()?;
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let error = RpcError::new(-32005, "too many requests");
        Some(error.status(429).header("retry-after", &seconds.to_string()))
    }
}

impl Bucket {
    /// # Errors
    /// The time until there is a token.
    fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let wait = self.full_at.saturating_sub(now).saturating_sub(self.slack);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.full_at = self.full_at.max(now).saturating_add(self.refill);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_gives_its_burst_then_one_each_refill() {
        let mut bucket = Bucket { refill: SECOND, slack: SECOND, full_at: Duration::ZERO };
        let start = 100 * SECOND;
        assert_eq!(bucket.take(start), Ok(()));
        assert_eq!(bucket.take(start), Ok(()));
        assert_eq!(bucket.take(start), Err(SECOND));
        let just = Duration::from_nanos(1);
        assert_eq!(bucket.take(start + SECOND - just), Err(just));
        assert_eq!(bucket.take(start + SECOND), Ok(()));
        assert_eq!(bucket.take(start + SECOND), Err(SECOND));
        // Two refills fill it, three no more than that.
        assert_eq!(bucket.take(start + 4 * SECOND), Ok(()));
        assert_eq!(bucket.take(start + 4 * SECOND), Ok(()));
        assert_eq!(bucket.take(start + 4 * SECOND), Err(SECOND));
    }
}
