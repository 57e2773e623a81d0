//! What each channel would send: a message of each type that a route has for it.

use super::Findings;
use crate::{
    Refusal,
    alert::{
        AlertType, Channel, MessageId, Phase,
        http::{Heard, Http},
    },
    clock::SystemClock,
    config::Settings,
    fold::now_ms,
    output::{line, utc},
};
use globset::Glob;
use serde_json::{Value, json};

/// The channels, as far as they can be made.
fn channels(settings: &Settings, findings: &mut Findings) -> Vec<Channel> {
    let made = settings.channels.iter().filter_map(|settings| match Channel::new(settings) {
        Ok(channel) => Some(channel),
        Err(error) => {
            findings.add(Refusal::Configuration(error.to_string()));
            None
        }
    });
    made.collect()
}

/// Renders one of each type of alert for each channel.
pub(super) fn render(settings: &Settings, findings: &mut Findings) {
    for channel in channels(settings, findings) {
        let kinds = AlertType::ALL.into_iter().filter(|kind| hears(settings, &channel.name, *kind));
        // A template that is wrong for one is mostly wrong for many.
        let wrong = kinds.filter_map(|kind| Some((kind, channel.preview(&sample(kind)).err()?)));
        let wrong: Vec<_> = wrong.collect();
        if let Some((kind, error)) = wrong.first() {
            let others = match wrong.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more types"),
            };
            findings.add(Refusal::Configuration(format!(
                "channel.{}.template: fails for {kind}{others}: {error}",
                channel.name
            )));
        }
    }
}

/// Whether any route may bring this type to a channel; also where no route names the channel at all.
fn hears(settings: &Settings, channel: &str, kind: AlertType) -> bool {
    let mut routes = settings
        .routes
        .iter()
        .filter(|route| route.channels.iter().any(|name| name == channel))
        .peekable();
    routes.peek().is_none()
        || routes.any(|route| {
            let glob = route.kind.as_deref().map(Glob::new);
            let fits = glob.is_none_or(|glob| {
                glob.is_ok_and(|glob| glob.compile_matcher().is_match(kind.name()))
            });
            fits && route.severity.is_none_or(|least| kind.severity() >= least)
        })
}

/// A message of this type with all that one can have.
fn sample(kind: AlertType) -> Value {
    const AT: u64 = 1_767_323_045;
    let mut data = json!({
        "v": 1,
        "phase": Phase::Seen.name(),
        "late": false,
        "chain": "mainnet",
        "severity": kind.severity().name(),
        "runbook": format!("docs/runbooks/{kind}.md"),
        "summary": "what happened, in words",
        "reason": "why, in words",
    });
    let more = match kind.name().split_once('.') {
        Some(("breaker", _)) => json!({
            "fact": "1:0x0000000000000000000000000000000000000000000000000000000000000001:12",
            "key": "mainnet:0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed:0x07",
            "label": "vault/oracle",
            "contract": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "breaker": "0x0000000000000000000000000000000000000000000000000000000000000007",
            "block": { "number": 1, "hash": "0x0000000000000000000000000000000000000000000000000000000000000001", "time": AT },
            "tx": "0x0000000000000000000000000000000000000000000000000000000000000002",
            "cause": "reverted",
            "retry_at": AT + 60,
            "state": "open",
            "failures": 3,
            "threshold": 3,
            "link": "https://explorer.example/tx/0x02",
        }),
        Some(("channel", _)) => json!({ "channel": "hook" }),
        Some(("provider", _)) => json!({ "provider": "main" }),
        _ => json!({}),
    };
    if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
        data.extend(more);
    }
    json!({ "type": kind.name(), "timestamp": utc(AT), "data": data })
}

/// Sends a test to each channel, and says what came of it.
pub(super) async fn send(settings: &Settings, findings: &mut Findings) -> eyre::Result<()> {
    let http = Http::new()?;
    let now = now_ms();
    let id = MessageId::of_cause(AlertType::KeeperTest, &format!("{now}:{}", std::process::id()));
    let mut body = sample(AlertType::KeeperTest);
    body["timestamp"] = utc(now / 1_000).into();
    body["data"]["summary"] = "keeper check --send-test: nothing happened".into();
    let body = body.to_string();
    for channel in channels(settings, &mut Findings::default()) {
        let request = channel.request(id.as_str(), &[&body], now / 1_000);
        let heard = http.send(request, &SystemClock).await;
        let name = &channel.name;
        match &heard {
            Heard::Answer { status: 200..=299, .. } => {
                line(&format!("ok     channel {name} has taken a test message"))?;
            }
            Heard::Answer { status, .. } => {
                let said = channel.said(&heard).1.map(|said| format!(": {said}"));
                let said = said.unwrap_or_default();
                findings
                    .add(Refusal::No(format!("channel {name} answers with status {status}{said}")));
            }
            Heard::Nothing(why) => findings.add(Refusal::No(format!("channel {name}: {why}"))),
        }
    }
    Ok(())
}
