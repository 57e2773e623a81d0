//! From what the command line names to the nodes of one chain.

use super::{Given, Nodes, explain, explain::NO_NODE, number, pool, provider};
use crate::Refusal;
use alloy::{
    providers::{Provider, RootProvider},
    transports::http::reqwest::Url,
};
use fusebox_rpc::{Endpoint, Pool, PoolEvent, SecretUrl, Servers};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::{task::JoinSet, time};

/// Which chain a node is on is asked with this id, which none has: EIP-2294 ends at half of it.
const NOBODYS_CHAIN: u64 = u64::MAX;

/// Once one node has answered, the others have this long: a dead one must not hold the start.
const GRACE: Duration = Duration::from_secs(1);

/// How long the first answer is waited for. Each question ends before that by itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// Endpoints that could be nodes: each once, however often and in whatever spelling it was given.
#[derive(Clone)]
pub(crate) struct Endpoints(Vec<Given>);

impl Endpoints {
    pub(crate) fn new(urls: &[SecretUrl]) -> Result<Self, Refusal> {
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for given in urls {
            let (url, endpoint) = parse(given).map_err(|what| {
                Refusal::Usage(format!("--rpc-url {what}; an example is http://127.0.0.1:8545"))
            })?;
            if seen.insert(endpoint.instance().clone()) {
                let host = url.origin().ascii_serialization();
                all.push(Given { name: format!("node-{}", all.len() + 1), url, host });
            }
        }
        Ok(Self(all))
    }

    /// Asks each for its chain, which must be the expected one where one is. A node on another chain is left out; one that
    /// does not answer is not wrong.
    ///
    /// # Errors
    /// A [`Refusal`] where all are on another chain, or nobody says which one is meant; [`Unanswered`] where no node of
    /// it answers yet.
    pub(crate) async fn connect(&self, expected: Option<Expected<'_>>) -> eyre::Result<Nodes> {
        let chains = self.chains().await?;
        let chain = match expected {
            Some(expected) => expected.chain,
            None => self.agreed(&chains)?,
        };
        let is_right =
            |answer: &Result<u64, String>| answer.as_ref().ok().map(|found| *found == chain);
        let wrong = self.0.iter().zip(&chains).filter_map(|(given, answer)| {
            let found = answer.as_ref().ok().filter(|found| **found != chain)?;
            let Expected { chain, says } = expected?;
            let host = &given.host;
            Some(format!("the node at {host} is on chain {found}, but {says} says {chain}"))
        });
        let wrong: Vec<String> = wrong.collect();
        if !chains.iter().any(|answer| is_right(answer) == Some(true)) {
            let mut silent = self.silent(&chains);
            if silent.is_empty() {
                let wrong = wrong.join("; ");
                return Err(Refusal::Identity(format!("{wrong}: check --rpc-url")).into());
            }
            silent.extend(wrong);
            return Err(Unanswered(silent.join("; ")).into());
        }
        let fit = self.0.iter().zip(&chains).filter(|(_, answer)| is_right(answer) != Some(false));
        let fit: Vec<Given> = fit.map(|(given, _)| given.clone()).collect();
        let nodes = Nodes::of(chain, &fit, wrong)?;
        if nodes.each.len() > 1 {
            // Who is behind has to be known before one of them is followed.
            gather(nodes.each.iter().map(|node| head_of(node.provider.clone()))).await;
        }
        Ok(nodes)
    }

    /// The chain that all of them are on who say it.
    ///
    /// # Errors
    /// [`Refusal::Identity`] where they are on several, [`Unanswered`] where none says anything.
    pub(crate) async fn chain(&self) -> eyre::Result<u64> {
        self.agreed(&self.chains().await?)
    }

    /// What each says its chain is, in their order, or why it says nothing.
    async fn chains(&self) -> Result<Vec<Result<u64, String>>, Refusal> {
        let mut asking = Vec::new();
        for given in &self.0 {
            let one = std::slice::from_ref(given);
            asking.push(chain_of(pool(NOBODYS_CHAIN, one, true, &Servers::default())?));
        }
        Ok(gather(asking).await)
    }

    fn agreed(&self, chains: &[Result<u64, String>]) -> eyre::Result<u64> {
        let found: BTreeSet<u64> = chains.iter().flatten().copied().collect();
        match found.first() {
            None => Err(Unanswered(self.silent(chains).join("; ")).into()),
            Some(chain) if found.len() == 1 => Ok(*chain),
            // The order of the command line is no reason to follow one rather than the other.
            Some(_) => {
                let are_on = self.0.iter().zip(chains).filter_map(|(given, chain)| {
                    let chain = chain.as_ref().ok()?;
                    Some(format!("the node at {} is on chain {chain}", given.host))
                });
                let are_on = are_on.collect::<Vec<_>>().join(", ");
                Err(Refusal::Identity(format!("{are_on}: say which one is meant with --chain"))
                    .into())
            }
        }
    }

    /// Who says nothing, and why.
    fn silent(&self, chains: &[Result<u64, String>]) -> Vec<String> {
        let silent = self.0.iter().zip(chains).filter_map(|(given, chain)| {
            let reason = chain.as_ref().err()?;
            Some(format!("no answer from {}: {reason}", given.host))
        });
        silent.collect()
    }
}

/// The given endpoint, or what it is instead of one.
fn parse(given: &SecretUrl) -> Result<(Url, Endpoint), String> {
    let url = Url::parse(given.expose()).map_err(|error| format!("is not a URL: {error}"))?;
    match url.scheme() {
        "http" | "https" => {}
        "ws" | "wss" => return Err("is a WebSocket; give the node's HTTP endpoint".to_owned()),
        // Which one is not said: where "https://" was forgotten, it is the beginning of a key.
        _ => return Err("has another scheme than http or https".to_owned()),
    }
    let endpoint = Endpoint::new(NOBODYS_CHAIN, given, &BTreeMap::new());
    Ok((url, endpoint.ok_or("names no host")?))
}

/// The chain a node is on. A pool asks for it before anything else, and names the one it finds where that is another.
async fn chain_of(pool: Pool) -> Result<u64, String> {
    let answer = provider(&pool).get_chain_id().await;
    let mut other = None;
    pool.drain(|event| {
        if let PoolEvent::WrongChain { found, .. } = event {
            other = Some(number(&found).ok_or_else(|| NO_NODE.to_owned()));
        }
    });
    other.unwrap_or_else(|| answer.map_err(|error| explain(&error)))
}

async fn head_of(provider: RootProvider) -> Result<u64, String> {
    provider.get_block_number().await.map_err(|error| explain(&error))
}

/// The answers of all, in their order; once one is there, the others have [`GRACE`] only.
async fn gather<T: Send + 'static>(
    questions: impl IntoIterator<Item = impl Future<Output = Result<T, String>> + Send + 'static>,
) -> Vec<Result<T, String>> {
    let mut asking = JoinSet::new();
    let mut answers = Vec::new();
    for (at, question) in questions.into_iter().enumerate() {
        asking.spawn(async move { (at, question.await) });
        answers.push(Err("none in time".to_owned()));
    }
    let mut end = time::Instant::now() + PATIENCE;
    while let Ok(Some(joined)) = time::timeout_at(end, asking.join_next()).await {
        let Ok((at, answer)) = joined else { continue };
        if answer.is_ok() {
            end = end.min(time::Instant::now() + GRACE);
        }
        answers[at] = answer;
    }
    answers
}

/// No node answers, for these reasons. Another try may find one.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unanswered(pub(crate) String);

/// The chain that is meant, and who says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) chain: u64,
    pub(crate) says: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_url_are_one_node() {
        let given = ["http://Localhost:80/a", "http://localhost/a/", "http://localhost/b"];
        let urls = given.map(SecretUrl::new);
        let names: Vec<_> = Endpoints::new(&urls)
            .unwrap()
            .0
            .into_iter()
            .map(|one| (one.name, one.url.to_string()))
            .collect();
        let want = [("node-1", "http://localhost/a"), ("node-2", "http://localhost/b")];
        assert_eq!(names, want.map(|(name, url)| (name.to_owned(), url.to_owned())));
    }
}
