//! Breakers as a keeper has stored them.

use super::fail_on;
use crate::{
    cli::StatusArgs,
    fold::now_ms,
    lookup,
    output::{self, Clock},
    report::{self, Breaker, Document, Query},
    store::Store,
};
use comfy_table::{Table, presets};
use std::{collections::BTreeMap, time::Duration};

/// How many are read at once.
const PAGE: u32 = 1_000;

/// How often it is looked whether something changed.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn status(args: StatusArgs) -> eyre::Result<()> {
    let store = lookup::read(&args.store).await?;
    if args.follow {
        return follow(&store, &args).await;
    }
    if let Some(key) = &args.key {
        let breakers = named(&store, key).await?;
        match (args.json, &breakers[..]) {
            (true, [breaker]) => output::document(breaker)?,
            (true, breakers) => output::document(&breakers)?,
            (false, breakers) => print(breakers)?,
        }
        return Ok(fail_on(&args, states(&breakers))?);
    }
    let document = all(&store).await?;
    match args.json {
        true => output::document(&document)?,
        false => print(&document.breakers)?,
    }
    Ok(fail_on(&args, states(&document.breakers))?)
}

fn states(breakers: &[Breaker]) -> impl Iterator<Item = (&str, &str)> {
    breakers.iter().map(|breaker| (name(breaker), breaker.state.as_str()))
}

fn name(breaker: &Breaker) -> &str {
    breaker.label.as_deref().unwrap_or(&breaker.key)
}

/// The document with all breakers on its one page.
async fn all(store: &Store) -> eyre::Result<Document> {
    let mut query = Query { limit: PAGE, ..Query::default() };
    let mut document = report::document(store, None, &query, now_ms()).await?;
    while let Some(after) = document.next.take() {
        query.after = Some(after);
        let (more, next) = report::page(store, &query, now_ms() / 1_000).await?;
        document.breakers.extend(more);
        document.next = next;
    }
    Ok(document)
}

/// The breakers of this key or label.
async fn named(store: &Store, key: &str) -> eyre::Result<Vec<Breaker>> {
    lookup::breakers(store, key).await
}

fn print(breakers: &[Breaker]) -> eyre::Result<()> {
    if breakers.is_empty() {
        output::say("no breaker is known yet");
        return Ok(());
    }
    output::line(&table(breakers, now_ms() / 1_000).trim_fmt())
}

fn table(breakers: &[Breaker], now: u64) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["BREAKER", "STATE", "FAILURES", "RETRY IN", "CAUSE", "SINCE", "NOTE", "KEY"]);
    let dash = || "–".to_owned();
    for breaker in breakers {
        table.add_row([
            breaker.label.clone().unwrap_or_else(dash),
            breaker.state.clone(),
            failures(breaker),
            retry_in(breaker, now),
            breaker.cause.clone().unwrap_or_else(dash),
            breaker.since.map_or_else(dash, output::utc),
            notes(breaker),
            breaker.key.clone(),
        ]);
    }
    table
}

fn failures(breaker: &Breaker) -> String {
    let shown = |number: Option<u16>| number.map_or("?".to_owned(), |number| number.to_string());
    match (breaker.failures, breaker.threshold) {
        (None, None) => "–".to_owned(),
        (failures, threshold) => format!("{}/{}", shown(failures), shown(threshold)),
    }
}

/// By the machine's clock, which is near the chain's: for people only.
fn retry_in(breaker: &Breaker, now: u64) -> String {
    match (breaker.state.as_str(), breaker.retry_at) {
        ("open", Some(retry_at)) => Clock { block: 0, time: now }.until(retry_at),
        ("open", None) => "never".to_owned(),
        ("half-open", _) => "now".to_owned(),
        _ => "–".to_owned(),
    }
}

fn notes(breaker: &Breaker) -> String {
    let mut notes = Vec::new();
    if breaker.phase == Some("seen") {
        notes.push("not final".to_owned());
    }
    if let Some(drift) = &breaker.drift {
        notes.push(drift.clone());
    }
    if let Some(until) = breaker.muted_until {
        notes.push(format!("muted until {}", output::utc(until)));
    }
    if let Some(until) = breaker.parked_until {
        notes.push(format!("not probed until {}", output::utc(until)));
    }
    match notes.is_empty() {
        true => "–".to_owned(),
        false => notes.join("; "),
    }
}

/// Prints what there is, and each breaker again when it changes.
async fn follow(store: &Store, args: &StatusArgs) -> eyre::Result<()> {
    let mut told: BTreeMap<String, Breaker> = BTreeMap::new();
    loop {
        let breakers = match &args.key {
            Some(key) => named(store, key).await?,
            None => all(store).await?.breakers,
        };
        for breaker in &breakers {
            if told.get(&breaker.key) == Some(breaker) {
                continue;
            }
            match args.json {
                true => output::line(&serde_json::to_string(breaker)?)?,
                false => output::line(&line(breaker))?,
            }
            told.insert(breaker.key.clone(), breaker.clone());
        }
        fail_on(args, states(&breakers))?;
        tokio::time::sleep(PAUSE).await;
    }
}

fn line(breaker: &Breaker) -> String {
    let mut line = format!(
        "{}  {} {}",
        breaker.since.map_or_else(|| "–".to_owned(), output::utc),
        name(breaker),
        breaker.state
    );
    if breaker.state == "open" {
        line += &breaker.retry_at.map_or_else(
            || "; stays open until reset".to_owned(),
            |retry_at| format!("; retry at {}", output::utc(retry_at)),
        );
    }
    match notes(breaker).as_str() {
        "–" => line,
        notes => format!("{line}; {notes}"),
    }
}
