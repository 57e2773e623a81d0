//! What the chain said, taken in: facts, the state of each breaker, and what is to be told of it.
//!
//! All of it is in the store, so that a process that ends at any moment has nothing to lose.

mod breakers;
mod commit;
mod digest;
mod fact;
mod ledger;
mod read_back;
mod state;
mod tally;
mod tell;
#[cfg(test)]
mod tests;

pub(crate) use ledger::{
    Anywhere, ChainName, Contract, Cursors, Ledger, Router, Watched, WatchedContract, now_ms,
};
pub(crate) use state::{Folded, Status};
