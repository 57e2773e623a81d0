// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {START} from "../utils/Defaults.sol";
import {Readings} from "../utils/Readings.sol";
import {FeedChoice, Reading, Source} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice Whose answer is served. With 500 basis points, 50 of 1,000 are allowed.
contract FeedChoiceTest is Test {
    Reading private primary;
    Reading private backup;
    Reading private last;
    uint256 private bps = 500;

    // ─── given the feeds agree ───

    modifier givenTheFeedsAgree() {
        primary = Readings.sound(1000);
        backup = Readings.sound(1000);
        last = Readings.sound(1000);
        _;
        _chooses(Source.Primary);
        // Agreement does not depend on who is called the primary.
        _swap();
        _chooses(Source.Primary);
    }

    function test_WhenTheLastGoodAnswerIsNear() external givenTheFeedsAgree {}

    function test_WhenAFreshLastGoodAnswerIsFar() external givenTheFeedsAgree {
        last = Readings.sound(2000);
    }

    function test_WhenTheyDifferByOneLessThanAllowed() external givenTheFeedsAgree {
        primary = Readings.sound(1049);
    }

    function test_WhenTheyDifferByJustWhatIsAllowed() external givenTheFeedsAgree {
        primary = Readings.sound(1050);
    }

    // ─── given the feeds differ by one more than allowed ───

    modifier givenTheFeedsDifferByOneMoreThanAllowed() {
        primary = Readings.sound(1051);
        backup = Readings.sound(1000);
        _;
    }

    function test_WhenTheLastGoodAnswerIsStale() external givenTheFeedsDifferByOneMoreThanAllowed {
        last = Readings.stale(1000);
        _chooses(Source.None);
    }

    function test_WhenThePrimaryIsNearerToTheFreshOne() external givenTheFeedsDifferByOneMoreThanAllowed {
        last = Readings.sound(1026);
        _chooses(Source.Primary);
    }

    function test_WhenTheBackupIsNearerToTheFreshOne() external givenTheFeedsDifferByOneMoreThanAllowed {
        last = Readings.sound(1025);
        _chooses(Source.Backup);
    }

    function test_WhenBothAreAsNearToTheFreshOne() external givenTheFeedsDifferByOneMoreThanAllowed {
        primary = Readings.sound(1052);
        last = Readings.sound(1026);
        _chooses(Source.Backup);
    }

    function test_WhenOnlyThePrimaryIsNearTheFreshOne() external givenTheFeedsDifferByOneMoreThanAllowed {
        last = Readings.sound(1060);
        _chooses(Source.Primary);
    }

    function test_WhenOnlyTheBackupIsNearTheFreshOne() external givenTheFeedsDifferByOneMoreThanAllowed {
        last = Readings.sound(990);
        _chooses(Source.Backup);
    }

    function test_WhenNeitherIsNearTheFreshOne() external givenTheFeedsDifferByOneMoreThanAllowed {
        last = Readings.sound(500);
        _chooses(Source.LastGood);
    }

    // ─── given a sound primary without a backup ───

    modifier givenASoundPrimaryWithoutABackup() {
        backup = Readings.stale(1000);
        last = Readings.sound(1000);
        _;
    }

    function test_WhenItIsOneLessThanTheAllowedAboveTheFreshOne() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(1049);
        _chooses(Source.Primary);
    }

    function test_WhenItIsJustTheAllowedAboveTheFreshOne() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(1050);
        _chooses(Source.Primary);
    }

    function test_WhenItIsOneMoreThanTheAllowedAboveTheFreshOne() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(1051);
        _chooses(Source.LastGood);
    }

    function test_WhenItIsOneLessThanTheAllowedBelowTheFreshOne() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(951);
        _chooses(Source.Primary);
    }

    function test_WhenItIsJustTheAllowedBelowTheFreshOne() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(950);
        _chooses(Source.Primary);
    }

    function test_WhenItIsOneMoreThanTheAllowedBelowTheFreshOne() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(949);
        _chooses(Source.LastGood);
    }

    function test_WhenTheLastGoodAnswerHasJustBecomeStale() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(1051);
        last = Readings.stale(1000);
        last.updatedAt += 1;
        _chooses(Source.LastGood);
        last.updatedAt -= 1;
        _chooses(Source.Primary);
    }

    function test_WhenThereNeverWasALastGoodAnswer() external givenASoundPrimaryWithoutABackup {
        primary = Readings.sound(1051);
        delete last;
        _chooses(Source.Primary);
    }

    // ─── given a sound backup without a primary ───

    modifier givenASoundBackupWithoutAPrimary() {
        primary = Readings.failed(Outcome.NotTried);
        backup = Readings.sound(1000);
        _;
    }

    function test_WhenItIsNearTheFreshOne() external givenASoundBackupWithoutAPrimary {
        last = Readings.sound(1001);
        _chooses(Source.Backup);
    }

    function test_WhenItIsFarFromTheFreshOne() external givenASoundBackupWithoutAPrimary {
        last = Readings.sound(1100);
        _chooses(Source.LastGood);
    }

    function test_WhenItIsFarFromAStaleOne() external givenASoundBackupWithoutAPrimary {
        last = Readings.stale(1100);
        _chooses(Source.Backup);
    }

    // ─── given neither feed is sound ───

    modifier givenNeitherFeedIsSound() {
        primary = Readings.failed(Outcome.Reverted);
        backup = Readings.stale(1000);
        _;
    }

    function test_WhenTheLastGoodAnswerIsFresh() external givenNeitherFeedIsSound {
        last = Readings.sound(1000);
        _chooses(Source.LastGood);
    }

    function test_WhenTheLastGoodAnswerIsStaleToo() external givenNeitherFeedIsSound {
        last = Readings.stale(1000);
        _chooses(Source.None);
    }

    function test_WhenTheLastGoodAnswerIsFromTheFuture() external givenNeitherFeedIsSound {
        last = Readings.sound(1000);
        last.updatedAt = START + 1;
        _chooses(Source.None);
    }

    // ─── given numbers at their limits ───

    modifier givenNumbersAtTheirLimits() {
        last = Readings.stale(type(int256).max);
        _;
    }

    function test_WhenBothFeedsGiveTheGreatestNumber() external givenNumbersAtTheirLimits {
        primary = Readings.sound(type(int256).max);
        backup = Readings.sound(type(int256).max);
        _chooses(Source.Primary);
    }

    function test_WhenOneGivesTheGreatestNumberAndOneGivesOne() external givenNumbersAtTheirLimits {
        primary = Readings.sound(type(int256).max);
        backup = Readings.sound(1);
        bps = 10_000;
        _chooses(Source.None);
        _swap();
        _chooses(Source.None);
    }

    /// Half of it, rounded down, is allowed above half of it: the product with the basis points would not fit.
    function test_WhenTheGreatestNumberIsAllowedToHalve() external givenNumbersAtTheirLimits {
        int256 half = type(int256).max / 2;
        primary = Readings.sound(half);
        backup = Readings.failed(Outcome.Reverted);
        last = Readings.sound(type(int256).max);
        bps = 5000;
        // 2^255 − 1 is odd: half of it is half a unit further away than allowed.
        _chooses(Source.LastGood);
        primary.answer = half + 1;
        _chooses(Source.Primary);
    }

    function test_WhenOneAndTwoDifferByTheWhole() external givenNumbersAtTheirLimits {
        primary = Readings.sound(2);
        backup = Readings.sound(1);
        bps = 9999;
        _chooses(Source.None);
        bps = 10_000;
        _chooses(Source.Primary);
    }

    /// By way of memory: a tuple of storage structs would be assigned one after the other.
    function _swap() private {
        Reading memory swapped = primary;
        primary = backup;
        backup = swapped;
    }

    function _chooses(Source expected) private view {
        Source chosen = FeedChoice.choose(primary, backup, last, bps, START);
        assertEq(uint8(chosen), uint8(expected), "source");
    }
}
