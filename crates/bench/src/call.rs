//! A call that is under way until the scenario says how it ends.
//!
//! Every crate here has an asynchronous interface, so overlapping calls need no threads: a call is a future that is
//! polled once to begin, and once more to end. Which one comes first is written down, not raced.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Waker};

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// It works.
    Good = 1,
    /// It fails.
    Bad,
    /// Nothing can be concluded: a rate limit, a lost hedge.
    Neutral,
    /// The answer is one the caller dislikes; the other side is healthy.
    Answered,
    /// It panics.
    Panic,
}

/// The error of a call, with what it means to those who can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Down(pub End);

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Down {}

/// What a call reaches. It says nothing until it is told to.
#[derive(Clone, Debug, Default)]
pub struct Upstream(Arc<AtomicU8>);

impl Future for Upstream {
    type Output = Result<(), Down>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let told = self.0.load(Ordering::Relaxed);
        let is = |end: End| told == end as u8;
        match told {
            0 => Poll::Pending,
            _ if is(End::Good) => Poll::Ready(Ok(())),
            _ if is(End::Bad) => Poll::Ready(Err(Down(End::Bad))),
            _ if is(End::Neutral) => Poll::Ready(Err(Down(End::Neutral))),
            _ if is(End::Answered) => Poll::Ready(Err(Down(End::Answered))),
            _ => panic!("the scenario wants a panic"),
        }
    }
}

/// Whether the breaker let a call through.
pub type Admitted = bool;

/// A call that was let through and has not ended. Dropped, it is one whose caller gave up.
pub struct Call {
    future: Pin<Box<dyn Future<Output = Admitted> + Send>>,
    upstream: Upstream,
}

impl Call {
    /// Begins `call`, which reaches the upstream it is given; none if the breaker rejects it.
    pub fn begin<F>(call: impl FnOnce(Upstream) -> F) -> Option<Self>
    where
        F: Future<Output = Admitted> + Send + 'static,
    {
        let upstream = Upstream::default();
        let mut future: Pin<Box<dyn Future<Output = Admitted> + Send>> =
            Box::pin(call(upstream.clone()));
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Some(Self { future, upstream }),
            Poll::Ready(admitted) => {
                assert!(!admitted, "an upstream that says nothing cannot have answered");
                None
            }
        }
    }

    /// Ends it.
    pub fn end(mut self, end: End) {
        self.upstream.0.store(end as u8, Ordering::Relaxed);
        let poll =
            AssertUnwindSafe(|| self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        match catch_unwind(poll) {
            Ok(ended) => assert!(ended.is_ready(), "a call ends when its upstream answers"),
            Err(_) => assert_eq!(end, End::Panic, "no crate panics by itself"),
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}
