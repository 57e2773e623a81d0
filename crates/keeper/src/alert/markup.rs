//! How chats mark up text, what they take for markup, and how long a text may be.
//!
//! A label may say anything. What it says is shown, and is no mention, no link and no tag.

use std::borrow::Cow;
use url::Url;

/// A longer link would leave no room for what it is about.
const LINK: usize = 1_000;

/// Stands where a text was cut.
const CUT: &str = "…";

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Markup {
    /// Slack's mrkdwn.
    Slack,
    /// Discord's Markdown.
    Discord,
    /// Telegram's HTML.
    Telegram,
    /// None: PagerDuty's summary.
    Plain,
}

/// A part of a text that is there as a whole or not at all.
#[derive(Clone, Copy, Debug)]
struct Atom<'a> {
    text: &'a str,
    width: usize,
    tag: Option<Tag<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Tag<'a> {
    Open(&'a str),
    Close(&'a str),
}

impl Markup {
    /// The longest text that is taken.
    fn limit(self) -> usize {
        match self {
            Self::Slack => 3_000,
            Self::Discord | Self::Telegram => 4_096,
            Self::Plain => 1_024,
        }
    }

    /// The text as text.
    pub(crate) fn escape(self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            match (self, c) {
                (_, '\n') => escaped.push(c),
                (_, c) if c.is_control() => escaped.push(' '),
                (Self::Slack | Self::Telegram, '&') => escaped.push_str("&amp;"),
                (Self::Slack | Self::Telegram, '<') => escaped.push_str("&lt;"),
                (Self::Slack | Self::Telegram, '>') => escaped.push_str("&gt;"),
                (Self::Telegram, '"') => escaped.push_str("&quot;"),
                // The colon keeps a link from being one, and an emoji.
                (
                    Self::Discord,
                    '\\' | '*' | '_' | '~' | '`' | '|' | '[' | ']' | '(' | ')' | '<' | '>' | '#'
                    | '@' | ':',
                ) => escaped.extend(['\\', c]),
                (_, c) => escaped.push(c),
            }
        }
        escaped
    }

    /// The same on one line.
    pub(crate) fn line(self, text: &str) -> String {
        self.escape(&text.replace(['\n', '\r'], " "))
    }

    /// A title.
    pub(crate) fn bold(self, text: &str) -> String {
        let text = self.line(text);
        match self {
            // An asterisk in it would end it.
            Self::Slack => format!("*{}*", text.replace('*', "∗")),
            Self::Discord => format!("**{text}**"),
            Self::Telegram => format!("<b>{text}</b>"),
            Self::Plain => text,
        }
    }

    /// A link, where the URL is one for people.
    pub(crate) fn link(self, name: &str, url: &str) -> Option<String> {
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let url = url.as_str();
        if url.len() > LINK {
            return None;
        }
        let name = self.line(name);
        Some(match self {
            Self::Slack => {
                format!("<{}|{}>", self.escape(url).replace('|', "%7C"), name.replace('|', "¦"))
            }
            Self::Discord => {
                format!("[{name}]({})", url.replace('(', "%28").replace(')', "%29"))
            }
            Self::Telegram => format!("<a href=\"{}\">{name}</a>", self.escape(url)),
            Self::Plain => format!("{name}: {url}"),
        })
    }

    /// The text with `tail` below it, where it has to be cut or `keeps_tail`. A cut goes through no entity, no tag and no
    /// link, and what is open at the cut is closed.
    pub(crate) fn fit(self, text: &str, tail: &str, keeps_tail: bool) -> String {
        let tail =
            if tail.is_empty() { Cow::Borrowed("") } else { Cow::Owned(format!("\n{tail}")) };
        let limit = self.limit();
        let reserved = self.width(&tail);
        let all = self.width(text);
        if keeps_tail && all + reserved <= limit {
            return format!("{text}{tail}");
        }
        if !keeps_tail && all <= limit {
            return text.to_owned();
        }
        let room = limit.saturating_sub(reserved + 1);
        let mut kept = String::new();
        let mut width = 0;
        let mut open = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let atom = self.atom(rest);
            if width + atom.width > room {
                break;
            }
            width += atom.width;
            rest = &rest[atom.text.len()..];
            kept.push_str(atom.text);
            match atom.tag {
                Some(Tag::Open(name)) => open.push(name),
                Some(Tag::Close(name)) => {
                    if let Some(at) = open.iter().rposition(|known| *known == name) {
                        open.truncate(at);
                    }
                }
                None => {}
            }
        }
        kept.push_str(CUT);
        for name in open.into_iter().rev() {
            kept.push_str(&format!("</{name}>"));
        }
        kept.push_str(&tail);
        kept
    }

    /// How long the receiver thinks it is.
    pub(crate) fn width(self, text: &str) -> usize {
        let mut width = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let atom = self.atom(rest);
            width += atom.width;
            rest = &rest[atom.text.len()..];
        }
        width
    }

    /// The first atom of a text that is not empty.
    fn atom(self, text: &str) -> Atom<'_> {
        // Receivers count in UTF-16, which is never less than characters.
        let whole = |text: &'_ str| text.encode_utf16().count();
        let first = text.chars().next().map_or(0, char::len_utf8);
        let part = |length: usize| Atom {
            text: &text[..length],
            width: whole(&text[..length]),
            tag: None,
        };
        if let Some(length) = bare_link(text) {
            return part(length);
        }
        match (self, text.as_bytes()[0]) {
            (Self::Telegram, b'&') => match entity(text) {
                // Of the second plane, in the worst case.
                Some(length) => Atom { width: 2, ..part(length) },
                None => part(first),
            },
            (Self::Telegram, b'<') => html(text).unwrap_or_else(|| part(first)),
            (Self::Slack, b'&') => part(entity(text).unwrap_or(first)),
            (Self::Slack | Self::Discord, b'<') => {
                part(closed(text, '>').filter(|length| *length <= 2 * LINK).unwrap_or(first))
            }
            (Self::Discord, b'\\') => {
                part(first + text[first..].chars().next().map_or(0, char::len_utf8))
            }
            (Self::Discord, b'[') => part(masked_link(text).unwrap_or(first)),
            _ => part(first),
        }
    }
}

/// The length up to and with the first `end`, on the same line.
fn closed(text: &str, end: char) -> Option<usize> {
    let length = text.find([end, '\n'])?;
    text[length..].starts_with(end).then_some(length + end.len_utf8())
}

/// A URL as it stands in a text.
fn bare_link(text: &str) -> Option<usize> {
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return None;
    }
    Some(text.find(|c: char| c.is_whitespace() || "<>|)\"".contains(c)).unwrap_or(text.len()))
}

/// `&…;`
fn entity(text: &str) -> Option<usize> {
    let length = closed(text, ';').filter(|length| *length <= 12)?;
    let name = &text[1..length - 1];
    (!name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'#'))
        .then_some(length)
}

/// `[…](…)`, where what is escaped does not count.
fn masked_link(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = !is_escaped && matches!(c, ']' | '[' | '\n');
        is_escaped = !is_escaped && *c == '\\';
        ends
    });
    let (end, _) = end?;
    let target = text[end..].strip_prefix("](")?;
    Some(end + 2 + closed(target, ')')?)
}

/// A tag, or a link as a whole.
fn html(text: &str) -> Option<Atom<'_>> {
    let length = closed(text, '>')?;
    let inside = &text[1..length - 1];
    let is_close = inside.starts_with('/');
    let name = inside.trim_start_matches('/').split_ascii_whitespace().next().unwrap_or_default();
    // `a < b <i>` has one tag.
    if inside.contains('<')
        || name.is_empty()
        || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    {
        return None;
    }
    if name.eq_ignore_ascii_case("a") && !is_close {
        let end = text.find("</a>").map(|end| (end, end + "</a>".len()));
        if let Some((end, whole)) = end {
            let width = Markup::Telegram.width(&text[length..end]);
            return Some(Atom { text: &text[..whole], width, tag: None });
        }
    }
    let tag = if is_close { Tag::Close(name) } else { Tag::Open(name) };
    Some(Atom { text: &text[..length], width: 0, tag: Some(tag) })
}
