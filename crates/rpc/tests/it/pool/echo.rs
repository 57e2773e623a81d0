//! A node that quotes the request which opened a WebSocket to it, with its URL and its headers, wherever it can.
//!
//! Written down to the frames: a WebSocket of any crate would log, in this process, what is looked for in its logs.

use base64::Engine;
use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a node is asked.
pub(crate) enum Asked<'a> {
    /// To open a WebSocket. An answer is the last thing it says.
    Open,
    /// Nothing yet.
    Opened,
    /// This, in a message.
    Call(&'a Value),
}

/// What it says to that, in bytes; `None` for what any node says. The text is the request that opened the connection.
pub(crate) type Talk = fn(Asked<'_>, &str) -> Option<Vec<u8>>;

/// A running node.
pub(crate) struct Echo {
    pub(crate) place: String,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Echo {
    pub(crate) async fn start(talk: Talk) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, talk));
            }
        });
        Self { place, task }
    }
}

/// Until the client leaves, at whatever point.
async fn serve(mut stream: TcpStream, talk: Talk) -> Option<()> {
    let mut head = Vec::new();
    // A TLS record is no request: it has no end that is waited for.
    while !head.ends_with(b"\r\n\r\n") && !head.starts_with(&[0x16]) {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    if let Some(bytes) = talk(Asked::Open, &head) {
        stream.write_all(&bytes).await.ok()?;
        return stream.shutdown().await.ok();
    }
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.to_owned())
    })?;
    let accept = Sha1::digest(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = base64::engine::general_purpose::STANDARD.encode(accept);
    let yes = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    );
    stream.write_all(yes.as_bytes()).await.ok()?;
    stream.write_all(&talk(Asked::Opened, &head).unwrap_or_default()).await.ok()?;
    loop {
        let message = message(&mut stream).await?;
        let Ok(call) = serde_json::from_slice::<Value>(&message) else { continue };
        let bytes = talk(Asked::Call(&call), &head).unwrap_or_else(|| {
            let result = if call["method"] == "eth_chainId" { "0x7a69" } else { "0x1" };
            text(json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }))
        });
        stream.write_all(&bytes).await.ok()?;
    }
}

/// The next message of a client, which masks it.
async fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    stream.read_u8().await.ok()?;
    let length = match stream.read_u8().await.ok()? & 0x7f {
        126 => stream.read_u16().await.ok()?.into(),
        127 => stream.read_u64().await.ok()?,
        short => short.into(),
    };
    let mask = stream.read_u32().await.ok()?.to_be_bytes();
    let mut message = vec![0; usize::try_from(length).ok()?];
    stream.read_exact(&mut message).await.ok()?;
    message.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    Some(message)
}

/// A frame of this opcode.
pub(crate) fn frame(opcode: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut frame = vec![0x80 | opcode];
    match u16::try_from(payload.len()).unwrap() {
        length @ ..126 => frame.push(length as u8),
        length => {
            frame.push(126);
            frame.extend(length.to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// A message.
pub(crate) fn text(message: impl ToString) -> Vec<u8> {
    frame(1, message.to_string())
}

/// A closing frame with the beginning of a text as its reason, of which it has room for 123 bytes.
pub(crate) fn close(reason: &str) -> Vec<u8> {
    let reason = &reason.as_bytes()[..reason.len().min(123)];
    frame(8, [&1008_u16.to_be_bytes(), reason].concat())
}
