//! `[chain.NAME]`: what is watched where.

use super::{
    AnywhereSettings, ChainSettings, Confirmations, ContractSettings, Verify, WatchSettings,
    section::Section, value,
};
use crate::deployment::{Deployment, slot};
use alloy::primitives::{Address, B256};
use fusebox_rpc::RpcConfig;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// As often as the chain's blocks come.
const AUTO: &str = "auto";

/// What is said of keys that nothing honours yet: silence would let somebody wait for a probe that never comes.
pub(super) const LATER: &str = "comes with probing; remove it";

/// What the reading of chains depends on.
pub(super) struct Around<'a> {
    /// Files are named relative to it.
    pub(super) folder: &'a Path,
    /// The pools, where they are valid.
    pub(super) rpc: Option<&'a RpcConfig>,
    /// Whether the command line has the last word on where to listen.
    pub(super) is_remote_fine: bool,
}

/// All chains, in the order of their names.
pub(super) fn read(root: &mut Section<'_>, around: &Around<'_>) -> Vec<ChainSettings> {
    let mut ids = BTreeMap::new();
    let mut chains = root.entries("chain", |name, section| {
        let chain = chain(name, section, around)?;
        if let Some(other) = ids.insert(chain.id, name.to_owned()) {
            section.fail("id", format!("chain.{other} is the same chain; put its watches there"));
        }
        Some(chain)
    });
    if chains.is_empty() {
        root.needed(
            "chain",
            None::<()>,
            "add [chain.mainnet] with id = 1, and a [[chain.mainnet.watch]]",
        );
    }
    chains.retain(Option::is_some);
    chains.into_iter().flatten().collect()
}

fn chain(name: &str, section: &mut Section<'_>, around: &Around<'_>) -> Option<ChainSettings> {
    let id = section.given_number("id", 1..=i64::MAX.unsigned_abs());
    let id = section.needed("id", id, "write the chain's number");
    let profile = section.text("profile");
    let named = profile.is_some();
    section.or_default("profile", "default");
    let profile = profile.unwrap_or_else(|| "default".to_owned());
    if let (Some(rpc), Some(id)) = (around.rpc, id) {
        check_profile(section, rpc, &profile, named, id);
    }
    let mut seen = Seen::default();
    let is_watched = section.has("watch");
    let chain = ChainSettings {
        name: name.to_owned(),
        id: id.unwrap_or_default(),
        profile,
        poll: poll(section),
        confirmations: confirmations(section),
        confirmations_fallback: section.number("confirmations_fallback", 64, 1..=100_000),
        reorg_window: section.number("reorg_window", 256, 1..=100_000),
        max_lag: section.number("max_lag", 3, 0..=10_000),
        verify: section.word(
            "verify",
            &[
                ("auto", Verify::Auto),
                ("receipts", Verify::Receipts),
                ("second", Verify::Second),
                ("off", Verify::Off),
            ],
        ),
        tx_link: section.parsed("tx_link", tx_link),
        watch: section
            .list("watch", |section| watch(section, around.folder, id, &mut seen))
            .into_iter()
            .flatten()
            .collect(),
    };
    if !is_watched {
        section.fail_here(format!(
            "watches nothing; add [[chain.{name}.watch]] with deployments, address or anywhere"
        ));
    }
    id.map(|_| chain)
}

fn check_profile(section: &Section<'_>, rpc: &RpcConfig, profile: &str, named: bool, id: u64) {
    let key = if named { "profile" } else { "id" };
    match rpc.profiles.get(profile) {
        None => {
            let known: Vec<_> = rpc.profiles.keys().map(String::as_str).collect();
            section.fail(key, format!("there is no such profile; there are: {}", known.join(", ")));
        }
        Some(found) if !found.chains.contains_key(&id) => section.fail(
            key,
            format!("the profile has no nodes of chain {id}; add [[profile.{profile}.chain.{id}.provider]] with name and http"),
        ),
        Some(_) => {}
    }
}

fn poll(section: &mut Section<'_>) -> Option<std::time::Duration> {
    if section.is("poll", AUTO) || !section.has("poll") {
        return section.word("poll", &[(AUTO, None)]);
    }
    section.given_duration("poll", ["50ms", "1h"])
}

fn confirmations(section: &mut Section<'_>) -> Confirmations {
    let words = [("finalized", Confirmations::Finalized), ("safe", Confirmations::Safe)];
    let got = section.number_or_word("confirmations", 1..=100_000, Confirmations::Blocks, &words);
    section.or_default("confirmations", "finalized");
    got.unwrap_or(Confirmations::Finalized)
}

fn tx_link(text: &str) -> Result<String, String> {
    match url::Url::parse(text) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) && text.contains("{tx}") => {
            Ok(text.to_owned())
        }
        _ => Err("is no link to a transaction; write https://host/tx/{tx}".to_owned()),
    }
}

/// What was watched above, by what would make it the same.
#[derive(Default)]
struct Seen {
    files: BTreeSet<PathBuf>,
    addresses: BTreeSet<Address>,
    labels: BTreeSet<String>,
    anywhere: bool,
}

impl Seen {
    /// Whether the name is new. Two of one name could not be told apart in an alert.
    fn name(&mut self, label: &str) -> Result<(), &'static str> {
        match self.labels.insert(label.to_owned()) {
            true => Ok(()),
            false => Err("another contract of this chain has this label; rename one"),
        }
    }
}

fn watch(
    section: &mut Section<'_>,
    folder: &Path,
    id: Option<u64>,
    seen: &mut Seen,
) -> Option<WatchSettings> {
    let kinds = ["deployments", "address", "anywhere"].map(|kind| section.has(kind));
    match kinds {
        [true, false, false] => deployments(section, folder, id, seen),
        [false, true, false] => contract(section, seen).map(WatchSettings::Contract),
        [false, false, true] => anywhere(section, seen).map(WatchSettings::Anywhere),
        _ => {
            section.fail_here("must have exactly one of deployments, address and anywhere");
            section.ignore();
            None
        }
    }
}

fn deployments(
    section: &mut Section<'_>,
    folder: &Path,
    id: Option<u64>,
    seen: &mut Seen,
) -> Option<WatchSettings> {
    let path = folder.join(section.text("deployments")?);
    section.later("probe", LATER);
    if !seen.files.insert(path.clone()) {
        section.fail("deployments", "is watched twice; remove one");
        return None;
    }
    let deployment = match Deployment::read(&path) {
        Ok(deployment) => deployment,
        Err(refusal) => {
            section.fail("deployments", refusal.to_string());
            return None;
        }
    };
    if let Some(id) = id.filter(|id| *id != deployment.chain_id) {
        section.fail(
            "deployments",
            format!("the file is of chain {}, and this one is {id}", deployment.chain_id),
        );
    }
    for (name, contract) in deployment.hosts() {
        if let Err(why) = seen.name(name) {
            section.fail("deployments", format!("{name} in it: {why}"));
        }
        if !seen.addresses.insert(contract.address) {
            section.fail("deployments", format!("{name} in it is watched twice; remove one"));
        }
    }
    Some(WatchSettings::Deployments { path, deployment })
}

fn contract(section: &mut Section<'_>, seen: &mut Seen) -> Option<ContractSettings> {
    let address = section.address("address");
    if address.is_some_and(|address| !seen.addresses.insert(address)) {
        section.fail("address", "is watched twice; remove one");
    }
    let label = section.parsed("label", value::label);
    if let Some(Err(why)) = label.as_deref().map(|label| seen.name(label)) {
        section.fail("label", why);
    }
    section.later("probe", LATER);
    let start = start(section);
    let contract = ContractSettings {
        address: address.unwrap_or_default(),
        label,
        start: section
            .needed(
                "start",
                start,
                "write the block the contract was made in, or \"latest\" to leave out its history",
            )
            .flatten(),
        breakers: section.section("breakers", breakers),
        read_back: section.flag("read_back", true),
        is_legacy: legacy(section),
    };
    address.map(|_| contract)
}

/// Whether the contract is marked. How it is called and read comes later.
fn legacy(section: &mut Section<'_>) -> bool {
    let is_marked = section.has("legacy");
    if is_marked {
        section.section("legacy", |section| {
            for key in ["read", "call", "gas", "signer"] {
                section.later(key, LATER);
            }
        });
    }
    is_marked
}

/// A block, or none for no history.
fn start(section: &mut Section<'_>) -> Option<Option<u64>> {
    section.number_or_word("start", 0..=u64::MAX >> 1, Some, &[("latest", None)])
}

/// Labels by slot.
fn breakers(section: &mut Section<'_>) -> BTreeMap<B256, String> {
    let mut labels = BTreeSet::new();
    let mut breakers = BTreeMap::new();
    for (key, id, given) in section.pairs() {
        let Some(slot) = slot(&id) else {
            section
                .fail_at(key, "is no breaker's id, which is 0x and at most 64 hexadecimal digits");
            continue;
        };
        let label = match given.as_str().map(value::label) {
            Some(Ok(label)) => label,
            Some(Err(why)) => {
                section.fail_at(key, why);
                continue;
            }
            None => {
                section.fail_at(key, "must be text: what the breaker is called");
                continue;
            }
        };
        if !labels.insert(label.clone()) {
            section.fail_at(key, "another breaker of this contract has this label; rename one");
        } else if breakers.insert(slot, label).is_some() {
            section.fail_at(key, "is the same breaker as another one here; remove one");
        }
    }
    breakers
}

fn anywhere(section: &mut Section<'_>, seen: &mut Seen) -> Option<AnywhereSettings> {
    if !section.flag("anywhere", true) {
        section.fail("anywhere", "can only be true; remove this watch");
    }
    if std::mem::replace(&mut seen.anywhere, true) {
        section.fail("anywhere", "is watched twice; remove one");
    }
    let start = start(section);
    section.or_default("start", "latest");
    section.later("code_hashes", "is not looked at yet; remove it");
    Some(AnywhereSettings {
        start: start.flatten(),
        max_contracts: section.number("max_contracts", 10_000, 1..=1_000_000),
        alert: section.flag("alert", false),
    })
}
