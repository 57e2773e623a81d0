//! Every payload of `data/payloads.json` is understood, over HTTP, in a batch and over WebSocket.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fusebox_rpc::{
    CallContext, Category, NoAnswer, RangeHint, Reason, Reply, ReplyHeaders, Rules, Verdict,
    batch_elements, classify,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    provider: String,
    transport: Wire,
    http_status: Option<u16>,
    headers: Option<BTreeMap<String, String>>,
    method: Option<String>,
    body: String,
    category: Category,
    hint_ms: Option<u64>,
    breaker_penalty: bool,
    range: Option<Range>,
    filter_lost: Option<bool>,
    ws_close: Option<u16>,
    source: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wire {
    Http,
    Ws,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Range {
    Blocks { from: String, to: String },
    Max { max: u64 },
}

impl Range {
    fn hint(&self) -> RangeHint {
        let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hex");
        match self {
            Self::Blocks { from, to } => RangeHint::Blocks { from: hex(from), to: hex(to) },
            Self::Max { max } => RangeHint::Max(*max),
        }
    }
}

impl Row {
    fn headers(&self) -> ReplyHeaders<'_> {
        let headers = self.headers.iter().flatten();
        ReplyHeaders::pick(headers.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    fn judge(&self, reply: &Reply<'_>) -> Verdict {
        let ctx = CallContext {
            method: self.method.as_deref().unwrap_or_default(),
            host: &self.provider,
            // A row does not say which id was asked for.
            id: None,
            block: None,
            head: None,
            now: now(),
        };
        classify(reply, &ctx, Rules::shipped())
    }

    /// Whether the body is one JSON-RPC answer, so that it can be framed otherwise.
    fn is_object(&self) -> bool {
        self.transport == Wire::Http
            && serde_json::from_str::<serde_json::Value>(&self.body)
                .is_ok_and(|body| body.is_object())
    }

    fn as_it_came(&self) -> Verdict {
        let body = self.body.as_bytes();
        match (self.transport, self.http_status, self.ws_close) {
            (Wire::Http, Some(status), _) => {
                self.judge(&Reply::Http { status, headers: self.headers(), body })
            }
            (Wire::Ws, _, Some(code)) => self.judge(&Reply::None(NoAnswer::Closed(Some(code)))),
            (Wire::Ws, _, None) => self.judge(&Reply::Ws { body }),
            (Wire::Http, None, _) => panic!("{}: an HTTP row needs a status", self.id),
        }
    }

    /// What the row says, and what was found instead.
    fn difference(&self, framing: &str, verdict: &Verdict) -> Option<String> {
        let want = (
            self.category,
            self.hint_ms.map(u128::from),
            self.breaker_penalty,
            self.range.as_ref().map(Range::hint),
            self.filter_lost.unwrap_or_default(),
        );
        let got = (
            verdict.category,
            verdict.hint.map(|hint| hint.as_millis()),
            verdict.penalty,
            verdict.range,
            verdict.filter_lost,
        );
        let rule = &verdict.rule;
        (want != got)
            .then(|| format!("{} ({framing}): wanted {want:?}, got {got:?} by {rule}", self.id))
    }
}

/// 2026-01-01, 00:00 UTC and 12 hours: rows that need a clock show a `Date`.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_767_268_800)
}

fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("../../data/payloads.json"))
        .expect("payloads.json is a list of rows")
}

fn assert_none(differences: &[String]) {
    assert!(
        differences.is_empty(),
        "{} rows differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn each_payload_is_understood_as_it_came() {
    let rows = rows();
    assert!(!rows.is_empty());
    let differences: Vec<_> =
        rows.iter().filter_map(|row| row.difference("as it came", &row.as_it_came())).collect();
    assert_none(&differences);
}

#[test]
fn each_payload_is_understood_as_an_element_of_a_batch() {
    let mut differences = Vec::new();
    for row in rows().iter().filter(|row| row.is_object()) {
        let http =
            |body| Reply::Http { status: row.http_status.unwrap(), headers: row.headers(), body };
        let body = format!(r#"[{{"jsonrpc":"2.0","id":0,"result":"0x1"}}, {} ]"#, row.body);
        let elements = batch_elements(body.as_bytes()).unwrap();
        assert_eq!(elements.len(), 2, "{}", row.id);
        let verdict = row.judge(&http(elements[1].text.as_bytes()));
        differences.extend(row.difference("batch", &verdict));
        // Some gateways answer a single request with an array.
        let verdict = row.judge(&http(format!("[{}]", row.body).as_bytes()));
        differences.extend(row.difference("array of one", &verdict));
    }
    assert_none(&differences);
}

/// Over WebSocket there is no status and no header, so what only those say is lost; all words and codes must still be
/// understood.
#[test]
fn each_payload_is_understood_over_websocket() {
    let mut differences = Vec::new();
    for row in rows().iter().filter(|row| row.is_object()) {
        let rule = row.as_it_came().rule;
        if !matches!(&rule, Reason::Rule(id) if !id.starts_with("status.")) {
            continue;
        }
        let mut verdict = row.judge(&Reply::Ws { body: row.body.as_bytes() });
        if row.headers.iter().flatten().any(|(name, _)| name != "content-type") {
            verdict.hint = row.hint_ms.map(Duration::from_millis);
        }
        differences.extend(row.difference("ws", &verdict));
    }
    assert_none(&differences);
}

#[test]
fn each_row_has_its_own_id_and_a_source() {
    let mut ids = BTreeSet::new();
    for row in rows() {
        assert!(ids.insert(row.id.clone()), "{} occurs twice", row.id);
        assert!(!row.source.trim().is_empty(), "{} has no source", row.id);
    }
}
