//! `keeper rpc` as a process, in front of nodes that misbehave.

mod calls;
mod config;
mod connections;
mod door;
mod proxy;
mod secrets;
mod sockets;
mod states;
mod stop;
