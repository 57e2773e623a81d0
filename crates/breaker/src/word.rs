//! What a call must know, in one atomic word.
//!
//! ```text
//!  63                    15    14       13    12       6    5       4      3   2   1     0
//! ┌────────────────────────┬─────────┬──────┬───────────┬───────┬──────┬────────┬─────────┐
//! │ generation (49)        │ sampled │ told │ cause (7) │ clean │ free │ mode   │ state   │
//! └────────────────────────┴─────────┴──────┴───────────┴───────┴──────┴────────┴─────────┘
//! ```
//!
//! *free*: whoever asks may call, and nothing has to be written. *clean*: a success changes nothing. *sampled*: a success
//! leaves nothing but a sample in a window. These speak of a closed breaker. *told*: every admission and rejection is an
//! event. At a billion transitions a second the generation lasts 6 days; a real one makes a few an hour.

use crate::config::Config;
use crate::core::Core;
use crate::state::{Cause, Mode, State};

const MODE: u32 = 2;
const FREE: u64 = 1 << 4;
const CLEAN: u64 = 1 << 5;
const CAUSE: u32 = 6;
const TOLD: u64 = 1 << 13;
const SAMPLED: u64 = 1 << 14;
const GENERATION: u32 = 15;

/// What the rules allow a word to say; worked out once, since a word is made under the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed(u64);

impl Allowed {
    pub(crate) fn new(cfg: &Config) -> Self {
        let free = !cfg.call_events && cfg.slow_call.is_none();
        let has_window = cfg.count_window.is_some() || cfg.time_window.is_some();
        let sampled = has_window && cfg.slow_call.is_none();
        let bit = |is: bool, bit: u64| if is { bit } else { 0 };
        Self(
            bit(free, FREE)
                | bit(!has_window, CLEAN)
                | bit(sampled, SAMPLED)
                | bit(cfg.call_events, TOLD),
        )
    }

    /// Whether good calls are ever counted without the lock.
    #[inline]
    pub(crate) const fn samples(self) -> bool {
        self.0 & SAMPLED != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    pub(crate) fn new(core: &Core, Allowed(allowed): Allowed) -> Self {
        let mut bits = core.generation() << GENERATION | (allowed & TOLD);
        bits |= match core.mode() {
            Mode::Normal => 0,
            Mode::ForcedOpen => 1,
            Mode::Disabled => 2,
            Mode::Shadow => 3,
        } << MODE;
        bits |= match core.state() {
            State::Closed if core.mode() == Mode::Disabled => 0,
            State::Closed if core.has_streak() => allowed & FREE,
            State::Closed => allowed & (FREE | CLEAN | SAMPLED),
            // Only here does a reader ask for the cause.
            State::Open => 1 | u64::from(core.cause().map_or(0, Cause::to_bits)) << CAUSE,
            State::HalfOpen => 2,
        };
        Self(bits)
    }

    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline]
    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) const fn is_free(self) -> bool {
        self.0 & FREE != 0
    }

    #[inline]
    pub(crate) const fn is_clean(self) -> bool {
        self.0 & CLEAN != 0
    }

    #[inline]
    pub(crate) const fn is_sampled(self) -> bool {
        self.0 & SAMPLED != 0
    }

    #[inline]
    pub(crate) const fn is_told(self) -> bool {
        self.0 & TOLD != 0
    }

    #[inline]
    pub(crate) const fn generation(self) -> u64 {
        self.0 >> GENERATION
    }

    #[inline]
    pub(crate) const fn state(self) -> State {
        match self.0 & 0b11 {
            0 => State::Closed,
            1 => State::Open,
            _ => State::HalfOpen,
        }
    }

    #[inline]
    pub(crate) const fn mode(self) -> Mode {
        match (self.0 >> MODE) & 0b11 {
            0 => Mode::Normal,
            1 => Mode::ForcedOpen,
            2 => Mode::Disabled,
            _ => Mode::Shadow,
        }
    }

    /// Why it is open.
    #[inline]
    pub(crate) const fn cause(self) -> Cause {
        Cause::from_bits((self.0 >> CAUSE) as u8)
    }
}
