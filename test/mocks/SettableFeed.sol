// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {AggregatorV3Interface} from "../../contracts/interfaces/AggregatorV3Interface.sol";

/// @title  SettableFeed
/// @notice A feed that says what the test wants it to say, and is down when the test wants that.
contract SettableFeed is AggregatorV3Interface {
    error Down();

    uint8 private _decimals;
    bool private _down;
    uint80 private _roundId;
    int256 private _answer;
    uint256 private _startedAt;
    uint256 private _updatedAt;
    uint80 private _answeredInRound;

    /// @param firstRound Rounds of feeds under test start far apart, so that a round tells whose it is.
    constructor(uint8 decimals_, uint80 firstRound) {
        _decimals = decimals_;
        _roundId = firstRound - 1;
    }

    /// @notice The next round, complete.
    function answers(int256 answer, uint256 updatedAt) external {
        ++_roundId;
        _answeredInRound = _roundId;
        _answer = answer;
        _startedAt = updatedAt - 7;
        _updatedAt = updatedAt;
    }

    function setRound(uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
        external
    {
        _roundId = roundId;
        _answer = answer;
        _startedAt = startedAt;
        _updatedAt = updatedAt;
        _answeredInRound = answeredInRound;
    }

    function setDecimals(uint8 decimals_) external {
        _decimals = decimals_;
    }

    function setDown(bool down) external {
        _down = down;
    }

    function decimals() external view returns (uint8) {
        return _decimals;
    }

    function description() external pure returns (string memory) {
        return "a feed under test";
    }

    function version() external pure returns (uint256) {
        return 4;
    }

    function getRoundData(uint80) external pure returns (uint80, int256, uint256, uint256, uint80) {
        revert Down(); // nothing may ask for history
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        if (_down) revert Down();
        return (_roundId, _answer, _startedAt, _updatedAt, _answeredInRound);
    }
}
