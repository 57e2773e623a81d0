//! The keeper: watches circuit breakers on a node, shows their state, and drives simulations.
//!
//! A fact enters once, through `watch`, and is stored by `fold` together with all that is to be told of it; who tells it
//! reads the store. `main` is a table of contents over this library.

mod alert;
mod builder;
mod check;
mod cli;
mod clock;
mod config;
mod deployment;
mod error;
mod events;
mod fold;
mod http;
mod init;
mod lookup;
mod metrics;
mod mute;
mod node;
mod output;
mod replay;
mod report;
mod rpc;
mod run;
mod serve;
mod shutdown;
mod simulate;
mod status;
mod store;
mod systemd;
mod target;
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
        Command::Replay(args) => replay::replay(args).await,
        Command::Mute(args) => mute::mute(args).await,
        Command::Completions(args) => output::script(|out| {
            clap_complete::generate(args.shell, &mut Cli::command(), "keeper", out)
        }),
        Command::Simulate(args) => simulate::simulate(args).await,
        Command::Rpc(args) => rpc::rpc(args).await,
        Command::Builder(args) => builder::builder(args).await,
    }
}
