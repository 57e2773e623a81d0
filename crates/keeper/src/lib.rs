//! The keeper: watches circuit breakers on a node, shows their state, and drives simulations.
//!
//! A fact enters once, through `watch`, and is stored by `fold` together with all that is to be told of it; who tells it
//! reads the store. `main` is a table of contents over this library.

#[allow(dead_code, unused_imports, reason = "grows into `run` step by step")]
mod alert;
mod check;
mod cli;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod clock;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod config;
mod deployment;
mod error;
mod events;
#[allow(dead_code, unused_imports, reason = "grows into `run` step by step")]
mod fold;
mod http;
mod init;
mod lookup;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod metrics;
mod mute;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod node;
mod output;
mod report;
mod rpc;
mod run;
mod serve;
mod shutdown;
mod simulate;
mod status;
#[allow(dead_code, unused_imports, reason = "grows into `run` step by step")]
mod store;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod systemd;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod target;
#[allow(dead_code, reason = "grows into `run` step by step")]
mod watch;

pub use cli::Cli;
pub use error::{Refusal, exit_code};
pub use output::report;
pub use shutdown::Signal;

use clap::CommandFactory as _;
use cli::Command;

/// Does what the command line says.
///
/// # Errors
/// Whatever stops it. The exit code is that of the [`Refusal`] in the chain of errors, else 1.
pub async fn execute(cli: Cli) -> eyre::Result<()> {
    match cli.command {
        Command::Init(args) => init::init(&args),
        Command::Check(args) => check::check(args).await,
        Command::Run(args) => shutdown::until_stopped(|stop| run::run(args, stop)).await,
        Command::Status(args) => status::status(args).await,
        Command::Events(args) => events::events(args).await,
        Command::Mute(args) => mute::mute(args).await,
        Command::Completions(args) => output::script(|out| {
            clap_complete::generate(args.shell, &mut Cli::command(), "keeper", out)
        }),
        Command::Simulate(args) => simulate::simulate(args).await,
        Command::Rpc(args) => rpc::rpc(args).await,
    }
}
