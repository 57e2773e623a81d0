// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {IFlagHost} from "./PolicyHost.sol";

/// @title  Careless
/// @notice A primary that does what its caller asks for, failures included.
contract Careless {
    error BadInput();
    error Broken();

    enum How {
        Well,
        WithBadInput,
        Broken,
        WithoutData,
        BurningGas,
        CarryingTheFlag
    }

    function act(How how) external returns (string memory) {
        if (how == How.WithBadInput) revert BadInput();
        if (how == How.Broken) revert Broken();
        if (how == How.WithoutData) revert();
        if (how == How.CarryingTheFlag) IFlagHost(msg.sender).carryFlag();
        while (how == How.BurningGas) {}
        return "primary";
    }
}

/// @title  Careful
/// @notice The backup.
contract Careful {
    function act(Careless.How) external pure returns (string memory) {
        return "backup";
    }
}
