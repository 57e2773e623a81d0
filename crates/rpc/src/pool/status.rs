//! What an operator sees of a pool, and what can be done by hand.

use std::sync::Arc;
use std::time::Duration;

use fusebox_breaker::{Cause, Mode, View};

use super::Pool;
use super::error::Name;
use super::servers::{Identity, ServerBreaker, ServerState, Servers};
use super::time::since_origin;
use crate::endpoint::Transport;
use crate::instance::InstanceId;
use crate::method::MethodClass;

/// An endpoint at this instant.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EndpointStatus {
    /// Whose it is.
    pub provider: Name,
    /// Over what.
    pub transport: Transport,
    /// Which server it is; shows no secret.
    pub instance: InstanceId,
    /// Whether its chain is the configured one; `None` = not known yet.
    pub right_chain: Option<bool>,
    /// The highest block it has shown.
    pub head: Option<u64>,
    /// How far that is behind the pool's head.
    pub lag: u64,
    /// For how long it must be left alone.
    pub throttled_for: Duration,
    /// Whether that is because its quota is used up.
    pub parked: bool,
    /// Its breakers.
    pub classes: Vec<ClassStatus>,
}

/// The breaker of one class of calls.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ClassStatus {
    /// The class.
    pub class: MethodClass,
    /// Where its breaker stands.
    pub breaker: View,
    /// How long its successes take.
    pub latency: Option<Duration>,
}

/// An operator's hand on one provider; see [`Pool::admin`].
#[derive(Debug, Clone)]
pub struct Admin {
    breakers: Vec<Arc<ServerBreaker>>,
    states: Vec<Arc<ServerState>>,
    servers: Servers,
}

impl Admin {
    /// Opens all its breakers for this long, or for one cooldown.
    pub fn trip(&self, time: Option<Duration>) {
        let until = time.map(|time| self.servers.time().now().after(time));
        self.breakers.iter().for_each(|breaker| breaker.trip(until, Cause::Manual));
        self.servers.pump();
    }

    /// Closes all its breakers and forgets their counts.
    pub fn reset(&self) {
        self.breakers.iter().for_each(|breaker| breaker.reset());
        self.servers.pump();
    }

    /// Changes the mode of all its breakers.
    ///
    /// Any mode but forced-open also forgets which chain it serves: it is asked again before it is used.
    pub fn set_mode(&self, mode: Mode) {
        if mode != Mode::ForcedOpen {
            self.states.iter().for_each(|state| state.known().identity = Identity::Unknown);
        }
        self.breakers.iter().for_each(|breaker| breaker.set_mode(mode));
        self.servers.pump();
    }
}

impl Pool {
    /// All endpoints in the order of the configuration, the WebSockets of providers that have HTTP too after all others.
    #[must_use]
    pub fn status(&self) -> Vec<EndpointStatus> {
        let head = self.shared.head();
        let now = self.shared.time.now();
        let status = self.shared.targets.iter().map(|target| {
            let throttled_for = target.wait(now);
            let views = MethodClass::ALL.map(|class| (class, target.breaker(class).view()));
            let known = target.state.known();
            EndpointStatus {
                provider: target.name.clone(),
                transport: target.transport(),
                instance: target.endpoint.instance().clone(),
                right_chain: match known.identity {
                    Identity::Unknown => None,
                    Identity::Verified(_) => Some(true),
                    Identity::Wrong => Some(false),
                },
                head: known.head,
                lag: head.zip(known.head).map_or(0, |(head, mine)| head.saturating_sub(mine)),
                throttled_for,
                parked: known.parked && !known.throttle.wait(since_origin(now)).is_zero(),
                classes: views
                    .map(|(class, breaker)| ClassStatus {
                        class,
                        breaker,
                        latency: known.latency(class),
                    })
                    .to_vec(),
            }
        });
        status.collect()
    }

    /// A hand on a provider, on all its endpoints, if there is one of this name.
    #[must_use]
    pub fn admin(&self, provider: &str) -> Option<Admin> {
        let targets = self.shared.targets.iter().filter(|target| *target.name == *provider);
        let (breakers, states): (Vec<_>, Vec<_>) =
            targets.map(|target| (target.breakers.clone(), Arc::clone(&target.state))).unzip();
        let servers = self.shared.servers.clone();
        let breakers: Vec<_> = breakers.into_iter().flatten().collect();
        (!states.is_empty()).then_some(Admin { breakers, states, servers })
    }
}
