//! The pool in front of nodes that misbehave.

mod batches;
mod calls;
mod cases;
mod cases_later;
mod counts;
mod heard;
mod logs;
mod probes;
mod secrets;
mod sends;
mod sockets;
mod support;
mod wakes;
