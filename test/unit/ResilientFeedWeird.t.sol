// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {WeirdFeed} from "../mocks/weird/WeirdFeed.sol";
import {START} from "../utils/Defaults.sol";
import {FEED_GAS, FeedTest, PERCENT, PRICE, PRIMARY_DECIMALS, PRIMARY_ROUND} from "../utils/FeedTest.sol";
import {Config} from "contracts/CircuitBreaker.sol";
import {Source} from "contracts/FeedChoice.sol";
import {GuardedCall} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {FeedConfig, ResilientFeed} from "contracts/ResilientFeed.sol";
import {AggregatorV3Interface} from "contracts/interfaces/AggregatorV3Interface.sol";

/// @notice Feeds that answer what no feed should, on either side; and callers that are stingy with gas.
/// @dev    What a weird primary does is recorded and the backup is served. A weird backup is not listened to.
contract ResilientFeedWeirdTest is FeedTest {
    WeirdFeed private weird;
    ResilientFeed private overWeird;
    ResilientFeed private withWeirdBackup;

    function setUp() public override {
        super.setUp();
        weird = new WeirdFeed();
        weird.answer(AggregatorV3Interface.decimals.selector, abi.encode(PRIMARY_DECIMALS));
        weird.answer(_latest(), _healthy());
        _primaryAnswers(PRICE);
        _backupAnswers(PRICE);

        FeedConfig memory feeds = _feeds();
        feeds.primary = AggregatorV3Interface(address(weird));
        Config memory config = _plain();
        config.failureThreshold = 10; // more than a test makes
        overWeird = new ResilientFeed(feeds, config);
        feeds = _feeds();
        feeds.backup = AggregatorV3Interface(address(weird));
        withWeirdBackup = new ResilientFeed(feeds, _plain());
        skip(1);
        _primaryAnswers(PRICE + PERCENT);
        _backupAnswers(PRICE + PERCENT);
    }

    // ─── given a feed that answers with other bytes ───

    modifier givenAFeedThatAnswersWithOtherBytes() {
        _;
    }

    function test_WhenItAnswersNothing() external givenAFeedThatAnswersWithOtherBytes {
        weird.answer(_latest(), "");
        _comesTo(Outcome.BadReturn);
    }

    function test_WhenAByteIsMissing() external givenAFeedThatAnswersWithOtherBytes {
        bytes memory healthy = _healthy();
        assembly ("memory-safe") {
            mstore(healthy, 159)
        }
        weird.answer(_latest(), healthy);
        _comesTo(Outcome.BadReturn);
    }

    function test_WhenThereAreMoreWordsThanAskedFor() external givenAFeedThatAnswersWithOtherBytes {
        weird.answer(
            _latest(), bytes.concat(abi.encode(PRIMARY_ROUND, PRICE, START, START + 60, PRIMARY_ROUND), new bytes(32))
        );
        _use(overWeird);
        _serves(Source.Primary, PRICE, START + 60);
        _probes(Outcome.Ok);
        _assertUnmoved();
    }

    function test_WhenItAnswersWithMoreThanIsCopied() external givenAFeedThatAnswersWithOtherBytes {
        vm.etch(address(weird), hex"620100005ff3"); // 65,536 bytes
        _comesTo(Outcome.ReturnTooLarge);
        vm.etch(address(weird), hex"6104015ff3"); // 1,025
        _comesTo(Outcome.ReturnTooLarge);
        vm.etch(address(weird), hex"6104005ff3"); // 1,024, and the price in them is zero
        _comesTo(Outcome.Rejected);
    }

    function test_WhenTheRoundHasDirtyBits() external givenAFeedThatAnswersWithOtherBytes {
        weird.answer(_latest(), abi.encode(uint256(1) << 80, PRICE, START, START, 1));
        _comesTo(Outcome.BadReturn);
    }

    function test_WhenItBurnsAllItsGas() external givenAFeedThatAnswersWithOtherBytes {
        weird.burn(_latest());
        _comesTo(Outcome.BudgetSpent);
    }

    function test_WhenItsCodeIsGone() external givenAFeedThatAnswersWithOtherBytes {
        vm.etch(address(weird), "");
        _comesTo(Outcome.NoCode);
    }

    function _comesTo(Outcome expected) private {
        _use(overWeird);
        _serves(Source.Backup, PRICE + PERCENT, block.timestamp);
        _assertUnmoved();
        _isRecorded(expected);

        _use(withWeirdBackup);
        _serves(Source.Primary, PRICE + PERCENT, block.timestamp);
        _isNotHeard();
    }

    function _isRecorded(Outcome expected) private {
        breaker.failureCount = feed.breaker().failureCount + 1;
        breaker.lastFailureAt = uint40(block.timestamp);
        _probes(expected);
        _assertCounted();
    }

    function _isNotHeard() private {
        uint64 before = last.updatedAt;
        _probes(Outcome.Ok);
        if (before != block.timestamp) _assertRefreshed(PRICE + PERCENT, block.timestamp);
        else _assertUnmoved();
    }

    // ─── given a feed that tells its decimals with other bytes ───

    /// Reads do not ask for them, so this is about probes.
    modifier givenAFeedThatTellsItsDecimalsWithOtherBytes() {
        _;
    }

    function test_WhenAByteOfThemIsMissing() external givenAFeedThatTellsItsDecimalsWithOtherBytes {
        weird.answer(AggregatorV3Interface.decimals.selector, new bytes(31));
        _decimalsComeTo(Outcome.BadReturn);
    }

    function test_WhenTheyNeedMoreThanAByte() external givenAFeedThatTellsItsDecimalsWithOtherBytes {
        weird.answer(AggregatorV3Interface.decimals.selector, abi.encode(256 + PRIMARY_DECIMALS));
        _decimalsComeTo(Outcome.BadReturn);
    }

    function test_WhenAskingForThemBurnsAllGas() external givenAFeedThatTellsItsDecimalsWithOtherBytes {
        weird.burn(AggregatorV3Interface.decimals.selector);
        _decimalsComeTo(Outcome.BudgetSpent);
    }

    function _decimalsComeTo(Outcome expected) private {
        _use(overWeird);
        _isRecorded(expected);
        _use(withWeirdBackup);
        // Heard, it would contradict: the primary is ten times as high.
        vm.warp(block.timestamp + 3600);
        _primaryAnswers(10 * PRICE);
        _probes(Outcome.Ok);
        _assertRefreshed(10 * PRICE, block.timestamp);
    }

    // ─── given healthy feeds that need nearly all of their budget ───

    uint256 private constant MOST = 700_000;

    modifier givenHealthyFeedsThatNeedNearlyAllOfTheirBudget() {
        weird.leaveOnly(_latest(), 300);
        weird.leaveOnly(AggregatorV3Interface.decimals.selector, 300);
        weird.answer(_latest(), _healthy());
        _use(overWeird);
        _;
    }

    function test_WhenItIsReadWithAnyGas_Row02() external givenHealthyFeedsThatNeedNearlyAllOfTheirBudget {
        uint256 least = _least(abi.encodeCall(ResilientFeed.latestRoundData, ()));
        for (uint256 gas = 21_000; gas < MOST; gas += gas > least - 500 && gas < least + 500 ? 1 : 487) {
            (bool ok, bytes memory answer) =
                address(feed).call{gas: gas}(abi.encodeCall(ResilientFeed.latestRoundData, ()));
            if (!ok) {
                _wants(answer);
                continue;
            }
            (, int256 price,, uint256 updatedAt,) = abi.decode(answer, (uint80, int256, uint256, uint256, uint80));
            assertEq(price, PRICE, "fell back");
            assertEq(updatedAt, block.timestamp, "updatedAt");
        }
        _assertUnmoved();
    }

    function test_WhenItIsProbedWithAnyGas_Row02() external givenHealthyFeedsThatNeedNearlyAllOfTheirBudget {
        _sweep();
    }

    function test_WhenItIsProbedForTheMostWorkWithAnyGas_Row02()
        external
        givenHealthyFeedsThatNeedNearlyAllOfTheirBudget
    {
        // The last call is the backup's: nothing is left over from it for what comes after.
        _use(withWeirdBackup);
        _storeHalfOpen();
        _sweep();
        feed.probe(id);
        _becomesClosed();
        _assertStored();
    }

    /// Every refusal leaves everything as it is, and every probe that gets through is Ok.
    function _sweep() private {
        bytes memory call = abi.encodeCall(ResilientFeed.probe, (id));
        uint256 least = _least(call);
        uint256 passed;
        for (uint256 gas = 21_000; gas < MOST; gas += gas > least - 500 && gas < least + 500 ? 1 : 487) {
            uint256 snapshot = vm.snapshotState();
            (bool ok, bytes memory answer) = address(feed).call{gas: gas}(call);
            if (!ok) {
                _wants(answer);
                _assertStored();
            } else {
                assertEq(uint8(abi.decode(answer, (Outcome))), uint8(Outcome.Ok), "blamed");
                assertEq(feed.lastGood().updatedAt, block.timestamp, "not refreshed");
                ++passed;
            }
            vm.revertToStateAndDelete(snapshot);
        }
        assertGt(passed, 500, "hardly any passed");
    }

    /// The least gas that a call gets through with.
    function _least(bytes memory call) private returns (uint256 least) {
        uint256 most = MOST;
        while (least + 1 < most) {
            uint256 gas = (least + most) / 2;
            uint256 snapshot = vm.snapshotState();
            (bool ok,) = address(feed).call{gas: gas}(call);
            vm.revertToStateAndDelete(snapshot);
            if (ok) most = gas;
            else least = gas;
        }
        return most;
    }

    function _wants(bytes memory reason) private pure {
        assertEq(bytes4(reason), GuardedCall.InsufficientGas.selector, "another reason");
    }

    function _healthy() private view returns (bytes memory) {
        return abi.encode(uint80(1), PRICE, block.timestamp, block.timestamp, uint80(1));
    }
}
