//! How an HTTP connection becomes a WebSocket.
//!
//! By the client that HTTP goes through: so both trust the same roots, know the same proxies, and tell in the same words
//! why a connection could not be made. A crate that does all of it was there before, and wrote the request with its key
//! and its headers into the log of whoever uses this one.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{StatusCode, Upgraded, Url};
use sha1::{Digest, Sha1};

use super::note::draw;
use super::wire::{Http, Received, why};
use crate::reply::NoAnswer;

/// What RFC 6455 puts behind the key, so that nobody accepts who does not know what he accepts.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

impl Http {
    /// Opens a connection to a URL of `ws` or `wss`.
    ///
    /// # Errors
    ///
    /// What came instead.
    pub(crate) async fn upgrade(
        &self,
        url: &Url,
        headers: HeaderMap,
    ) -> Result<Upgraded, Received> {
        let unmade = Received::Nothing(NoAnswer::Connect);
        let mut url = url.clone();
        let scheme = if url.scheme() == "wss" { "https" } else { "http" };
        if url.set_scheme(scheme).is_err() {
            return Err(unmade);
        }
        // To be told from others, and no secret.
        let key = STANDARD.encode([draw().to_be_bytes(), draw().to_be_bytes()].concat());
        let request = self
            .client()
            .get(url)
            .headers(headers)
            .header(CONNECTION, HeaderValue::from_static("Upgrade"))
            .header(UPGRADE, HeaderValue::from_static("websocket"))
            .header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"))
            .header(SEC_WEBSOCKET_KEY, &key);
        let response = request.send().await.map_err(|error| Received::Nothing(why(&error)))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.receive(response).await);
        }
        if !accepts(response.headers(), &key) {
            return Err(unmade);
        }
        response.upgrade().await.map_err(|_| unmade)
    }
}

/// Whether an answer says yes to this request, and not to another one from a cache.
fn accepts(headers: &HeaderMap, key: &str) -> bool {
    let said = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    said(UPGRADE).eq_ignore_ascii_case("websocket") && said(SEC_WEBSOCKET_ACCEPT) == accept(key)
}

fn accept(key: &str) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(GUID).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_to_this_request_is_one() {
        // The example of RFC 6455.
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let headers = |upgrade: &'static str, accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(UPGRADE, HeaderValue::from_static(upgrade));
            headers.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::from_static(accept));
            headers
        };
        assert!(accepts(&headers("WebSocket", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), key));
        assert!(!accepts(&headers("h2c", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), key));
        assert!(!accepts(&headers("websocket", "s3pPLMBiTxaQ9kYGzzhZRbK+xOO="), key));
        assert!(!accepts(&HeaderMap::new(), key));
    }
}
