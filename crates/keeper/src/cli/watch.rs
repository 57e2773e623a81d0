//! `keeper run`, `keeper replay` and `keeper status`.

use super::{NodeArgs, StoreArgs, address};
use crate::config::LogLevel;
use alloy::primitives::Address;
use clap::{Args, ValueEnum};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// Follow breakers.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
With a file it does what the file says: docs/operations/keeper.md. Without one it watches what is named here, keeps nothing,
and tells standard output. All else goes to standard error. Ctrl-C, SIGTERM and SIGHUP end it with 0.

Examples:
  keeper run --config keeper.toml
  keeper run --config keeper.toml --store sqlite:/var/lib/keeper/keeper.db --listen 127.0.0.1:9600
  keeper run --rpc-url http://127.0.0.1:8545 --watch 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
  keeper run -r http://127.0.0.1:8545 -r https://eth.example/v2/KEY --deployment deployments/1.json
  keeper run --rpc-url http://127.0.0.1:8545 --deployment deployments/31337.json --json
  keeper run --rpc-url http://127.0.0.1:8545 --anywhere --from-block 0")]
pub struct RunArgs {
    /// Which file.
    #[command(flatten)]
    pub file: StoreArgs,
    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
    /// What to watch.
    #[command(flatten)]
    pub target: RunTarget,
    /// The first block to read; by default the first one of the deployment, else the next one to come.
    #[arg(long, value_name = "N", requires = "RunTarget")]
    pub from_block: Option<u64>,
    /// Where to serve /health, /ready, /status and /metrics; by default what the file says, and without one nowhere.
    #[arg(long, env = "KEEPER_LISTEN", value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Listen where other machines reach it.
    #[arg(long)]
    pub allow_remote: bool,
    /// Up to which level to write to standard error; by default what the file says, else info.
    #[arg(long, env = "KEEPER_LOG", value_name = "LEVEL")]
    pub log: Option<LogLevel>,
    /// Say what it asks and is told, too: as --log debug.
    #[arg(short, long, conflicts_with_all = ["log", "quiet"])]
    pub verbose: bool,
    /// Say only what somebody should look at: as --log warn.
    #[arg(short, long, conflicts_with = "log")]
    pub quiet: bool,
    /// How long deliveries that are under way have to end when it is asked to stop.
    #[arg(long, value_name = "DURATION", value_parser = super::duration, default_value = "10s")]
    pub grace: Duration,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

impl RunArgs {
    /// Up to which level, where the command line says it: -v and -q go before the variable.
    pub(crate) fn level(&self) -> Option<LogLevel> {
        match (self.verbose, self.quiet) {
            (true, _) => Some(LogLevel::Debug),
            (_, true) => Some(LogLevel::Warn),
            _ => self.log,
        }
    }
}

/// What `run` watches in place of what a file says: at most one of these.
#[derive(Clone, Debug, Args)]
#[group(multiple = false, conflicts_with = "config")]
pub struct RunTarget {
    /// Contracts with breakers.
    #[arg(long, num_args = 1.., value_name = "ADDRESS", value_parser = address)]
    pub watch: Vec<Address>,
    /// What the deploy script wrote: contracts, breakers and their names.
    #[arg(long, value_name = "FILE")]
    pub deployment: Option<PathBuf>,
    /// Every contract that emits these events. Strangers can emit anything.
    #[arg(long)]
    pub anywhere: bool,
}

impl RunTarget {
    /// Whether nothing is named here.
    pub(crate) fn is_none(&self) -> bool {
        self.watch.is_empty() && self.deployment.is_none() && !self.anywhere
    }
}

/// Read the past.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
With a file, what it watches is read and compared with its store, where there is one: it ends with 7 where they differ.
Nothing is written, and nobody is told.

Examples:
  keeper replay --from-block 19000000 --to-block 19010000
  keeper replay --from-block 19000000 --to-block 19010000 --config keeper.toml --chain 1 --json
  keeper replay --from-block 1 --to-block 90 -r http://127.0.0.1:8545 --deployment deployments/31337.json
  keeper replay --from-block 1 --to-block 90 -r http://127.0.0.1:8545 --watch 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")]
pub struct ReplayArgs {
    /// Which file, and which store to compare with.
    #[command(flatten)]
    pub file: StoreArgs,
    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
    /// What to read, in place of what the file says.
    #[command(flatten)]
    pub target: RunTarget,
    /// The first block to read.
    #[arg(long, value_name = "N")]
    pub from_block: u64,
    /// The last block to read.
    #[arg(long, value_name = "M")]
    pub to_block: u64,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

impl ReplayArgs {
    /// The same as what a keeper would be asked to do.
    pub(crate) fn as_run(&self) -> RunArgs {
        RunArgs {
            file: self.file.clone(),
            node: self.node.clone(),
            target: self.target.clone(),
            from_block: Some(self.from_block),
            listen: None,
            allow_remote: false,
            log: None,
            verbose: false,
            quiet: false,
            grace: Duration::ZERO,
            json: self.json,
        }
    }
}

/// Show breakers.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
What a keeper has stored is there while it is down, too. With --watch or --deployment the chain itself is read, at one block.

Examples:
  keeper status
  keeper status vault/oracle --store sqlite:/var/lib/keeper/keeper.db --json
  keeper status --fail-on open,half-open,unknown
  keeper status --rpc-url http://127.0.0.1:8545 --deployment deployments/31337.json
  keeper status --rpc-url http://127.0.0.1:8545 --watch 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --json")]
pub struct StatusArgs {
    /// One breaker only: its label, or its key as the output shows it.
    pub key: Option<String>,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
    /// What to read from the chain.
    #[command(flatten)]
    pub target: StatusTarget,
    /// Go on, and print each breaker again when it changes.
    #[arg(long, conflicts_with = "StatusTarget")]
    pub follow: bool,
    /// End with 7 if a breaker is in one of these states.
    #[arg(long, value_name = "STATES", value_delimiter = ',')]
    pub fail_on: Vec<StateFilter>,
    /// Print one JSON document; with --follow one line for each breaker.
    #[arg(long)]
    pub json: bool,
}

/// A state to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateFilter {
    /// Calls go through.
    Closed,
    /// Calls are kept away.
    Open,
    /// The next call is a probe.
    HalfOpen,
    /// Nothing has told yet.
    Unknown,
}

impl StateFilter {
    /// As the store and the output have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
            Self::Unknown => "unknown",
        }
    }
}

/// What `status` reads from the chain: at most one of these.
#[derive(Clone, Debug, Args)]
#[group(multiple = false)]
pub struct StatusTarget {
    /// Contracts that list their breakers.
    #[arg(long, num_args = 1.., value_name = "ADDRESS", value_parser = address)]
    pub watch: Vec<Address>,
    /// What the deploy script wrote: contracts, breakers and their names.
    #[arg(long, value_name = "FILE")]
    pub deployment: Option<PathBuf>,
}

impl StatusTarget {
    /// Whether nothing is named here.
    pub(crate) fn is_none(&self) -> bool {
        self.watch.is_empty() && self.deployment.is_none()
    }
}
