//! How channels stand, and what can be done about it by hand.

use crate::store::{Store, StoreError, int, uint};
use sqlx::{Row, any::AnyRow};
use std::collections::BTreeMap;

/// Tries again at once what was given up, or waits: one message, or all that is dead. Gives the number of rows.
///
/// # Errors
/// When the store fails.
pub(crate) async fn retry(
    store: &Store,
    message: Option<&str>,
    now_ms: u64,
) -> Result<u64, StoreError> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(
        "UPDATE outbox SET status = 'pending', next_at_ms = $1, attempts = 0, first_at_ms = NULL
         WHERE (status = 'dead' AND ($2 IS NULL OR message = $2)) OR (status = 'pending' AND message = $2)",
    )
    .bind(int(now_ms))
    .bind(message)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected())
}

/// Sends nothing there any more, until it is enabled. Gives whether that is news.
///
/// # Errors
/// When the store fails.
pub(crate) async fn disable(
    store: &Store,
    channel: &str,
    reason: &str,
    now_ms: u64,
) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let done = sqlx::query(
        "INSERT INTO channel (name, disabled_at, reason) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    )
    .bind(channel)
    .bind(int(now_ms / 1_000))
    .bind(reason)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected() > 0)
}

/// Sends there again, also what has waited, as if for the first time. Gives whether it was disabled.
///
/// # Errors
/// When the store fails.
pub(crate) async fn enable(store: &Store, channel: &str) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let done =
        sqlx::query("DELETE FROM channel WHERE name = $1").bind(channel).execute(&mut *tx).await?;
    sqlx::query(
        "UPDATE outbox SET attempts = 0, first_at_ms = NULL WHERE channel = $1 AND status = 'pending'",
    )
    .bind(channel)
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected() > 0)
}

/// A channel to which nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Disabled {
    pub(crate) name: String,
    /// In unix seconds.
    pub(crate) since: u64,
    pub(crate) reason: String,
}

/// All of these.
///
/// # Errors
/// When the store fails.
pub(crate) async fn disabled(store: &Store) -> Result<Vec<Disabled>, StoreError> {
    let rows = sqlx::query("SELECT name, disabled_at, reason FROM channel ORDER BY name")
        .fetch_all(store.reader())
        .await?;
    let read = |row: &AnyRow| {
        Ok(Disabled {
            name: row.try_get(0)?,
            since: uint(row.try_get(1)?)?,
            reason: row.try_get(2)?,
        })
    };
    rows.iter().map(read).collect()
}

/// How a channel stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depth {
    /// Rows by status.
    pub(crate) rows: BTreeMap<String, u64>,
    /// When the oldest that waits was put there, in unix milliseconds.
    pub(crate) oldest_ms: Option<u64>,
}

/// How the channels stand that anything was ever put there for.
///
/// # Errors
/// When the store fails.
pub(crate) async fn depths(store: &Store) -> Result<BTreeMap<String, Depth>, StoreError> {
    let mut depths = BTreeMap::<String, Depth>::new();
    let rows = sqlx::query("SELECT channel, status, COUNT(*) FROM outbox GROUP BY channel, status")
        .fetch_all(store.reader())
        .await?;
    for row in rows {
        let depth = depths.entry(row.try_get(0)?).or_default();
        depth.rows.insert(row.try_get(1)?, uint(row.try_get(2)?)?);
    }
    let rows = sqlx::query(
        "SELECT channel, MIN(at_ms) FROM outbox WHERE status IN ('pending', 'claimed') GROUP BY channel",
    )
    .fetch_all(store.reader())
    .await?;
    for row in rows {
        depths.entry(row.try_get(0)?).or_default().oldest_ms = Some(uint(row.try_get(1)?)?);
    }
    Ok(depths)
}
