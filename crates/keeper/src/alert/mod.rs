//! What there is to tell, and to whom.

mod kind;
mod message;
mod routes;

pub(crate) use kind::{AlertType, Phase, Severity};
pub(crate) use message::{About, Message, MessageId, breaker_key};
pub(crate) use routes::{RouteError, Routes};
