//! No secret leaves the pool over a WebSocket, whatever its node does, and however short the secret is.

use std::error::Error;
use std::time::Duration;

use alloy::transports::TransportError;
use fusebox_rpc::{ManualTime, Pool};
use serde_json::{Value, json};

use super::echo::{Asked, Echo, Talk, close, frame, text};
use super::heard::Heard;
use super::probes::Running;
use super::support::{ask, events, passing, pool, settle};

/// A part of the path, a value of the query, the token, a header, and the user's name and password. Of letters that no
/// fingerprint has.
const SECRETS: [&str; 6] = ["pq7zk", "xw9vq2z", "jt5wm", "zz9", "ux4ser", "pw8word"];

fn pool_of(scheme: &str, place: &str, with_user: bool) -> (ManualTime, Pool) {
    let [path, query, token, header, user, password] = SECRETS;
    let time = ManualTime::new();
    let (login, headers) = match with_user {
        true => (format!("{user}:{password}@"), json!({ "x-key": header })),
        false => {
            let token = format!("Bearer {token}");
            (String::new(), json!({ "authorization": token, "x-key": header }))
        }
    };
    let url = format!("{scheme}://{login}{place}/v2/{path}?key={query}");
    let pool = pool(&time)
        .set("deadlines", json!({ "connect": "1s", "attempt": "1s", "logs": "1s", "call": "5s" }))
        .provider_with(json!({ "name": "a", "ws": url, "headers": headers }))
        .build()
        .unwrap();
    (time, pool)
}

/// Everything that anybody can see of a pool whose calls fail.
async fn seen(scheme: &str, place: &str, with_user: bool) -> String {
    let (time, pool) = pool_of(scheme, place, with_user);
    let running = Running::start(&pool);
    let mut shown = String::new();
    for _ in 0..3 {
        let failed = passing(&time, ask(&pool, "evm_mine", json!([]))).await;
        shown += &told(failed);
        let failed = passing(&time, ask(&pool, "eth_call", json!([{}, "latest"]))).await;
        shown += &told(failed);
        let client = pool.client();
        let mut batch = client.new_batch();
        let one = batch.add_call::<_, Value>("eth_gasPrice", &json!([])).unwrap();
        let two = batch.add_call::<_, Value>("eth_call", &json!([{}, "latest"])).unwrap();
        shown += &told(passing(&time, async { batch.send().await }).await.map(|()| Value::Null));
        shown += &told(one.await);
        shown += &told(two.await);
        time.advance(Duration::from_secs(40));
        settle().await;
    }
    drop(running);
    let pinned = pool.pin();
    let snapshot = serde_json::to_string(&pool.save()).unwrap();
    shown += &format!(
        "{pinned:?} {pool:?} {:#?} {:?} {:?}",
        pool.status(),
        events(&pool),
        pool.admin("a")
    );
    shown + &snapshot
}

/// An error in all its forms, with all that caused it.
fn told(result: Result<Value, TransportError>) -> String {
    let Err(failed) = result else { return "answered\n".to_owned() };
    let mut shown = format!("{failed} {failed:?} {failed:#?}\n");
    let mut cause = failed.source();
    while let Some(inner) = cause {
        shown += &format!("{inner} {inner:?}\n");
        cause = inner.source();
    }
    shown
}

/// An answer to `call` alone, with an error that quotes everything.
fn error(call: &Value, code: i64, words: &str, head: &str) -> Vec<u8> {
    let error = json!({ "code": code, "message": format!("{words}: {head}"), "data": { "request": head, "escaped": head.escape_default().to_string() } });
    let one = |call: &Value| json!({ "jsonrpc": "2.0", "id": call["id"], "error": error });
    match call.as_array() {
        Some(calls) => text(Value::from(calls.iter().map(one).collect::<Vec<_>>())),
        None => text(one(call)),
    }
}

/// Whether a call is not one of those that a connection begins with.
fn is_later(call: &Value) -> bool {
    call["method"] != "eth_chainId"
}

macro_rules! errors {
    ($code:expr, $words:expr) => {
        |asked, head| match asked {
            Asked::Call(call) if is_later(call) => Some(error(call, $code, $words, head)),
            _ => None,
        }
    };
}

fn response(status: &str, head: &str) -> Option<Vec<u8>> {
    let body = json!({ "error": { "code": -1, "message": head } }).to_string();
    let line = head.lines().next().unwrap_or_default();
    let length = body.len();
    Some(format!("HTTP/1.1 {status}\r\nlocation: {line}\r\nx-echo: {line}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes())
}

/// What nodes do wrong, and a word that shows that it was noticed.
const WAYS: &[(&str, &str, Talk)] = &[
    ("refused, 401", "AuthRefused", |asked, head| match asked {
        Asked::Open => response("401 no", head),
        _ => None,
    }),
    ("refused, 429", "throttled_until", |asked, head| match asked {
        Asked::Open => response("429 no", head),
        _ => None,
    }),
    ("refused, 502", "server", |asked, head| match asked {
        Asked::Open => Some(format!("HTTP/1.1 502 {head}").into_bytes()),
        _ => None,
    }),
    ("moved", "server", |asked, head| match asked {
        Asked::Open => response("302 gone", head),
        _ => None,
    }),
    ("yes, but to another request", "no connection", |asked, head| match asked {
        Asked::Open => {
            let line = head.lines().next().unwrap_or_default();
            Some(format!("HTTP/1.1 101 yes\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {line}\r\n\r\n").into_bytes())
        }
        _ => None,
    }),
    ("no HTTP", "no connection", |asked, head| match asked {
        Asked::Open => Some(head.as_bytes().to_vec()),
        _ => None,
    }),
    ("closed at once", "no connection", |asked, head| match asked {
        Asked::Opened => Some(close(head)),
        _ => None,
    }),
    ("no JSON", "no connection", |asked, head| match asked {
        Asked::Opened => Some((0..20).flat_map(|_| text(head)).collect()),
        _ => None,
    }),
    ("binary", "no connection", |asked, head| match asked {
        Asked::Opened => Some((0..20).flat_map(|_| frame(2, head)).collect()),
        _ => None,
    }),
    ("pings", "answered", |asked, head| match asked {
        Asked::Opened => Some(frame(9, &head[..head.len().min(125)])),
        _ => None,
    }),
    ("a reserved frame", "no connection", |asked, head| match asked {
        Asked::Opened => Some(frame(3, head)),
        _ => None,
    }),
    ("no chain id", "server", |asked, head| match asked {
        Asked::Call(call) => Some(error(call, -1, "nobody knows", head)),
        _ => None,
    }),
    ("another chain", "wrong chain", |asked, head| match asked {
        Asked::Call(call) => Some(text(json!({ "id": call["id"], "result": head }))),
        _ => None,
    }),
    ("auth", "AuthRefused", errors!(-32600, "Must be authenticated!")),
    ("rate", "throttled_until", errors!(-32005, "rate limit exceeded")),
    ("quota", "quota used up", errors!(-32600, "Monthly capacity limit exceeded")),
    ("unknown", "unknown error", errors!(-1, "nobody knows")),
    ("user", "[redacted]", errors!(-32602, "invalid params")),
    ("behind", "[redacted]", errors!(-32000, "header not found")),
    ("range", "[redacted]", errors!(-32600, "block range too large")),
    ("broken", "server", errors!(-32603, "internal error")),
    ("closed under way", "closed its WebSocket with 1008", |asked, head| match asked {
        Asked::Call(call) if is_later(call) => Some(close(head)),
        _ => None,
    }),
    ("a reserved frame under way", "its WebSocket ended", |asked, head| match asked {
        Asked::Call(call) if is_later(call) => Some(frame(3, head)),
        _ => None,
    }),
    ("nothing to the point", "no answer in time", |asked, head| match asked {
        Asked::Call(call) if is_later(call) => Some(text(json!({ "id": "?", "error": head }))),
        _ => None,
    }),
    ("no subscription", "no subscription", |asked, head| match asked {
        Asked::Call(call) if call["method"] == "eth_subscribe" => {
            Some(error(call, -32601, "no", head))
        }
        _ => None,
    }),
    ("odd news", "websocket lost", |asked, head| match asked {
        Asked::Call(call) if call["method"] == "eth_subscribe" => {
            let head = json!({ "number": head, "hash": head });
            let news = json!({ "method": "eth_subscription", "params": { "subscription": head, "result": head } });
            let yes = text(json!({ "id": call["id"], "result": head }));
            Some([yes, (0..20).flat_map(|_| text(&news)).collect()].concat())
        }
        _ => None,
    }),
];

fn assert_kept(what: &str, shown: &str) {
    let lower = shown.to_lowercase();
    let [.., user, password] = SECRETS;
    let basic = "dXg0c2VyOnB3OHdvcmQ="; // of the user and the password
    assert_eq!((user, password), ("ux4ser", "pw8word"));
    for secret in SECRETS.iter().copied().chain([basic]) {
        let at = lower.find(&secret.to_lowercase());
        let around = at.map(|at| &lower[lower.floor_char_boundary(at.saturating_sub(200))..at]);
        assert_eq!(around, None, "{what}: {secret}");
    }
}

#[tokio::test]
async fn whatever_a_node_quotes_over_a_websocket_nobody_else_reads() {
    let mut unnoticed = Vec::new();
    for (at, (what, noticed, talk)) in WAYS.iter().enumerate() {
        let heard = Heard::default();
        let _listening = heard.listen();
        let node = Echo::start(*talk).await;
        let shown = seen("ws", &node.place, at % 2 == 0).await + &heard.text();
        assert_kept(what, &shown);
        if !shown.contains(noticed) {
            unnoticed.push(what);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:?} did not happen");
}

#[tokio::test]
async fn a_connection_that_is_never_made_tells_nothing() {
    let heard = Heard::default();
    let _listening = heard.listen();
    // To a client that wants TLS it is no TLS.
    let node = Echo::start(|asked, head| match asked {
        Asked::Open => Some(head.as_bytes().to_vec()),
        _ => None,
    })
    .await;
    let gone = Echo::start(|_, _| None).await.place.clone();
    for (scheme, place, noticed) in [
        ("wss", node.place.as_str(), "no TLS connection"),
        ("ws", &gone, "no connection"),
        ("wss", &gone, "no connection"),
        ("wss", "no-such-host.invalid", "its name is not known"),
    ] {
        let shown = seen(scheme, place, false).await;
        assert!(shown.contains(noticed), "{scheme}://{place}: {shown}");
        assert_kept(place, &shown);
    }
    let logs = heard.text();
    assert_kept("logs", &logs);
    for source in ["log reqwest", "trace hyper", "trace fusebox_rpc"] {
        assert!(logs.contains(source), "{source} is heard");
    }
}
