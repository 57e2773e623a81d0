//! What is known, as one document: for `/status`, and for `keeper status` while the keeper is down.
//!
//! Everything durable comes from the store. What only a running keeper knows, its nodes and how far behind it is, comes on
//! top where there is one.

mod breakers;
mod chains;
mod live;
#[cfg(test)]
mod tests;

pub(crate) use breakers::{Breaker, Counts, Found, Query, find, page};
pub(crate) use live::Watches;

use crate::store::{Store, StoreError, outbox};
use chains::Chain;
use live::{Live, LiveChain, LiveProvider};
use serde::Serialize;
use serde_json::Value;
use sqlx::Row;

/// The document.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    /// The version of this form.
    v: u8,
    pub(crate) counts: Counts,
    pub(crate) chains: Vec<Chain>,
    /// Empty while no keeper runs.
    providers: Vec<LiveProvider>,
    outbox: Vec<Channel>,
    mutes: Vec<Mute>,
    builder: Option<Value>,
    /// One page.
    pub(crate) breakers: Vec<Breaker>,
    /// What to give as `after` for the next page; `null` on the last one.
    pub(crate) next: Option<String>,
}

/// What a channel has still to send, and what became of the rest.
#[derive(Debug, Serialize)]
struct Channel {
    channel: String,
    pending: u64,
    delivered: u64,
    superseded: u64,
    dead: u64,
    /// How long the oldest has waited.
    oldest_seconds: Option<u64>,
    /// Nothing is sent there, for this reason.
    disabled: Option<String>,
}

/// Somebody does not want to be told.
#[derive(Debug, Serialize)]
struct Mute {
    key: String,
    until: u64,
    reason: String,
}

/// All that is known at this moment, in milliseconds of the machine's clock.
///
/// # Errors
/// When the store fails.
pub(crate) async fn document(
    store: &Store,
    live: Option<&Live>,
    query: &Query,
    now_ms: u64,
) -> Result<Document, StoreError> {
    let now = now_ms / 1_000;
    let (breakers, next) = page(store, query, now).await?;
    Ok(Document {
        v: 1,
        counts: breakers::counts(store).await?,
        chains: chains::chains(store, live).await?,
        providers: live.map(|live| live.providers.clone()).unwrap_or_default(),
        outbox: channels(store, now_ms).await?,
        mutes: mutes(store, now).await?,
        builder: live.and_then(|live| live.builder.clone()),
        breakers,
        next,
    })
}

async fn channels(store: &Store, now_ms: u64) -> Result<Vec<Channel>, StoreError> {
    let mut disabled = outbox::disabled(store).await?;
    let mut channels: Vec<_> = outbox::depths(store)
        .await?
        .into_iter()
        .map(|(channel, depth)| {
            let rows = |status: &str| depth.rows.get(status).copied().unwrap_or_default();
            Channel {
                pending: rows("pending") + rows("claimed"),
                delivered: rows("delivered"),
                superseded: rows("superseded"),
                dead: rows("dead"),
                oldest_seconds: depth.oldest_ms.map(|oldest| now_ms.saturating_sub(oldest) / 1_000),
                disabled: disabled
                    .iter()
                    .position(|one| one.name == channel)
                    .map(|at| disabled.remove(at).reason),
                channel,
            }
        })
        .collect();
    channels.extend(disabled.into_iter().map(|one| Channel {
        channel: one.name,
        pending: 0,
        delivered: 0,
        superseded: 0,
        dead: 0,
        oldest_seconds: None,
        disabled: Some(one.reason),
    }));
    channels.sort_by(|a, b| a.channel.cmp(&b.channel));
    Ok(channels)
}

async fn mutes(store: &Store, now: u64) -> Result<Vec<Mute>, StoreError> {
    let rows = sqlx::query("SELECT key, until, reason FROM mute WHERE until > $1 ORDER BY key")
        .bind(crate::store::int(now))
        .fetch_all(store.reader())
        .await?;
    let read = |row: &sqlx::any::AnyRow| {
        Ok(Mute {
            key: row.try_get(0)?,
            until: crate::store::uint(row.try_get(1)?)?,
            reason: row.try_get(2)?,
        })
    };
    rows.iter().map(read).collect()
}
