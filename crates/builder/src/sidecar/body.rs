//! Bodies as they stream: one way bounded in bytes, the other way in time.

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};
use tokio::{sync::OwnedSemaphorePermit, time::Sleep};
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The largest request: registrations of some 40,000 validators.
pub const MAX_BODY: u64 = 20 << 20;

/// Why a body ends before its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// More than [`MAX_BODY`].
    #[error("the body is larger than {MAX_BODY} bytes")]
    TooLarge,
    /// The rest did not come in time.
    #[error("the rest of the body did not come in time")]
    Timeout,
    /// The connection that it came over.
    #[error(transparent)]
    Connection(#[from] hyper::Error),
}

/// A request's body, of which too much is an error.
pub(super) struct Bounded {
    inner: Incoming,
    left: u64,
    exceeded: Arc<AtomicBool>,
}

impl Bounded {
    pub(super) fn new(inner: Incoming) -> (Self, Arc<AtomicBool>) {
        let exceeded = Arc::<AtomicBool>::default();
        (Self { inner, left: MAX_BODY, exceeded: Arc::clone(&exceeded) }, exceeded)
    }
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context)?);
        let length = frame.as_ref().and_then(Frame::data_ref).map_or(0, Bytes::len);
        Poll::Ready(match self.left.checked_sub(length as u64) {
            Some(left) => {
                self.left = left;
                frame.map(Ok)
            }
            None => {
                self.exceeded.store(true, Ordering::Relaxed);
                Some(Err(BodyError::TooLarge))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of an answer: the upstream's, or the sidecar's own.
pub struct SidecarBody(Kind);

enum Kind {
    Own(Option<Bytes>),
    Passed(Box<Passed>),
}

pub(super) struct Passed {
    pub(super) inner: Incoming,
    pub(super) deadline: Pin<Box<Sleep>>,
    /// Until the answer is through it is in flight.
    pub(super) _place: Option<OwnedSemaphorePermit>,
    pub(super) _submit: Option<TaskTrackerToken>,
}

impl fmt::Debug for SidecarBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SidecarBody")
    }
}

impl SidecarBody {
    pub(super) fn own(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Own(Some(bytes.into()).filter(|bytes| !bytes.is_empty())))
    }

    pub(super) fn passed(passed: Passed) -> Self {
        Self(Kind::Passed(Box::new(passed)))
    }
}

impl Body for SidecarBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            Kind::Own(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Passed(passed) => match Pin::new(&mut passed.inner).poll_frame(context) {
                Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Into::into))),
                Poll::Pending => {
                    ready!(passed.deadline.as_mut().poll(context));
                    Poll::Ready(Some(Err(BodyError::Timeout)))
                }
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Own(bytes) => bytes.is_none(),
            Kind::Passed(passed) => passed.inner.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Own(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Passed(passed) => passed.inner.size_hint(),
        }
    }
}
