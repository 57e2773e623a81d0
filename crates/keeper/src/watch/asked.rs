//! Which logs are asked for, and what an answer to that has to be before it is believed.

use alloy::{
    primitives::{Address, B256, Bloom, BloomInput},
    rpc::types::{Filter, Log},
    sol_types::SolEvent,
};
use fusebox_bindings::events;

const TOPICS: [B256; 3] = [
    events::Opened::SIGNATURE_HASH,
    events::Closed::SIGNATURE_HASH,
    events::Configured::SIGNATURE_HASH,
];

/// The events of breakers, in these contracts or in all.
#[derive(Debug)]
pub(super) struct Wanted(Option<Vec<Address>>);

/// Where they are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Block { number: u64, hash: B256 },
    Range { from: u64, to: u64 },
}

impl Wanted {
    pub(super) fn of(contracts: Option<Vec<Address>>) -> Self {
        Self(contracts)
    }

    pub(super) fn filter(&self, asked: Asked) -> Filter {
        let filter = Filter::new().event_signature(TOPICS.to_vec());
        let filter = match &self.0 {
            Some(contracts) => filter.address(contracts.clone()),
            None => filter,
        };
        match asked {
            Asked::Block { hash, .. } => filter.at_block_hash(hash),
            Asked::Range { from, to } => filter.from_block(from).to_block(to),
        }
    }

    pub(super) fn matches(&self, log: &Log) -> bool {
        log.topic0().is_some_and(|topic| TOPICS.contains(topic))
            && self.0.as_ref().is_none_or(|contracts| contracts.contains(&log.address()))
    }

    /// Whether a block with this bloom may hold any. There are chains with empty blooms above blocks with logs, so `false`
    /// is no proof.
    pub(super) fn may_be_in(&self, bloom: &Bloom) -> bool {
        let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
        TOPICS.iter().any(|topic| has(topic.as_slice()))
            && self
                .0
                .as_ref()
                .is_none_or(|contracts| contracts.iter().any(|contract| has(contract.as_slice())))
    }

    /// In chain order, each once and each asked for; else what is wrong with them.
    pub(super) fn checked(&self, mut logs: Vec<Log>, asked: Asked) -> Result<Vec<Log>, String> {
        let position = |log: &Log| (log.block_number, log.log_index);
        logs.sort_by_key(position);
        let repeated = logs.windows(2).any(|pair| position(&pair[0]) == position(&pair[1]));
        if repeated || logs.iter().any(|log| log.log_index.is_none()) {
            return Err("the node gave a log twice, or without its index".to_owned());
        }
        for log in &logs {
            if log.removed {
                return Err("the node gave a log of a block that left".to_owned());
            }
            if !self.matches(log) {
                return Err(format!("the node gave a log of {}, unasked", log.address()));
            }
            match (asked, log.block_number, log.block_hash) {
                (Asked::Range { from, to }, Some(number), Some(_))
                    if (from..=to).contains(&number) => {}
                (Asked::Block { number, hash }, Some(given), Some(of))
                    if given == number && of == hash => {}
                (_, Some(number), Some(_)) => {
                    return Err(format!("the node gave a log of block {number}, unasked"));
                }
                _ => return Err("the node gave a log without its block".to_owned()),
            }
        }
        Ok(logs)
    }
}

impl Asked {
    /// The block, as `eth_getBlockReceipts` wants it named, where it is a single one.
    pub(super) fn block(self) -> Option<(u64, String)> {
        match self {
            Self::Block { number, hash } => Some((number, hash.to_string())),
            Self::Range { from, to } => (from == to).then(|| (from, format!("{from:#x}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::{Log as Inner, LogData};

    const HASH: B256 = B256::repeat_byte(7);

    fn log(contract: u8, topic: B256, index: u64) -> Log {
        Log {
            inner: Inner {
                address: Address::repeat_byte(contract),
                data: LogData::new_unchecked(vec![topic], Default::default()),
            },
            block_hash: Some(HASH),
            block_number: Some(5),
            log_index: Some(index),
            ..Log::default()
        }
    }

    #[test]
    fn an_answer_is_in_order_complete_in_itself_and_only_what_was_asked_for() {
        let wanted = Wanted::of(Some(vec![Address::repeat_byte(1)]));
        let good = |index| log(1, TOPICS[0], index);
        let block = Asked::Block { number: 5, hash: HASH };
        let range = |from, to| Asked::Range { from, to };
        for asked in [block, range(5, 5), range(4, 6)] {
            let sorted = wanted.checked(vec![good(1), good(0)], asked).unwrap();
            assert_eq!(sorted, [good(0), good(1)]);
        }
        let bad = [
            (vec![good(1), good(1)], block, "twice"),
            (vec![Log { log_index: None, ..good(0) }], block, "without its index"),
            (vec![Log { removed: true, ..good(0) }], block, "left"),
            (vec![log(2, TOPICS[0], 0)], block, "unasked"),
            (vec![log(1, B256::ZERO, 0)], block, "unasked"),
            (vec![Log { block_hash: Some(B256::ZERO), ..good(0) }], block, "block 5, unasked"),
            (vec![Log { block_hash: None, ..good(0) }], block, "without its block"),
            (vec![good(0)], range(6, 7), "block 5, unasked"),
            (vec![good(0)], range(3, 4), "block 5, unasked"),
        ];
        for (logs, asked, part) in bad {
            let why = wanted.checked(logs, asked).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    #[test]
    fn a_bloom_has_room_for_what_was_put_into_it() {
        let mut bloom = Bloom::ZERO;
        let wanted = Wanted::of(Some(vec![Address::repeat_byte(2), Address::repeat_byte(1)]));
        assert!(!wanted.may_be_in(&bloom));
        bloom.accrue_raw_log(Address::repeat_byte(1), &[B256::ZERO]);
        assert!(!wanted.may_be_in(&bloom), "the contract emitted something else");
        assert!(!Wanted::of(None).may_be_in(&bloom));
        bloom.accrue_raw_log(Address::repeat_byte(3), &[TOPICS[1]]);
        assert!(wanted.may_be_in(&bloom));
        assert!(Wanted::of(None).may_be_in(&bloom));
    }
}
