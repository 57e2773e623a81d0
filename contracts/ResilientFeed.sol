// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.24;

import {Breaker, CircuitBreaker, Config, State} from "./CircuitBreaker.sol";
import {FeedChoice, Reading, Source} from "./FeedChoice.sol";
import {GuardedCall, Limits, PackedLimits} from "./GuardedCall.sol";
import {Outcome} from "./Outcome.sol";
import {lock, unlock} from "./TransientLock.sol";
import {AggregatorV3Interface} from "./interfaces/AggregatorV3Interface.sol";
import {ICircuitBreaker} from "./interfaces/ICircuitBreaker.sol";

/// @notice What a feed is made of.
/// @param  primary          Whom it believes first, and whose decimals it has.
/// @param  backup           Who confirms the primary, and who takes its place. Choose one that you would use alone.
/// @param  primaryHeartbeat Seconds for which an answer of the primary is fresh; at least 1. With a margin on what the
///                          feed promises, or each late round is a failure.
/// @param  backupHeartbeat  Seconds for which an answer of the backup is fresh; at least 1.
/// @param  maxDeviationBps  How far apart two answers may be, in basis points; 1 to 10,000. Above what two honest feeds
///                          differ by, which is the sum of their own deviation thresholds.
/// @param  gas              The budget of each single call to a feed, measured cold, with a margin. A probe makes four.
/// @param  description      What is priced, such as "ETH / USD".
struct FeedConfig {
    AggregatorV3Interface primary;
    AggregatorV3Interface backup;
    uint32 primaryHeartbeat;
    uint32 backupHeartbeat;
    uint16 maxDeviationBps;
    uint32 gas;
    string description;
}

/// @notice The newest answer that a probe believed, in two slots.
/// @param  answer    The price, in the decimals of the host.
/// @param  roundId   The round, within the feed that gave it.
/// @param  startedAt Unix seconds at which the round started, as far as 64 bits reach.
/// @param  updatedAt Unix seconds at which the answer was given.
/// @param  heartbeat Seconds for which it is fresh: those of the feed that gave it.
struct LastGood {
    int256 answer;
    // ── slot 2 ──
    uint80 roundId;
    uint64 startedAt;
    uint64 updatedAt;
    uint32 heartbeat;
}

/// @title  ResilientFeed
/// @notice A price feed over a primary and a backup feed, with the last good answer as third level.
/// @dev    *Design.* `FeedChoice` decides, this contract reads and records. Reads are views: both feeds are asked
///         unless the breaker is open, when only the backup is. One breaker guards the primary. Only `probe` records,
///         and only `probe` moves the last good answer.
///
///         *Trust.* Each feed may fail, hang or return garbage. One feed may lie; what comes of it is bounded by the
///         other one, as long as that one is sound:
///         - A lying primary never moves the last good answer further than `maxDeviationBps` from the backup. It is
///           served while it is that near to the backup; or as near to a last good answer that is still fresh, with
///           the backup further away. So a primary that denies a move of the market is served at the old price until
///           enough probes have opened the breaker and the last good answer is stale: its heartbeat bounds that.
///         - A primary can tell a probe from a read. One that is honest to probes only is never found out, and may
///           tell readers what the line above lets it.
///         - A lying backup that is sound and far from an honest primary gets that primary rejected, and is alone in
///           the end, since the breaker is the primary's.
///         - Two feeds that lie alike are believed, and so is one feed without the other: a step of `maxDeviationBps`
///           a round, or anything once the last good answer is stale.
///
///         Neither should be a feed that a caller can bend within one transaction.
///
///         *Gas.* Every call is given its budget or not made: a read reverts with `InsufficientGas` rather than fall
///         back because the caller was stingy.
///
///         *Warning: rounds.* A round id means something only to the feed that gave it, and ids of two feeds are mixed
///         here. Compare `updatedAt` instead, which may step back when the answer comes from another feed.
///
///         *Warning: half-open.* Reads try the primary again then. Where two sound feeds contradict each other and the
///         last good answer is stale, that is `NoAnswer` until the next probe: probe as soon as it is half-open.
contract ResilientFeed is AggregatorV3Interface, ICircuitBreaker {
    using CircuitBreaker for Breaker;

    // ─── Events and errors ───

    /// @notice There is a new last good answer.
    /// @param  answer    The price, in `decimals()`.
    /// @param  updatedAt Unix seconds at which the feed gave it.
    /// @param  roundId   The round, within the feed that gave it.
    event LastGoodRefreshed(int256 answer, uint256 updatedAt, uint80 roundId);

    /// @notice No feed has a good answer and the last one is stale, or two good answers contradict each other and
    ///         nothing fresh decides between them. Also for a round that is not the one served now.
    error NoAnswer();
    /// @notice There is no contract at the primary's address.
    error PrimaryWithoutCode(address primary);
    /// @notice There is no contract at the backup's address.
    error BackupWithoutCode(address backup);
    /// @notice A feed cannot stand in for itself.
    error BackupIsPrimary(address primary);
    /// @notice An answer of the primary must be fresh for at least a second.
    error PrimaryHeartbeatZero();
    /// @notice An answer of the backup must be fresh for at least a second.
    error BackupHeartbeatZero();
    /// @notice The deviation must be at least 1 and at most `max` basis points.
    error MaxDeviationOutOfRange(uint16 maxDeviationBps, uint16 max);
    /// @notice Nobody could ever close what is latched open: there is no owner.
    error LatchRefused();
    /// @notice A feed did not tell its decimals within its budget.
    /// @param  outcome What came of asking.
    error DecimalsUnreadable(address feed, Outcome outcome);
    /// @notice A feed has more decimals than can be scaled.
    error DecimalsTooLarge(address feed, uint8 decimals, uint8 max);

    // ─── Constants ───

    /// Five words.
    uint32 private constant _ROUND_SIZE = 160;

    /// One word.
    uint32 private constant _DECIMALS_SIZE = 32;

    /// More than a feed returns; a feed that says more than the interface asks for is still understood.
    uint32 private constant _MAX_RETURN = 1024;

    /// What comes after the last call: the breaker, the two slots of the last good answer and two events. Measured
    /// below 20,000.
    uint32 private constant _RESERVE = 40_000;

    /// Calls in a probe after the first one: it asks two feeds two things each.
    uint256 private constant _MORE_CALLS = 3;

    // ─── Immutables and storage ───

    /// @notice Whom it believes first.
    AggregatorV3Interface public immutable primary;

    /// @notice Who confirms the primary, and who takes its place.
    AggregatorV3Interface public immutable backup;

    /// @notice Seconds for which an answer of the primary is fresh.
    uint32 public immutable primaryHeartbeat;

    /// @notice Seconds for which an answer of the backup is fresh.
    uint32 public immutable backupHeartbeat;

    /// @notice How far apart two answers may be, in basis points.
    uint16 public immutable maxDeviationBps;

    /// @inheritdoc AggregatorV3Interface
    uint8 public immutable decimals;

    uint8 private immutable _backupDecimals;

    PackedLimits private immutable _roundLimits;

    PackedLimits private immutable _decimalsLimits;

    Breaker private _breaker;

    LastGood private _last;

    /// @inheritdoc AggregatorV3Interface
    string public description;

    /// @param feeds  The feeds and how they are judged.
    /// @param config The breaker of the primary. `CircuitBreaker.safe` is what a host needs that anyone may probe.
    constructor(FeedConfig memory feeds, Config memory config) {
        _check(feeds);
        primary = feeds.primary;
        backup = feeds.backup;
        primaryHeartbeat = feeds.primaryHeartbeat;
        backupHeartbeat = feeds.backupHeartbeat;
        maxDeviationBps = feeds.maxDeviationBps;
        description = feeds.description;
        (_roundLimits, _decimalsLimits) = _pack(feeds.gas);
        decimals = _mustHaveDecimals(feeds.primary);
        _backupDecimals = _mustHaveDecimals(feeds.backup);

        if (config.flags & CircuitBreaker.LATCH != 0) revert LatchRefused();
        _breaker = CircuitBreaker.build(config);
        // The first one is what is served without a last good answer, or there is no feed to speak of.
        _keep(_served());
    }

    // ─── The feed ───

    /// @inheritdoc AggregatorV3Interface
    /// @dev Reverts with `NoAnswer` where no answer can be believed, and with `InsufficientGas`; with nothing else.
    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        return _round(_served());
    }

    /// @inheritdoc AggregatorV3Interface
    /// @dev The round that `latestRoundData` serves now, and no other: history is with the feeds, and an id that both
    ///      know means something else to each.
    function getRoundData(uint80 roundId) external view returns (uint80, int256, uint256, uint256, uint80) {
        Reading memory served = _served();
        if (served.roundId != roundId) revert NoAnswer();
        return _round(served);
    }

    /// @inheritdoc AggregatorV3Interface
    function version() external pure returns (uint256) {
        return 1;
    }

    /// @notice Whose answer `latestRoundData` serves now; `None` where it reverts with `NoAnswer`.
    function source() external view returns (Source served) {
        (served,) = _choose();
    }

    /// @notice The newest answer that a probe believed, fresh or not.
    function lastGood() external view returns (LastGood memory) {
        return _last;
    }

    // ─── The breaker ───

    /// @inheritdoc ICircuitBreaker
    /// @dev Asks both feeds. `Ok` refreshes the last good answer with a newer one of the primary. `Rejected` is a
    ///      primary whose answer is no price, is too old or from the future, or that the backup contradicts. One that
    ///      only a fresh last good answer contradicts is `Rejected`, too, but nothing is recorded: the first probe
    ///      after that answer has become stale decides.
    function probe(bytes32 id) external returns (Outcome outcome) {
        _mustKnow(id);
        if (_breaker.isOpen()) return Outcome.NotTried;
        lock();
        Reading memory primaryReading = _readStrictly(primary, decimals, primaryHeartbeat);
        Reading memory backupReading = _readStrictly(backup, _backupDecimals, backupHeartbeat);
        uint16 weight;
        (outcome, weight) =
            FeedChoice.verdict(primaryReading, backupReading, _lastReading(), maxDeviationBps, block.timestamp);
        // slither-disable-next-line incorrect-equality -- an enum
        if (outcome == Outcome.Ok) {
            _breaker.success();
            // An older round would make the last good answer older, and the same one is already there.
            if (primaryReading.updatedAt > _last.updatedAt) _keep(primaryReading);
        } else {
            _breaker.fail(outcome, weight);
        }
        unlock();
    }

    /// @notice All that is stored of the breaker.
    function breaker() external view returns (Breaker memory) {
        return _breaker;
    }

    /// @inheritdoc ICircuitBreaker
    function breakers() external view returns (bytes32[] memory ids) {
        ids = new bytes32[](1);
        ids[0] = _breaker.id();
    }

    /// @inheritdoc ICircuitBreaker
    function breakerState(bytes32 id) external view returns (State state, Breaker memory stored) {
        _mustKnow(id);
        return (_breaker.state(), _breaker);
    }

    /// @notice ERC-165: itself, `ICircuitBreaker` and `AggregatorV3Interface`.
    function supportsInterface(bytes4 interfaceId) external pure returns (bool) {
        return interfaceId == type(ICircuitBreaker).interfaceId || interfaceId == this.supportsInterface.selector
            || interfaceId == type(AggregatorV3Interface).interfaceId;
    }

    // ─── Construction ───

    function _check(FeedConfig memory feeds) private view {
        if (address(feeds.primary).code.length == 0) revert PrimaryWithoutCode(address(feeds.primary));
        if (address(feeds.backup).code.length == 0) revert BackupWithoutCode(address(feeds.backup));
        if (address(feeds.backup) == address(feeds.primary)) revert BackupIsPrimary(address(feeds.primary));
        if (feeds.primaryHeartbeat == 0) revert PrimaryHeartbeatZero();
        if (feeds.backupHeartbeat == 0) revert BackupHeartbeatZero();
        if (feeds.maxDeviationBps == 0 || feeds.maxDeviationBps > FeedChoice.BPS) {
            revert MaxDeviationOutOfRange(feeds.maxDeviationBps, FeedChoice.BPS);
        }
    }

    function _pack(uint32 gas) private pure returns (PackedLimits rounds, PackedLimits decimals_) {
        decimals_ =
            GuardedCall.pack(Limits({gas: gas, reserve: _RESERVE, maxReturn: _MAX_RETURN, minReturn: _DECIMALS_SIZE}));
        // A whole probe has to fit a transaction, not one call of it.
        uint256 later = _MORE_CALLS * GuardedCall.needed(decimals_);
        // slither-disable-start unused-return -- only whether it reverts is asked
        // forge-lint: disable-next-line(unsafe-typecast) -- three times what fits a transaction
        GuardedCall.pack(Limits({gas: gas, reserve: uint32(later), maxReturn: 0, minReturn: 0}));
        // slither-disable-end unused-return
        rounds = GuardedCall.pack(Limits({gas: gas, reserve: _RESERVE, maxReturn: _MAX_RETURN, minReturn: _ROUND_SIZE}));
    }

    function _mustHaveDecimals(AggregatorV3Interface feed) private view returns (uint8 known) {
        Outcome outcome;
        (outcome, known) = _readDecimals(feed);
        if (outcome != Outcome.Ok) revert DecimalsUnreadable(address(feed), outcome);
        if (known > FeedChoice.MAX_DECIMALS) {
            revert DecimalsTooLarge(address(feed), known, FeedChoice.MAX_DECIMALS);
        }
    }

    // ─── Reading ───

    function _served() private view returns (Reading memory served) {
        Source chosen;
        (chosen, served) = _choose();
        // slither-disable-next-line incorrect-equality -- an enum
        if (chosen == Source.None) revert NoAnswer();
    }

    /// All three levels, and the one to believe; an empty reading where there is none.
    function _choose() private view returns (Source chosen, Reading memory served) {
        // slither-disable-next-line uninitialized-local -- empty until something is read
        Reading memory primaryReading;
        if (_breaker.isOpen()) primaryReading.outcome = Outcome.NotTried;
        else primaryReading = _read(primary, decimals, primaryHeartbeat);
        Reading memory backupReading = _read(backup, _backupDecimals, backupHeartbeat);
        Reading memory last = _lastReading();
        chosen = FeedChoice.choose(primaryReading, backupReading, last, maxDeviationBps, block.timestamp);
        // slither-disable-start incorrect-equality -- an enum
        if (chosen == Source.Primary) served = primaryReading;
        else if (chosen == Source.Backup) served = backupReading;
        else if (chosen == Source.LastGood) served = last;
        // slither-disable-end incorrect-equality
    }

    /// A feed's newest round.
    function _read(AggregatorV3Interface feed, uint8 from, uint32 heartbeat)
        private
        view
        returns (Reading memory reading)
    {
        (Outcome outcome, bytes memory data) = GuardedCall.tryStaticCall(
            address(feed), abi.encodeCall(AggregatorV3Interface.latestRoundData, ()), _roundLimits
        );
        if (outcome == Outcome.Ok) return FeedChoice.read(data, from, decimals, heartbeat);
        reading.outcome = outcome;
    }

    /// The same, and the feed must still have the decimals that it had at construction.
    function _readStrictly(AggregatorV3Interface feed, uint8 from, uint32 heartbeat)
        private
        view
        returns (Reading memory reading)
    {
        reading = _read(feed, from, heartbeat);
        if (reading.outcome != Outcome.Ok) return reading;
        (Outcome outcome, uint8 known) = _readDecimals(feed);
        if (outcome != Outcome.Ok) reading.outcome = outcome;
        else if (known != from) reading.outcome = Outcome.Rejected;
    }

    function _readDecimals(AggregatorV3Interface feed) private view returns (Outcome outcome, uint8 known) {
        bytes memory data;
        (outcome, data) = GuardedCall.tryStaticCall(
            address(feed), abi.encodeCall(AggregatorV3Interface.decimals, ()), _decimalsLimits
        );
        if (outcome != Outcome.Ok) return (outcome, 0);
        // slither-disable-next-line unused-return -- _decimalsLimits lets nothing pass that is shorter than a word
        (, uint256 word) = GuardedCall.decodeUint256(data);
        if (word > type(uint8).max) return (Outcome.BadReturn, 0);
        // forge-lint: disable-next-line(unsafe-typecast) -- at most 8 bits, see above
        known = uint8(word);
    }

    function _round(Reading memory reading) private pure returns (uint80, int256, uint256, uint256, uint80) {
        return (reading.roundId, reading.answer, reading.startedAt, reading.updatedAt, reading.answeredInRound);
    }

    // ─── The last good answer ───

    function _lastReading() private view returns (Reading memory reading) {
        LastGood memory last = _last;
        reading.roundId = last.roundId;
        reading.answer = last.answer;
        reading.startedAt = last.startedAt;
        reading.updatedAt = last.updatedAt;
        reading.answeredInRound = last.roundId;
        reading.heartbeat = last.heartbeat;
    }

    /// Keeps a reading that is sound, and therefore not from the future.
    function _keep(Reading memory reading) private {
        _last = LastGood({
            answer: reading.answer,
            roundId: reading.roundId,
            startedAt: _saturate(reading.startedAt),
            updatedAt: _saturate(reading.updatedAt),
            // forge-lint: disable-next-line(unsafe-typecast) -- one of two that have 32 bits
            heartbeat: uint32(reading.heartbeat)
        });
        emit LastGoodRefreshed(reading.answer, reading.updatedAt, reading.roundId);
    }

    function _saturate(uint256 time) private pure returns (uint64) {
        // forge-lint: disable-next-line(unsafe-typecast) -- the smaller of the two fits
        return time < type(uint64).max ? uint64(time) : type(uint64).max;
    }

    // ─── Internal ───

    function _mustKnow(bytes32 id) private view {
        if (id != _breaker.id()) revert UnknownBreaker(id);
    }
}
