// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

/// @title  AggregatorV3Interface
/// @notice A Chainlink price feed, and whatever else speaks like one. Names and types are Chainlink's, since consumers
///         compile against them.
interface AggregatorV3Interface {
    /// @notice Decimals of every answer: with 8, an answer of 123,000,000 is 1.23.
    function decimals() external view returns (uint8);

    /// @notice What is priced, such as "ETH / USD".
    function description() external view returns (string memory);

    /// @notice The version of the feed's code, for people.
    function version() external view returns (uint256);

    /// @notice One round. Parameters and results as in `latestRoundData`.
    function getRoundData(uint80 roundId)
        external
        view
        returns (uint80, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);

    /// @notice The newest round.
    /// @return roundId         Identifies the round, within the feed that gave it.
    /// @return answer          The price, in `decimals()`; the type admits zero and less, a price is neither.
    /// @return startedAt       Unix seconds at which the round started.
    /// @return updatedAt       Unix seconds at which the answer was given; 0 while the round is not complete.
    /// @return answeredInRound The round that the answer is from; below `roundId` where it was carried over.
    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
}
