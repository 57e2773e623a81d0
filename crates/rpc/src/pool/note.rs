//! What a verdict teaches besides the breaker: throttles, heads, limits, latencies, and what an operator must know.

use alloy::rpc::json_rpc::ResponsePayload;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::attempt::Tried;
use super::call::Call;
use super::event::PoolEvent;
use super::shared::Shared;
use super::target::Target;
use super::time::since_origin;
use crate::context::quantity;
use crate::verdict::{Category, Verdict};

/// How much of an unknown error is shown: enough for a phrase to write a rule with.
const SHOWN: usize = 512;

impl Shared {
    /// Remembers what an answer says about its endpoint.
    pub(crate) fn note(&self, target: &Target, call: &Call, tried: &Tried) {
        let verdict = &tried.verdict;
        self.metrics.attempt(target, call.class, verdict.category, tried.elapsed);
        tracing::debug!(
            provider = &*target.name,
            transport = %target.transport(),
            method = call.method,
            category = verdict.category.as_str(),
            rule = %verdict.rule,
            elapsed = ?tried.elapsed,
            "attempt"
        );
        self.note_refusal(target, verdict);
        match verdict.category {
            Category::Success => self.note_success(target, call, tried),
            Category::Capability => {
                let now = since_origin(self.time.now());
                let mut known = target.state.known();
                let asked = call.span(known.head);
                if let Some(learned) = known.learn(&call.method) {
                    learned.refused(verdict.lack, verdict.range, asked, now);
                }
            }
            _ => {}
        }
        if verdict.soft
            && let Some(ResponsePayload::Failure(error)) = &tried.payload
        {
            let text = format!("{} {}", error.code, error.message);
            let payload = text[..text.floor_char_boundary(SHOWN)].to_owned();
            tracing::warn!(
                provider = &*target.name,
                method = call.method,
                payload,
                "unknown error"
            );
            self.metrics.unknown_payload(target);
            let (provider, method) = (target.name.clone(), call.method.clone());
            self.tell(PoolEvent::UnknownPayload { provider, method, payload });
        }
    }

    /// Remembers what a refusal says about its endpoint, whatever was asked.
    pub(crate) fn note_refusal(&self, target: &Target, verdict: &Verdict) {
        if verdict.category == Category::Auth {
            let (provider, reason) = (target.name.clone(), verdict.rule.to_string());
            self.tell(PoolEvent::AuthRefused { provider, reason });
        }
        self.note_pause(target, verdict);
    }

    /// Moves the endpoint's throttle.
    fn note_pause(&self, target: &Target, verdict: &Verdict) {
        let now = since_origin(self.time.now());
        let mut known = target.state.known();
        match verdict.category {
            Category::RateLimit => known.throttle.refused(now, verdict.hint, draw() as u32),
            Category::Quota => {
                let wall = self.time.wall();
                known.throttle.parked(now, wall, verdict.hint, draw() as u32);
                let newly = !std::mem::replace(&mut known.parked, true);
                let wait = known.throttle.wait(now);
                drop(known);
                if newly {
                    tracing::warn!(provider = &*target.name, ?wait, "quota used up");
                    let (provider, reason) = (target.name.clone(), verdict.rule.to_string());
                    self.tell(PoolEvent::QuotaExhausted { provider, wait, reason });
                }
                self.metrics.throttled(target, wait);
                return;
            }
            Category::Success => {
                known.throttle.succeeded(now);
                if known.throttle.wait(now).is_zero() {
                    known.parked = false;
                }
                return;
            }
            _ => return,
        }
        let wait = known.throttle.wait(now);
        drop(known);
        self.metrics.throttled(target, wait);
    }

    fn note_success(&self, target: &Target, call: &Call, tried: &Tried) {
        let Some(ResponsePayload::Success(result)) = &tried.payload else { return };
        let now = since_origin(self.time.now());
        self.hedging.took(call.class, tried.elapsed);
        let mut known = target.state.known();
        known.took(call.class, tried.elapsed);
        let head = known.head;
        if let Some(span) = call.span(head)
            && let Some(learned) = known.learned_mut(&call.method)
        {
            learned.succeeded(span, now);
        }
        let Some(number) = shown_head(call, result) else { return };
        let went_on = known.saw_head(number);
        drop(known);
        self.metrics.head(target, number, !went_on);
    }
}

/// The head that an answer shows.
fn shown_head(call: &Call, result: &RawValue) -> Option<u64> {
    #[derive(Deserialize)]
    struct Header {
        number: Option<String>,
    }
    let number = match call.method.as_str() {
        "eth_blockNumber" => serde_json::from_str::<String>(result.get()).ok()?,
        "eth_getBlockByNumber" if call.params().get(0)?.as_str()? == "latest" => {
            serde_json::from_str::<Header>(result.get()).ok()?.number?
        }
        _ => return None,
    };
    quantity(&number)
}

/// A random number, from where the standard library takes its own.
pub(crate) fn draw() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_head_is_shown_by_two_methods() {
        let shown = |method: &str, params, result: &str| {
            let result = RawValue::from_string(result.to_owned()).unwrap();
            shown_head(&Call::make(method, &params), &result)
        };
        assert_eq!(shown("eth_blockNumber", json!([]), "\"0x10\""), Some(16));
        let block = r#"{"hash":"0x","number":"0x11"}"#;
        assert_eq!(shown("eth_getBlockByNumber", json!(["latest", false]), block), Some(17));
        assert_eq!(shown("eth_getBlockByNumber", json!(["0x11", false]), block), None);
        assert_eq!(shown("eth_getBlockByNumber", json!(["latest", false]), "null"), None);
        assert_eq!(shown("eth_blockNumber", json!([]), "\"latest\""), None);
        assert_eq!(shown("eth_chainId", json!([]), "\"0x1\""), None);
    }
}
