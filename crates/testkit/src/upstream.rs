//! Who answers in the end: a scripted chain, or a real node.

use crate::{
    chain::{self, Chain},
    rpc::{Answer, RpcError},
};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::{Request, header};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{sync::mpsc, time::timeout};
use tokio_tungstenite::{connect_async, tungstenite::Message};

/// An upstream is a node on this machine: what takes longer is broken, and shall not hold the test.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Notifications that may wait for a slow connection; then the upstream's socket fills.
const WAITING: usize = 256;

/// Where a node's answers come from: a [`Chain`], or the URL of a real node.
#[derive(Clone, Debug)]
pub struct Upstream(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Scripted(Chain),
    Real { http: String, client: Client<HttpConnector, Full<Bytes>> },
}

impl From<Chain> for Upstream {
    fn from(chain: Chain) -> Self {
        Self(Kind::Scripted(chain))
    }
}

impl From<&Chain> for Upstream {
    fn from(chain: &Chain) -> Self {
        chain.clone().into()
    }
}

impl From<String> for Upstream {
    fn from(http: String) -> Self {
        // hyper's own: no TLS to be set up, and no proxy settings of the machine.
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self(Kind::Real { http, client })
    }
}

impl From<&str> for Upstream {
    fn from(http: &str) -> Self {
        http.to_owned().into()
    }
}

impl Upstream {
    pub(crate) fn chain(&self) -> Option<&Chain> {
        match &self.0 {
            Kind::Scripted(chain) => Some(chain),
            Kind::Real { .. } => None,
        }
    }

    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Answer {
        match &self.0 {
            Kind::Scripted(chain) => chain.answer(method, params),
            Kind::Real { http, client } => {
                let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
                let request = Request::post(http).header(header::CONTENT_TYPE, "application/json");
                let request = request.body(body.to_string().into()).map_err(unreachable)?;
                let response = async {
                    let response = client.request(request).await.map_err(unreachable)?;
                    Ok(response.into_body().collect().await.map_err(unreachable)?.to_bytes())
                };
                let bytes = timeout(TIMEOUT, response).await.map_err(unreachable)??;
                read(serde_json::from_slice(&bytes).map_err(unreachable)?)
            }
        }
    }

    /// What the upstream tells to whom subscribes with these parameters. Dropping the receiver ends it.
    pub(crate) async fn subscribe(
        &self,
        params: &Value,
    ) -> Result<mpsc::Receiver<Value>, RpcError> {
        match &self.0 {
            Kind::Scripted(chain) => chain::subscribe(chain, params),
            Kind::Real { http, .. } => relay(&http.replacen("http", "ws", 1), params).await,
        }
    }
}

/// A socket of its own for each subscription, so that nothing has to be sorted apart.
async fn relay(url: &str, params: &Value) -> Result<mpsc::Receiver<Value>, RpcError> {
    let (mut socket, _) = connect_async(url).await.map_err(unreachable)?;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params });
    socket.send(Message::text(call.to_string())).await.map_err(unreachable)?;
    let first = socket.next().await.ok_or_else(|| unreachable("it closed"))?;
    let first = first.map_err(unreachable)?;
    read(serde_json::from_slice(&first.into_data()).map_err(unreachable)?)?;

    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        loop {
            let message = tokio::select! {
                message = socket.next() => message,
                () = sender.closed() => return,
            };
            // The upstream has closed, or talks nonsense: the subscription ends, as it would without a proxy.
            let Some(Ok(message)) = message else { return };
            let body: Value = serde_json::from_slice(&message.into_data()).unwrap_or_default();
            let Some(result) = body.pointer("/params/result") else { continue };
            if sender.send(result.clone()).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// An upstream's answer, taken apart.
fn read(mut body: Value) -> Answer {
    let Some(error) = body.get("error") else { return Ok(body["result"].take()) };
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let data = error.get("data").cloned();
    Err(RpcError { data, ..RpcError::new(code, message) })
}

fn unreachable(why: impl std::fmt::Display) -> RpcError {
    RpcError::new(-32099, format!("testkit: the upstream does not answer: {why}")).status(502)
}
