// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @notice A contract to deploy.
/// @param  name         Its name in the parameter file and in the deployment file.
/// @param  artifact     The contract's name in `contracts/`.
/// @param  hasBreaker   Whether it has a breaker: one, which guards its primary and is called that.
/// @param  creationCode What the compiler made of it.
/// @param  args         What its constructor is given.
/// @param  addr         Where CREATE2 puts it.
struct Planned {
    string name;
    string artifact;
    bool hasBreaker;
    bytes creationCode;
    bytes args;
    address addr;
}
