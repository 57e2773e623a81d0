//! A node's stream of events, from the moment on from which it may be one.
//!
//! Lodestar writes nothing before its first event, not even that there is an answer. In an outage there is no event, so
//! whoever waits for that answer watches nothing in exactly the time that is to be watched.

use super::api::{ApiError, ok, transport};
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use reqwest::{RequestBuilder, Response};
use std::time::Duration;

/// A node that has taken the request and kept quiet so long has subscribed us: others have refused it by then.
const QUIET: Duration = Duration::from_secs(1);

/// The stream. Where it is none after all, its first chunk is the error.
pub(super) enum Events {
    Quiet(BoxFuture<'static, Result<Response, ApiError>>),
    Answered(Response),
}

impl Events {
    pub(super) async fn open(request: RequestBuilder) -> Result<Self, ApiError> {
        let mut answer = async { ok(request.send().await.map_err(transport)?) }.boxed();
        match tokio::time::timeout(QUIET, &mut answer).await {
            Ok(response) => Ok(Self::Answered(response?)),
            Err(_) => Ok(Self::Quiet(answer)),
        }
    }

    /// The next bytes; none at the end. Nothing is lost where nobody waits for them any more.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            match self {
                Self::Quiet(answer) => *self = Self::Answered(answer.await?),
                Self::Answered(response) => return response.chunk().await.map_err(transport),
            }
        }
    }
}
