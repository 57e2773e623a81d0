//! Values that have a form of their own, and what is said of those that have not. Never the value itself.

use alloy::primitives::Address;
use data_encoding::{BASE64, BASE64_NOPAD};
use fusebox_rpc::{SecretText, SecretUrl};
use jiff::SignedDuration;
use std::time::Duration;
use url::Host;

/// What a chain or a channel is called: it becomes a part of keys, of paths, and a label of metrics.
pub(super) const NAME_RULE: &str = "this name must be 1 to 32 lower-case letters, digits or dashes, since keys and metrics hold it";

pub(super) fn is_name(name: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=32).contains(&name.len()) && name.bytes().all(allowed)
}

/// What people call a contract or a breaker. It is printed, so it must not move the cursor.
pub(super) fn label(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_alphanumeric() || "-_./ ".contains(c);
    match (1..=64).contains(&text.chars().count()) && text.chars().all(allowed) {
        true => Ok(text.to_owned()),
        false => Err("a label is 1 to 64 letters, digits, spaces, '-', '_', '.' or '/'".to_owned()),
    }
}

/// Whole days as well, which the common form leaves out for having 23 to 25 hours. Here a day is 24.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Some(days) = text.strip_suffix('d') {
        let days: u64 = days.trim().parse().ok()?;
        return Some(Duration::from_secs(days.checked_mul(24 * 60 * 60)?));
    }
    let parsed: SignedDuration = text.parse().ok()?;
    Duration::try_from(parsed).ok()
}

/// An address as EIP-55 spells it: a mistyped digit has another checksum.
pub(super) fn address(text: &str) -> Result<Address, String> {
    let plain: Address = text
        .strip_prefix("0x")
        .and_then(|_| text.parse().ok())
        .ok_or("is no address, which is 0x and 40 hexadecimal digits")?;
    if Address::parse_checksummed(text, None).is_ok() {
        return Ok(plain);
    }
    let letters = || text[2..].chars().filter(char::is_ascii_alphabetic);
    let is_plain =
        letters().all(|c| c.is_ascii_lowercase()) || letters().all(|c| c.is_ascii_uppercase());
    Err(match is_plain {
        true => "has no checksum (EIP-55), which large and small letters make; `cast to-check-sum-address` writes it",
        false => "has a wrong checksum (EIP-55): a digit is mistyped, or a letter's case; copy it again from where it is right",
    }
    .to_owned())
}

/// Whether this is `${…}` and nothing else.
pub(super) fn is_reference(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.find('}')).is_some_and(|end| end + 3 == text.len())
}

/// Whether anything is filled in.
pub(super) fn has_reference(text: &str) -> bool {
    text.replace("$$", "").contains("${")
}

/// Whether it may be asked: what goes over a network must be sealed.
pub(super) fn web(url: &SecretUrl) -> Result<(), String> {
    let Some(parsed) = url.parse() else {
        return Err("is no URL with a host; write https://host/path".to_owned());
    };
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(url) => Ok(()),
        "http" => {
            Err("goes over a network unsealed; write https://, http:// is for loopback only"
                .to_owned())
        }
        _ => Err("has another scheme than https; write https://host/path".to_owned()),
    }
}

/// Whether it stays on this machine.
pub(super) fn is_loopback(url: &SecretUrl) -> bool {
    url.parse().is_some_and(|url| match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    })
}

/// The secret of a webhook, as Standard Webhooks has it. An empty one would sign, and anybody could.
pub(super) fn webhook_secret(secret: &SecretText) -> Result<(), String> {
    let key = secret.expose().strip_prefix("whsec_").and_then(|key| {
        let plain = key.trim_end_matches('=');
        BASE64.decode(key.as_bytes()).or_else(|_| BASE64_NOPAD.decode(plain.as_bytes())).ok()
    });
    match key {
        Some(key) if (24..=64).contains(&key.len()) => Ok(()),
        _ => Err("is no webhook secret, which is whsec_ and the base64 of 24 to 64 random bytes: echo whsec_$(openssl rand -base64 32)".to_owned()),
    }
}

/// What is said of a key that means nothing: the nearest one that does, else all of them.
pub(super) fn unknown_key(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(nearest) => format!("unknown key; did you mean {nearest}?"),
        None if known.is_empty() => "unknown key; there are none here".to_owned(),
        None => format!("unknown key; known here: {}", known.join(", ")),
    }
}

/// The known one that was likely meant.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let scored = known.iter().map(|known| (strsim::damerau_levenshtein(name, known), *known));
    let (distance, nearest) = scored.min()?;
    // A third of it may be wrong.
    (distance * 3 <= name.chars().count().max(3)).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_a_day_has_24_hours() {
        for (text, want) in [
            ("250ms", Some(Duration::from_millis(250))),
            ("1m30s", Some(Duration::from_secs(90))),
            ("400d", Some(Duration::from_secs(400 * 86_400))),
            ("0s", Some(Duration::ZERO)),
            ("10", None),
            ("-1s", None),
            ("d", None),
            ("99999999999999999999d", None),
            ("9999999999999999999d", None),
            ("", None),
        ] {
            assert_eq!(duration(text), want, "{text}");
        }
    }

    #[test]
    fn an_address_needs_its_checksum() {
        let right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
        assert!(address(right).is_ok());
        assert!(address(&right.replace("Aed", "AeD")).unwrap_err().contains("wrong checksum"));
        assert!(address(&right.to_lowercase()).unwrap_err().contains("no checksum"));
        for bad in [&right[2..], &right[..41], "0x", "", "vitalik.eth"] {
            assert!(address(bad).unwrap_err().contains("is no address"), "{bad}");
        }
        assert!(address("0x0000000000000000000000000000000000000001").is_ok());
    }

    #[test]
    fn a_reference_is_told_from_what_only_holds_one() {
        for (text, is, has) in [
            ("${A}", true, true),
            ("${file:a b}", true, true),
            ("x${A}", false, true),
            ("${A}x", false, true),
            ("${A}${B}", false, true),
            ("$${A}", false, false),
            ("$$${A}", false, true),
            ("A", false, false),
            ("", false, false),
        ] {
            assert_eq!((is_reference(text), has_reference(text)), (is, has), "{text}");
        }
    }

    #[test]
    fn only_loopback_may_be_asked_unsealed() {
        for (url, fine, local) in [
            ("https://a.example/x", true, false),
            ("http://a.example/x", false, false),
            ("http://127.0.0.1:1/x", true, true),
            ("http://127.9.9.9", true, true),
            ("http://[::1]:1", true, true),
            ("http://localhost/", true, true),
            ("http://localhost.a.example/", false, false),
            ("http://127.0.0.1.a.example/", false, false),
            ("http://10.0.0.1/", false, false),
            ("ftp://127.0.0.1/", false, true),
            ("a", false, false),
        ] {
            let url = SecretUrl::new(url);
            assert_eq!((web(&url).is_ok(), is_loopback(&url)), (fine, local), "{}", url.expose());
        }
    }

    #[test]
    fn a_webhook_secret_has_24_to_64_bytes() {
        let of = |bytes: usize| format!("whsec_{}", BASE64.encode(&vec![7; bytes]));
        for (secret, fine) in [
            (of(24), true),
            (of(64), true),
            (of(25).trim_end_matches('=').to_owned(), true),
            (of(23), false),
            (of(65), false),
            ("whsec_".to_owned(), false),
            (BASE64.encode(&[7; 32]), false),
            ("whsec_not base64 at all, whatever it is".to_owned(), false),
        ] {
            assert_eq!(webhook_secret(&SecretText::new(secret.clone())).is_ok(), fine, "{secret}");
        }
    }

    #[test]
    fn a_misspelt_key_is_told_the_nearest_one() {
        let known = ["confirmations", "reorg_window", "poll"];
        assert_eq!(
            unknown_key("confirmatoins", &known),
            "unknown key; did you mean confirmations?"
        );
        assert_eq!(unknown_key("pol", &known), "unknown key; did you mean poll?");
        assert_eq!(
            unknown_key("x", &known),
            "unknown key; known here: confirmations, reorg_window, poll"
        );
    }
}
