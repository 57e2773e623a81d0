//! What is to be watched, resolved on the chain: contracts, and the breakers known beforehand.

use crate::{
    Refusal,
    deployment::Deployment,
    node::{Expected, Node, Source},
};
use alloy::{
    primitives::{Address, B256, U256},
    providers::Provider,
    transports::TransportError,
};
use fusebox_bindings::ICircuitBreaker;
use std::{fmt, path::Path};

/// What the command line names.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Contracts(Vec<Address>),
    Deployment { deployment: Deployment, file: String },
    Anywhere,
}

/// The same, found on the chain.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub(crate) chain: u64,
    /// `None`: every contract.
    pub(crate) contracts: Option<Vec<Address>>,
    /// The breakers known beforehand; others may be found by their events.
    pub(crate) breakers: Vec<Listed>,
    /// The latest block when all this was found.
    pub(crate) head: u64,
    /// A block not after the first event, where that is known.
    pub(crate) first_block: Option<u64>,
    /// Contracts that do not say which breakers they have.
    pub(crate) silent: Vec<Address>,
}

/// A breaker and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) key: Key,
    pub(crate) label: Option<String>,
}

/// A breaker, worldwide: `chain:contract:slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) chain: u64,
    pub(crate) contract: Address,
    pub(crate) breaker: B256,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.chain, self.contract, Slot(self.breaker))
    }
}

/// A storage slot, without leading zero bytes: `0x07`.
pub(crate) struct Slot(pub(crate) B256);

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = U256::from_be_bytes(self.0.0);
        let digits = (slot.byte_len() * 2).max(2);
        write!(f, "0x{slot:0digits$x}")
    }
}

impl Target {
    pub(crate) fn new(contracts: Vec<Address>, deployment: Option<&Path>) -> Result<Self, Refusal> {
        match deployment {
            Some(path) => Ok(Self::Deployment {
                deployment: Deployment::read(path)?,
                file: path.display().to_string(),
            }),
            None if contracts.is_empty() => Ok(Self::Anywhere),
            None => Ok(Self::Contracts(contracts)),
        }
    }

    /// Checks the chain and finds everything on it.
    pub(crate) async fn resolve(
        &self,
        node: &Node,
        expected_chain: Option<u64>,
    ) -> eyre::Result<Resolved> {
        let expected = expected_chain.map(|chain| Expected { chain, says: "--chain" });
        let chain = node.chain_id(expected).await?;
        let mut resolved = Resolved {
            chain,
            contracts: None,
            breakers: Vec::new(),
            head: node.provider.get_block_number().await?,
            first_block: None,
            silent: Vec::new(),
        };
        match self {
            Self::Anywhere => {}
            Self::Contracts(addresses) => {
                for &address in addresses {
                    node.must_have_code(address, chain, Source::CommandLine).await?;
                    match list(node, address).await? {
                        Some(slots) => {
                            resolved.list(address, slots.into_iter().map(|slot| (slot, None)))
                        }
                        None => resolved.silent.push(address),
                    }
                }
                resolved.contracts = Some(addresses.clone());
            }
            Self::Deployment { deployment, file } => {
                node.chain_id(Some(Expected { chain: deployment.chain_id, says: file })).await?;
                let mut contracts = Vec::new();
                for (name, contract) in &deployment.contracts {
                    if contract.breakers.is_empty() {
                        continue;
                    }
                    let source = Source::Deployment { name, file };
                    node.must_have_code(contract.address, chain, source).await?;
                    contracts.push(contract.address);
                    let first = resolved
                        .first_block
                        .map_or(contract.block, |first| first.min(contract.block));
                    resolved.first_block = Some(first);
                    let slots = contract.breakers.iter();
                    let named = slots.map(|(label, slot)| (*slot, Some(format!("{name}/{label}"))));
                    resolved.list(contract.address, named);
                }
                resolved.contracts = Some(contracts);
            }
        }
        Ok(resolved)
    }
}

impl Resolved {
    fn list(&mut self, contract: Address, slots: impl Iterator<Item = (B256, Option<String>)>) {
        self.breakers.extend(slots.map(|(breaker, label)| Listed {
            key: Key { chain: self.chain, contract, breaker },
            label,
        }));
    }

    /// The name of a breaker, where it has one.
    pub(crate) fn label(&self, key: &Key) -> Option<&str> {
        self.breakers.iter().find(|listed| listed.key == *key)?.label.as_deref()
    }
}

/// The breakers that a contract says it has; `None` where it says nothing that can be understood.
async fn list(node: &Node, address: Address) -> eyre::Result<Option<Vec<B256>>> {
    use alloy::contract::Error;
    match ICircuitBreaker::new(address, &node.provider).breakers().call().await {
        Ok(slots) => Ok(Some(slots)),
        // Anything but a revert is the node's failure, and says nothing of the contract.
        Err(Error::TransportError(error)) if !is_revert(&error) => Err(error.into()),
        // It reverted or answered something else: not of this interface.
        Err(_) => Ok(None),
    }
}

/// Nodes agree on the word, and not on the code.
fn is_revert(error: &TransportError) -> bool {
    error
        .as_error_resp()
        .is_some_and(|answer| answer.code == 3 || answer.message.contains("revert"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_its_slot_without_leading_zero_bytes() {
        let key = |slot: u64| Key {
            chain: 31337,
            contract: Address::repeat_byte(0x11),
            breaker: B256::from(U256::from(slot)),
        };
        let contract = Address::repeat_byte(0x11);
        assert_eq!(key(0).to_string(), format!("31337:{contract}:0x00"));
        assert_eq!(key(7).to_string(), format!("31337:{contract}:0x07"));
        assert_eq!(key(0x1234).to_string(), format!("31337:{contract}:0x1234"));
        assert_eq!(Slot(B256::repeat_byte(0xab)).to_string(), format!("0x{}", "ab".repeat(32)));
    }
}
