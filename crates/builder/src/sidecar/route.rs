//! What a request is, by its path alone: bodies are never read, so a new fork needs no new version.

use hyper::Method;
use std::time::Duration;

/// mev-boost has 950 ms, and consensus clients give up at a second.
pub(super) const HEADER_TIME: Duration = Duration::from_millis(980);
/// What of the caller's own limit is left for the way back.
pub(super) const HEADROOM: Duration = Duration::from_millis(20);
/// A status is asked for each epoch, and answered from memory.
const STATUS_TIME: Duration = Duration::from_secs(2);
/// Thousands of validators in a body, to several relays.
const REGISTRATION_TIME: Duration = Duration::from_secs(10);
/// The longest that a consensus client is known to wait is 15 s.
pub(super) const SUBMIT_TIME: Duration = Duration::from_secs(20);

/// A builder API request, or anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// What a remote payload could come of: refused while open.
    Header(Option<u64>),
    /// The same from Gloas on, as a POST.
    Bid(Option<u64>),
    /// A signed block, which always passes.
    Submit,
    Status,
    Registrations,
    Other,
}

impl Route {
    /// Any version of any fork: `/eth/v{N}/builder/{what}/…`.
    pub(super) fn of(path: &str) -> Self {
        let mut parts = path.split('/');
        let is_version = |part: &str| {
            part.strip_prefix('v')
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let is_builder = parts.next() == Some("")
            && parts.next() == Some("eth")
            && parts.next().is_some_and(is_version)
            && parts.next() == Some("builder");
        if !is_builder {
            return Self::Other;
        }
        let (what, slot) = (parts.next(), parts.next());
        // Digits only: `+5` is no slot.
        let slot = slot
            .filter(|slot| slot.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|slot| slot.parse().ok());
        match what {
            Some("header") => Self::Header(slot),
            Some("execution_payload_bid") => Self::Bid(slot),
            Some("blinded_blocks" | "beacon_blocks") => Self::Submit,
            Some("status") => Self::Status,
            Some("validators" | "builder_preferences") => Self::Registrations,
            _ => Self::Other,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Header(_) => "header",
            Self::Bid(_) => "bid",
            Self::Submit => "submit",
            Self::Status => "status",
            Self::Registrations => "registrations",
            Self::Other => "other",
        }
    }

    pub(super) fn time(self) -> Duration {
        match self {
            Self::Header(_) | Self::Bid(_) => HEADER_TIME,
            Self::Submit => SUBMIT_TIME,
            Self::Status => STATUS_TIME,
            Self::Registrations | Self::Other => REGISTRATION_TIME,
        }
    }
}

/// A path of the sidecar's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnPath<'a> {
    Health,
    Ready,
    Status,
    Metrics,
    Admin(&'a str),
}

impl<'a> OwnPath<'a> {
    pub(super) fn of(path: &'a str) -> Option<Self> {
        match path {
            "/health" => Some(Self::Health),
            "/ready" => Some(Self::Ready),
            "/status" => Some(Self::Status),
            "/metrics" => Some(Self::Metrics),
            path => path.strip_prefix("/admin/").map(Self::Admin),
        }
    }

    pub(super) fn method(self) -> Method {
        match self {
            Self::Admin(_) => Method::POST,
            _ => Method::GET,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_of_a_request_is_the_same_request() {
        for version in ["v1", "v2", "v17"] {
            let route = |rest: &str| Route::of(&format!("/eth/{version}/builder/{rest}"));
            assert_eq!(route("header/107/0xab/0xcd"), Route::Header(Some(107)));
            assert_eq!(route("execution_payload_bid/107/0xab/0xcd/0xef"), Route::Bid(Some(107)));
            assert_eq!(route("blinded_blocks"), Route::Submit);
            assert_eq!(route("beacon_blocks"), Route::Submit);
            assert_eq!(route("builder_preferences/0xab"), Route::Registrations);
            assert_eq!(route("validators"), Route::Registrations);
            assert_eq!(route("status"), Route::Status);
            assert_eq!(route("something_new"), Route::Other);
        }
    }

    #[test]
    fn a_header_request_without_a_slot_is_still_one() {
        for slot in ["", "+5", "-1", "0x10", "18446744073709551616", "5%20"] {
            assert_eq!(
                Route::of(&format!("/eth/v1/builder/header/{slot}/a/b")),
                Route::Header(None),
                "{slot}"
            );
        }
        assert_eq!(Route::of("/eth/v1/builder/header"), Route::Header(None));
        assert_eq!(
            Route::of("/eth/v1/builder/header/18446744073709551615"),
            Route::Header(Some(u64::MAX))
        );
    }

    #[test]
    fn what_is_not_the_builder_api_is_something_else() {
        for path in [
            "/",
            "",
            "/eth/v/builder/header/1",
            "/eth/vx/builder/header/1",
            "/eth/v1/beacon/headers",
            "eth/v1/builder/status",
        ] {
            assert_eq!(Route::of(path), Route::Other, "{path}");
        }
    }
}
