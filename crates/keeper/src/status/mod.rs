//! `keeper status`: breakers as a keeper has stored them, or as the chain has them.

mod chain;
mod stored;

use crate::{Refusal, cli::StatusArgs};

pub(crate) async fn status(args: StatusArgs) -> eyre::Result<()> {
    match args.target.is_none() {
        true => stored::status(args).await,
        false => chain::status(args).await,
    }
}

/// Whether a breaker is in a state that the caller does not want.
fn fail_on<'s>(
    args: &StatusArgs,
    breakers: impl IntoIterator<Item = (&'s str, &'s str)>,
) -> Result<(), Refusal> {
    let mut bad = breakers
        .into_iter()
        .filter(|(_, state)| args.fail_on.iter().any(|filter| filter.name() == *state));
    match bad.next() {
        None => Ok(()),
        Some((key, state)) => Err(Refusal::No(match bad.count() {
            0 => format!("{key} is {state}"),
            more => format!("{key} is {state}, and {more} more in such a state"),
        })),
    }
}
