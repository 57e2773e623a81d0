//! The way to mev-boost.
//!
//! Most requests share connections. A signed block has one of its own: a pooled one that the upstream has just closed would
//! cost the block, since it is sent once and never again.

use super::body::Bounded;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::{
    HeaderMap, Request, Response, Uri,
    body::Incoming,
    header::{AUTHORIZATION, HOST, HeaderValue},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use std::{fmt, io, time::Duration};
use tokio::{net::TcpStream, time::timeout};
use url::Url;

/// It is on this machine, or in the next rack.
const CONNECT: Duration = Duration::from_millis(250);
/// Less than any upstream keeps an idle connection open.
const IDLE: Duration = Duration::from_secs(5);

/// A base URL that cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// No URL at all. It is not repeated, since it may hold a password.
    #[error("the upstream is not a URL, as http://127.0.0.1:18550")]
    NotUrl,
    /// mev-boost speaks plain HTTP.
    #[error("the upstream must be http://")]
    Scheme,
    /// It would be put in front of each request's own.
    #[error("the upstream's URL can have neither query nor fragment")]
    Query,
}

/// Where requests go.
#[derive(Clone)]
pub struct Upstream {
    host: String,
    port: u16,
    /// `host:port`, as the header has it.
    authority: HeaderValue,
    /// Before each path; empty for most.
    prefix: String,
    authorization: Option<HeaderValue>,
    client: Client<HttpConnector, Bounded>,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// Why no answer came.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("{0}")]
    Pool(#[from] hyper_util::client::legacy::Error),
    #[error("the path cannot be sent")]
    Uri,
}

impl Upstream {
    /// Takes a base URL. Credentials in it become the Authorization header of each request.
    ///
    /// # Errors
    /// See [`UpstreamError`].
    pub fn new(url: &str) -> Result<Self, UpstreamError> {
        let url: Url = url.parse().map_err(|_| UpstreamError::NotUrl)?;
        if url.scheme() != "http" {
            return Err(UpstreamError::Scheme);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(UpstreamError::Query);
        }
        let host = url.host_str().ok_or(UpstreamError::NotUrl)?.to_owned();
        let port = url.port_or_known_default().ok_or(UpstreamError::NotUrl)?;
        let name = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        };
        let authority = name.parse().map_err(|_| UpstreamError::NotUrl)?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .http1_preserve_header_case(true)
            .set_host(false)
            .build(connector);
        let prefix = url.path().trim_end_matches('/').to_owned();
        Ok(Self { host, port, authority, prefix, authorization: authorization(&url), client })
    }

    fn address(&self, headers: &mut HeaderMap) {
        headers.insert(HOST, self.authority.clone());
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
    }

    /// Over a connection that may have been used before.
    pub(super) async fn send(
        &self,
        mut request: Request<Bounded>,
    ) -> Result<Response<Incoming>, SendError> {
        let base = format!("http://{}:{}{}", self.host, self.port, self.target(request.uri()));
        *request.uri_mut() = base.parse().map_err(|_| SendError::Uri)?;
        self.address(request.headers_mut());
        Ok(self.client.request(request).await?)
    }

    /// Once, over a new connection.
    pub(super) async fn send_alone(
        &self,
        mut request: Request<Bounded>,
    ) -> Result<Response<Incoming>, SendError> {
        *request.uri_mut() = self.target(request.uri()).parse().map_err(|_| SendError::Uri)?;
        self.address(request.headers_mut());
        // An IPv6 address stands in brackets in a URL only.
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let stream = timeout(CONNECT, TcpStream::connect((host, self.port))).await;
        let stream = stream
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(SendError::Connect)?;
        stream.set_nodelay(true).map_err(SendError::Connect)?;
        let mut http = hyper::client::conn::http1::Builder::new();
        let (mut sender, connection) =
            http.preserve_header_case(true).handshake(TokioIo::new(stream)).await?;
        // It ends with the answer's body, or with whoever waits for it.
        tokio::spawn(connection);
        Ok(sender.send_request(request).await?)
    }

    fn target(&self, uri: &Uri) -> String {
        format!("{}{}", self.prefix, uri.path_and_query().map_or("/", |target| target.as_str()))
    }
}

fn authorization(url: &Url) -> Option<HeaderValue> {
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    if user.is_empty() && password.is_empty() {
        return None;
    }
    let mut bytes = decode(user);
    bytes.push(b':');
    bytes.extend(decode(password));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(&bytes))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What a URL has escaped.
fn decode(text: &str) -> Vec<u8> {
    let escaped: String = text.replace('+', "%2B");
    // A query's rules are the same but for `+`.
    let pair = format!("v={escaped}");
    let value = url::form_urlencoded::parse(pair.as_bytes()).next();
    value.map(|(_, value)| value.into_owned().into_bytes()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_become_the_authorization_and_are_shown_nowhere() {
        let upstream = Upstream::new("http://user:p%40ss+@127.0.0.1:18550/x/").unwrap();
        // printf 'user:p@ss+' | base64
        assert_eq!(upstream.authorization.as_ref().unwrap(), "Basic dXNlcjpwQHNzKw==");
        assert_eq!(upstream.authority, "127.0.0.1:18550");
        assert!(!format!("{upstream:?}").contains("ss"));
        assert_eq!(
            upstream.target(&"/eth/v1/builder/status?a=%20b".parse().unwrap()),
            "/x/eth/v1/builder/status?a=%20b"
        );
        assert_eq!(Upstream::new("https://a").unwrap_err(), UpstreamError::Scheme);
        assert_eq!(Upstream::new("a b").unwrap_err(), UpstreamError::NotUrl);
        assert_eq!(Upstream::new("http://a/?b").unwrap_err(), UpstreamError::Query);
    }
}
