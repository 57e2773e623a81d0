//! Slots and times. Times are milliseconds since genesis and are passed in: nothing here reads a clock.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::num::NonZeroU64;

/// How many slots an epoch has: 32 on mainnet, 16 on gnosis, 8 in the minimal preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct SlotsPerEpoch(u64);

/// Not between 1 and 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} slots per epoch: it must be 1 to 32")]
pub struct SlotsPerEpochError(u64);

impl SlotsPerEpoch {
    /// Mainnet's. More than this is not taken: two epochs must fit into the 64 slots that policies look back.
    pub const MAINNET: Self = Self(32);

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for SlotsPerEpoch {
    type Error = SlotsPerEpochError;

    fn try_from(slots: u64) -> Result<Self, SlotsPerEpochError> {
        match slots {
            1..=32 => Ok(Self(slots)),
            _ => Err(SlotsPerEpochError(slots)),
        }
    }
}

impl From<SlotsPerEpoch> for u64 {
    fn from(epoch: SlotsPerEpoch) -> Self {
        epoch.0
    }
}

impl std::str::FromStr for SlotsPerEpoch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let slots: u64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
        Self::try_from(slots).map_err(|error| error.to_string())
    }
}

/// How long slots and epochs of a network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotClock {
    /// Milliseconds of a slot.
    pub slot_ms: NonZeroU64,
    /// Slots of an epoch.
    pub slots_per_epoch: SlotsPerEpoch,
}

/// A node's configuration does not say how long a slot is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainSpecError {
    /// The node is of a version that names it otherwise, or not a beacon node.
    #[error("the node's configuration has neither SLOT_DURATION_MS nor SECONDS_PER_SLOT")]
    NoSlotLength,
    /// Two truths: neither can be used.
    #[error("SLOT_DURATION_MS is {ms}, but SECONDS_PER_SLOT is {seconds}")]
    TwoSlotLengths {
        /// Milliseconds.
        ms: u64,
        /// Seconds.
        seconds: u64,
    },
    /// A value that cannot be.
    #[error("{key} is `{value}`")]
    Value {
        /// Its name.
        key: &'static str,
        /// What the node says, cut short.
        value: String,
    },
    /// There is no epoch of that length.
    #[error("SLOTS_PER_EPOCH: {0}")]
    Epoch(#[from] SlotsPerEpochError),
}

impl SlotClock {
    /// Reads `data` of `/eth/v1/config/spec`. Keys that mean nothing here are ignored.
    ///
    /// # Errors
    /// Where the length of a slot or of an epoch is missing, ambiguous or impossible.
    pub fn from_config(config: &Map<String, Value>) -> Result<Self, ChainSpecError> {
        let ms = number(config, "SLOT_DURATION_MS")?;
        let seconds = number(config, "SECONDS_PER_SLOT")?;
        let slot_ms = match (ms, seconds) {
            (Some(ms), Some(seconds)) if seconds.checked_mul(1_000) != Some(ms) => {
                return Err(ChainSpecError::TwoSlotLengths { ms, seconds });
            }
            (Some(ms), _) => ms,
            (None, Some(seconds)) => seconds
                .checked_mul(1_000)
                .ok_or_else(|| wrong("SECONDS_PER_SLOT", seconds.to_string()))?,
            (None, None) => return Err(ChainSpecError::NoSlotLength),
        };
        let slot_ms = NonZeroU64::new(slot_ms)
            .ok_or_else(|| wrong("the length of a slot", "0".to_owned()))?;
        let epoch = number(config, "SLOTS_PER_EPOCH")?
            .ok_or_else(|| wrong("SLOTS_PER_EPOCH", "missing".to_owned()))?;
        Ok(Self { slot_ms, slots_per_epoch: epoch.try_into()? })
    }

    /// The slot that runs at a time; before genesis the first one.
    #[must_use]
    pub fn slot_at(&self, ms: i64) -> u64 {
        u64::try_from(ms).unwrap_or(0) / self.slot_ms
    }

    /// When a slot begins.
    #[must_use]
    pub fn start(&self, slot: u64) -> i64 {
        i64::try_from(slot.saturating_mul(self.slot_ms.get())).unwrap_or(i64::MAX)
    }

    /// When a slot's own decision is taken, whether or not anybody asks: a third into it, so that the block of the slot
    /// before has had its time, and an outage in which nobody here proposes trips too.
    #[must_use]
    pub fn tick(&self, slot: u64) -> i64 {
        self.start(slot).saturating_add_unsigned(self.slot_ms.get() / 3)
    }
}

/// An integer, which nodes put into quotes.
fn number(config: &Map<String, Value>, key: &'static str) -> Result<Option<u64>, ChainSpecError> {
    let number = match config.get(key) {
        None => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(value) => value.as_u64(),
    };
    let say = || wrong(key, config.get(key).map(Value::to_string).unwrap_or_default());
    number.map(Some).ok_or_else(say)
}

fn wrong(key: &'static str, value: String) -> ChainSpecError {
    /// Enough to recognise it; a node's answer may be of any length.
    const SHOWN: usize = 64;
    ChainSpecError::Value { key, value: value.chars().take(SHOWN).collect() }
}
