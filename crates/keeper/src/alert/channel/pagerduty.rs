//! PagerDuty's Events API v2: one incident for each key, which ends when what caused it does.

use super::{Request, SecretText};
use crate::alert::text::severity;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

/// The longest key of an incident.
const KEY: usize = 255;

#[derive(Debug)]
pub(super) struct PagerDuty {
    pub(super) url: Url,
    pub(super) key: SecretText,
}

impl PagerDuty {
    pub(super) fn request(&self, summary: &str, body: &Value) -> Request {
        let data = &body["data"];
        let kind = body["type"].as_str().unwrap_or_default();
        let key = data["key"].as_str().or(data["chain"].as_str()).unwrap_or("keeper");
        let (action, key) = action(kind, data, key);
        let link = |name: &str| {
            let url = data[name].as_str().filter(|url| url.starts_with("http"));
            url.map(|url| json!({ "href": url, "text": name }))
        };
        let links: Vec<_> = [link("link"), link("runbook")].into_iter().flatten().collect();
        let document = json!({
            "routing_key": self.key.expose(),
            "event_action": action,
            "dedup_key": key,
            "payload": {
                "summary": summary,
                "source": data["label"].as_str().unwrap_or(&key),
                "severity": severity(body).name(),
                "timestamp": body["timestamp"],
                "class": kind,
                "custom_details": data,
            },
            "links": links,
        });
        Request::json(self.url.clone(), document.to_string().into_bytes())
    }
}

/// What becomes of which incident.
fn action(kind: &str, data: &Value, key: &str) -> (&'static str, String) {
    let is_retracted = data["phase"] == "retracted";
    let ends = match kind {
        // With the end of one that is no longer true, the breaker is as it was before.
        "breaker.closed" if is_retracted => data["state"] != "open",
        "breaker.closed" | "builder.closed" => true,
        _ => is_retracted,
    };
    // That it opened, is still open and has closed is one incident. All else about the key is beside it, not in its place.
    let is_one =
        ["breaker.opened", "breaker.stuck", "breaker.closed", "builder.opened", "builder.closed"]
            .contains(&kind);
    let key = if is_one { key.to_owned() } else { format!("{key}:{kind}") };
    let key = match key.len() {
        ..=KEY => key,
        _ => data_encoding::HEXLOWER.encode(&Sha256::digest(key)),
    };
    (if ends { "resolve" } else { "trigger" }, key)
}
