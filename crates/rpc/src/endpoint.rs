//! An endpoint: a URL with what goes along, and the breakers that judge it.

use std::collections::BTreeMap;
use std::fmt;

use url::Url;

use crate::instance::InstanceId;
use crate::known_word::is_known;
use crate::method::MethodClass;
use crate::scrub::{Scrubber, basic_credentials};
use crate::secret::{SecretText, SecretUrl};

/// How an endpoint is spoken to. The two fail apart: a dead WebSocket says nothing about HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// `http` and `https`.
    Http,
    /// `ws` and `wss`.
    Ws,
}

impl Transport {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Ws => "ws",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One URL of a provider with the headers that go with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    instance: InstanceId,
    transport: Transport,
    url: Url,
    headers: BTreeMap<String, SecretText>,
}

impl Endpoint {
    /// An endpoint of `chain`, or `None` if the URL is none, names no host, or has another scheme than http(s), ws(s).
    ///
    /// User info leaves the URL and becomes an `authorization` header, unless one is configured already. Header names
    /// are taken in lower case.
    #[must_use]
    pub fn new(
        chain: u64,
        url: &SecretUrl,
        headers: &BTreeMap<String, SecretText>,
    ) -> Option<Self> {
        let mut url = url.parse()?;
        let transport = match url.scheme() {
            "http" | "https" => Transport::Http,
            "ws" | "wss" => Transport::Ws,
            _ => return None,
        };
        let mut headers: BTreeMap<_, _> = headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
            .collect();
        if let Some(basic) = basic_credentials(&url) {
            headers
                .entry("authorization".to_owned())
                .or_insert_with(|| SecretText::new(format!("Basic {basic}")));
        }
        // Both fail only for URLs without a host.
        url.set_username("").ok()?;
        url.set_password(None).ok()?;
        url.set_fragment(None);
        let instance = InstanceId::new(chain, &url, &headers)?;
        Some(Self { instance, transport, url, headers })
    }

    /// Who this is.
    #[must_use]
    pub fn instance(&self) -> &InstanceId {
        &self.instance
    }

    /// How it is spoken to.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// What to connect to, with its secrets, without user info: never print it.
    #[must_use]
    pub fn expose_url(&self) -> &Url {
        &self.url
    }

    /// What to send along, by lower-case name.
    #[must_use]
    pub fn headers(&self) -> &BTreeMap<String, SecretText> {
        &self.headers
    }

    /// Teaches a scrubber the secrets of this endpoint. The number of its chain is none, though gateways have it in paths.
    pub fn teach(&self, scrubber: &mut Scrubber) {
        let chain = self.instance.chain().to_string();
        scrubber.add_url_but(&self.url, |word| word == chain || is_known(word));
        self.headers.values().for_each(|value| scrubber.add_header(value));
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("instance", &self.instance)
            .field("transport", &self.transport)
            .finish()
    }
}

/// How much of an endpoint shares a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// One breaker per method class: a broken `eth_getLogs` leaves `eth_call` alone. The default.
    #[default]
    MethodClass,
    /// One breaker for all methods, as in Lasso.
    Endpoint,
}

/// What a breaker is kept for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BreakerKey {
    /// The endpoint's identity.
    pub instance: InstanceId,
    /// How it is spoken to.
    pub transport: Transport,
    /// The methods, or `None` for all of them.
    pub class: Option<MethodClass>,
}

impl BreakerKey {
    /// The key of the breaker that judges `class` on this endpoint.
    #[must_use]
    pub fn new(endpoint: &Endpoint, class: MethodClass, scope: Scope) -> Self {
        let class = match scope {
            Scope::MethodClass => Some(class),
            Scope::Endpoint => None,
        };
        Self { instance: endpoint.instance.clone(), transport: endpoint.transport, class }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str, headers: &[(&str, &str)]) -> Endpoint {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), SecretText::new(*value)))
            .collect();
        Endpoint::new(1, &SecretUrl::new(url), &headers).unwrap()
    }

    fn id(url: &str, headers: &[(&str, &str)]) -> InstanceId {
        endpoint(url, headers).instance().clone()
    }

    #[test]
    fn user_info_is_the_same_as_its_header() {
        let with = endpoint("https://user:pa%3Ass@eth.example/", &[]);
        assert_eq!(with.headers()["authorization"].expose(), "Basic dXNlcjpwYTpzcw==");
        assert_eq!(with.expose_url().as_str(), "https://eth.example/");
        let without = id("https://eth.example", &[("Authorization", "Basic dXNlcjpwYTpzcw==")]);
        assert_eq!(with.instance(), &without);
        // A configured header wins: that is what would be sent.
        let both = endpoint("https://user:pass@eth.example/", &[("AUTHORIZATION", "Bearer x")]);
        assert_eq!(both.headers()["authorization"].expose(), "Bearer x");
    }

    #[test]
    fn what_is_shown_has_no_secret() {
        let mark = "MARKER0123456789";
        let url = format!("https://{mark}:{mark}@eth.example:8545/{mark}?k={mark}");
        let endpoint = endpoint(&url, &[("x-key", mark)]);
        let key = BreakerKey::new(&endpoint, MethodClass::Logs, Scope::MethodClass);
        let shown = format!("{endpoint:?} {} {key:?}", endpoint.instance());
        assert!(!shown.contains(mark), "{shown}");
        let mut scrubber = Scrubber::default();
        endpoint.teach(&mut scrubber);
        assert_eq!(scrubber.scrub(&format!("<{mark}>")), "<[redacted]>");
    }

    #[test]
    fn user_info_is_a_secret_after_it_has_left_the_url() {
        let mut scrubber = Scrubber::default();
        endpoint("https://USERMARK:pass%2Fmark@eth.example", &[]).teach(&mut scrubber);
        let echo = scrubber.scrub("user USERMARK may not, wrong password pass/mark");
        assert_eq!(echo, "user [redacted] may not, wrong password [redacted]");
    }

    #[test]
    fn only_http_and_ws_are_endpoints() {
        for bad in ["ftp://eth.example", "eth.example", "https://", "unix:/tmp/geth.ipc", ""] {
            assert!(Endpoint::new(1, &SecretUrl::new(bad), &BTreeMap::new()).is_none(), "{bad}");
        }
        assert_eq!(endpoint("ws://eth.example", &[]).transport(), Transport::Ws);
        assert_eq!(endpoint("http://eth.example", &[]).transport(), Transport::Http);
    }

    #[test]
    fn the_scope_decides_what_shares_a_breaker() {
        let endpoint = endpoint("https://eth.example", &[]);
        let key = |class, scope| BreakerKey::new(&endpoint, class, scope);
        assert_ne!(
            key(MethodClass::Logs, Scope::MethodClass),
            key(MethodClass::State, Scope::MethodClass)
        );
        assert_eq!(
            key(MethodClass::Logs, Scope::Endpoint),
            key(MethodClass::State, Scope::Endpoint)
        );
    }
}
