//! The pool in front of nodes that misbehave.

mod batches;
mod calls;
mod cases;
mod cases_later;
mod counts;
mod echo;
mod heard;
mod logs;
mod probes;
mod secrets;
mod secrets_ws;
mod sends;
mod sockets;
mod support;
mod tls;
mod wakes;
