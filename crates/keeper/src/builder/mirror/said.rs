//! What the sidecar says of itself. It is a process of its own and may be any version, or somebody else at its port: what is
//! not understood is left out, and what is needed and wrong is no answer.

use serde::{Deserialize, Deserializer, Serialize};

/// As many as `/status` ever has.
const TRANSITIONS: usize = 64;
/// As many nodes as one sidecar watches.
const NODES: usize = 8;
/// No text of it is longer than this, but for what went wrong with a node.
const LONGEST: usize = 200;

/// A text that is shown: bounded, and on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Word(String);

impl Word {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        Ok(Self(text.chars().take(LONGEST).map(shown).collect()))
    }
}

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    Closed,
    Open,
    HalfOpen,
}

impl State {
    /// Half-open still refuses.
    pub(super) fn is_open(self) -> bool {
        self != Self::Closed
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// `/status` of the sidecar, as far as it matters here.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Said {
    /// Another one is another process, which counts from 1.
    #[serde(skip_serializing)]
    pub(super) instance: Word,
    #[serde(skip_serializing)]
    pub(super) started_ms: i64,
    #[serde(skip_serializing, default)]
    pub(super) genesis: Option<u64>,
    pub(super) policy: Word,
    pub(super) state: State,
    #[serde(default)]
    slot: Option<u64>,
    #[serde(default)]
    pub(super) decision: Option<Decision>,
    #[serde(default)]
    pub(super) trip: Option<Trip>,
    #[serde(default)]
    r#override: Option<Word>,
    #[serde(default)]
    pub(super) nodes: Vec<Node>,
    /// Newest first.
    #[serde(skip_serializing)]
    pub(super) transitions: Vec<Moved>,
}

/// The last decision.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Decision {
    slot: u64,
    forward: bool,
    cause: Word,
    /// The missed run just before.
    pub(super) run: u64,
    unknown_slots: u64,
}

/// What tripped it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Trip {
    pub(super) slot: u64,
    pub(super) cause: Word,
    #[serde(default)]
    pub(super) value: Option<u64>,
    #[serde(default)]
    pub(super) limit: Option<u64>,
}

/// A beacon node.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Node {
    name: Word,
    #[serde(default)]
    connected: bool,
    #[serde(default)]
    pub(super) eligible: bool,
    #[serde(default)]
    gate: Option<Word>,
    #[serde(default)]
    head_slot: Option<u64>,
    #[serde(default)]
    error: Option<Word>,
}

/// A change of state.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Moved {
    pub(super) seq: u64,
    /// Since genesis.
    pub(super) ms: i64,
    pub(super) slot: u64,
    pub(super) from: State,
    pub(super) to: State,
    pub(super) cause: Word,
    #[serde(default)]
    pub(super) value: Option<u64>,
    #[serde(default)]
    pub(super) limit: Option<u64>,
}

impl Said {
    /// Understands an answer.
    ///
    /// # Errors
    /// Why it is none. It quotes nothing of the answer.
    pub(super) fn read(body: &[u8]) -> Result<Self, &'static str> {
        let said: Self = serde_json::from_slice(body)
            .map_err(|_| "it answers what is no /status of `keeper builder`")?;
        let is_in_order = said.transitions.windows(2).all(|pair| pair[0].seq > pair[1].seq);
        if said.transitions.len() > TRANSITIONS || said.nodes.len() > NODES || !is_in_order {
            return Err("its /status contradicts itself");
        }
        Ok(said)
    }

    /// When something happened, in unix seconds, as far as can be said.
    pub(super) fn time(&self, moved: &Moved) -> Option<u64> {
        let since = u64::try_from(moved.ms / 1_000).unwrap_or_default();
        Some(self.genesis?.saturating_add(since))
    }

    /// In a few words.
    pub(super) fn summary(&self) -> String {
        let fit = self.nodes.iter().filter(|node| node.eligible).count();
        let tripped = self
            .trip
            .as_ref()
            .map(|trip| format!(" since slot {} ({})", trip.slot, trip.cause.as_str()));
        format!(
            "{}{}, policy {}, {fit} of {} beacon nodes eligible",
            self.state.name(),
            tripped.unwrap_or_default(),
            self.policy.as_str(),
            self.nodes.len()
        )
    }
}
