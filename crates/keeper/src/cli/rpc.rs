//! `keeper rpc`.

use super::secret_url;
use clap::{Args, Subcommand};
use fusebox_rpc::SecretUrl;
use std::{net::SocketAddr, path::PathBuf};

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
