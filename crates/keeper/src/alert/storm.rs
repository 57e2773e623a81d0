//! Many messages at once in a chat: nobody reads them, and the chat refuses them.
//!
//! When more waits than there is room for, a key is told of by one summary of all that waits, and then not for a while. Rows
//! are merged when they are sent and not when they are stored, so nothing is lost.

use crate::{clock::millis, config::Storm};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What was sent to a channel of late. It is forgotten at a restart, which costs a few messages.
#[derive(Debug)]
pub(crate) struct Window {
    storm: Option<Storm>,
    /// When, oldest first.
    sent: VecDeque<u64>,
    /// When something was last sent about a key.
    keys: BTreeMap<String, u64>,
}

/// What may be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// So many messages, one by one.
    Single(usize),
    /// Summaries, but none of these keys, which had something of late.
    Merged(BTreeSet<String>),
}

impl Window {
    /// How many of those that wait are worth counting; `None`: nothing is ever merged.
    pub(crate) fn counts(&self) -> Option<u32> {
        self.storm.map(|storm| storm.messages.saturating_add(1))
    }

    pub(crate) fn new(storm: Option<Storm>) -> Self {
        Self { storm, sent: VecDeque::new(), keys: BTreeMap::new() }
    }

    /// What may be sent at that time, where so many wait and `free` could be.
    pub(crate) fn pace(&mut self, free: usize, waiting: u64, now_ms: u64) -> Pace {
        let Some(storm) = self.storm else { return Pace::Single(free) };
        let since = now_ms.saturating_sub(millis(storm.per));
        // What is in the future was sent before the clock was set back.
        let is_old = |at: u64| at <= since || at > now_ms;
        while self.sent.front().is_some_and(|at| is_old(*at)) {
            self.sent.pop_front();
        }
        self.keys.retain(|_, at| !is_old(*at));
        let most = usize::try_from(storm.messages).unwrap_or(usize::MAX);
        let room = most.saturating_sub(self.sent.len());
        if u64::try_from(room).is_ok_and(|room| waiting > room) {
            Pace::Merged(self.keys.keys().cloned().collect())
        } else {
            Pace::Single(room.min(free))
        }
    }

    /// Something about a key is being sent.
    pub(crate) fn sends(&mut self, key: &str, now_ms: u64) {
        if self.storm.is_some() {
            self.sent.push_back(now_ms);
            self.keys.insert(key.to_owned(), now_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn above_the_limit_a_key_is_told_of_once_in_the_time() {
        let mut window =
            Window::new(Some(Storm { messages: 3, per: Duration::from_millis(1_000) }));
        let resting =
            |keys: &[&str]| Pace::Merged(keys.iter().map(|key| (*key).to_owned()).collect());
        assert_eq!(window.pace(8, 3, 5_000), Pace::Single(3));
        assert_eq!(window.pace(2, 3, 5_000), Pace::Single(2));
        assert_eq!(window.pace(8, 4, 5_000), resting(&[]));
        for (key, at) in [("a", 5_000), ("b", 5_100), ("a", 5_200)] {
            window.sends(key, at);
        }
        assert_eq!(window.pace(8, 1, 5_300), resting(&["a", "b"]));
        // The first one is a second old, and there is room again.
        assert_eq!(window.pace(8, 1, 5_999), resting(&["a", "b"]));
        assert_eq!(window.pace(8, 1, 6_000), Pace::Single(1));
        assert_eq!(window.pace(8, 2, 6_000), resting(&["a", "b"]));
        assert_eq!(window.pace(8, 9, 6_100), resting(&["a"]));
        assert_eq!(window.pace(8, 3, 9_000), Pace::Single(3));
    }

    #[test]
    fn a_clock_that_is_set_back_ends_the_storm() {
        let mut window = Window::new(Some(Storm { messages: 1, per: Duration::from_secs(60) }));
        window.sends("a", 1_000_000);
        assert_eq!(window.pace(8, 1, 1_000), Pace::Single(1));
    }

    #[test]
    fn without_a_limit_everything_is_sent() {
        let mut window = Window::new(None);
        (0..1_000).for_each(|at| window.sends("a", at));
        assert_eq!(window.pace(8, 9, 1_000), Pace::Single(8));
        assert!(window.keys.is_empty() && window.sent.is_empty());
    }
}
