//! `keeper run`: prints each transition, until it is stopped.

use crate::{
    Refusal,
    cli::RunArgs,
    fold::{Fold, What},
    node::{Endpoints, Unanswered, explain, transport_error},
    output::{self, count, log, say},
    target::{Key, Listed, Resolved, Target, word},
    watch::{Block, Fact, OldWatch as Watch, block},
};
use alloy::providers::Provider;
use std::{collections::BTreeMap, time::Duration};
use tokio::{runtime::Handle, sync::mpsc, task::spawn_blocking, time};
use tokio_util::sync::CancellationToken;

/// Facts between the watch and whoever uses them. Full, it holds the watch back: nothing is lost, nothing grows.
const FACTS: usize = 1_024;

/// How soon an unreachable node is tried again at the start; doubled up to the maximum.
const MIN_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// How long the line that is being printed is waited for when the keeper is asked to stop. Its reader may have gone to sleep.
const LAST_LINE: Duration = Duration::from_secs(1);

pub(crate) async fn run(args: RunArgs, stop: CancellationToken) -> eyre::Result<()> {
    // On a thread of its own, which such a reader holds.
    let following = {
        let stop = stop.clone();
        spawn_blocking(move || Handle::current().block_on(stop.run_until_cancelled(follow(args))))
    };
    let overdue = async {
        stop.cancelled().await;
        time::sleep(LAST_LINE).await;
    };
    tokio::select! {
        ended = following => ended?.unwrap_or(Ok(())),
        () = overdue => Ok(()),
    }
}

async fn follow(args: RunArgs) -> eyre::Result<()> {
    let endpoints = Endpoints::new(&args.node.rpc_url)?;
    let target = Target::new(args.target.watch, args.target.deployment.as_deref())?;
    let resolved = reach(&endpoints, &target, args.node.chain).await?;
    let _looked_after = resolved.nodes.look_after();

    let first = args.from_block.or(resolved.first_block).unwrap_or(resolved.head.saturating_add(1));
    announce(&resolved, first);

    let watch = Watch::new(resolved.nodes.clone(), resolved.contracts.clone(), first);
    let (sender, facts) = mpsc::channel(FACTS);
    let watching = tokio::spawn(watch.run(sender));
    let mut printer = Printer {
        fold: Fold::new(resolved.nodes.chain),
        unread: resolved.breakers.clone(),
        unknown: BTreeMap::new(),
        resolved,
        json: args.json,
        trouble: None,
    };
    printer.print(facts).await?;
    // The channel ends with the watch, and the watch while somebody listens only for a reason.
    watching.await?.map_err(|error| Refusal::Identity(error.to_string()).into())
}

/// Everything that is known before the first block, as soon as a node can be reached.
async fn reach(
    endpoints: &Endpoints,
    target: &Target,
    chain: Option<u64>,
) -> eyre::Result<Resolved> {
    let mut backoff = MIN_BACKOFF;
    let mut told = String::new();
    loop {
        let error = match target.resolve(endpoints, chain).await {
            Ok(resolved) => return Ok(resolved),
            Err(error) => error,
        };
        let reason = match (error.downcast_ref(), transport_error(&error)) {
            (Some(Unanswered(reason)), _) => reason.clone(),
            (None, Some(cause)) => format!("no answer: {}", explain(cause)),
            (None, None) => return Err(error),
        };
        if reason != told {
            log(&format!("{reason}; trying again"));
            told = reason;
        }
        time::sleep(backoff).await;
        backoff = (backoff * 2).min(MAX_BACKOFF);
    }
}

fn announce(resolved: &Resolved, first: u64) {
    let nodes = &resolved.nodes;
    for left_out in &*nodes.left_out {
        say(&format!("warning: {left_out}: it is not used"));
    }
    let what = match &resolved.contracts {
        None => "every contract".to_owned(),
        Some(contracts) => {
            let (contracts, breakers) = (contracts.len(), resolved.breakers.len());
            format!("{}, {}", count(contracts, "contract"), count(breakers, "known breaker"))
        }
    };
    say(&format!(
        "watching {what} on chain {} at {}, from block {first}",
        nodes.chain,
        nodes.place()
    ));
    if first > resolved.head.saturating_add(1) {
        say(&format!("the chain is at block {}: waiting for block {first}", resolved.head));
    }
    for silent in &resolved.silent {
        say(&format!("{silent} does not list its breakers: they are found by their events"));
    }
}

/// The consumer of facts that prints.
struct Printer {
    resolved: Resolved,
    fold: Fold,
    json: bool,
    /// The breakers whose storage was not compared yet with what the events told.
    unread: Vec<Listed>,
    /// What was last said of those.
    unknown: BTreeMap<Key, String>,
    /// What was last said to be wrong with the nodes.
    trouble: Option<String>,
}

impl Printer {
    async fn print(&mut self, mut facts: mpsc::Receiver<Fact>) -> eyre::Result<()> {
        while let Some(fact) = facts.recv().await {
            for mut notice in self.fold.apply(&fact) {
                if let What::HalfOpen { retry_at, after: Some(after) } = notice.what {
                    notice.block = self.first_at(retry_at, after, notice.block).await;
                }
                let label = self.resolved.label(&notice.key);
                let text = if self.json {
                    output::json(&notice, label)?
                } else {
                    output::text(&notice, label)
                };
                // Whatever ends a pipe, events that nobody hears of are no success.
                output::line(&text).map_err(|error| {
                    eyre::eyre!(
                        "what happens cannot be told any more, standard output says: {error}. First untold: {text}"
                    )
                })?;
            }
            match fact {
                Fact::Block { block, tip: true } => self.read_back(block).await,
                Fact::Undecodable(log) => {
                    say(&output::undecodable(&log, self.resolved.nodes.chain));
                }
                Fact::Unreachable { reason } if self.trouble.as_ref() != Some(&reason) => {
                    log(&format!("{reason}; trying again"));
                    self.trouble = Some(reason);
                }
                Fact::Reachable { host } => {
                    log(&format!("{host} answers again"));
                    self.trouble = None;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The first block at or after a time, among those after one block and up to another. Where the node does not say,
    /// the latter: it was half-open by then.
    async fn first_at(&self, time: u64, mut after: u64, mut first: Block) -> Block {
        while first.number - after > 1 {
            let middle = after + (first.number - after) / 2;
            let found = self.resolved.nodes.first_with(async |node| {
                let found = node.get_block_by_number(middle.into()).await?;
                Ok(found.filter(|found| found.header.number == middle))
            });
            match found.await.ok().flatten() {
                Some(found) if found.header.timestamp >= time => first = block(&found.header),
                Some(_) => after = middle,
                None => break,
            }
        }
        first
    }

    /// The present state of each breaker: what happened before the first block is in storage only. What cannot be read now
    /// is read at the next block.
    async fn read_back(&mut self, block: Block) {
        for listed in std::mem::take(&mut self.unread) {
            let key = listed.key;
            let name = listed.label.clone().unwrap_or_else(|| key.to_string());
            let word = match word(&self.resolved.nodes, &key, block.hash).await {
                Ok(word) => word,
                Err(error) => {
                    let warning = format!(
                        "warning: the state of {name} is not known yet: {}",
                        explain(&error)
                    );
                    if self.unknown.get(&key) != Some(&warning) {
                        say(&warning);
                        self.unknown.insert(key, warning);
                    }
                    self.unread.push(listed);
                    continue;
                }
            };
            let Ok(state) = word.state(block.time) else {
                say(&format!(
                    "warning: {name} is not configured: there is no breaker in that slot"
                ));
                continue;
            };
            say(&format!("{name} is {state} at block {}", block.number));
            if self.fold.read_back(key, word, block) {
                say(&format!(
                    "warning: the events told another state of {name} than its storage has"
                ));
            }
        }
    }
}
