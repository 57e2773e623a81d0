//! Reverts of a probe: five kinds, and nothing else passes for one.

use alloy::{
    primitives::{Address, B256, U256},
    sol_types::{Revert, SolError},
};
use fusebox_bindings::{CircuitBreaker, GuardedCall, ICircuitBreaker, ProbeRevert};

#[test]
fn each_revert_of_a_probe_is_told_from_the_others() {
    let breaker = B256::repeat_byte(7);
    let (needed, available) = (U256::from(2), U256::from(1));
    let cases = [
        (
            GuardedCall::InsufficientGas { needed, available }.abi_encode(),
            ProbeRevert::InsufficientGas { needed, available },
        ),
        (
            ICircuitBreaker::UnknownBreaker { breaker }.abi_encode(),
            ProbeRevert::UnknownBreaker(breaker),
        ),
        (CircuitBreaker::BreakerNotConfigured {}.abi_encode(), ProbeRevert::NotConfigured),
        (ICircuitBreaker::Reentered {}.abi_encode(), ProbeRevert::Reentered),
        (ICircuitBreaker::NotDecorated {}.abi_encode(), ProbeRevert::NotDecorated),
    ];
    for (data, revert) in cases {
        assert_eq!(ProbeRevert::decode(&data), Some(revert));
    }
}

#[test]
fn nothing_else_is_taken_for_one() {
    assert_eq!(ProbeRevert::decode(&[]), None);
    assert_eq!(ProbeRevert::decode(&ICircuitBreaker::Reentered::SELECTOR[..3]), None);
    // The right selector without its arguments.
    assert_eq!(ProbeRevert::decode(&GuardedCall::InsufficientGas::SELECTOR), None);
    assert_eq!(ProbeRevert::decode(&Revert::from("InsufficientGas").abi_encode()), None);
    let no_backup = ICircuitBreaker::NoBackup { backup: Address::ZERO };
    assert_eq!(ProbeRevert::decode(&no_backup.abi_encode()), None);
}
