// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {BreakerHarness} from "../utils/BreakerHarness.sol";
import {Word} from "../utils/Word.sol";
import {Breaker, Status} from "contracts/CircuitBreaker.sol";
import {Test} from "forge-std/Test.sol";

/// @notice The layout of the word is API: readers outside take it apart with these offsets, and the library works on it
///         without the compiler's help. So the offsets stand here as numbers, once.
contract LayoutTest is Test {
    uint256 private constant FIELDS = 13;

    BreakerHarness private host;
    bytes32 private id;

    function setUp() public {
        host = new BreakerHarness();
        id = bytes32(host.SLOT());
    }

    function test_WhenTheCompilerStoresAStructWhoseFieldsAllDiffer() external {
        host.setBreaker(_different());
        assertEq(vm.load(address(host), id), bytes32(_differentWord()));
        assertEq(host.word(), _differentWord());
    }

    function test_WhenAWordWhoseFieldsAllDifferIsStored() external {
        vm.store(address(host), id, bytes32(_differentWord()));
        assertEq(abi.encode(host.breaker()), abi.encode(_different()));
    }

    function test_WhenAWordOfOnesIsStored() external {
        // The status has two values; its other seven bits stay zero.
        vm.store(address(host), id, bytes32(type(uint256).max - 0xfe));
        uint256[FIELDS] memory fields = _fields(host.breaker());
        assertEq(fields[0], 1, "status");
        for (uint256 i = 1; i < FIELDS; ++i) {
            assertEq(fields[i], 2 ** _widths()[i] - 1, vm.toString(i));
        }
    }

    /// Fills one field after the other, lowest first: what is above stays zero, what is below stays as it was.
    function testFuzz_FilledFromTheLowestFieldUp(uint256 seed) external {
        Breaker memory random = Word.unpack(_validStatus(seed));
        Breaker memory stored;
        for (uint256 i; i < FIELDS; ++i) {
            _copyField(random, stored, i);
            _assertStoredAs(stored);
        }
        assertEq(host.word(), _validStatus(seed), "all fields together are the whole word");
    }

    function testFuzz_FilledFromTheHighestFieldDown(uint256 seed) external {
        Breaker memory random = Word.unpack(_validStatus(seed));
        Breaker memory stored;
        for (uint256 i = FIELDS; i > 0; --i) {
            _copyField(random, stored, i - 1);
            _assertStoredAs(stored);
        }
        assertEq(host.word(), _validStatus(seed), "all fields together are the whole word");
    }

    /// Any word that anybody stores reads back field by field.
    function testFuzz_ReadsBack(uint256 seed) external {
        uint256 word = _validStatus(seed);
        vm.store(address(host), id, bytes32(word));
        _assertFields(host.breaker(), word);
    }

    function _assertStoredAs(Breaker memory stored) private {
        host.setBreaker(stored);
        uint256 word = host.word();
        _assertFields(stored, word);
        assertEq(Word.pack(stored), word, "pack");
        assertEq(abi.encode(Word.unpack(word)), abi.encode(stored), "unpack");
    }

    /// Each field is where the offset says, as wide as the width says, and nothing is between them.
    function _assertFields(Breaker memory stored, uint256 word) private pure {
        uint256[FIELDS] memory fields = _fields(stored);
        uint256 sum;
        for (uint256 i; i < FIELDS; ++i) {
            assertEq(word / 2 ** _offsets()[i] % 2 ** _widths()[i], fields[i], vm.toString(i));
            sum += fields[i] * 2 ** _offsets()[i];
        }
        assertEq(sum, word, "nothing else");
    }

    function _offsets() private pure returns (uint8[FIELDS] memory) {
        return [0, 8, 24, 40, 72, 112, 120, 128, 136, 168, 200, 240, 248];
    }

    function _widths() private pure returns (uint8[FIELDS] memory) {
        return [8, 16, 16, 32, 40, 8, 8, 8, 32, 32, 40, 8, 8];
    }

    function _different() private pure returns (Breaker memory) {
        return Breaker({
            status: Status.OPEN,
            failureCount: 0x0203,
            failureThreshold: 0x0405,
            cooldown: 0x06070809,
            retryAt: 0x0a0b0c0d0e,
            successCount: 0x0f,
            successThreshold: 0x10,
            reopenCount: 0x11,
            maxCooldown: 0x12131415,
            window: 0x16171819,
            lastFailureAt: 0x1a1b1c1d1e,
            flags: 0x1f,
            probedAt: 0x20
        });
    }

    /// From `probedAt` down to `status`, a byte for each byte.
    function _differentWord() private pure returns (uint256) {
        return 0x201f1a1b1c1d1e161718191213141511100f0a0b0c0d0e060708090405020301;
    }

    function _validStatus(uint256 seed) private pure returns (uint256) {
        return seed - seed % 256 + seed % 2;
    }

    function _fields(Breaker memory b) private pure returns (uint256[FIELDS] memory fields) {
        fields[0] = uint8(b.status);
        fields[1] = b.failureCount;
        fields[2] = b.failureThreshold;
        fields[3] = b.cooldown;
        fields[4] = b.retryAt;
        fields[5] = b.successCount;
        fields[6] = b.successThreshold;
        fields[7] = b.reopenCount;
        fields[8] = b.maxCooldown;
        fields[9] = b.window;
        fields[10] = b.lastFailureAt;
        fields[11] = b.flags;
        fields[12] = b.probedAt;
    }

    function _copyField(Breaker memory from, Breaker memory to, uint256 i) private pure {
        if (i == 0) to.status = from.status;
        else if (i == 1) to.failureCount = from.failureCount;
        else if (i == 2) to.failureThreshold = from.failureThreshold;
        else if (i == 3) to.cooldown = from.cooldown;
        else if (i == 4) to.retryAt = from.retryAt;
        else if (i == 5) to.successCount = from.successCount;
        else if (i == 6) to.successThreshold = from.successThreshold;
        else if (i == 7) to.reopenCount = from.reopenCount;
        else if (i == 8) to.maxCooldown = from.maxCooldown;
        else if (i == 9) to.window = from.window;
        else if (i == 10) to.lastFailureAt = from.lastFailureAt;
        else if (i == 11) to.flags = from.flags;
        else to.probedAt = from.probedAt;
    }
}
