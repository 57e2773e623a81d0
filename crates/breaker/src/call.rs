//! One call with its permit: acquire, run, classify, settle.

use std::future::Future;

use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::outcome::{Category, Outcome};
use crate::state::CallError;

impl<C: Clock> Breaker<C> {
    /// Calls `f` if the breaker allows it; any error is a failure.
    ///
    /// A panic in `f` is a dropped permit.
    ///
    /// # Errors
    ///
    /// [`CallError::Rejected`] if `f` was not called, [`CallError::Inner`] with its error if it was.
    #[inline]
    pub fn call<T, E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<T, CallError<E>> {
        self.call_with(any_error_fails, f)
    }

    /// Calls `f` if the breaker allows it; `classify` says what its result means.
    ///
    /// # Errors
    ///
    /// [`CallError::Rejected`] if `f` was not called, [`CallError::Inner`] with its error if it was.
    #[inline]
    pub fn call_with<T, E>(
        &self,
        classify: impl FnOnce(&Result<T, E>) -> Outcome,
        f: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, CallError<E>> {
        let permit = self.try_acquire()?;
        let result = f();
        permit.settle(classify(&result));
        result.map_err(CallError::Inner)
    }

    /// Awaits the future of `f` if the breaker allows it; any error is a failure.
    ///
    /// Needs no runtime. The permit is taken when this future is first polled; dropping it after that is a dropped
    /// permit.
    ///
    /// # Errors
    ///
    /// [`CallError::Rejected`] if `f` was not called, [`CallError::Inner`] with its error if it was.
    pub async fn call_async<T, E, F>(&self, f: impl FnOnce() -> F) -> Result<T, CallError<E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        self.call_async_with(any_error_fails, f).await
    }

    /// Awaits the future of `f` if the breaker allows it; `classify` says what its result means.
    ///
    /// # Errors
    ///
    /// [`CallError::Rejected`] if `f` was not called, [`CallError::Inner`] with its error if it was.
    pub async fn call_async_with<T, E, F>(
        &self,
        classify: impl FnOnce(&Result<T, E>) -> Outcome,
        f: impl FnOnce() -> F,
    ) -> Result<T, CallError<E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let permit = self.try_acquire()?;
        let result = f().await;
        permit.settle(classify(&result));
        result.map_err(CallError::Inner)
    }
}

fn any_error_fails<T, E>(result: &Result<T, E>) -> Outcome {
    match result {
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::failure(Category::GENERIC),
    }
}
