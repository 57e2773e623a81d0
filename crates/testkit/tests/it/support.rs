//! Plain clients.

use alloy::{
    consensus::{SignableTransaction, TxEip1559},
    eips::eip2718::Encodable2718,
    node_bindings::AnvilInstance,
    primitives::{Address, TxKind, hex},
    signers::{SignerSync, local::PrivateKeySigner},
};
use fusebox_simulator::engine::find_anvil;
use futures_util::{SinkExt, StreamExt};
use reqwest::Response;
use serde_json::{Value, json};
use std::{sync::LazyLock, time::Duration};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message},
};

/// Long enough for a loaded machine; nothing waits this long when all is well.
const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) async fn within<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, wait).await.expect("it takes too long")
}

pub(crate) fn anvil() -> AnvilInstance {
    find_anvil().unwrap().spawn()
}

pub(crate) fn call(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Made once, since it reads the certificates of the machine. No connection is kept: each test has its own runtime.
static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    let builder = reqwest::Client::builder().no_proxy().timeout(DEADLINE);
    builder.pool_max_idle_per_host(0).build().unwrap()
});

pub(crate) fn client() -> &'static reqwest::Client {
    &CLIENT
}

pub(crate) async fn post(url: &str, body: &Value) -> reqwest::Result<Response> {
    // anvil takes nothing else.
    let request = client().post(url).header("content-type", "application/json");
    request.body(body.to_string()).send().await
}

/// Whether the connection ended, which is not that the client lost its patience.
pub(crate) fn is_cut<T>(result: reqwest::Result<T>) -> bool {
    result.is_err_and(|error| !error.is_timeout())
}

/// The whole answer, which must be JSON.
pub(crate) async fn whole(url: &str, method: &str, params: Value) -> Value {
    let response = post(url, &call(1, method, params)).await.unwrap();
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// The result, which there must be.
pub(crate) async fn ask(url: &str, method: &str, params: Value) -> Value {
    let mut answer = whole(url, method, params).await;
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].take()
}

/// The code of the error, which there must be.
pub(crate) async fn refused(url: &str, method: &str, params: Value) -> (i64, String) {
    let answer = whole(url, method, params).await;
    let error = answer.get("error").unwrap_or_else(|| panic!("no error: {answer}"));
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

/// A call on its way.
pub(crate) fn started(
    url: String,
    method: &'static str,
) -> tokio::task::JoinHandle<reqwest::Result<String>> {
    tokio::spawn(async move { post(&url, &call(1, method, json!([]))).await?.text().await })
}

/// A transfer of nothing, signed by anvil's first account.
pub(crate) fn transfer(nonce: u64, max_fee: u128, tip: u128) -> String {
    let transaction = TxEip1559 {
        chain_id: 31_337,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: max_fee,
        max_priority_fee_per_gas: tip,
        to: TxKind::Call(Address::ZERO),
        ..TxEip1559::default()
    };
    let signature = signer().sign_hash_sync(&transaction.signature_hash()).unwrap();
    hex::encode_prefixed(transaction.into_signed(signature).encoded_2718())
}

/// Who signs [`transfer`].
pub(crate) fn sender() -> Address {
    signer().address()
}

/// The first of the accounts that every anvil has; the key is public.
fn signer() -> PrivateKeySigner {
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80".parse().unwrap()
}

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(url: &str) -> Result<Self, Error> {
        Ok(Self(within(connect_async(url)).await?.0))
    }

    pub(crate) async fn send(&mut self, body: &Value) {
        self.0.send(Message::text(body.to_string())).await.unwrap();
    }

    /// The next message, as it is; None is the end.
    pub(crate) async fn next(&mut self) -> Option<Result<String, Error>> {
        let message = within(self.0.next()).await?;
        Some(message.map(|message| message.into_text().unwrap().to_string()))
    }

    pub(crate) async fn json(&mut self) -> Value {
        serde_json::from_str(&self.next().await.unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(&call(1, method, params)).await;
        let mut answer = self.json().await;
        assert_eq!(answer["id"], 1, "{answer}");
        answer["result"].take()
    }

    /// The number of the next head.
    pub(crate) async fn head(&mut self) -> u64 {
        let message = self.json().await;
        let number = message["params"]["result"]["number"].as_str();
        let number = number.unwrap_or_else(|| panic!("no head: {message}"));
        u64::from_str_radix(&number[2..], 16).unwrap()
    }

    /// Reads until it ends, which it must, and says whether that was without a closing frame.
    pub(crate) async fn is_cut(&mut self) -> bool {
        loop {
            match self.next().await {
                None => return false,
                Some(Err(_)) => return true,
                Some(Ok(_)) => {}
            }
        }
    }
}
