// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "../mocks/Shop.sol";
import {BurnsGas} from "../mocks/weird/BurnsGas.sol";
import {FakedError} from "../mocks/weird/FakedError.sol";
import {HugeAnswer} from "../mocks/weird/HugeAnswer.sol";
import {HugeRevert} from "../mocks/weird/HugeRevert.sol";
import {RawAnswer} from "../mocks/weird/RawAnswer.sol";
import {RawRevert} from "../mocks/weird/RawRevert.sol";
import {Relay} from "../mocks/weird/Relay.sol";
import {RevertsEmpty} from "../mocks/weird/RevertsEmpty.sol";
import {TakesValue} from "../mocks/weird/TakesValue.sol";
import {COOLDOWN, START, THRESHOLD} from "../utils/Defaults.sol";
import {ProxyTest} from "../utils/ProxyTest.sol";
import {RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {GuardedCall, Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";

/// @notice Each fault of a primary opens the breaker by its own name, and the caller gets the backup's answer.
contract ProxyFaultsTest is ProxyTest {
    /// Building a megabyte in memory costs 2.2 million, and the primary pays.
    uint32 private constant BUDGET_OF_A_MEGABYTE = 3_000_000;
    uint256 private constant MEGABYTE = 1 << 20;
    /// All that a call costs beside the budget: recording, and a backup of 30,000.
    uint256 private constant BESIDE = 60_000;

    bytes private stock = abi.encodeCall(Shop.stock, ());

    // ─── given a primary that is not there ───

    modifier givenAPrimaryThatIsNotThere() {
        _against(address(primary));
        vm.etch(address(primary), "");
        _;
    }

    function test_WhenItsCodeIsGone_Row07() external givenAPrimaryThatIsNotThere {
        _opens(Outcome.NoCode, 0);
    }

    function test_WhenItsCodeIsGoneAndValueComes_Row07() external givenAPrimaryThatIsNotThere {
        _opens(Outcome.NoCode, 1 ether);
    }

    // ─── given a primary that answers too little ───

    modifier givenAPrimaryThatAnswersTooLittle() {
        _;
    }

    function test_WhenItAnswers0Bytes_Row08() external givenAPrimaryThatAnswersTooLittle {
        _answersTooLittle(0);
    }

    function test_WhenItAnswers4Bytes_Row08() external givenAPrimaryThatAnswersTooLittle {
        _answersTooLittle(4);
    }

    function test_WhenItAnswers31Bytes_Row08() external givenAPrimaryThatAnswersTooLittle {
        _answersTooLittle(31);
    }

    function test_WhenItAnswers32Bytes_Row08() external givenAPrimaryThatAnswersTooLittle {
        _answersTooLittle(32);
    }

    function test_WhenItAnswers63Bytes_Row08() external givenAPrimaryThatAnswersTooLittle {
        _answersTooLittle(63);
    }

    function test_WhenItAnswersAsLittleAsItMay() external givenAPrimaryThatAnswersTooLittle {
        bytes memory answer = new bytes(MIN_RETURN);
        _against(address(new RawAnswer(answer)));
        _assertCall(0, stock, true, answer);
        breaker.failureCount = 0;
        _assertWritten();
    }

    function test_WhenItTakesTheValueFirst_Row17() external givenAPrimaryThatAnswersTooLittle {
        address payable thief = payable(makeAddr("thief"));
        _against(address(new TakesValue(thief)));
        _opens(Outcome.BadReturn, 1 ether);
        assertEq(thief.balance, 0, "money of the thief");
    }

    // ─── given a primary that answers too much ───

    modifier givenAPrimaryThatAnswersTooMuch() {
        _;
    }

    function test_WhenItAnswersOneByteMoreThanItMay() external givenAPrimaryThatAnswersTooMuch {
        _against(address(new HugeAnswer(MAX_RETURN + 1)));
        _opens(Outcome.ReturnTooLarge, 0);
    }

    function test_WhenItAnswersAsMuchAsItMay() external givenAPrimaryThatAnswersTooMuch {
        bytes memory answer = new bytes(MAX_RETURN);
        answer[0] = 0x01;
        answer[MAX_RETURN - 1] = 0x02;
        _againstWith(address(new RawAnswer(answer)), 1_000_000);
        _assertCall(0, stock, true, answer);
        breaker.failureCount = 0;
        _assertWritten();
    }

    function test_WhenItAnswersAMegabyte_Row09() external givenAPrimaryThatAnswersTooMuch {
        _againstWith(address(new HugeAnswer(MEGABYTE)), BUDGET_OF_A_MEGABYTE);
        assertLe(_opens(Outcome.ReturnTooLarge, 0), BUDGET_OF_A_MEGABYTE + BESIDE, "gas");
    }

    // ─── given a primary that reverts ───

    modifier givenAPrimaryThatReverts() {
        _;
    }

    function test_WhenItRevertsWithoutAWord_Row06() external givenAPrimaryThatReverts {
        _against(address(new RevertsEmpty()));
        _opens(Outcome.Reverted, 0);
    }

    /// What the value costs is not the primary's spending.
    function test_WhenItRevertsWithoutAWordAndValueCame_Row06() external givenAPrimaryThatReverts {
        _againstWith(address(new RevertsEmpty()), 5000);
        _opens(Outcome.Reverted, 1 ether);
    }

    function test_WhenItRevertsWithAFewBytes_Row09() external givenAPrimaryThatReverts {
        for (uint256 size = 1; size < 32; ++size) {
            _reverts(new bytes(size));
        }
    }

    function test_WhenItRevertsWithWhatLooksLikeAnOutcome() external givenAPrimaryThatReverts {
        _reverts(abi.encode(Outcome.Ok));
        _reverts(abi.encode(Outcome.NoCode));
        _reverts(abi.encode(type(uint256).max));
    }

    function test_WhenItRevertsWithWhatLooksLikeTooLittleGas() external givenAPrimaryThatReverts {
        _reverts(abi.encodeWithSelector(GuardedCall.InsufficientGas.selector, 2, 1));
    }

    function test_WhenItRevertsWithAMegabyte_Row09() external givenAPrimaryThatReverts {
        _againstWith(address(new HugeRevert(MEGABYTE)), BUDGET_OF_A_MEGABYTE);
        assertLe(_opens(Outcome.Reverted, 0), BUDGET_OF_A_MEGABYTE + BESIDE, "gas");
    }

    function test_WhenItRevertsWithAnErrorWhoseLengthIsALie_Row09() external givenAPrimaryThatReverts {
        _againstWith(address(new FakedError(MEGABYTE, type(uint256).max)), BUDGET_OF_A_MEGABYTE);
        assertLe(_opens(Outcome.Reverted, 0), BUDGET_OF_A_MEGABYTE + BESIDE, "gas");
    }

    // ─── given a primary that burns its gas ───

    modifier givenAPrimaryThatBurnsItsGas() {
        _;
    }

    function test_WhenItIsCalled_Row05() external givenAPrimaryThatBurnsItsGas {
        _against(address(new BurnsGas()));
        assertLe(_opens(Outcome.BudgetSpent, 0), BUDGET + BESIDE, "gas");
    }

    function test_WhenItIsCalledWithValue_Row05() external givenAPrimaryThatBurnsItsGas {
        _against(address(new BurnsGas()));
        _opens(Outcome.BudgetSpent, 1 ether);
    }

    function test_WhenItIsSomebodyBelowIt_Row05() external givenAPrimaryThatBurnsItsGas {
        _against(address(new Relay({next: address(new BurnsGas()), wraps: false})));
        assertLe(_opens(Outcome.BudgetSpent, 0), BUDGET + BESIDE, "gas");
    }

    // ─── given an answer that cannot be decoded ───

    modifier givenAnAnswerThatCannotBeDecoded() {
        _;
    }

    /// The proxy knows no ABI: what is long enough is good, and it is the caller who cannot decode it, as without a
    /// proxy.
    function test_WhenItIsLongEnough() external givenAnAnswerThatCannotBeDecoded {
        bytes memory answer = abi.encode(uint256(1) << 255, type(uint256).max);
        _against(address(new RawAnswer(answer)));
        _assertCall(0, stock, true, answer);
        breaker.failureCount = 0;
        _assertWritten();
        _assertRead(stock, true, answer);
    }

    // ─── Shared ───

    function _against(address weird) private {
        _againstWith(weird, BUDGET);
    }

    function _againstWith(address weird, uint32 gas) private {
        Limits memory limits = Limits({gas: gas, reserve: RESERVE, maxReturn: MAX_RETURN, minReturn: MIN_RETURN});
        _use(_new(weird, address(backup), RECORD_CALLS, limits));
        _storeOneFailure();
    }

    function _answersTooLittle(uint256 size) private {
        _against(address(new RawAnswer(new bytes(size))));
        _opens(Outcome.BadReturn, 0);
    }

    function _reverts(bytes memory data) private {
        _against(address(new RawRevert(data)));
        _opens(Outcome.Reverted, 0);
    }

    /// One failure is counted already; the next two are the last ones. Returns the gas of the more expensive one.
    function _opens(Outcome cause, uint256 value) private returns (uint256 gas) {
        vm.deal(address(this), 2 * value);
        uint256 before = address(backup).balance;
        bytes memory call = value == 0 ? stock : abi.encodeCall(Shop.buy, (value));

        uint256 sold = backup.sold();
        _watch();
        _assertCall(value, call, true, value == 0 ? abi.encode("backup") : _answer(sold + 1, "backup"));
        _becomesCounted(2);
        _assertWritten();

        gas = gasleft();
        (bool ok, bytes memory answer) = address(proxy).call{value: value}(call);
        gas -= gasleft();
        assertTrue(ok, "success");
        assertEq(answer, value == 0 ? abi.encode("backup") : _answer(sold + 2, "backup"), "bytes");
        _becomesOpen(THRESHOLD, START + COOLDOWN);
        _assertOpened(cause);

        assertEq(address(backup).balance, before + 2 * value, "money of the backup");
        assertEq(address(proxy).balance, 0, "money of the proxy");
    }
}
