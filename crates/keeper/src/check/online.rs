//! What can be said only by asking: each node by itself, the contracts on its chain, and the store.

use super::Findings;
use crate::{
    Refusal,
    alert::http::Http,
    builder::mirror,
    clock::SystemClock,
    config::{ChainSettings, Config, Settings, WatchSettings},
    node::{explain, is_turned_away},
    output::line,
    store::Store,
};
use alloy::{
    eips::{BlockId, BlockNumberOrTag},
    primitives::{Address, B256},
    providers::{Provider as _, ProviderBuilder, RootProvider},
    rpc::types::Filter,
    transports::TransportError,
};
use fusebox_rpc::{ConfigErrors, Pool, PoolEvent, Servers};
use futures_util::future::join_all;
use std::{collections::BTreeMap, path::Path, time::Duration};
use tokio::time::{Instant, timeout};

/// How long a node has for all that it is asked.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn check(config: &Config, findings: &mut Findings) -> eyre::Result<()> {
    for chain in &config.settings.chains {
        nodes(config, chain, findings).await?;
    }
    builder(&config.settings, findings).await?;
    store(config.settings.store.url.expose(), findings).await
}

/// The staker's sidecar, where there is one. That it is open is no fault of the file.
async fn builder(settings: &Settings, findings: &mut Findings) -> eyre::Result<()> {
    let Some(settings) = &settings.builder else { return Ok(()) };
    match mirror::summary(settings, &Http::new()?, &SystemClock).await {
        Ok(said) => line(&format!("ok     the builder's sidecar: {said}")),
        Err(why) => {
            findings.add(Refusal::No(format!("the builder's sidecar: {why}")));
            Ok(())
        }
    }
}

/// A node as it has shown itself.
struct Seen {
    provider: RootProvider,
    head: u64,
    genesis: B256,
    latency: Duration,
    features: Vec<&'static str>,
}

/// Why a node cannot be used.
enum Unfit {
    /// It is on another chain: this one.
    Elsewhere(String),
    Silent(String),
}

async fn nodes(
    config: &Config,
    chain: &ChainSettings,
    findings: &mut Findings,
) -> eyre::Result<()> {
    let profiles = &config.pools.rpc.profiles;
    let providers = profiles.get(&chain.profile).and_then(|profile| profile.chains.get(&chain.id));
    let names: Vec<&str> = providers
        .into_iter()
        .flat_map(|chain| &chain.providers)
        .map(|provider| provider.name.as_str())
        .collect();
    let mut asked = Vec::new();
    for name in &names {
        asked.push(ask(alone(config, chain, name)?));
    }
    let answers: BTreeMap<_, _> = names.iter().copied().zip(join_all(asked).await).collect();
    let best = answers.values().flatten().map(|seen| seen.head).max();
    for (name, answer) in &answers {
        let place = format!("{} {name}", chain.name);
        match answer {
            Ok(seen) => {
                line(&format!("ok     {place}: {}", shown(seen)))?;
                let lag = best.unwrap_or_default() - seen.head;
                if lag > chain.max_lag {
                    findings
                        .add(Refusal::No(format!("{place} is {lag} blocks behind the best node")));
                }
            }
            Err(Unfit::Elsewhere(found)) => findings.add(Refusal::Identity(format!(
                "{place} is on another chain: it says {found}, the file says {}",
                chain.id
            ))),
            Err(Unfit::Silent(why)) => {
                let what = format!("{place} gives no answer: {why}");
                findings.add(match best {
                    None => Refusal::Unreachable(what),
                    Some(_) => Refusal::No(what),
                });
            }
        }
    }
    let seen: Vec<_> =
        answers.iter().filter_map(|(name, answer)| Some((name, answer.as_ref().ok()?))).collect();
    let Some((first, one)) = seen.first() else { return Ok(()) };
    for (name, other) in &seen {
        if other.genesis != one.genesis {
            findings.add(Refusal::Identity(format!(
                "{}: {first} and {name} are on two chains with one id: block 0 is {} and {}",
                chain.name, one.genesis, other.genesis
            )));
        }
    }
    contracts(chain, &one.provider, findings).await;
    Ok(())
}

/// A pool of this node alone.
fn alone(config: &Config, chain: &ChainSettings, name: &str) -> Result<Pool, Refusal> {
    let mut rpc = config.pools.rpc.clone();
    if let Some(profile) = rpc.profiles.get_mut(&chain.profile)
        && let Some(chain) = profile.chains.get_mut(&chain.id)
    {
        chain.providers.retain(|provider| provider.name == name);
    }
    let servers = Servers::default();
    let rules = config.pools.rules.clone();
    Pool::from_config_with(&rpc, &chain.profile, chain.id, &servers, rules)
        .map_err(|errors: ConfigErrors| config.pools.refuse(errors))
}

async fn ask(pool: Pool) -> Result<Seen, Unfit> {
    let provider: RootProvider = ProviderBuilder::default().connect_client(pool.client());
    let answer = timeout(PATIENCE, look(provider)).await;
    let mut elsewhere = None;
    pool.drain(|event| {
        if let PoolEvent::WrongChain { found, .. } = event {
            elsewhere = Some(found.to_string());
        }
    });
    match (elsewhere, answer) {
        (Some(found), _) => Err(Unfit::Elsewhere(found)),
        (None, Err(_)) => Err(Unfit::Silent(format!("none within {} s", PATIENCE.as_secs()))),
        (None, Ok(answer)) => answer.map_err(|error| Unfit::Silent(explain(&error))),
    }
}

async fn look(provider: RootProvider) -> Result<Seen, TransportError> {
    // The first call also asks for the chain and sets a connection up.
    provider.get_block_number().await?;
    let began = Instant::now();
    let head = provider.get_block_number().await?;
    let latency = began.elapsed();
    let genesis = provider.get_block_by_number(BlockNumberOrTag::Earliest).await?;
    let latest = provider.get_block_by_number(BlockNumberOrTag::Latest).await?;
    let mut features = Vec::new();
    for (tag, name) in
        [(BlockNumberOrTag::Finalized, "finalized"), (BlockNumberOrTag::Safe, "safe")]
    {
        let block = provider.get_block_by_number(tag).await;
        // On a long chain 0 means that nobody ever says it.
        if block.is_ok_and(|block| block.is_some_and(|block| block.header.number > 0 || head < 128))
        {
            features.push(name);
        }
    }
    if let Some(latest) = latest {
        let hash = latest.header.hash;
        if provider.get_block_receipts(BlockId::hash(hash)).await.is_ok_and(|found| found.is_some())
        {
            features.push("receipts");
        }
        if provider.get_logs(&Filter::new().at_block_hash(hash)).await.is_ok() {
            features.push("logs by hash");
        }
    }
    let genesis = genesis.map(|block| block.header.hash).unwrap_or_default();
    Ok(Seen { provider, head, genesis, latency, features })
}

fn shown(seen: &Seen) -> String {
    let missing = ["finalized", "safe", "receipts", "logs by hash"]
        .into_iter()
        .filter(|feature| !seen.features.contains(feature))
        .collect::<Vec<_>>();
    let missing = match missing.is_empty() {
        true => String::new(),
        false => format!("; does not have: {}", missing.join(", ")),
    };
    format!(
        "head {}, genesis {}, {} ms; has {}{missing}",
        seen.head,
        seen.genesis,
        seen.latency.as_millis(),
        seen.features.join(", ")
    )
}

/// Whether there is anything to watch where the file says so.
async fn contracts(chain: &ChainSettings, provider: &RootProvider, findings: &mut Findings) {
    for (name, address) in listed(chain) {
        match provider.get_code_at(address).await {
            Ok(code) if code.is_empty() => findings.add(Refusal::Configuration(format!(
                "{}: there is no contract at {address}{name}",
                chain.name
            ))),
            Ok(_) => {}
            Err(error) if is_turned_away(&error) => return,
            Err(error) => findings.add(Refusal::No(format!(
                "{}: whether there is a contract at {address} cannot be said: {}",
                chain.name,
                explain(&error)
            ))),
        }
    }
}

fn listed(chain: &ChainSettings) -> Vec<(String, Address)> {
    let mut listed = Vec::new();
    for watch in &chain.watch {
        match watch {
            WatchSettings::Contract(contract) => {
                let label = contract.label.as_ref().map(|label| format!(" ({label})"));
                listed.push((label.unwrap_or_default(), contract.address));
            }
            WatchSettings::Deployments { path, deployment } => {
                listed.extend(
                    deployment.hosts().map(|(name, one)| {
                        (format!(" ({name} in {})", path.display()), one.address)
                    }),
                );
            }
            WatchSettings::Anywhere(_) => {}
        }
    }
    listed
}

async fn store(url: &str, findings: &mut Findings) -> eyre::Result<()> {
    let path = match url.strip_prefix("sqlite:") {
        Some(":memory:") => {
            return line("ok     the store: in memory; after a restart all is told anew");
        }
        path => Path::new(path.unwrap_or_default()),
    };
    if !path.as_os_str().is_empty() && !path.exists() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            findings.add(Refusal::Store(format!(
                "the store {}: the folder {} is not there; make it",
                path.display(),
                folder.display()
            )));
            return Ok(());
        }
        return line(&format!("ok     the store: {} is made at the first start", path.display()));
    }
    match Store::read_only(url).await {
        Ok(_) => line(&format!("ok     the store: {}", path.display())),
        Err(error) => {
            findings.add(Refusal::Store(error.to_string()));
            Ok(())
        }
    }
}
