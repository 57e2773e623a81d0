//! What one caller wants differently.

use std::time::Duration;

use super::error::Name;
use crate::method::MethodClass;

/// Options of calls; see [`Pool::with`](crate::Pool::with).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOptions {
    /// How long a whole call may take, instead of the configured time. That an endpoint does not answer in less than the
    /// configured time of one attempt is no failure of it.
    pub deadline: Option<Duration>,
    /// What the call counts as, instead of its method's class.
    pub class: Option<MethodClass>,
    /// Whether a second endpoint may be asked early, where the configuration has that. Default true.
    pub hedge: bool,
    /// Endpoints that have not shown this block are asked last.
    pub min_head: Option<u64>,
    /// Not this provider: for a second opinion.
    pub not: Option<Name>,
    /// Whether a batch leaves as one HTTP request, whatever classes are in it. What is not harmless to repeat leaves it
    /// all the same, and goes alone; so does a batch that the endpoint has refused for its length, in pieces. A range of logs
    /// that is too long is refused in the endpoint's words; [`Pool::longest_log_range`] is what was learned. Default false.
    pub whole_batch: bool,
    /// The one endpoint to ask.
    pub(crate) pin: Option<usize>,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            deadline: None,
            class: None,
            hedge: true,
            min_head: None,
            not: None,
            whole_batch: false,
            pin: None,
        }
    }
}

impl CallOptions {
    /// As configured.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a whole call may take.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// What the call counts as.
    #[must_use]
    pub fn class(self, class: MethodClass) -> Self {
        Self { class: Some(class), ..self }
    }

    /// No second request while the first is under way.
    #[must_use]
    pub fn no_hedge(self) -> Self {
        Self { hedge: false, ..self }
    }

    /// Endpoints that have not shown this block are asked last.
    #[must_use]
    pub fn min_head(self, block: u64) -> Self {
        Self { min_head: Some(block), ..self }
    }

    /// Not this provider.
    #[must_use]
    pub fn not(self, provider: &str) -> Self {
        Self { not: Some(provider.into()), ..self }
    }

    /// A batch leaves as one HTTP request.
    #[must_use]
    pub fn whole_batch(self) -> Self {
        Self { whole_batch: true, ..self }
    }
}
