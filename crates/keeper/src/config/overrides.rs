//! What the command line and the environment say on top of the file.

use super::{LogLevel, Settings, Tree, draft::Draft, read, shorthand};
use crate::{Refusal, output::say};
use fusebox_rpc::{SecretText, SecretUrl};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// What is not given here is as the file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// Nodes instead of those of one chain.
    pub(crate) rpc_url: Vec<SecretUrl>,
    /// Whether they are from a variable, which may be meant for other programs.
    pub(crate) is_variable: bool,
    /// The chain whose nodes they are.
    pub(crate) chain: Option<u64>,
    pub(crate) store: Option<String>,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) allow_remote: bool,
    pub(crate) log: Option<LogLevel>,
}

impl Overrides {
    /// Puts the nodes where the file has those of the chain.
    pub(super) fn replace_nodes(&self, draft: &mut Draft) -> Result<(), Refusal> {
        if self.rpc_url.is_empty() {
            return Ok(());
        }
        let providers = shorthand::providers(&self.rpc_url)?;
        let chains = chains(&draft.filled);
        let meant: Vec<_> = match self.chain {
            Some(id) => chains.into_iter().filter(|chain| chain.id == id).collect(),
            None => chains,
        };
        match meant.as_slice() {
            [Chain { name, id, profile }] => {
                if self.is_variable {
                    say(&format!("the nodes of {name} are those of ETH_RPC_URL, not of the file"));
                }
                draft.forget(&format!("profile.{profile}.chain.{id}.provider"));
                for tree in [&mut draft.filled, &mut draft.written] {
                    let id = id.to_string();
                    let at = ["profile", profile.as_str(), "chain", &id];
                    put(tree, &at, "provider", providers.clone());
                }
                Ok(())
            }
            _ if self.is_variable => {
                say("warning: ETH_RPC_URL is set and is not used: the file has several chains; --chain says which one is meant");
                Ok(())
            }
            [] => Err(Refusal::Usage(match self.chain {
                Some(id) => format!("--chain {id} is not in the file, so --rpc-url has no nodes to take the place of"),
                None => "--rpc-url: the file has no chain; add [chain.NAME]".to_owned(),
            })),
            _ => Err(Refusal::Usage(
                "--rpc-url: the file has several chains; say with --chain which one the nodes are of".to_owned(),
            )),
        }
    }

    /// Puts the rest in its place.
    pub(super) fn apply(
        &self,
        settings: &mut Settings,
        effective: &mut Value,
    ) -> Result<(), Refusal> {
        if let Some(store) = self.store.as_deref() {
            settings.store.url = SecretText::new(store);
            // Another kind of URL may hold a password.
            let shown = if store.starts_with("sqlite:") { store } else { "…" };
            show(effective, "store", "url", shown.into());
        }
        if let Some(server) = &mut settings.server {
            server.listen = self.listen.unwrap_or(server.listen);
            server.allow_remote |= self.allow_remote;
            read::check_listen(server.listen, server.allow_remote)?;
            show(effective, "server", "listen", server.listen.to_string().into());
            show(effective, "server", "allow_remote", server.allow_remote.into());
        }
        if let Some(level) = self.log {
            settings.log.level = level;
            show(effective, "log", "level", level.name().into());
        }
        Ok(())
    }
}

fn show(effective: &mut Value, section: &str, key: &str, value: Value) {
    if let Value::Object(effective) = effective {
        put(effective, &[section], key, value);
    }
}

/// Puts a value below some tables, which are made where there are none. What is there and is no table is told of later.
fn put(tree: &mut Tree, tables: &[&str], key: &str, value: Value) {
    match tables {
        [] => drop(tree.insert(key.to_owned(), value)),
        [first, rest @ ..] => {
            let table = tree.entry((*first).to_owned()).or_insert_with(|| json!({}));
            if let Value::Object(table) = table {
                put(table, rest, key, value);
            }
        }
    }
}

/// What of a chain must be known before the file is understood.
struct Chain {
    name: String,
    id: u64,
    profile: String,
}

fn chains(filled: &Tree) -> Vec<Chain> {
    let chains = filled.get("chain").and_then(Value::as_object).into_iter().flatten();
    let chain = |(name, chain): (&String, &Value)| {
        let profile = chain.get("profile").and_then(Value::as_str).unwrap_or("default").to_owned();
        Some(Chain { name: name.clone(), id: chain.get("id")?.as_u64()?, profile })
    };
    chains.filter_map(chain).collect()
}
