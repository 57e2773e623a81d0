//! `keeper run`: watches, and tells, until it is stopped.

mod old;
#[allow(dead_code, reason = "grows step by step")]
mod print;
#[allow(dead_code, reason = "grows step by step")]
mod prune;
#[allow(dead_code, reason = "grows step by step")]
mod supervise;

pub(crate) use old::run;
