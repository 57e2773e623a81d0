//! A beacon node with a scripted tree: what it answers, what its stream says, and in which bytes.

use crate::{
    deadline::within,
    door::{Door, Endpoint, Serve},
    seed::Seed,
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
    header::CONTENT_TYPE,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{mpsc, watch};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Frames that may wait in a stream; a test that writes more loses it.
const WAITING: usize = 1 << 16;

/// A beacon node that runs. Dropping it closes all that belongs to it.
#[derive(Debug)]
pub struct Beacon {
    endpoint: Endpoint,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    node: Mutex<Node>,
    changed: watch::Sender<()>,
}

/// What it says of itself, and how it writes its stream. To be changed at any time by [`Beacon::set`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BeaconSettings {
    /// `data` of `config/spec`.
    pub spec: Value,
    /// Unix seconds of genesis.
    pub genesis: u64,
    /// `is_syncing` of `node/syncing`.
    pub is_syncing: bool,
    /// `is_optimistic` of `node/syncing`.
    pub is_optimistic: bool,
    /// `el_offline` of `node/syncing`.
    pub el_offline: bool,
    /// Paths that contain the key are answered with the status alone.
    pub refused: BTreeMap<String, u16>,
    /// The stream says nothing, and what it would have said is lost.
    pub is_stalled: bool,
    /// The stream comes in so many bytes at a time.
    pub split: Option<usize>,
    /// Lines end so.
    pub line_end: &'static str,
    /// `head` comes before its `block`.
    pub head_first: bool,
    /// A comment and an event of no known name come before each event.
    pub has_noise: bool,
    /// `headers?slot=` has orphans as well.
    pub shows_orphans: bool,
    /// Not even the stream's status and headers are written before its first bytes.
    pub is_mute: bool,
}

#[derive(Debug)]
struct Node {
    settings: BeaconSettings,
    /// Slot, root, parent, in the order in which they came.
    blocks: Vec<(u64, String, String)>,
    head: (u64, String),
    streams: Vec<mpsc::Sender<Bytes>>,
    requests: Vec<String>,
}

impl Default for BeaconSettings {
    fn default() -> Self {
        Self {
            spec: json!({ "SECONDS_PER_SLOT": "12", "SLOTS_PER_EPOCH": "32", "UNHEARD_OF": ["1"] }),
            genesis: 0,
            is_syncing: false,
            is_optimistic: false,
            el_offline: false,
            refused: BTreeMap::new(),
            is_stalled: false,
            split: None,
            line_end: "\n",
            head_first: false,
            has_noise: false,
            shows_orphans: false,
            is_mute: false,
        }
    }
}

impl Beacon {
    /// Starts one on a free port of the loopback, whose head is a block in this slot.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    // async as Node's, and for the same reason.
    pub async fn start(head: u64, settings: BeaconSettings) -> io::Result<Self> {
        let block = (head, root(head, 0), root(head.saturating_sub(1), 0));
        let node = Node {
            settings,
            head: (head, block.1.clone()),
            blocks: vec![block],
            streams: Vec::new(),
            requests: Vec::new(),
        };
        let shared = Arc::new(Shared { node: Mutex::new(node), changed: watch::Sender::new(()) });
        let serve: Serve = {
            let shared = Arc::clone(&shared);
            Arc::new(move |stream| {
                let shared = Arc::clone(&shared);
                Box::pin(async move {
                    let service = service_fn(|request: Request<Incoming>| {
                        let answer = answer(&shared, &request);
                        async move { Ok::<_, Infallible>(answer.response().await) }
                    });
                    // An error is a client that left.
                    http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await
                        .ok();
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

    /// Changes what it says of itself.
    pub fn set(&self, change: impl FnOnce(&mut BeaconSettings)) {
        change(&mut self.lock().settings);
    }

    /// From now on paths that contain this are answered with the status alone.
    pub fn refuse(&self, path: &str, status: u16) {
        self.set(|settings| {
            settings.refused.insert(path.to_owned(), status);
        });
    }

    /// From now on they are answered again.
    pub fn allow(&self, path: &str) {
        self.set(|settings| {
            settings.refused.remove(path);
        });
    }

    /// A block on the head becomes the head, and the stream says so.
    pub fn block(&self, slot: u64) {
        self.add(slot, 0, true, true);
    }

    /// The same, and the stream says nothing.
    pub fn silent_block(&self, slot: u64) {
        self.add(slot, 0, true, false);
    }

    /// A block on the head that does not become the head; the `number`th of its slot.
    pub fn orphan(&self, slot: u64, number: u64) {
        self.add(slot, number, false, true);
    }

    fn add(&self, slot: u64, number: u64, is_head: bool, is_told: bool) {
        let mut node = self.lock();
        let root = root(slot, number);
        let parent = node.head.1.clone();
        node.blocks.push((slot, root.clone(), parent));
        if is_head {
            node.head = (slot, root.clone());
        }
        if !is_told {
            return;
        }
        let data =
            json!({ "slot": slot.to_string(), "block": root, "execution_optimistic": false });
        let mut events = vec![("block", data)];
        if is_head {
            let head = json!({ "slot": slot.to_string(), "block": root, "state": root, "epoch_transition": false });
            events.push(("head", head));
        }
        if node.settings.head_first {
            events.reverse();
        }
        for (name, data) in events {
            node.event(name, &data.to_string());
        }
    }

    /// Another node takes its place, on the same chain: it has no blocks before this slot, nor any from that one on.
    pub fn rotate(&self, from: u64, to: u64) {
        let mut node = self.lock();
        node.streams.clear();
        node.blocks.retain(|block| (from..to).contains(&block.0));
        if let Some((slot, root, _)) = node.blocks.iter().max_by_key(|block| block.0).cloned() {
            node.head = (slot, root);
        }
    }

    /// The stream says this.
    pub fn event(&self, name: &str, data: &str) {
        self.lock().event(name, data);
    }

    /// The stream has these bytes.
    pub fn raw(&self, bytes: &[u8]) {
        self.lock().write(bytes);
    }

    /// Ends all streams.
    pub fn cut(&self) {
        self.lock().streams.clear();
    }

    /// Closes every connection; new ones are treated like this.
    ///
    /// # Errors
    /// When the port can't be listened on again.
    pub async fn set_door(&self, door: Door) -> io::Result<()> {
        self.endpoint.set(door).await
    }

    /// How often a path that contains this was asked for.
    #[must_use]
    pub fn count(&self, path: &str) -> usize {
        self.lock().requests.iter().filter(|request| request.contains(path)).count()
    }

    /// Waits until it was asked for such a path so often.
    ///
    /// # Panics
    /// When it was not.
    pub async fn asked(&self, path: &str, count: usize) {
        let mut changed = self.shared.changed.subscribe();
        let enough = async {
            while self.count(path) < count {
                changed.changed().await.expect("the sender lives as long as the node");
            }
        };
        within(format!("{count} × {path}"), enough).await;
    }

    fn lock(&self) -> MutexGuard<'_, Node> {
        self.shared.node.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The root of a slot's `number`th block.
fn root(slot: u64, number: u64) -> String {
    format!("0x{:064x}", slot << 8 | number)
}

impl Node {
    fn event(&mut self, name: &str, data: &str) {
        if self.settings.is_stalled {
            return;
        }
        let end = self.settings.line_end;
        let noise = format!(": keepalive{end}{end}event: never_heard_of{end}data: {{}}{end}{end}");
        let noise = if self.settings.has_noise { noise.as_str() } else { "" };
        let text = format!("{noise}event: {name}{end}data: {data}{end}{end}");
        self.write(text.as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        let length = self.settings.split.unwrap_or(bytes.len()).max(1);
        for stream in &self.streams {
            for chunk in bytes.chunks(length) {
                // Whoever has left gets nothing.
                stream.try_send(Bytes::copy_from_slice(chunk)).ok();
            }
        }
    }

    fn header(&self, (slot, root, parent): &(u64, String, String)) -> Value {
        let message =
            json!({ "slot": slot.to_string(), "proposer_index": "1", "parent_root": parent });
        json!({ "root": root, "canonical": true, "header": { "message": message, "signature": "0x" } })
    }

    fn tree(&self) -> Value {
        let nodes = self.blocks.iter().map(|(slot, root, parent)| {
            json!({ "slot": slot.to_string(), "block_root": root, "parent_root": parent, "validity": "valid" })
        });
        let checkpoint = json!({ "epoch": "0", "root": root(0, 0) });
        json!({
            "justified_checkpoint": checkpoint, "finalized_checkpoint": checkpoint,
            "fork_choice_nodes": nodes.collect::<Vec<_>>(),
        })
    }

    fn answer(&self, path: &str) -> Option<Value> {
        let BeaconSettings { spec, genesis, is_syncing, is_optimistic, el_offline, .. } =
            &self.settings;
        let data = match path {
            "/eth/v1/config/spec" => spec.clone(),
            "/eth/v1/beacon/genesis" => json!({ "genesis_time": genesis.to_string() }),
            "/eth/v1/node/syncing" => json!({
                "head_slot": self.head.0.to_string(), "sync_distance": "99", "is_syncing": is_syncing,
                "is_optimistic": is_optimistic, "el_offline": el_offline,
            }),
            "/eth/v1/beacon/states/head/finality_checkpoints" => {
                json!({ "finalized": { "epoch": "0", "root": root(0, 0) } })
            }
            "/eth/v1/debug/fork_choice" => return Some(self.tree()),
            "/eth/v2/debug/beacon/heads" => {
                let is_leaf = |block: &&(u64, String, String)| {
                    !self.blocks.iter().any(|child| child.2 == block.1)
                };
                let leaves = self.blocks.iter().filter(is_leaf);
                leaves
                    .map(|(slot, root, _)| json!({ "slot": slot.to_string(), "root": root }))
                    .collect()
            }
            path => {
                let id = path.strip_prefix("/eth/v1/beacon/headers/")?;
                let id = if id == "head" { self.head.1.as_str() } else { id };
                // By slot: the canonical one, which the script has as the first of its slot.
                let fits = |block: &&(u64, String, String)| {
                    block.1 == id || block.0.to_string() == id && block.1.ends_with("00")
                };
                self.header(self.blocks.iter().find(fits)?)
            }
        };
        Some(json!({ "data": data }))
    }

    /// Headers of a slot: canonical ones only, as some clients have it, or all, as others.
    fn headers(&self, slot: &str) -> Value {
        let blocks = self
            .blocks
            .iter()
            .filter(|block| block.0.to_string() == slot)
            .filter(|block| self.settings.shows_orphans || block.1.ends_with("00"));
        json!({ "data": blocks.map(|block| self.header(block)).collect::<Vec<_>>() })
    }
}

enum Answer {
    Whole(Response<Body>),
    Stream { chunks: mpsc::Receiver<Bytes>, is_mute: bool },
}

impl Answer {
    async fn response(self) -> Response<Body> {
        let (mut chunks, is_mute) = match self {
            Self::Whole(response) => return response,
            Self::Stream { chunks, is_mute } => (chunks, is_mute),
        };
        let first = if is_mute { chunks.recv().await } else { None };
        let rest =
            stream::unfold(
                chunks,
                |mut chunks| async move { Some((chunks.recv().await?, chunks)) },
            );
        let frames = stream::iter(first).chain(rest).map(|chunk| Ok(Frame::data(chunk)));
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        let event_stream = "text/event-stream".parse().expect("it is one");
        response.headers_mut().insert(CONTENT_TYPE, event_stream);
        response
    }
}

fn answer(shared: &Shared, request: &Request<Incoming>) -> Answer {
    let path = request.uri().path();
    let mut node = shared.node.lock().unwrap_or_else(PoisonError::into_inner);
    node.requests.push(request.uri().to_string());
    shared.changed.send_replace(());
    let refused = node.settings.refused.iter().find(|(part, _)| path.contains(part.as_str()));
    if let Some((_, status)) = refused {
        return Answer::Whole(plain(*status, json!({ "code": status, "message": "as told" })));
    }
    if path == "/eth/v1/events" {
        // The comma form yields nothing on some nodes.
        let query = request.uri().query().unwrap_or_default();
        let (sender, receiver) = mpsc::channel(WAITING);
        if !query.contains(',') {
            node.streams.retain(|stream| !stream.is_closed());
            node.streams.push(sender);
        }
        return Answer::Stream { chunks: receiver, is_mute: node.settings.is_mute };
    }
    let slot = request.uri().query().and_then(|query| query.strip_prefix("slot="));
    Answer::Whole(match slot.map(|slot| node.headers(slot)).or_else(|| node.answer(path)) {
        Some(value) => plain(200, value),
        None => plain(404, json!({ "code": 404, "message": "not found" })),
    })
}

fn plain(status: u16, value: Value) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())).boxed_unsync());
    *response.status_mut() = crate::reply::code(status);
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("it is one"));
    response
}
