//! An HTTP answer, word for word.

use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue},
};

/// An HTTP answer to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

impl HttpReply {
    /// An empty body with this status.
    ///
    /// # Panics
    /// When the status has not three digits.
    pub fn new(status: u16) -> Self {
        Self { status: code(status), headers: Vec::new(), body: Bytes::new() }
    }

    /// Adds a header; the same name may come several times.
    ///
    /// # Panics
    /// When HTTP does not allow the name or the value.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name = name.parse().unwrap_or_else(|_| panic!("{name:?} is no name of a header"));
        let value = value.parse().unwrap_or_else(|_| panic!("{value:?} is no value of a header"));
        self.headers.push((name, value));
        self
    }

    /// The body: a text, or any bytes.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status: code(status), ..self }
    }
}

pub(crate) fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or_else(|_| panic!("{status} is no status of HTTP"))
}
