//! The command line. Names follow foundry where it has one.

mod operate;
mod rpc;
mod watch;

use operate::duration;
pub(crate) use operate::{
    CheckArgs, CompletionsArgs, EventsArgs, EventsCommand, EventsEnableArgs, EventsRetryArgs,
    InitArgs, MuteArgs,
};
pub(crate) use rpc::{RpcArgs, RpcCommand, RpcServeArgs, RpcStatusArgs};
pub(crate) use watch::{ReplayArgs, RunArgs, StatusArgs};

use crate::builder::cli::BuilderArgs;
use alloy::primitives::Address;
use clap::{Args, Parser, Subcommand};
use fusebox_rpc::SecretUrl;
use std::{convert::Infallible, env, path::PathBuf};

/// Watches circuit breakers on an Ethereum node, tells who wants to know, and plays out what would have happened.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "keeper",
    version,
    propagate_version = true,
    after_help = "\
Exit codes: 0 done, 1 unexpected failure, 2 usage, 3 configuration, 4 another chain, 5 store refused, 6 no node reachable,
7 the answer is no, 130 and 143 stopped by a second signal.

Examples:
  keeper init
  keeper run --config keeper.toml
  keeper run --rpc-url http://127.0.0.1:8545 --deployment deployments/31337.json"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the keeper can do.
#[derive(Clone, Debug, Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// Write a keeper.toml to begin with.
    Init(InitArgs),
    /// Say whether a keeper would start with this file, and what it would do.
    Check(CheckArgs),
    /// Watch breakers and tell of each transition as it happens, until stopped.
    Run(RunArgs),
    /// Print the state of breakers: as a keeper has stored it, or straight from the chain.
    Status(StatusArgs),
    /// Print what was told and to whom, or send again what could not be delivered.
    Events(EventsArgs),
    /// Tell nobody of a breaker for a while. What happens is still stored.
    Mute(MuteArgs),
    /// Read a range of the past, and print what a keeper would have told of it; nothing is written and nobody is told.
    Replay(ReplayArgs),
    /// Play a scenario on an anvil of its own, and compare it with the model.
    Simulate(SimulateArgs),
    /// Serve many nodes as one JSON-RPC endpoint on this machine, until stopped.
    Rpc(RpcArgs),
    /// Stop asking block builders when blocks stop arriving; replay and simulate when that would be.
    Builder(BuilderArgs),
    /// Print a script that completes this command line in a shell.
    Completions(CompletionsArgs),
}

/// Which node.
#[derive(Clone, Debug, Args)]
pub struct NodeArgs {
    /// A node's HTTP endpoint; repeated, or separated by commas, more of the same chain, the preferred one first. Also from
    /// the variable ETH_RPC_URL.
    #[arg(short, long, value_name = "URL", value_delimiter = ',', value_parser = secret_url)]
    pub rpc_url: Vec<SecretUrl>,
    /// The chain id that the nodes must have; with a file of several chains, the one whose nodes they are.
    #[arg(long, env = "CHAIN", value_name = "ID")]
    pub chain: Option<u64>,
}

impl NodeArgs {
    /// The nodes, and whether they come from the variable: that one may be meant for other programs.
    pub(crate) fn urls(&self) -> (Vec<SecretUrl>, bool) {
        if !self.rpc_url.is_empty() {
            return (self.rpc_url.clone(), false);
        }
        let variable = env::var("ETH_RPC_URL").unwrap_or_default();
        (variable.split(',').filter(|url| !url.is_empty()).map(SecretUrl::new).collect(), true)
    }
}

/// Which file.
#[derive(Clone, Debug, Args)]
pub struct FileArgs {
    /// The configuration; also from the variable KEEPER_CONFIG, else keeper.toml where there is one.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What is read where nothing is named.
const CONFIG: &str = "keeper.toml";

impl FileArgs {
    /// The file that is named. By hand, since a variable must not stand against another flag as a flag does.
    pub(crate) fn named(&self) -> Option<PathBuf> {
        let variable = || env::var_os("KEEPER_CONFIG").filter(|name| !name.is_empty());
        self.config.clone().or_else(|| variable().map(PathBuf::from))
    }

    /// The file that is named, or that is there.
    pub(crate) fn found(&self) -> Option<PathBuf> {
        self.named().or_else(|| Some(PathBuf::from(CONFIG)).filter(|path| path.exists()))
    }

    /// The file that is named, or that should be there.
    pub(crate) fn path(&self) -> PathBuf {
        self.named().unwrap_or_else(|| CONFIG.into())
    }
}

/// Which store.
#[derive(Clone, Debug, Args)]
pub struct StoreArgs {
    /// Which configuration.
    #[command(flatten)]
    pub file: FileArgs,
    /// The store, as sqlite:keeper.db; by default that of the file.
    #[arg(long, env = "KEEPER_STORE", hide_env_values = true, value_name = "URL")]
    pub store: Option<String>,
}

/// Play a scenario.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper simulate outage-and-recovery
  keeper simulate outage-and-recovery --policy cooldown=50 --out target/simulation")]
pub struct SimulateArgs {
    /// The scenario's name; today there is outage-and-recovery.
    pub scenario: String,
    /// Change a parameter of its policy: failure_threshold or cooldown. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub policy: Vec<String>,
    /// Write result.json into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print result.json instead of the timeline.
    #[arg(long)]
    pub json: bool,
}

/// Whatever it is: a refusal by the parser would repeat it.
fn secret_url(given: &str) -> Result<SecretUrl, Infallible> {
    Ok(SecretUrl::new(given))
}

fn address(given: &str) -> Result<Address, &'static str> {
    given.parse().map_err(|_| "not an address, which is 0x and 40 hexadecimal digits")
}
