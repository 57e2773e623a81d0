//! The command line. Names follow foundry where it has one.

use crate::node::RpcUrl;
use alloy::primitives::Address;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Watches circuit breakers on an Ethereum node, and plays out what would have happened.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "keeper",
    version,
    propagate_version = true,
    after_help = "\
Examples:
  keeper run --rpc-url http://127.0.0.1:8545 --deployment deployments/31337.json
  keeper simulate outage-and-recovery"
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
    /// Print each transition of a breaker as it happens, until stopped.
    Run(RunArgs),
    /// Print the state of breakers, read straight from storage.
    Status(StatusArgs),
    /// Play a scenario on an anvil of its own, and compare it with the model.
    Simulate(SimulateArgs),
}

/// Which node.
#[derive(Clone, Debug, Args)]
pub struct NodeArgs {
    /// A node's HTTP endpoint; repeated, or separated by commas, more of the same chain, the preferred one first.
    #[arg(
        short,
        long,
        env = "ETH_RPC_URL",
        hide_env_values = true,
        value_name = "URL",
        required = true,
        value_delimiter = ','
    )]
    pub rpc_url: Vec<RpcUrl>,
    /// The chain id that the nodes must have.
    #[arg(long, env = "CHAIN", value_name = "ID")]
    pub chain: Option<u64>,
}

/// Follow breakers.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Events go to standard output, all else to standard error. Ctrl-C and SIGTERM end it with 0.

Examples:
  keeper run --rpc-url http://127.0.0.1:8545 --watch 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
  keeper run -r http://127.0.0.1:8545 -r https://eth.example/v2/KEY --deployment deployments/1.json
  keeper run --rpc-url http://127.0.0.1:8545 --deployment deployments/31337.json --json
  keeper run --rpc-url http://127.0.0.1:8545 --anywhere --from-block 0")]
pub struct RunArgs {
    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
    /// What to watch.
    #[command(flatten)]
    pub target: RunTarget,
    /// The first block to read; by default the first one of the deployment, else the next one to come.
    #[arg(long, value_name = "N")]
    pub from_block: Option<u64>,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

/// What `run` watches: exactly one of these.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
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

/// Show breakers.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper status --rpc-url http://127.0.0.1:8545 --deployment deployments/31337.json
  keeper status --rpc-url http://127.0.0.1:8545 --watch 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed --json")]
pub struct StatusArgs {
    /// One breaker only: its label, or its key as the output shows it.
    pub key: Option<String>,
    /// Which node.
    #[command(flatten)]
    pub node: NodeArgs,
    /// What to show.
    #[command(flatten)]
    pub target: StatusTarget,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// What `status` shows: exactly one of these.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub struct StatusTarget {
    /// Contracts that list their breakers.
    #[arg(long, num_args = 1.., value_name = "ADDRESS", value_parser = address)]
    pub watch: Vec<Address>,
    /// What the deploy script wrote: contracts, breakers and their names.
    #[arg(long, value_name = "FILE")]
    pub deployment: Option<PathBuf>,
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

fn address(given: &str) -> Result<Address, &'static str> {
    given.parse().map_err(|_| "not an address, which is 0x and 40 hexadecimal digits")
}
