//! Outcomes and causes: names for people, numbers for what nobody has named yet.

use fusebox_bindings::{Cause, Outcome, UnknownOutcome};

#[test]
fn each_outcome_has_the_byte_and_the_word_of_the_specification() {
    let words = [
        "ok",
        "reverted",
        "budget-spent",
        "no-code",
        "bad-return",
        "return-too-large",
        "rejected",
        "forced",
        "flagged",
        "not-tried",
    ];
    for (byte, word) in (0..).zip(words) {
        let outcome = Outcome::try_from(byte).unwrap();
        assert_eq!(outcome.to_string(), word);
        assert_eq!(u8::from(outcome), byte);
        assert_eq!(Outcome::ALL[usize::from(byte)], outcome);
    }
    assert_eq!(Outcome::ALL.len(), words.len());
}

#[test]
fn an_unknown_outcome_is_an_error_that_names_the_byte() {
    for byte in 10..=u8::MAX {
        assert_eq!(Outcome::try_from(byte), Err(UnknownOutcome(byte)));
    }
    assert_eq!(UnknownOutcome(10).to_string(), "unknown outcome 10");
}

#[test]
fn an_unknown_cause_keeps_its_number() {
    assert_eq!(Cause(9).to_string(), "not-tried");
    assert_eq!(Cause(10).to_string(), "10");
    assert_eq!(Cause(255).to_string(), "255");
    assert_eq!(Cause(255).outcome(), None);
    assert_eq!(Cause::from(Outcome::Flagged), Cause(8));
    assert_eq!(format!("{:>9}|{:<9}|", Cause(2), Cause(77)), "budget-spent|77       |");
}
