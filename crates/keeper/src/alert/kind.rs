//! What an alert can be about, how grave it is, and how sure.

use serde::Serialize;
use std::fmt;

/// Everything the keeper tells of. Each has a runbook, `docs/runbooks/<type>.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AlertType {
    BreakerOpened,
    BreakerClosed,
    BreakerConfigured,
    BreakerHalfOpen,
    BreakerStuck,
    BreakerDrift,
    BreakerUnknownLog,
    ChainBehind,
    ChainDegraded,
    ChainIdentity,
    ChainNotFinalizing,
    ProviderDown,
    ChannelDead,
    ChannelDisabled,
    BuilderOpened,
    BuilderClosed,
    KeeperStarted,
    KeeperDigest,
    KeeperTest,
}

impl AlertType {
    pub(crate) const ALL: [Self; 19] = [
        Self::BreakerOpened,
        Self::BreakerClosed,
        Self::BreakerConfigured,
        Self::BreakerHalfOpen,
        Self::BreakerStuck,
        Self::BreakerDrift,
        Self::BreakerUnknownLog,
        Self::ChainBehind,
        Self::ChainDegraded,
        Self::ChainIdentity,
        Self::ChainNotFinalizing,
        Self::ProviderDown,
        Self::ChannelDead,
        Self::ChannelDisabled,
        Self::BuilderOpened,
        Self::BuilderClosed,
        Self::KeeperStarted,
        Self::KeeperDigest,
        Self::KeeperTest,
    ];

    /// Its name in messages, routes and file names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BreakerOpened => "breaker.opened",
            Self::BreakerClosed => "breaker.closed",
            Self::BreakerConfigured => "breaker.configured",
            Self::BreakerHalfOpen => "breaker.half_open",
            Self::BreakerStuck => "breaker.stuck",
            Self::BreakerDrift => "breaker.drift",
            Self::BreakerUnknownLog => "breaker.unknown_log",
            Self::ChainBehind => "chain.behind",
            Self::ChainDegraded => "chain.degraded",
            Self::ChainIdentity => "chain.identity",
            Self::ChainNotFinalizing => "chain.not_finalizing",
            Self::ProviderDown => "provider.down",
            Self::ChannelDead => "channel.dead",
            Self::ChannelDisabled => "channel.disabled",
            Self::BuilderOpened => "builder.opened",
            Self::BuilderClosed => "builder.closed",
            Self::KeeperStarted => "keeper.started",
            Self::KeeperDigest => "keeper.digest",
            Self::KeeperTest => "keeper.test",
        }
    }

    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::BreakerDrift | Self::ChainIdentity => Severity::Critical,
            Self::BreakerOpened
            | Self::BreakerStuck
            | Self::BreakerUnknownLog
            | Self::ChainBehind
            | Self::ChainDegraded
            | Self::ChainNotFinalizing
            | Self::ProviderDown
            | Self::ChannelDead
            | Self::ChannelDisabled
            | Self::BuilderOpened => Severity::Warning,
            Self::BreakerClosed
            | Self::BreakerConfigured
            | Self::BreakerHalfOpen
            | Self::BuilderClosed
            | Self::KeeperStarted
            | Self::KeeperDigest
            | Self::KeeperTest => Severity::Info,
        }
    }
}

impl fmt::Display for AlertType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How grave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Info,
    Warning,
    Critical,
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// How sure. What is no log is told once, as seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// It is on the chain, and may leave it.
    Seen,
    /// It will not leave any more.
    Final,
    /// It has left.
    Retracted,
}

impl Phase {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Final => "final",
            Self::Retracted => "retracted",
        }
    }
}
