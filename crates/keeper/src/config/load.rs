//! From a command line to a configuration.

use super::{Config, LogSettings, Overrides, ServerSettings, Settings, StoreSettings};
use crate::{
    Refusal,
    cli::{CheckArgs, NodeArgs, RunArgs},
};
use fusebox_rpc::SecretText;
use serde_json::Value;
use std::{path::PathBuf, time::Duration};
use tokio::task::spawn_blocking;

/// How long a store is kept that only the command line names.
const KEEP: Duration = Duration::from_secs(400 * 86_400);

impl Config {
    /// What `keeper run` is asked to do by a file, with the command line on top.
    ///
    /// # Errors
    /// A [`Refusal`] with all that is wrong.
    pub(crate) async fn of_run(args: &RunArgs) -> eyre::Result<Self> {
        let Some(path) = args.file.file.found() else {
            return Err(Refusal::Usage(
                "nothing to watch: give --config FILE, since there is no keeper.toml here, or --rpc-url URL with --watch, --deployment or --anywhere"
                    .to_owned(),
            )
            .into());
        };
        read(path, of_run(args)).await
    }

    /// What `keeper check` is asked to look at.
    ///
    /// # Errors
    /// As [`Config::of_run`].
    pub(crate) async fn of_check(args: &CheckArgs) -> eyre::Result<Self> {
        let overrides = Overrides { store: args.store.store.clone(), ..nodes(&args.node) };
        read(args.store.file.path(), overrides).await
    }
}

/// It may be a pipe into which nobody has written yet.
async fn read(path: PathBuf, overrides: Overrides) -> eyre::Result<Config> {
    Ok(spawn_blocking(move || Config::read(&path, &overrides)).await??)
}

fn nodes(args: &NodeArgs) -> Overrides {
    let (rpc_url, is_variable) = args.urls();
    Overrides { rpc_url, is_variable, chain: args.chain, ..Overrides::default() }
}

fn of_run(args: &RunArgs) -> Overrides {
    Overrides {
        store: args.file.store.clone(),
        listen: args.listen,
        allow_remote: args.allow_remote,
        log: args.level(),
        ..nodes(&args.node)
    }
}

impl Settings {
    /// What goes without a file: nobody to tell but standard output, nothing kept and nothing served unless that is asked
    /// for. The chain is not among them, since its nodes say which one it is.
    ///
    /// # Errors
    /// [`Refusal::Usage`] for an address that other machines reach, where that is not meant.
    pub(crate) fn bare(args: &RunArgs) -> Result<Self, Refusal> {
        let mut settings = Self {
            chains: Vec::new(),
            channels: Vec::new(),
            routes: Vec::new(),
            heartbeat: None,
            builder: None,
            store: StoreSettings { url: SecretText::new("sqlite::memory:"), keep: KEEP },
            server: args.listen.map(|listen| ServerSettings {
                listen,
                hosts: Vec::new(),
                allow_remote: false,
            }),
            log: LogSettings::default(),
        };
        of_run(args).apply(&mut settings, &mut Value::Null)?;
        Ok(settings)
    }
}
