//! Waits for nodes at the start.

use crate::{
    Refusal,
    node::{Unanswered, explain, transport_error},
    output::log,
};
use std::time::Duration;
use tokio::time;

/// How soon a node that does not answer is tried again; doubled up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// How long nodes are waited for that do not answer.
#[derive(Debug)]
pub(crate) enum Patience {
    /// For ever, as a keeper does that is left alone.
    Endless {
        backoff: Duration,
        /// The reason that was told last.
        told: String,
    },
    /// Not at all, as a command does that somebody waits for.
    None,
}

impl Default for Patience {
    fn default() -> Self {
        Self::Endless { backoff: MIN_BACKOFF, told: String::new() }
    }
}

impl Patience {
    /// Waits a moment where nodes do not answer.
    ///
    /// # Errors
    /// [`Refusal::Unreachable`] where there is no patience; anything else as it is.
    pub(crate) async fn bear(&mut self, error: eyre::Report) -> eyre::Result<()> {
        let Some(reason) = silence(&error) else { return Err(error) };
        let Self::Endless { backoff, told } = self else {
            return Err(Refusal::Unreachable(reason).into());
        };
        if reason != *told {
            log(&format!("{reason}; trying again"));
            *told = reason;
        }
        time::sleep(*backoff).await;
        *backoff = (*backoff * 2).min(MAX_BACKOFF);
        Ok(())
    }
}

/// Why no node answers, where that is what is wrong.
fn silence(error: &eyre::Report) -> Option<String> {
    match (error.downcast_ref(), transport_error(error)) {
        (Some(Unanswered(reason)), _) => Some(reason.clone()),
        (None, Some(cause)) => Some(format!("no answer: {}", explain(cause))),
        (None, None) => None,
    }
}
