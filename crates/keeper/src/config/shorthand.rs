//! Nodes without a file: one chain, and their URLs.

use crate::{
    Refusal,
    node::{Endpoints, Unanswered},
    output::log,
};
use fusebox_rpc::{ConfigErrors, RpcConfig, SecretUrl};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::sleep;

/// The profile that the nodes are in, as in a file.
pub(crate) const PROFILE: &str = "default";

/// How soon nodes of which none answers are asked again.
const PAUSE: Duration = Duration::from_secs(2);

/// The configuration for these nodes.
///
/// # Errors
/// [`Refusal::Usage`] for a URL that cannot be used, [`Refusal::Identity`] for nodes of several chains. While none
/// answers it waits, unless the chain is given.
pub(crate) async fn config(urls: &[SecretUrl], chain: Option<u64>) -> eyre::Result<RpcConfig> {
    let names = names(urls);
    // The URLs are judged before they are asked.
    let config = make(urls, &names, chain.unwrap_or(1))?;
    match chain {
        Some(_) => Ok(config),
        None => Ok(make(urls, &names, find(urls).await?)?),
    }
}

/// What a file would say of them.
///
/// # Errors
/// [`Refusal::Usage`] for a URL that cannot be used.
pub(super) fn providers(urls: &[SecretUrl]) -> Result<Value, Refusal> {
    let names = names(urls);
    make(urls, &names, 1)?;
    Ok(table(urls, &names))
}

fn table(urls: &[SecretUrl], names: &[String]) -> Value {
    let provider =
        |(url, name): (&SecretUrl, &String)| json!({ "name": name, "http": url.expose() });
    urls.iter().zip(names).map(provider).collect()
}

fn make(urls: &[SecretUrl], names: &[String], chain: u64) -> Result<RpcConfig, Refusal> {
    let mut chains = BTreeMap::new();
    chains.insert(chain.to_string(), json!({ "provider": table(urls, names) }));
    RpcConfig::from_value(json!({ "profile": { PROFILE: { "chain": chains } } })).map_err(
        |ConfigErrors(errors)| {
            let lines = errors.iter().map(|error| match at(&error.key) {
                Some(at) => format!("--rpc-url number {}: {}", at + 1, error.problem),
                None => format!("--chain: {}", error.problem),
            });
            Refusal::Usage(lines.collect::<Vec<_>>().join("\n"))
        },
    )
}

/// Which URL a key is about.
fn at(key: &str) -> Option<usize> {
    let (_, rest) = key.split_once(".provider[")?;
    rest.split_once(']')?.0.parse().ok()
}

/// What logs call them: the host, with a number where it is there before.
fn names(urls: &[SecretUrl]) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let name = |url: &SecretUrl| {
        let url = url.parse();
        let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or("node");
        let allowed = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
        // Room for the number: names have 64 characters at most.
        let host: String = host.chars().map(allowed).take(56).collect();
        let count = seen.entry(host.clone()).or_insert(0_usize);
        *count += 1;
        if *count == 1 { host } else { format!("{host}_{count}") }
    };
    urls.iter().map(name).collect()
}

/// The chain of the nodes, as they say it themselves.
async fn find(urls: &[SecretUrl]) -> eyre::Result<u64> {
    let endpoints = Endpoints::new(urls)?;
    let mut told = false;
    loop {
        match endpoints.chain().await {
            Err(error) if error.is::<Unanswered>() => {
                if !told {
                    log(&format!(
                        "{error}: no node has told its chain yet, trying again. With --chain it starts without them"
                    ));
                    told = true;
                }
                sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hosts_and_differ() {
        let urls = [
            "http://a.example/k",
            "https://a.example:1/x",
            "http://[::1]:8545",
            "no url",
            "ws://b",
        ];
        let urls = urls.map(SecretUrl::new);
        assert_eq!(names(&urls), ["a.example", "a.example_2", "___1_", "node", "b"]);
    }

    #[test]
    fn a_url_is_refused_by_its_number() {
        let urls = ["http://a.example/k", "ws://b/s3cret", "s3cret"].map(SecretUrl::new);
        let refusal = make(&urls, &names(&urls), 1).unwrap_err().to_string();
        let lines: Vec<_> = refusal.lines().collect();
        assert!(lines[0].starts_with("--rpc-url number 2: has another scheme"), "{refusal}");
        assert!(lines[1].starts_with("--rpc-url number 3: is no URL"), "{refusal}");
        assert!(!refusal.contains("s3cret"));
        let refusal = make(&urls[..1], &names(&urls), 0).unwrap_err().to_string();
        assert!(refusal.starts_with("--chain: is no chain id"), "{refusal}");
    }
}
