//! The keeper: watches circuit breakers on a node, shows their state, and drives simulations.
//!
//! A fact enters once, through [`watch`], into one bounded channel; printing is the first consumer of it. `main` is a
//! table of contents over this library.

#[allow(dead_code, unused_imports, reason = "grows into `run` step by step")]
mod alert;
mod cli;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod clock;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod config;
mod deployment;
mod error;
#[allow(dead_code, unused_imports, reason = "grows into `run` step by step")]
mod fold;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod metrics;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod node;
mod output;
mod rpc;
mod run;
mod shutdown;
mod simulate;
mod status;
#[allow(dead_code, unused_imports, reason = "grows into `run` step by step")]
mod store;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod target;
#[allow(dead_code, unused_imports, reason = "grows into `run` step by step")]
pub mod watch;

pub use cli::Cli;
pub use error::{Refusal, exit_code};
pub use output::report;
pub use shutdown::Signal;

use cli::Command;

/// Does what the command line says.
///
/// # Errors
/// Whatever stops it. The exit code is that of the [`Refusal`] in the chain of errors, else 1.
pub async fn execute(cli: Cli) -> eyre::Result<()> {
    match cli.command {
        Command::Run(args) => shutdown::until_stopped(|stop| run::run(args, stop)).await,
        Command::Status(args) => status::status(args).await,
        Command::Simulate(args) => simulate::simulate(args).await,
        Command::Rpc(args) => rpc::rpc(args).await,
    }
}
