//! The pool beside what alloy has, and beside nothing at all.
//!
//! Nodes run on threads of their own, so that a client that is busy is no slow node. Every subject gets its own nodes,
//! with the same script, and calls at the same moments; all of them in one run, so that what disturbs the machine
//! disturbs all. Calls start when they are due, whether or not the ones before have ended: a subject that hangs is not
//! spared the calls that its users would have made.

pub mod alone;
pub mod load;
pub mod nodes;
pub mod outage;
pub mod refusal;
pub mod subjects;
