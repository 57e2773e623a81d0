//! The layout of the word, against what the compiler says about the contract's struct.

use alloy::{
    primitives::{B256, U256, b256},
    sol_types::{SolEvent, SolStruct, SolValue},
};
use fusebox_bindings::{
    Fields, ICircuitBreaker, LATCH, NEVER, ONCE_PER_BLOCK, PROBE_ONLY, Resilient, Word, events,
};
use proptest::prelude::*;

/// The name and width of each member, in declaration order, as the generated ABI type spells the struct.
fn members() -> Vec<(String, usize)> {
    let signature = ICircuitBreaker::Breaker::eip712_root_type();
    let list = signature.strip_prefix("Breaker(").and_then(|rest| rest.strip_suffix(')')).unwrap();
    list.split(',')
        .map(|member| {
            let (kind, name) = member.split_once(' ').unwrap();
            // An enum of up to 256 members takes a byte.
            (name.to_owned(), kind.strip_prefix("uint").map_or(8, |bits| bits.parse().unwrap()))
        })
        .collect()
}

/// Packs ABI-encoded members as Solidity packs storage: lowest first, without gaps.
fn pack(encoded: &[u8]) -> U256 {
    let (mut word, mut at) = (U256::ZERO, 0);
    for ((_, bits), value) in members().iter().zip(encoded.chunks(32)) {
        word |= U256::from_be_slice(value) << at;
        at += bits;
    }
    word
}

#[test]
fn the_struct_has_the_members_of_fields_in_their_order_and_fills_the_slot() {
    let debug = format!("{:?}", Fields::default()).replace('_', "").to_lowercase();
    let mut rest = debug.as_str();
    for (name, _) in members() {
        let at = rest
            .find(&format!("{}:", name.to_lowercase()))
            .unwrap_or_else(|| panic!("{name} is out of order"));
        rest = &rest[at + name.len()..];
    }
    assert_eq!(members().len(), 13);
    assert_eq!(members().iter().map(|(_, bits)| bits).sum::<usize>(), 256);
}

proptest! {
    #[test]
    fn a_packed_struct_is_the_word_of_its_fields(raw: [u64; 13]) {
        let encoded: Vec<u8> = members()
            .iter()
            .zip(raw)
            .flat_map(|((_, bits), value)| U256::from(value & ((1 << bits) - 1)).to_be_bytes::<32>())
            .collect();
        let fields = Fields::from(ICircuitBreaker::Breaker::abi_decode(&encoded).unwrap());
        prop_assert_eq!(Word::from(fields), Word(pack(&encoded)));
        prop_assert_eq!(Fields::from(Resilient::Breaker::abi_decode(&encoded).unwrap()), fields);
    }

    #[test]
    fn a_hostile_answer_for_a_struct_is_an_error_or_fields(encoded in prop::collection::vec(any::<u8>(), 0..=450)) {
        if let Ok(breaker) = ICircuitBreaker::Breaker::abi_decode(&encoded) {
            let fields = Fields::from(breaker);
            prop_assert_eq!(Fields::from(Word::from(fields)), fields);
        }
    }
}

#[test]
fn each_field_has_its_place() {
    // One hexadecimal digit pattern a field, high bits to low.
    let word = Word(
        U256::from_str_radix(
            "dcba9876543210fedcba98765432100102030405060708090a0b0c0d0e0f1011",
            16,
        )
        .unwrap(),
    );
    assert_eq!(word.probed_at(), 0xdc);
    assert_eq!(word.flags(), 0xba);
    assert_eq!(word.last_failure_at(), 0x98_7654_3210);
    assert_eq!(word.window(), 0xfedc_ba98);
    assert_eq!(word.max_cooldown(), 0x7654_3210);
    assert_eq!(word.reopen_count(), 0x01);
    assert_eq!(word.success_threshold(), 0x02);
    assert_eq!(word.success_count(), 0x03);
    assert_eq!(word.retry_at(), 0x04_0506_0708);
    assert_eq!(word.cooldown(), 0x090a_0b0c);
    assert_eq!(word.failure_threshold(), 0x0d0e);
    assert_eq!(word.failure_count(), 0x0f10);
    assert_eq!(word.status(), 0x11);
}

#[test]
fn a_word_reads_like_the_output_of_cast_storage() {
    assert_eq!(Word::default().to_string(), format!("0x{}", "0".repeat(64)));
    assert_eq!(Word(U256::from(0xf05e)).to_string(), B256::from(U256::from(0xf05e)).to_string());
}

#[test]
fn a_time_past_never_is_never() {
    for (time, stored) in
        [(NEVER - 1, NEVER - 1), (NEVER, NEVER), (NEVER + 1, NEVER), (u64::MAX, NEVER)]
    {
        let word =
            Word::from(Fields { retry_at: time, last_failure_at: time, ..Fields::default() });
        assert_eq!((word.retry_at(), word.last_failure_at()), (stored, stored));
        assert_eq!(
            word.0.count_ones(),
            2 * stored.count_ones() as usize,
            "it spilled into a neighbour"
        );
    }
}

#[test]
fn flags_and_never_are_those_of_the_contract() {
    assert_eq!((LATCH, ONCE_PER_BLOCK, PROBE_ONLY, NEVER), (1, 2, 4, 1_099_511_627_775));
}

/// Published: deployed hosts emit them, dashboards filter by them.
#[test]
fn the_topics_of_the_events_are_what_they_were() {
    assert_eq!(
        events::Opened::SIGNATURE_HASH,
        b256!("ee5ea1dd5aa2495d78d6aead37b7022a9237622c9b395c5a20ac854b30814eac")
    );
    assert_eq!(
        events::Closed::SIGNATURE_HASH,
        b256!("7b6ac8bce3193cb9464e9070476bf8926e449f5f743f8c7578eea15265467d79")
    );
    assert_eq!(
        events::Configured::SIGNATURE_HASH,
        b256!("7046fbd8e6bcb21f8b58f038cf444fb08fbeb6da8fd8a909d7cc9127d721d77b")
    );
    assert_eq!(Resilient::Opened::SIGNATURE_HASH, events::Opened::SIGNATURE_HASH);
    assert_eq!(Resilient::Closed::SIGNATURE_HASH, events::Closed::SIGNATURE_HASH);
}
