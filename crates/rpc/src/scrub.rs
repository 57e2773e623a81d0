//! Takes configured secrets out of text that is about to be shown.
//!
//! Providers quote the key in their own errors ("project 0123… is not allowed"), so hiding our URLs is not enough:
//! every error text and every payload that is logged passes through here.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use url::Url;

use crate::known_word::is_known;
use crate::secret::SecretText;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// A secret shorter than this is replaced only where it stands alone: a query `network=1` must not eat every digit 1.
const SHORTEST_ANYWHERE: usize = 8;

/// What has so many characters is nowhere by chance, not in megabytes of hexadecimal either.
const SHORTEST_CERTAIN: usize = 16;

/// What goes before credentials in a header, and is none. Lower case; the names of a URL are none either.
const SCHEMES: &[&str] = &[
    "basic",
    "bearer",
    "digest",
    "dpop",
    "hmac",
    "hoba",
    "mutual",
    "negotiate",
    "oauth",
    "session",
];

/// What JavaScript's `encodeURIComponent` and its like leave as it is.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The secrets of a configuration, and how to take them out of text.
///
/// Knows path segments, query values, user info and header values, of any length, each also in percent encoding, in JSON
/// escapes, in another case and, for user info, as the `Basic` header carries it. What everybody knows is no secret, such
/// as `v2`, `rpc` and `eth-mainnet`, and neither is a part of one or two characters. Less than 8 characters are replaced
/// only where they stand alone.
///
/// ```
/// use fusebox_rpc::Scrubber;
///
/// let mut scrubber = Scrubber::default();
/// scrubber.add_url(&"https://eth.example/v2/k3y".parse()?);
/// assert_eq!(scrubber.scrub("key k3y is unknown to v2"), "key [redacted] is unknown to v2");
/// # Ok::<(), url::ParseError>(())
/// ```
#[derive(Clone, Default)]
pub struct Scrubber {
    /// In lower case; longest first, so that a secret which contains another one goes as a whole.
    secrets: BTreeSet<(std::cmp::Reverse<usize>, String)>,
}

impl Scrubber {
    /// Learns what is secret in a URL.
    pub fn add_url(&mut self, url: &Url) {
        self.add_url_but(url, is_known);
    }

    /// The same, but for words that are `known`.
    pub(crate) fn add_url_but(&mut self, url: &Url, known: impl Fn(&str) -> bool) {
        for segment in url.path_segments().into_iter().flatten() {
            self.add_part(segment, &known);
        }
        for pair in url.query().unwrap_or_default().split('&') {
            // A query without a value is a bare key.
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.add_part(if value.is_empty() { name } else { value }, &known);
        }
        for (_, value) in url.query_pairs() {
            self.add_words(&value, &known);
        }
        let (user, password) = (url.username(), url.password().unwrap_or_default());
        for text in [user, password] {
            self.add(text);
            self.add(&percent_decode_str(text).decode_utf8_lossy());
        }
        if let Some(basic) = basic_credentials(url) {
            self.add(&basic);
        }
    }

    /// Learns a header value: as a whole, and each of its words, since "Bearer" and the token part ways in messages. Of a
    /// `Basic` header also the user and the password.
    pub fn add_header(&mut self, value: &SecretText) {
        let value = value.expose().trim();
        let scheme = value.split_once(' ').filter(|(scheme, _)| {
            SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) || is_known(scheme)
        });
        if let Some((_, credentials)) = scheme {
            self.add(value);
            self.add_words(credentials, is_known);
        } else {
            self.add_words(value, is_known);
        }
        if let Some((user, password)) = user_info(value) {
            self.add(&user);
            self.add(&password);
        }
    }

    /// Learns one more secret, whatever it is.
    pub fn add(&mut self, secret: &str) {
        if secret.is_empty() {
            return;
        }
        let json = Value::from(secret).to_string();
        let json = json.trim_matches('"');
        let forms = [
            secret.to_owned(),
            // PHP escapes slashes too.
            json.replace('/', "\\/"),
            json.to_owned(),
            utf8_percent_encode(secret, COMPONENT).to_string(),
        ];
        for form in forms {
            // Letters of ASCII alone: all else stays in its place.
            self.secrets.insert((std::cmp::Reverse(form.len()), form.to_ascii_lowercase()));
        }
    }

    /// A part of a URL, as it is there and decoded.
    fn add_part(&mut self, text: &str, known: &impl Fn(&str) -> bool) {
        if !known(text) {
            self.add(text);
        }
        self.add_words(&percent_decode_str(text).decode_utf8_lossy(), known);
    }

    /// A text, its words, and what they are set to (`token=…`).
    fn add_words(&mut self, text: &str, known: impl Fn(&str) -> bool) {
        let breaks = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
        for word in std::iter::once(text).chain(text.split(breaks)) {
            let value =
                word.split_once('=').map_or("", |(_, value)| value.trim_matches(['"', '=']));
            // At the end they only fill up.
            let word = word.trim_end_matches('=');
            for secret in [word, value] {
                if !known(secret) {
                    self.add(secret);
                }
            }
        }
    }

    /// The text without any known secret.
    #[must_use]
    pub fn scrub(&self, text: &str) -> String {
        self.scrub_from(0, text)
    }

    /// The same for text that may hold a short secret by chance, and must not be changed then: what a contract says.
    pub(crate) fn scrub_certain(&self, text: &str) -> String {
        self.scrub_from(SHORTEST_CERTAIN, text)
    }

    /// Of secrets of so many characters and more.
    fn scrub_from(&self, shortest: usize, text: &str) -> String {
        let mut clean = text.to_owned();
        for (std::cmp::Reverse(length), secret) in &self.secrets {
            if *length < shortest {
                break;
            }
            let lower = clean.to_ascii_lowercase();
            if lower.contains(secret.as_str()) {
                clean = replace(&clean, &lower, secret);
            }
        }
        clean
    }

    /// Without what may be the beginning of a secret, at the end of a text that was cut there.
    pub(crate) fn trim_cut<'a>(&self, text: &'a str) -> &'a str {
        let lower = text.to_ascii_lowercase();
        let begins = |(_, secret): &(_, String)| {
            let parts =
                secret.char_indices().map(|(at, _)| at).skip(1).filter(|at| *at < secret.len());
            parts.filter(|at| lower.ends_with(&secret[..*at])).max().unwrap_or(0)
        };
        let longest = self.secrets.iter().map(begins).max().unwrap_or(0);
        &text[..text.len() - longest]
    }
}

/// JSON, all of whose texts went through `clean`; what is none goes through it as it is. Text by text: JSON has many ways to
/// write one letter, and must still be JSON.
pub(crate) fn clean_json(json: &str, clean: impl Fn(&str) -> String) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(json) else { return clean(json) };
    let before = value.clone();
    visit(&mut value, &clean);
    // Otherwise as it came: with its spaces, and its numbers of any length.
    if value == before { json.to_owned() } else { value.to_string() }
}

fn visit(value: &mut Value, clean: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Number(number) => {
            let text = number.to_string();
            let cleaned = clean(&text);
            if cleaned != text {
                *value = cleaned.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, clean)),
        Value::Object(fields) => {
            let visited = std::mem::take(fields).into_iter().map(|(name, mut field)| {
                visit(&mut field, clean);
                (clean(&name), field)
            });
            *fields = visited.collect();
        }
        Value::Null | Value::Bool(_) => {}
    }
}

impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({} secrets)", self.secrets.len())
    }
}

/// `lower` is `text` in lower case, and has the same places.
fn replace(text: &str, lower: &str, secret: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in lower.match_indices(secret) {
        let end = at + secret.len();
        let joined = text[end..].starts_with(char::is_alphanumeric)
            || text[..at].ends_with(char::is_alphanumeric) && !ends_with_escape(&text[..at]);
        if secret.len() >= SHORTEST_ANYWHERE || !joined {
            clean.push_str(&text[done..at]);
            clean.push_str(REDACTED);
            done = end;
        }
    }
    clean.push_str(&text[done..]);
    clean
}

/// Whether a text ends with a character that is written as `%2F`, `\n` or `\u002f`, and not with a letter.
fn ends_with_escape(text: &str) -> bool {
    let hex = |digits: &str, many: usize| {
        digits.len() == many && digits.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let after = |mark: &str| text.rsplit_once(mark).map(|(_, after)| after);
    after("%").is_some_and(|after| hex(after, 2))
        || after("\\u").is_some_and(|after| hex(after, 4))
        || after("\\").is_some_and(|after| after.len() == 1)
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
    fn a_path_segment_is_a_key_however_short_unless_everybody_knows_it() {
        for key in [
            "abc",
            "k3y",
            "abc123",
            "s3cret7",
            "eight888",
            "012345678901234",
            "0123456789012345",
            "mainnets",
        ] {
            let scrubber = of(&format!("https://eth.example/v2/{key}/rpc"));
            for (echo, want) in [
                (format!("x {key}"), "x [redacted]"),
                (format!("'{key}'"), "'[redacted]'"),
                (format!("/v2/{key}/rpc"), "/v2/[redacted]/rpc"),
                (
                    format!("at https://eth.example/v2/{key}?x"),
                    "at https://eth.example/v2/[redacted]?x",
                ),
                (format!("%2Fv2%2f{key}%2Frpc"), "%2Fv2%2f[redacted]%2Frpc"),
                (format!(r"\/v2\/{key}\n"), r"\/v2\/[redacted]\n"),
                (format!(r"\n{key} \u0022{key}"), r"\n[redacted] \u0022[redacted]"),
                (key.to_ascii_uppercase(), "[redacted]"),
            ] {
                assert_eq!(scrubber.scrub(&echo), want, "{key}");
            }
        }
        let plain = of("https://eth.example/ext/bc/C/v3/eth-mainnet/rpc/1?network=sepolia");
        let words = "bc: no eth-mainnet at block 1, see rpc v3; sepolia: C";
        assert_eq!(plain.scrub(words), words);
    }

    #[test]
    fn a_query_without_a_value_is_a_key() {
        for query in
            ["k3y", "k3y=", "a=1&k3y", "key=k3y", "auth=token%20k3y", "sig=a,k3y", "x=y=k3y"]
        {
            let scrubber = of(&format!("https://eth.example/?{query}"));
            assert_eq!(scrubber.scrub("no k3y"), "no [redacted]", "{query}");
        }
    }

    #[test]
    fn a_short_secret_goes_only_where_it_stands_alone() {
        let scrubber = of("https://eth.example/?network=123&k=seven77&l=eight888");
        assert_eq!(scrubber.scrub("block 123, 1234 s, 0123"), "block [redacted], 1234 s, 0123");
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

    #[test]
    fn every_word_of_a_header_but_its_scheme_is_secret() {
        for value in [
            "k3y",
            "Bearer k3y",
            "ApiKey k3y",
            "token k3y",
            "Token  k3y",
            r#"Digest username="k3y", uri=x"#,
            "id=7; sid=k3y",
            "a,k3y",
            "k3y=",
            "Unheard k3y",
        ] {
            let mut scrubber = Scrubber::default();
            scrubber.add_header(&SecretText::new(value));
            let echo = scrubber.scrub("wrong k3y of this bearer, digest and token");
            assert_eq!(echo, "wrong [redacted] of this bearer, digest and token", "{value}");
        }
    }

    #[test]
    fn what_a_contract_says_is_changed_only_by_what_is_not_there_by_chance() {
        let mut scrubber = Scrubber::default();
        for secret in ["fifteen-and-so.", "sixteen-and-so-1"] {
            scrubber.add(secret);
        }
        let said = "execution reverted: fifteen-and-so. sixteen-and-so-1";
        assert_eq!(scrubber.scrub_certain(said), "execution reverted: fifteen-and-so. [redacted]");
    }

    #[test]
    fn the_beginning_of_a_secret_does_not_stay_at_a_cut() {
        let mut scrubber = Scrubber::default();
        scrubber.add("MARKER0123456789");
        scrubber.add("ükey0");
        for (text, want) in [
            ("the key MARKER012345678", "the key "),
            ("the key mark", "the key "),
            ("the key M", "the key "),
            ("the key MARKER01x", "the key MARKER01x"),
            ("the key ü", "the key "),
            ("the end", "the end"),
            ("", ""),
        ] {
            assert_eq!(scrubber.trim_cut(text), want, "{text}");
        }
    }

    #[test]
    fn json_stays_json_and_hides_nothing_behind_its_escapes() {
        let mut scrubber = Scrubber::default();
        scrubber.add("k3y/1");
        scrubber.add("123");
        let clean = |json: &str| clean_json(json, |text| scrubber.scrub(text));
        assert_eq!(
            clean(r#"{"see": 123, "k3y\/1": ["\u006b3y/1", 1.50, null]}"#),
            r#"{"[redacted]":["[redacted]",1.5,null],"see":"[redacted]"}"#
        );
        for same in [r#"{ "a": 1.50 }"#, "1e400", "null", "not JSON", ""] {
            assert_eq!(clean(same), same);
        }
        assert_eq!(clean("not JSON: k3y/1"), "not JSON: [redacted]");
    }
}
