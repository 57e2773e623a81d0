// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {CommonBase} from "forge-std/Base.sol";

/// @title  JsonFile
/// @notice Tells a file that is broken from one that says something wrong.
/// @dev    A cheatcode's own error has the place and not the file.
abstract contract JsonFile is CommonBase {
    /// @notice The file is not valid JSON: half of it is missing, or a comma.
    /// @param  reason What the parser met, with line and column.
    error NotJson(string file, string reason);

    function _mustBeJson(string memory file, string memory json) internal view {
        try vm.keyExistsJson(json, "$") returns (bool) {}
        catch (bytes memory reason) {
            revert NotJson(file, _message(reason));
        }
    }

    /// The string in a `CheatcodeError(string)`.
    function _message(bytes memory reason) private pure returns (string memory) {
        assembly ("memory-safe") {
            // The selector goes, the rest stays where it is.
            mstore(add(reason, 4), sub(mload(reason), 4))
            reason := add(reason, 4)
        }
        return abi.decode(reason, (string));
    }
}
