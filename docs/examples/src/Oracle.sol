// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IOracle} from "./Market.sol";

/// An oracle that somebody else runs, and that can be down.
contract Oracle is IOracle {
    error Down();

    bool public isDown;
    uint256 private _price;

    constructor(uint256 price_) {
        _price = price_;
    }

    function setDown(bool isDown_) external {
        isDown = isDown_;
    }

    function price() external view returns (uint256) {
        if (isDown) revert Down();
        return _price;
    }
}
