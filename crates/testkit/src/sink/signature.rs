//! Standard Webhooks signatures, checked as a receiver would.
//!
//! Written from the specification and not with the crate that the keeper signs with: the same mistake on both sides
//! would go unnoticed.

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::time::Duration;

/// How far the timestamp may be from the receiver's clock, either way; the specification leaves the number to the
/// libraries, and all of them have this one.
const TOLERANCE: Duration = Duration::from_secs(300);

/// Why a delivery would be refused by a careful receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unverified {
    /// `webhook-id`, `webhook-timestamp` or `webhook-signature` is not there, or is no text.
    #[error("no header {0}")]
    Missing(&'static str),
    /// The timestamp is no number of seconds.
    #[error("{0:?} is no timestamp in seconds")]
    NoTimestamp(String),
    /// It was signed more than five minutes ago, or will be.
    #[error("signed at {signed:?}, but it is {now:?}")]
    Untimely {
        /// What the delivery says.
        signed: Duration,
        /// The sink's clock.
        now: Duration,
    },
    /// No signature is one of a secret that the sink knows.
    #[error("no signature of a known secret")]
    Wrong,
}

/// What a secret signs with.
#[derive(Clone)]
pub(super) struct Key(Vec<u8>);

impl Key {
    /// # Panics
    /// When it is not `whsec_` and base64.
    pub(super) fn new(secret: &str) -> Self {
        let encoded = secret.strip_prefix("whsec_").expect("a secret begins with whsec_");
        Self(BASE64_STANDARD.decode(encoded).expect("a secret is base64 after whsec_"))
    }

    fn mac(&self, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac
    }
}

/// What arrived, as far as it is signed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signed<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) timestamp: Option<&'a str>,
    pub(super) signature: Option<&'a str>,
    pub(super) body: &'a [u8],
}

/// The places of the keys that signed it; at least one.
pub(super) fn verify(
    signed: Signed<'_>,
    keys: &[Key],
    now: Duration,
) -> Result<Vec<usize>, Unverified> {
    let id = signed.id.ok_or(Unverified::Missing("webhook-id"))?;
    let timestamp = signed.timestamp.ok_or(Unverified::Missing("webhook-timestamp"))?;
    let signature = signed.signature.ok_or(Unverified::Missing("webhook-signature"))?;
    let seconds = timestamp.parse().map_err(|_| Unverified::NoTimestamp(timestamp.to_owned()))?;
    let at = Duration::from_secs(seconds);
    // The header has whole seconds: what is left of the present one is nobody's delay.
    if at.abs_diff(Duration::from_secs(now.as_secs())) > TOLERANCE {
        return Err(Unverified::Untimely { signed: at, now });
    }
    let tags: Vec<_> = signature
        .split(' ')
        .filter_map(|one| BASE64_STANDARD.decode(one.strip_prefix("v1,")?).ok())
        .collect();
    let is_by = |key: &Key| {
        let mac = key.mac(id, timestamp, signed.body);
        tags.iter().any(|tag| mac.clone().verify_slice(tag).is_ok())
    };
    let by: Vec<_> = (0..).zip(keys).filter(|(_, key)| is_by(key)).map(|(nth, _)| nth).collect();
    if by.is_empty() { Err(Unverified::Wrong) } else { Ok(by) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example that the libraries of the specification are tested with.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const AT: u64 = 1_614_265_330;
    const EXAMPLE: Signed<'static> = Signed {
        id: Some("msg_p5jXN8AQM9LWM0D4loKWxJek"),
        timestamp: Some("1614265330"),
        signature: Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        body: br#"{"test": 2432232314}"#,
    };

    fn at(now: Duration, signed: Signed<'_>) -> Result<Vec<usize>, Unverified> {
        let other = Key::new("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
        verify(signed, &[other, Key::new(SECRET)], now)
    }

    fn now(signed: Signed<'_>) -> Result<Vec<usize>, Unverified> {
        at(Duration::from_secs(AT), signed)
    }

    #[test]
    fn the_example_of_the_specification_verifies() {
        assert_eq!(now(EXAMPLE), Ok(vec![1]));
        let several = format!("v1,AAAA v1a,AAAA {}", EXAMPLE.signature.unwrap());
        assert_eq!(now(Signed { signature: Some(&several), ..EXAMPLE }), Ok(vec![1]));
    }

    #[test]
    fn whatever_is_signed_can_not_be_changed() {
        for changed in [
            Signed { body: br#"{"test":2432232314}"#, ..EXAMPLE },
            Signed { id: Some("msg_other"), ..EXAMPLE },
            Signed { timestamp: Some("1614265331"), ..EXAMPLE },
            Signed { signature: Some("v1,g0hM9SsE"), ..EXAMPLE },
            Signed {
                signature: Some("v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
                ..EXAMPLE
            },
        ] {
            assert_eq!(now(changed), Err(Unverified::Wrong), "{changed:?}");
        }
        let without = Signed { id: None, ..EXAMPLE };
        assert_eq!(now(without), Err(Unverified::Missing("webhook-id")));
        let words = Signed { timestamp: Some("noon"), ..EXAMPLE };
        assert_eq!(now(words), Err(Unverified::NoTimestamp("noon".into())));
    }

    #[test]
    fn five_minutes_are_tolerated_either_way_and_a_second_more_is_not() {
        for (seconds, is_timely) in [(299, true), (300, true), (301, false)] {
            for now in [AT + seconds, AT - seconds] {
                let result = at(Duration::from_secs(now), EXAMPLE);
                assert_eq!(result.is_ok(), is_timely, "{seconds}: {result:?}");
            }
        }
    }
}
