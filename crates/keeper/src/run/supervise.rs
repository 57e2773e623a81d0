//! Stages that are started again when they end.

use crate::{
    metrics::{self as measured, Metric},
    output::log,
};
use std::{collections::VecDeque, future::Future, time::Duration};
use tokio::time::{self, Instant};

/// So many ends within so long are too many.
const ENDS: usize = 5;
const WITHIN: Duration = Duration::from_secs(600);

/// How soon it is started again; doubled for each end within the time.
const BACKOFF: Duration = Duration::from_millis(500);

/// Runs a stage that is to run for ever, again and again: in a task of its own, so that a panic ends the stage only.
///
/// # Errors
/// The last end, when there were too many of them in a short time. A stage that ends by itself is done.
pub(super) async fn supervise<F>(
    name: &'static str,
    mut stage: impl FnMut() -> F,
) -> eyre::Result<()>
where
    F: Future<Output = eyre::Result<()>> + Send + 'static,
{
    measured::begin_task(name);
    let mut ends: VecDeque<Instant> = VecDeque::new();
    loop {
        let error = match Aborting(tokio::spawn(stage())).join().await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error,
            Err(panic) => eyre::eyre!("{panic}"),
        };
        let now = time::Instant::now();
        ends.push_back(now);
        ends.retain(|end| now.duration_since(*end) < WITHIN);
        if ends.len() >= ENDS || error.downcast_ref::<crate::Refusal>().is_some() {
            return Err(error.wrap_err(format!("the stage `{name}` does not run")));
        }
        metrics::counter!(Metric::TaskRestarts.name(), "task" => name).increment(1);
        log(&format!("the stage `{name}` ended and is started again: {error:#}"));
        time::sleep(BACKOFF * 2_u32.pow(ends.len() as u32 - 1)).await;
    }
}

/// A task that ends when nobody waits for it any more.
struct Aborting<T>(tokio::task::JoinHandle<T>);

impl<T> Aborting<T> {
    async fn join(&mut self) -> Result<T, tokio::task::JoinError> {
        (&mut self.0).await
    }
}

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    };

    /// How often it ran, and how it ended, where each of the first runs fails.
    async fn runs(failing: u32, panics: bool, every: Duration) -> (u32, bool) {
        let count = Arc::new(AtomicU32::new(0));
        let ended = supervise("test", || {
            let count = Arc::clone(&count);
            async move {
                time::sleep(every).await;
                match count.fetch_add(1, Ordering::SeqCst) < failing {
                    true if panics => panic!("as it should"),
                    true => Err(eyre::eyre!("as it should")),
                    false => Ok(()),
                }
            }
        });
        let is_ok = ended.await.is_ok();
        (count.load(Ordering::SeqCst), is_ok)
    }

    #[tokio::test(start_paused = true)]
    async fn a_stage_that_fails_or_panics_is_started_again_up_to_five_times_in_ten_minutes() {
        for panics in [false, true] {
            assert_eq!(runs(4, panics, Duration::ZERO).await, (5, true));
            assert_eq!(runs(5, panics, Duration::ZERO).await, (5, false));
            assert_eq!(
                runs(9, panics, Duration::from_secs(200)).await,
                (10, true),
                "seldom enough"
            );
        }
    }
}
