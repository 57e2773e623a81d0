//! How providers say that a range or an answer is too large.
//!
//! The words are theirs, to the letter and the digit: clients take them apart. Where a provider names numbers, they are
//! those of the cap.

use crate::rpc::RpcError;
use serde_json::json;

/// In whose words a range is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RangeWording {
    /// 400, −32600, names the largest range and suggests one.
    Alchemy,
    /// The same of its free plan, with an advertisement.
    AlchemyFree,
    /// −32600, names no number.
    Ankr,
    /// −32005 "limit exceeded", and nothing else.
    Bnb,
    /// −32000, names the range that was asked for and the largest one.
    Drpc,
    /// −32603, names the largest range, in thousands where it is whole thousands.
    LlamaRpc,
    /// 403, −32701: asks for an address, and names no number.
    PublicNode,
    /// 413, −32614, names the largest range with a comma.
    QuickNode,
    /// Words of ours that no client can know.
    Unknown,
    /// As Alchemy, but suggests the very range that was refused.
    SameRange,
}

/// In whose words an answer is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultWording {
    /// −32602, suggests a range, and names a range that is none of its limits here.
    Alchemy,
    /// −32005, names the limit, and suggests a range also in `data`.
    Infura,
    /// Words of ours that no client can know.
    Unknown,
}

/// A range is too large.
#[derive(Clone, Debug)]
pub(crate) struct RangeCap {
    pub(super) blocks: u64,
    pub(super) wording: RangeWording,
}

/// An answer is too large.
#[derive(Clone, Debug)]
pub(crate) struct ResultCap {
    pub(super) logs: usize,
    pub(super) wording: ResultWording,
}

impl RangeCap {
    /// What is said to the inclusive range `from..=to`; None if it is small enough, or no range.
    pub(crate) fn refuse(&self, from: u64, to: u64) -> Option<RpcError> {
        let asked = to.checked_sub(from)?.saturating_add(1);
        (asked > self.blocks).then(|| self.say(from, to))
    }

    fn say(&self, from: u64, to: u64) -> RpcError {
        let cap = self.blocks;
        let up_to = format!("ou can make eth_getLogs requests with up to a {cap} block range.");
        let suggest = |to| {
            format!("Based on your parameters, this block range should work: [{from:#x}, {to:#x}]")
        };
        let fits = from + cap - 1;
        match self.wording {
            RangeWording::Alchemy => {
                RpcError::new(-32600, format!("Y{up_to} {}", suggest(fits))).status(400)
            }
            RangeWording::SameRange => {
                RpcError::new(-32600, format!("Y{up_to} {}", suggest(to))).status(400)
            }
            RangeWording::AlchemyFree => {
                let suggested = suggest(fits);
                let plan = "Under the Free tier plan, y";
                let offer = "Upgrade to PAYG for expanded block range.";
                RpcError::new(-32600, format!("{plan}{up_to} {suggested}. {offer}")).status(400)
            }
            RangeWording::Ankr => RpcError::new(-32600, "block range is too wide"),
            RangeWording::Bnb => RpcError::new(-32005, "limit exceeded"),
            RangeWording::Drpc => {
                let asked = format!("requested too many blocks from {from} to {to}");
                RpcError::new(-32000, format!("{asked}, maximum is set to {cap}"))
            }
            RangeWording::LlamaRpc => {
                let thousands = cap.is_multiple_of(1000);
                let max = if thousands { format!("{}k", cap / 1000) } else { cap.to_string() };
                let message = format!("eth_getLogs range is too large, max is {max} blocks");
                RpcError::new(-32603, message)
            }
            RangeWording::PublicNode => RpcError::new(
                -32701,
                "Please specify an address in your request or, to remove restrictions, order a dedicated full node \
                 here: https://www.allnodes.com/eth/host",
            )
            .status(403),
            RangeWording::QuickNode => {
                let message = format!("eth_getLogs is limited to a {} range", grouped(cap));
                RpcError::new(-32614, message).status(413)
            }
            RangeWording::Unknown => RpcError::new(-32099, UNKNOWN),
        }
    }
}

impl ResultCap {
    /// What is said when `from..=to` has `found` logs; None if they are few enough.
    pub(crate) fn refuse(&self, found: usize, from: u64, to: u64) -> Option<RpcError> {
        let limit = self.logs;
        if found <= limit {
            return None;
        }
        // Half of it is what a provider guesses to fit.
        let fits = from + to.saturating_sub(from) / 2;
        Some(match self.wording {
            ResultWording::Alchemy => RpcError::new(
                -32602,
                format!(
                    "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no \
                     limit on the response size, or you can request any block range with a cap of 10K logs in the \
                     response. Based on your parameters and the response size limit, this block range should work: \
                     [{from:#x}, {fits:#x}]"
                ),
            ),
            ResultWording::Infura => {
                let (from, to) = (format!("0x{from:X}"), format!("0x{fits:X}"));
                let message = format!("query returned more than {limit} results.");
                let suggestion = format!("Try with this block range [{from}, {to}].");
                RpcError::new(-32005, format!("{message} {suggestion}"))
                    .data(json!({ "from": from, "limit": limit, "to": to }))
            }
            ResultWording::Unknown => RpcError::new(-32099, UNKNOWN),
        })
    }
}

const UNKNOWN: &str = "that is more than we care to look for";

/// `10000` as `10,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_refused_from_one_block_beyond_the_cap() {
        let cap = RangeCap { blocks: 7, wording: RangeWording::Alchemy };
        assert_eq!(cap.refuse(10, 15), None);
        assert_eq!(cap.refuse(10, 16), None);
        assert!(cap.refuse(10, 17).is_some());
        assert_eq!(cap.refuse(17, 10), None, "what is no range is the upstream's business");
    }

    #[test]
    fn the_words_are_those_that_were_seen() {
        let said = |blocks, wording| {
            RangeCap { blocks, wording }.refuse(0x1180fca, 0x1190000).unwrap().message
        };
        for (wording, cap, words) in [
            (
                RangeWording::AlchemyFree,
                10,
                "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on \
                 your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded \
                 block range.",
            ),
            (RangeWording::QuickNode, 10_000, "eth_getLogs is limited to a 10,000 range"),
            (RangeWording::LlamaRpc, 1000, "eth_getLogs range is too large, max is 1k blocks"),
            (
                RangeWording::Drpc,
                2048,
                "requested too many blocks from 18354122 to 18415616, maximum is set to 2048",
            ),
        ] {
            assert_eq!(said(cap, wording), words);
        }
        let infura = ResultCap { logs: 10_000, wording: ResultWording::Infura };
        assert_eq!(infura.refuse(10_000, 0x14E_0A60, 0x14E_0B9F), None);
        assert_eq!(
            infura.refuse(10_001, 0x14E_0A60, 0x14E_0B9F).unwrap().message,
            "query returned more than 10000 results. Try with this block range [0x14E0A60, 0x14E0AFF]."
        );
    }
}
