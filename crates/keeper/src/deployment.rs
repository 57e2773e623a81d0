//! What the deploy script wrote: `deployments/<chainid>.json`.

use crate::Refusal;
use alloy::primitives::{Address, B256};
use serde::Deserialize;
use std::{collections::BTreeMap, fs, path::Path};

/// The file. Names are in alphabetical order.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deployment {
    pub(crate) chain_id: u64,
    pub(crate) contracts: BTreeMap<String, Deployed>,
}

/// A contract in it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Deployed {
    pub(crate) address: Address,
    /// A block not after its creation.
    pub(crate) block: u64,
    /// Storage slots by label.
    #[serde(default)]
    pub(crate) breakers: BTreeMap<String, B256>,
}

impl Deployment {
    /// Reads a deployment file.
    pub(crate) fn read(path: &Path) -> Result<Self, Refusal> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            Refusal::Configuration(format!(
                "{name}: {error}; script/Deploy.s.sol writes it when it broadcasts"
            ))
        })?;
        let deployment: Self = serde_json::from_str(&text).map_err(|error| {
            Refusal::Configuration(format!("{name} is not a deployment file: {error}"))
        })?;
        if deployment.contracts.values().all(|contract| contract.breakers.is_empty()) {
            return Err(Refusal::Configuration(format!("{name}: no contract in it has breakers")));
        }
        Ok(deployment)
    }
}
