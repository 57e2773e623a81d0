//! One WebSocket connection, from its opening to its end.
//!
//! It carries requests and the subscription for heads. What it carries is used only after its chain id has matched, on
//! each connection anew: behind a name, nodes are exchanged. When it ends, whoever waits is told at once, and nothing is
//! sent again: that is for the failover to decide, which knows what is harmless.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use reqwest::Upgraded;
use reqwest::header::HeaderMap;
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_websockets::{ClientBuilder, CloseCode, Error, Limits, Message, WebSocketStream};

use super::call::Call;
use super::frame::{Form, Frame, request};
use super::identity::Told;
use super::servers::lock;
use super::time::{Clk, Sleep};
use super::wake::Wake;
use super::wire::{Http, MAX_BODY, Raw, Received};
use crate::endpoint::Endpoint;
use crate::reply::NoAnswer;

/// How long a connection must hold before it counts as good.
pub(crate) const PROVEN: Duration = Duration::from_secs(30);

/// No chain is silent for so long: the connection is dead and TCP has not noticed. One that nobody needs is closed then.
pub(crate) const SILENCE: Duration = Duration::from_secs(60);

/// So many frames in a row that cannot be read, and the other side speaks another language.
const MOST_UNREADABLE: u32 = 10;

type Socket = WebSocketStream<Upgraded>;

/// A request on its way to a connection.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) text: Bytes,
    /// One for each call in it.
    pub(crate) ids: Range<u64>,
    /// Whether it is about the subscription, and no caller's: a connection that owes heads must not be silent.
    pub(crate) for_heads: bool,
    /// `None` if the connection was closed because nobody needed it, before this left.
    pub(crate) answer: oneshot::Sender<Option<Received>>,
}

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum Lost {
    /// It was silent, and nobody needed it.
    Idle,
    /// It could not be made: nothing was sent.
    Unmade(NoAnswer),
    /// The other side would not have it, or would not tell its chain, and said why: nothing was sent.
    Refused(Raw),
    /// It serves another chain: this.
    WrongChain(String),
    /// It broke, or the other side closed it.
    Broken(NoAnswer),
    /// We left: a message was longer than we read.
    TooLong,
}

/// What a connection tells besides answers.
pub(crate) trait Ear: Send + Sync {
    /// There is a block.
    fn head(&self, wake: Wake);
    /// It has held for [`PROVEN`], and something true came through it.
    fn proven(&self);
}

/// What a connection is made from.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: HeaderMap,
    pub(crate) http: Http,
    pub(crate) chain: u64,
    pub(crate) time: Clk,
    /// How long opening it may take, and after that its first answer.
    pub(crate) connect: Duration,
    pub(crate) attempt: Duration,
}

/// A connection that has ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) lost: Lost,
    /// Something that could be read had come through it.
    pub(crate) valid: bool,
    /// Whether a caller was told, whose breaker thus hears of it.
    pub(crate) told: bool,
}

/// Who waits for what.
#[derive(Debug, Default)]
struct Waiting {
    by_id: BTreeMap<u64, Entry>,
    /// Heads are owed.
    subscribed: bool,
    /// Ids below have been used.
    used: u64,
}

#[derive(Debug)]
struct Entry {
    end: u64,
    for_heads: bool,
    answer: oneshot::Sender<Option<Received>>,
}

impl Waiting {
    /// Whoever gave up is swept out here, so there are never more than there are callers, and those who left since the
    /// last request.
    fn add(&mut self, ask: Ask) -> Bytes {
        self.by_id.retain(|_, entry| !entry.answer.is_closed());
        let Ask { text, ids, for_heads, answer } = ask;
        self.used = ids.end;
        self.by_id.insert(ids.start, Entry { end: ids.end, for_heads, answer });
        text
    }

    /// Whose answer it is. One without an id is for whoever waits alone: of two, it might be for the other.
    fn take(&mut self, id: Option<u64>) -> Option<(u64, Entry)> {
        let first = match id {
            Some(id) => {
                let (first, entry) = self.by_id.range(..=id).next_back()?;
                (id < entry.end).then_some(*first)?
            }
            None => self.alone()?,
        };
        self.by_id.remove_entry(&first)
    }

    fn alone(&self) -> Option<u64> {
        let mut open = self.by_id.iter().filter(|(_, entry)| !entry.answer.is_closed());
        let (first, _) = open.next()?;
        open.next().is_none().then_some(*first)
    }

    fn is_needed(&self) -> bool {
        self.subscribed || self.by_id.values().any(|entry| !entry.answer.is_closed())
    }
}

/// One connection: opened, checked, used, lost. `ids` are unique on its line; `check` is one of them.
pub(crate) async fn serve(
    plan: &Plan,
    check: u64,
    asks: &mut mpsc::Receiver<Ask>,
    ear: &impl Ear,
) -> End {
    let unmade = |lost| End { lost, valid: false, told: false };
    let opening = std::pin::pin!(open(plan));
    let deadline = plan.time.sleep_until(plan.time.now().after(plan.connect));
    let socket = match select(opening, deadline).await {
        Either::Left((Ok(socket), _)) => socket,
        Either::Left((Err(lost), _)) => return unmade(lost),
        Either::Right(_) => return unmade(Lost::Unmade(NoAnswer::Connect)),
    };
    let (sink, stream) = socket.split();
    let waiting = Mutex::new(Waiting::default());
    let (checked, is_checked) = watch::channel(false);
    let mut reader =
        Reader { plan, check, waiting: &waiting, checked, ear, valid: false, unreadable: 0 };
    let lost = {
        let reading = std::pin::pin!(reader.read(stream));
        let writing = std::pin::pin!(write(sink, check, asks, &waiting, is_checked));
        // Side by side: a server that waits for us to read does not read what we write.
        match select(reading, writing).await {
            Either::Left((lost, _)) | Either::Right((lost, _)) => lost,
        }
    };
    let lost = match lost {
        // Before its chain was known, nothing of anybody's was sent.
        Lost::Broken(_) if !reader.is_checked() => Lost::Unmade(NoAnswer::Connect),
        lost => lost,
    };
    let valid = reader.valid;
    let waiting = waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_alone = waiting.alone().is_some();
    let mut told = false;
    for entry in waiting.by_id.into_values() {
        let received = match &lost {
            Lost::TooLong if is_alone => Received::Oversized,
            Lost::Broken(why) => Received::Nothing(*why),
            _ => Received::Nothing(NoAnswer::Reset),
        };
        let is_caller = !entry.for_heads;
        told |= entry.answer.send(Some(received)).is_ok() && is_caller;
    }
    End { lost, valid, told }
}

async fn open(plan: &Plan) -> Result<Socket, Lost> {
    let opened = plan.http.upgrade(plan.endpoint.expose_url(), plan.headers.clone()).await;
    let limits = Limits::default().max_payload_len(Some(MAX_BODY));
    match opened {
        Ok(stream) => Ok(ClientBuilder::new().limits(limits).take_over(stream)),
        Err(Received::Answer(raw)) => Err(Lost::Refused(raw)),
        Err(Received::Nothing(why)) if why.never_left() => Err(Lost::Unmade(why)),
        Err(_) => Err(Lost::Unmade(NoAnswer::Connect)),
    }
}

/// Sends the question for the chain, and once it is answered what callers ask.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    check: u64,
    asks: &mut mpsc::Receiver<Ask>,
    waiting: &Mutex<Waiting>,
    mut is_checked: watch::Receiver<bool>,
) -> Lost {
    let broken = Lost::Broken(NoAnswer::Reset);
    let question = Call::make("eth_chainId", &json!([]));
    let question = request(&[&question], check..check + 1, Form::Single);
    if sink.send(Message::text(question)).await.is_err()
        || is_checked.wait_for(|checked| *checked).await.is_err()
    {
        return broken;
    }
    while let Some(ask) = asks.recv().await {
        // Whoever gave up in line asks for nothing any more.
        if ask.answer.is_closed() {
            continue;
        }
        let text = lock(waiting).add(ask);
        if sink.send(Message::text(text)).await.is_err() {
            return broken;
        }
    }
    Lost::Idle
}

struct Reader<'a, E> {
    plan: &'a Plan,
    check: u64,
    waiting: &'a Mutex<Waiting>,
    checked: watch::Sender<bool>,
    ear: &'a E,
    valid: bool,
    unreadable: u32,
}

impl<E: Ear> Reader<'_, E> {
    async fn read(&mut self, mut stream: SplitStream<Socket>) -> Lost {
        let time = &self.plan.time;
        let started = time.now();
        let mut proven = Some(time.sleep_until(started.after(PROVEN)));
        let mut check = Some(time.sleep_until(started.after(self.plan.attempt)));
        let mut heard = started;
        loop {
            let silence = time.sleep_until(heard.after(SILENCE));
            let message = tokio::select! {
                biased;
                message = stream.next() => message,
                () = wait(&mut check) => {
                    check = None;
                    if !self.is_checked() {
                        return Lost::Broken(NoAnswer::Reset);
                    }
                    continue;
                }
                () = wait(&mut proven) => {
                    proven = None;
                    if self.valid {
                        self.ear.proven();
                    }
                    continue;
                }
                () = silence => return match lock(self.waiting).is_needed() {
                    true => Lost::Broken(NoAnswer::Reset),
                    false => Lost::Idle,
                },
            };
            heard = time.now();
            let lost = match message {
                Some(Ok(message)) if message.is_text() => self.text(message),
                Some(Ok(message)) if message.is_ping() || message.is_pong() => None,
                Some(Ok(message)) => match message.as_close() {
                    Some((code, _)) => {
                        let code = (code != CloseCode::NO_STATUS_RECEIVED).then(|| code.into());
                        Some(Lost::Broken(NoAnswer::Closed(code)))
                    }
                    None => self.unreadable(),
                },
                Some(Err(Error::PayloadTooLong { .. })) => Some(Lost::TooLong),
                Some(Err(_)) | None => Some(Lost::Broken(NoAnswer::Closed(None))),
            };
            if let Some(lost) = lost {
                return lost;
            }
        }
    }

    fn text(&mut self, message: Message) -> Option<Lost> {
        let frame = Frame::read(message.as_text().unwrap_or_default());
        let text = Bytes::from(message.into_payload());
        match frame {
            Frame::Answer { id, .. } if !self.is_checked() => {
                if id.is_some_and(|id| id != self.check) {
                    return self.unreadable();
                }
                let raw = Raw::message(text, self.check);
                match Told::by(&raw.body, self.plan.chain) {
                    Told::Right => self.checked.send_replace(true),
                    Told::Wrong(found) => return Some(Lost::WrongChain(found)),
                    Told::Nothing => return Some(Lost::Refused(raw)),
                };
            }
            Frame::Answer { id, is_error } => {
                let mut waiting = lock(self.waiting);
                match waiting.take(id) {
                    Some((first, entry)) => {
                        waiting.subscribed |= entry.for_heads && !is_error;
                        // Whoever asked may have left.
                        let raw = Raw::message(text, first);
                        let _ = entry.answer.send(Some(Received::Answer(raw)));
                    }
                    // Late: nobody waits for it any more.
                    None if id.is_some_and(|id| id < waiting.used) => {}
                    None => {
                        drop(waiting);
                        return self.unreadable();
                    }
                }
            }
            Frame::Head(wake) if self.is_checked() => self.ear.head(wake),
            Frame::Head(_) | Frame::Unreadable => return self.unreadable(),
        }
        self.valid = true;
        self.unreadable = 0;
        None
    }

    fn is_checked(&self) -> bool {
        *self.checked.borrow()
    }

    /// One more frame could not be read.
    fn unreadable(&mut self) -> Option<Lost> {
        self.unreadable += 1;
        (self.unreadable >= MOST_UNREADABLE).then_some(Lost::Broken(NoAnswer::Reset))
    }
}

async fn wait(sleep: &mut Option<Sleep>) {
    match sleep {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}
