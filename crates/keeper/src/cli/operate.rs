//! What an operator does beside running a keeper.

use super::{NodeArgs, StoreArgs};
use clap::{Args, Subcommand};
use clap_complete::Shell;
use std::{path::PathBuf, time::Duration};

/// Begin.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
It asks nothing, and never writes over a file that is there. Edit three lines, then: keeper check --online

Examples:
  keeper init
  keeper init /etc/keeper/keeper.toml --chain 8453")]
pub struct InitArgs {
    /// Where to write it.
    #[arg(value_name = "FILE", default_value = super::CONFIG)]
    pub path: PathBuf,
    /// The chain whose breakers are watched.
    #[arg(long, env = "CHAIN", value_name = "ID", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub chain: u64,
}

/// Check a file.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
It fills in every secret and renders every template with each type of alert. It ends with 0 only if nothing is wrong.

Examples:
  keeper check
  keeper check --config keeper.toml --online
  keeper check --send-test
  keeper check --json")]
pub struct CheckArgs {
    /// Which file and store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Which nodes, in place of the file's.
    #[command(flatten)]
    pub node: NodeArgs,
    /// Ask each node for its chain, head and features, look for the contracts, and open the store.
    #[arg(long)]
    pub online: bool,
    /// Send a test message to each channel.
    #[arg(long)]
    pub send_test: bool,
    /// Print what is in effect, with defaults, and with references in the place of secrets.
    #[arg(long, conflicts_with_all = ["online", "send_test"])]
    pub json: bool,
}

/// Look at what was told.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  keeper events
  keeper events --breaker vault/oracle --from-block 19000000 --phase retracted
  keeper events --dead --json
  keeper events retry --all-dead"
)]
pub struct EventsArgs {
    /// What else to do.
    #[command(subcommand)]
    pub command: Option<EventsCommand>,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Of this breaker only: its label, or its key.
    #[arg(long, value_name = "KEY")]
    pub breaker: Option<String>,
    /// From this block on.
    #[arg(long, value_name = "N")]
    pub from_block: Option<u64>,
    /// Up to this block.
    #[arg(long, value_name = "N")]
    pub to_block: Option<u64>,
    /// Of this phase only.
    #[arg(long, value_name = "PHASE", value_parser = ["seen", "final", "retracted"])]
    pub phase: Option<String>,
    /// Only what could not be delivered, and is given up.
    #[arg(long)]
    pub dead: bool,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

/// What can be done about deliveries.
#[derive(Clone, Debug, Subcommand)]
#[non_exhaustive]
pub enum EventsCommand {
    /// Send again what was given up, or waits.
    Retry(EventsRetryArgs),
    /// Send to a channel again that was disabled.
    Enable(EventsEnableArgs),
}

/// Send again.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper events retry msg_mfzwizltoq2gk3tdn5xgo3dfmu
  keeper events retry --all-dead")]
pub struct EventsRetryArgs {
    /// The message, as `keeper events` shows it.
    #[arg(value_name = "ID", required_unless_present = "all_dead", conflicts_with = "all_dead")]
    pub id: Option<String>,
    /// All that was given up.
    #[arg(long)]
    pub all_dead: bool,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Enable a channel.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper events enable hook
  keeper events enable hook --store sqlite:/var/lib/keeper/keeper.db")]
pub struct EventsEnableArgs {
    /// Its name in the file.
    pub channel: String,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Be silent for a while.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
It ends by itself, and earlier with --for 0s. What happens meanwhile is stored, and is not told afterwards.

Examples:
  keeper mute vault/oracle --for 2h --reason \"the oracle moves\"
  keeper mute mainnet --for 30m --reason \"our node is updated\"")]
pub struct MuteArgs {
    /// A breaker's label or key, a contract's label for all its breakers, or the name of a chain for what concerns it alone.
    pub key: String,
    /// For how long, as 30m, 2h or 1d.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub duration: Duration,
    /// Why, for whoever looks at the status meanwhile.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Complete the command line.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper completions bash
  keeper completions zsh")]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}

/// Nobody remembers a mute of more than a month.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 60 * 60);

pub(super) fn duration(given: &str) -> Result<Duration, &'static str> {
    let duration = crate::config::duration(given).filter(|duration| *duration <= LONGEST);
    duration.ok_or("not a duration of at most 31 days, such as 30m, 2h or 1d")
}
