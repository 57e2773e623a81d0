//! Text that must never be printed.
//!
//! A node's URL usually *is* its key. So URLs and header values live in types whose `Debug` and `Display` leave the
//! secret out; whoever needs the text says so with `expose`, which is easy to search for.

use std::fmt;

use serde::Deserialize;
use url::Url;

/// A header value, or any other text of which nothing may be shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// Takes the text in.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A URL that prints its scheme and host only.
///
/// It takes any text, so that a file with a bad URL is reported by key and never by content; [`SecretUrl::parse`] tells
/// whether the text is a URL.
///
/// ```
/// use fusebox_rpc::SecretUrl;
///
/// let url = SecretUrl::new("https://eth.example/v2/0123456789abcdef?key=s3cret");
/// assert_eq!(url.to_string(), "https://eth.example/…");
/// assert_eq!(format!("{url:?}"), "https://eth.example/…");
/// assert_eq!(SecretUrl::new("s3cret").to_string(), "[not a URL]");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct SecretUrl(String);

impl SecretUrl {
    /// Takes the text in, whatever it is.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that connects.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The URL, if it is one and names a host. The error is not given, because it may quote the text.
    #[must_use]
    pub fn parse(&self) -> Option<Url> {
        Url::parse(&self.0).ok().filter(Url::has_host)
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parse().as_ref().and_then(|url| Some((url.scheme(), url.host_str()?))) {
            Some((scheme, host)) => write!(f, "{scheme}://{host}/…"),
            None => f.write_str("[not a URL]"),
        }
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "MARKER5ecret0123456789";

    #[test]
    fn nothing_but_scheme_and_host_is_printed() {
        for text in [
            format!("https://eth.example/v2/{MARK}"),
            format!("https://eth.example/?apikey={MARK}"),
            format!("https://{MARK}:{MARK}@eth.example:8545/"),
            format!("wss://eth.example/#{MARK}"),
            format!("https://eth.example:{MARK}/"),
            MARK.to_owned(),
            format!("mailto:{MARK}@eth.example"),
        ] {
            let url = SecretUrl::new(text.clone());
            let shown = format!("{url} {url:?} {:?} {:#?}", Some(&url), [&url]);
            assert!(!shown.contains(MARK), "{text} gave {shown}");
        }
        let text = SecretText::new(MARK);
        assert_eq!(format!("{text} {text:?}"), "[secret] [secret]");
    }
}
