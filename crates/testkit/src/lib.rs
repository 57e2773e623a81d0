#![doc = include_str!("../README.md")]

mod body;
mod builder;
mod chain;
mod clock;
mod deadline;
mod door;
mod http;
mod node;
mod notify;
mod path;
mod pipeline;
mod pool;
mod record;
mod relay;
mod reply;
mod rpc;
mod rule;
mod seed;
mod sink;
mod throttle;
mod upstream;
mod view;
mod ws;

pub use builder::{NodeBuilder, StartError};
pub use chain::{BlockId, BlockPlan, Chain, block};
pub use clock::{Clock, ManualClock, Sleep, SystemClock};
pub use door::Door;
pub use node::Node;
pub use record::{Call, Transport};
pub use relay::{Relay, RelayAnswer, RelayRequest};
pub use reply::HttpReply;
pub use rpc::RpcError;
pub use rule::{Finality, RangeWording, ResultWording, Rule, RuleId, WS_OPEN, any, on};
pub use seed::Seed;
pub use sink::{Delivery, Sink, SinkAnswer, SinkBuilder, Unverified};
pub use upstream::Upstream;
