//! What may happen to a breaker, drawn where it hurts: at bounds, at full scale, and as in a host's life.

use alloy::primitives::U256;
use fusebox_bindings::{Config, Event, Fields, NEVER, TRIP_AT_ONCE, Word};
use proptest::prelude::*;

/// Any 256 bits, with a status byte that is often one of the library's.
pub(crate) fn word() -> impl Strategy<Value = Word> {
    (any::<[u64; 4]>(), prop_oneof![3 => 0u8..2, 1 => any::<u8>()]).prop_map(|(limbs, status)| {
        let fields = Fields::from(Word(U256::from_limbs(limbs)));
        Word::from(Fields { status, ..fields })
    })
}

/// Anything, the last seconds before 2^40, and round numbers near those that deadlines and windows are made of.
pub(crate) fn time() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), NEVER - 300..NEVER + 300, 0u64..3_000, 0..=NEVER]
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Success),
        4 => weight().prop_map(|weight| Event::Failure { weight }),
        1 => prop_oneof![Just(0), time()].prop_map(|until| Event::Trip { until }),
        1 => Just(Event::Reset),
    ]
}

fn weight() -> impl Strategy<Value = u16> {
    prop_oneof![5 => Just(1), 2 => 0u16..5, 1 => Just(TRIP_AT_ONCE), 1 => any::<u16>()]
}

prop_compose! {
    pub(crate) fn config()(
        failure_threshold in prop_oneof![1u16..6, 1..=u16::MAX],
        cooldown in prop_oneof![1u32..100, 1..=u32::MAX],
        success_threshold in prop_oneof![1u8..4, 1..=u8::MAX],
        factor in 1u32..20,
        window in prop_oneof![Just(0), 1u32..100, any::<u32>()],
        flags in 0u8..8,
    ) -> Config {
        let max_cooldown = cooldown.saturating_mul(factor);
        Config { failure_threshold, cooldown, success_threshold, max_cooldown, window, flags }
    }
}

/// What may happen to a breaker in a host's life, with the seconds since the last time. Clocks step back, too.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Step(Event),
    Configure(Config),
}

pub(crate) fn life() -> impl Strategy<Value = (Config, u64, Vec<(Act, i64)>)> {
    let act =
        prop_oneof![20 => event().prop_map(Act::Step), 1 => config().prop_map(Act::Configure)];
    let passed = prop_oneof![3 => Just(0), 6 => 1i64..200, 1 => -50i64..0, 1 => 0i64..1 << 34];
    let start = prop_oneof![4 => 1_700_000_000u64..1_800_000_000, 1 => 0u64..100, 1 => NEVER - 1_000..NEVER];
    (config(), start, prop::collection::vec((act, passed), 1..60))
}
