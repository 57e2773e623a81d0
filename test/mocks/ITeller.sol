// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @title  ITeller
/// @notice A human who also takes money: an answer of each type that there is, a view, and a payable function.
interface ITeller is IHuman {
    function read(uint256 page) external view returns (string memory);
    function deposit(address to) external payable returns (uint256 total);
    function accepts(address who) external returns (bool);
    function vault() external returns (address);
    function change() external returns (int256);
}
