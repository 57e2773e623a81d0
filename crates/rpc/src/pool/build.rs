//! How a pool comes into being.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::Pool;
use super::filters::Filters;
use super::hedge::Hedging;
use super::line::Line;
use super::metrics::Metrics;
use super::options::CallOptions;
use super::servers::{Listener, Servers};
use super::shared::Shared;
use super::target::{Target, header_map};
use super::wake::Wakes;
use super::wire::Http;
use crate::config::{ChainConfig, ConfigError, ConfigErrors, Problem, ProviderConfig, RpcConfig};
use crate::endpoint::{BreakerKey, Endpoint, Transport};
use crate::method::MethodClass;
use crate::pace::Pace;
use crate::rules::Rules;
use crate::scrub::Scrubber;

/// The profile of pools that are built by hand.
const PROFILE: &str = "default";

/// How many events each of a breaker's two rings holds, where nothing is configured. An endpoint has six breakers: at
/// the breaker's own default their rings would take more than a megabyte.
const EVENTS: usize = 128;

/// A pool without a file; see [`Pool::builder`].
#[derive(Clone)]
#[must_use = "nothing happens before build()"]
pub struct PoolBuilder {
    chain: u64,
    breaker: Map<String, Value>,
    settings: Map<String, Value>,
    providers: Vec<Value>,
    servers: Servers,
    rules: Option<Rules>,
}

impl std::fmt::Debug for PoolBuilder {
    /// Without the providers: their URLs are keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let providers = self.providers.len();
        f.debug_struct("PoolBuilder")
            .field("chain", &self.chain)
            .field("providers", &providers)
            .finish()
    }
}

impl PoolBuilder {
    /// One more provider, asked after those before it.
    pub fn provider(self, name: &str, http: &str) -> Self {
        self.provider_with(json!({ "name": name, "http": http }))
    }

    /// One more provider, with the fields that `[[profile.….chain.….provider]]` has in a file.
    pub fn provider_with(mut self, provider: Value) -> Self {
        self.providers.push(provider);
        self
    }

    /// A field of `[profile.….chain.…]`, such as `strategy`, `deadlines` or `hedge`.
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.settings.insert(key.to_owned(), value.into());
        self
    }

    /// A field of `[breaker]`, such as `cooldown`.
    pub fn breaker(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.breaker.insert(key.to_owned(), value.into());
        self
    }

    /// What is known about servers, shared with other pools; and through it the clock.
    pub fn servers(mut self, servers: &Servers) -> Self {
        self.servers = servers.clone();
        self
    }

    /// Rules of classification instead of the shipped ones, such as those with [more on top](Rules::with).
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// The pool.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, by the key it has in a file.
    pub fn build(mut self) -> Result<Pool, ConfigErrors> {
        self.settings.insert("provider".to_owned(), Value::Array(self.providers));
        let mut chains = Map::new();
        chains.insert(self.chain.to_string(), Value::Object(self.settings));
        let file = json!({
            "breaker": self.breaker,
            "profile": { PROFILE: { "chain": chains } },
        });
        let config = RpcConfig::from_value(file)?;
        Pool::make(&config, PROFILE, self.chain, &self.servers, self.rules)
    }
}

impl Pool {
    /// A pool without a file. See the [front page](crate) for an example.
    pub fn builder(chain: u64) -> PoolBuilder {
        PoolBuilder {
            chain,
            breaker: Map::new(),
            settings: Map::new(),
            providers: Vec::new(),
            servers: Servers::default(),
            rules: None,
        }
    }

    /// The pool of one chain of a profile, with servers of its own. Processes with several pools use
    /// [`Pool::from_config_on`].
    ///
    /// # Errors
    ///
    /// There is no such profile or chain, or a breaker cannot have its settings.
    pub fn from_config(
        config: &RpcConfig,
        profile: &str,
        chain: u64,
    ) -> Result<Self, ConfigErrors> {
        Self::from_config_on(config, profile, chain, &Servers::default())
    }

    /// The same; what is known about servers is shared with all pools on `servers`.
    ///
    /// # Errors
    ///
    /// As [`Pool::from_config`]; also if another pool gives one of the servers' breakers other settings.
    pub fn from_config_on(
        config: &RpcConfig,
        profile: &str,
        chain: u64,
        servers: &Servers,
    ) -> Result<Self, ConfigErrors> {
        Self::make(config, profile, chain, servers, None)
    }

    /// The same, with other rules of classification than the shipped ones: those with a user's file on top, which
    /// [`Rules::with`] makes.
    ///
    /// # Errors
    ///
    /// As [`Pool::from_config_on`].
    pub fn from_config_with(
        config: &RpcConfig,
        profile: &str,
        chain: u64,
        servers: &Servers,
        rules: Rules,
    ) -> Result<Self, ConfigErrors> {
        Self::make(config, profile, chain, servers, Some(rules))
    }

    fn make(
        config: &RpcConfig,
        profile: &str,
        chain: u64,
        servers: &Servers,
        rules: Option<Rules>,
    ) -> Result<Self, ConfigErrors> {
        let missing =
            |key: String| ConfigErrors(vec![ConfigError { key, problem: Problem::Missing }]);
        let chains = &config
            .profiles
            .get(profile)
            .ok_or_else(|| missing(format!("profile.{profile}")))?
            .chains;
        let key = format!("profile.{profile}.chain.{chain}");
        let cfg = chains.get(&chain).ok_or_else(|| missing(key.clone()))?.clone();
        let tls = || ConfigErrors(vec![ConfigError { key: key.clone(), problem: Problem::Tls }]);
        let connect = cfg.deadlines.connect;
        let http = Http::new(connect).ok_or_else(tls)?;
        let has_websockets = cfg.providers.iter().any(|provider| provider.ws.is_some());
        let websockets = match has_websockets {
            true => Some(Http::for_websockets(connect).ok_or_else(tls)?),
            false => None,
        };
        let listener = servers.listen(profile, chain);
        let (targets, problems) = endpoints(&cfg, &key, servers, &listener);
        if !problems.is_empty() {
            return Err(ConfigErrors(problems));
        }
        let mut scrubber = Scrubber::default();
        targets.iter().for_each(|target| target.endpoint.teach(&mut scrubber));
        let shared = Arc::new_cyclic(|me| Shared {
            me: me.clone(),
            chain,
            cfg,
            targets,
            wakes: Wakes::default(),
            time: Arc::clone(servers.time()),
            rules: Arc::new(rules.unwrap_or_else(|| Rules::shipped().clone())),
            http,
            websockets,
            scrubber,
            metrics: Metrics::new(chain),
            servers: servers.clone(),
            listener,
            filters: Filters::default(),
            hedging: Hedging::default(),
            last_resort: Mutex::new(None),
            all_open: std::array::from_fn(|_| AtomicBool::new(false)),
            probing: AtomicBool::new(false),
        });
        Ok(Self { shared, options: CallOptions::default() })
    }
}

/// What calls go to, and what is wrong with it: in the order of the file, and after those the WebSockets of providers
/// that have HTTP too.
fn endpoints(
    cfg: &ChainConfig,
    key: &str,
    servers: &Servers,
    listener: &Listener,
) -> (Vec<Target>, Vec<ConfigError>) {
    let (mut targets, mut spares, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for (i, provider) in cfg.providers.iter().enumerate() {
        let at = format!("{key}.provider[{i}]");
        for endpoint in [&provider.http, &provider.ws].into_iter().flatten() {
            match target(provider, endpoint, &at, servers, listener) {
                Ok(target) if target.is_spare => spares.push(target),
                Ok(target) => targets.push(target),
                Err((key, problem)) => problems.push(ConfigError { key, problem }),
            }
        }
    }
    targets.append(&mut spares);
    for (at, target) in targets.iter_mut().enumerate() {
        target.line = (target.transport() == Transport::Ws).then(|| Line::new(at));
    }
    (targets, problems)
}

fn target(
    provider: &ProviderConfig,
    endpoint: &Endpoint,
    key: &str,
    servers: &Servers,
    listener: &Listener,
) -> Result<Target, (String, Problem)> {
    let mut settings = provider.breaker.settings().clone();
    settings.entry("event_capacity").or_insert(EVENTS.into());
    let settings = Value::Object(settings);
    let unfit = |why: String| (format!("{key}.breaker"), Problem::Breaker { why });
    let rules: fusebox_breaker::Config =
        serde_json::from_value(settings).map_err(|error| unfit(error.to_string()))?;
    let mut breakers = Vec::new();
    for class in MethodClass::ALL {
        let key = BreakerKey::new(endpoint, class, provider.breaker.scope());
        let breaker = servers.breaker(&key, &provider.name, &rules);
        breakers.push(breaker.map_err(|error| unfit(error.to_string()))?);
        listener.attach(&key, &provider.name);
    }
    let headers = header_map(endpoint).ok_or((format!("{key}.headers"), Problem::Header))?;
    Ok(Target {
        name: provider.name.as_str().into(),
        endpoint: endpoint.clone(),
        headers,
        weight: provider.weight.get(),
        state: servers.state(endpoint),
        breakers: breakers.try_into().expect("one for each of six classes"),
        line: None,
        seen: Default::default(),
        is_spare: endpoint.transport() == Transport::Ws && provider.http.is_some(),
        pace: provider.max_rps.map(|rate| Mutex::new(Pace::per_second(rate))),
        rescued: Mutex::default(),
    })
}
