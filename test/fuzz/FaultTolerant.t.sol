// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BareHost} from "../mocks/BareHost.sol";
import {DecoratedHost} from "../mocks/DecoratedHost.sol";
import {ITeller} from "../mocks/ITeller.sol";
import {Teller} from "../mocks/Teller.sol";
import {RawAnswer} from "../mocks/weird/RawAnswer.sol";
import {RawRevert} from "../mocks/weird/RawRevert.sol";
import {Answers} from "../utils/Answers.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {Random, Stream} from "../utils/Random.sol";
import {Word} from "../utils/Word.sol";
import {Breaker, Config} from "contracts/CircuitBreaker.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {Resilient} from "contracts/examples/Resilient.sol";
import {Test} from "forge-std/Test.sol";

/// @notice A host that tells what its policy was told, and uses memory for that.
contract ListeningHost is DecoratedHost {
    event Told(Outcome outcome, bytes32 errorSelector);

    constructor(ITeller primary_, ITeller secondary_, Config memory config, Limits memory limits)
        DecoratedHost(primary_, secondary_, config, limits)
    {}

    function _record(Breaker storage breaker_, Outcome outcome, bytes4 errorSelector) internal override {
        bytes32 whole;
        assembly ("memory-safe") {
            // With what else is in the word, which the compiler would clean away.
            whole := errorSelector
        }
        emit Told(outcome, whole);
        super._record(breaker_, outcome, errorSelector);
    }
}

/// @notice The bare call is the yardstick: where it answers, a host answers with the same bytes; where it reverts, that
///         is recorded and the secondary answers.
contract FaultTolerantFuzzTest is Test {
    using Random for Stream;

    /// Kinds of calls that there are.
    uint256 private constant CALLS = 6;

    Teller private secondary = new Teller("I am the secondary");
    BareHost private bareSecondary = new BareHost(secondary);

    function testFuzz_AnAnswerIsThatOfTheBareCall_Row17(uint256 seed) external {
        Stream memory stream = Stream(seed);
        bytes memory answer = stream.oneIn(2) ? Answers.word(stream) : Answers.text(stream);
        _isAsBare(address(new RawAnswer(answer)), stream);
    }

    function testFuzz_AnyBytesAreAnsweredAsByTheBareCall_Row08(bytes memory answer, uint256 seed) external {
        _isAsBare(address(new RawAnswer(answer)), Stream(seed));
    }

    function testFuzz_AnyRevertIsRecorded(bytes memory data, uint256 seed) external {
        _isAsBare(address(new RawRevert(data)), Stream(seed));
    }

    function testFuzz_APolicyIsToldTheSelector(bytes memory data, bool isProbe) external {
        vm.warp(START);
        ListeningHost host = new ListeningHost(ITeller(address(new RawRevert(data))), secondary, _config(), _limits());
        bytes4 selector;
        if (data.length >= 4) selector = bytes4(data);
        vm.expectEmit(true, true, true, true, address(host));
        emit ListeningHost.Told(Outcome.Reverted, selector);
        if (isProbe) host.probe(host.breakers()[0]);
        else host.vault();
    }

    function testFuzz_APolicyThatUsesMemoryChangesNoAnswer(string memory text) external {
        vm.warp(START);
        ITeller primary = ITeller(address(new RawAnswer(abi.encode(text))));
        ListeningHost host = new ListeningHost(primary, secondary, _config(), _limits());
        vm.expectEmit(true, true, true, true, address(host));
        emit ListeningHost.Told(Outcome.Ok, 0);
        assertEq(host.speak(), text);
    }

    /// Nothing, a selector, and what lies around one, two and three words: what a number needs, or a string.
    function test_AnswersOfEverySizeAreAnsweredAsByTheBareCall_Row08() external {
        uint8[14] memory sizes = [0, 1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 95, 96, 97];
        for (uint256 i; i < sizes.length; ++i) {
            for (uint256 kind; kind < CALLS; ++kind) {
                _isAsBare(address(new RawAnswer(new bytes(sizes[i]))), kind, 0);
            }
        }
    }

    /// Not one bit more than the type has; a number has them all.
    function test_DirtyBitsAreAnsweredAsByTheBareCall_Row08() external {
        uint256[6] memory words =
            [uint256(1), 2, type(uint160).max, uint256(type(uint160).max) + 1, 1 << 255, type(uint256).max];
        for (uint256 i; i < words.length; ++i) {
            for (uint256 kind; kind < CALLS; ++kind) {
                _isAsBare(address(new RawAnswer(abi.encode(words[i], 0))), kind, 0);
            }
        }
    }

    /// A `Resilient` accepts strings from 64 to 4,096 bytes, offset and length included.
    function testFuzz_ResilientAnswersAsTheBareCall_Row08(uint256 seed) external {
        vm.warp(START);
        bytes memory answer = Answers.text(Stream(seed));
        ITeller primary = ITeller(address(new RawAnswer(answer)));
        Resilient host = new Resilient(primary, secondary, THRESHOLD, COOLDOWN);
        Breaker memory breaker = host.breaker();
        try new BareHost(primary).speak() returns (string memory expected) {
            if (answer.length >= 64) {
                assertEq(host.safeAsk(), expected);
                assertEq(vm.load(address(host), 0), bytes32(Word.pack(breaker)), "word");
                return;
            }
        } catch {}
        assertEq(host.safeAsk(), "I am the secondary");
        breaker.failureCount = 1;
        breaker.lastFailureAt = START;
        assertEq(vm.load(address(host), 0), bytes32(Word.pack(breaker)), "word");
    }

    function _isAsBare(address primary, Stream memory stream) private {
        _isAsBare(primary, stream.below(CALLS), stream.below(3));
    }

    /// @param value Sent along by whoever deposits; the bare call is sent as much.
    function _isAsBare(address primary, uint256 kind, uint256 value) private {
        vm.warp(START);
        DecoratedHost host = new DecoratedHost(ITeller(primary), secondary, _config(), _limits());
        bytes memory call = _call(kind);
        if (bytes4(call) != ITeller.deposit.selector) value = 0;
        Breaker memory breaker = host.breaker();
        breaker.failureCount = 1;
        vm.store(address(host), 0, bytes32(Word.pack(breaker)));

        vm.deal(address(this), 2 * value);
        uint256 deposited = secondary.deposits(address(this));
        (bool isGood, bytes memory expected) = address(new BareHost(ITeller(primary))).call{value: value}(call);
        if (!isGood && value == 0) (, expected) = address(bareSecondary).call(call);
        else if (!isGood) expected = abi.encode(deposited + value);
        (bool ok, bytes memory answer) = address(host).call{value: value}(call);
        assertTrue(ok, "reverted");
        assertEq(answer, expected, "answer");
        assertEq(primary.balance, isGood ? 2 * value : 0, "money of the primary");
        assertEq(secondary.deposits(address(this)), deposited + (isGood ? 0 : value), "money of the secondary");
        assertEq(address(host).balance, 0, "money of the host");

        if (bytes4(call) != ITeller.read.selector) {
            breaker.failureCount = isGood ? 0 : 2;
            breaker.lastFailureAt = isGood ? 0 : START;
        }
        assertEq(vm.load(address(host), 0), bytes32(Word.pack(breaker)), "word");
    }

    function _call(uint256 kind) private view returns (bytes memory) {
        if (kind == 0) return abi.encodeCall(ITeller.accepts, (address(this)));
        if (kind == 1) return abi.encodeCall(ITeller.vault, ());
        if (kind == 2) return abi.encodeCall(ITeller.change, ());
        if (kind == 3) return abi.encodeCall(ITeller.deposit, (address(this)));
        if (kind == 4) return abi.encodeCall(ITeller.read, (1));
        return abi.encodeWithSignature("speak()");
    }

    function _config() private pure returns (Config memory) {
        return Config(THRESHOLD, COOLDOWN, 1, COOLDOWN, 0, 0);
    }

    function _limits() private pure returns (Limits memory) {
        return Limits({gas: 1_000_000, reserve: 150_000, maxReturn: 0, minReturn: 0});
    }
}
