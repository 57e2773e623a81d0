// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IHuman} from "../../../contracts/interfaces/IHuman.sol";

/// @notice A human who says the same when paid.
interface IPayee is IHuman {
    function pay() external payable returns (string memory);
}

/// @title  Chameleon
/// @notice Whatever it is asked, it is well or has the fault that a test last gave it.
contract Chameleon {
    error BadInput();
    error Broken();

    enum Mood {
        /// The first three are no faults.
        Well,
        WellAndHungry,
        WellAndCallingBack,
        BadInput,
        Broken,
        BrokenAndCallingBack,
        Silent,
        Burning,
        Brief,
        FloodingAnswer,
        FloodingRevert,
        // Not a fault of the code: there is none.
        Gone
    }

    /// @dev Enough for every refusal, and little enough that who calls back can still answer.
    uint256 private constant _CALL_BACK_GAS = 30_000;
    /// @dev Where it runs out of gas on the way, the 64th that is left can pay for a record: so a host that starves it
    ///      can blame it.
    uint256 private constant _WORK = 1_500_000;
    uint256 private constant _FLOOD = 100_000;

    string private _name;
    Mood private _mood;
    bytes private _callBack;

    constructor(string memory name) {
        _name = name;
    }

    function be(Mood mood, bytes calldata callBack) external {
        (_mood, _callBack) = (mood, callBack);
    }

    receive() external payable {}

    fallback() external payable {
        uint256 before = gasleft();
        Mood mood = _mood;
        if (mood == Mood.WellAndCallingBack || mood == Mood.BrokenAndCallingBack) {
            (bool ok,) = msg.sender.call{gas: _CALL_BACK_GAS}(_callBack);
            ok; // Whatever comes of it.
        }
        while (mood == Mood.WellAndHungry && before - gasleft() < _WORK) {}
        if (mood == Mood.BadInput) revert BadInput();
        if (mood == Mood.Broken || mood == Mood.BrokenAndCallingBack) revert Broken();
        if (mood == Mood.Silent) revert();
        while (mood == Mood.Burning) {}
        if (mood == Mood.FloodingRevert) _end(false, _FLOOD);
        // No offset of a string, and a part of none.
        if (mood == Mood.FloodingAnswer) _end(true, _FLOOD);
        if (mood == Mood.Brief) _end(true, 31);

        bytes memory answer = abi.encode(_name);
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }

    function _end(bool ok, uint256 size) private pure {
        assembly {
            mstore(0, not(0))
            if ok { return(0, size) }
            revert(0, size)
        }
    }
}
