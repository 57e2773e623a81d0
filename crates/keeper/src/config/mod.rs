//! The configuration file: the nodes and how to ask them (`[breaker]`, `[profile]`, `rules`), which are the pool's, and what is
//! watched and who is told, which are the keeper's.
//!
//! What the pool's keys mean is the business of `fusebox-rpc`. Here the file is found, secrets are filled in from where
//! they are kept, and each problem gets the line it is on. All problems are told at once, and none of them with a value:
//! it may be a key.

mod builder;
mod chain;
mod channel;
mod document;
mod draft;
mod effective;
mod fill;
mod load;
mod overrides;
mod read;
mod section;
mod settings;
pub(crate) mod shorthand;
mod value;

pub(crate) use overrides::Overrides;
pub(crate) use settings::*;
pub(crate) use value::duration;

use crate::Refusal;
use chain::Around;
use draft::{Draft, File};
use fusebox_rpc::{ConfigErrors, RpcConfig, Rules};
use section::Section;
use serde_json::{Map, Value};
use std::path::Path;

/// The nodes of a file: all that a proxy needs.
#[derive(Debug)]
pub(crate) struct Pools {
    pub(crate) rpc: RpcConfig,
    /// The shipped ones, with the user's on top.
    pub(crate) rules: Rules,
    file: File,
}

impl Pools {
    /// Reads the pool's part of a file. What else is in it may have secrets that are not here.
    ///
    /// # Errors
    /// [`Refusal::Configuration`] with all that is wrong, a line each: `file:line:column: key: what, and what to do`.
    pub(crate) fn read(path: &Path) -> Result<Self, Refusal> {
        let mut draft = Draft::open(path, &draft::POOL)?;
        let pools = draft.pools();
        let ((rpc, rules), file) = draft.settle(pools)?;
        Ok(Self { rpc, rules, file })
    }

    /// What is wrong with a valid file all the same, as settings that a breaker cannot have.
    pub(crate) fn refuse(&self, ConfigErrors(errors): ConfigErrors) -> Refusal {
        self.file.refuse(
            errors.into_iter().map(|error| (error.key, error.problem.to_string())).collect(),
        )
    }
}

/// A valid configuration of a keeper.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) pools: Pools,
    pub(crate) settings: Settings,
    /// The same for people: with defaults, with references as they are written, and without any secret.
    pub(crate) effective: Value,
}

impl Config {
    /// Reads a file, with the command line on top of it.
    ///
    /// # Errors
    /// As [`Pools::read`], and [`Refusal::Usage`] where the command line does not fit the file.
    pub(crate) fn read(path: &Path, overrides: &Overrides) -> Result<Self, Refusal> {
        let sections = [&draft::POOL[..], &draft::KEEPER[..]].concat();
        let mut draft = Draft::open(path, &sections)?;
        overrides.replace_nodes(&mut draft)?;
        let shown = draft.take_shown_pool();
        let pools = draft.pools();
        let problems = section::Problems::default();
        let (settings, effective) = {
            let around = Around {
                folder: draft.folder(),
                rpc: pools.as_ref().map(|(rpc, _)| rpc),
                is_remote_fine: overrides.allow_remote || overrides.listen.is_some(),
            };
            let mut root = Section::root(draft.written.clone(), draft.filled.clone(), &problems);
            let settings = read::settings(&mut root, &around);
            (settings, root.finish())
        };
        draft.add(problems.into_inner());
        let (((rpc, rules), mut settings), file) =
            draft.settle(pools.map(|pools| (pools, settings)))?;
        let mut effective = effective;
        if let Value::Object(effective) = &mut effective {
            effective.extend(shown);
        }
        overrides.apply(&mut settings, &mut effective)?;
        Ok(Self { pools: Pools { rpc, rules, file }, settings, effective })
    }
}

/// Where a file says that its store is. What else is in it does not matter, nor whether its secrets are here.
///
/// # Errors
/// As [`Pools::read`].
pub(crate) fn store(path: &Path) -> Result<StoreSettings, Refusal> {
    let draft = Draft::open(path, &["store"])?;
    let problems = section::Problems::default();
    let (written, filled) = (draft.written.clone(), draft.filled.clone());
    let mut root = Section::root(written, filled, &problems);
    let store = root.section("store", |section| read::store(section, draft.folder()));
    drop(root);
    let mut draft = draft;
    draft.add(problems.into_inner());
    Ok(draft.settle(Some(store))?.0)
}

type Tree = Map<String, Value>;

#[cfg(test)]
mod tests;
