//! The configuration of a pool.
//!
//! An [`RpcConfig`] that exists is valid: it is made from the text of a file in one step that finds *all* problems. Where
//! the file is, what fills `${NAME}` and which line a key is on is the business of whoever reads the file.

mod breaker;
mod chain;
mod error;
mod provider;
mod table;

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

pub use breaker::BreakerSettings;
pub use chain::{ChainConfig, Deadlines, Hedge, HedgeAfter, Strategy};
pub use error::{ConfigError, ConfigErrors, Problem};
pub use provider::ProviderConfig;

use crate::instance::InstanceId;
use table::{Problems, Table};

/// Profiles of chains of providers.
///
/// ```
/// use fusebox_rpc::RpcConfig;
///
/// let file = r#"
///     [[profile.default.chain.1.provider]]
///     name = "own-node"
///     http = "http://10.0.0.5:8545"
///     headers = { authorization = "Bearer 5ecret" }
/// "#;
/// let config: RpcConfig = toml::from_str(file)?;
/// assert_eq!(config.profiles["default"].chains[&1].providers[0].name, "own-node");
/// assert!(!format!("{config:?}").contains("5ecret"));
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RpcConfig {
    /// What breakers have in common.
    pub breaker: BreakerSettings,
    /// Profiles by name. They share breakers where they share endpoints.
    pub profiles: BTreeMap<String, Profile>,
}

/// Chains by id.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// What is asked on each chain.
    pub chains: BTreeMap<u64, ChainConfig>,
}

impl RpcConfig {
    /// Reads a configuration. `value` is the file's content, with all variables filled in.
    ///
    /// # Errors
    ///
    /// [`ConfigErrors`]: everything that is wrong, by key.
    pub fn from_value(value: Value) -> Result<Self, ConfigErrors> {
        let problems: Problems = RefCell::default();
        let config = Self::read(value, &problems);
        match (problems.into_inner(), config) {
            (found, Some(config)) if found.is_empty() => Ok(config),
            (found, _) => Err(ConfigErrors(found)),
        }
    }

    fn read(value: Value, problems: &Problems) -> Option<Self> {
        let mut root = Table::new(String::new(), value, problems)?;
        let breaker = BreakerSettings::default().under(root.table("breaker"));
        let mut profiles = BTreeMap::new();
        match root.table("profile").filter(|table| !table.is_empty()) {
            Some(table) => {
                for (key, name, value) in table.entries() {
                    let table = Table::new(key, value, problems);
                    profiles.extend(
                        table.map(|table| (name, Profile::read(table, &breaker, problems))),
                    );
                }
            }
            None => root
                .fail("profile", Problem::NoProvider { key: "profile.default.chain.1".to_owned() }),
        }
        root.finish();
        let config = Self { breaker, profiles };
        config.check_breakers(problems);
        Some(config)
    }

    /// One server has one breaker, however many profiles name it.
    fn check_breakers(&self, problems: &Problems) {
        let mut seen: BTreeMap<&InstanceId, (String, &BreakerSettings)> = BTreeMap::new();
        for (profile, Profile { chains }) in &self.profiles {
            for (id, chain) in chains {
                for (i, provider) in chain.providers.iter().enumerate() {
                    for (name, endpoint) in provider.endpoints() {
                        let key = format!("profile.{profile}.chain.{id}.provider[{i}].{name}");
                        let (other, settings) = seen
                            .entry(endpoint.instance())
                            .or_insert_with(|| (key.clone(), &provider.breaker));
                        if **settings != provider.breaker {
                            let problem = Problem::TwoBreakers { other: other.clone() };
                            problems.borrow_mut().push(ConfigError { key, problem });
                        }
                    }
                }
            }
        }
    }
}

impl Profile {
    fn read(mut table: Table<'_>, breaker: &BreakerSettings, problems: &Problems) -> Self {
        let mut chains = BTreeMap::new();
        match table.table("chain").filter(|table| !table.is_empty()) {
            Some(given) => {
                for (key, name, value) in given.entries() {
                    // Written otherwise ("01"), one chain could be there twice.
                    let id = name.parse().ok().filter(|id: &u64| *id > 0 && id.to_string() == name);
                    let Some(id) = id else {
                        problems.borrow_mut().push(ConfigError { key, problem: Problem::ChainId });
                        continue;
                    };
                    let chain = Table::new(key, value, problems);
                    chains.extend(chain.map(|chain| (id, ChainConfig::read(chain, id, breaker))));
                }
            }
            None => table.fail_here(Problem::NoProvider { key: table.path("chain.1") }),
        }
        table.finish();
        Self { chains }
    }
}

impl<'de> Deserialize<'de> for RpcConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
