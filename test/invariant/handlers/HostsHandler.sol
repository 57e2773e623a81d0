// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {ManyBreakers, OF_HOST, PAY, SPEAK} from "../../mocks/ManyBreakers.sol";
import {Chameleon, IPayee} from "../../mocks/weird/Chameleon.sol";
import {COOLDOWN, NEVER, PROBE_ONLY, START, THRESHOLD} from "../../utils/Defaults.sol";
import {Random, Stream} from "../../utils/Random.sol";
import {Word} from "../../utils/Word.sol";
import {Breaker, CircuitBreaker, Config, State} from "contracts/CircuitBreaker.sol";
import {FaultTolerantProxy, RECORD_CALLS} from "contracts/FaultTolerantProxy.sol";
import {Limits} from "contracts/GuardedCall.sol";
import {Outcome} from "contracts/Outcome.sol";
import {IHuman} from "contracts/interfaces/IHuman.sol";
import {CommonBase} from "forge-std/Base.sol";
import {VmSafe} from "forge-std/Vm.sol";

/// @dev The breakers of the host, and that of the proxy behind them.
uint256 constant BREAKERS = OF_HOST + 1;
uint256 constant PROXY = OF_HOST;

/// @notice What the handler did last.
enum Action {
    Wait,
    Change,
    Call,
    Probe,
    Read,
    Trip,
    Reset,
    Configure
}

/// @notice Who has how much.
struct Money {
    uint256 caller;
    uint256 primary;
    uint256 backup;
    uint256 host;
    uint256 proxy;
}

/// @notice The last action and what came of it, as seen from outside.
struct Seen {
    Action action;
    uint256 index;
    uint40 time;
    /// The deadline that a trip gave.
    uint40 until;
    Chameleon.Mood ofPrimary;
    Chameleon.Mood ofBackup;
    /// Whether it was sent less gas than anything here could need.
    bool starved;
    uint256 value;
    bool ok;
    bytes answer;
    uint256[BREAKERS] before;
    uint256[BREAKERS] afterwards;
    Money had;
    Money has;
    uint256 logs;
    bool askedPrimary;
    /// Slots of host and proxy that were written, beside the breaker's own, and the ring for the one that has it.
    uint256 otherWrites;
    bool isFree;
}

/// @notice What somebody who reads nothing but logs knows of a breaker.
struct Folded {
    bool open;
    uint256 retryAt;
}

/// @title  HostsHandler
/// @notice Sends a host of many breakers and a proxy whatever anybody might send, with any gas, while their primary
///         is well or has one of its faults, and time moves. Keeps what is needed to judge; judges nothing. Never
///         reverts.
contract HostsHandler is CommonBase {
    using Random for Stream;

    string public constant PRIMARY = "I am the primary";
    string public constant BACKUP = "I am the backup";

    /// More than a hungry primary needs, and little more.
    uint32 private constant BUDGET = 1_600_000;
    uint32 private constant RESERVE = 150_000;
    /// What is needed for an attempt, about.
    uint256 private constant NEEDED = uint256(BUDGET) + RESERVE;
    /// Nothing here needs as much.
    uint256 private constant PLENTY = 10_000_000;

    Chameleon public immutable primary = new Chameleon(PRIMARY);
    Chameleon public immutable backup = new Chameleon(BACKUP);
    ManyBreakers public immutable host;
    FaultTolerantProxy public immutable proxy;
    bytes private _code;

    /// @dev Kept here, since the fuzzer gives each call a block of its own.
    uint40 public time = START;
    Chameleon.Mood private _ofPrimary;
    Chameleon.Mood private _ofBackup;

    Seen private _seen;
    mapping(uint256 index => Folded) private _folded;

    /// @notice How often each action ran, from which state to which it took the chosen breaker, how often the primary
    ///         was asked in which mood, and what else had to happen.
    mapping(Action action => uint256) public ran;
    mapping(State from => mapping(State to => uint256)) public moved;
    mapping(Chameleon.Mood mood => uint256) public asked;
    uint256 public refusedForGas;
    uint256 public answeredByBackup;
    uint256 public valuesPassedOn;
    uint256 public bothFailed;

    constructor() {
        vm.warp(time);
        Limits memory limits = Limits({gas: BUDGET, reserve: RESERVE, maxReturn: 4096, minReturn: 64});
        host = new ManyBreakers(IPayee(address(primary)), IPayee(address(backup)), limits);
        Config memory config = Config(THRESHOLD, COOLDOWN, 1, 4 * COOLDOWN, 0, RECORD_CALLS);
        proxy = new FaultTolerantProxy(
            address(primary), address(backup), address(this), config, limits, abi.encodeCall(IHuman.speak, ())
        );
        _code = address(primary).code;
        // Neither may lose what it has, nor keep what it was sent.
        vm.deal(address(host), 5 ether);
        vm.deal(address(proxy), 3 ether);
        vm.deal(address(this), type(uint128).max);
    }

    // ─── Actions ───

    function call(uint256 index, uint256 seed) public {
        Stream memory stream = Stream(seed);
        _before(Action.Call, index);
        (bytes memory data, bool pays) = _function(stream);
        if (pays && stream.oneIn(2)) _seen.value = 1 + stream.below(1 ether);
        _send(data, _gas(stream));
        _after();
    }

    function probe(uint256 index, uint256 seed) public {
        _before(Action.Probe, index);
        _send(abi.encodeCall(ManyBreakers.probe, (_id())), _gas(Stream(seed)));
        _after();
    }

    /// @notice A static call, as everybody reads.
    function read(bool ofProxy, uint256 seed) external {
        _before(Action.Read, ofProxy ? PROXY : SPEAK);
        bytes memory data = ofProxy ? abi.encodeCall(IHuman.speak, ()) : abi.encodeCall(ManyBreakers.look, ());
        (_seen.ok, _seen.answer) = _target().staticcall{gas: _gas(Stream(seed))}(data);
        _after();
    }

    function trip(uint256 index, uint256 seed) external {
        _before(Action.Trip, index);
        _seen.until = Stream(seed).until(time, _chosen(_seen.before));
        if (_seen.index == PROXY) _send(abi.encodeCall(FaultTolerantProxy.trip, (_seen.until)), PLENTY);
        else _send(abi.encodeCall(ManyBreakers.trip, (_id(), _seen.until)), PLENTY);
        _after();
    }

    function reset(uint256 index) external {
        _before(Action.Reset, index);
        if (_seen.index == PROXY) _send(abi.encodeCall(FaultTolerantProxy.reset, ()), PLENTY);
        else _send(abi.encodeCall(ManyBreakers.reset, (_id())), PLENTY);
        _after();
    }

    function configure(uint256 index, uint256 seed) external {
        Stream memory stream = Stream(seed);
        _before(Action.Configure, index);
        Config memory config = stream.config();
        if (_seen.index == PROXY) {
            if (stream.oneIn(2)) config.flags = config.flags & ~PROBE_ONLY | RECORD_CALLS;
            _send(abi.encodeCall(FaultTolerantProxy.configure, (config)), PLENTY);
        } else {
            _send(abi.encodeCall(ManyBreakers.configure, (_id(), config)), PLENTY);
        }
        _after();
    }

    /// @notice The primary becomes well, or fails in one of its ways; now and then the backup fails, too.
    function change(uint256 seed) external {
        Stream memory stream = Stream(seed);
        _before(Action.Change, 0);
        _ofPrimary = Chameleon.Mood.Well;
        if (stream.oneIn(2)) _ofPrimary = Chameleon.Mood(stream.below(uint256(type(Chameleon.Mood).max) + 1));
        _ofBackup = stream.oneIn(4) ? Chameleon.Mood.Broken : Chameleon.Mood.Well;
        vm.etch(address(primary), _code);
        primary.be(_ofPrimary, _callBack(stream));
        backup.be(_ofBackup, "");
        if (_ofPrimary == Chameleon.Mood.Gone) vm.etch(address(primary), "");
        _after();
    }

    /// @notice Time stands still, or moves to where something about the breaker changes, or elsewhere, or back.
    function wait(uint256 index, uint256 seed) external {
        _before(Action.Wait, index);
        time = Stream(seed).timeAfter(time, _chosen(_seen.before));
        _seen.time = time;
        _after();
    }

    /// @notice Waits out the cooldown, if it ever ends, and tries. Without it, half-open would be rare.
    function comeBack(uint256 index, bool byProbe, uint256 seed) external {
        uint40 retryAt = Word.unpack(_words()[index % BREAKERS]).retryAt;
        if (time < retryAt && retryAt != NEVER) time = retryAt;
        if (byProbe) probe(index, seed);
        else call(index, seed);
    }

    // ─── What happened ───

    function seen() external view returns (Seen memory) {
        return _seen;
    }

    function folded(uint256 index) external view returns (Folded memory) {
        return _folded[index];
    }

    // ─── What is sent ───

    function _function(Stream memory stream) private view returns (bytes memory data, bool pays) {
        bytes4[4] memory functions = [
            ManyBreakers.speak.selector,
            ManyBreakers.pay.selector,
            ManyBreakers.ask.selector,
            ManyBreakers.consult.selector
        ];
        uint256 which = _seen.index == PROXY ? stream.below(2) : _seen.index;
        return (abi.encodePacked(functions[which]), which == PAY);
    }

    /// What the primary says to whoever asks it: any function of theirs, an owner's power included.
    function _callBack(Stream memory stream) private returns (bytes memory data) {
        uint256 kind = stream.below(4);
        if (kind == 0) return abi.encodeCall(ManyBreakers.probe, (bytes32(stream.below(OF_HOST))));
        if (kind == 1) return abi.encodeCall(ManyBreakers.reset, (bytes32(stream.below(OF_HOST))));
        if (kind == 2) return abi.encodeCall(FaultTolerantProxy.trip, (NEVER));
        _seen.index = stream.below(BREAKERS);
        (data,) = _function(stream);
        _seen.index = 0;
    }

    /// All that could be needed, or less: around what is needed for an attempt, or anything.
    function _gas(Stream memory stream) private returns (uint256) {
        if (stream.oneIn(2)) return PLENTY;
        _seen.starved = true;
        return stream.oneIn(2) ? NEEDED + stream.below(30_000) : 20_000 + stream.below(2 * NEEDED);
    }

    function _send(bytes memory data, uint256 gas_) private {
        (_seen.ok, _seen.answer) = _target().call{gas: gas_, value: _seen.value}(data);
    }

    function _target() private view returns (address) {
        return _seen.index == PROXY ? address(proxy) : address(host);
    }

    function _id() private view returns (bytes32) {
        return bytes32(_seen.index == PROXY ? 0 : _seen.index);
    }

    // ─── What comes of it ───

    function _before(Action action, uint256 index) private {
        vm.warp(time);
        delete _seen;
        _seen.action = action;
        _seen.index = index % BREAKERS;
        _seen.time = time;
        _seen.ofPrimary = _ofPrimary;
        _seen.ofBackup = _ofBackup;
        _seen.before = _words();
        _seen.had = _money();
        vm.recordLogs();
        vm.startStateDiffRecording();
    }

    function _after() private {
        _look(vm.stopAndReturnStateDiff());
        VmSafe.Log[] memory logs = vm.getRecordedLogs();
        // Forge also shows logs that were reverted with the rest of a call.
        if (_seen.ok) _seen.logs = logs.length;
        for (uint256 i; i < _seen.logs; ++i) {
            _fold(logs[i]);
        }
        _seen.afterwards = _words();
        _seen.has = _money();
        _seen.isFree = _isFree();
        _count();
    }

    function _look(VmSafe.AccountAccess[] memory accesses) private {
        bytes32 ring = _seen.index == PAY ? host.ringSlot() : _id();
        for (uint256 i; i < accesses.length; ++i) {
            VmSafe.AccountAccess memory a = accesses[i];
            bool isCall = a.kind == VmSafe.AccountAccessKind.Call || a.kind == VmSafe.AccountAccessKind.StaticCall;
            if (isCall && a.account == address(primary) && a.accessor != address(this)) _seen.askedPrimary = true;
            for (uint256 j; j < a.storageAccesses.length; ++j) {
                VmSafe.StorageAccess memory s = a.storageAccesses[j];
                if (!s.isWrite || s.reverted) continue;
                if (s.account != address(host) && s.account != address(proxy)) continue;
                if (s.account != _target() || (s.slot != _id() && s.slot != ring)) ++_seen.otherWrites;
            }
        }
    }

    function _fold(VmSafe.Log memory log) private {
        Folded storage known = _folded[log.emitter == address(proxy) ? PROXY : uint256(log.topics[1])];
        if (log.topics[0] == CircuitBreaker.Opened.selector) {
            known.open = true;
            (known.retryAt,) = abi.decode(log.data, (uint256, Outcome));
        } else if (log.topics[0] == CircuitBreaker.Closed.selector) {
            known.open = false;
            known.retryAt = 0;
        }
    }

    function _count() private {
        ++ran[_seen.action];
        if (_seen.action == Action.Wait || _seen.action == Action.Change) return;
        ++moved[_state(_seen.before)][_state(_seen.afterwards)];
        if (_seen.askedPrimary) ++asked[_ofPrimary];
        if (!_seen.ok && _seen.starved) ++refusedForGas;
        if (!_seen.ok && !_seen.starved) ++bothFailed;
        if (_seen.ok && keccak256(_seen.answer) == keccak256(abi.encode(BACKUP))) ++answeredByBackup;
        if (_seen.ok && _seen.value > 0) ++valuesPassedOn;
    }

    function _words() private view returns (uint256[BREAKERS] memory words) {
        for (uint256 i; i < OF_HOST; ++i) {
            words[i] = uint256(vm.load(address(host), bytes32(i)));
        }
        words[PROXY] = uint256(vm.load(address(proxy), 0));
    }

    function _money() private view returns (Money memory) {
        return Money({
            caller: address(this).balance,
            primary: address(primary).balance,
            backup: address(backup).balance,
            host: address(host).balance,
            proxy: address(proxy).balance
        });
    }

    /// In the same transaction as the action, at whose end every lock would be free.
    function _isFree() private view returns (bool) {
        (bool ok,) = address(proxy).staticcall(abi.encodeCall(FaultTolerantProxy.breakers, ()));
        return ok && host.isFree();
    }

    function _chosen(uint256[BREAKERS] memory words) private view returns (Breaker memory) {
        return Word.unpack(words[_seen.index]);
    }

    function _state(uint256[BREAKERS] memory words) private view returns (State) {
        return CircuitBreaker.stateOf(words[_seen.index], time);
    }
}
