//! What people read, made of the document that programs read.
//!
//! Only the document is stored: after an update a message that still waits is told in the new words.

use super::Severity;
use crate::output::utc;
use fusebox_bindings::NEVER;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A digest names many breakers, and nobody reads more of them in a chat.
const LINES: usize = 20;

/// A text without markup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    /// Names and URLs.
    pub(crate) links: Vec<(&'static str, String)>,
}

/// A document, as far as texts ask.
#[derive(Clone, Copy, Debug)]
struct Told<'a> {
    kind: &'a str,
    timestamp: &'a str,
    data: Option<&'a Map<String, Value>>,
}

/// What has a line of its own, or says nothing to people.
const KNOWN: [&str; 27] = [
    "after_final",
    "block",
    "breaker",
    "breakers",
    "cause",
    "chain",
    "channel",
    "contract",
    "fact",
    "failures",
    "key",
    "label",
    "late",
    "link",
    "moved_from",
    "phase",
    "probe",
    "provider",
    "retry_at",
    "runbook",
    "severity",
    "state",
    "summary",
    "threshold",
    "topics",
    "tx",
    "v",
];

impl Text {
    /// What is told of one thing.
    pub(crate) fn of(body: &Value) -> Self {
        let told = Told::of(body);
        let mut lines = Vec::new();
        lines.extend(told.text("summary").map(ToOwned::to_owned));
        lines.extend(told.deadline());
        lines.extend(told.moved());
        if told.is("after_final") {
            lines.push("it had counted as final".to_owned());
        }
        if told.is("late") {
            lines.push("found late: a node had left it out".to_owned());
        }
        lines.extend(told.breakers());
        lines.extend(told.others());
        lines.push(told.place());
        Self { title: told.title(), lines, links: told.links() }
    }

    /// What is told of several things about one key at once, of which the last counts most.
    pub(crate) fn of_many(bodies: &[Value]) -> Self {
        let Some(last) = bodies.last() else { return Self::default() };
        let told = Told::of(last);
        let mut counts = BTreeMap::<String, usize>::new();
        for body in bodies {
            let told = Told::of(body);
            let phase = match told.text("phase") {
                None | Some("seen") => String::new(),
                Some(phase) => format!(" ({phase})"),
            };
            *counts.entry(format!("{}{phase}", told.kind)).or_default() += 1;
        }
        let counts: Vec<_> =
            counts.into_iter().map(|(kind, count)| format!("{count} × {kind}")).collect();
        Self {
            title: format!("{} messages about {}", bodies.len(), told.name()),
            lines: [counts.join(", "), format!("last: {}", told.title())]
                .into_iter()
                .chain(told.deadline())
                .chain([told.place()])
                .collect(),
            links: told.links(),
        }
    }
}

/// How grave the document says that it is.
pub(crate) fn severity(body: &Value) -> Severity {
    match Told::of(body).text("severity") {
        Some("critical") => Severity::Critical,
        Some("warning") => Severity::Warning,
        _ => Severity::Info,
    }
}

impl<'a> Told<'a> {
    fn of(body: &'a Value) -> Self {
        Self {
            kind: body["type"].as_str().unwrap_or_default(),
            timestamp: body["timestamp"].as_str().unwrap_or_default(),
            data: body["data"].as_object(),
        }
    }

    fn get(&self, field: &str) -> Option<&'a Value> {
        self.data.and_then(|data| data.get(field)).filter(|value| !value.is_null())
    }

    fn text(&self, field: &str) -> Option<&'a str> {
        self.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    fn is(&self, field: &str) -> bool {
        self.get(field).and_then(Value::as_bool).unwrap_or_default()
    }

    /// What people call it.
    fn name(&self) -> &'a str {
        let names = ["label", "provider", "channel", "key", "contract", "chain"];
        names.into_iter().find_map(|field| self.text(field)).unwrap_or("the keeper")
    }

    fn title(&self) -> String {
        let name = self.name();
        let chain = self.text("chain").unwrap_or("the chain");
        let what = match self.kind {
            "breaker.opened" => match self.text("cause") {
                Some(cause) => format!("{name} opened: {cause}"),
                None => format!("{name} opened"),
            },
            "breaker.closed" => format!("{name} closed"),
            "breaker.configured" => format!("{name} was configured"),
            "breaker.half_open" => format!("{name} is half-open: it waits for a probe"),
            "breaker.stuck" => format!("{name} is still open"),
            "breaker.drift" => format!("{name}: its storage and its events differ"),
            "breaker.unknown_log" => format!("{name} emitted a log that is not understood"),
            "chain.behind" => format!("{chain} is behind"),
            "chain.degraded" => format!("{chain} is degraded: a block that counted as final left"),
            "chain.identity" => format!("{chain}: its nodes are of another chain"),
            "chain.not_finalizing" => format!("{chain} does not finalize"),
            "provider.down" => format!("{name} is down"),
            "channel.dead" => format!("a message could not be sent to {name}"),
            "channel.disabled" => format!("nothing is sent to {name} any more"),
            "builder.opened" => "blocks are built locally: the builder breaker opened".to_owned(),
            "builder.closed" => "builders are used again: the builder breaker closed".to_owned(),
            "keeper.started" => "the keeper has started".to_owned(),
            "keeper.digest" => format!("{chain}: its history is read"),
            "keeper.test" => "this is a test".to_owned(),
            other => format!("{name}: {other}"),
        };
        match self.text("phase") {
            Some("retracted") => format!("no longer true: {what}"),
            Some("final") => format!("{what} (final)"),
            _ if self.moved().is_some() => format!("moved: {what}"),
            _ => what,
        }
    }

    /// Until when it is open, and how often it has failed.
    fn deadline(&self) -> Option<String> {
        let until = match self.get("retry_at").map(Value::as_u64) {
            None => None,
            Some(Some(at)) if at < NEVER => Some(format!("open until {}", utc(at))),
            // What no number of seconds can be is never, too.
            Some(_) => Some("open until it is reset".to_owned()),
        };
        let number = |field| self.get(field).and_then(Value::as_u64);
        let failures = match (number("failures"), number("threshold")) {
            (Some(failures), Some(threshold)) => {
                Some(format!("{failures} of {threshold} failures"))
            }
            _ => None,
        };
        let parts: Vec<_> = until.into_iter().chain(failures).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Where the same transaction was before.
    fn moved(&self) -> Option<String> {
        let from = self.get("moved_from")?.get("number").and_then(Value::as_u64)?;
        let to = self.get("block")?.get("number").and_then(Value::as_u64)?;
        Some(format!("its transaction moved from block {from} to block {to}"))
    }

    /// The breakers of a digest.
    fn breakers(&self) -> Vec<String> {
        let breakers =
            self.get("breakers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut lines: Vec<_> = breakers
            .iter()
            .take(LINES)
            .map(|breaker| {
                let text = |field: &str| breaker[field].as_str();
                let name = text("label").or(text("key")).unwrap_or("?");
                format!("{name}: {}", text("state").unwrap_or("unknown"))
            })
            .collect();
        if let Some(more) = breakers.len().checked_sub(LINES).filter(|more| *more > 0) {
            lines.push(format!("and {more} more"));
        }
        lines
    }

    /// What no line of its own was thought of for.
    fn others(&self) -> Vec<String> {
        let fields = self.data.into_iter().flatten();
        let others = fields.filter(|(name, _)| !KNOWN.contains(&name.as_str()));
        let lines = others.filter_map(|(name, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return None,
            };
            Some(format!("{}: {value}", name.replace('_', " ")))
        });
        lines.take(LINES).collect()
    }

    /// Where and when.
    fn place(&self) -> String {
        // What is told of a chain names the number only.
        let block =
            self.get("block").and_then(|block| block.get("number").unwrap_or(block).as_u64());
        let mut parts: Vec<_> = self.text("key").map(ToOwned::to_owned).into_iter().collect();
        parts.extend(block.map(|number| format!("block {number}")));
        parts.push(self.timestamp.to_owned());
        parts.join(", ")
    }

    fn links(&self) -> Vec<(&'static str, String)> {
        let link = |name, field| Some((name, self.text(field)?.to_owned()));
        [link("transaction", "link"), link("runbook", "runbook")].into_iter().flatten().collect()
    }
}
