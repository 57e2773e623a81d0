//! A message: one thing to tell, with an id that is the same on every retry, channel, restart and keeper.

use super::{AlertType, Phase, Severity};
use crate::output::utc;
use alloy::primitives::{Address, B256};
use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt;

/// `msg_` and 26 characters of base 32.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageId(String);

impl MessageId {
    /// What is told of a fact. `entries` counts how often the fact has entered the chain: a block can leave and return, and
    /// that it was seen again is no repeat.
    pub(crate) fn of_fact(
        chain: u64,
        genesis: B256,
        block: B256,
        log_index: u64,
        kind: AlertType,
        phase: Phase,
        entries: u64,
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(chain.to_be_bytes());
        hash.update(genesis);
        hash.update(block);
        hash.update(log_index.to_be_bytes());
        hash.update(kind.name());
        hash.update([0]);
        hash.update(phase.name());
        hash.update([0]);
        hash.update(entries.to_be_bytes());
        Self::of(hash)
    }

    /// What is told of anything else, by what makes it unique.
    pub(crate) fn of_cause(kind: AlertType, cause: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(kind.name());
        hash.update([0]);
        hash.update(cause);
        Self::of(hash)
    }

    fn of(hash: Sha256) -> Self {
        let digest = hash.finalize();
        let mut text = BASE32_NOPAD.encode(&digest).to_ascii_lowercase();
        text.truncate(26);
        Self(format!("msg_{text}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What routes ask about a message.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The name of its chain, where it is of one.
    pub(crate) chain: Option<String>,
    pub(crate) label: Option<String>,
    pub(crate) kind: AlertType,
    pub(crate) phase: Phase,
    pub(crate) severity: Severity,
}

/// One thing to tell.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: MessageId,
    /// `chain:contract:breaker`, or what else the order is kept for: a channel tells of one key in order.
    pub(crate) key: String,
    pub(crate) about: About,
    /// The log behind it: block hash, log index.
    pub(crate) fact: Option<(u64, B256, u64)>,
    pub(crate) note: Option<String>,
    /// What is known, for programs: the `data` of a webhook.
    pub(crate) data: Value,
    /// When it happened, in unix seconds: for a fact its block's time.
    pub(crate) at: u64,
}

impl Message {
    /// The document that is stored, that a webhook sends as it is, and that texts are made of.
    pub(crate) fn body(&self) -> Value {
        json!({
            "type": self.about.kind.name(),
            "timestamp": utc(self.at),
            "data": self.data,
        })
    }
}

/// `chain:contract:breaker`, as people and programs see it: the slot without leading zero bytes.
pub(crate) fn breaker_key(chain: &str, contract: Address, breaker: B256) -> String {
    format!("{chain}:{contract}:{}", crate::target::Slot(breaker))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(block: u8, log_index: u64, phase: Phase, entries: u64) -> MessageId {
        let kind = AlertType::BreakerOpened;
        MessageId::of_fact(1, B256::ZERO, B256::repeat_byte(block), log_index, kind, phase, entries)
    }

    #[test]
    fn an_id_depends_on_the_fact_its_phase_and_its_entry_and_on_nothing_else() {
        let first = id(1, 2, Phase::Seen, 1);
        assert_eq!(first, id(1, 2, Phase::Seen, 1));
        for other in [
            id(2, 2, Phase::Seen, 1),
            id(1, 3, Phase::Seen, 1),
            id(1, 2, Phase::Final, 1),
            id(1, 2, Phase::Retracted, 1),
            id(1, 2, Phase::Seen, 2),
        ] {
            assert_ne!(first, other);
        }
        assert_eq!(first.as_str().len(), 30);
        assert!(first.as_str()[4..].bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
    }
}
