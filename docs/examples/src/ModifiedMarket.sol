// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {DecoratedMarket} from "./DecoratedMarket.sol";
import {IOracle} from "./Market.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";

contract ModifiedMarket is DecoratedMarket, Ownable, ReentrancyGuard {
    constructor(IOracle primary_, IOracle backup_) DecoratedMarket(primary_, backup_) Ownable(msg.sender) {}

    // ANCHOR: order
    function update()
        external
        onlyOwner // before: a check, with nothing after its `_`, that asks `_msgSender()`
        faultTolerantWith(_breaker, address(backup), abi.encodeCall(IOracle.price, ()), _limits)
        nonReentrant // after: everything that holds something until the end
        returns (uint256)
    {
        return primary.price();
    }

    /// Lets `onlyOwner` see through the decorator.
    function _msgSender() internal view override returns (address) {
        return _caller();
    }
    // ANCHOR_END: order
}
