//! A relay, or the mev-boost before it: it keeps each request as the bytes that came, and answers as it is told.
//!
//! Without an HTTP library, which would lower names, join values and take bodies apart before a test can compare them.

use crate::{
    deadline::within,
    door::{Door, Endpoint, Serve},
    reply::HttpReply,
    seed::Seed,
};
use bytes::{BufMut as _, Bytes};
use std::{
    fmt,
    future::pending,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    sync::watch,
};

/// A head of more bytes than this is nothing that a test sends.
const HEAD_LIMIT: usize = 64 << 10;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayRequest {
    /// Which connection it came over, from 0.
    pub connection: u64,
    /// The request line and the headers, as they were written, without the empty line at the end.
    pub head: String,
    /// The body, put together where it came in chunks.
    pub body: Bytes,
}

impl RelayRequest {
    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    /// The path and query, as they were written.
    #[must_use]
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// All values of a header, in order.
    #[must_use]
    pub fn header(&self, name: &str) -> Vec<&str> {
        let lines = self.head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        lines
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }
}

/// What a relay does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayAnswer {
    /// Says this.
    Reply(HttpReply),
    /// Says this after a time.
    Later(Duration, HttpReply),
    /// Says this, and closes the connection without a word of it.
    ReplyAndClose(HttpReply),
    /// Never answers.
    Hang,
    /// Closes the connection.
    Close,
}

impl From<HttpReply> for RelayAnswer {
    fn from(reply: HttpReply) -> Self {
        Self::Reply(reply)
    }
}

/// Makes an answer of a request.
type Make = dyn Fn(RelayRequest) -> Pin<Box<dyn Future<Output = RelayAnswer> + Send>> + Send + Sync;

/// Where an answer comes from.
#[derive(Clone)]
enum Source {
    Told(RelayAnswer),
    Made(Arc<Make>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(answer) => answer.fmt(f),
            Self::Made(_) => f.write_str("Made"),
        }
    }
}

/// A relay that runs. Dropping it closes all that belongs to it.
#[derive(Debug)]
pub struct Relay {
    endpoint: Endpoint,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The part of the path, and the answer; the last one that fits.
    answers: Mutex<Vec<(String, Source)>>,
    requests: Mutex<Vec<RelayRequest>>,
    connections: AtomicU64,
    changed: watch::Sender<()>,
    /// How often idle connections were closed.
    closed: watch::Sender<u64>,
}

impl Relay {
    /// Starts one on a free port of the loopback, which answers 200 and `{}` to everything.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    // async as Node's, and for the same reason.
    pub async fn start() -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let serve: Serve = {
            let shared = Arc::clone(&shared);
            Arc::new(move |stream| {
                let shared = Arc::clone(&shared);
                Box::pin(async move {
                    // An error is a client that left.
                    serve(&shared, stream).await.ok();
                })
            })
        };
        Ok(Self { endpoint: Endpoint::bind(Door::Open, Seed::of_this_run(), serve)?, shared })
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.endpoint.address)
    }

    /// Requests with this in their path are answered so from now on.
    pub fn answer(&self, path: &str, answer: impl Into<RelayAnswer>) {
        self.add(path, Source::Told(answer.into()));
    }

    /// Requests with this in their path are answered by what this makes of them, from now on.
    pub fn answer_by<M, A>(&self, path: &str, make: M)
    where
        M: Fn(RelayRequest) -> A + Send + Sync + 'static,
        A: Future<Output = RelayAnswer> + Send + 'static,
    {
        self.add(path, Source::Made(Arc::new(move |request| Box::pin(make(request)))));
    }

    fn add(&self, path: &str, source: Source) {
        lock(&self.shared.answers).push((path.to_owned(), source));
    }

    /// What came, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<RelayRequest> {
        lock(&self.shared.requests).clone()
    }

    /// Requests with this in their path.
    #[must_use]
    pub fn requests_for(&self, path: &str) -> Vec<RelayRequest> {
        self.requests().into_iter().filter(|request| request.target().contains(path)).collect()
    }

    /// Waits until so many requests with this in their path have come.
    ///
    /// # Panics
    /// When they don't.
    pub async fn asked(&self, path: &str, count: usize) {
        let mut changed = self.shared.changed.subscribe();
        let enough = async {
            while self.requests_for(path).len() < count {
                changed.changed().await.expect("the sender lives as long as the relay");
            }
        };
        within(format!("{count} × {path}"), enough).await;
    }

    /// Connections that were accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.endpoint.accepted()
    }

    /// Closes each connection on which nothing is under way.
    pub fn close_idle(&self) {
        self.shared.closed.send_modify(|times| *times += 1);
    }

    /// Closes every connection; new ones are treated like this.
    ///
    /// # Errors
    /// When the port can't be listened on again.
    pub async fn set_door(&self, door: Door) -> io::Result<()> {
        self.endpoint.set(door).await
    }
}

impl Shared {
    async fn answer_to(&self, request: RelayRequest) -> RelayAnswer {
        let source = {
            let answers = lock(&self.answers);
            let fits = |(path, _): &&(String, Source)| request.target().contains(path.as_str());
            answers.iter().rev().find(fits).map(|(_, source)| source.clone())
        };
        match source {
            Some(Source::Told(answer)) => answer,
            Some(Source::Made(make)) => make(request).await,
            None => HttpReply::new(200).body("{}").into(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(shared: &Shared, stream: TcpStream) -> io::Result<()> {
    let connection = shared.connections.fetch_add(1, Ordering::Relaxed);
    let mut closed = shared.closed.subscribe();
    let mut stream = BufReader::new(stream);
    loop {
        let head = tokio::select! {
            head = head(&mut stream) => head?,
            _ = closed.changed() => return Ok(()),
        };
        let Some(head) = head else { return Ok(()) };
        let mut request = RelayRequest { connection, head, body: Bytes::new() };
        if request.header("expect").iter().any(|value| value.eq_ignore_ascii_case("100-continue")) {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        request.body = body(&mut stream, &request).await?;
        lock(&shared.requests).push(request.clone());
        shared.changed.send_replace(());
        match shared.answer_to(request).await {
            RelayAnswer::Reply(reply) => write(&mut stream, &reply).await?,
            RelayAnswer::Later(time, reply) => {
                tokio::time::sleep(time).await;
                write(&mut stream, &reply).await?;
            }
            RelayAnswer::ReplyAndClose(reply) => return write(&mut stream, &reply).await,
            RelayAnswer::Hang => pending().await,
            RelayAnswer::Close => return Ok(()),
        }
    }
}

/// All up to an empty line; none at the end of the connection.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut (&mut head).limit(1)).await? == 0 {
            return Ok(None);
        }
        if head.len() > HEAD_LIMIT {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    head.truncate(head.len() - 4);
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

async fn body(stream: &mut (impl AsyncRead + Unpin), request: &RelayRequest) -> io::Result<Bytes> {
    let mut body = Vec::new();
    if request.header("transfer-encoding").contains(&"chunked") {
        loop {
            let size = line(stream).await?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            let from = body.len();
            body.resize(from + size, 0);
            stream.read_exact(&mut body[from..]).await?;
            line(stream).await?;
            if size == 0 {
                return Ok(body.into());
            }
        }
    }
    let length = request.header("content-length").first().and_then(|length| length.parse().ok());
    body.resize(length.unwrap_or(0), 0);
    stream.read_exact(&mut body).await?;
    Ok(body.into())
}

async fn line(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        line.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

async fn write(stream: &mut BufReader<TcpStream>, reply: &HttpReply) -> io::Result<()> {
    let mut bytes = format!("HTTP/1.1 {} As-Told\r\n", reply.status.as_u16()).into_bytes();
    for (name, value) in &reply.headers {
        bytes.extend(name.as_str().as_bytes());
        bytes.extend(b": ");
        bytes.extend(value.as_bytes());
        bytes.extend(b"\r\n");
    }
    // Not where a status has no body.
    if reply.status != 204 {
        bytes.extend(format!("content-length: {}\r\n", reply.body.len()).as_bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(&reply.body);
    stream.write_all(&bytes).await?;
    stream.flush().await
}
