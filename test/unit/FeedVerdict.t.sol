// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {START} from "../utils/Defaults.sol";
import {Readings} from "../utils/Readings.sol";
import {FeedChoice, Reading} from "contracts/FeedChoice.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Test} from "forge-std/Test.sol";

/// @notice What a probe makes of the primary. With 500 basis points, 50 of 1,000 are allowed.
contract FeedVerdictTest is Test {
    uint256 private constant BPS = 500;

    Reading private primary;
    Reading private backup;
    Reading private last;

    // ─── given the primary is not sound ───

    modifier givenThePrimaryIsNotSound() {
        backup = Readings.sound(1000);
        last = Readings.sound(1000);
        _;
    }

    function test_WhenItFailed() external givenThePrimaryIsNotSound {
        for (uint8 outcome = 1; outcome <= uint8(type(Outcome).max); ++outcome) {
            primary = Readings.failed(Outcome(outcome));
            _counts(Outcome(outcome));
        }
    }

    function test_WhenItIsStale() external givenThePrimaryIsNotSound {
        primary = Readings.stale(1000);
        _counts(Outcome.Rejected);
    }

    function test_WhenTheBackupIsNotSoundEither() external givenThePrimaryIsNotSound {
        primary = Readings.stale(1000);
        backup = Readings.failed(Outcome.Reverted);
        _counts(Outcome.Rejected);
    }

    // ─── given both feeds are sound ───

    modifier givenBothFeedsAreSound() {
        primary = Readings.sound(1000);
        backup = Readings.sound(1000);
        last = Readings.sound(1000);
        _;
    }

    function test_WhenTheyDifferByOneLessThanAllowed() external givenBothFeedsAreSound {
        backup.answer = 1049;
        _counts(Outcome.Ok);
    }

    function test_WhenTheyDifferByJustWhatIsAllowed() external givenBothFeedsAreSound {
        backup.answer = 1050;
        _counts(Outcome.Ok);
    }

    function test_WhenTheyDifferByOneMoreThanAllowed() external givenBothFeedsAreSound {
        backup.answer = 1051;
        _counts(Outcome.Rejected);
    }

    function test_WhenTheyAgreeFarFromAFreshLastGoodAnswer() external givenBothFeedsAreSound {
        last.answer = 2000;
        _counts(Outcome.Ok);
    }

    /// The last good answer may be where a lying primary pulled it: it does not speak against the backup here.
    function test_WhenTheyDisagreeAndOnlyTheBackupIsFarFromAFreshLastGoodAnswer() external givenBothFeedsAreSound {
        primary.answer = 1090;
        last.answer = 1060;
        _counts(Outcome.Rejected);
    }

    // ─── given only the primary is sound ───

    modifier givenOnlyThePrimaryIsSound() {
        primary = Readings.sound(1000);
        backup = Readings.stale(1000);
        last = Readings.sound(1000);
        _;
    }

    function test_WhenItIsJustTheAllowedFromAFreshLastGoodAnswer() external givenOnlyThePrimaryIsSound {
        primary.answer = 950;
        _counts(Outcome.Ok);
        primary.answer = 1050;
        _counts(Outcome.Ok);
    }

    function test_WhenItIsOneMoreThanTheAllowedFromAFreshLastGoodAnswer() external givenOnlyThePrimaryIsSound {
        primary.answer = 949;
        _judges(Outcome.Rejected, 0);
        primary.answer = 1051;
        _judges(Outcome.Rejected, 0);
    }

    function test_WhenItIsFarFromAStaleLastGoodAnswer() external givenOnlyThePrimaryIsSound {
        last = Readings.stale(2000);
        _counts(Outcome.Ok);
    }

    function test_WhenThereNeverWasALastGoodAnswer() external givenOnlyThePrimaryIsSound {
        delete last;
        _counts(Outcome.Ok);
    }

    function _counts(Outcome expected) private view {
        _judges(expected, 1);
    }

    function _judges(Outcome expected, uint16 expectedWeight) private view {
        (Outcome outcome, uint16 weight) = FeedChoice.verdict(primary, backup, last, BPS, START);
        assertEq(uint8(outcome), uint8(expected), "outcome");
        assertEq(weight, expectedWeight, "weight");
    }
}
