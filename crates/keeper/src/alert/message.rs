//! A message: one thing to tell, with an id that is the same on every retry, channel, restart and keeper.

use super::{AlertType, Phase, Severity};
use crate::output::utc;
use alloy::primitives::{Address, B256};
use data_encoding::BASE32_NOPAD;
use serde_json::{Map, Value, json};
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
    /// The document that is stored, that a webhook sends as it is, and that texts are made of. Below 20 kB.
    pub(crate) fn body(&self) -> Value {
        let About { kind, phase, severity, label, .. } = &self.about;
        let mut data = self.data.as_object().cloned().unwrap_or_default();
        let runbook = format!("docs/runbooks/{kind}.md");
        for (name, value) in [
            ("v", json!(VERSION)),
            ("phase", json!(phase)),
            ("severity", json!(severity)),
            ("key", json!(self.key)),
            ("label", json!(label)),
            ("runbook", json!(runbook)),
        ] {
            data.entry(name).or_insert(value);
        }
        while bytes(&data) > DATA && shorten(&mut data) {}
        json!({ "type": kind.name(), "timestamp": utc(self.at), "data": data })
    }
}

/// Of what is in `data`.
const VERSION: u32 = 1;

/// A webhook's body is below 20 kB: this is what `type` and `timestamp` leave.
const DATA: usize = 19_500;

fn bytes(data: &Map<String, Value>) -> usize {
    serde_json::to_vec(data).map_or(0, |json| json.len())
}

/// What says what it is about; all of it is short.
const KEPT: [&str; 10] =
    ["v", "phase", "severity", "key", "label", "runbook", "fact", "tx", "chain", "truncated"];

/// Takes away half of the field that is longest, or all of what has no halves. False where nothing can go.
fn shorten(data: &mut Map<String, Value>) -> bool {
    data.insert("truncated".to_owned(), true.into());
    let fields = data.iter_mut().filter(|(name, _)| !KEPT.contains(&name.as_str()));
    let Some((name, value)) = fields.max_by_key(|(_, value)| value.to_string().len()) else {
        return false;
    };
    match value {
        Value::String(text) if text.len() > 1 => {
            let half = (0..=text.len() / 2).rfind(|at| text.is_char_boundary(*at));
            text.truncate(half.unwrap_or_default());
        }
        Value::Array(items) if items.len() > 1 => items.truncate(items.len() / 2),
        _ => {
            let name = name.clone();
            data.remove(&name);
        }
    }
    true
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

    fn message(data: Value) -> Message {
        let about = About {
            chain: Some("mainnet".to_owned()),
            label: Some("vault".to_owned()),
            kind: AlertType::BreakerOpened,
            phase: Phase::Seen,
            severity: Severity::Warning,
        };
        let (id, key) = (id(1, 2, Phase::Seen, 1), "mainnet:0x5a:0x07".to_owned());
        Message { id, key, about, fact: None, note: None, data, at: 1_767_323_045 }
    }

    #[test]
    fn a_document_says_what_it_is_about_and_where_to_read_on() {
        let body = message(json!({ "cause": "reverted", "label": "vault/oracle" })).body();
        assert_eq!(
            body,
            json!({
                "type": "breaker.opened",
                "timestamp": "2026-01-02T03:04:05Z",
                "data": {
                    "v": 1,
                    "phase": "seen",
                    "severity": "warning",
                    "key": "mainnet:0x5a:0x07",
                    "label": "vault/oracle",
                    "cause": "reverted",
                    "runbook": "docs/runbooks/breaker.opened.md",
                },
            })
        );
    }

    #[test]
    fn a_document_is_below_20_kb_and_says_if_something_is_missing() {
        for data in [
            json!({ "log_data": "é".repeat(100_000) }),
            json!({ "breakers": vec![json!({ "key": "k".repeat(80) }); 5_000] }),
            json!({ "one": { "two": "x".repeat(30_000) } }),
            json!({ "one": ["x".repeat(30_000)], "two": "\u{1}".repeat(9_000) }),
            Value::Object((0..2_000).map(|nth| (nth.to_string(), nth.into())).collect()),
        ] {
            let body = message(data).body();
            assert!(body.to_string().len() < 20_000);
            assert_eq!(body["data"]["truncated"], true);
            assert_eq!(body["data"]["key"], "mainnet:0x5a:0x07");
        }
        assert_eq!(message(Value::Null).body()["data"]["truncated"], Value::Null);
    }
}
