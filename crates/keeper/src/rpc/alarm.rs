//! What an operator must hear about endpoints, in words.

use super::chains::Chains;
use crate::output::log;
use fusebox_breaker::{EventKind, Mode, State};
use fusebox_rpc::{MethodClass, PoolEvent};

/// Turns events into lines of the log.
///
/// A host that is gone opens the breakers of six classes at once: that is one line.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    lines: Vec<(String, Vec<&'static str>)>,
}

impl Alarms {
    /// Says what has happened since the last time.
    pub(super) fn tell(&mut self, chains: &Chains) {
        for (chain, pool) in chains.iter() {
            pool.drain(|event| self.hear(&event));
            for (text, classes) in self.lines.drain(..) {
                log(&format!("chain {chain}: {}", text.replace(CLASSES, &classes.join(", "))));
            }
        }
    }

    fn hear(&mut self, event: &PoolEvent) {
        let Some((text, class)) = words(event) else { return };
        let class = class.map_or("all", MethodClass::as_str);
        match self.lines.iter_mut().find(|(known, _)| text.contains(CLASSES) && *known == text) {
            Some((_, classes)) if classes.contains(&class) => {}
            Some((_, classes)) => classes.push(class),
            None => self.lines.push((text, vec![class])),
        }
    }
}

/// Where the classes of calls are named in a line.
const CLASSES: &str = "{classes}";

fn words(event: &PoolEvent) -> Option<(String, Option<MethodClass>)> {
    let text = match event {
        PoolEvent::Breaker { provider, transport, class, event } => {
            let what = match event.kind {
                EventKind::Opened { from: State::Open, .. } => return None,
                EventKind::Opened { cause, delay, .. } => {
                    format!("open for {CLASSES}: {cause}; next probe in {} s", delay.as_secs())
                }
                EventKind::HalfOpened { .. } => {
                    format!("half-open for {CLASSES}: it is being probed")
                }
                EventKind::Closed { cause, .. } => format!("closed again for {CLASSES}: {cause}"),
                EventKind::Mode { to: Mode::ForcedOpen, .. } => {
                    format!("out of use for {CLASSES} until somebody changes that")
                }
                EventKind::Mode { to, .. } => format!("now {to} for {CLASSES}"),
                _ => return None,
            };
            return Some((format!("{provider} ({transport}) is {what}"), *class));
        }
        PoolEvent::QuotaExhausted { provider, wait, reason } => format!(
            "ALARM: the quota of {provider} is used up ({reason}): left alone for {} s; pay, or wait",
            wait.as_secs()
        ),
        PoolEvent::AuthRefused { provider, reason } => {
            format!("ALARM: {provider} refuses our credentials ({reason}): renew them")
        }
        PoolEvent::WrongChain { provider, found, expected } => format!(
            "ALARM: {provider} serves another chain: it says {found}, not {expected}; not used until its URL is corrected and the proxy restarted"
        ),
        PoolEvent::AllOpenEntered { class } => {
            format!("ALARM: no endpoint is left for {} calls", class.as_str())
        }
        PoolEvent::AllOpenLeft { class } => format!("{} calls are served again", class.as_str()),
        PoolEvent::UnknownPayload { provider, method, payload } => {
            format!("{provider} answered {method} with an error that no rule knows: {payload:?}")
        }
        PoolEvent::Lost { count } => format!("{count} events were lost"),
        _ => return None,
    };
    Some((text, None))
}
