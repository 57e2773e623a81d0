//! The command line of `keeper builder`.

use clap::{Args, Subcommand, ValueEnum};
use fusebox_builder::{PolicySpec, Recovery, SlotsPerEpoch};
use std::path::PathBuf;

/// The breaker between a validator and its block builders.
#[derive(Clone, Debug, Args)]
pub struct BuilderArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: BuilderCommand,
}

/// What can be done about builders.
#[derive(Clone, Debug, Subcommand)]
#[non_exhaustive]
pub enum BuilderCommand {
    /// Say what policies would have done over a history of slots, or with a recorded log.
    Replay(ReplayArgs),
}

const PRESETS: [&str; 8] =
    ["seed", "consecutive(max=3)", "lighthouse", "prysm", "teku", "lodestar", "nimbus", "grandine"];

/// What judges, and how it recovers.
#[derive(Clone, Debug, Args)]
pub struct PolicyArgs {
    /// A policy: a name, name(key=value,…), any(p,q,…) or all(p,q,…). May be repeated. [default: seed, consecutive(max=3)
    /// and the rules of six clients; for a log: seed]
    #[arg(long, value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// How all of them close: until-restart, none or hysteresis(N). [default: until-restart for seed, none for others]
    #[arg(long, value_name = "HOW")]
    pub recovery: Option<Recovery>,
    /// What is drawn at random is drawn from this.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

impl PolicyArgs {
    /// Those that were given, else all that have a name.
    pub(crate) fn or_presets(&self) -> Vec<PolicySpec> {
        self.or(&PRESETS)
    }

    /// Those that were given, else these.
    pub(crate) fn or(&self, names: &[&str]) -> Vec<PolicySpec> {
        match self.policy.as_slice() {
            [] => names.iter().filter_map(|name| name.parse().ok()).collect(),
            given => given.to_vec(),
        }
    }
}

/// Run policies over history.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A list of missed slots has the header slot[,relayed_block_forked], a list of blocks slot[,root[,parent[,canonical]]]; a log has
one JSON object a line and is answered likewise.

Examples:
  keeper builder replay missed.csv --from 7509685 --to 8822072
  keeper builder replay missed.csv --policy 'seed(max=4)' --recovery none --view tree --fail-on-trip
  keeper builder replay --blocks blocks.csv --policy seed --decide 8728545 --json
  keeper builder replay --events recorded.jsonl --policy 'any(seed,window(slots=32,max=8))'")]
pub struct ReplayArgs {
    /// Which history.
    #[command(flatten)]
    pub input: ReplayInput,
    /// What judges it.
    #[command(flatten)]
    pub policies: PolicyArgs,
    /// The first slot of the history. [default: the first one that is listed]
    #[arg(long, value_name = "SLOT", conflicts_with = "events")]
    pub from: Option<u64>,
    /// The last slot of the history. [default: the last one that is listed]
    #[arg(long, value_name = "SLOT", conflicts_with = "events")]
    pub to: Option<u64>,
    /// Slots at the beginning that are not judged. [default: 64; 0 for blocks]
    #[arg(long, value_name = "SLOTS", conflicts_with = "events")]
    pub warmup: Option<u64>,
    /// What the slots before the first one are.
    #[arg(long, value_enum, default_value_t, requires = "blocks")]
    pub before: Before,
    /// In which view slots are filled: each policy's own, by any block, by canonical ones, or both ways.
    #[arg(long, value_enum, default_value_t, conflicts_with = "events")]
    pub view: ViewArg,
    /// The epoch that is finalized, throughout. Without it rules about finality are left out.
    #[arg(long, value_name = "EPOCH", conflicts_with = "events")]
    pub finalized_epoch: Option<u64>,
    /// Slots of an epoch: 32 on mainnet, 16 on gnosis.
    #[arg(long, value_name = "SLOTS", default_value = "32", conflicts_with = "events")]
    pub slots_per_epoch: SlotsPerEpoch,
    /// Show the decisions about these slots.
    #[arg(long, value_name = "SLOT", value_delimiter = ',', conflicts_with = "events")]
    pub decide: Vec<u64>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// End with 7 if any policy trips.
    #[arg(long)]
    pub fail_on_trip: bool,
}

/// A history: exactly one of these.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub struct ReplayInput {
    /// A list of missed slots.
    #[arg(value_name = "FILE")]
    pub missed: Option<PathBuf>,
    /// A list of blocks.
    #[arg(long, value_name = "FILE")]
    pub blocks: Option<PathBuf>,
    /// A log that was recorded.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}

/// What slots are before all that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Before {
    /// Filled.
    #[default]
    Present,
    /// Unknown.
    Unknown,
}

/// In which view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViewArg {
    /// Each policy's own.
    Preset,
    /// Any block fills a slot.
    Tree,
    /// Canonical blocks fill slots.
    Canonical,
    /// Both, a row each.
    #[default]
    Both,
}
