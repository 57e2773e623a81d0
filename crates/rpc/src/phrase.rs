//! Phrases: how a rule recognises the words of a provider.
//!
//! Providers reword their messages all the time ("rate limited", "Rate-limit exceeded", "RATE_LIMITED"), so texts and
//! phrases are compared in one plain form, and a phrase leaves gaps. It is much less than a regular expression, on
//! purpose: whoever adds a rule at three in the morning can read it, and it runs in linear time over hostile text.
//!
//! | in a phrase | matches |
//! |---|---|
//! | letters | themselves, in any case, from the start of a word: `known` is not in "unknown" |
//! | blank, `-`, `_` | any run of these |
//! | `*` | anything within the clause |
//! | `^` first | the start of the text |
//! | `$` last | its end, punctuation aside |

/// Errors that are passed on get such words put in front; a text starts after them.
const WRAPPERS: [&str; 7] = [
    "error: ",
    "err: ",
    "rpc error: ",
    "json rpc error: ",
    "internal error: ",
    "internal json rpc error. ",
    "provider error: ",
];

/// After these words comes what a contract chose to say.
const CONTRACT_SPEAKS: [&str; 4] = [
    "execution reverted",
    "reverted with",
    "vm exception while processing transaction",
    "vm execution error",
];

/// A text in plain form: lower case, single blanks, plain quotes.
#[derive(Debug)]
pub(crate) struct Words {
    text: String,
    /// Where the text proper begins, after its wrappers.
    start: usize,
    /// Where its clauses end.
    ends: Vec<usize>,
    /// The text went on with the words of a contract, which are cut off: they steer nothing.
    pub(crate) contract_spoke: bool,
}

impl Words {
    pub(crate) fn new(raw: &str) -> Self {
        let mut text = plain(raw);
        let mut start = 0;
        while let Some(wrapper) =
            WRAPPERS.iter().find(|wrapper| text[start..].starts_with(**wrapper))
        {
            start += wrapper.len();
        }
        let spoke =
            CONTRACT_SPEAKS.iter().filter_map(|words| Some((text.find(words)?, words.len()))).min();
        match spoke {
            // The node's own words remain; they say that it is a revert.
            Some((at, marker)) if at == start => text.truncate(at + marker),
            Some((at, _)) => text.truncate(at),
            None => {}
        }
        Self {
            start: start.min(text.len()),
            ends: clause_ends(&text),
            text,
            contract_spoke: spoke.is_some(),
        }
    }

    /// Whether a clause ends between two places.
    fn is_cut(&self, from: usize, to: usize) -> bool {
        let next = self.ends.partition_point(|end| *end < from);
        self.ends.get(next).is_some_and(|end| end + 2 <= to)
    }
}

fn plain(raw: &str) -> String {
    let mut plain = String::with_capacity(raw.len());
    // Links lead to pages about rates, plans and security whatever the error is.
    let raw =
        raw.split_whitespace().filter(|word| !word.contains("://")).collect::<Vec<_>>().join(" ");
    for c in raw.chars().flat_map(char::to_lowercase) {
        match c {
            '\u{2018}' | '\u{2019}' | '`' => plain.push('\''),
            '_' | '-' => push_blank(&mut plain),
            c if c.is_whitespace() || c.is_control() => push_blank(&mut plain),
            // Quotes and brackets around the whole text.
            '"' | '\'' | '[' | '{' | '(' if plain.is_empty() => {}
            c => plain.push(c),
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

fn push_blank(text: &mut String) {
    if !text.is_empty() && !text.ends_with(' ') {
        text.push(' ');
    }
}

/// One phrase of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    pieces: Vec<String>,
    from_start: bool,
    to_end: bool,
}

impl Phrase {
    /// `None` for a phrase without any words: it would match everything.
    pub(crate) fn parse(raw: &str) -> Option<Self> {
        let raw = raw.trim();
        let (raw, from_start) = raw.strip_prefix('^').map_or((raw, false), |rest| (rest, true));
        let (raw, to_end) = raw.strip_suffix('$').map_or((raw, false), |rest| (rest, true));
        let pieces: Vec<String> =
            raw.split('*').map(plain).filter(|piece| !piece.is_empty()).collect();
        (!pieces.is_empty()).then_some(Self { pieces, from_start, to_end })
    }

    pub(crate) fn is_in(&self, words: &Words) -> bool {
        let mut text = words.text.as_str();
        if self.to_end {
            text = text.trim_end_matches(|c: char| c.is_ascii_punctuation() || c == ' ');
        }
        let (first, rest) = self.pieces.split_first().expect("a phrase has a piece");
        let mut rest: Vec<Forward<'_>> =
            rest.iter().map(|piece| Forward::new(text, piece)).collect();
        if self.from_start {
            let begins = text.get(words.start..).is_some_and(|text| text.starts_with(first));
            return begins && self.goes_on(words, text, words.start + first.len(), &mut rest);
        }
        find(text, 0, first).any(|at| self.goes_on(words, text, at + first.len(), &mut rest))
    }

    /// Whether the rest follows after `end`. The leftmost hit of a piece is enough: a later one only leaves less room for
    /// those that follow.
    fn goes_on(&self, words: &Words, text: &str, mut end: usize, rest: &mut [Forward<'_>]) -> bool {
        let count = rest.len();
        for (i, piece) in rest.iter_mut().enumerate() {
            let hit = if self.to_end && i + 1 == count { piece.at_end() } else { piece.from(end) };
            match hit {
                Some(next) if next >= end && !words.is_cut(end, next) => {
                    end = next + piece.piece.len();
                }
                _ => return false,
            }
        }
        !self.to_end || end == text.len()
    }
}

/// Looks for a piece from positions on that only grow. So the text is read once, however often the piece before it
/// occurs.
struct Forward<'a> {
    text: &'a str,
    piece: &'a str,
    hit: Option<usize>,
}

impl<'a> Forward<'a> {
    fn new(text: &'a str, piece: &'a str) -> Self {
        Self { text, piece, hit: find(text, 0, piece).next() }
    }

    fn from(&mut self, from: usize) -> Option<usize> {
        if self.hit.is_some_and(|hit| hit < from) {
            self.hit = find(self.text, from, self.piece).next();
        }
        self.hit
    }

    fn at_end(&self) -> Option<usize> {
        self.text.strip_suffix(self.piece).map(str::len)
    }
}

/// Where `piece` stands at the start of a word, from byte `from` on.
fn find<'a>(text: &'a str, from: usize, piece: &'a str) -> impl Iterator<Item = usize> + 'a {
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let inner = word(piece.chars().next());
    let hits = text[from..].match_indices(piece).map(move |(at, _)| from + at);
    hits.filter(move |&at| !inner || !word(text[..at].chars().next_back()))
}

fn clause_ends(text: &str) -> Vec<usize> {
    let ends = text.as_bytes().windows(2).enumerate();
    let ends = ends.filter(|(_, pair)| matches!(pair, [b'.' | b':' | b';' | b'!' | b'?', b' ']));
    ends.map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(phrase: &str, text: &str) -> bool {
        Phrase::parse(phrase).unwrap().is_in(&Words::new(text))
    }

    #[test]
    fn spelling_does_not_matter() {
        for text in [
            "rate limit",
            "Rate-Limited",
            "RATE_LIMIT",
            "over  rate\n limit",
            "rate - limit",
            "(rate limit)",
            "a rate–x rate limit",
        ] {
            assert!(hit("rate limit", text), "{text}");
        }
        assert!(hit("you've reached", "You\u{2019}ve reached it"));
        assert!(!hit("/sec", "see https://docs.example/security for more"));
    }

    #[test]
    fn a_piece_starts_a_word_and_may_end_within_one() {
        assert!(!hit("known", "unknown block"));
        assert!(hit("known", "already known"));
        assert!(hit("plan", "your plans"));
        assert!(hit("/sec", "100/sec"));
    }

    #[test]
    fn a_gap_stays_within_its_clause() {
        assert!(hit("method * does not exist", "the method eth_x does not exist/is not available"));
        assert!(!hit("method * does not exist", "method failed: block 1 does not exist"));
        assert!(hit("more than * blocks", "requested more than 10.000 blocks"));
        assert!(hit("a * c", "a. b a c"), "a later start is tried too");
        assert!(hit("a * c", "c a c"), "a piece before the start counts for nothing");
        assert!(!hit("c * a", "a c"));
    }

    #[test]
    fn anchors_hold() {
        assert!(hit("^limit exceeded$", "Limit exceeded."));
        assert!(hit("^limit exceeded$", "Error: limit exceeded"));
        assert!(hit("^limit exceeded$", "[\"limit exceeded\"]"));
        assert!(!hit("^limit exceeded$", "limit exceeded for x"));
        assert!(!hit("^limit exceeded$", "gas limit exceeded"));
        assert!(hit("^a * b$", "a b x b"));
        assert!(!hit("^a * b$", "a b x"));
    }

    #[test]
    fn what_a_contract_says_is_cut_off() {
        let words = Words::new("call failed: execution reverted: rate limit exceeded");
        assert!(words.contract_spoke);
        assert!(!Phrase::parse("rate limit").unwrap().is_in(&words));
        assert!(Phrase::parse("call failed").unwrap().is_in(&words));
        assert!(hit("^execution reverted", "execution reverted: rate limit"));
        assert!(!hit("rate limit", "execution reverted: rate limit"));
        assert!(hit("^execution reverted", "err: Execution reverted"));
        assert!(hit("internal error", "Internal error: x"), "a wrapper is words too");
    }

    /// Tries every way to lay the pieces out.
    fn fits_somehow(phrase: &Phrase, words: &Words) -> bool {
        fn lay(text: &str, end: usize, rest: &[String], to_end: bool) -> bool {
            let Some((piece, rest)) = rest.split_first() else {
                return !to_end || end == text.len();
            };
            (end..=text.len()).filter(|at| text[*at..].starts_with(piece.as_str())).any(|at| {
                let inside = at > 0 && text.as_bytes()[at - 1].is_ascii_alphanumeric();
                let cut = [". ", ": "].iter().any(|mark| text[end..at].contains(mark));
                let free = (to_end && rest.is_empty()) || !inside;
                free && !cut && lay(text, at + piece.len(), rest, to_end)
            })
        }
        let text = words.text.trim_end_matches(|c: char| ".: ".contains(c) && phrase.to_end);
        let starts = 0..=text.len();
        let first = phrase.pieces[0].as_str();
        starts.filter(|at| text[*at..].starts_with(first)).any(|at| {
            let free = at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
            let start = if phrase.from_start { at == words.start } else { free };
            start && lay(text, at + first.len(), &phrase.pieces[1..], phrase.to_end)
        })
    }

    proptest::proptest! {
        #[test]
        fn one_pass_finds_what_all_ways_find(
            phrase in r"\^?[ab]{1,2}( ?\* ?[ab]{1,2}){0,3}\$?",
            text in r"[ab .:]{0,24}",
        ) {
            let (parsed, words) = (Phrase::parse(&phrase).unwrap(), Words::new(&text));
            proptest::prop_assert_eq!(parsed.is_in(&words), fits_somehow(&parsed, &words));
        }
    }

    #[test]
    fn a_phrase_without_words_is_none() {
        for raw in ["", " ", "*", "^", "$", "^*$", "-_"] {
            assert!(Phrase::parse(raw).is_none(), "{raw}");
        }
    }
}
