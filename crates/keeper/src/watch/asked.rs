//! Which logs are asked for, and what an answer to that has to be before it is believed.

use super::decode::LEGACY_TOPICS;
use crate::fold::Contract;
use alloy::{
    primitives::{Address, B256, Bloom, BloomInput},
    rpc::types::{Filter, Log},
    sol_types::SolEvent,
};
use fusebox_bindings::events;
use std::collections::BTreeMap;

const TOPICS: [B256; 3] = [
    events::Opened::SIGNATURE_HASH,
    events::Closed::SIGNATURE_HASH,
    events::Configured::SIGNATURE_HASH,
];

/// A filter with more addresses is refused by common nodes, and slow on others: then all contracts are asked for.
const MAX_ADDRESSES: usize = 200;

/// An emptiness that is less likely by chance than this is not believed at once.
const UNLIKELY: f64 = 0.001;

/// The bits that an address or a topic sets in a bloom.
const BITS: i32 = 3;

/// The events of breakers, in these contracts or in all.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// With the first block of each that matters, and whether it is marked as legacy.
    contracts: BTreeMap<Address, Contract>,
    /// The first block from which all matter.
    anywhere: Option<u64>,
}

/// Where they are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Block { number: u64, hash: B256 },
    Range { from: u64, to: u64 },
}

/// What a bloom says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bloomed {
    /// There are none.
    Excluded,
    /// There are some, or so much else that it may look so.
    Possible,
    /// There are some, unless by a chance of less than one in a thousand.
    Likely,
}

impl Wanted {
    #[cfg(test)]
    fn of(contracts: Option<Vec<Address>>) -> Self {
        match contracts {
            None => Self::new([], Some(0)),
            Some(contracts) => Self::new(contracts.into_iter().map(|one| listed(one, 0)), None),
        }
    }

    pub(super) fn new(
        contracts: impl IntoIterator<Item = Contract>,
        anywhere: Option<u64>,
    ) -> Self {
        let contracts = contracts.into_iter().map(|one| (one.address, one)).collect();
        Self { contracts, anywhere }
    }

    /// One more contract.
    pub(super) fn add(&mut self, contract: Contract) {
        self.contracts.insert(contract.address, contract);
    }

    /// Whether a block of this number can hold any.
    pub(super) fn begins_by(&self, number: u64) -> bool {
        self.anywhere.is_some_and(|start| start <= number)
            || self.contracts.values().any(|one| one.start <= number)
    }

    pub(super) fn filter(&self, asked: Asked) -> Filter {
        let filter = Filter::new().event_signature(self.topics().collect::<Vec<_>>());
        let filter = match self.names_contracts() {
            true => filter.address(self.contracts.keys().copied().collect::<Vec<_>>()),
            false => filter,
        };
        match asked {
            Asked::Block { hash, .. } => filter.at_block_hash(hash),
            Asked::Range { from, to } => filter.from_block(from).to_block(to),
        }
    }

    /// Those without an id only where a contract is marked: others have events of these names that are of no breaker.
    fn topics(&self) -> impl Iterator<Item = B256> {
        let legacy = self.legacy().next().map(|_| LEGACY_TOPICS);
        TOPICS.into_iter().chain(legacy.into_iter().flatten())
    }

    fn legacy(&self) -> impl Iterator<Item = &Address> {
        self.contracts.values().filter(|one| one.is_legacy).map(|one| &one.address)
    }

    fn names_contracts(&self) -> bool {
        self.anywhere.is_none() && self.contracts.len() <= MAX_ADDRESSES
    }

    /// Whether the filter lets it through.
    pub(super) fn asks_for(&self, log: &Log) -> bool {
        let is_asked = |topic: &B256| {
            TOPICS.contains(topic)
                || LEGACY_TOPICS.contains(topic) && self.legacy().next().is_some()
        };
        log.topic0().is_some_and(is_asked)
            && (!self.names_contracts() || self.contracts.contains_key(&log.address()))
    }

    /// Whether it matters.
    pub(super) fn matches(&self, log: &Log) -> bool {
        let begun = |start: u64| log.block_number.is_none_or(|number| start <= number);
        let is_legacy = log.topic0().is_some_and(|topic| LEGACY_TOPICS.contains(topic));
        let contract = self.contracts.get(&log.address());
        self.asks_for(log)
            && (!is_legacy && self.anywhere.is_some_and(begun)
                || contract.is_some_and(|one| begun(one.start) && (one.is_legacy || !is_legacy)))
    }

    #[cfg(test)]
    fn may_be_in(&self, bloom: &Bloom) -> bool {
        self.bloomed(bloom) != Bloomed::Excluded
    }

    /// Whether a block with this bloom holds any, as far as it tells. On busy chains blooms are nearly full and tell
    /// little.
    pub(super) fn bloomed(&self, bloom: &Bloom) -> Bloomed {
        let has = |bytes: &[u8]| bloom.contains_input(BloomInput::Raw(bytes));
        let has_topic = |topics: &[B256]| topics.iter().any(|topic| has(topic.as_slice()));
        let may_be = has_topic(&TOPICS)
            && (self.anywhere.is_some()
                || self.contracts.keys().any(|contract| has(contract.as_slice())));
        let may_be_legacy =
            self.legacy().any(|contract| has(contract.as_slice())) && has_topic(&LEGACY_TOPICS);
        if !may_be && !may_be_legacy {
            return Bloomed::Excluded;
        }
        let ones: u32 = bloom.0.iter().map(|byte| byte.count_ones()).sum();
        let filled = f64::from(ones) / (Bloom::len_bytes() * 8) as f64;
        // Each pair of a contract and a topic has its own chance to look so.
        let (pairs, bits) = match self.anywhere {
            Some(_) => (TOPICS.len(), BITS),
            None => (TOPICS.len() * self.contracts.len(), 2 * BITS),
        };
        let legacy_pairs = LEGACY_TOPICS.len() * self.legacy().count();
        let chance = filled.powi(bits) * pairs as f64 + filled.powi(2 * BITS) * legacy_pairs as f64;
        match chance < UNLIKELY {
            true => Bloomed::Likely,
            false => Bloomed::Possible,
        }
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
            if !self.asks_for(log) {
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
        logs.retain(|log| self.matches(log));
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
fn listed(address: Address, start: u64) -> Contract {
    Contract { address, start, scanned_to: 0, is_legacy: false }
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
    fn events_without_an_id_are_wanted_of_marked_contracts_only() {
        let [marked, other] = [1, 2].map(Address::repeat_byte);
        let marked = Contract { is_legacy: true, ..listed(marked, 0) };
        let bloom_of = |logs: &[Log]| {
            let mut bloom = Bloom::ZERO;
            logs.iter().for_each(|log| bloom.accrue_log(&log.inner));
            bloom
        };
        for anywhere in [None, Some(0)] {
            let wanted = Wanted::new([marked, listed(other, 0)], anywhere);
            for topic in LEGACY_TOPICS {
                let (ours, not_ours) = (log(1, topic, 0), log(2, topic, 1));
                assert!(wanted.matches(&ours) && !wanted.matches(&not_ours));
                // The filter lets it through, so it is no fault of the node's.
                let asked = Asked::Block { number: 5, hash: HASH };
                let logs = wanted.checked(vec![not_ours.clone(), ours.clone()], asked);
                assert_eq!(logs.unwrap(), std::slice::from_ref(&ours));
                assert_eq!(wanted.bloomed(&bloom_of(&[ours])), Bloomed::Likely);
                assert_eq!(
                    wanted.bloomed(&bloom_of(std::slice::from_ref(&not_ours))),
                    Bloomed::Excluded
                );
                let unmarked = Wanted::new([listed(other, 0)], anywhere);
                assert!(!unmarked.asks_for(&not_ours) && !unmarked.matches(&not_ours));
            }
            assert!(wanted.matches(&log(1, TOPICS[0], 0)), "it may emit both");
        }
        let later = Contract { start: 6, ..marked };
        assert!(!Wanted::new([later], Some(0)).matches(&log(1, LEGACY_TOPICS[0], 0)));
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

    #[test]
    fn a_full_bloom_makes_an_empty_answer_likely_to_be_true() {
        let one = Wanted::of(Some(vec![Address::repeat_byte(1)]));
        let mut bloom = Bloom::ZERO;
        bloom.accrue_raw_log(Address::repeat_byte(1), &[TOPICS[0]]);
        assert_eq!(one.bloomed(&bloom), Bloomed::Likely);
        assert_eq!(one.bloomed(&Bloom::repeat_byte(0xff)), Bloomed::Possible);
        // A quarter filled: 1 in 4,096 for a pair, and there are three topics.
        for byte in bloom.0.iter_mut().take(64) {
            *byte = 0xff;
        }
        assert_eq!(one.bloomed(&bloom), Bloomed::Likely);
        let many = Wanted::of(Some((1..=9).map(Address::repeat_byte).collect()));
        assert_eq!(many.bloomed(&bloom), Bloomed::Possible, "nine have nine times the chance");
        assert_eq!(Wanted::of(None).bloomed(&bloom), Bloomed::Possible, "topics alone say less");
    }

    #[test]
    fn more_contracts_than_a_filter_takes_are_told_apart_here() {
        let many: Vec<_> =
            (0..=200_u64).map(|n| Address::left_padding_from(&n.to_be_bytes())).collect();
        let wanted = Wanted::of(Some(many));
        let range = Asked::Range { from: 5, to: 5 };
        assert!(wanted.filter(range).address.is_empty());
        let mut mine = log(0, TOPICS[0], 0);
        mine.inner.address = Address::left_padding_from(&[200]);
        let other = log(1, TOPICS[0], 1);
        assert_eq!(wanted.checked(vec![mine.clone(), other], range).unwrap(), [mine]);
    }

    #[test]
    fn what_a_contract_emitted_before_its_first_block_is_left_out() {
        let wanted = Wanted::new(
            [(1, 5), (2, 6)].map(|(n, start)| listed(Address::repeat_byte(n), start)),
            None,
        );
        let range = Asked::Range { from: 0, to: 9 };
        let logs = vec![log(1, TOPICS[0], 0), log(2, TOPICS[0], 1)];
        assert_eq!(wanted.checked(logs.clone(), range).unwrap(), logs[..1]);
        assert!(!wanted.begins_by(4) && wanted.begins_by(5));
    }
}
