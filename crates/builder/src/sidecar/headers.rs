//! Headers that belong to one connection and not to the message (RFC 9110, 7.6.1). All others pass as they are.

use hyper::{
    HeaderMap,
    header::{CONNECTION, HOST, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};

/// Takes away what ends at this hop.
pub(super) fn strip(headers: &mut HeaderMap) {
    const OWN: [HeaderName; 8] = [
        CONNECTION,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
        HeaderName::from_static("proxy-authorization"),
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in OWN.into_iter().chain(named) {
        headers.remove(name);
    }
}

/// What is asked of the upstream has its name.
pub(super) fn strip_host(headers: &mut HeaderMap) {
    headers.remove(HOST);
}
