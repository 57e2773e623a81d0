// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Shop} from "./Shop.sol";

/// @title  Reader
/// @notice A third contract, in whose code a read is a static call, as in everybody's.
contract Reader {
    function readThrough(Shop shop) external view returns (string memory) {
        return shop.stock();
    }
}
