//! The nodes of one chain, and whom of them to ask.
//!
//! Behind them is a pool: breakers, throttles and probes say who is to be asked. What has to agree (a header, the logs of
//! its block) is read from one node, so each has a provider of its own besides the one over all of them, and they share
//! what is known of it. That is a pin which, when it is lost, says why.

mod endpoints;
mod explain;

pub(crate) use endpoints::{Endpoints, Expected, Unanswered};
pub(crate) use explain::{
    explain, is_of_another_chain, is_too_much, is_turned_away, transport_error,
};

use crate::{Refusal, output::log};
use alloy::{
    eips::BlockNumberOrTag,
    primitives::B256,
    providers::{Provider, ProviderBuilder, RootProvider},
    rpc::client::RpcClient,
    transports::{TransportError, http::reqwest::Url},
};
use fusebox_rpc::{
    CallOptions, ConfigErrors, EndpointStatus, Pool, PoolEvent, PoolSnapshot, RpcConfig, Rules,
    Servers, Wake,
};
use futures_util::Stream;
use serde_json::json;
use std::{collections::BTreeSet, convert::Infallible, sync::Arc, time::Duration};
use tokio::{sync::oneshot, time};

/// A node this far behind is not worth changing for: blocks take a moment to travel. The pool's default, too.
const MAX_LAG: u64 = 3;

/// How long one attempt may take where there are others to ask, and no file says otherwise.
const ATTEMPT: Duration = Duration::from_secs(3);

/// What a call may take beyond its first attempt. Enough for that to end by itself, or its breaker would not hear of it.
const BEYOND: Duration = Duration::from_millis(250);

/// A lone node is not probed more often: there is nobody to turn to, and each call of it answers the same question.
const LONE_PROBE: Duration = Duration::from_secs(600);

/// How often a pool asks for the head by itself, for those who wait for wake-ups. The watch does so already.
const NO_POLL: Duration = Duration::from_secs(86_400);

/// How often the pool is asked for what an operator must know.
const NEWS: Duration = Duration::from_secs(1);

/// The nodes of one chain.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    pub(crate) chain: u64,
    /// Asks whichever node is fit, and the next one where it fails.
    pub(crate) any: RootProvider,
    /// What was given and is not used, and why.
    pub(crate) left_out: Arc<[String]>,
    each: Arc<[Node]>,
    pool: Pool,
    /// Whether some tell of new blocks by themselves.
    pub(crate) has_hints: bool,
}

/// One of them: for reads that have to agree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) provider: RootProvider,
    /// What may be printed of where it is.
    pub(crate) host: String,
    /// What metrics call it.
    pub(crate) name: String,
    pool: Pool,
}

impl Node {
    /// For batches that leave as one request: behind a balancer, two requests may be answered by two nodes.
    pub(crate) fn whole_batches(&self) -> RpcClient {
        self.pool.with(CallOptions::new().whole_batch()).client()
    }

    /// The most blocks of logs that it is known to give at once; none where it has refused none.
    pub(crate) fn longest_log_range(&self) -> Option<u64> {
        self.pool.longest_log_range()
    }
}

impl Nodes {
    /// A node of our own, whose chain is known.
    pub(crate) fn lone(chain: u64, url: Url) -> Result<Self, Refusal> {
        let host = url.origin().ascii_serialization();
        Self::of(chain, &[Given { name: "node-1".to_owned(), url, host }], Vec::new())
    }

    fn of(chain: u64, given: &[Given], left_out: Vec<String>) -> Result<Self, Refusal> {
        let is_lone = given.len() == 1;
        let servers = Servers::default();
        let pool = pool(chain, given, is_lone, &servers)?;
        let mut each = Vec::new();
        for one in given {
            let pool = match is_lone {
                true => pool.clone(),
                false => self::pool(chain, std::slice::from_ref(one), false, &servers)?,
            };
            let Given { name, host, .. } = one.clone();
            let provider = if is_lone { provider(&pool) } else { impatient(&pool, ATTEMPT) };
            each.push(Node { provider, host, name, pool });
        }
        let any = provider(&pool);
        let (left_out, each) = (left_out.into(), each.into());
        Ok(Self { chain, any, left_out, each, pool, has_hints: false })
    }

    /// The nodes of a chain of a profile.
    pub(crate) fn configured(
        config: &RpcConfig,
        profile: &str,
        chain: u64,
        servers: &Servers,
        rules: &Rules,
    ) -> Result<Self, ConfigErrors> {
        let mut config = config.clone();
        let mut providers = Vec::new();
        let mut attempt = ATTEMPT;
        if let Some(found) =
            config.profiles.get_mut(profile).and_then(|profile| profile.chains.get_mut(&chain))
        {
            found.block_time = Some(NO_POLL);
            if found.providers.len() == 1 {
                found.probe_interval = LONE_PROBE;
            }
            attempt = found.deadlines.attempt;
            providers.clone_from(&found.providers);
        }
        let make = |config: &RpcConfig| {
            Pool::from_config_with(config, profile, chain, servers, rules.clone())
        };
        let pool = make(&config)?;
        let mut each = Vec::new();
        let has_hints = providers.iter().any(|provider| provider.ws.is_some());
        for one in &providers {
            let mut alone = config.clone();
            alone.profiles.retain(|name, _| name == profile);
            for profile in alone.profiles.values_mut() {
                for chain in profile.chains.values_mut() {
                    chain.providers = vec![one.clone()];
                }
            }
            let (provider, pool) = match providers.len() {
                1 => (provider(&pool), pool.clone()),
                _ => {
                    let pool = make(&alone)?;
                    (impatient(&pool, attempt), pool)
                }
            };
            let (name, host) = (one.name.clone(), one.name.clone());
            each.push(Node { provider, host, name, pool });
        }
        let any = provider(&pool);
        Ok(Self { chain, any, left_out: Arc::default(), each: each.into(), pool, has_hints })
    }

    /// New blocks, as early as a node tells of them by itself.
    pub(crate) fn wakeups(&self) -> impl Stream<Item = Wake> + Send + use<> {
        self.pool.wakeups()
    }

    /// The hash of block 0, as the first node says it that can; `None` where they have none.
    ///
    /// # Errors
    /// [`Refusal::Identity`] where all nodes are on another chain; else that of a node which may be right.
    pub(crate) async fn genesis(&self) -> eyre::Result<Option<B256>> {
        let mut failed = None;
        let mut is_right = false;
        for node in self.ranked() {
            match node.provider.get_block_by_number(BlockNumberOrTag::Number(0)).await {
                Ok(Some(found)) => return Ok(Some(found.header.hash)),
                Ok(None) => is_right = true,
                Err(error) if is_of_another_chain(&error) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error.into()),
            None if is_right => Ok(None),
            None => Err(Refusal::Identity(format!(
                "none of the nodes is on chain {}: {}",
                self.chain,
                self.place()
            ))
            .into()),
        }
    }

    /// Each node and what the pool knows of it.
    pub(crate) fn status(&self) -> Vec<(Node, EndpointStatus)> {
        // Of a node with two endpoints the WebSocket comes after all others.
        self.each.iter().cloned().zip(self.pool.status()).collect()
    }

    /// What metrics call them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.each.iter().map(|node| node.name.as_str())
    }

    /// What is known of them, to be stored. No secret is in it.
    pub(crate) fn save(&self) -> PoolSnapshot {
        self.pool.save()
    }

    /// What an earlier process knew of them.
    pub(crate) fn restore(&self, snapshot: &PoolSnapshot) {
        self.pool.restore(snapshot);
    }

    /// Where they are, for a person.
    pub(crate) fn place(&self) -> String {
        self.each.iter().map(|node| node.host.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// All of them, the one to follow first: not behind the furthest head, and fit in the pool's eyes. A node that only
    /// claims a head is found out by the blocks it cannot show.
    pub(crate) fn ranked(&self) -> Vec<Node> {
        self.ranked_after(None, MAX_LAG)
    }

    /// The same; the one that is followed stays the first unless it is too far behind.
    pub(crate) fn ranked_after(&self, followed: Option<&str>, max_lag: u64) -> Vec<Node> {
        if let [lone] = &*self.each {
            return vec![lone.clone()];
        }
        let heads: Vec<u64> =
            self.pool.status().iter().map(|status| status.head.unwrap_or_default()).collect();
        let head = heads.iter().copied().max().unwrap_or_default();
        let fittest = self.pool.pin().ok().map(|pin| pin.provider());
        let mut ranked: Vec<_> = self.each.iter().cloned().zip(heads).collect();
        ranked.sort_by_key(|(node, shown)| {
            let name = Some(node.name.as_str());
            (head - shown > max_lag, followed != name, fittest.as_deref() != name)
        });
        ranked.into_iter().map(|(node, _)| node).collect()
    }

    /// Those that give a second opinion on what this one says.
    pub(crate) fn others(&self, than: &Node) -> Vec<Node> {
        let mut ranked = self.ranked();
        ranked.retain(|node| node.name != than.name);
        ranked
    }

    /// Asks one after the other until one has something. That it has nothing is believed of a node only when the others
    /// say so too, or nothing at all.
    pub(crate) async fn first_with<T, F>(
        &self,
        ask: impl Fn(RootProvider) -> F,
    ) -> Result<Option<T>, TransportError>
    where
        F: Future<Output = Result<Option<T>, TransportError>>,
    {
        let mut is_nothing = false;
        let mut failed = None;
        for node in self.ranked() {
            match ask(node.provider).await {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => is_nothing = true,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) if !is_nothing => Err(error),
            _ => Ok(None),
        }
    }

    /// Probes the nodes and says what an operator must know of them, until the answer is dropped.
    #[must_use = "it ends when this is dropped"]
    pub(crate) fn look_after(&self) -> oneshot::Sender<Infallible> {
        let (stop, stopped) = oneshot::channel();
        let nodes = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = nodes.pool.run(async { drop(stopped.await) }) => {}
                () = nodes.tell_news() => {}
            }
        });
        stop
    }

    async fn tell_news(&self) {
        let mut told = BTreeSet::new();
        loop {
            for pool in self.each.iter().map(|node| &node.pool).chain([&self.pool]) {
                pool.drain(|event| {
                    // Each once: a key is refused as often as it is shown.
                    if let Some(news) = self.news(event)
                        && told.insert(news.clone())
                    {
                        log(&news);
                    }
                });
            }
            time::sleep(NEWS).await;
        }
    }

    /// What somebody has to do something about; all else the pool deals with.
    fn news(&self, event: PoolEvent) -> Option<String> {
        let host = |provider: &str| {
            let node = self.each.iter().find(|node| node.name == provider);
            node.map_or(provider, |node| &node.host).to_owned()
        };
        match event {
            PoolEvent::WrongChain { provider, found, .. } => {
                let found = number(&found).map_or("none".to_owned(), |found| found.to_string());
                Some(format!(
                    "the node at {} is on chain {found}, not {}: it is not used any more",
                    host(&provider),
                    self.chain
                ))
            }
            PoolEvent::AuthRefused { provider, .. } => {
                Some(format!("the node at {} refuses the key in its URL", host(&provider)))
            }
            PoolEvent::QuotaExhausted { provider, .. } => {
                Some(format!("the quota of the node at {} is used up", host(&provider)))
            }
            _ => None,
        }
    }
}

#[derive(Clone)]
struct Given {
    /// For the pool.
    name: String,
    url: Url,
    /// Scheme, host and port: the path, the query and the user part are where keys are.
    host: String,
}

/// A pool of these.
fn pool(chain: u64, given: &[Given], is_lone: bool, servers: &Servers) -> Result<Pool, Refusal> {
    let mut builder = Pool::builder(chain).servers(servers);
    builder = match is_lone {
        // There is nobody to turn to meanwhile: a breaker would only make a node that is back wait, and a short deadline
        // would fail a slow one.
        true => builder
            .breaker("mode", "disabled")
            .set("probe_interval", format!("{}s", LONE_PROBE.as_secs()))
            .set("deadlines", json!({ "attempt": "10s" })),
        // Others answer meanwhile. Looked at again within seconds: a keeper must not be left with a worse node for long.
        false => builder
            .breaker("cooldown", "1s")
            .breaker("max_cooldown", "10s")
            .set("deadlines", json!({ "attempt": format!("{}s", ATTEMPT.as_secs()) })),
    };
    for Given { name, url, .. } in given {
        builder = builder.provider(name, url.as_str());
    }
    builder.build().map_err(|error| {
        Refusal::Configuration(format!("no HTTP client: {error}; are CA certificates installed?"))
    })
}

fn provider(pool: &Pool) -> RootProvider {
    ProviderBuilder::default().connect_client(pool.client())
}

/// One that gives up after one attempt that takes too long. A pool of one asks again and again, as there is nobody else in
/// it; here there is.
fn impatient(pool: &Pool, attempt: Duration) -> RootProvider {
    provider(&pool.with(CallOptions::new().deadline(attempt + BEYOND)))
}

fn number(quantity: &str) -> Option<u64> {
    u64::from_str_radix(quantity.strip_prefix("0x")?, 16).ok()
}
