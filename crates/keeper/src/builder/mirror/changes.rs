//! From one answer to the next: what has to be told.
//!
//! The sidecar numbers its transitions and shows the last of them, so what happened between two answers is not lost. A process
//! that is another one has begun closed. Whatever is missing or made up, openings and closings take turns: what is told is
//! always true in the end.

use super::said::{Moved, Said};
use serde::{Deserialize, Serialize};

/// How far the sidecar's account was told; stored with what was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Which process; none was met before the first answer.
    pub(super) instance: Option<String>,
    /// Its last transition.
    pub(super) seq: u64,
    /// What was told last.
    pub(super) is_open: bool,
    /// It was told that there are no answers.
    pub(super) is_down: bool,
    /// How often that was told.
    pub(super) downs: u64,
}

/// Builders are not used any more, or again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) is_open: bool,
    /// What makes it one of a kind.
    pub(super) id: String,
    /// Unix seconds, where they are known.
    pub(super) at: Option<u64>,
    pub(super) cause: String,
    pub(super) slot: Option<u64>,
    /// What was counted, and what it was compared with.
    pub(super) value: Option<u64>,
    pub(super) limit: Option<u64>,
}

/// The cause of what happened unseen: more transitions than are shown.
const UNSEEN: &str = "unseen";

/// What was not told yet, oldest first, and where that leads.
pub(super) fn changes(position: &Position, said: &Said) -> (Vec<Change>, Position) {
    let instance = said.instance.as_str();
    let newest = said.transitions.first().map_or(0, |moved| moved.seq);
    let (mut is_open, mut after) = (position.is_open, position.seq);
    let mut changes = Vec::new();
    match position.instance.as_deref() {
        Some(known) if known == instance => {}
        Some(_) => {
            if is_open {
                let at = u64::try_from(said.started_ms / 1_000).ok();
                changes.push(Change { at, ..Change::bare(false, instance, "0", "restart") });
            }
            (is_open, after) = (false, 0);
        }
        None => {
            // What it did before anybody watched is history; what it is now is news.
            let opened = |moved: &&Moved| !moved.from.is_open() && moved.to.is_open();
            let opened = said.transitions.iter().find(opened).filter(|_| said.state.is_open());
            changes.extend(opened.map(|moved| Change::of(said, moved)));
            (is_open, after) = (opened.is_some(), newest);
        }
    }
    for moved in said.transitions.iter().rev().filter(|moved| moved.seq > after) {
        if moved.from.is_open() != is_open {
            is_open = !is_open;
            let id = format!("{}-", moved.seq);
            let at = said.time(moved);
            changes.push(Change { at, ..Change::bare(is_open, instance, &id, UNSEEN) });
        }
        if moved.to.is_open() != is_open {
            is_open = !is_open;
            changes.push(Change::of(said, moved));
        }
    }
    if said.state.is_open() != is_open {
        is_open = !is_open;
        changes.push(Change::bare(is_open, instance, &format!("{newest}+"), UNSEEN));
    }
    let seq = newest.max(after);
    let position = Position { instance: Some(instance.to_owned()), seq, is_open, ..*position };
    (changes, position)
}

impl Change {
    fn bare(is_open: bool, instance: &str, nth: &str, cause: &str) -> Self {
        Self {
            is_open,
            id: format!("{instance}:{nth}"),
            at: None,
            cause: cause.to_owned(),
            slot: None,
            value: None,
            limit: None,
        }
    }

    fn of(said: &Said, moved: &Moved) -> Self {
        Self {
            at: said.time(moved),
            slot: Some(moved.slot),
            value: moved.value,
            limit: moved.limit,
            ..Self::bare(
                moved.to.is_open(),
                said.instance.as_str(),
                &moved.seq.to_string(),
                moved.cause.as_str(),
            )
        }
    }

    /// What happened, in words.
    pub(super) fn summary(&self) -> String {
        let place = self.slot.map(|slot| format!("slot {slot}: ")).unwrap_or_default();
        let numbers = match (self.value, self.limit) {
            (Some(value), Some(limit)) => format!(" ({value}, limit {limit})"),
            _ => String::new(),
        };
        format!("{place}{}{numbers}", self.cause)
    }
}
