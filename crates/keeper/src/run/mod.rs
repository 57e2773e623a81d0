//! `keeper run`: watches, and tells, until it is stopped.
//!
//! A stage for each chain takes in what happens; others tell of it. Between them is the store, so a stage that fails and
//! is started again goes on where it stopped.

mod chain;
mod memory;
mod patience;
mod print;
mod prune;
mod supervise;

pub(crate) use chain::{ChainStage, stages};
pub(crate) use patience::Patience;
pub(crate) use print::flat;

use crate::{
    Refusal,
    alert::{
        About, AlertType, Channel, Delivery, Heartbeat, Message, MessageId, Phase, Routes,
        http::Http,
    },
    builder::mirror::Mirror,
    cli::RunArgs,
    clock::SystemClock,
    fold::{Router, now_ms},
    output::{log, say},
    report::Watches,
    serve::Served,
    store::Store,
    systemd,
};
use print::Printer;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use supervise::supervise;
use tokio::{
    runtime::Handle,
    task::{JoinSet, spawn_blocking},
    time,
};
use tokio_util::sync::CancellationToken;

/// How long the line that is being printed is waited for when the keeper is asked to stop. Its reader may have gone to sleep.
const LAST_LINE: Duration = Duration::from_secs(1);

/// How often what is old is forgotten.
const PRUNED_EVERY: Duration = Duration::from_secs(3_600);

pub(crate) async fn run(args: RunArgs, stop: CancellationToken) -> eyre::Result<()> {
    let (json, grace) = (args.json, args.grace);
    let (settings, stages) = match stop.run_until_cancelled(stages(args, Patience::default())).await
    {
        Some(stages) => stages?,
        None => return Ok(()),
    };
    let channels = settings.channels.iter().map(Channel::new).collect::<Result<Vec<_>, _>>();
    let channels = channels.map_err(|error| Refusal::Configuration(error.to_string()))?;
    let heartbeat = settings.heartbeat.as_ref().map(Heartbeat::new).transpose();
    let heartbeat =
        heartbeat.map_err(|error| Refusal::Configuration(format!("[heartbeat] url: {error}")))?;
    let http = Http::new()?;
    let served = match &settings.server {
        Some(settings) => Some(Served::at(settings).await?),
        None => None,
    };
    let store = Store::open(settings.store.url.expose()).await?;
    let routes = Arc::new(Routes::new(&settings.routes, &settings.channels)?);
    let router: Router = {
        let routes = Arc::clone(&routes);
        Arc::new(move |about: &About| {
            routes.channels(about).into_iter().map(ToOwned::to_owned).collect()
        })
    };
    started(&store, &router).await?;
    let mirror = settings.builder.as_ref().map(|settings| {
        let (store, router) = (store.clone(), Arc::clone(&router));
        Mirror::new(settings, http.clone(), store, router, Arc::new(SystemClock))
    });
    let mirror = mirror.transpose();
    let mirror =
        mirror.map_err(|error| Refusal::Configuration(format!("[builder] status_url: {error}")))?;

    let watches = Watches::default();
    stages.iter().for_each(|stage| stage.expected_by(&watches));
    let memories: Vec<_> = stages.iter().filter_map(|stage| stage.memory(&store)).collect();
    let mut work = JoinSet::new();
    for memory in &memories {
        memory.recall().await?;
        let memory = memory.clone();
        work.spawn(supervise("memory", move || memory.clone().run()));
    }
    for stage in stages {
        let (store, router, watches) = (store.clone(), Arc::clone(&router), watches.clone());
        work.spawn(supervise("watch", move || {
            stage.clone().run(store.clone(), Arc::clone(&router), watches.clone())
        }));
    }
    // To the end: whoever asks meanwhile is answered.
    if let Some(served) = served {
        tokio::spawn(served.run(store.clone(), watches.clone(), stop.clone()));
    }
    work.spawn({
        let (store, keep) = (store.clone(), settings.store.keep);
        supervise("prune", move || {
            let store = store.clone();
            async move {
                loop {
                    prune::prune(&store, keep, now_ms()).await?;
                    time::sleep(PRUNED_EVERY).await;
                }
            }
        })
    });

    if let Some(heartbeat) = heartbeat {
        let watches = watches.clone();
        let is_current = move || std::future::ready(watches.reasons().is_empty());
        tokio::spawn(heartbeat.run(http.clone(), Arc::new(SystemClock), is_current, stop.clone()));
    }
    if let Some(mirror) = mirror {
        watches.mirror(mirror.handle());
        // Not among the work: however it ends, the keeper goes on.
        let asking = supervise("builder", move || {
            let mirror = mirror.clone();
            async move {
                mirror.run().await;
                Ok(())
            }
        });
        let stop = stop.clone();
        tokio::spawn(async move { stop.run_until_cancelled(asking).await });
    }
    systemd::notify(systemd::Note::Ready);
    tokio::spawn({
        let store = store.clone();
        let is_alive = move || {
            let store = store.clone();
            async move { store.stuck().await.is_none() }
        };
        systemd::watchdog(is_alive, stop.clone())
    });

    // Not among the work that is dropped: what is on its way has a moment to arrive.
    let delivery = Delivery::new(store.clone(), channels, routes, http, Arc::new(SystemClock));
    let mut delivering = tokio::spawn(delivery.run(stop.clone(), grace));

    let mut printing = tokio::spawn(print(Printer::new(store.clone(), json).await?, stop.clone()));
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        ended = &mut printing => ended?,
        Some(ended) = work.join_next() => ended?,
        ended = &mut delivering => ended.map_err(Into::into),
    };
    systemd::notify(systemd::Note::Stopping);
    // What is half done is undone by the store.
    work.shutdown().await;
    for memory in &memories {
        if let Err(error) = memory.keep().await {
            log(&format!("what is known of the nodes is not kept: {error}"));
        }
    }
    stop.cancel();
    if !printing.is_finished() {
        let _ = time::timeout(LAST_LINE, printing).await;
    }
    if !delivering.is_finished() {
        delivering.await?;
    }
    ended
}

/// Prints on a thread of its own, which a reader that has gone to sleep holds.
async fn print(printer: Printer, stop: CancellationToken) -> eyre::Result<()> {
    spawn_blocking(move || Handle::current().block_on(printer.run(stop))).await?
}

/// Tells that it has started: each time, as somebody may wonder who restarts it.
async fn started(store: &Store, router: &Router) -> eyre::Result<()> {
    let kind = AlertType::KeeperStarted;
    let now = now_ms();
    if store.is_fresh
        && let Some(path) = &store.path
    {
        say(&format!("{} is new: all is read from the start", path.display()));
    }
    let about =
        About { chain: None, label: None, kind, phase: Phase::Seen, severity: kind.severity() };
    let channels = router(&about);
    let message = Message {
        id: MessageId::of_cause(kind, &format!("{now}:{}", std::process::id())),
        key: "keeper".to_owned(),
        about,
        fact: None,
        note: Some("started".to_owned()),
        data: json!({
            "v": 1,
            "phase": Phase::Seen.name(),
            "severity": kind.severity().name(),
            "version": env!("CARGO_PKG_VERSION"),
            "fresh": store.is_fresh,
        }),
        at: now / 1_000,
    };
    store.announce(&message, channels.iter().map(String::as_str), now).await?;
    log("started");
    Ok(())
}
