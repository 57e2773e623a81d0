//! A webhook as Standard Webhooks has it: the receiver sees that it is from here, unchanged, and recent.

use super::{ChannelError, Request, SecretError, SecretText};
use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::header::{HeaderName, HeaderValue};
use std::fmt;
use url::Url;

const PREFIX: &str = "whsec_";

pub(super) struct Webhook {
    url: Url,
    /// Each signs, so that receivers can change theirs at any time.
    keys: Vec<standardwebhooks::Webhook>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

impl Webhook {
    pub(super) fn new(name: &str, url: Url, secrets: &[SecretText]) -> Result<Self, ChannelError> {
        if secrets.is_empty() {
            return Err(ChannelError::Unsigned { channel: name.to_owned() });
        }
        let keys = secrets.iter().enumerate().map(|(nth, secret)| {
            key(secret).map_err(|why| ChannelError::Secret { channel: name.to_owned(), nth, why })
        });
        Ok(Self { url, keys: keys.collect::<Result<_, _>>()? })
    }

    /// The document as it is stored, signed for this attempt.
    pub(super) fn request(&self, id: &str, body: &str, now: u64) -> Request {
        let at = i64::try_from(now).unwrap_or(i64::MAX);
        let signatures: Vec<_> = self
            .keys
            .iter()
            // It fails for what is no UTF-8, and a `str` is.
            .filter_map(|key| key.sign(id, at, body.as_bytes()).ok())
            .collect();
        let mut request = Request::json(self.url.clone(), body.as_bytes().to_vec());
        for (name, value) in [
            (standardwebhooks::HEADER_WEBHOOK_ID, id.to_owned()),
            (standardwebhooks::HEADER_WEBHOOK_TIMESTAMP, at.to_string()),
            (standardwebhooks::HEADER_WEBHOOK_SIGNATURE, signatures.join(" ")),
        ] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                request.headers.insert(HeaderName::from_static(name), value);
            }
        }
        request
    }
}

/// The crate takes any text, and an empty secret too.
fn key(secret: &SecretText) -> Result<standardwebhooks::Webhook, SecretError> {
    let encoded = secret.expose().strip_prefix(PREFIX).ok_or(SecretError::Prefix)?;
    let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| SecretError::Base64)?;
    if !(24..=64).contains(&bytes.len()) {
        return Err(SecretError::Length(bytes.len()));
    }
    standardwebhooks::Webhook::from_bytes(bytes).map_err(|_| SecretError::Base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(secret: &str) -> Option<SecretError> {
        key(&SecretText::new(secret)).err()
    }

    #[test]
    fn the_crate_computes_what_the_specification_says() {
        // The example that the libraries of the specification are tested with.
        let secret = SecretText::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed = key(&secret).unwrap().sign(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_whsec_and_24_to_64_bytes() {
        let secret = |bytes| format!("{PREFIX}{}", BASE64_STANDARD.encode(vec![7; bytes]));
        for (bytes, want) in [
            (24, None),
            (32, None),
            (64, None),
            (0, Some(SecretError::Length(0))),
            (23, Some(SecretError::Length(23))),
            (65, Some(SecretError::Length(65))),
        ] {
            assert_eq!(refused(&secret(bytes)), want);
        }
        assert_eq!(refused(&BASE64_STANDARD.encode([7; 32])), Some(SecretError::Prefix));
        assert_eq!(refused("whsec_not base64"), Some(SecretError::Base64));
        assert_eq!(refused(""), Some(SecretError::Prefix));
    }
}
