//! Case 17: how long a slot is.

use fusebox_builder::{ChainSpecError, SlotClock};
use serde_json::{Value, json};

fn clock(config: Value) -> Result<SlotClock, ChainSpecError> {
    SlotClock::from_config(config.as_object().unwrap())
}

#[test]
fn case_17_slots_are_counted_in_the_networks_own_length() {
    let gnosis = clock(json!({"SECONDS_PER_SLOT": "5", "SLOTS_PER_EPOCH": "16", "X": [1]}));
    let gnosis = gnosis.unwrap();
    assert_eq!((gnosis.slot_at(504_999), gnosis.slot_at(505_000)), (100, 101));
    assert_eq!(gnosis.slots_per_epoch.get(), 16);
    let minimal = clock(json!({"SECONDS_PER_SLOT": "6", "SLOTS_PER_EPOCH": "8"})).unwrap();
    assert_eq!((minimal.slot_at(606_000), minimal.tick(101)), (101, 608_000));
    let ms = clock(json!({"SLOT_DURATION_MS": "12000", "SLOTS_PER_EPOCH": 32})).unwrap();
    assert_eq!(ms.slot_at(1_212_000), 101);
    let both =
        json!({"SLOT_DURATION_MS": "12000", "SECONDS_PER_SLOT": "12", "SLOTS_PER_EPOCH": "32"});
    assert_eq!(clock(both).unwrap(), ms);
    assert_eq!(ms.slot_at(-1), 0);
}

#[test]
fn case_17_two_lengths_or_none_are_refused() {
    let two =
        json!({"SLOT_DURATION_MS": "12000", "SECONDS_PER_SLOT": "6", "SLOTS_PER_EPOCH": "32"});
    assert_eq!(clock(two), Err(ChainSpecError::TwoSlotLengths { ms: 12_000, seconds: 6 }));
    let none = json!({"SLOTS_PER_EPOCH": "32"});
    assert_eq!(clock(none), Err(ChainSpecError::NoSlotLength));
    for wrong in ["0", "", "-1", "x", "18446744073709551615"] {
        let config = json!({"SECONDS_PER_SLOT": wrong, "SLOTS_PER_EPOCH": "32"});
        assert!(clock(config).is_err(), "{wrong}");
    }
    for epoch in ["0", "33", "x"] {
        let config = json!({"SECONDS_PER_SLOT": "12", "SLOTS_PER_EPOCH": epoch});
        assert!(clock(config).is_err(), "{epoch}");
    }
}
