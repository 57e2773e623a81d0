//! Ranges of blocks, and how `eth_getLogs` is cut into them.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::context::quantity;

/// More pieces would be a load test; the caller should ask for less.
pub const MAX_CHUNKS: u64 = 64;

/// Consecutive blocks, both ends included, so never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSpan {
    from: u64,
    to: u64,
}

/// A range that would need more than [`MAX_CHUNKS`] pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "blocks {span} at {limit} a piece are {pieces} pieces, more than {MAX_CHUNKS}; ask for fewer blocks at a time"
)]
pub struct TooManyChunks {
    /// What was asked for.
    pub span: BlockSpan,
    /// The most blocks a piece may have.
    pub limit: u64,
    /// How many pieces that makes.
    pub pieces: u64,
}

impl BlockSpan {
    /// `None` if `from` is after `to`.
    #[must_use]
    pub fn new(from: u64, to: u64) -> Option<Self> {
        (from <= to).then_some(Self { from, to })
    }

    /// First block.
    #[must_use]
    pub fn from(self) -> u64 {
        self.from
    }

    /// Last block.
    #[must_use]
    pub fn to(self) -> u64 {
        self.to
    }

    /// How many blocks; at least one. The whole number space counts as `u64::MAX`.
    #[must_use]
    pub fn blocks(self) -> u64 {
        (self.to - self.from).saturating_add(1)
    }

    /// The range that a log filter asks for, as the parameters of `eth_getLogs` name it.
    ///
    /// `head` stands for `latest` and for an end that is not named. `None` for filters by block hash, for other tags, and
    /// for what is no range: such a call is sent as it is.
    ///
    /// ```
    /// use fusebox_rpc::BlockSpan;
    /// use serde_json::json;
    ///
    /// let params = json!([{ "fromBlock": "0x10", "toBlock": "latest", "address": "0x…" }]);
    /// assert_eq!(BlockSpan::of_logs(&params, Some(0x20)), BlockSpan::new(0x10, 0x20));
    /// ```
    #[must_use]
    pub fn of_logs(params: &Value, head: Option<u64>) -> Option<Self> {
        let filter = params.get(0)?.as_object()?;
        if filter.contains_key("blockHash") {
            return None;
        }
        let end = |name| match filter.get(name) {
            None | Some(Value::Null) => head,
            Some(Value::String(tag)) if tag == "latest" => head,
            Some(Value::String(tag)) if tag == "earliest" => Some(0),
            Some(Value::String(number)) => quantity(number),
            Some(_) => None,
        };
        Self::new(end("fromBlock")?, end("toBlock")?)
    }

    /// The same parameters for this range.
    #[must_use]
    pub fn into_logs(self, params: &Value) -> Value {
        let mut params = params.clone();
        if let Some(filter) = params.get_mut(0).and_then(Value::as_object_mut) {
            filter.insert("fromBlock".to_owned(), json!(format!("{:#x}", self.from)));
            filter.insert("toBlock".to_owned(), json!(format!("{:#x}", self.to)));
        }
        params
    }

    /// Cuts the range into pieces of at most `limit` blocks (0 counts as 1), in order, without gap or overlap.
    ///
    /// # Errors
    ///
    /// [`TooManyChunks`].
    pub fn chunks(self, limit: u64) -> Result<Vec<Self>, TooManyChunks> {
        let limit = limit.max(1);
        let pieces = ((self.to - self.from) / limit).saturating_add(1);
        if pieces > MAX_CHUNKS {
            return Err(TooManyChunks { span: self, limit, pieces });
        }
        let piece = |i| {
            let from = self.from + i * limit;
            Self { from, to: from.saturating_add(limit - 1).min(self.to) }
        };
        Ok((0..pieces).map(piece).collect())
    }
}

impl fmt::Display for BlockSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} … {}", self.from, self.to)
    }
}

/// Joins the results of the pieces, each the JSON text of an array of logs, in the order in which they are given.
///
/// `None` if one of them is no array: then the whole has no answer, since a gap in logs looks like silence.
///
/// ```
/// use fusebox_rpc::merge_logs;
///
/// assert_eq!(merge_logs(["[{\"a\":1}]", "[]", "[{\"b\":2}, {}]"]).as_deref(), Some("[{\"a\":1},{\"b\":2},{}]"));
/// assert_eq!(merge_logs(["[]", "null"]), None);
/// ```
#[must_use]
pub fn merge_logs<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut merged = String::from("[");
    for piece in pieces {
        for log in serde_json::from_str::<Vec<&RawValue>>(piece).ok()? {
            if merged.len() > 1 {
                merged.push(',');
            }
            merged.push_str(log.get());
        }
    }
    merged.push(']');
    Some(merged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(from: u64, to: u64) -> BlockSpan {
        BlockSpan::new(from, to).unwrap()
    }

    #[test]
    fn a_filter_names_its_range() {
        let of = |filter: Value| BlockSpan::of_logs(&json!([filter]), Some(100));
        assert_eq!(of(json!({ "fromBlock": "0x1", "toBlock": "0xa" })), BlockSpan::new(1, 10));
        assert_eq!(of(json!({ "fromBlock": "earliest", "toBlock": "0xa" })), BlockSpan::new(0, 10));
        assert_eq!(of(json!({ "fromBlock": "0x1" })), BlockSpan::new(1, 100));
        assert_eq!(of(json!({ "fromBlock": "0x1", "toBlock": null })), BlockSpan::new(1, 100));
        assert_eq!(of(json!({})), BlockSpan::new(100, 100));
        for filter in [
            json!({ "blockHash": "0x1", "fromBlock": "0x1", "toBlock": "0x2" }),
            json!({ "fromBlock": "0x2", "toBlock": "0x1" }),
            json!({ "fromBlock": "0x1", "toBlock": "pending" }),
            json!({ "fromBlock": 1, "toBlock": 2 }),
            json!("x"),
        ] {
            assert_eq!(of(filter.clone()), None, "{filter}");
        }
        assert_eq!(
            BlockSpan::of_logs(&json!([{ "fromBlock": "0x1", "toBlock": "latest" }]), None),
            None
        );
        assert_eq!(BlockSpan::of_logs(&json!({}), Some(1)), None);
    }

    #[test]
    fn a_piece_asks_for_the_same_but_its_own_blocks() {
        let params =
            json!([{ "fromBlock": "0x0", "toBlock": "latest", "topics": [["0x1"], null] }]);
        let want = json!([{ "fromBlock": "0xa", "toBlock": "0x10", "topics": [["0x1"], null] }]);
        assert_eq!(span(10, 16).into_logs(&params), want);
        assert_eq!(BlockSpan::of_logs(&want, None), Some(span(10, 16)));
    }

    #[test]
    fn sixty_four_pieces_are_the_most() {
        assert_eq!(span(1, 640).chunks(10).unwrap().len(), 64);
        let refused = span(1, 641).chunks(10).unwrap_err();
        assert_eq!((refused.pieces, refused.limit), (65, 10));
        assert_eq!(span(5, 5).chunks(0).unwrap(), [span(5, 5)]);
        assert_eq!(span(0, u64::MAX).chunks(u64::MAX).unwrap().len(), 2);
        assert!(span(0, u64::MAX).chunks(1).is_err());
    }

    proptest! {
        #[test]
        fn pieces_cover_the_range_exactly(from in any::<u64>(), blocks in 1_u64..10_000, limit in 1_u64..2_000) {
            let whole = span(from, from.saturating_add(blocks - 1));
            if let Ok(pieces) = whole.chunks(limit) {
                prop_assert_eq!(pieces[0].from(), whole.from());
                prop_assert_eq!(pieces[pieces.len() - 1].to(), whole.to());
                prop_assert!(pieces.iter().all(|piece| piece.blocks() <= limit));
                prop_assert!(pieces.windows(2).all(|pair| pair[0].to() + 1 == pair[1].from()));
            }
        }
    }
}
