//! The command line of `keeper builder`.

use super::live_args::{CheckArgs, HistoryArgs, ProxyArgs, WatchArgs};
use clap::{Args, Subcommand, ValueEnum};
use fusebox_builder::{PolicySpec, Recovery, SlotsPerEpoch};
use std::path::PathBuf;

/// The breaker between a validator and its block builders.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper builder proxy --beacon-node http://127.0.0.1:5052
  keeper builder replay missed.csv --policy seed --policy prysm
  keeper builder simulate withhold --share 0.8")]
pub struct BuilderArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: BuilderCommand,
}

/// What can be done about builders.
#[derive(Clone, Debug, Subcommand)]
#[non_exhaustive]
pub enum BuilderCommand {
    /// Follow the chain by beacon nodes, and say when builders would not be asked.
    Watch(WatchArgs),
    /// The same, and stand between consensus client and mev-boost.
    Proxy(ProxyArgs),
    /// Say whether nodes, upstream and clock are well, and what the answer would be now.
    Check(CheckArgs),
    /// Write a list of missed slots from a node, for replay.
    History(HistoryArgs),
    /// Say what policies would have done over a history of slots, or with a recorded log.
    Replay(ReplayArgs),
    /// Say what policies would do in outages that have not happened.
    Simulate(SimulateArgs),
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
  keeper builder replay missed.csv --policy \"seed(max=4)\" --recovery none --view tree --fail-on-trip
  keeper builder replay --blocks blocks.csv --policy seed --decide 8728545 --json
  keeper builder replay --events recorded.jsonl --policy \"any(seed,window(slots=32,max=8))\"")]
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

/// Simulate what has not happened.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  keeper builder simulate withhold --share 0.8 --policy seed
  keeper builder simulate reorg --stake 0.3 --success 0.5")]
pub struct SimulateArgs {
    /// What goes wrong.
    #[command(subcommand)]
    pub scenario: ScenarioArgs,
}

/// A scenario.
#[derive(Clone, Debug, Subcommand)]
#[non_exhaustive]
pub enum ScenarioArgs {
    /// A relay takes blocks and does not publish them.
    #[command(after_help = "\
Examples:
  keeper builder simulate withhold --share 0.8 --policy seed
  keeper builder simulate withhold --share 0.3 --repair 300 --miss 0.01 --adoption 0.5")]
    Withhold {
        /// The share of proposers that reach the relay.
        #[arg(long, value_name = "SHARE")]
        share: f64,
        /// After how many slots it is repaired. [default: never]
        #[arg(long, value_name = "SLOTS")]
        repair: Option<u64>,
        /// The rest.
        #[command(flatten)]
        common: CommonArgs,
    },
    /// An adversary wants breakers open: by orphaning blocks, and by withholding its own.
    #[command(after_help = "\
Examples:
  keeper builder simulate reorg --stake 0.3 --success 0.5
  keeper builder simulate reorg --stake 0.1 --policy \"window(slots=32,max=6)\" --json")]
    Reorg {
        /// The adversary's share of proposals.
        #[arg(long, value_name = "SHARE")]
        stake: f64,
        /// The probability that a proposal of its own orphans the block before.
        #[arg(long, value_name = "PROBABILITY", default_value_t = 1.0)]
        success: f64,
        /// The rest.
        #[command(flatten)]
        common: CommonArgs,
    },
    /// The chain is healthy, and our node is behind or silent.
    #[command(after_help = "\
Examples:
  keeper builder simulate behind --lag 8
  keeper builder simulate behind --lose 40 --policy seed --json")]
    Behind {
        /// How many slots late blocks come.
        #[arg(long, value_name = "SLOTS", default_value_t = 0)]
        lag: u64,
        /// For how many slots nothing comes.
        #[arg(long, value_name = "SLOTS", default_value_t = 0)]
        lose: u64,
        /// The rest.
        #[command(flatten)]
        common: CommonArgs,
    },
    /// A relay fails, and its load takes the next one along.
    #[command(after_help = "\
Examples:
  keeper builder simulate cascade --relays 0.5,0.3,0.1 --capacity 0.5 --el-bug 0.05 --runs 100
  keeper builder simulate cascade --relays 0.6,0.4 --capacity 0.8 --policy seed --json")]
    Cascade {
        /// The share of proposers of each relay. The first one fails, and its users go to the second one.
        #[arg(long, value_name = "SHARES", value_delimiter = ',', required = true)]
        relays: Vec<f64>,
        /// The share of proposers that a relay can serve.
        #[arg(long, value_name = "SHARE")]
        capacity: f64,
        /// The share of operators who cannot build locally.
        #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
        el_bug: f64,
        /// The rest.
        #[command(flatten)]
        common: CommonArgs,
    },
}

/// What all scenarios have.
#[derive(Clone, Debug, Args)]
pub struct CommonArgs {
    /// How many runs.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub runs: u64,
    /// How many slots each.
    #[arg(long, value_name = "SLOTS", default_value_t = 2_048)]
    pub slots: u64,
    /// What judges.
    #[command(flatten)]
    pub policies: PolicyArgs,
    /// The share of slots that are missed anyway.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub miss: f64,
    /// The share of proposers behind our breaker; the others never stop asking builders.
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub adoption: f64,
    /// Slots of an epoch: 32 on mainnet, 16 on gnosis.
    #[arg(long, value_name = "SLOTS", default_value = "32")]
    pub slots_per_epoch: SlotsPerEpoch,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
