//! The pool in front of nodes that misbehave.

mod batches;
mod calls;
mod cases;
mod logs;
mod probes;
mod secrets;
mod sends;
mod support;
mod wakes;
