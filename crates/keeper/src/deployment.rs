//! What the deploy script wrote: `deployments/<chainid>.json`.

use crate::Refusal;
use alloy::primitives::{Address, B256, U256};
use serde::{Deserialize, Deserializer, de::Error};
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
    #[serde(default, deserialize_with = "slots")]
    pub(crate) breakers: BTreeMap<String, B256>,
}

/// Ids by label, with or without their leading zeros: `0x00`, as `keeper status` shows it, is the first slot.
fn slots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, B256>, D::Error> {
    let given = BTreeMap::<String, String>::deserialize(deserializer)?;
    let slot = |(label, id): (String, String)| match slot(&id) {
        Some(slot) => Ok((label, slot)),
        None => Err(D::Error::custom(format!(
            "breaker `{label}` has the id `{id}`, which is not 0x and at most 64 hexadecimal digits"
        ))),
    };
    given.into_iter().map(slot).collect()
}

/// A breaker's id, with or without its leading zeros.
pub(crate) fn slot(id: &str) -> Option<B256> {
    let digits = id.strip_prefix("0x")?;
    let all_hex = (1..=64).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !all_hex {
        return None;
    }
    U256::from_str_radix(digits, 16).ok().map(B256::from)
}

impl Deployed {
    /// Its breakers and what they are called, in a deployment that calls it so.
    pub(crate) fn labels(&self, name: &str) -> impl Iterator<Item = (B256, String)> {
        self.breakers.iter().map(move |(label, slot)| (*slot, format!("{name}/{label}")))
    }
}

impl Deployment {
    /// The contracts that have breakers, by name.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (&str, &Deployed)> {
        let hosts = self.contracts.iter().filter(|(_, contract)| !contract.breakers.is_empty());
        hosts.map(|(name, contract)| (name.as_str(), contract))
    }

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
        if deployment.hosts().next().is_none() {
            return Err(Refusal::Configuration(format!("{name}: no contract in it has breakers")));
        }
        Ok(deployment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_lack_its_leading_zeros_and_nothing_else() {
        assert_eq!(slot("0x00"), Some(B256::ZERO));
        assert_eq!(slot("0x0"), Some(B256::ZERO));
        assert_eq!(slot("0x1234"), Some(B256::from(U256::from(0x1234))));
        assert_eq!(slot(&format!("0x{}", "f".repeat(64))), Some(B256::repeat_byte(0xff)));
        for id in ["", "0x", "7", "0x0g", "0x+1", "0x1_0", &format!("0x{}", "0".repeat(65))] {
            assert_eq!(slot(id), None, "{id}");
        }
    }
}
