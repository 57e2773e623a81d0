//! `keeper builder`: when a validator stops asking block builders, and what that would have done.

pub(crate) mod cli;
mod replay;
mod simulate;

use cli::{BuilderArgs, BuilderCommand};

pub(crate) fn builder(args: BuilderArgs) -> eyre::Result<()> {
    match args.command {
        BuilderCommand::Replay(args) => replay::replay(&args),
        BuilderCommand::Simulate(args) => simulate::simulate(&args),
    }
}
