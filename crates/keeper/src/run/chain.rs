//! One chain: found on its nodes, listed in the store, then watched.

use super::{memory::Memory, patience::Patience};
use crate::{
    Refusal,
    cli::RunArgs,
    config::{ChainSettings, Config, ContractSettings, Pools, Settings, WatchSettings},
    fold::{Anywhere, ChainName, Ledger, Router, Watched, WatchedContract},
    node::{Endpoints, Nodes, Unanswered},
    output::{self, count, say},
    report::Watches,
    store::Store,
    target::{self, Resolved, Target},
    watch::{LEGACY, Plan, Watch},
};
use alloy::{
    primitives::{Address, B256},
    providers::Provider,
};
use fusebox_rpc::Servers;
use std::{collections::BTreeMap, time::Duration};
use tokio::time;

/// How many states are told at the start.
const INTRODUCED: usize = 50;

/// How long it is waited for what storage says at the start.
const INTRODUCTION: Duration = Duration::from_secs(30);

/// All that is needed to watch one chain.
#[derive(Clone, Debug)]
pub(crate) struct ChainStage {
    pub(crate) nodes: Nodes,
    pub(crate) name: ChainName,
    source: Source,
}

/// Who says what is watched.
#[derive(Clone, Debug)]
enum Source {
    /// The command line, which was looked up on the chain.
    Line {
        resolved: Box<Resolved>,
        first: u64,
    },
    File(Box<ChainSettings>),
}

/// What the command line, or the file that it names, has running.
///
/// # Errors
/// A [`Refusal`] where that makes no sense. A node that does not answer is waited for as long as there is patience.
pub(crate) async fn stages(
    args: RunArgs,
    patience: Patience,
) -> eyre::Result<(Settings, Vec<ChainStage>)> {
    match args.target.is_none() {
        true => from_file(args).await,
        false => from_line(args, patience).await,
    }
}

async fn from_line(args: RunArgs, patience: Patience) -> eyre::Result<(Settings, Vec<ChainStage>)> {
    let (urls, _) = args.node.urls();
    if urls.is_empty() {
        return Err(Refusal::Usage("which node? Give --rpc-url URL".to_owned()).into());
    }
    let endpoints = Endpoints::new(&urls)?;
    let settings = Settings::bare(&args)?;
    output::configure(settings.log);
    let target = Target::new(args.target.watch.clone(), args.target.deployment.as_deref())?;
    let resolved = reach(&endpoints, &target, args.node.chain, patience).await?;
    let first = args.from_block.or(resolved.first_block).unwrap_or(resolved.head.saturating_add(1));
    announce(&resolved, first);
    let nodes = resolved.nodes.clone();
    let name = ChainName {
        id: nodes.chain,
        name: nodes.chain.to_string(),
        tx_link: None,
        reorg_window: Plan::quick(String::new()).reorg_window,
    };
    let source = Source::Line { resolved: Box::new(resolved), first };
    Ok((settings, vec![ChainStage { nodes, name, source }]))
}

async fn from_file(args: RunArgs) -> eyre::Result<(Settings, Vec<ChainStage>)> {
    let config = Config::of_run(&args).await?;
    output::configure(config.settings.log);
    let servers = Servers::default();
    let mut stages = Vec::new();
    for chain in &config.settings.chains {
        let Pools { rpc, rules, .. } = &config.pools;
        let nodes = Nodes::configured(rpc, &chain.profile, chain.id, &servers, rules)
            .map_err(|errors| config.pools.refuse(errors))?;
        let name = ChainName {
            id: chain.id,
            name: chain.name.clone(),
            tx_link: chain.tx_link.clone(),
            reorg_window: chain.reorg_window,
        };
        stages.push(ChainStage { nodes, name, source: Source::File(Box::new(chain.clone())) });
    }
    Ok((config.settings, stages))
}

/// Everything that is known before the first block, as soon as a node can be reached.
async fn reach(
    endpoints: &Endpoints,
    target: &Target,
    chain: Option<u64>,
    mut patience: Patience,
) -> eyre::Result<Resolved> {
    loop {
        match target.resolve(endpoints, chain).await {
            Ok(resolved) => return Ok(resolved),
            Err(error) => patience.bear(error).await?,
        }
    }
}

fn announce(resolved: &Resolved, first: u64) {
    let nodes = &resolved.nodes;
    for left_out in &*nodes.left_out {
        say(&format!("warning: {left_out}: it is not used"));
    }
    let what = match &resolved.contracts {
        None => "every contract".to_owned(),
        Some(contracts) => {
            let (contracts, breakers) = (contracts.len(), resolved.breakers.len());
            format!("{}, {}", count(contracts, "contract"), count(breakers, "known breaker"))
        }
    };
    say(&format!(
        "watching {what} on chain {} at {}, from block {first}",
        nodes.chain,
        nodes.place()
    ));
    if first > resolved.head.saturating_add(1) {
        say(&format!("the chain is at block {}: waiting for block {first}", resolved.head));
    }
    for silent in &resolved.silent {
        say(&format!("{silent} does not list its breakers: they are found by their events"));
    }
}

impl ChainStage {
    /// Says that it is to be watched.
    pub(super) fn expected_by(&self, watches: &Watches) {
        let max_lag = match &self.source {
            Source::Line { .. } => Plan::quick(String::new()).max_lag,
            Source::File(settings) => settings.max_lag,
        };
        watches.expect(self.name.id, &self.name.name, max_lag);
    }

    /// What is known of its nodes, where they are those of a file.
    pub(super) fn memory(&self, store: &Store) -> Option<Memory> {
        let Source::File(settings) = &self.source else { return None };
        let (store, nodes) = (store.clone(), self.nodes.clone());
        Some(Memory { store, nodes, profile: settings.profile.clone() })
    }

    /// Watches until it is dropped.
    ///
    /// # Errors
    /// [`Refusal::Identity`] where the nodes are on another chain than the one that is meant, or stored.
    pub(super) async fn run(
        self,
        store: Store,
        router: Router,
        watches: Watches,
    ) -> eyre::Result<()> {
        let _looked_after = self.nodes.look_after();
        let mut patience = Patience::default();
        let (genesis, watched, plan) = loop {
            match self.clone().find(None).await {
                Ok(found) => break found,
                Err(error) => patience.bear(error).await?,
            }
        };
        let ledger =
            Ledger::open(store.clone(), self.name.clone(), genesis, watched, router).await?;
        crate::metrics::begin(&self.name.name, self.nodes.names());
        let (watch, health) = Watch::new(self.nodes.clone(), ledger.clone(), plan);
        watches.put(self.name.id, health.clone());
        let introducing = introduce(store, ledger, health);
        let watching =
            async { watch.run().await.map_err(|error| Refusal::Identity(error.to_string())) };
        tokio::pin!(watching);
        tokio::select! {
            ended = &mut watching => ended?,
            () = introducing => watching.await?,
        }
        Ok(())
    }

    /// What has to be asked of a node before anything is watched: its first block, and what there is to watch. What begins
    /// with the latest block begins after this one, where one is given.
    pub(crate) async fn find(self, latest: Option<u64>) -> eyre::Result<(B256, Watched, Plan)> {
        let genesis = self.nodes.genesis().await?;
        let genesis = genesis
            .ok_or_else(|| eyre::Report::from(Unanswered("no node has block 0".to_owned())))?;
        match self.source.clone() {
            Source::Line { resolved, first } => {
                Ok((genesis, resolved.watched(first), Plan::quick(self.name.name.clone())))
            }
            Source::File(settings) => {
                let head = match latest {
                    Some(latest) => latest,
                    None => self.nodes.any.get_block_number().await?,
                };
                let watched = self.listed(settings.clone(), head).await?;
                Ok((genesis, watched, Plan::of(&settings)))
            }
        }
    }

    /// What the file lists, with the breakers that contracts list themselves.
    async fn listed(self, settings: Box<ChainSettings>, head: u64) -> eyre::Result<Watched> {
        let latest = head.saturating_add(1);
        let mut watched = Watched::default();
        for entry in settings.watch {
            match entry {
                WatchSettings::Deployments { deployment, .. } => {
                    let all = deployment.hosts().map(|(name, host)| WatchedContract {
                        address: host.address,
                        label: Some(name.to_owned()),
                        start: host.block,
                        breakers: host
                            .labels(name)
                            .map(|(slot, label)| (slot, Some(label)))
                            .collect(),
                        read_back: true,
                        is_legacy: false,
                    });
                    watched.contracts.extend(all);
                }
                WatchSettings::Contract(contract) => {
                    let breakers = breakers(self.nodes.clone(), contract.clone()).await?;
                    watched.contracts.push(WatchedContract {
                        address: contract.address,
                        label: contract.label.clone(),
                        start: contract.start.unwrap_or(latest),
                        breakers,
                        read_back: contract.read_back,
                        is_legacy: contract.is_legacy,
                    });
                }
                WatchSettings::Anywhere(settings) => {
                    watched.anywhere = Some(Anywhere {
                        start: settings.start.unwrap_or(latest),
                        max_contracts: settings.max_contracts,
                        alert: settings.alert,
                    });
                }
            }
        }
        let breakers = watched.contracts.iter().map(|contract| contract.breakers.len()).sum();
        say(&format!(
            "watching {}, {} on {} at {}",
            count(watched.contracts.len(), "contract"),
            count(breakers, "known breaker"),
            self.name.name,
            self.nodes.place(),
        ));
        Ok(watched)
    }
}

/// The breakers that a contract says it has, and those that the file names, with their labels.
async fn breakers(
    nodes: Nodes,
    contract: ContractSettings,
) -> eyre::Result<BTreeMap<B256, Option<String>>> {
    let listed = target::breakers_of(&nodes, contract.address).await?;
    if listed.is_none() && contract.breakers.is_empty() && !contract.is_legacy {
        let address = contract.address;
        say(&format!("{address} does not list its breakers: they are found by their events"));
    }
    let label = |slot: &B256| {
        let own = contract.breakers.get(slot)?;
        Some(match &contract.label {
            Some(label) => format!("{label}/{own}"),
            None => own.clone(),
        })
    };
    let all = listed.into_iter().flatten().chain(contract.breakers.keys().copied());
    let legacy = contract.is_legacy.then(|| (LEGACY, contract.label.clone()));
    Ok(all.map(|slot| (slot, label(&slot))).chain(legacy).collect())
}

impl Resolved {
    /// The same for the store.
    fn watched(&self, first: u64) -> Watched {
        let contract = |address: &Address| {
            let own = self.breakers.iter().filter(|listed| listed.key.contract == *address);
            WatchedContract {
                address: *address,
                label: None,
                start: first,
                breakers: own.map(|listed| (listed.key.breaker, listed.label.clone())).collect(),
                read_back: true,
                is_legacy: false,
            }
        };
        Watched {
            contracts: self.contracts.iter().flatten().map(contract).collect(),
            anywhere: self.contracts.is_none().then_some(Anywhere {
                start: first,
                max_contracts: u64::MAX,
                alert: true,
            }),
            tells_history: true,
        }
    }
}

/// Says the present state of each breaker once: what happened before the first block is in storage only.
async fn introduce(store: Store, ledger: Ledger, mut health: crate::watch::Handle) {
    let wait = async {
        if health.wait_for(|health| health.seen.is_some()).await.is_err() {
            return;
        }
        let mut news = store.listen();
        while ledger.words_wanted().await.is_ok_and(|wanted| !wanted.is_empty()) {
            let _ = time::timeout(Duration::from_millis(100), news.changed()).await;
        }
    };
    let _ = time::timeout(INTRODUCTION, wait).await;
    let Ok(states) = ledger.states(INTRODUCED).await else { return };
    let number = health.borrow().seen.map_or(0, |block| block.number);
    for (name, state) in states {
        match state.as_str() {
            "unknown" => {
                say(&format!("warning: {name} is not configured: there is no breaker in that slot"))
            }
            state => say(&format!("{name} is {state} at block {number}")),
        }
    }
}
