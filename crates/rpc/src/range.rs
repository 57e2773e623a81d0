//! Which range of blocks a refusal offers instead.
//!
//! Some providers name a range that would work, some a maximum, each in its own words. A wrong reading costs one more
//! refused request, as every learned limit is corrected by the next refusal; reading nothing costs a search by halving.

use crate::context::quantity;
use crate::envelope::ErrorParts;
use crate::verdict::RangeHint;

/// Words that make the number next to them a limit.
const LIMITING: [&str; 20] = [
    "max",
    "maximum",
    "limit",
    "limited",
    "most",
    "exceed",
    "exceeds",
    "exceeded",
    "over",
    "than",
    "up",
    "allowed",
    "distance",
    "filter",
    "narrow",
    "within",
    "smaller",
    "maxblockrange",
    "upto",
    "cap",
];

/// How many words before a number are looked at ("maximum allowed number of requested blocks is 1000").
const REACH: usize = 8;

/// The range offered by an error: one with both ends, if it names one, else, if `wants_max`, the longest it allows.
pub(crate) fn offered(parts: &ErrorParts, wants_max: bool) -> Option<RangeHint> {
    let named = parts.suggested.as_ref().and_then(|(from, to)| blocks(from, to));
    named
        .or_else(|| parts.texts.iter().find_map(|text| pair(text).or_else(|| span(text))))
        .or_else(|| longest(parts).filter(|_| wants_max).map(RangeHint::Max))
}

/// The most of something that an error says is allowed.
pub(crate) fn longest(parts: &ErrorParts) -> Option<u64> {
    parts.texts.iter().find_map(|text| maximum(text))
}

fn blocks(from: &str, to: &str) -> Option<RangeHint> {
    let (from, to) = (quantity(from.trim())?, quantity(to.trim())?);
    (from <= to).then_some(RangeHint::Blocks { from, to })
}

/// `[0x…, 0x…]` anywhere in the text.
fn pair(text: &str) -> Option<RangeHint> {
    text.split('[').skip(1).find_map(|rest| {
        let (from, to) = rest.split_once(']')?.0.split_once(',')?;
        blocks(from, to)
    })
}

/// "retry with the range 25766988-25775072", as reth says it.
fn span(text: &str) -> Option<RangeHint> {
    let rest = text.split_once("retry with the range ")?.1;
    let (from, to) =
        rest.split_whitespace().next()?.trim_end_matches(['.', ',']).split_once('-')?;
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some(RangeHint::Blocks { from, to })
}

fn maximum(text: &str) -> Option<u64> {
    if let Some(max) =
        text.split('>').nth(1).and_then(|rest| number(rest.split_whitespace().next()?))
    {
        // "exceeds the range allowed for your plan (10001 > 10000)"
        return Some(max);
    }
    let words: Vec<&str> = text.split_whitespace().filter(|word| !word.contains("://")).collect();
    (0..words.len()).find_map(|at| {
        let max = number(words[at])?;
        let before = words[..at].iter().rev().take(REACH).take_while(|word| !ends_clause(word));
        // "greater than 500 max"
        let next = words.get(at + 1).filter(|_| !ends_clause(words[at])).map(|word| bare(word));
        let after = matches!(next.as_deref(), Some("max" | "maximum"));
        (after || before.into_iter().any(|word| LIMITING.contains(&bare(word).as_str())))
            .then_some(max)
    })
}

/// A word without the punctuation around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// A comma, a bracket or a full stop; but "[from, to]" is one thing.
fn ends_clause(word: &str) -> bool {
    word.ends_with([',', ';', '.']) && !word.starts_with('[')
}

/// `10,000`, `10.000`, `10_000`, `1k`, `2K`; not zero, and nothing with other letters in it.
fn number(word: &str) -> Option<u64> {
    let word = bare(word);
    let (digits, unit) = match word.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => (word.as_str(), 1),
    };
    let groups: Vec<&str> = digits.split([',', '.', '_']).collect();
    let (first, rest) = groups.split_first()?;
    let grouped = rest.iter().all(|group| group.len() == 3) && !first.is_empty();
    let plain: String = groups.concat();
    if !grouped || !plain.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    plain.parse::<u64>().ok()?.checked_mul(unit).filter(|max| *max > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_found_in_the_words_of_many_providers() {
        for (text, max) in [
            ("batch limit 100 exceeded: 142 requests given", 100),
            ("Batch of more than 3 requests are not allowed on free tier", 3),
            ("Exceeded max limit of 50", 50),
            ("batch size 150 is over the limit of 100", 100),
            ("Batch size is too large. Max batch size: 20", 20),
            ("eth_getLogs is limited to a 10,000 range", 10_000),
            ("eth_getLogs range is too large, max is 1k blocks", 1_000),
            ("range 1000000 exceeds limit of 10000", 10_000),
            (
                "block range is larger than max block range, block range = 5120, max block range = 5000",
                5_000,
            ),
            ("requested too many blocks from 1 to 20000, maximum is set to 2048", 2_048),
            ("block range exceeds the range allowed for your plan (10001 > 10000)", 10_000),
            ("query exceeds max block range 5000", 5_000),
            ("block range greater than 500 max", 500),
            ("exceed maximum block range: 50000", 50_000),
            ("block range is too wide (maximum 1024)", 1_024),
            ("range 9009594 is bigger than range limit 2000", 2_000),
            ("ranges over 10000 blocks are not supported on freetier", 10_000),
            ("eth_getLogs block range too large, range: 855077, max: 3500", 3_500),
            ("maximum [from, to] blocks distance: 1000", 1_000),
            ("please limit the query to at most 1,000 blocks", 1_000),
            ("query block range exceeds server limit, narrow your filter: 5.", 5),
            ("query must be smaller than size 1024", 1_024),
            ("Maximum allowed number of requested blocks is 3500", 3_500),
            (
                "You can make eth_getLogs requests with up to a 2K block range and a cap of 10K logs",
                2_000,
            ),
            ("query requested more than 10.000 blocks", 10_000),
            ("eth_getLogs is limited to 0 - 10000 blocks range", 10_000),
            ("block range too large, max range: 10_000", 10_000),
            ("Max range: 800", 800),
        ] {
            assert_eq!(maximum(text), Some(max), "{text}");
        }
    }

    #[test]
    fn other_numbers_are_no_maximum() {
        for text in [
            "block range too large: 5000",
            "Block range limit exceeded. See more details at https://docs.example/limits/10000",
            "blocks 1 to 5 are too many",
            "limit 0",
            "limit 1.5",
            "limit 99999999999999999999999",
            "limit 0x10",
            "",
        ] {
            assert_eq!(maximum(text), None, "{text}");
        }
    }

    #[test]
    fn a_pair_needs_two_ends_in_order() {
        let range = |from, to| Some(RangeHint::Blocks { from, to });
        assert_eq!(
            pair("this block range should work: [0x15f9000, 0x15f91f3]"),
            range(0x15f_9000, 0x15f_91f3)
        );
        assert_eq!(pair("Try [x] or [0x1,0x1]."), range(1, 1));
        for text in
            ["[0x2, 0x1]", "[1, 2]", "[0x1]", "[0x1, 0x2", "[0x1, 0x10000000000000000]", "[,]"]
        {
            assert_eq!(pair(text), None, "{text}");
        }
        let reth = "query exceeds max results 20000, retry with the range 25766988-25775072";
        assert_eq!(span(reth), range(25_766_988, 25_775_072));
        for text in [
            "block range 5000-15000 is too large",
            "retry with the range 2-1",
            "retry with the range 0x1-0x2",
        ] {
            assert_eq!(span(text), None, "{text}");
        }
    }
}
