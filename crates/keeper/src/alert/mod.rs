//! What there is to tell, and to whom.

mod channel;
mod deliver;
mod gauges;
mod heartbeat;
pub(crate) mod http;
mod kind;
mod markup;
mod message;
mod routes;
mod schedule;
mod storm;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use channel::Channel;
pub(crate) use deliver::Delivery;
pub(crate) use heartbeat::Heartbeat;
pub(crate) use kind::{AlertType, Phase, Severity};
pub(crate) use message::{About, Message, MessageId, breaker_key};
pub(crate) use routes::Routes;
