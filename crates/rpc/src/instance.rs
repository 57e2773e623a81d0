//! Which endpoint is which.
//!
//! A breaker judges a server, not a line in a file: two profiles that name the same URL with the same key share what
//! they learn, whatever they call it and however they spell it. So the identity is computed from what reaches the
//! server, and nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use url::Url;

use crate::secret::SecretText;

/// Who an endpoint is: chain, server and credentials, shown as `chain:host:first-12-hex`.
///
/// Equal for two spellings of one URL (case of scheme and host, default port, fragment, trailing slash, order of the
/// query, user info against an `authorization` header); different for another path, key, header or chain. Only 48 bits
/// of the digest are shown, which no key can be read from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId {
    chain: u64,
    host: Arc<str>,
    digest: [u8; 32],
}

impl InstanceId {
    /// `None` if the URL has no host. `headers` by lower-case name, user info already among them.
    pub(crate) fn new(
        chain: u64,
        url: &Url,
        headers: &BTreeMap<String, SecretText>,
    ) -> Option<Self> {
        let host = url.host_str()?.into();
        let digest = digest([
            chain.to_string().as_bytes(),
            normalised(url).as_bytes(),
            &fingerprint(headers),
        ]);
        Some(Self { chain, host, digest })
    }

    /// The chain it belongs to.
    #[must_use]
    pub fn chain(&self) -> u64 {
        self.chain
    }

    /// The host, without port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.chain, self.host)?;
        self.digest[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `Url` has already lowered scheme and host and dropped a default port; the rest is done here.
fn normalised(url: &Url) -> String {
    let mut query: Vec<&str> =
        url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
    query.sort_unstable();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    format!(
        "{}://{}{port}{path}?{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        query.join("&")
    )
}

fn fingerprint(headers: &BTreeMap<String, SecretText>) -> [u8; 32] {
    digest(headers.iter().flat_map(|(name, value)| [name.as_bytes(), value.expose().as_bytes()]))
}

/// Each field with its length in front: joined by a separator, "a:b" and "a", "b" would be the same.
fn digest<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Endpoint;
    use crate::secret::SecretUrl;

    fn id(url: &str, headers: &[(&str, &str)]) -> InstanceId {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), SecretText::new(*value)))
            .collect();
        Endpoint::new(1, &SecretUrl::new(url), &headers).unwrap().instance().clone()
    }

    #[test]
    fn two_spellings_of_one_url_are_one_instance() {
        let plain = id("https://eth.example/v2/Key?a=1&b=2", &[]);
        for same in [
            "HTTPS://ETH.Example/v2/Key?a=1&b=2",
            "https://eth.example:443/v2/Key?a=1&b=2",
            "https://eth.example/v2/Key/?a=1&b=2",
            "https://eth.example/v2/Key?b=2&a=1",
            "https://eth.example/v2/Key?b=2&&a=1&",
            "https://eth.example/v2/Key?a=1&b=2#fragment",
            "https://eth.example/x/../v2/Key?a=1&b=2",
        ] {
            assert_eq!(id(same, &[]), plain, "{same}");
        }
        assert_eq!(id("http://eth.example", &[]), id("http://eth.example:80/", &[]));
        assert_eq!(id("wss://eth.example/?", &[]), id("wss://eth.example:443", &[]));
    }

    #[test]
    fn whatever_the_server_can_tell_apart_is_another_instance() {
        let plain = id("https://eth.example/v2/Key?a=1&b=2", &[]);
        for other in [
            "http://eth.example/v2/Key?a=1&b=2",
            "https://eth.example:8443/v2/Key?a=1&b=2",
            "https://eth.example/v2/key?a=1&b=2",
            "https://eth.example/v2/Key?a=2&b=1",
            "https://eth.example/v2/Key?a=1&b=2&b=2",
            "https://eth2.example/v2/Key?a=1&b=2",
            "https://u@eth.example/v2/Key?a=1&b=2",
        ] {
            assert_ne!(id(other, &[]), plain, "{other}");
        }
        assert_ne!(id("https://eth.example/v2/Key?a=1&b=2", &[("x-api-key", "k")]), plain);
        let other_chain = Endpoint::new(
            2,
            &SecretUrl::new("https://eth.example/v2/Key?a=1&b=2"),
            &BTreeMap::new(),
        );
        assert_ne!(other_chain.unwrap().instance(), &plain);
    }

    #[test]
    fn a_fingerprint_keeps_names_and_values_apart() {
        let a = id("https://eth.example", &[("a", "bc"), ("d", "e")]);
        assert_ne!(a, id("https://eth.example", &[("ab", "c"), ("d", "e")]));
        assert_ne!(a, id("https://eth.example", &[("a", "b"), ("cd", "e")]));
        assert_eq!(a, id("https://eth.example", &[("D", "e"), ("A", "bc")]));
    }

    #[test]
    fn the_id_is_stable_and_readable() {
        // Snapshots are stored under it: another digest is a breaking change.
        assert_eq!(id("https://eth.example/v2/key", &[]).to_string(), "1:eth.example:0cb799e48e20");
        assert_eq!(id("http://[::1]:8545", &[]).host(), "[::1]");
    }
}
