//! A proxy without a file: one chain, and the URLs of its nodes.

use super::body;
use crate::{Refusal, output::log};
use fusebox_rpc::{ConfigErrors, RpcConfig, SecretUrl};
use futures_util::future::join_all;
use reqwest::{Client, header, redirect::Policy};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::sleep;

/// The profile that the nodes are in, as in a file.
pub(super) const PROFILE: &str = "default";

/// How long one question for the chain may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How soon nodes of which none answers are asked again.
const PAUSE: Duration = Duration::from_secs(2);

/// The longest answer to it that is read.
const MAX_ANSWER: usize = 64 * 1024;

/// The configuration for these nodes.
///
/// # Errors
/// [`Refusal::Usage`] for a URL that cannot be used, [`Refusal::Identity`] for nodes of several chains. While none
/// answers it waits, unless the chain is given.
pub(super) async fn config(urls: &[SecretUrl], chain: Option<u64>) -> Result<RpcConfig, Refusal> {
    // The URLs are judged before they are asked.
    let names = names(urls);
    let checked = make(urls, &names, 1)?;
    match chain {
        Some(chain) => make(urls, &names, chain),
        None => {
            drop(checked);
            make(urls, &names, find(urls, &names).await?)
        }
    }
}

fn make(urls: &[SecretUrl], names: &[String], chain: u64) -> Result<RpcConfig, Refusal> {
    let providers: Vec<_> = urls
        .iter()
        .zip(names)
        .map(|(url, name)| json!({ "name": name, "http": url.expose() }))
        .collect();
    let mut chains = BTreeMap::new();
    chains.insert(chain.to_string(), json!({ "provider": providers }));
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
async fn find(urls: &[SecretUrl], names: &[String]) -> Result<u64, Refusal> {
    let client = Client::builder().timeout(TIMEOUT).redirect(Policy::none()).referer(false).build();
    let client = client.map_err(|_| {
        Refusal::Configuration(
            "no TLS client can be set up; install the root certificates".to_owned(),
        )
    })?;
    let mut told = false;
    loop {
        let chains = join_all(urls.iter().map(|url| ask(&client, url))).await;
        let found: Vec<_> =
            names.iter().zip(chains).filter_map(|(name, chain)| Some((name, chain?))).collect();
        let Some((_, first)) = found.first() else {
            if !told {
                log(
                    "no node has told its chain yet: trying again. With --chain the proxy starts without them",
                );
                told = true;
            }
            sleep(PAUSE).await;
            continue;
        };
        if found.iter().all(|(_, chain)| chain == first) {
            return Ok(*first);
        }
        let said = found.iter().map(|(name, chain)| format!("{name} says {chain}"));
        return Err(Refusal::Identity(format!(
            "the nodes are on different chains: {}; leave some out, or say with --chain which one is meant",
            said.collect::<Vec<_>>().join(", ")
        )));
    }
}

/// None where there is no answer that makes sense. Why is not told: errors quote the URL.
async fn ask(client: &Client, url: &SecretUrl) -> Option<u64> {
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "eth_chainId", "params": [] });
    let request = client.post(url.expose()).header(header::CONTENT_TYPE, "application/json");
    let answer = body::read(request.body(body.to_string()).send().await.ok()?, MAX_ANSWER).await?;
    let answer: Value = serde_json::from_slice(&answer).ok()?;
    u64::from_str_radix(answer["result"].as_str()?.strip_prefix("0x")?, 16).ok()
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
