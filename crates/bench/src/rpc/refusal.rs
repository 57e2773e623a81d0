//! A node that refuses at once, beside a healthy one that takes its time.

use std::time::Duration;

use fusebox_testkit::{Chain, Node, RpcError, StartError, any};

use super::load::{METHODS, ask};
use super::nodes::Farm;
use super::subjects::{Kind, Subject};
use crate::about::Bound;

const CALLS: usize = 20;
const HEALTHY: Duration = Duration::from_millis(50);

/// What a subject made of it.
#[derive(Debug)]
pub struct Refused {
    /// Who.
    pub kind: Kind,
    answered: usize,
    refusals: usize,
}

/// Plays it: 20 calls, one after the other.
///
/// # Errors
///
/// A node cannot be started.
pub async fn play(farm: &Farm, kind: Kind) -> Result<Refused, StartError> {
    let chain = Chain::new();
    let refusal = RpcError::new(-32005, "rate limit exceeded");
    let nodes = [
        farm.start(Node::scripted(&chain).rule(any().error(refusal))).await?,
        farm.start(Node::scripted(&chain).rule(any().delay(HEALTHY))).await?,
    ];
    let subject = Subject::new(kind, &nodes).await;
    let mut answered = 0;
    for i in 0..CALLS {
        answered += usize::from(ask(&subject.provider, METHODS[i % METHODS.len()]).await.is_ok());
    }
    subject.end().await;
    Ok(Refused { kind, answered, refusals: nodes[0].all_calls().len() })
}

/// All of them as a table.
#[must_use]
pub fn table(all: &[Refused]) -> String {
    let head = "| | answered | requests to the node that refuses |\n|---|---:|---:|\n".to_owned();
    all.iter().fold(head, |table, Refused { kind, answered, refusals }| {
        table + &format!("| {} | {answered} of {CALLS} | {refusals} |\n", kind.name())
    })
}

/// What is wanted of ours.
#[must_use]
pub fn bounds(ours: &Refused) -> Vec<Bound> {
    vec![Bound::exactly("beside a node that refuses: calls answered", ours.answered, CALLS)]
}
