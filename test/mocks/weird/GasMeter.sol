// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  GasMeter
/// @notice Answers with the gas it was given, measured by its first two instructions.
/// @dev    Bare code, since what a compiler puts in front of a body costs a few dozen gas.
library GasMeter {
    /// GAS, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN: the answer is what was left after the two gas of GAS itself.
    bytes internal constant CODE = hex"5a5f5260205ff3";
    uint256 internal constant OWN_COST = 2;
}
