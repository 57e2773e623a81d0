//! The pools that a proxy stands on, one a chain.

use super::alarm::Alarms;
use crate::Refusal;
use fusebox_rpc::{ConfigErrors, Pool, Rejection, RpcConfig, Rules, Servers};
use futures_util::future::join_all;
use std::{collections::BTreeMap, time::Duration};
use tokio_util::sync::CancellationToken;

/// Chains by id, and the one that `/` stands for.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    pools: BTreeMap<u64, Pool>,
    default: Option<u64>,
    longest: Duration,
}

impl Chains {
    /// Pools for all chains of a profile. What is known about a server is shared: a node of two chains is one machine.
    pub(super) fn new(
        config: &RpcConfig,
        profile: &str,
        rules: &Rules,
    ) -> Result<Self, ConfigErrors> {
        let servers = Servers::default();
        let configured = config.profiles.get(profile).map(|profile| &profile.chains);
        let (mut pools, mut problems) = (BTreeMap::new(), Vec::new());
        let mut longest = Duration::ZERO;
        for (id, chain) in configured.into_iter().flatten() {
            longest = longest.max(chain.deadlines.call);
            match Pool::from_config_with(config, profile, *id, &servers, rules.clone()) {
                Ok(pool) => drop(pools.insert(*id, pool)),
                Err(ConfigErrors(errors)) => problems.extend(errors),
            }
        }
        if !problems.is_empty() {
            return Err(ConfigErrors(problems));
        }
        let default = pools.keys().next().copied().filter(|_| pools.len() == 1);
        Ok(Self { pools, default, longest })
    }

    /// The same, with `/` standing for one of several chains.
    pub(super) fn with_default(self, chain: Option<u64>) -> Result<Self, Refusal> {
        match chain {
            Some(chain) if !self.pools.contains_key(&chain) => Err(Refusal::Usage(format!(
                "--chain {chain} is not among the chains of the profile: {}",
                self.list()
            ))),
            Some(chain) => Ok(Self { default: Some(chain), ..self }),
            None => Ok(self),
        }
    }

    pub(super) fn default(&self) -> Option<u64> {
        self.default
    }

    pub(super) fn get(&self, chain: u64) -> Option<&Pool> {
        self.pools.get(&chain)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Pool)> {
        self.pools.iter().map(|(chain, pool)| (*chain, pool))
    }

    /// Their ids, for a message.
    pub(super) fn list(&self) -> String {
        self.pools.keys().map(u64::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The longest that a call takes.
    pub(super) fn longest_call(&self) -> Duration {
        self.longest
    }

    /// Ends as soon as it is known that no endpoint of a chain can ever be used; else it does not end. One that cannot be
    /// reached may come back.
    pub(super) async fn refused(&self) -> Refusal {
        let checks = self.iter().map(|(chain, pool)| async move { (chain, pool.ready().await) });
        let wrong: Vec<_> = join_all(checks)
            .await
            .into_iter()
            .filter(|(_, ready)| *ready == Err(Rejection::ForcedOpen))
            .map(|(chain, _)| chain.to_string())
            .collect();
        if wrong.is_empty() {
            return std::future::pending().await;
        }
        let wrong = wrong.join(" and ");
        Refusal::Identity(format!(
            "every endpoint of chain {wrong} serves another chain; check the URLs, the chain's number, and genesis if it is set"
        ))
    }

    /// Probes in the background and tells what happens, until it is stopped.
    pub(super) async fn run(&self, stop: &CancellationToken, upkeep: impl Fn()) {
        let probes = join_all(self.pools.values().map(|pool| pool.run(stop.cancelled())));
        let mut alarms = Alarms::default();
        let tell = async {
            let mut every = tokio::time::interval(Duration::from_secs(1));
            loop {
                every.tick().await;
                alarms.tell(self);
                upkeep();
            }
        };
        tokio::select! {
            _ = probes => {}
            () = tell => {}
        }
        alarms.tell(self);
    }

    /// From now on a call that is dropped counts for nothing.
    pub(super) fn seal(&self) {
        self.pools.values().for_each(Pool::seal);
    }
}
