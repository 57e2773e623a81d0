//! A node's HTTP side: bodies in, bodies out, and the way to a WebSocket.

use crate::{
    body::{self, Body},
    node::Line,
    pipeline::{Closed, Origin, Reply},
    record::Transport,
    reply::HttpReply,
    rpc::{self, Incoming, Request},
    rule::{Bytes as How, Effect, Point, WS_OPEN},
    ws,
};
use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request as HttpRequest, Response, StatusCode, body::Incoming as Stream, header,
    server::conn::http1, service::service_fn, upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::{
    future::pending,
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// A client's body; geth takes 5 MiB, and a test may want more than that.
const BODY_LIMIT: usize = 64 << 20;

/// A WebSocket that is about to be one, and how it begins.
type Upgrade = Arc<Mutex<Option<(OnUpgrade, Vec<Effect>)>>>;

/// Serves one connection to its end.
pub(crate) async fn serve(line: Line, stream: TcpStream) {
    let upgrade = Upgrade::default();
    let service = service_fn(|request| handle(line.clone(), Arc::clone(&upgrade), request));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // An error is a client that left, or a rule that closed.
    let _ = connection.with_upgrades().await;
    let upgraded = upgrade.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((socket, effects)) = upgraded
        && let Ok(socket) = socket.await
    {
        ws::serve(line, TokioIo::new(socket), effects).await;
    }
}

/// An error makes hyper close the connection without an answer, which is what the rule asked for.
async fn handle(
    line: Line,
    upgrade: Upgrade,
    request: HttpRequest<Stream>,
) -> Result<Response<Body>, io::Error> {
    if request.headers().contains_key(header::UPGRADE) {
        return open(&line, &upgrade, request).await;
    }
    if request.method() != Method::POST {
        return Ok(plain(&line, HttpReply::new(405).header("allow", "POST")));
    }
    let body = match Limited::new(request.into_body(), BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Ok(plain(&line, HttpReply::new(413))),
    };
    let (replies, is_batch) = answer(&line, None, &body).await.map_err(closed)?;
    Ok(body::write(replies, is_batch).response(&line.shared.clock))
}

/// All answers to one body or message, in order, and whether it was a batch.
pub(crate) async fn answer(
    line: &Line,
    session: Option<&ws::Session>,
    body: &[u8],
) -> Result<(Vec<Reply>, bool), Closed> {
    let request = line.shared.next_request();
    let origin = Origin { endpoint: &line.label, request, session };
    let one = async |part: Result<Request, Value>| match part {
        Ok(call) => line.shared.answer(origin, call).await,
        Err(envelope) => Ok(Reply { envelope: Some(envelope), ..Reply::default() }),
    };
    match rpc::parse(body) {
        Incoming::One(part) => Ok((vec![one(part).await?], false)),
        Incoming::Batch(parts) => {
            let mut replies = Vec::with_capacity(parts.len());
            for part in parts {
                replies.push(one(part).await?);
            }
            Ok((replies, true))
        }
    }
}

async fn open(
    line: &Line,
    upgrade: &Upgrade,
    mut request: HttpRequest<Stream>,
) -> Result<Response<Body>, io::Error> {
    let shared = &line.shared;
    let about = (WS_OPEN, &Value::Null);
    let effects = shared.effects(&line.label, Transport::WebSocket, about, false);
    for effect in &effects {
        match effect {
            Effect::Delay(time) => shared.clock.sleep(*time).await,
            Effect::Hang(Point::Before) => pending().await,
            Effect::Bytes(How::Reply(reply)) => return Ok(plain(line, reply.clone())),
            _ => {}
        }
    }
    let Some(key) = request.headers().get(header::SEC_WEBSOCKET_KEY) else {
        return Ok(plain(line, HttpReply::new(400).body("no Sec-WebSocket-Key")));
    };
    let accept = derive_accept_key(key.as_bytes());
    let socket = hyper::upgrade::on(&mut request);
    *upgrade.lock().unwrap_or_else(PoisonError::into_inner) = Some((socket, effects));
    let reply = HttpReply::new(StatusCode::SWITCHING_PROTOCOLS.as_u16())
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-accept", &accept);
    Ok(plain(line, reply))
}

fn plain(line: &Line, reply: HttpReply) -> Response<Body> {
    body::Written::whole(reply).response(&line.shared.clock)
}

fn closed(_: Closed) -> io::Error {
    io::Error::other("the rule says that the connection ends here")
}
