// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config, State} from "./CircuitBreaker.sol";
import {GuardedCall, Limits, PackedLimits} from "./GuardedCall.sol";
import {Outcome} from "./Outcome.sol";
import {EXPECT, FREE, LOCK} from "./TransientLock.sol";
import {ICircuitBreaker} from "./interfaces/ICircuitBreaker.sol";

/// @dev A flag of the `Config` that this proxy is given, and of nothing else: calls are recorded as well as probes.
///      Without it `PROBE_ONLY` is set, in the constructor and in `configure`, so that forgetting it is the safe
///      mistake. It is not stored: the breaker's flags say `PROBE_ONLY` or do not. A bit that the library rejects.
uint8 constant RECORD_CALLS = 0x80;

/// @title  FaultTolerantProxy
/// @notice Warning: this contract must hold no right, allowance, role or balance at the primary or the backup. Anyone
///         speaks through it: whoever calls it chooses the call, and the primary sees the proxy as the caller.
///
///         It stands before a primary and passes every call on, whatever the function, value included. When the
///         primary fails, the backup is asked, and after a streak of failures the primary is left alone for a while.
///         Nothing has to be written for it: it fits every contract whose backup has the same functions.
/// @dev    *Design.* The outer frame decides, records and asks the backup. The primary is called in an inner frame, a
///         call of the proxy to itself, that reverts with one word, the outcome, on anything but a usable answer. So
///         what a bad answer did to the world is undone, and the value is back for the backup. The outer frame keeps
///         `reserve` for itself and passes on the rest; the inner one gives the primary exactly its budget or reverts
///         with `InsufficientGas`, which is nobody's failure.
///
///         *Reads.* A call without value may be static, where nothing can be recorded. No opcode tells, so the lock is
///         taken in a call of its own with 1,000 gas: in a static frame that fails, and costs no more. A static call
///         respects the breaker, takes no lock and records nothing.
///
///         *What is recorded.* `PROBE_ONLY` unless the flag `RECORD_CALLS` says otherwise: only `probe` counts, with
///         the calldata of the constructor, since whoever chooses a call can choose one that fails.
///
///         *What is judged.* The proxy knows no ABI, so a good answer is one of `minReturn` to `maxReturn` bytes; these
///         are passed on as they came. A caller who cannot decode them fails as it would without the proxy.
///
///         *Not passed on:* `probe`, `breakers`, `breakerState`, `primary`, `backup`, `owner`, `supportsInterface`,
///         `trip`, `reset` and `configure` are the proxy's own. Where the primary has one of them, it cannot be
///         reached from here; in particular the primary's ERC-165 answers are hidden. `probe` does reach them.
///
///         *Trust assumptions.*
///         - The caller may be hostile: choose the call and the gas, and bend the primary's state around the call.
///           See `PROBE_ONLY` and `ONCE_PER_BLOCK` for what that is worth.
///         - The primary may be hostile: it can burn its budget, lie, and take the value of a call that it answers. It
///           cannot reach the lock, the word or the backup. One that calls back or sends value back to its caller is
///           not supported: while it runs, every function of the proxy reverts with `Reentered`, reads too.
///         - The backup must answer. It has all the gas that is left and is called bare, with the lock free. Value
///           that it sends back to the proxy is one more call, and passed on like any other.
///         - The owner decides which of the two is used, and no more: it can change neither, nor what a probe calls. A
///           stolen key can hold the proxy at the backup, or a failing primary in use. The owner may be zero.
///
///         *Not to be cloned:* what a probe calls is in storage, which a clone does not have.
// slither-disable-start incorrect-return -- its frames end in assembly, with bytes as they came, and nothing may follow
contract FaultTolerantProxy is ICircuitBreaker {
    using CircuitBreaker for Breaker;
    using GuardedCall for PackedLimits;

    /// @notice There is no contract at an address that needs one.
    error NoContract(address target);
    /// @notice A backup that is the primary fails with it.
    error BackupIsPrimary(address backup);
    /// @notice Nobody could ever close what is latched open.
    error LatchWithoutOwner();
    /// @notice Only the owner may do this.
    error NotOwner(address caller);

    /// The phase of a probe's attempt: the next entry finds its calldata in storage, so that it may be one of the
    /// proxy's own functions. One more phase of TransientLock.sol, for this host alone.
    uint256 private constant _EXPECT_PROBE = 4;

    /// What taking the lock may use, and what a static call therefore loses. It needs about 400.
    uint256 private constant _LOCK_GAS = 1000;

    /// What the EVM takes from the caller for a call of a warm account, 100, and what lies around it.
    uint256 private constant _CALL_COST = 200;

    /// What a value costs the caller besides; the stipend in it is not the caller's to keep.
    uint256 private constant _VALUE_COST = 9000;

    /// What the inner frame spends before its check: a cold account, 2,600, and the way there.
    uint256 private constant _INNER_COST = 3500;

    /// What a transaction spends before the outer frame at most: intrinsic gas, calldata, a caller's own checks.
    uint256 private constant _AROUND = 100_000;

    address private immutable _primary;
    address private immutable _backup;
    address private immutable _owner;

    /// What a frame needs that calls the backup as well.
    PackedLimits private immutable _limits;

    // The limits of the inner frame, which only copies the answer: the reserve is kept outside of it. Unpacked, since
    // every call reads them all.
    uint256 private immutable _budget;
    uint256 private immutable _innerNeeded;
    uint256 private immutable _maxReturn;
    uint256 private immutable _minReturn;

    /// What the outer frame keeps of a call without value.
    uint256 private immutable _kept;

    Breaker private _breaker;

    bytes private _probeCalldata;

    // ─── Construction ───

    /// @param primary_      Whom to ask first.
    /// @param backup_       Whom to ask otherwise; another contract with the same functions.
    /// @param owner_        Who may trip, reset and configure; zero = nobody, for ever, and then without `LATCH`.
    /// @param config        The breaker's configuration. `PROBE_ONLY` is set unless `RECORD_CALLS` is among the flags.
    /// @param limits        What the primary may use and return. `minReturn` holds for every function: 0 where some
    ///                      return nothing. `reserve` pays for recording, the backup, and copying `maxReturn` bytes.
    /// @param probeCalldata What `probe` calls on the primary: a call that works whenever the primary does, and that
    ///                      nobody can make fail otherwise. Any selector, the proxy's own ones included.
    constructor(
        address primary_,
        address backup_,
        address owner_,
        Config memory config,
        Limits memory limits,
        bytes memory probeCalldata
    ) {
        // This contract has no code yet, so it cannot be its own primary or backup either.
        if (primary_.code.length == 0) revert NoContract(primary_);
        if (backup_.code.length == 0) revert NoContract(backup_);
        if (backup_ == primary_) revert BackupIsPrimary(backup_);

        _primary = primary_;
        _backup = backup_;
        // slither-disable-next-line missing-zero-check -- zero = nobody, see above
        _owner = owner_;
        _limits = GuardedCall.pack(limits);
        _budget = limits.gas;
        _maxReturn = limits.maxReturn;
        _minReturn = limits.minReturn;
        (_innerNeeded, _kept) = _split(limits, probeCalldata.length);
        if (owner_ == address(0) && config.flags & CircuitBreaker.LATCH != 0) revert LatchWithoutOwner();
        _breaker = CircuitBreaker.build(_withDefault(config));
        _probeCalldata = probeCalldata;
    }

    // ─── Modifiers ───

    /// Nothing is read or done while an attempt is going on: its record is still to come.
    modifier whenFree() {
        _mustBeFree();
        _;
    }

    modifier onlyOwner() {
        if (msg.sender != _owner) revert NotOwner(msg.sender);
        _;
    }

    // ─── Everything else ───

    /// @notice Value without a call is passed on as well.
    receive() external payable {
        _enter();
    }

    /// @notice Any function of the primary: its answer, else the backup's answer or revert. All bytes are as they came.
    /// @dev    Reverts with `InsufficientGas` where the primary could not be given its budget, with `Reentered` while
    ///         the primary is being asked, with `NoBackup` where the backup is gone, else with what the backup says.
    fallback() external payable {
        _enter();
    }

    // ─── For the owner ───

    /// @notice Leaves the primary alone, or moves the deadline of an open breaker further away.
    /// @param  until Unix seconds of the deadline; 0 = one cooldown from now.
    function trip(uint40 until) external whenFree onlyOwner {
        _breaker.trip(until, Outcome.Forced);
    }

    /// @notice Closes the breaker and forgets all counts.
    function reset() external whenFree onlyOwner {
        _breaker.reset();
    }

    /// @notice Gives the breaker a new configuration. Its state stays.
    /// @param  config As in the constructor: `PROBE_ONLY` is set unless `RECORD_CALLS` is among the flags.
    function configure(Config memory config) external whenFree onlyOwner {
        _breaker.configure(_withDefault(config));
    }

    // ─── For whoever watches and probes ───

    /// @inheritdoc ICircuitBreaker
    function probe(bytes32 breaker) external whenFree returns (Outcome outcome) {
        _mustKnow(breaker);
        if (_breaker.isOpen()) return Outcome.NotTried;
        _goTo(_EXPECT_PROBE);
        uint256 available = gasleft();
        if (_attempt(0, 0, _kept)) {
            _breaker.success();
        } else {
            outcome = _outcome(available, true);
            _breaker.fail(outcome);
        }
        _goTo(FREE);
    }

    /// @inheritdoc ICircuitBreaker
    function breakers() external view whenFree returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    /// @inheritdoc ICircuitBreaker
    function breakerState(bytes32 breaker) external view whenFree returns (State state, Breaker memory stored) {
        _mustKnow(breaker);
        return (_breaker.state(), _breaker);
    }

    /// @notice Whom it asks first.
    function primary() external view whenFree returns (address) {
        return _primary;
    }

    /// @notice Whom it asks when the primary fails, or is not asked.
    function backup() external view whenFree returns (address) {
        return _backup;
    }

    /// @notice Who may trip, reset and configure; zero = nobody.
    function owner() external view whenFree returns (address) {
        return _owner;
    }

    /// @notice ERC-165: itself and `ICircuitBreaker`. Says nothing about the primary.
    function supportsInterface(bytes4 interfaceId) external view whenFree returns (bool) {
        return interfaceId == type(ICircuitBreaker).interfaceId || interfaceId == this.supportsInterface.selector;
    }

    // ─── The outer frame ───

    /// A call that is none of the proxy's own functions. Does not return.
    function _enter() private {
        if (msg.sender == address(this)) _enterInner();
        _mustBeFree();
        uint256 word = _breaker.load();
        if (!CircuitBreaker.isOpenAt(word, block.timestamp)) {
            uint256 kept = _kept;
            if (msg.value != 0) {
                _goTo(EXPECT);
                kept += _VALUE_COST;
            } else if (!_lock()) {
                _read();
            }
            (uint256 data, uint256 size) = _copyCall();
            uint256 available = gasleft();
            if (_attempt(data, size, kept)) {
                if (!CircuitBreaker.isProbeOnly(word)) _breaker.success();
                _goTo(FREE);
                // Recording called nobody, so this still is the answer.
                _end(true);
            }
            Outcome outcome = _outcome(available, false);
            if (!CircuitBreaker.isProbeOnly(word)) _breaker.fail(outcome);
            _goTo(FREE);
        }
        _askBackup();
    }

    /// Takes the lock, or finds out that the frame is static. Starved, it finds the same; but then there is not enough
    /// gas for `_read` either, which says so.
    function _lock() private returns (bool taken) {
        assembly ("memory-safe") {
            taken := call(_LOCK_GAS, address(), 0, 0, 0, 0, 0)
        }
    }

    /// Enters the inner frame with all gas but `kept`. What it returned is left where it is.
    function _attempt(uint256 data, uint256 size, uint256 kept) private returns (bool ok) {
        if (gasleft() > kept) {
            assembly ("memory-safe") {
                ok := call(sub(gas(), kept), address(), callvalue(), data, size, 0, 0)
            }
        }
    }

    /// What the inner frame says about an attempt that it took back. Reverts where it could not be made.
    /// @param available The gas that was left before it.
    function _outcome(uint256 available, bool isProbe) private view returns (Outcome outcome) {
        uint256 length;
        assembly ("memory-safe") {
            length := returndatasize()
        }
        // Only a frame without gas ends without a word.
        if (length == 0) {
            uint256 forCall = isProbe ? _loading(_probeCalldata.length) : _copying(msg.data.length);
            uint256 forValue = msg.value == 0 ? 0 : _VALUE_COST;
            revert GuardedCall.InsufficientGas(_needed(_innerNeeded + forCall + forValue, _kept + forValue), available);
        }
        if (length != 32) _end(false);
        assembly ("memory-safe") {
            returndatacopy(0, 0, 32)
            outcome := mload(0)
        }
    }

    /// The backup's answer to the call as it came, whatever it is. Does not return.
    function _askBackup() private {
        (uint256 data, uint256 size) = _copyCall();
        address target = _backup;
        bool ok;
        assembly ("memory-safe") {
            ok := call(gas(), target, callvalue(), data, size, 0, 0)
        }
        _endBackup(ok);
    }

    /// A static call: respects the breaker, and that is all. Does not return.
    function _read() private view {
        (uint256 data, uint256 size) = _copyCall();
        address target = _primary;
        uint256 budget = _budget;
        bool exists = target.code.length != 0;
        // Asked even where there is nobody to call: this may be a call that was starved while taking the lock.
        _limits.mustFit(0);
        bool ok;
        if (exists) {
            assembly ("memory-safe") {
                ok := staticcall(budget, target, data, size, 0, 0)
            }
            if (ok && _sizeOutcome() == Outcome.Ok) _end(true);
        }
        target = _backup;
        assembly ("memory-safe") {
            ok := staticcall(gas(), target, data, size, 0, 0)
        }
        _endBackup(ok);
    }

    // ─── The inner frame ───

    /// The proxy called itself: to take the lock, or to make the attempt. Does not return.
    function _enterInner() private {
        uint256 phase = _phase();
        if (phase == FREE) {
            _goTo(EXPECT);
            assembly ("memory-safe") {
                stop()
            }
        }
        uint256 data;
        uint256 size;
        if (phase == EXPECT) {
            (data, size) = _copyCall();
        } else {
            bytes memory probeCalldata = _probeCalldata;
            size = probeCalldata.length;
            assembly ("memory-safe") {
                data := add(probeCalldata, 32)
            }
        }
        Outcome outcome = _askPrimary(data, size);
        if (outcome == Outcome.Ok) _end(true);
        assembly ("memory-safe") {
            mstore(0, outcome)
            revert(0, 32)
        }
    }

    /// The guarded call. Its answer is left where it is.
    function _askPrimary(uint256 data, uint256 size) private returns (Outcome) {
        address target = _primary;
        if (target.code.length == 0) return Outcome.NoCode;
        uint256 needed = _innerNeeded;
        uint256 budget = _budget;
        uint256 given = budget;
        uint256 before = gasleft();
        if (msg.value == 0) {
            if (before < needed) revert GuardedCall.InsufficientGas(needed, before);
        } else {
            needed += _VALUE_COST;
            if (before < needed) revert GuardedCall.InsufficientGas(needed, before);
            unchecked {
                // The stipend, which is at most the budget, makes it whole again. What the value costs besides is not
                // the primary's spending; it is at most what is needed.
                given -= GuardedCall.STIPEND;
                before -= _VALUE_COST - GuardedCall.STIPEND;
            }
        }
        bool ok;
        assembly ("memory-safe") {
            ok := call(given, target, callvalue(), data, size, 0, 0)
        }
        return ok ? _sizeOutcome() : GuardedCall.blame(before, budget);
    }

    // ─── Shared ───

    function _mustBeFree() private view {
        if (_phase() != FREE) revert Reentered();
    }

    function _mustKnow(bytes32 breaker) private view {
        if (breaker != _breaker.id()) revert UnknownBreaker(breaker);
    }

    /// The call as it came. Only lent: the next one to take memory overwrites it.
    function _copyCall() private pure returns (uint256 data, uint256 size) {
        assembly ("memory-safe") {
            data := mload(0x40)
            size := calldatasize()
            calldatacopy(data, 0, size)
        }
    }

    /// Whether an answer is as long as an answer may be.
    function _sizeOutcome() private view returns (Outcome) {
        uint256 size;
        assembly ("memory-safe") {
            size := returndatasize()
        }
        if (size > _maxReturn) return Outcome.ReturnTooLarge;
        return size < _minReturn ? Outcome.BadReturn : Outcome.Ok;
    }

    /// Ends with what the backup said. A backup without code says nothing and succeeds.
    function _endBackup(bool ok) private view {
        uint256 size;
        assembly ("memory-safe") {
            size := returndatasize()
        }
        if (size == 0) {
            if (ok && _backup.code.length == 0) revert NoBackup(_backup);
        }
        _end(ok);
    }

    /// Ends the frame with what the last call returned, byte for byte.
    function _end(bool ok) private pure {
        assembly ("memory-safe") {
            let answer := mload(0x40)
            returndatacopy(answer, 0, returndatasize())
            if ok { return(answer, returndatasize()) }
            revert(answer, returndatasize())
        }
    }

    function _withDefault(Config memory config) private pure returns (Config memory) {
        uint8 flags = config.flags;
        if (flags & RECORD_CALLS == 0) config.flags = flags | CircuitBreaker.PROBE_ONLY;
        // Both at once contradict each other: the library then rejects the one that it does not know.
        else if (flags & CircuitBreaker.PROBE_ONLY == 0) config.flags = flags ^ RECORD_CALLS;
        return config;
    }

    // ─── Gas ───

    /// What the inner frame needs at its check, and what the outer one keeps; checked against what a transaction has.
    /// @param probeSize How long the calldata of a probe is, which is dearer to bring along than a caller's.
    function _split(Limits memory limits, uint256 probeSize) private pure returns (uint256 inner, uint256 kept) {
        uint256 copying = _copying(limits.maxReturn);
        // More than a transaction has, in any case, and so that it fits 32 bits.
        if (copying > GuardedCall.MAX_TRANSACTION_GAS) copying = GuardedCall.MAX_TRANSACTION_GAS;
        // forge-lint: disable-next-line(unsafe-typecast) -- see above
        inner = GuardedCall.pack(Limits(limits.gas, uint32(copying), limits.maxReturn, limits.minReturn)).needed();
        kept = limits.reserve + _CALL_COST;
        uint256 total = _needed(inner + _loading(probeSize), kept) + _AROUND;
        if (total > GuardedCall.MAX_TRANSACTION_GAS) {
            revert GuardedCall.GasBudgetTooLarge(total, GuardedCall.MAX_TRANSACTION_GAS);
        }
    }

    /// What the outer frame must have left for an attempt.
    /// @param inner What the inner frame needs from its check on, and for the call.
    function _needed(uint256 inner, uint256 kept) private pure returns (uint256) {
        inner += _INNER_COST;
        // The EVM keeps 1/64 of what is left from a call; rounded up.
        uint256 withheld = (inner + 62) / 63;
        return inner + (kept > withheld ? kept : withheld);
    }

    /// What bringing bytes into fresh memory costs.
    function _copying(uint256 size) private pure returns (uint256) {
        uint256 words = (size + 31) / 32;
        // slither-disable-next-line divide-before-multiply -- whole words are what the EVM counts
        return words * 6 + words * words / 512;
    }

    /// The same for bytes out of storage, each slot of which is cold.
    function _loading(uint256 size) private pure returns (uint256) {
        return _copying(size) + (size / 32 + 2) * 2200;
    }

    function _phase() private view returns (uint256 phase) {
        assembly ("memory-safe") {
            phase := tload(LOCK)
        }
    }

    function _goTo(uint256 phase) private {
        assembly ("memory-safe") {
            tstore(LOCK, phase)
        }
    }
}
// slither-disable-end incorrect-return
