#![doc = include_str!("../README.md")]

mod endpoint;
mod method;
mod scrub;
mod secret;

pub use endpoint::{BreakerKey, Endpoint, InstanceId, Scope, Transport};
pub use method::{MethodClass, is_idempotent};
pub use scrub::{REDACTED, Scrubber};
pub use secret::{SecretText, SecretUrl};
