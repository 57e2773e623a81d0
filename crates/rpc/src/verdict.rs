//! What an answer means for the endpoint that gave it, and for the call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::reply::NoAnswer;

use serde::Deserialize;

/// What kind of answer it was. Each kind has one consequence for the breaker and one for the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A result. Settles as a success.
    Success,
    /// Too fast. Throttle the endpoint, ask the next one; its breaker hears nothing.
    RateLimit,
    /// Used up for the day or the month, or unpaid. Park the endpoint, tell the operator, ask the next one.
    Quota,
    /// The credentials are wrong or missing. A failure; ask the next endpoint, tell the operator.
    Auth,
    /// The endpoint is broken, or its answer is no answer. A failure, unless [`Verdict::soft`].
    Server,
    /// It took too long, by our deadline or by theirs. A failure.
    Timeout,
    /// It could not be reached, or the connection broke. A failure.
    Network,
    /// This endpoint does not serve calls of this shape. An answer; learn it, ask one that does, or split.
    Capability,
    /// It does not have the block, state or transaction, or not yet. Neutral; ask the next one, each once.
    DataUnavailable,
    /// The call itself is wrong. An answer; return it unchanged.
    User,
    /// The EVM ran and failed. An answer; return it unchanged.
    Revert,
    /// The transaction was refused on its merits. An answer; return it unchanged.
    TxPool,
}

impl Category {
    /// The word for rules, metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::Server => "server",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::Capability => "capability",
            Self::DataUnavailable => "data_unavailable",
            Self::User => "user",
            Self::Revert => "revert",
            Self::TxPool => "tx_pool",
        }
    }

    /// Whether it counts against the endpoint's breaker.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Auth | Self::Server | Self::Timeout | Self::Network)
    }

    /// Whether a `Retry-After` with it means something: the endpoint asks for time.
    pub(crate) fn takes_hint(self) -> bool {
        matches!(self, Self::RateLimit | Self::Quota | Self::Server | Self::Timeout | Self::Network)
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an endpoint said it cannot do, as far as its words tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// A range of blocks this long.
    Range,
    /// An answer this large.
    Answer,
    /// Logs without an address.
    Address,
    /// This method.
    Method,
    /// A request this large or of this form.
    Request,
    /// A batch this large, or any.
    Batch,
    /// Old state, with the plan it is on. Says nothing about the method at newer blocks.
    Archive,
}

/// A range of blocks that the endpoint says would be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RangeHint {
    /// These blocks, both included.
    Blocks {
        /// First block.
        from: u64,
        /// Last block.
        to: u64,
    },
    /// At most so many blocks.
    Max(u64),
}

/// What decided. For logs, and for whoever writes rules.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// No answer arrived, and why.
    NoAnswer(NoAnswer),
    /// A result, and nothing against it.
    Result,
    /// `null` for a block that this endpoint must have.
    NullBlock,
    /// The form of the answer: HTML, truncated, no JSON-RPC, another id.
    Shape,
    /// A rule of the data file, by id.
    Rule(Arc<str>),
    /// An answer longer than the pool reads.
    Oversized,
    /// An error that no rule knows. The payload is worth logging, so that the data file grows.
    Unknown,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAnswer(why) => return why.fmt(f),
            Self::Result => "result",
            Self::NullBlock => "null for a known block",
            Self::Shape => "malformed",
            Self::Rule(id) => id,
            Self::Oversized => "too large an answer",
            Self::Unknown => "unknown",
        })
    }
}

/// What [`classify`](crate::classify) found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What kind of answer it was.
    pub category: Category,
    /// How long the endpoint asks to be left alone, as it said it: not clamped, and zero when the moment is past.
    pub hint: Option<Duration>,
    /// With [`Category::Capability`]: the range it would serve.
    pub range: Option<RangeHint>,
    /// With [`Lack::Batch`]: how many calls it takes in one, if it says so.
    pub max_batch: Option<u64>,
    /// With [`Category::Capability`]: what it cannot do, if its words tell.
    pub lack: Option<Lack>,
    /// Whether the breaker counts it.
    pub penalty: bool,
    /// An error nobody knows: no penalty, one failover, and the payload is logged.
    pub soft: bool,
    /// The filter is gone, and with it what it had collected: the caller must make a new one.
    pub filter_lost: bool,
    /// What decided.
    pub rule: Reason,
}

impl Verdict {
    pub(crate) fn new(category: Category, rule: Reason) -> Self {
        Self {
            category,
            hint: None,
            range: None,
            max_batch: None,
            lack: None,
            penalty: category.is_failure(),
            soft: false,
            filter_lost: false,
            rule,
        }
    }
}
