//! A node's WebSocket side. Calls are answered as they are done, not in order; notifications come in between.

use crate::{
    body::{self, Written},
    http,
    node::Line,
    notify::{Frame, Notifier},
    pipeline::{Closed, Subscription},
    record::Transport,
    rule::{Bytes as How, Effect, Point},
};
use futures_util::{
    SinkExt, StreamExt,
    future::AbortHandle,
    stream::{self, BoxStream, FuturesUnordered, SelectAll},
};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Mutex, PoisonError},
};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error, Message, Utf8Bytes, protocol::Role},
};

/// Opcode 3 is reserved: no client may accept it.
const BAD_FRAME: &[u8] = &[0x83, 0x00];

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// What one connection is subscribed to.
#[derive(Debug, Default)]
pub(crate) struct Session {
    active: Mutex<BTreeMap<String, AbortHandle>>,
}

impl Session {
    /// Whether there was such a subscription.
    pub(crate) fn unsubscribe(&self, id: &str) -> bool {
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        active.remove(id).inspect(AbortHandle::abort).is_some()
    }

    fn begin(&self, subscription: Subscription) -> BoxStream<'static, (Which, Value)> {
        let Subscription { id, kind, notifications } = subscription;
        let which = Which { id: id.clone(), kind };
        let stream = stream::unfold((notifications, which), |(mut notifications, which)| async {
            let value = notifications.recv().await?;
            Some(((which.clone(), value), (notifications, which)))
        });
        let (stream, handle) = stream::abortable(stream);
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(id, handle);
        stream.boxed()
    }
}

/// Which of a connection's subscriptions.
#[derive(Clone, Debug)]
struct Which {
    id: String,
    kind: String,
}

/// Until the client leaves, or a rule ends it. Ends without a closing frame, as a cut line does.
pub(crate) async fn serve(line: Line, io: TokioIo<Upgraded>, opening: Vec<Effect>) {
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    // Whatever the error is, the connection is over.
    let _ = talk(&line, &mut socket, &opening).await;
}

async fn talk(line: &Line, socket: &mut Socket, opening: &[Effect]) -> Result<(), Error> {
    for effect in opening {
        match effect {
            Effect::Close(Point::Before) => return Ok(()),
            Effect::Bytes(How::BadFrame) => raw(socket, BAD_FRAME).await?,
            Effect::Bytes(How::InvalidJson) => socket.send(Message::text("{\"jsonrpc\":")).await?,
            _ => {}
        }
    }
    let session = Session::default();
    let mut cut = line.cut.subscribe();
    let mut lifetime = match line.cut_every {
        Some(time) => line.shared.clock.sleep(time),
        None => Box::pin(pending()),
    };
    let mut calls = FuturesUnordered::new();
    let mut subscriptions = SelectAll::new();
    let mut notifier = Notifier::default();
    let mut delayed = FuturesUnordered::new();
    loop {
        tokio::select! {
            message = socket.next() => match message {
                None => return Ok(()),
                Some(message) => match message? {
                    message @ (Message::Text(_) | Message::Binary(_)) => {
                        calls.push(answer(line, &session, message));
                    }
                    Message::Close(_) => return Ok(()),
                    _ => {}
                }
            },
            Some(answer) = calls.next() => {
                let Ok((written, begun)) = answer else { return Ok(()) };
                if !send(socket, written).await? {
                    return Ok(());
                }
                // Only now: a client can't place what comes before it knows the id.
                begun.into_iter().for_each(|begun| subscriptions.push(session.begin(begun)));
            }
            Some((which, value)) = subscriptions.next() => {
                let about = (which.kind.as_str(), &value);
                let effects = line.shared.effects(&line.label, Transport::WebSocket, about, false);
                if effects.iter().any(|effect| matches!(effect, Effect::Close(_))) {
                    return Ok(());
                }
                let delay = effects.iter().find_map(|effect| match effect {
                    Effect::Delay(time) => Some(line.shared.clock.sleep(*time)),
                    _ => None,
                });
                let frames = notifier.frames(&which.id, &value, &effects);
                match delay {
                    Some(delay) => delayed.push(async { delay.await; frames }),
                    None => show(socket, frames).await?,
                }
            }
            Some(frames) = delayed.next() => show(socket, frames).await?,
            _ = cut.changed() => return Ok(()),
            () = &mut lifetime => return Ok(()),
        }
    }
}

async fn answer(
    line: &Line,
    session: &Session,
    message: Message,
) -> Result<(Written, Vec<Subscription>), Closed> {
    let (mut replies, is_batch) = http::answer(line, Some(session), &message.into_data()).await?;
    let begun = replies.iter_mut().filter_map(|reply| reply.subscription.take()).collect();
    let written = body::write(replies, is_batch);
    if let Some((bytes, pause)) = written.drip {
        let pauses = u32::try_from(written.reply.body.len().div_ceil(bytes)).unwrap_or(u32::MAX);
        line.shared.clock.sleep(pause.saturating_mul(pauses)).await;
    }
    Ok((written, begun))
}

/// Whether the connection goes on.
async fn send(socket: &mut Socket, written: Written) -> Result<bool, Error> {
    let body = written.reply.body;
    if written.bad_frame {
        raw(socket, BAD_FRAME).await?;
    } else if let Some(bytes) = written.truncate.filter(|bytes| *bytes < body.len()) {
        raw(socket, &beginning(&body, bytes)).await?;
        return Ok(false);
    } else if !body.is_empty() {
        let message = match Utf8Bytes::try_from(body.clone()) {
            Ok(text) => Message::Text(text),
            Err(_) => Message::Binary(body),
        };
        socket.send(message).await?;
    }
    Ok(true)
}

async fn show(socket: &mut Socket, frames: Vec<Frame>) -> Result<(), Error> {
    for frame in frames {
        match frame {
            Frame::Text(text) => socket.send(Message::text(text)).await?,
            Frame::Bad => raw(socket, BAD_FRAME).await?,
        }
    }
    Ok(())
}

/// Beneath the protocol.
async fn raw(socket: &mut Socket, bytes: &[u8]) -> Result<(), Error> {
    socket.flush().await?;
    socket.get_mut().write_all(bytes).await?;
    Ok(socket.get_mut().flush().await?)
}

/// A text frame that promises `body` and has only its first `bytes`.
fn beginning(body: &[u8], bytes: usize) -> Vec<u8> {
    // Final, text; a length of 127 says that 8 bytes with the length follow.
    let mut frame = vec![0x81, 127];
    frame.extend((body.len() as u64).to_be_bytes());
    frame.extend(&body[..bytes]);
    frame
}
