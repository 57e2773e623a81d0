use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use super::{BreakerError, ResponseFuture};
use crate::breaker::Breaker;
use crate::clock::{Clock, SystemClock};
use crate::outcome::Outcome;

/// Puts services behind one breaker, which they share.
pub struct BreakerLayer<F, C: Clock = SystemClock> {
    breaker: Arc<Breaker<C>>,
    classify: F,
}

impl<F, C: Clock> BreakerLayer<F, C> {
    /// A layer whose services ask `breaker` before each call and tell it what `classify` makes of the result.
    pub const fn new(breaker: Arc<Breaker<C>>, classify: F) -> Self {
        Self { breaker, classify }
    }
}

impl<F: Clone, C: Clock> Clone for BreakerLayer<F, C> {
    fn clone(&self) -> Self {
        Self { breaker: Arc::clone(&self.breaker), classify: self.classify.clone() }
    }
}

impl<F, C: Clock> fmt::Debug for BreakerLayer<F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerLayer").field("breaker", &self.breaker).finish_non_exhaustive()
    }
}

impl<S, F: Clone, C: Clock> Layer<S> for BreakerLayer<F, C> {
    type Service = BreakerService<S, F, C>;

    fn layer(&self, inner: S) -> Self::Service {
        BreakerService { inner, layer: self.clone() }
    }
}

/// A service behind a breaker.
pub struct BreakerService<S, F, C: Clock = SystemClock> {
    inner: S,
    layer: BreakerLayer<F, C>,
}

impl<S: Clone, F: Clone, C: Clock> Clone for BreakerService<S, F, C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S: fmt::Debug, F, C: Clock> fmt::Debug for BreakerService<S, F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BreakerService")
            .field("inner", &self.inner)
            .field("layer", &self.layer)
            .finish()
    }
}

impl<R, S, F, C> Service<R> for BreakerService<S, F, C>
where
    S: Service<R>,
    F: FnOnce(&Result<S::Response, S::Error>) -> Outcome + Clone,
    C: Clock,
{
    type Response = S::Response;
    type Error = BreakerError<S::Error>;
    type Future = ResponseFuture<S::Future, F, C>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(BreakerError::Inner)
    }

    fn call(&mut self, request: R) -> Self::Future {
        match self.layer.breaker.try_acquire_owned() {
            Ok(permit) => ResponseFuture::admitted(
                self.inner.call(request),
                permit,
                self.layer.classify.clone(),
            ),
            Err(rejected) => ResponseFuture::rejected(rejected),
        }
    }
}
