// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  Shop
/// @notice A contract with all that a proxy has to pass on: reads, effects, value, functions that return nothing,
/// errors of its own, and a multicall that counts the same value several times.
contract Shop {
    error IsClosed(string name);
    error TooLittle(uint256 paid);

    string public name;
    bool public isClosed;
    uint256 public sold;
    uint256 public received;
    address public lastCaller;

    constructor(string memory name_) {
        name = name_;
    }

    receive() external payable {
        if (isClosed) revert IsClosed(name);
        received += msg.value;
    }

    /// @notice Decides about all its functions but the getters.
    function close(bool isClosed_) external {
        isClosed = isClosed_;
    }

    function buy(uint256 price) public payable returns (uint256, string memory) {
        if (isClosed) revert IsClosed(name);
        if (msg.value < price) revert TooLittle(msg.value);
        lastCaller = msg.sender;
        ++sold;
        return (sold, name);
    }

    function ring() external {
        if (isClosed) revert IsClosed(name);
        ++sold;
    }

    function stock() external view returns (string memory) {
        if (isClosed) revert IsClosed(name);
        return name;
    }

    /// @notice The mistake that everybody makes once: each of the calls sees the whole value.
    function multicall(bytes[] calldata calls) external payable returns (bytes[] memory answers) {
        answers = new bytes[](calls.length);
        for (uint256 i; i < calls.length; ++i) {
            (bool ok, bytes memory answer) = address(this).delegatecall(calls[i]);
            if (!ok) revert IsClosed(name);
            answers[i] = answer;
        }
    }

    /// @notice A function that the proxy has, too.
    function owner() external view returns (address) {
        return address(this);
    }

    /// @notice How many bytes it was sent.
    function measure(bytes calldata text) external payable returns (uint256) {
        if (isClosed) revert IsClosed(name);
        ++sold;
        return text.length;
    }
}
