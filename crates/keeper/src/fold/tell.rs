//! From a fact to what is told of it.

use super::{breakers::Slot, fact::Fact, ledger::Ledger, state::column};
use crate::{
    alert::{About, AlertType, Message, MessageId, Phase, breaker_key},
    target,
    watch::{Block, Kind, LEGACY},
};
use alloy::primitives::B256;
use fusebox_bindings::{Config, State};
use serde_json::{Map, Value, json};

/// What a message about a breaker is made of, beside its fact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    pub(super) kind: AlertType,
    pub(super) phase: Phase,
    pub(super) label: Option<&'a str>,
    /// The state that the event has led to.
    pub(super) state: Option<State>,
    pub(super) threshold: Option<u16>,
}

/// The type of alert that an event makes.
pub(super) fn alert_type(fact: &Fact) -> AlertType {
    match fact.event {
        Some((_, Kind::Opened { .. })) => AlertType::BreakerOpened,
        Some((_, Kind::Closed)) => AlertType::BreakerClosed,
        Some((_, Kind::Configured(_))) => AlertType::BreakerConfigured,
        None => AlertType::BreakerUnknownLog,
    }
}

impl Ledger {
    pub(super) fn fact_message_id(&self, fact: &Fact, kind: AlertType, phase: Phase) -> MessageId {
        let (block, log_index) = (fact.id.block, fact.id.log_index);
        MessageId::of_fact(self.chain.id, self.genesis, block, log_index, kind, phase, fact.entries)
    }

    /// What is told of an event, or of the half-open breaker that it opened; the block is where that happened.
    pub(super) fn of_fact(&self, fact: &Fact, block: Block, told: Told<'_>) -> Message {
        let mut data =
            self.data(told, &fact.event.map(|(breaker, _)| (fact.contract, breaker)), block);
        data.insert("fact".to_owned(), fact.id.show(self.chain.id).into());
        data.insert("late".to_owned(), fact.late.into());
        data.insert("contract".to_owned(), fact.contract.to_string().into());
        if told.kind != AlertType::BreakerHalfOpen
            && let Some(tx) = fact.transaction
        {
            data.insert("tx".to_owned(), tx.to_string().into());
            if let Some(link) = &self.chain.tx_link {
                data.insert("link".to_owned(), link.replace("{tx}", &tx.to_string()).into());
            }
        }
        match (told.kind, fact.event) {
            (AlertType::BreakerHalfOpen, Some((_, Kind::Opened { retry_at, .. }))) => {
                data.insert("retry_at".to_owned(), retry_at.into());
            }
            (_, Some((_, Kind::Opened { retry_at, cause }))) => {
                data.insert("retry_at".to_owned(), retry_at.into());
                if let Some(cause) = cause {
                    data.insert("cause".to_owned(), cause.to_string().into());
                }
            }
            (_, Some((_, Kind::Configured(config)))) => {
                data.insert("config".to_owned(), config_document(&config));
            }
            (_, None) => {
                // Whoever deploys a contract chooses how long it is.
                const SHOWN: usize = 256;
                if let Ok((topics, bytes)) = fact.log() {
                    let shown = &bytes[..bytes.len().min(SHOWN)];
                    data.insert("topics".to_owned(), json!(topics));
                    data.insert("log_data".to_owned(), alloy::hex::encode_prefixed(shown).into());
                    data.insert("log_bytes".to_owned(), bytes.len().into());
                }
            }
            _ => {}
        }
        Message {
            id: self.fact_message_id(fact, told.kind, told.phase),
            key: self.key(&fact.event.map(|(breaker, _)| (fact.contract, breaker)), fact),
            about: self.about(told),
            fact: Some((self.chain.id, fact.id.block, fact.id.log_index)),
            note: None,
            data: Value::Object(data),
            at: block.time,
        }
    }

    /// What is told of a breaker that no log of its own tells: once for each cause.
    pub(super) fn of_breaker(
        &self,
        slot: Slot,
        block: Block,
        cause: &str,
        told: Told<'_>,
        more: Value,
    ) -> Message {
        let mut data = self.data(told, &Some(slot), block);
        data.insert("contract".to_owned(), slot.0.to_string().into());
        if let Value::Object(more) = more {
            data.extend(more);
        }
        let key = breaker_key(&self.chain.name, slot.0, slot.1);
        Message {
            id: MessageId::of_cause(
                told.kind,
                &format!("{}:{}:{key}:{cause}", self.chain.id, self.genesis),
            ),
            key,
            about: self.about(told),
            fact: None,
            note: Some(cause.to_owned()),
            data: Value::Object(data),
            at: block.time,
        }
    }

    fn key(&self, slot: &Option<Slot>, fact: &Fact) -> String {
        match slot {
            Some((contract, breaker)) => breaker_key(&self.chain.name, *contract, *breaker),
            None => format!("{}:{}", self.chain.name, fact.contract),
        }
    }

    fn about(&self, told: Told<'_>) -> About {
        About {
            chain: Some(self.chain.name.clone()),
            label: told.label.map(ToOwned::to_owned),
            kind: told.kind,
            phase: told.phase,
            severity: told.kind.severity(),
        }
    }

    fn data(&self, told: Told<'_>, slot: &Option<Slot>, block: Block) -> Map<String, Value> {
        let mut data = Map::new();
        let mut put = |name: &str, value: Value| data.insert(name.to_owned(), value);
        put("v", 1.into());
        put("phase", told.phase.name().into());
        put("chain", self.chain.name.as_str().into());
        if let Some((contract, breaker)) = slot {
            put("key", breaker_key(&self.chain.name, *contract, *breaker).into());
            put(
                "breaker",
                match *breaker == LEGACY {
                    true => target::Slot::LEGACY.into(),
                    false => breaker.to_string().into(),
                },
            );
        }
        put("label", told.label.into());
        put("block", block_document(block));
        if let Some(state) = told.state {
            put("state", column(Some(state)).into());
        }
        if let Some(threshold) = told.threshold {
            put("threshold", threshold.into());
        }
        put("severity", told.kind.severity().name().into());
        data
    }
}

pub(super) fn block_document(block: Block) -> Value {
    let Block { number, hash, time } = block;
    json!({ "number": number, "hash": hash, "time": time })
}

fn config_document(config: &Config) -> Value {
    json!({
        "failure_threshold": config.failure_threshold,
        "cooldown": config.cooldown,
        "success_threshold": config.success_threshold,
        "max_cooldown": config.max_cooldown,
        "window": config.window,
        "flags": config.flags,
    })
}

/// The block that a fact is said to have moved from.
pub(super) fn moved_from(number: u64, hash: B256) -> Value {
    json!({ "number": number, "hash": hash })
}
