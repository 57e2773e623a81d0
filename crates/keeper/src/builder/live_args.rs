//! The command line of what watches beacon nodes.

use clap::{Args, ValueEnum};
use fusebox_builder::{MAX_NODES, OnUnknown, PolicySpec, Recovery, Start};
use fusebox_rpc::SecretUrl;
use std::{convert::Infallible, net::SocketAddr, path::PathBuf};

/// Which nodes, and when to refuse.
#[derive(Clone, Debug, Args)]
pub struct LiveArgs {
    /// A beacon node's HTTP endpoint; up to 8, the validator's own first.
    #[arg(
        long,
        env = "KEEPER_BUILDER_BEACON_NODE",
        hide_env_values = true,
        value_name = "URL",
        required = true,
        value_delimiter = ',',
        value_parser = secret_url
    )]
    pub beacon_node: Vec<SecretUrl>,
    /// When to refuse: a name, name(key=value,…), any(p,q,…) or all(p,q,…).
    #[arg(long, env = "KEEPER_BUILDER_POLICY", value_name = "POLICY", default_value = "seed")]
    pub policy: PolicySpec,
    /// How it closes: until-restart, none or hysteresis(N). [default: until-restart for seed, none for others]
    #[arg(long, env = "KEEPER_BUILDER_RECOVERY", value_name = "HOW")]
    pub recovery: Option<Recovery>,
    /// What slots before the start count as: filled, or what a node says of them.
    #[arg(long, env = "KEEPER_BUILDER_START", value_enum, default_value_t)]
    pub start: StartArg,
    /// The answer where nothing is known: local building, or the builders all the same.
    #[arg(long, env = "KEEPER_BUILDER_ON_UNKNOWN", value_enum, default_value_t)]
    pub on_unknown: OnUnknownArg,
}

/// What slots before the start count as.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum StartArg {
    /// Filled.
    #[default]
    Zero,
    /// As nodes say.
    Backfill,
}

impl From<StartArg> for Start {
    fn from(arg: StartArg) -> Self {
        match arg {
            StartArg::Zero => Self::Zero,
            StartArg::Backfill => Self::Backfill,
        }
    }
}

/// The answer where nothing is known.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum OnUnknownArg {
    /// Build locally.
    #[default]
    Local,
    /// Ask the builders.
    Forward,
}

impl From<OnUnknownArg> for OnUnknown {
    fn from(arg: OnUnknownArg) -> Self {
        match arg {
            OnUnknownArg::Local => Self::Local,
            OnUnknownArg::Forward => Self::Forward,
        }
    }
}

/// Follow the chain.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper builder watch --beacon-node http://127.0.0.1:5052
  keeper builder watch --beacon-node http://127.0.0.1:5052 --json --record events.jsonl")]
pub struct WatchArgs {
    /// Which nodes, and when to refuse.
    #[command(flatten)]
    pub live: LiveArgs,
    /// What is printed, served and recorded.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// What is printed, served and recorded.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Where to listen.
    #[arg(
        long,
        env = "KEEPER_BUILDER_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:18551"
    )]
    pub listen: SocketAddr,
    /// Where /health, /ready, /status, /metrics and /admin are served instead.
    #[arg(long, env = "KEEPER_BUILDER_ADMIN_LISTEN", value_name = "ADDRESS")]
    pub admin_listen: Option<SocketAddr>,
    /// Listen where other machines reach it.
    #[arg(long, env = "KEEPER_BUILDER_ALLOW_REMOTE")]
    pub allow_remote: bool,
    /// A file with the token that /admin asks for, which only its owner can read; else from the variable
    /// KEEPER_BUILDER_ADMIN_TOKEN.
    #[arg(long, env = "KEEPER_BUILDER_ADMIN_TOKEN_FILE", value_name = "FILE")]
    pub admin_token_file: Option<PathBuf>,
    /// Write what nodes say into this file, for `keeper builder replay --events`.
    #[arg(long, env = "KEEPER_BUILDER_RECORD", value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Print one JSON object a slot and transition.
    #[arg(long)]
    pub json: bool,
}

/// Stand between consensus client and mev-boost.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Point the consensus client's builder at http://127.0.0.1:18551. Ctrl-C and SIGTERM end it with 0, after all signed blocks that
are under way. docs/guide/stakers.md has the flags of each client.

Examples:
  keeper builder proxy --beacon-node http://127.0.0.1:5052
  keeper builder proxy --beacon-node http://127.0.0.1:5052 --upstream http://127.0.0.1:18550 --policy \"consecutive(max=3)\"")]
pub struct ProxyArgs {
    /// Which nodes, and when to refuse.
    #[command(flatten)]
    pub live: LiveArgs,
    /// What is printed, served and recorded.
    #[command(flatten)]
    pub serve: ServeArgs,
    /// mev-boost.
    #[command(flatten)]
    pub upstream: UpstreamArgs,
}

/// mev-boost.
#[derive(Clone, Debug, Args)]
pub struct UpstreamArgs {
    /// Where mev-boost listens. Credentials in it become the Authorization header.
    #[arg(
        long,
        env = "KEEPER_BUILDER_UPSTREAM",
        hide_env_values = true,
        value_name = "URL",
        default_value = "http://127.0.0.1:18550",
        value_parser = secret_url
    )]
    pub upstream: SecretUrl,
}

/// Ask once.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Ends with 6 where no beacon node can be asked, and with 7 where anything is not well.

Examples:
  keeper builder check --beacon-node http://127.0.0.1:5052
  keeper builder check --beacon-node http://127.0.0.1:5052 --upstream http://127.0.0.1:18550 --policy \"consecutive(max=3)\"")]
pub struct CheckArgs {
    /// Which nodes, and when to refuse.
    #[command(flatten)]
    pub live: LiveArgs,
    /// mev-boost.
    #[command(flatten)]
    pub upstream: UpstreamArgs,
}

/// Write a history.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
One that was interrupted goes on where it stopped.

Examples:
  keeper builder history --beacon-node http://127.0.0.1:5052 --from 8728400 --to 8728700 --out missed.csv
  keeper builder replay missed.csv --from 8728400 --to 8728700")]
pub struct HistoryArgs {
    /// A beacon node's HTTP endpoint.
    #[arg(
        long,
        env = "KEEPER_BUILDER_BEACON_NODE",
        hide_env_values = true,
        value_name = "URL",
        value_parser = secret_url
    )]
    pub beacon_node: SecretUrl,
    /// The first slot.
    #[arg(long, value_name = "SLOT")]
    pub from: u64,
    /// The last slot.
    #[arg(long, value_name = "SLOT")]
    pub to: u64,
    /// Where to write it.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// Whatever it is: a refusal by the parser would repeat it.
fn secret_url(given: &str) -> Result<SecretUrl, Infallible> {
    Ok(SecretUrl::new(given))
}

/// More than this cannot be watched.
pub(super) const MOST_NODES: usize = MAX_NODES as usize;
