//! What is to be watched, resolved on the chain: contracts, and the breakers known beforehand.

use crate::{
    Refusal,
    deployment::{Deployment, slot},
    node::{Endpoints, Expected, Nodes},
    watch::LEGACY,
};
use alloy::{
    primitives::{Address, B256, U256},
    providers::{Provider, RootProvider},
    transports::TransportError,
};
use fusebox_bindings::{ICircuitBreaker, Word};
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
    pub(crate) nodes: Nodes,
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

/// A storage slot, without leading zero bytes: `0x07`; `legacy` for the breaker whose slot is not told.
pub(crate) struct Slot(pub(crate) B256);

impl Slot {
    /// What stands for the slot of a breaker whose events tell none.
    pub(crate) const LEGACY: &str = "legacy";

    /// From a key.
    pub(crate) fn parse(text: &str) -> Option<B256> {
        if text == Self::LEGACY { Some(LEGACY) } else { slot(text) }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == LEGACY {
            return f.write_str(Self::LEGACY);
        }
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

    /// The chain that is meant, where somebody says so.
    fn expected(&self, option: Option<u64>) -> Result<Option<Expected<'_>>, Refusal> {
        let option = option.map(|chain| Expected { chain, says: "--chain" });
        let Self::Deployment { deployment, file } = self else { return Ok(option) };
        match (deployment.chain_id, option) {
            (written, Some(Expected { chain, says })) if chain != written => {
                Err(Refusal::Identity(format!(
                    "{says} says {chain}, but {file} says {written}: one of them is not meant"
                )))
            }
            (chain, _) => Ok(Some(Expected { chain, says: file })),
        }
    }

    /// Finds the nodes of the chain, and everything on it.
    pub(crate) async fn resolve(
        &self,
        endpoints: &Endpoints,
        expected_chain: Option<u64>,
    ) -> eyre::Result<Resolved> {
        let nodes = endpoints.connect(self.expected(expected_chain)?).await?;
        let mut resolved = Resolved {
            head: nodes.any.get_block_number().await?,
            nodes: nodes.clone(),
            contracts: None,
            breakers: Vec::new(),
            first_block: None,
            silent: Vec::new(),
        };
        match self {
            Self::Anywhere => {}
            Self::Contracts(addresses) => {
                for &address in addresses {
                    must_have_code(&nodes, address, Source::CommandLine).await?;
                    match breakers_of(&nodes, address).await? {
                        Some(slots) => {
                            resolved.list(address, slots.into_iter().map(|slot| (slot, None)))
                        }
                        None => resolved.silent.push(address),
                    }
                }
                resolved.contracts = Some(addresses.clone());
            }
            Self::Deployment { deployment, file } => {
                let mut contracts = Vec::new();
                for (name, contract) in deployment.hosts() {
                    let source = Source::Deployment { name, file };
                    must_have_code(&nodes, contract.address, source).await?;
                    contracts.push(contract.address);
                    let first = resolved
                        .first_block
                        .map_or(contract.block, |first| first.min(contract.block));
                    resolved.first_block = Some(first);
                    let named = contract.labels(name).map(|(slot, label)| (slot, Some(label)));
                    resolved.list(contract.address, named);
                }
                resolved.contracts = Some(contracts);
            }
        }
        Ok(resolved)
    }
}

/// The word of a breaker at a block, which is named by its hash: another node may answer, of no other block.
pub(crate) async fn word(nodes: &Nodes, key: &Key, block: B256) -> Result<Word, TransportError> {
    let slot = U256::from_be_bytes(key.breaker.0);
    let contract = key.contract;
    let word = nodes.first_with(|node| async move {
        let word = node.get_storage_at(contract, slot).hash(block).await?;
        Ok((!word.is_zero()).then_some(word))
    });
    Ok(Word(word.await?.unwrap_or_default()))
}

impl Resolved {
    fn list(&mut self, contract: Address, slots: impl Iterator<Item = (B256, Option<String>)>) {
        self.breakers.extend(slots.map(|(breaker, label)| Listed {
            key: Key { chain: self.nodes.chain, contract, breaker },
            label,
        }));
    }
}

/// Who says that a contract is somewhere: what has to be done where there is none depends on it.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// An address that was typed.
    CommandLine,
    /// An entry of a deployment file, which the script writes before it sends.
    Deployment { name: &'a str, file: &'a str },
}

/// Fails where no node knows a contract.
async fn must_have_code(nodes: &Nodes, address: Address, source: Source<'_>) -> eyre::Result<()> {
    let code = nodes.first_with(|node| async move {
        let code = node.get_code_at(address).await?;
        Ok((!code.is_empty()).then_some(()))
    });
    if code.await?.is_some() {
        return Ok(());
    }
    let (chain, place) = (nodes.chain, nodes.place());
    Err(Refusal::Configuration(match source {
        Source::CommandLine => format!(
            "there is no contract at {address} on chain {chain}: check the address, and that {place} is the node you mean"
        ),
        Source::Deployment { name, file } => format!(
            "there is no contract at {address} on chain {chain}, where {file} has `{name}`: it is written before anything is sent, so if that failed, run script/Deploy.s.sol again; else check that {place} is the node you mean"
        ),
    })
    .into())
}

/// The breakers that a contract says it has, as the first node tells that can.
pub(crate) async fn breakers_of(
    nodes: &Nodes,
    address: Address,
) -> Result<Option<Vec<B256>>, TransportError> {
    nodes.first_with(|node| async move { list(&node, address).await }).await
}

/// The breakers that a contract says it has; `None` where it says nothing that can be understood.
async fn list(node: &RootProvider, address: Address) -> Result<Option<Vec<B256>>, TransportError> {
    use alloy::contract::Error;
    match ICircuitBreaker::new(address, node).breakers().call().await {
        Ok(slots) => Ok(Some(slots)),
        // Anything but a revert is the node's failure, and says nothing of the contract.
        Err(Error::TransportError(error)) if !is_revert(&error) => Err(error),
        // It reverted or answered something else: not of this interface.
        Err(_) => Ok(None),
    }
}

/// Nodes agree on neither code nor words for a contract that fails: geth says `invalid opcode`, anvil `EVM error`.
fn is_revert(error: &TransportError) -> bool {
    const WORDS: [&str; 6] =
        ["revert", "evm error", "invalid opcode", "out of gas", "stack underflow", "invalid jump"];
    error.as_error_resp().is_some_and(|answer| {
        let message = answer.message.to_lowercase();
        answer.code == 3 || WORDS.iter().any(|word| message.contains(word))
    })
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
