//! The breaker's storage slot, bit by bit.
//!
//! All that a breaker knows is one word at the slot that is its id, so one `eth_getStorageAt` gives the whole state
//! at one block, and no call can answer something else. The price is this layout, kept here by hand and compared
//! with the contract's own struct in the tests. Words come from other people's contracts: every 256-bit value is a
//! valid input, and none of them panics.

use std::fmt;

use alloy::primitives::U256;

/// Flag: once open it stays open. Every opening stores [`NEVER`], except a trip with an explicit deadline.
pub const LATCH: u8 = 1;
/// Flag: at most one failure and one good probe count per timestamp.
pub const ONCE_PER_BLOCK: u8 = 2;
/// Flag: the host records only in `probe`. Hosts enforce it; no transition depends on it.
pub const PROBE_ONLY: u8 = 4;
/// Flag that only `FaultTolerantProxy` takes, and turns into no [`PROBE_ONLY`]: it records calls as well. It is never
/// stored, and in the configuration of any other host it is unknown.
pub const RECORD_CALLS: u8 = 0x80;

/// 2^40 − 1 unix seconds: the `retry_at` of a breaker that only a person closes, and the largest time there is.
pub const NEVER: u64 = (1 << 40) - 1;

/// Where a field lies. Each one starts where the one before it ends, so a gap or an overlap cannot be written down.
#[derive(Clone, Copy)]
struct Field {
    at: usize,
    bits: usize,
}

impl Field {
    const fn then(self, bits: usize) -> Self {
        Self { at: self.at + self.bits, bits }
    }

    fn get(self, word: Word) -> u64 {
        (word.0 >> self.at).as_limbs()[0] & self.max()
    }

    /// The field's part of a word. A value that is too large becomes the largest, as times do in the contract.
    fn put(self, value: u64) -> U256 {
        U256::from(value.min(self.max())) << self.at
    }

    const fn max(self) -> u64 {
        (1 << self.bits) - 1
    }
}

const STATUS: Field = Field { at: 0, bits: 8 };
const FAILURE_COUNT: Field = STATUS.then(16);
const FAILURE_THRESHOLD: Field = FAILURE_COUNT.then(16);
const COOLDOWN: Field = FAILURE_THRESHOLD.then(32);
const RETRY_AT: Field = COOLDOWN.then(40);
const SUCCESS_COUNT: Field = RETRY_AT.then(8);
const SUCCESS_THRESHOLD: Field = SUCCESS_COUNT.then(8);
const REOPEN_COUNT: Field = SUCCESS_THRESHOLD.then(8);
const MAX_COOLDOWN: Field = REOPEN_COUNT.then(32);
const WINDOW: Field = MAX_COOLDOWN.then(32);
const LAST_FAILURE_AT: Field = WINDOW.then(40);
const FLAGS: Field = LAST_FAILURE_AT.then(8);
const PROBED_AT: Field = FLAGS.then(8);

// One slot, all of it.
const _: () = assert!(PROBED_AT.at + PROBED_AT.bits == 256);

/// A breaker as it is stored: one word, all 256 bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Word(pub U256);

impl Word {
    /// Closed, open or half-open at `now`, in unix seconds.
    ///
    /// # Errors
    ///
    /// [`NotConfigured`] when the failure threshold is 0: an empty slot, or no breaker at all.
    pub fn state(self, now: u64) -> Result<State, NotConfigured> {
        if self.failure_threshold() == 0 {
            return Err(NotConfigured);
        }
        Ok(match (self.status(), self.retry_at()) {
            (0, _) => State::Closed,
            (_, retry_at) if now < retry_at || retry_at == NEVER => State::Open,
            _ => State::HalfOpen,
        })
    }

    /// What is stored of the state: 0 closed, 1 open. Anything else is not written by the library and counts as open.
    pub fn status(self) -> u8 {
        STATUS.get(self) as u8
    }

    /// Consecutive failures counted so far, weighted. Keeps its value while open.
    pub fn failure_count(self) -> u16 {
        FAILURE_COUNT.get(self) as u16
    }

    /// The failure count that trips it; 0 = not configured.
    pub fn failure_threshold(self) -> u16 {
        FAILURE_THRESHOLD.get(self) as u16
    }

    /// Seconds from a trip to half-open.
    pub fn cooldown(self) -> u32 {
        COOLDOWN.get(self) as u32
    }

    /// Unix seconds at which an open breaker becomes half-open; 0 when closed, [`NEVER`] = not by itself.
    pub fn retry_at(self) -> u64 {
        RETRY_AT.get(self)
    }

    /// Good probes so far in half-open.
    pub fn success_count(self) -> u8 {
        SUCCESS_COUNT.get(self) as u8
    }

    /// Good probes that close it.
    pub fn success_threshold(self) -> u8 {
        SUCCESS_THRESHOLD.get(self) as u8
    }

    /// Failed probes since it was last closed. Drives the backoff; stays at 255.
    pub fn reopen_count(self) -> u8 {
        REOPEN_COUNT.get(self) as u8
    }

    /// Seconds that the doubling cooldown never exceeds; equal to the cooldown = constant.
    pub fn max_cooldown(self) -> u32 {
        MAX_COOLDOWN.get(self) as u32
    }

    /// Seconds after which an old failure no longer counts; 0 = failures count for ever.
    pub fn window(self) -> u32 {
        WINDOW.get(self) as u32
    }

    /// Unix seconds. Closed: the last counted failure; open: when it left closed.
    pub fn last_failure_at(self) -> u64 {
        LAST_FAILURE_AT.get(self)
    }

    /// [`LATCH`], [`ONCE_PER_BLOCK`] and [`PROBE_ONLY`], or-ed.
    pub fn flags(self) -> u8 {
        FLAGS.get(self) as u8
    }

    /// Low byte of the timestamp of the last counted good probe.
    pub fn probed_at(self) -> u8 {
        PROBED_AT.get(self) as u8
    }
}

/// `0x` and 64 digits, as `cast storage` prints it.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#066x}", self.0)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({self})")
    }
}

impl From<U256> for Word {
    fn from(word: U256) -> Self {
        Self(word)
    }
}

impl From<Word> for U256 {
    fn from(word: Word) -> Self {
        word.0
    }
}

/// The state as a caller sees it. Half-open is not stored: it is open, and its time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The primary is used.
    Closed,
    /// The primary is left alone until `retry_at`.
    Open,
    /// The cooldown is over: the next call tries the primary.
    HalfOpen,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        })
    }
}

/// The contract's `BreakerNotConfigured`: the failure threshold is 0, so there is no breaker in this slot (yet).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no breaker is configured in this slot: its failure threshold is 0")]
pub struct NotConfigured;

/// A [`Word`] taken apart. Units and meanings are those of the getters of the same name.
///
/// Nothing is lost on the way from a word and back. On the way into a word, times above [`NEVER`] become `NEVER`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Fields {
    /// 0 closed; 1, and whatever else is found there, open.
    pub status: u8,
    /// Weighted failures.
    pub failure_count: u16,
    /// Weighted failures; 0 = not configured.
    pub failure_threshold: u16,
    /// Seconds.
    pub cooldown: u32,
    /// Unix seconds, 40 bits.
    pub retry_at: u64,
    /// Good probes.
    pub success_count: u8,
    /// Good probes.
    pub success_threshold: u8,
    /// Failed probes.
    pub reopen_count: u8,
    /// Seconds.
    pub max_cooldown: u32,
    /// Seconds; 0 = for ever.
    pub window: u32,
    /// Unix seconds, 40 bits.
    pub last_failure_at: u64,
    /// Bits.
    pub flags: u8,
    /// Unix seconds, the low 8 bits.
    pub probed_at: u8,
}

impl From<Word> for Fields {
    fn from(word: Word) -> Self {
        Self {
            status: word.status(),
            failure_count: word.failure_count(),
            failure_threshold: word.failure_threshold(),
            cooldown: word.cooldown(),
            retry_at: word.retry_at(),
            success_count: word.success_count(),
            success_threshold: word.success_threshold(),
            reopen_count: word.reopen_count(),
            max_cooldown: word.max_cooldown(),
            window: word.window(),
            last_failure_at: word.last_failure_at(),
            flags: word.flags(),
            probed_at: word.probed_at(),
        }
    }
}

impl From<Fields> for Word {
    fn from(fields: Fields) -> Self {
        Self(
            STATUS.put(fields.status.into())
                | FAILURE_COUNT.put(fields.failure_count.into())
                | FAILURE_THRESHOLD.put(fields.failure_threshold.into())
                | COOLDOWN.put(fields.cooldown.into())
                | RETRY_AT.put(fields.retry_at)
                | SUCCESS_COUNT.put(fields.success_count.into())
                | SUCCESS_THRESHOLD.put(fields.success_threshold.into())
                | REOPEN_COUNT.put(fields.reopen_count.into())
                | MAX_COOLDOWN.put(fields.max_cooldown.into())
                | WINDOW.put(fields.window.into())
                | LAST_FAILURE_AT.put(fields.last_failure_at)
                | FLAGS.put(fields.flags.into())
                | PROBED_AT.put(fields.probed_at.into()),
        )
    }
}
