// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Host} from "./Host.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";

/// @notice The same behaviour over the storage layout that circuit breakers in Solidity were first described with: the
///         counters in one slot, each time in a slot of its own, and zero where nothing is due.
/// @dev    For comparison only. It has no lock.
contract ArticleLayout is Host {
    enum Status {
        CLOSED,
        OPEN
    }

    event Opened(uint256 retryAt);
    event Closed();

    // slot 0
    Status private _status;
    uint8 private _failureCount;
    uint8 private _failureThreshold;
    // slot 1
    uint256 private _cooldown;
    // slot 2
    uint256 private _retryAt;

    constructor(IHuman primary_, IHuman secondary_, uint8 failureThreshold, uint256 cooldown)
        Host(primary_, secondary_)
    {
        _failureThreshold = failureThreshold;
        _cooldown = cooldown;
    }

    function ask() external view override returns (string memory) {
        if (_mayTry()) {
            try primary.speak() returns (string memory answer) {
                return answer;
            } catch {}
        }
        return secondary.speak();
    }

    function safeAsk() external override returns (string memory) {
        if (_mayTry()) {
            try primary.speak() returns (string memory answer) {
                _success();
                return answer;
            } catch {
                _fail();
            }
        }
        return secondary.speak();
    }

    function probe(bytes32) external override returns (Outcome) {
        if (!_mayTry()) return Outcome.NotTried;
        try primary.speak() returns (string memory) {
            _success();
            return Outcome.Ok;
        } catch {
            _fail();
            return Outcome.Reverted;
        }
    }

    function _mayTry() private view returns (bool) {
        return _status == Status.CLOSED || block.timestamp >= _retryAt;
    }

    function _success() private {
        bool wasOpen = _status == Status.OPEN;
        _status = Status.CLOSED;
        _failureCount = 0;
        _retryAt = 0;
        if (wasOpen) emit Closed();
    }

    function _fail() private {
        if (_status == Status.CLOSED && ++_failureCount < _failureThreshold) return;
        _status = Status.OPEN;
        _retryAt = block.timestamp + _cooldown;
        emit Opened(_retryAt);
    }
}
