//! What is wrong with a configuration.

use std::fmt;
use std::time::Duration;

/// All that is wrong with a configuration, in the order in which it was read.
///
/// Names keys and variables, never a value that could be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

/// One problem, and the key where it is: `profile.default.chain.1.provider[0].http`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// The key, as in the file. Elements of a list by index from 0.
    pub key: String,
    /// What is wrong, with its remedy.
    pub problem: Problem,
}

/// What is wrong with a key, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The key means nothing here; most often a misspelling.
    #[error("unknown key; known here: {known}")]
    UnknownKey {
        /// The keys that are known in its place.
        known: String,
    },
    /// The value has another type than the key wants.
    #[error("must be {wanted}")]
    WrongType {
        /// What to write instead.
        wanted: &'static str,
    },
    /// A number outside of its bounds.
    #[error("must be {min} … {max}, is {got}")]
    OutOfRange {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// What it is.
        got: u64,
    },
    /// A key without which nothing works.
    #[error("missing; add it")]
    Missing,
    /// There is nothing to ask.
    #[error("has no provider; add [[{key}.provider]] with a name and a url")]
    NoProvider {
        /// The chain or profile.
        key: String,
    },
    /// A provider without any URL.
    #[error("has neither http nor ws; add one")]
    NoUrl,
    /// The chain's key is not the number of a chain.
    #[error("is no chain id; write a number from 1, as in [profile.default.chain.1]")]
    ChainId,
    /// Two providers of one chain share a name, so that nobody could tell them apart in logs and metrics.
    #[error("another provider of this chain has the name {name:?}; rename one")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// The name cannot be a metric's label.
    #[error("must be 1 to 64 letters, digits, '-', '_' or '.'")]
    Name,
    /// Not a URL, or one without a host. The value is not shown: it may be a key.
    #[error("is no URL with a host; write {wanted}://host/path")]
    Url {
        /// The scheme to use.
        wanted: &'static str,
    },
    /// A URL of another kind. The scheme is not shown: in a broken value it may be part of a key.
    #[error(
        "has another scheme than {wanted}; write {wanted}, or use the other key of the provider"
    )]
    Scheme {
        /// The schemes to use.
        wanted: &'static str,
    },
    /// A variable that nobody has filled in.
    #[error("the environment variable {name} is not set; export it, or remove ${{{name}}}")]
    Variable {
        /// The variable. Never its value.
        name: String,
    },
    /// Brackets around something else than a name. What it is is not shown: it may be the secret itself.
    #[error("has \"${{\" without the name of a variable; write ${{NAME}}")]
    VariableName,
    /// A header that HTTP does not allow. The value is not shown.
    #[error(
        "is no HTTP header; a name has letters, digits and '-', a value has printable ASCII only"
    )]
    Header,
    /// The breaker cannot have these settings.
    #[error("{why}")]
    Breaker {
        /// What is wrong with them, as the breaker says it.
        why: String,
    },
    /// The machine's TLS cannot be set up.
    #[error("no TLS client can be set up on this machine; install its root certificates")]
    Tls,
    /// Not the hash of a block.
    #[error("must be the genesis block's hash, 0x and 64 hexadecimal digits")]
    Genesis,
    /// A deadline that another one makes unreachable.
    #[error(
        "is {got:?}, longer than {other} ({limit:?}) which contains it; shorten it, or lengthen {other}"
    )]
    DeadlineOrder {
        /// What it is.
        got: Duration,
        /// The key of the deadline that contains it.
        other: &'static str,
        /// The other's value.
        limit: Duration,
    },
    /// An attempt that outlives its breaker's lease would be counted as lost while it still runs.
    #[error(
        "is {got:?}, not shorter than the probe lease of {provider:?} ({lease:?}); shorten it, or raise breaker.probe_lease"
    )]
    AttemptOutlivesLease {
        /// What it is.
        got: Duration,
        /// The provider whose breaker it is.
        provider: String,
        /// The breaker's lease.
        lease: Duration,
    },
    /// Neither a duration nor a quantile.
    #[error("must be a duration such as \"300ms\", or a latency quantile from \"p50\" to \"p99\"")]
    HedgeAfter,
    /// A send that would go out twice.
    #[error("{method:?} sends something, so sending it again is not harmless; remove it")]
    NotIdempotent {
        /// The method.
        method: String,
    },
    /// One server with two sets of rules: whichever came first would silently win.
    #[error(
        "is the same server as {other}, whose breaker has other settings; give both the same, or change one URL"
    )]
    TwoBreakers {
        /// The key of the other endpoint.
        other: String,
    },
}
