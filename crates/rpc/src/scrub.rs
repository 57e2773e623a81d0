//! Takes configured secrets out of text that is about to be shown.
//!
//! Providers quote the key in their own errors ("project 0123… is not allowed"), so hiding our URLs is not enough:
//! every error text and every payload that is logged passes through here.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::secret::SecretText;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Shorter path segments are names ("v2", "mainnet", "rpc"); keys of known providers have 16 characters and more.
const SHORTEST_PATH_KEY: usize = 16;

/// A secret shorter than this is replaced only where it stands alone: a query `network=1` must not eat every digit 1.
const SHORTEST_ANYWHERE: usize = 8;

/// The secrets of a configuration, and how to take them out of text.
///
/// Knows path segments of 16 characters and more, query values, user info and header values, each also in percent
/// encoding, JSON escapes and, for user info, as the `Basic` header carries it.
///
/// ```
/// use fusebox_rpc::Scrubber;
///
/// let mut scrubber = Scrubber::default();
/// scrubber.add_url(&"https://eth.example/v2/0123456789abcdef".parse()?);
/// assert_eq!(scrubber.scrub("key 0123456789abcdef is unknown"), "key [redacted] is unknown");
/// # Ok::<(), url::ParseError>(())
/// ```
#[derive(Clone, Default)]
pub struct Scrubber {
    /// Longest first, so that a secret which contains another one goes as a whole.
    secrets: BTreeSet<(std::cmp::Reverse<usize>, String)>,
}

impl Scrubber {
    /// Learns what is secret in a URL.
    pub fn add_url(&mut self, url: &Url) {
        for segment in
            url.path_segments().into_iter().flatten().filter(|s| s.len() >= SHORTEST_PATH_KEY)
        {
            self.add_encoded(segment);
        }
        for pair in url.query().unwrap_or_default().split('&') {
            // A query without "=" is a bare key.
            self.add_encoded(pair.split_once('=').map_or(pair, |(_, value)| value));
        }
        for (_, value) in url.query_pairs() {
            self.add(&value);
        }
        let (user, password) = (url.username(), url.password().unwrap_or_default());
        self.add_encoded(user);
        self.add_encoded(password);
        if let Some(basic) = basic_credentials(url) {
            self.add(&basic);
        }
    }

    /// Learns a header value: as a whole, and each of its words, since "Bearer" and the token part ways in messages. Of a
    /// `Basic` header also the user and the password.
    pub fn add_header(&mut self, value: &SecretText) {
        self.add(value.expose());
        for word in value.expose().split_whitespace().filter(|word| word.len() >= SHORTEST_ANYWHERE)
        {
            self.add(word);
        }
        if let Some((user, password)) = user_info(value.expose()) {
            self.add(&user);
            self.add(&password);
        }
    }

    /// Learns one more secret.
    pub fn add(&mut self, secret: &str) {
        if secret.is_empty() {
            return;
        }
        let json = serde_json::Value::from(secret).to_string();
        for form in [secret, json.trim_matches('"')] {
            self.secrets.insert((std::cmp::Reverse(form.len()), form.to_owned()));
        }
    }

    fn add_encoded(&mut self, text: &str) {
        self.add(text);
        self.add(&percent_decode_str(text).decode_utf8_lossy());
    }

    /// The text without any known secret.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for (_, secret) in &self.secrets {
            if clean.contains(secret.as_str()) {
                clean = replace(&clean, secret);
            }
        }
        clean
    }
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({} secrets)", self.secrets.len())
    }
}

fn replace(text: &str, secret: &str) -> String {
    let anywhere = secret.len() >= SHORTEST_ANYWHERE;
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        let (before, found) = rest.split_at(at);
        let after = &found[secret.len()..];
        let joined = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let previous = before.chars().next_back().or_else(|| clean.chars().next_back());
        clean.push_str(before);
        let alone = !joined(previous) && !joined(after.chars().next());
        clean.push_str(if anywhere || alone { REDACTED } else { secret });
        rest = after;
    }
    clean.push_str(rest);
    clean
}

/// `user:password` as the `Basic` scheme sends it, if the URL has user info.
pub(crate) fn basic_credentials(url: &Url) -> Option<String> {
    let (user, password) = (url.username(), url.password());
    if user.is_empty() && password.is_none() {
        return None;
    }
    let mut plain: Vec<u8> = percent_decode_str(user).collect();
    plain.push(b':');
    plain.extend(percent_decode_str(password.unwrap_or_default()));
    Some(base64::engine::general_purpose::STANDARD.encode(plain))
}

/// What a `Basic` header says, the other way around.
fn user_info(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    let plain = base64::engine::general_purpose::STANDARD.decode(encoded.trim());
    let plain = String::from_utf8(plain.ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?);
    plain.ok()?.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Scrubber {
        let mut scrubber = Scrubber::default();
        scrubber.add_url(&url.parse().unwrap());
        scrubber
    }

    #[test]
    fn every_place_of_a_secret_is_known() {
        let scrubber = of(
            "https://us%40er:pa%2Fss%22word@eth.example/v2/PATHMARKER012345?key=QUERYMARK&dkey=a%20b%20c%20d&n=1",
        );
        for text in [
            "PATHMARKER012345",
            "QUERYMARK",
            "us@er",
            "us%40er",
            "pa/ss\"word",
            "pa%2Fss%22word",
            "a b c d",
        ] {
            assert!(!scrubber.scrub(&format!("({text})")).contains(text), "{text}");
        }
        let json = serde_json::json!({ "error": "pa/ss\"word" }).to_string();
        assert_eq!(scrubber.scrub(&json), r#"{"error":"[redacted]"}"#);
        // What a server that echoes the Authorization header would show.
        let basic = base64::engine::general_purpose::STANDARD.encode("us@er:pa/ss\"word");
        assert_eq!(scrubber.scrub(&format!("Basic {basic}")), "Basic [redacted]");
    }

    #[test]
    fn a_path_segment_is_a_key_from_16_characters_on() {
        assert_eq!(
            of("https://eth.example/012345678901234").scrub("x 012345678901234"),
            "x 012345678901234"
        );
        assert_eq!(
            of("https://eth.example/0123456789012345").scrub("x 0123456789012345"),
            "x [redacted]"
        );
        assert_eq!(
            of("https://eth.example/01234567890123456").scrub("x 01234567890123456"),
            "x [redacted]"
        );
    }

    #[test]
    fn a_short_secret_goes_only_where_it_stands_alone() {
        let scrubber = of("https://eth.example/?network=1&k=seven77&l=eight888");
        assert_eq!(scrubber.scrub("block 1, 11 seconds, 21"), "block [redacted], 11 seconds, 21");
        assert_eq!(scrubber.scrub("xseven77 seven77"), "xseven77 [redacted]");
        assert_eq!(scrubber.scrub("xeight888x"), "x[redacted]x");
    }

    #[test]
    fn of_two_secrets_the_longer_one_goes_first() {
        let mut scrubber = Scrubber::default();
        scrubber.add("MARKER0123");
        scrubber.add("MARKER0123456789");
        assert_eq!(scrubber.scrub("MARKER0123456789"), REDACTED);
    }

    #[test]
    fn a_basic_header_is_known_by_its_parts() {
        let encoded = base64::engine::general_purpose::STANDARD.encode("USERMARK:PASS:MARK");
        for scheme in ["Basic", "basic"] {
            let mut scrubber = Scrubber::default();
            scrubber.add_header(&SecretText::new(format!("{scheme} {encoded}")));
            let echo = format!("{encoded}, USERMARK, PASS:MARK");
            assert_eq!(scrubber.scrub(&echo), "[redacted], [redacted], [redacted]");
        }
        for odd in ["Basic", "Basic ?", "Basic dXNlcg==", "Basic /w==", "Bearer dTpw"] {
            assert!(user_info(odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn a_token_goes_with_and_without_its_scheme() {
        let mut scrubber = Scrubber::default();
        scrubber.add_header(&SecretText::new("Bearer TOKENMARKER"));
        assert_eq!(scrubber.scrub("Bearer TOKENMARKER"), REDACTED);
        assert_eq!(scrubber.scrub("token TOKENMARKER expired"), "token [redacted] expired");
        assert!(!format!("{scrubber:?}").contains("MARKER"));
    }
}
