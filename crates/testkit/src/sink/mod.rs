//! A receiver of webhooks that forgets nothing and answers as it is told to.

mod heard;
mod signature;

pub use heard::Heard;
pub use signature::Unverified;

use crate::{
    body::{Body, Written},
    clock::{Clock, SystemClock},
    deadline::within,
    door::{Door, Endpoint, Serve},
    reply::HttpReply,
    seed::Seed,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use signature::{Key, Signed, verify};
use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    future::pending,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpStream, sync::watch};

/// A webhook of ours is below 20 kB; one beyond this is told 413.
const BODY_LIMIT: usize = 1 << 20;

/// What came in one request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Delivery {
    /// The header `webhook-id`, empty if there is none.
    pub id: String,
    /// The path and query.
    pub path: String,
    /// When it came, by the sink's clock.
    pub at: Duration,
    /// The body.
    pub body: Bytes,
    /// The places of the secrets that signed it, in the order in which the sink was given them.
    pub verified: Result<Vec<usize>, Unverified>,
}

/// What a sink does with a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SinkAnswer {
    /// Says this.
    Reply(HttpReply),
    /// Says this after a time by the sink's clock.
    Later(Duration, HttpReply),
    /// Never answers.
    Hang,
    /// Closes the connection: it was received, and the sender does not know.
    Close,
}

impl From<HttpReply> for SinkAnswer {
    fn from(reply: HttpReply) -> Self {
        Self::Reply(reply)
    }
}

impl From<u16> for SinkAnswer {
    fn from(status: u16) -> Self {
        HttpReply::new(status).into()
    }
}

type Decide = Box<dyn Fn(&Delivery) -> Option<SinkAnswer> + Send + Sync>;

/// A sink to be started.
#[must_use = "nothing happens before start()"]
pub struct SinkBuilder {
    keys: Vec<Key>,
    clock: Arc<dyn Clock>,
    answers: VecDeque<SinkAnswer>,
    decide: Vec<Decide>,
}

impl fmt::Debug for SinkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinkBuilder").field("answers", &self.answers).finish_non_exhaustive()
    }
}

impl SinkBuilder {
    /// One more secret, `whsec_…`. Without any, nothing verifies.
    ///
    /// # Panics
    /// When it is none.
    pub fn secret(mut self, secret: &str) -> Self {
        self.keys.push(Key::new(secret));
        self
    }

    /// Instead of the machine's clock.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// What becomes of the next delivery that [`answer_by`](Self::answer_by) leaves alone: a status, an [`HttpReply`],
    /// or a [`SinkAnswer`]. When all are used up, deliveries are answered with 204.
    pub fn answer(mut self, answer: impl Into<SinkAnswer>) -> Self {
        self.answers.push_back(answer.into());
        self
    }

    /// What becomes of deliveries of which this says so. The first one that does decides.
    pub fn answer_by(
        mut self,
        decide: impl Fn(&Delivery) -> Option<SinkAnswer> + Send + Sync + 'static,
    ) -> Self {
        self.decide.push(Box::new(decide));
        self
    }

    /// Deliveries fail now and then until it is calm: a connection that is closed, at most once for each id, or a refusal
    /// that asks to come again in a second.
    pub fn unreliable_until(self, is_calm: &Arc<AtomicBool>) -> Self {
        let is_calm = Arc::clone(is_calm);
        let known = Mutex::new(BTreeSet::new());
        self.answer_by(move |delivery| {
            let soon = |status| HttpReply::new(status).header("retry-after", "1");
            let is_first =
                known.lock().unwrap_or_else(PoisonError::into_inner).insert(delivery.id.clone());
            match delivery.at.subsec_nanos() % 10 {
                _ if is_calm.load(Ordering::Relaxed) => None,
                // The first time only: without a hint a later wait is half a minute, and then two.
                0 | 1 if is_first => Some(SinkAnswer::Close),
                2 => Some(soon(503).into()),
                3 => Some(soon(429).into()),
                _ => None,
            }
        })
    }

    /// Starts it on a free port of the loopback.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    // async as Node's, and for the same reason.
    pub async fn start(self) -> io::Result<Sink> {
        let shared = Arc::new(Shared {
            keys: self.keys,
            clock: self.clock,
            decide: self.decide,
            answers: Mutex::new(self.answers),
            deliveries: Mutex::default(),
            changed: watch::Sender::new(()),
        });
        let served = Arc::clone(&shared);
        let serve: Serve =
            Arc::new(move |stream| Box::pin(connection(Arc::clone(&served), stream)));
        // No garbage is drawn by a door that serves, and another seed would change nothing about it.
        let endpoint = Endpoint::bind(Door::Open, Seed(0), serve)?;
        Ok(Sink { endpoint, shared })
    }
}

struct Shared {
    keys: Vec<Key>,
    clock: Arc<dyn Clock>,
    decide: Vec<Decide>,
    answers: Mutex<VecDeque<SinkAnswer>>,
    deliveries: Mutex<Vec<Delivery>>,
    changed: watch::Sender<()>,
}

/// A running sink. Dropping it closes its port and its connections.
pub struct Sink {
    endpoint: Endpoint,
    shared: Arc<Shared>,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Sink {
    /// A sink without secrets or answers.
    pub fn builder() -> SinkBuilder {
        SinkBuilder {
            keys: Vec::new(),
            clock: Arc::new(SystemClock::new()),
            answers: VecDeque::new(),
            decide: Vec::new(),
        }
    }

    /// Where it is. Any path below will do.
    pub fn url(&self) -> String {
        format!("http://{}", self.endpoint.address)
    }

    /// Closes every connection, and treats new ones like this.
    ///
    /// # Panics
    /// When the port can't be listened on again.
    pub async fn door(&self, door: Door) {
        if let Err(error) = self.endpoint.set(door).await {
            panic!("the sink can't be {door:?}: {error}");
        }
    }

    /// One more answer, after those that are still to be given.
    pub fn answer(&self, answer: impl Into<SinkAnswer>) {
        self.shared.answers().push_back(answer.into());
    }

    /// All deliveries so far, repeats too, whatever was answered.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.shared.deliveries().clone()
    }

    /// The ids so far, each once, in the order in which they first came.
    pub fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        for Delivery { id, .. } in self.shared.deliveries().iter() {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        ids
    }

    /// Waits for at least `count` deliveries, repeats too, and returns all that there are.
    ///
    /// # Panics
    /// After 20 s of real time.
    pub async fn received(&self, count: usize) -> Vec<Delivery> {
        let mut changed = self.shared.changed.subscribe();
        let enough = async {
            while self.shared.deliveries().len() < count {
                changed.changed().await.expect("the sender lives as long as the sink");
            }
        };
        within(format!("{count} deliveries"), enough).await;
        self.deliveries()
    }

    /// # Panics
    /// When a delivery does not verify, with the first that does not.
    #[track_caller]
    pub fn assert_verified(&self) {
        let bad = self.deliveries().into_iter().find(|delivery| delivery.verified.is_err());
        assert!(bad.is_none(), "not every delivery verifies: {bad:?}");
    }
}

impl Shared {
    fn answers(&self) -> MutexGuard<'_, VecDeque<SinkAnswer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliveries(&self) -> MutexGuard<'_, Vec<Delivery>> {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take(&self, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, BODY_LIMIT).collect().await else {
            return Ok(self.say(HttpReply::new(413)));
        };
        let body = body.to_bytes();
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let signed = Signed {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
            body: &body,
        };
        let at = self.clock.now();
        let delivery = Delivery {
            id: signed.id.unwrap_or_default().to_owned(),
            path: parts.uri.to_string(),
            at,
            verified: verify(signed, &self.keys, at),
            body: body.clone(),
        };
        // Before it is recorded: who has seen it may change what the next one is told.
        let decided = self.decide.iter().find_map(|decide| decide(&delivery));
        let answer = decided.or_else(|| self.answers().pop_front());
        self.deliveries().push(delivery);
        self.changed.send_replace(());
        match answer.unwrap_or_else(|| 204.into()) {
            SinkAnswer::Reply(reply) => Ok(self.say(reply)),
            SinkAnswer::Later(time, reply) => {
                self.clock.sleep(time).await;
                Ok(self.say(reply))
            }
            SinkAnswer::Hang => pending().await,
            SinkAnswer::Close => Err(io::Error::other("the sink was told to close here")),
        }
    }

    fn say(&self, reply: HttpReply) -> Response<Body> {
        Written::whole(reply).response(&self.clock)
    }
}

async fn connection(shared: Arc<Shared>, stream: TcpStream) {
    let service = service_fn(|request| shared.take(request));
    // An error is a sender that left, or an answer that closes.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
