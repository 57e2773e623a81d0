//! From a command line to the configuration that it names.

use super::{Config, Overrides};
use crate::{
    Refusal,
    cli::{CheckArgs, RunArgs},
};
use std::path::PathBuf;
use tokio::task::spawn_blocking;

impl Config {
    /// The file that `keeper run` is to do what it says.
    ///
    /// # Errors
    /// A [`Refusal`] with all that is wrong.
    pub(crate) async fn of_run(args: &RunArgs) -> eyre::Result<Self> {
        let (urls, is_variable) = args.node.urls();
        let overrides = Overrides {
            rpc_url: urls,
            is_variable,
            chain: args.node.chain,
            store: args.file.store.clone(),
            listen: args.listen,
            allow_remote: args.allow_remote,
            log: args.log,
        };
        let Some(path) = args.file.file.found() else {
            return Err(Refusal::Usage(
                "nothing to watch: give --config FILE, since there is no keeper.toml here, or --rpc-url URL with --watch, --deployment or --anywhere"
                    .to_owned(),
            )
            .into());
        };
        with_file(path, overrides).await
    }

    /// What `keeper check` is asked to look at.
    ///
    /// # Errors
    /// As [`Config::of_run`].
    pub(crate) async fn of_check(args: &CheckArgs) -> eyre::Result<Self> {
        let (urls, is_variable) = args.node.urls();
        let overrides = Overrides {
            rpc_url: urls,
            is_variable,
            chain: args.node.chain,
            store: args.store.store.clone(),
            ..Overrides::default()
        };
        with_file(args.store.file.path(), overrides).await
    }
}

/// It may be a pipe into which nobody has written yet.
async fn with_file(path: PathBuf, overrides: Overrides) -> eyre::Result<Config> {
    Ok(spawn_blocking(move || Config::read(&path, &overrides)).await??)
}
