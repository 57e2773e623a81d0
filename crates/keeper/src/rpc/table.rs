//! `keeper rpc status`: what a running proxy knows, as a table.

use super::report::{Class, Endpoint, Report};
use crate::{Refusal, cli::RpcStatusArgs, output};
use comfy_table::{Table, presets};
use reqwest::{Client, Response, redirect::Policy};
use serde_json::Value;
use std::time::Duration;

/// A proxy answers at once, or it is stuck.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The longest document that is read: thousands of endpoints.
const MAX_DOCUMENT: usize = 16 * 1024 * 1024;

/// Asks the proxy and prints what it says.
pub(super) async fn status(args: &RpcStatusArgs) -> eyre::Result<()> {
    let RpcStatusArgs { listen, json } = args;
    let document = fetch(&format!("http://{listen}/status")).await.map_err(|why| {
        Refusal::Unreachable(format!(
            "no proxy at {listen}: {why}; start one with keeper rpc, or say with --listen where it is"
        ))
    })?;
    if *json {
        return output::document(&document);
    }
    let report: Report = serde_json::from_value(document).map_err(|_| {
        Refusal::Unreachable(format!(
            "what answers at {listen} is not a keeper rpc of this version"
        ))
    })?;
    output::line(&table(&report).trim_fmt())
}

/// The document, or why there is none.
async fn fetch(url: &str) -> Result<Value, String> {
    // Straight there: a proxy on this machine is not asked for by way of another one.
    let client = Client::builder().timeout(TIMEOUT).redirect(Policy::none()).no_proxy().build();
    let sent = client.map_err(|error| error.to_string())?.get(url).send().await;
    let response = sent.map_err(|error| match error {
        error if error.is_timeout() => format!("no answer within {} s", TIMEOUT.as_secs()),
        error if error.is_connect() => "nothing listens there".to_owned(),
        _ => "what answers speaks no HTTP".to_owned(),
    })?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("it answers with status {}", status.as_u16()));
    }
    let body =
        body(response, MAX_DOCUMENT).await.ok_or("its answer breaks off, or does not end")?;
    serde_json::from_slice(&body).map_err(|_| "it answers something else than a status".to_owned())
}

/// All of it. None where it breaks off, or is longer than this: whoever answers may never end.
async fn body(mut response: Response, most: usize) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > most {
            return None;
        }
    }
    Some(body)
}

fn table(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["CHAIN", "PROVIDER", "OVER", "STATE", "HEAD", "LAG", "THROTTLED", "WHY"]);
    for chain in &report.chains {
        for endpoint in &chain.endpoints {
            table.add_row([
                chain.chain.to_string(),
                endpoint.provider.clone(),
                endpoint.transport.clone(),
                state(&endpoint.classes),
                endpoint.head.map_or("–".to_owned(), |head| head.to_string()),
                endpoint.head.map_or("–".to_owned(), |_| endpoint.lag.to_string()),
                match endpoint.throttled_ms {
                    0 => "–".to_owned(),
                    ms => seconds(ms),
                },
                why(endpoint),
            ]);
        }
    }
    table
}

/// One word where all classes agree, else which class is in which state.
fn state(classes: &[Class]) -> String {
    let shown = |class: &Class| match class.retry_in_ms {
        Some(ms) => format!("{} for {}", class.state, seconds(ms)),
        None => class.state.clone(),
    };
    let mut states: Vec<(String, Vec<&str>)> = Vec::new();
    for class in classes {
        let state = shown(class);
        match states.iter_mut().find(|(known, _)| *known == state) {
            Some((_, classes)) => classes.push(&class.class),
            None => states.push((state, vec![&class.class])),
        }
    }
    match states.as_slice() {
        [(state, _)] => state.clone(),
        _ => {
            let parts =
                states.iter().map(|(state, classes)| format!("{} {state}", classes.join(", ")));
            parts.collect::<Vec<_>>().join("; ")
        }
    }
}

fn why(endpoint: &Endpoint) -> String {
    let mut reasons = Vec::new();
    match endpoint.right_chain {
        Some(false) => reasons.push("serves another chain".to_owned()),
        None if endpoint.transport == "http" => {
            reasons.push("has not told its chain yet".to_owned())
        }
        _ => {}
    }
    if endpoint.throttled_ms > 0 {
        reasons
            .push(if endpoint.parked { "quota used up" } else { "asked for a pause" }.to_owned());
    }
    for cause in endpoint
        .classes
        .iter()
        // Half-open is only what follows.
        .filter(|class| !["closed", "half-open"].contains(&&*class.state))
        .filter_map(|class| class.cause.as_ref())
    {
        if !reasons.contains(cause) {
            reasons.push(cause.clone());
        }
    }
    reasons.join("; ")
}

/// Rounded up: when it shows 0 it is over.
fn seconds(ms: u64) -> String {
    format!("{} s", ms.div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(class: &str, state: &str, retry_in_ms: Option<u64>, cause: Option<&str>) -> Class {
        Class {
            class: class.to_owned(),
            state: state.to_owned(),
            cause: cause.map(str::to_owned),
            retry_in_ms,
            failures: 0,
            opens: 0,
            latency_ms: None,
        }
    }

    #[test]
    fn states_that_agree_are_one_word() {
        let all = |state| vec![class("head", state, None, None), class("logs", state, None, None)];
        assert_eq!(state(&all("closed")), "closed");
        let differ = [
            class("head", "closed", None, None),
            class("state", "closed", None, None),
            class("logs", "open", Some(41_001), Some("x")),
        ];
        assert_eq!(state(&differ), "head, state closed; logs open for 42 s");
    }

    #[test]
    fn each_reason_is_told_once() {
        let mut endpoint = Endpoint {
            provider: "a".to_owned(),
            transport: "http".to_owned(),
            right_chain: None,
            head: None,
            lag: 0,
            throttled_ms: 1,
            parked: false,
            classes: vec![
                class("head", "open", None, Some("x")),
                class("state", "open", None, Some("x")),
                class("logs", "closed", None, Some("enough probes succeeded")),
                class("send", "half-open", None, Some("a poll after the deadline")),
            ],
        };
        assert_eq!(why(&endpoint), "has not told its chain yet; asked for a pause; x");
        endpoint.right_chain = Some(false);
        endpoint.parked = true;
        assert_eq!(why(&endpoint), "serves another chain; quota used up; x");
    }
}
