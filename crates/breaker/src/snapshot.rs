//! What survives a restart.
//!
//! The only place where the wall clock matters, and only to learn how much of a cooldown is left. A wall clock that
//! jumped forward ends the cooldown early, which costs one probe; one that jumped back must not make it longer than it
//! ever was.

use std::time::Duration;

use crate::clock::Tick;
use crate::core::{Input, View};
use crate::state::{Cause, Mode, State};

/// Milliseconds since 1970, by the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct UnixMillis(pub u64);

impl UnixMillis {
    fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    fn after(self, wait: Duration) -> Self {
        // Up, so that nothing restored is ready before what was saved.
        let millis = wait.as_nanos().div_ceil(1_000_000);
        Self(self.0.saturating_add(u64::try_from(millis).unwrap_or(u64::MAX)))
    }
}

/// A breaker's state as data; JSON with the feature `serde`. If it is there and cannot be read, use
/// [`Snapshot::unknown`]; if there is none, [`Breaker::new`](crate::Breaker::new).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Snapshot {
    /// Of this layout. One from the future is unknown.
    pub version: u32,
    /// The state.
    pub state: State,
    /// The mode.
    pub mode: Mode,
    /// Opens since it was last closed.
    pub n: u32,
    /// Why it was in this state.
    pub cause: Option<Cause>,
    /// Open: the deadline.
    pub deadline_wall: Option<UnixMillis>,
    /// When it was taken.
    pub saved_wall: UnixMillis,
}

impl Snapshot {
    /// The layout this crate writes.
    pub const VERSION: u32 = 1;

    /// What to restore when there is a snapshot and it cannot be read: half-open, since unknown is not healthy.
    #[must_use]
    pub const fn unknown() -> Self {
        Self {
            version: Self::VERSION,
            state: State::HalfOpen,
            mode: Mode::Normal,
            n: 0,
            cause: None,
            deadline_wall: None,
            saved_wall: UnixMillis(0),
        }
    }

    pub(crate) fn of(view: &View, now: Tick, wall: UnixMillis) -> Self {
        Self {
            version: Self::VERSION,
            state: view.state,
            mode: view.mode,
            n: view.opens,
            cause: view.cause,
            deadline_wall: view.deadline.map(|deadline| wall.after(deadline.since(now))),
            saved_wall: wall,
        }
    }

    /// What has to happen to a new breaker so that it stands like this.
    pub(crate) fn inputs(&self, wall: UnixMillis) -> impl Iterator<Item = Input> {
        let known = if self.version > Self::VERSION { Self::unknown() } else { *self };
        let left = known.deadline_wall.map(|deadline| {
            let by_wall = deadline.since(wall);
            by_wall.min(deadline.since(known.saved_wall))
        });
        let restore = match known.state {
            State::Closed => None,
            State::Open => Some(Input::Restore { left, opens: known.n, cause: known.cause }),
            State::HalfOpen => {
                Some(Input::Restore { left: None, opens: known.n, cause: known.cause })
            }
        };
        let force = (known.mode == Mode::ForcedOpen).then_some(Input::SetMode(Mode::ForcedOpen));
        restore.into_iter().chain(force)
    }
}
