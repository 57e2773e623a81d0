//! `keeper builder`: when a validator stops asking block builders, and what that would have done.

mod check;
pub(crate) mod cli;
mod history;
mod listen;
pub(crate) mod live_args;
pub(crate) mod mirror;
mod proxy;
mod replay;
mod simulate;

use crate::shutdown;
use cli::{BuilderArgs, BuilderCommand};

pub(crate) async fn builder(args: BuilderArgs) -> eyre::Result<()> {
    match args.command {
        BuilderCommand::Watch(args) => {
            shutdown::until_stopped(|stop| proxy::watch(args, stop)).await
        }
        BuilderCommand::Proxy(args) => {
            shutdown::until_stopped(|stop| proxy::proxy(args, stop)).await
        }
        BuilderCommand::Check(args) => check::check(args).await,
        BuilderCommand::History(args) => {
            shutdown::until_stopped(|stop| history::history(args, stop)).await
        }
        BuilderCommand::Replay(args) => replay::replay(&args),
        BuilderCommand::Simulate(args) => simulate::simulate(&args),
    }
}
