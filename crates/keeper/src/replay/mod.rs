//! `keeper replay`: what a keeper would have told of a range of the past, by the same code, in a store that ends with it.
//!
//! Nothing is written and nobody is told. Where a store covers the range, what was taken in then is compared with what the
//! chain holds now.

mod book;
mod compare;

use crate::{
    Refusal,
    alert::{About, Routes},
    cli::ReplayArgs,
    fold::{Ledger, Watched},
    node::{explain, transport_error},
    output::{self, count, say},
    run::{ChainStage, Patience, flat, stages},
    shutdown,
    store::{Store, StoreError},
    target::{Key, word},
    watch::{Batch, Block, Handle, Walked, Watch, block},
};
use alloy::{eips::BlockNumberOrTag, providers::Provider};
use book::Past;
use serde_json::Value;
use sqlx::Row as _;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time};

/// How long nodes may leave the range where it is. Somebody waits.
const STALLED: Duration = Duration::from_secs(30);

/// Messages that are printed at once.
const AT_ONCE: i64 = 256;

/// The first and the last block that are read.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: u64,
    to: u64,
}

pub(crate) async fn replay(args: ReplayArgs) -> eyre::Result<()> {
    tokio::select! {
        signal = shutdown::requested() => Err(Refusal::Interrupted(signal?).into()),
        played = play(&args) => played.map_err(|error| match transport_error(&error) {
            Some(cause) => Refusal::Unreachable(format!("no answer: {}", explain(cause))).into(),
            None => error,
        }),
    }
}

async fn play(args: &ReplayArgs) -> eyre::Result<()> {
    let range = Range { from: args.from_block, to: args.to_block };
    if range.to < range.from {
        return Err(Refusal::Usage(format!(
            "--to-block {} is before --from-block {}",
            range.to, range.from
        ))
        .into());
    }
    let (settings, stages) = stages(args.as_run(), Patience::None).await?;
    let routes = Routes::new(&settings.routes, &settings.channels)?;
    let router = Arc::new(move |about: &About| {
        routes.channels(about).into_iter().map(ToOwned::to_owned).collect()
    });
    let stage = chosen(stages, args.node.chain)?;
    let _looked_after = stage.nodes.look_after();
    let (ground, tip) = ends(&stage, range).await?;

    let (genesis, watched, plan) = stage.clone().find(Some(ground.block.number)).await?;
    let watched = within(watched, range);
    let memory = Store::in_memory().await?;
    let ledger = Ledger::open(memory.clone(), stage.name.clone(), genesis, watched, router).await?;
    let blocks = vec![ground];
    ledger.commit(&Batch { blocks, seen: Some(ground.block), ..Batch::default() }).await?;
    remember(&stage, &ledger, ground.block).await?;

    let mut printed = Printed { store: memory.clone(), json: args.json, after: 0, lines: 0 };
    let plan = crate::watch::Plan { until: Some(tip.number), ..plan };
    let (watch, health) = Watch::new(stage.nodes.clone(), Past(ledger), plan);
    let mut reading = Reading { health, task: tokio::spawn(watch.run()) };
    reading.to(tip.number, &mut printed).await?;
    say(&format!(
        "blocks {} to {} are read: {} would have been told",
        range.from,
        range.to,
        count(printed.lines, "message")
    ));

    let is_stored = args.target.is_none() || args.file.store.is_some();
    match is_stored {
        true => {
            compare::compare(&memory, &settings.store, &stage.name, genesis, range, args.json).await
        }
        false => Ok(()),
    }
}

/// The chain that is meant: block numbers are of one.
fn chosen(stages: Vec<ChainStage>, chain: Option<u64>) -> Result<ChainStage, Refusal> {
    let names = stages.iter().map(|stage| format!("{} ({})", stage.name.id, stage.name.name));
    let names = names.collect::<Vec<_>>().join(", ");
    let mut meant = stages
        .into_iter()
        .filter(|stage| chain.is_none_or(|chain| chain == stage.name.id))
        .collect::<Vec<_>>();
    match (meant.pop(), meant.is_empty()) {
        (Some(stage), true) => Ok(stage),
        _ => Err(Refusal::Usage(format!("say which chain with --chain; there are {names}"))),
    }
}

/// The block before the range, and its last one.
async fn ends(stage: &ChainStage, range: Range) -> eyre::Result<(Walked, Block)> {
    let head = stage.nodes.any.get_block_number().await?;
    let header = async |number: u64| {
        let found = stage.nodes.first_with(|node| async move {
            node.get_block_by_number(BlockNumberOrTag::Number(number)).await
        });
        found.await?.map(|found| found.header).ok_or_else(|| {
            eyre::Report::from(Refusal::Usage(format!(
                "there is no block {number} on {}: it is at block {head}",
                stage.name.name
            )))
        })
    };
    let last = header(range.to).await?;
    let ground = header(range.from.saturating_sub(1)).await?;
    Ok((Walked { block: block(&ground), parent: ground.parent_hash }, block(&last)))
}

/// The same contracts, within the range, with their history told event by event.
fn within(mut watched: Watched, range: Range) -> Watched {
    for contract in &mut watched.contracts {
        contract.start = contract.start.max(range.from);
    }
    if let Some(anywhere) = &mut watched.anywhere {
        anywhere.start = anywhere.start.max(range.from);
    }
    Watched { tells_history: true, ..watched }
}

/// What was open before the range, as storage had it then. Not every node still has it.
async fn remember(stage: &ChainStage, ledger: &Ledger, ground: Block) -> eyre::Result<()> {
    loop {
        let wanted = ledger.words_wanted().await?;
        if wanted.is_empty() {
            return Ok(());
        }
        let mut words = Vec::new();
        for slot in wanted {
            let key = Key { chain: stage.nodes.chain, contract: slot.0, breaker: slot.1 };
            match word(&stage.nodes, &key, ground.hash).await {
                Ok(word) => words.push((slot, word.0)),
                Err(error) => {
                    say(&format!(
                        "warning: what storage held at block {} is not to be had ({}): breakers that were open then are not known to be",
                        ground.number,
                        explain(&error)
                    ));
                    return Ok(());
                }
            }
        }
        ledger.read_back(ground, &words).await?;
    }
}

/// The watch on its way through the range.
struct Reading {
    health: Handle,
    task: JoinHandle<Result<(), crate::watch::WatchError>>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Reading {
    /// Up to a block, printing what there is to tell on the way.
    ///
    /// # Errors
    /// A [`Refusal`] where the nodes do not get there.
    async fn to(&mut self, last: u64, printed: &mut Printed) -> eyre::Result<()> {
        let mut seen = None;
        let mut moved = time::Instant::now();
        loop {
            printed.more().await?;
            let health = self.health.borrow_and_update().clone();
            if health.seen.is_some_and(|seen| seen.number >= last) {
                // What came between the look and the last block.
                return printed.more().await;
            }
            if let Some(reason) = health.halted {
                return Err(Refusal::Identity(reason).into());
            }
            if let Some(reason) = health.degraded.get("store") {
                return Err(eyre::eyre!("{reason}"));
            }
            if health.seen != seen || !health.degraded.contains_key("unreachable") {
                (seen, moved) = (health.seen, time::Instant::now());
            }
            let patience = STALLED.saturating_sub(moved.elapsed());
            tokio::select! {
                ended = &mut self.task => {
                    return match ended? {
                        Ok(()) => Err(eyre::eyre!("the watch ended")),
                        Err(error) => Err(Refusal::Identity(error.to_string()).into()),
                    };
                }
                changed = time::timeout(patience, self.health.changed()) => {
                    if changed.is_err() && let Some(reason) = health.degraded.get("unreachable") {
                        return Err(Refusal::Unreachable(reason.clone()).into());
                    }
                }
            }
        }
    }
}

/// Messages on standard output.
struct Printed {
    store: Store,
    json: bool,
    after: i64,
    lines: usize,
}

impl Printed {
    /// Those that came since.
    async fn more(&mut self) -> eyre::Result<()> {
        loop {
            let rows = sqlx::query(
                "SELECT seq, id, body FROM message WHERE seq > $1 ORDER BY seq LIMIT $2",
            )
            .bind(self.after)
            .bind(AT_ONCE)
            .fetch_all(self.store.reader())
            .await
            .map_err(StoreError::from)?;
            for row in &rows {
                self.after = row.try_get(0)?;
                let body: Value = serde_json::from_str(&row.try_get::<String, _>(2)?)?;
                let channels = self.channels(&row.try_get::<String, _>(1)?).await?;
                self.lines += 1;
                output::line(&match self.json {
                    true => {
                        let mut line = flat(body);
                        line["channels"] = channels.into();
                        line.to_string()
                    }
                    false if channels.is_empty() => output::message(&body),
                    false => format!("{}  to {}", output::message(&body), channels.join(", ")),
                })?;
            }
            if rows.is_empty() {
                return Ok(());
            }
        }
    }

    /// Who would have been told.
    async fn channels(&self, message: &str) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query("SELECT channel FROM outbox WHERE message = $1 ORDER BY channel")
            .bind(message)
            .fetch_all(self.store.reader())
            .await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }
}
