#![doc = include_str!("../README.md")]

mod batch;
mod classify;
mod context;
mod endpoint;
mod envelope;
mod hint;
mod hint_text;
mod method;
mod phrase;
mod range;
mod reply;
mod rules;
mod scrub;
mod secret;
mod verdict;

pub use batch::{BatchElement, batch_elements};
pub use classify::classify;
pub use context::{CallContext, block_asked_for};
pub use endpoint::{BreakerKey, Endpoint, InstanceId, Scope, Transport};
pub use method::{MethodClass, is_idempotent};
pub use reply::{NoAnswer, Reply, ReplyHeaders};
pub use rules::{Rules, RulesError};
pub use scrub::{REDACTED, Scrubber};
pub use secret::{SecretText, SecretUrl};
pub use verdict::{Category, Lack, RangeHint, Reason, Verdict};
