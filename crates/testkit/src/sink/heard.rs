//! What a keeper has said, taken together.

use super::Delivery;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a keeper's webhooks say when all of them are taken together.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    bodies: BTreeMap<String, BTreeSet<Vec<u8>>>,
    phases: BTreeMap<String, String>,
}

impl Heard {
    /// Of these deliveries, in their order. One that is no message of a keeper is left out.
    #[must_use]
    pub fn of(deliveries: &[Delivery]) -> Self {
        let mut heard = Self::default();
        for delivery in deliveries {
            heard.bodies.entry(delivery.id.clone()).or_default().insert(delivery.body.to_vec());
            let Ok(body) = serde_json::from_slice::<Value>(&delivery.body) else { continue };
            let data = &body["data"];
            if let (Some("breaker.opened" | "breaker.closed"), Some(fact), Some(phase)) =
                (body["type"].as_str(), data["fact"].as_str(), data["phase"].as_str())
            {
                heard.phases.insert(fact.to_owned(), phase.to_owned());
            }
        }
        heard
    }

    /// The facts that are announced and not retracted, as the keeper names them: `chain:block hash:log index`.
    #[must_use]
    pub fn standing(&self) -> BTreeSet<String> {
        let standing = self.phases.iter().filter(|(_, phase)| *phase != "retracted");
        standing.map(|(fact, _)| fact.clone()).collect()
    }

    /// Ids under which two different things were said.
    #[must_use]
    pub fn contradictions(&self) -> Vec<String> {
        let several = self.bodies.iter().filter(|(_, bodies)| bodies.len() > 1);
        several.map(|(id, _)| id.clone()).collect()
    }
}
