//! The command line. Names follow foundry where it has one.

use alloy::primitives::Address;
use clap::{Args, Parser, Subcommand};
use fusebox_rpc::SecretUrl;
use std::{convert::Infallible, net::SocketAddr, path::PathBuf};

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
    /// Serve many nodes as one JSON-RPC endpoint on this machine, until stopped.
    Rpc(RpcArgs),
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
        value_delimiter = ',',
        value_parser = secret_url
    )]
    pub rpc_url: Vec<SecretUrl>,
    /// The chain id that the nodes must have.
    #[arg(long, env = "CHAIN", value_name = "ID")]
    pub chain: Option<u64>,
}

/// Follow breakers.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Events go to standard output, all else to standard error. Ctrl-C, SIGTERM and SIGHUP end it with 0.

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

/// Serve, or ask what a running proxy knows.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Point programs at http://127.0.0.1:9545. Only the file, or the node's URLs here, hold keys. Ctrl-C, SIGTERM and SIGHUP end it
with 0, after all calls that are under way. docs/operations/rpc.md describes the file and the answers.

Examples:
  keeper rpc --config keeper.toml
  keeper rpc --rpc-url http://127.0.0.1:8545 --rpc-url http://127.0.0.1:8546
  keeper rpc --config keeper.toml --profile default --chain 1 --listen 127.0.0.1:9600"
)]
pub struct RpcArgs {
    /// What else to do.
    #[command(subcommand)]
    pub command: Option<RpcCommand>,
    /// How to serve.
    #[command(flatten)]
    pub serve: RpcServeArgs,
}

/// What can be done with a running proxy.
#[derive(Clone, Debug, Subcommand)]
#[non_exhaustive]
pub enum RpcCommand {
    /// Print what a running proxy knows of its endpoints.
    Status(RpcStatusArgs),
}

/// Serve nodes as one.
#[derive(Clone, Debug, Args)]
pub struct RpcServeArgs {
    /// The file with the nodes; also from the variable KEEPER_CONFIG.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Which profile of the file.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub profile: String,
    /// Instead of a file: a node's HTTP endpoint. Once for each node, in the order in which they are to be asked. Other
    /// users of this machine can see it while the proxy runs: keys belong into the file.
    #[arg(short, long, value_name = "URL", conflicts_with_all = ["config", "profile"], value_parser = secret_url)]
    pub rpc_url: Vec<SecretUrl>,
    /// The chain that `/` stands for, where the file has several. With --rpc-url: the chain of the nodes, which are asked
    /// for it otherwise.
    #[arg(long, value_name = "ID")]
    pub chain: Option<u64>,
    /// Where to listen.
    #[arg(long, env = "KEEPER_RPC_LISTEN", value_name = "ADDRESS", default_value = RPC_LISTEN)]
    pub listen: SocketAddr,
    /// Listen where other machines reach it. Whoever does uses your nodes, with your keys.
    #[arg(long)]
    pub allow_remote: bool,
    /// A name under which clients reach it, besides addresses and localhost. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// The origin of a page or a browser's extension that may use it, as http://localhost:3000. May be repeated.
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
}

/// Ask a running proxy.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper rpc status
  keeper rpc status --listen 127.0.0.1:9600 --json")]
pub struct RpcStatusArgs {
    /// Where the proxy listens.
    #[arg(long, env = "KEEPER_RPC_LISTEN", value_name = "ADDRESS", default_value = RPC_LISTEN)]
    pub listen: SocketAddr,
    /// Print the whole document.
    #[arg(long)]
    pub json: bool,
}

/// 8545 is the user's own node.
const RPC_LISTEN: &str = "127.0.0.1:9545";

/// Whatever it is: a refusal by the parser would repeat it.
fn secret_url(given: &str) -> Result<SecretUrl, Infallible> {
    Ok(SecretUrl::new(given))
}

fn address(given: &str) -> Result<Address, &'static str> {
    given.parse().map_err(|_| "not an address, which is 0x and 40 hexadecimal digits")
}
