//! What notifications become: skipped, repeated, late, spoilt.

use crate::{
    body::half_of,
    rule::{Bytes as How, Effect, Notice},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a connection is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Text(String),
    /// One that WebSocket does not know.
    Bad,
}

/// What one connection still owes.
#[derive(Debug, Default)]
pub(crate) struct Notifier {
    /// By subscription: what comes after the next one.
    late: BTreeMap<String, Vec<Frame>>,
}

impl Notifier {
    /// What to send now that `value` came for `subscription`.
    pub(crate) fn frames(
        &mut self,
        subscription: &str,
        value: &Value,
        effects: &[Effect],
    ) -> Vec<Frame> {
        let mut params = json!({ "subscription": subscription, "result": value });
        let (mut times, mut is_late, mut is_bad, mut is_half) = (1, false, false, false);
        for effect in effects {
            match effect {
                Effect::Edit(edit) => edit(value, &mut params),
                Effect::Notice(Notice::Skip) => times = 0,
                Effect::Notice(Notice::Repeat) => times *= 2,
                Effect::Notice(Notice::Late) => is_late = true,
                Effect::Bytes(How::BadFrame) => is_bad = true,
                Effect::Bytes(How::InvalidJson) => is_half = true,
                _ => {}
            }
        }
        let body = json!({ "jsonrpc": "2.0", "method": "eth_subscription", "params": params });
        let text = body.to_string();
        let frame = match (is_bad, is_half) {
            (true, _) => Frame::Bad,
            (false, true) => Frame::Text(half_of(&text)),
            (false, false) => Frame::Text(text),
        };
        let mut frames = vec![frame; times];
        let late = self.late.entry(subscription.to_owned()).or_default();
        if is_late {
            late.append(&mut frames);
        } else {
            frames.append(late);
        }
        frames
    }
}
