//! The only place that prints: results to standard output, all else to standard error.

use crate::{
    config::{LogFormat, LogLevel, LogSettings},
    node::{explain, transport_error},
    target::Slot,
};
use fusebox_bindings::{LATCH, NEVER, ONCE_PER_BLOCK, PROBE_ONLY};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    io::{self, Write as _},
    sync::OnceLock,
};

/// Prints an error and all that led to it.
pub fn report(error: &eyre::Report) {
    if gone(error) {
        return;
    }
    // What a transport error says itself is for programmers, and may quote a node at any length.
    let message = match transport_error(error) {
        Some(cause) => explain(cause),
        None => format!("{error:#}"),
    };
    say(&format!("error: {message}"));
}

/// Whether nobody reads the output any more, as after `keeper status | head -1`. No reason to fail.
pub(crate) fn gone(error: &eyre::Report) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.downcast_ref::<io::Error>().is_some_and(broken)
}

/// How lines for whoever runs the keeper look, and which there are.
static LOG: OnceLock<LogSettings> = OnceLock::new();

/// Says so once, as soon as it is known. What was said before that looks as it does by default.
pub(crate) fn configure(settings: LogSettings) {
    LOG.set(settings).ok();
}

/// A line for whoever runs the keeper. It is lost where standard error is closed, and there is nobody to tell.
pub(crate) fn say(message: &str) {
    write(message, None);
}

/// The same with the time, for what goes on for long.
pub(crate) fn log(message: &str) {
    write(message, Some(jiff::Timestamp::now()));
}

fn write(message: &str, time: Option<jiff::Timestamp>) {
    let settings = LOG.get().copied().unwrap_or_default();
    if let Some(line) = shown(message, time, settings) {
        writeln!(io::stderr(), "{line}").ok();
    }
}

/// The line, unless nobody wants it. How grave it is, is the word that it begins with.
fn shown(message: &str, time: Option<jiff::Timestamp>, settings: LogSettings) -> Option<String> {
    let level = match message.split([':', ' ']).next() {
        Some("error") => LogLevel::Error,
        Some("warning" | "ALARM") => LogLevel::Warn,
        _ => LogLevel::Info,
    };
    if level > settings.level {
        return None;
    }
    Some(match (settings.format, time) {
        (LogFormat::Text, None) => message.to_owned(),
        (LogFormat::Text, Some(time)) => format!("{time:.0}  {message}"),
        (LogFormat::Json, time) => {
            let time = time.unwrap_or_else(jiff::Timestamp::now);
            json!({ "time": format!("{time:.3}"), "level": level.name(), "message": message })
                .to_string()
        }
    })
}

/// A line of the result.
pub(crate) fn line(text: &str) -> eyre::Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// The result as whatever writes it makes it, whole or not at all.
pub(crate) fn script(write: impl FnOnce(&mut Vec<u8>)) -> eyre::Result<()> {
    let mut script = Vec::new();
    write(&mut script);
    Ok(io::stdout().write_all(&script)?)
}

/// The result as one JSON document.
pub(crate) fn document(value: &impl Serialize) -> eyre::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// A moment of a chain, to measure times from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) block: u64,
    pub(crate) time: u64,
}

impl Clock {
    /// How long until a deadline, by the chain's clock.
    pub(crate) fn until(&self, deadline: u64) -> String {
        match deadline {
            NEVER.. => "never".to_owned(),
            deadline => format!("{} s", deadline.saturating_sub(self.time)),
        }
    }
}

/// A time as people write it; years that have five digits, which only hostile contracts name, stay seconds.
pub(crate) fn utc(seconds: u64) -> String {
    let second = i64::try_from(seconds).ok();
    match second.and_then(|second| jiff::Timestamp::from_second(second).ok()) {
        Some(time) => time.to_string(),
        None => format!("{seconds} s"),
    }
}

/// How many of a thing: `1 contract`, `2 contracts`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A message for a person, on one line.
pub(crate) fn message(body: &Value) -> String {
    let data = &body["data"];
    let word = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let block = &data["block"];
    let time = block["time"].as_u64().map(utc).or_else(|| word(&body["timestamp"]));
    let mut line = time.unwrap_or_default();
    let mut put = |part: String| {
        line.push_str("  ");
        line.push_str(&part);
    };
    if let Some(number) = block["number"].as_u64() {
        put(format!("block {number}"));
    }
    let slot = word(&data["breaker"]).and_then(|slot| slot.parse().ok());
    let name =
        [word(&data["label"]), word(&data["contract"]), slot.map(|slot| Slot(slot).to_string())];
    let name: Vec<String> = name.into_iter().flatten().collect();
    match name.is_empty() {
        true => data["chain"].as_str().into_iter().for_each(|chain| put(chain.to_owned())),
        false => put(name.join(" ")),
    }
    let what = what(body["type"].as_str().unwrap_or_default(), data);
    put(match data["phase"].as_str() {
        Some("retracted") => format!("RETRACTED, its block left the chain: {what}"),
        Some("final") => format!("final: {what}"),
        _ => what,
    });
    line
}

/// What happened, in words.
fn what(kind: &str, data: &Value) -> String {
    let retry_at = data["retry_at"].as_u64();
    match kind {
        "breaker.opened" => {
            let cause = data["cause"].as_str().unwrap_or("for no known cause");
            let now = data["block"]["time"].as_u64().unwrap_or_default();
            match retry_at {
                Some(retry_at) if retry_at < NEVER => {
                    let wait = retry_at.saturating_sub(now);
                    format!("opened: {cause}; retry at {}, in {wait} s", utc(retry_at))
                }
                _ => format!("opened: {cause}; stays open until reset"),
            }
        }
        "breaker.half_open" => format!("half-open since {}", utc(retry_at.unwrap_or_default())),
        "breaker.closed" => "closed".to_owned(),
        "breaker.configured" => {
            let config = &data["config"];
            let number = |name: &str| config[name].as_u64().unwrap_or_default();
            format!(
                "configured: threshold {}, cooldown {} s up to {} s, {} good probes to close, window {} s, flags: {}",
                number("failure_threshold"),
                number("cooldown"),
                number("max_cooldown"),
                number("success_threshold"),
                number("window"),
                flags(u8::try_from(number("flags")).unwrap_or(u8::MAX))
            )
        }
        "breaker.stuck" => {
            format!("open for {} s", data["open_for"].as_u64().unwrap_or_default())
        }
        "breaker.unknown_log" => format!(
            "warning: a log that has a breaker's topic and not its shape: {}, topics {}, {} bytes of data {}",
            data["fact"].as_str().unwrap_or_default(),
            data["topics"],
            data["log_bytes"],
            data["log_data"].as_str().unwrap_or_default()
        ),
        _ => {
            let more = ["summary", "drift", "reason"].iter().find_map(|name| data[*name].as_str());
            more.map_or_else(|| kind.to_owned(), |more| format!("{kind}: {more}"))
        }
    }
}

/// The flags in words; bits without one, which no honest contract emits, as a number.
fn flags(flags: u8) -> String {
    const NAMES: [(u8, &str); 3] =
        [(LATCH, "latch"), (ONCE_PER_BLOCK, "once per block"), (PROBE_ONLY, "probe only")];
    let named = NAMES.iter().filter(|(flag, _)| flags & flag != 0);
    let mut names: Vec<_> = named.map(|(_, name)| (*name).to_owned()).collect();
    let unknown = flags & !(LATCH | ONCE_PER_BLOCK | PROBE_ONLY);
    if unknown != 0 {
        names.push(format!("{unknown:#x}"));
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_up_to_a_level_and_in_the_form_that_is_wanted() {
        let text = |level| LogSettings { format: LogFormat::Text, level };
        for (message, least) in [
            ("error: no", LogLevel::Error),
            ("warning: hm", LogLevel::Warn),
            ("ALARM: the quota", LogLevel::Warn),
            ("started", LogLevel::Info),
            ("warnings are told", LogLevel::Info),
            ("", LogLevel::Info),
        ] {
            for level in [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug] {
                let want = (level >= least).then(|| message.to_owned());
                assert_eq!(shown(message, None, text(level)), want, "{message} {level:?}");
            }
        }
        let time = jiff::Timestamp::from_second(0).unwrap();
        let line = shown("started", Some(time), text(LogLevel::Info));
        assert_eq!(line.as_deref(), Some("1970-01-01T00:00:00Z  started"));
        let json = LogSettings { format: LogFormat::Json, level: LogLevel::Info };
        let line = shown("warning: a\n\"b\"", Some(time), json).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let want = json!({ "time": "1970-01-01T00:00:00.000Z", "level": "warn", "message": "warning: a\n\"b\"" });
        assert_eq!(line, want);
    }

    #[test]
    fn times_are_written_in_utc_and_hostile_ones_as_seconds() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(1_700_000_000), "2023-11-14T22:13:20Z");
        assert_eq!(utc(NEVER), "1099511627775 s");
        assert_eq!(utc(u64::MAX), "18446744073709551615 s");
    }

    #[test]
    fn flags_are_named_and_unknown_ones_are_not_hidden() {
        assert_eq!(flags(0), "none");
        assert_eq!(flags(LATCH), "latch");
        assert_eq!(flags(0b101), "latch, probe only");
        assert_eq!(flags(0b111), "latch, once per block, probe only");
        assert_eq!(flags(0b1010), "once per block, 0x8");
    }

    #[test]
    fn a_deadline_is_counted_from_the_chains_clock() {
        let clock = Clock { block: 1, time: 100 };
        assert_eq!(clock.until(99), "0 s");
        assert_eq!(clock.until(100), "0 s");
        assert_eq!(clock.until(101), "1 s");
        assert_eq!(clock.until(NEVER), "never");
    }
}
