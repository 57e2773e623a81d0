//! What came back, before anybody has judged it.

use std::fmt;

/// Why nothing came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoAnswer {
    /// Our own deadline for the attempt passed.
    Deadline,
    /// The name did not resolve.
    Dns,
    /// Nobody accepts connections.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// Its certificate is for another name, has expired, or is from nobody whom this machine trusts.
    Certificate,
    /// The connection broke before or while the answer arrived.
    Reset,
    /// The body ended early.
    CutBody,
    /// The WebSocket closed, with its code if it sent one.
    Closed(Option<u16>),
}

impl NoAnswer {
    /// Whether there surely was no connection, and so nothing was sent.
    pub(crate) fn never_left(self) -> bool {
        matches!(self, Self::Dns | Self::Connect | Self::Tls | Self::Certificate)
    }
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "no answer in time",
            Self::Dns => "its name is not known",
            Self::Connect => "no connection",
            Self::Tls => "no TLS connection",
            Self::Certificate => "its certificate is not trusted",
            Self::Reset => "the connection broke",
            Self::CutBody => "half an answer",
            Self::Closed(None) => "its WebSocket ended",
            Self::Closed(Some(code)) => return write!(f, "it closed its WebSocket with {code}"),
        })
    }
}

/// The headers that say something about the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyHeaders<'a> {
    /// `date`: when the server thinks it answered.
    pub date: Option<&'a str>,
    /// `retry-after`
    pub retry_after: Option<&'a str>,
    /// `ratelimit-reset`
    pub ratelimit_reset: Option<&'a str>,
    /// `x-ratelimit-reset`
    pub x_ratelimit_reset: Option<&'a str>,
}

impl<'a> ReplyHeaders<'a> {
    /// Picks them out of all headers. Names in any case; of a repeated header the first counts.
    ///
    /// ```
    /// use fusebox_rpc::ReplyHeaders;
    ///
    /// let headers = ReplyHeaders::pick([("Server", "x"), ("Retry-After", "2"), ("retry-after", "9")]);
    /// assert_eq!(headers.retry_after, Some("2"));
    /// ```
    #[must_use]
    pub fn pick(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut picked = Self::default();
        for (name, value) in all {
            let field = match name.to_ascii_lowercase().as_str() {
                "date" => &mut picked.date,
                "retry-after" => &mut picked.retry_after,
                "ratelimit-reset" => &mut picked.ratelimit_reset,
                "x-ratelimit-reset" => &mut picked.x_ratelimit_reset,
                _ => continue,
            };
            field.get_or_insert(value);
        }
        picked
    }
}

/// What came back for one request.
///
/// An element of a batch is an `Http` reply of its own with the status and headers of the whole; see
/// [`batch_elements`](crate::batch_elements). `Debug` shows how long a body is and not what it says, which may be a key
/// that the server echoes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// Nothing.
    None(NoAnswer),
    /// An HTTP response whose body arrived whole.
    Http {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: ReplyHeaders<'a>,
        /// Its body, decompressed.
        body: &'a [u8],
    },
    /// A WebSocket message.
    Ws {
        /// Its text.
        body: &'a [u8],
    },
}

impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None(why) => f.debug_tuple("None").field(why).finish(),
            Self::Http { status, headers, body } => f
                .debug_struct("Http")
                .field("status", status)
                .field("headers", headers)
                .field("body_len", &body.len())
                .finish(),
            Self::Ws { body } => f.debug_struct("Ws").field("body_len", &body.len()).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_quote_the_body() {
        let body = b"key MARKER is unknown";
        let http = Reply::Http { status: 403, headers: ReplyHeaders::default(), body };
        let element = crate::batch_elements(br#"["MARKER"]"#);
        let shown = format!(
            "{http:?} {element:?} {:?} {:?}",
            Reply::Ws { body },
            Reply::None(NoAnswer::Dns)
        );
        assert!(shown.contains("403") && shown.contains("body_len: 21"), "{shown}");
        // `[107, …` is how a slice of bytes would look.
        assert!(!shown.contains("MARKER") && !shown.contains("107"), "{shown}");
    }
}
