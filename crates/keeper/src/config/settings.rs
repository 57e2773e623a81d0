//! What the file says, in types: valid as far as can be seen without a chain.

use crate::deployment::Deployment;
use alloy::primitives::{Address, B256};
use clap::ValueEnum;
use fusebox_rpc::{SecretText, SecretUrl};
use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

/// How sure a block has to be to count as final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmations {
    /// The node's `finalized` block.
    Finalized,
    /// The node's `safe` block.
    Safe,
    /// So many blocks below the tip.
    Blocks(u64),
}

/// How the logs of a block with a hit are checked to be all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verify {
    /// By receipts where the node has them, else by a second node.
    Auto,
    Receipts,
    Second,
    Off,
}

/// All that the keeper reads of the file, but for the pool.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// At least one, each with another id.
    pub(crate) chains: Vec<ChainSettings>,
    pub(crate) channels: Vec<ChannelSettings>,
    pub(crate) routes: Vec<RouteSettings>,
    pub(crate) heartbeat: Option<HeartbeatSettings>,
    pub(crate) builder: Option<BuilderSettings>,
    pub(crate) store: StoreSettings,
    /// `None`: without a file, and without --listen.
    pub(crate) server: Option<ServerSettings>,
    pub(crate) log: LogSettings,
}

/// `[chain.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct ChainSettings {
    pub(crate) name: String,
    pub(crate) id: u64,
    pub(crate) profile: String,
    /// `None`: as the block time says, within 250 ms to 15 s.
    pub(crate) poll: Option<Duration>,
    pub(crate) confirmations: Confirmations,
    /// While the tag is unsupported.
    pub(crate) confirmations_fallback: u64,
    /// Blocks searched below final.
    pub(crate) reorg_window: u64,
    /// Blocks behind the best provider before another is followed.
    pub(crate) max_lag: u64,
    pub(crate) verify: Verify,
    /// A link to a transaction, with `{tx}` in it.
    pub(crate) tx_link: Option<String>,
    pub(crate) watch: Vec<WatchSettings>,
}

/// One `[[chain.NAME.watch]]`.
#[derive(Clone, Debug)]
pub(crate) enum WatchSettings {
    /// All that a deploy script wrote.
    Deployments {
        path: PathBuf,
        deployment: Deployment,
    },
    Contract(ContractSettings),
    Anywhere(AnywhereSettings),
}

/// One contract.
#[derive(Clone, Debug)]
pub(crate) struct ContractSettings {
    pub(crate) address: Address,
    pub(crate) label: Option<String>,
    /// The first block to read; `None`: no history.
    pub(crate) start: Option<u64>,
    /// Labels by slot.
    pub(crate) breakers: BTreeMap<B256, String>,
    pub(crate) read_back: bool,
    /// Whether its events without an id count.
    pub(crate) is_legacy: bool,
}

/// Any contract that emits these events.
#[derive(Clone, Debug)]
pub(crate) struct AnywhereSettings {
    pub(crate) start: Option<u64>,
    pub(crate) max_contracts: u64,
    pub(crate) alert: bool,
}

/// `[channel.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct ChannelSettings {
    pub(crate) name: String,
    pub(crate) kind: ChannelKind,
    /// Whether `final` is sent as well.
    pub(crate) confirm: bool,
    pub(crate) storm: Option<Storm>,
    /// A minijinja template in place of the built-in text, as the file holds it.
    pub(crate) template: Option<String>,
}

/// Where a channel leads.
#[derive(Clone, Debug)]
pub(crate) enum ChannelKind {
    /// Standard Webhooks; each secret signs.
    Webhook {
        url: SecretUrl,
        secrets: Vec<SecretText>,
    },
    Slack {
        url: SecretUrl,
    },
    Discord {
        url: SecretUrl,
    },
    Telegram {
        token: SecretText,
        chat: String,
        /** Where the API is; Telegram's own by default. */
        url: SecretUrl,
    },
    PagerDuty {
        key: SecretText,
        /** Where the API is; PagerDuty's own by default. */
        url: SecretUrl,
    },
}

/// Above so many messages in a time, one summary per key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Storm {
    pub(crate) messages: u32,
    pub(crate) per: Duration,
}

/// One `[[route]]`. What is not given matches everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteSettings {
    pub(crate) chain: Option<String>,
    /// A glob.
    pub(crate) label: Option<String>,
    /// A glob.
    pub(crate) kind: Option<String>,
    /// At least.
    pub(crate) severity: Option<crate::alert::Severity>,
    pub(crate) channels: Vec<String>,
}

/// `[heartbeat]`.
#[derive(Clone, Debug)]
pub(crate) struct HeartbeatSettings {
    pub(crate) url: SecretUrl,
    pub(crate) every: Duration,
}

/// `[builder]`.
#[derive(Clone, Debug)]
pub(crate) struct BuilderSettings {
    /// `/status` of the sidecar.
    pub(crate) status_url: SecretUrl,
}

/// `[store]`.
#[derive(Clone, Debug)]
pub(crate) struct StoreSettings {
    /// `sqlite:PATH`, relative to the folder of the file, or `sqlite::memory:`.
    pub(crate) url: SecretText,
    /// How long delivered rows and old facts are kept.
    pub(crate) keep: Duration,
}

/// `[server]`.
#[derive(Clone, Debug)]
pub(crate) struct ServerSettings {
    pub(crate) listen: SocketAddr,
    pub(crate) hosts: Vec<String>,
    pub(crate) allow_remote: bool,
}

/// `[log]`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogSettings {
    pub(crate) format: LogFormat,
    pub(crate) level: LogLevel,
}

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Up to which level lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    /// What stops it.
    Error,
    /// What somebody should look at, too.
    Warn,
    /// What it does, too.
    #[default]
    Info,
    /// What it asks and is told, too.
    Debug,
}

impl LogLevel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}
