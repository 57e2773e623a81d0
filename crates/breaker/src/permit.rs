//! The right to one call, as a value that cannot be lost.
//!
//! A permit ends exactly once: settled, cancelled or dropped. It remembers the era it was given out in, so an answer
//! that comes late is recognised, however late it is.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use crate::breaker::Breaker;
use crate::clock::{Clock, SystemClock, Tick};
use crate::core::Ticket;
use crate::outcome::Outcome;

/// A permit that borrows its breaker.
pub type Permit<'a, C = SystemClock> = PermitOn<&'a Breaker<C>, C>;

/// A permit that owns a share of its breaker, so it may move to other tasks and outlive the caller.
pub type OwnedPermit<C = SystemClock> = PermitOn<Arc<Breaker<C>>, C>;

/// A permit; see [`Permit`] and [`OwnedPermit`].
///
/// Dropped without being settled, it counts as a timeout, unless [`Config::on_drop`](crate::Config::on_drop) or
/// [`Breaker::seal`] say otherwise.
#[must_use = "a permit that is dropped at once counts as a timed-out call"]
pub struct PermitOn<B: Deref<Target = Breaker<C>>, C: Clock> {
    breaker: B,
    ticket: Ticket,
    ended: bool,
    clock: PhantomData<fn() -> C>,
}

impl<B: Deref<Target = Breaker<C>>, C: Clock> PermitOn<B, C> {
    #[inline]
    pub(crate) const fn new(breaker: B, ticket: Ticket) -> Self {
        Self { breaker, ticket, ended: false, clock: PhantomData }
    }

    /// Says how the call ended.
    #[inline]
    pub fn settle(mut self, outcome: Outcome) {
        self.ended = true;
        self.breaker.settle(self.ticket, outcome, None);
    }

    /// Says how the call ended, and when, without a look at the clock.
    #[inline]
    pub fn settle_at(mut self, outcome: Outcome, now: Tick) {
        self.ended = true;
        self.breaker.settle(self.ticket, outcome, Some(now));
    }

    /// Gives the permit back: nothing can be concluded from the call, or there was none.
    #[inline]
    pub fn cancel(mut self) {
        self.ended = true;
        self.breaker.cancel(self.ticket);
    }

    /// Whether the call is a probe of a half-open breaker.
    #[must_use]
    pub const fn is_probe(&self) -> bool {
        self.ticket.is_probe()
    }

    /// The era the call belongs to; the highest number there is if a mode let it through and its end is of no interest.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.ticket.generation()
    }
}

impl<B: Deref<Target = Breaker<C>>, C: Clock> Drop for PermitOn<B, C> {
    // Always: called out of line by the path that unwinds, it would keep every permit in memory for its sake.
    #[inline(always)]
    fn drop(&mut self) {
        if !self.ended {
            self.breaker.drop_permit(self.ticket);
        }
    }
}

impl<B: Deref<Target = Breaker<C>>, C: Clock> fmt::Debug for PermitOn<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}
