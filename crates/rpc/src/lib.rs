#![doc = include_str!("../README.md")]

mod batch;
mod classify;
mod config;
mod context;
mod endpoint;
mod envelope;
mod hint;
mod hint_text;
mod instance;
mod known_word;
mod learned;
mod method;
mod pace;
mod phrase;
mod pool;
mod range;
mod reply;
mod rules;
mod scrub;
mod secret;
mod span;
mod throttle;
mod verdict;

pub use batch::{BatchElement, batch_elements};
pub use classify::classify;
pub use config::{
    BreakerSettings, ChainConfig, ConfigError, ConfigErrors, Deadlines, Hedge, HedgeAfter, Problem,
    Profile, ProviderConfig, RpcConfig, Strategy,
};
pub use context::{CallContext, block_asked_for};
pub use endpoint::{BreakerKey, Endpoint, Scope, Transport};
pub use instance::InstanceId;
pub use learned::{LIMIT_TTL, Learned, UNSUPPORTED_TTL};
pub use method::{MethodClass, is_idempotent};
pub use pace::Pace;
pub use pool::{
    Admin, Attempt, BadRequest, CallOptions, ClassStatus, EndpointStatus, MachineTime, ManualTime,
    Name, Pinned, Pool, PoolBuilder, PoolError, PoolEvent, PoolSnapshot, Rejection, Servers, Sleep,
    Time, Wake, pool_error,
};
pub use reply::{NoAnswer, Reply, ReplyHeaders};
pub use rules::{Rules, RulesError};
pub use scrub::{REDACTED, Scrubber};
pub use secret::{SecretText, SecretUrl};
pub use span::{BlockSpan, MAX_CHUNKS, TooManyChunks, merge_logs};
pub use throttle::{MAX_PAUSE, MIN_PAUSE, Throttle};
pub use verdict::{Category, Lack, RangeHint, Reason, Verdict};
