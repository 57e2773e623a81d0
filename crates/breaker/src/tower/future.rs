use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::BreakerError;
use crate::clock::Clock;
use crate::outcome::Outcome;
use crate::permit::OwnedPermit;
use crate::state::Rejected;

pin_project! {
    /// The response of a service behind a breaker.
    #[must_use = "futures do nothing unless polled, and dropping this one counts as a timed-out call"]
    pub struct ResponseFuture<Fut, F, C: Clock> {
        #[pin]
        state: State<Fut, F, C>,
    }
}

pin_project! {
    #[project = StateProjected]
    enum State<Fut, F, C: Clock> {
        Admitted {
            #[pin]
            inner: Fut,
            // Taken when the inner future is ready.
            pending: Option<(OwnedPermit<C>, F)>,
        },
        Rejected {
            rejected: Rejected,
        },
    }
}

impl<Fut, F, C: Clock> ResponseFuture<Fut, F, C> {
    pub(super) const fn admitted(inner: Fut, permit: OwnedPermit<C>, classify: F) -> Self {
        Self { state: State::Admitted { inner, pending: Some((permit, classify)) } }
    }

    pub(super) const fn rejected(rejected: Rejected) -> Self {
        Self { state: State::Rejected { rejected } }
    }
}

impl<Fut, F, C, T, E> Future for ResponseFuture<Fut, F, C>
where
    Fut: Future<Output = Result<T, E>>,
    F: FnOnce(&Result<T, E>) -> Outcome,
    C: Clock,
{
    type Output = Result<T, BreakerError<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjected::Admitted { inner, pending } => {
                let result = ready!(inner.poll(cx));
                if let Some((permit, classify)) = pending.take() {
                    permit.settle(classify(&result));
                }
                Poll::Ready(result.map_err(BreakerError::Inner))
            }
            StateProjected::Rejected { rejected } => {
                Poll::Ready(Err(BreakerError::Rejected(*rejected)))
            }
        }
    }
}

impl<Fut, F, C: Clock> std::fmt::Debug for ResponseFuture<Fut, F, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::Admitted { .. } => "admitted",
            State::Rejected { .. } => "rejected",
        };
        f.debug_struct("ResponseFuture").field("state", &state).finish_non_exhaustive()
    }
}
