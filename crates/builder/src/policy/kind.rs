//! Which rules can be written, with which keys. The table is the documentation of the grammar's names.

use super::rule::Rule;
use crate::evidence::{DEPTH, View};

/// A name that a policy can have.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) keys: &'static [Key],
    /// The view of its own.
    pub(super) view: View,
    /// Whether `view=` may be written.
    pub(super) takes_view: bool,
    /// The rule, from the numbers in the order of the keys, and slots per epoch.
    pub(super) rule: fn(&[u64], u64) -> Rule,
}

/// A number that a policy takes.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    /// None where it must be written.
    pub(super) default: Option<u64>,
    pub(super) least: u64,
    pub(super) most: u64,
    /// Whether the word `random` may stand for it.
    pub(super) random: bool,
}

const fn key(name: &'static str, default: Option<u64>, least: u64, most: u64) -> Key {
    Key { name, default, least, most, random: false }
}

/// A threshold without bounds: 0 trips at the first miss.
const fn any(name: &'static str, default: Option<u64>) -> Key {
    key(name, default, 0, u64::MAX)
}

/// A number of slots that a mask holds.
const fn slots(name: &'static str, default: Option<u64>) -> Key {
    key(name, default, 1, DEPTH)
}

/// Capped to a quarter of the window, which is also the default.
const QUARTER: u64 = u64::MAX;

pub(super) const KINDS: &[Kind] = &[
    #[cfg(test)]
    Kind {
        name: "panics",
        keys: &[],
        view: View::Tree,
        takes_view: false,
        rule: |_, _| Rule::Panics,
    },
    Kind {
        name: "seed",
        keys: &[any("max", Some(5))],
        view: View::Tree,
        takes_view: false,
        rule: |n, _| Rule::Consecutive { max: n[0] },
    },
    Kind {
        name: "consecutive",
        keys: &[any("max", None)],
        view: View::Tree,
        takes_view: true,
        rule: |n, _| Rule::Consecutive { max: n[0] },
    },
    Kind {
        name: "window",
        keys: &[slots("slots", None), any("max", None)],
        view: View::Tree,
        takes_view: true,
        rule: |n, _| Rule::Window { slots: n[0], max: n[1] },
    },
    Kind {
        name: "finality",
        keys: &[any("max", None)],
        view: View::Tree,
        takes_view: false,
        rule: |n, epoch| Rule::Finality { max: n[0], epoch },
    },
    Kind {
        name: "reorg-depth",
        keys: &[any("max", None), slots("slots", None)],
        view: View::Tree,
        takes_view: false,
        rule: |n, _| Rule::ReorgDepth { max: n[0], slots: n[1] },
    },
    Kind {
        name: "reorg-count",
        keys: &[any("max", None), slots("slots", None)],
        view: View::Tree,
        takes_view: false,
        rule: |n, _| Rule::ReorgCount { max: n[0], slots: n[1] },
    },
    Kind {
        name: "lighthouse",
        keys: &[any("skips", Some(3)), any("per_epoch", Some(8)), any("finality", Some(3))],
        view: View::Canonical,
        takes_view: false,
        rule: |n, epoch| Rule::Lighthouse {
            skips: n[0],
            per_epoch: n[1],
            finality: Some(n[2]),
            epoch,
        },
    },
    Kind {
        name: "prysm",
        keys: &[any("consecutive", Some(3)), any("epoch", Some(5))],
        view: View::Tree,
        takes_view: false,
        rule: |n, epoch| Rule::Prysm { consecutive: n[0], faults: n[1], epoch },
    },
    Kind {
        name: "teku",
        keys: &[slots("window", Some(32)), any("faults", Some(5)), any("consecutive", Some(3))],
        view: View::Canonical,
        takes_view: false,
        rule: |n, _| Rule::Teku { window: n[0], faults: n[1], consecutive: n[2] },
    },
    Kind {
        name: "lodestar",
        keys: &[
            Key { name: "window", default: Some(48), least: 1, most: DEPTH, random: true },
            any("faults", Some(QUARTER)),
        ],
        view: View::Tree,
        takes_view: false,
        rule: |n, _| Rule::Lodestar { window: n[0], faults: n[1].min(n[0] / 4) },
    },
    Kind {
        name: "nimbus",
        keys: &[],
        view: View::Canonical,
        takes_view: false,
        rule: |_, epoch| Rule::Nimbus { epoch },
    },
    Kind {
        name: "grandine",
        keys: &[any("skips", Some(3)), any("per_epoch", Some(8))],
        view: View::Canonical,
        takes_view: false,
        rule: |n, epoch| Rule::Grandine { skips: n[0], per_epoch: n[1], epoch },
    },
];

impl Kind {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// The keys that it takes, for messages.
    pub(super) fn key_names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).chain(self.takes_view.then_some("view")).collect()
    }
}
