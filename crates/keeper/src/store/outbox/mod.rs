//! The outbox: what is still to be sent, where to, and what became of it.
//!
//! A channel hears of one key in order: a row waits until the older ones of its key are delivered, superseded or dead.
//! A row is claimed before it is sent, and the claim expires, so that a sender that dies leaves nothing behind.
//! Delivery is at least once. Whether an attempt may have arrived is written down *before* it is made: after a crash
//! nobody else could tell.

mod operate;

pub(crate) use operate::{depths, disable, disabled, enable, retry};

use super::{Store, StoreError, Tx, int, uint};
use crate::clock::millis;
use sqlx::{Row, any::AnyRow};
use std::time::Duration;

/// How long a claim holds. An attempt takes 15 s at most, and its end has to be written within the rest.
const CLAIM: Duration = Duration::from_secs(30);

/// How many rows of one key are sent as one. More of them make one more summary, and memory stays bounded.
const MERGED: i64 = 500;

/// A key, and the oldest row of it.
pub(crate) type Head = (String, i64);

/// What a channel asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) channel: &'a str,
    pub(crate) now_ms: u64,
    /// Whether the rows of a key go together.
    pub(crate) merged: bool,
}

/// A row that is being sent.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub(crate) message: String,
    pub(crate) channel: String,
    pub(crate) key: String,
    pub(crate) seq: i64,
    /// With this one.
    pub(crate) attempts: u32,
    /// When it was first tried.
    pub(crate) first_at_ms: u64,
    /// When it was put there.
    pub(crate) at_ms: u64,
    /// Whether an earlier attempt may have arrived.
    pub(crate) maybe_delivered: bool,
    /// The document, as it is stored.
    pub(crate) body: String,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Delivered,
    /// Somebody else told it, or it is no longer true and nobody has heard of it.
    Superseded,
    /// To be tried again.
    Retry {
        at_ms: u64,
        error: String,
        arrived: bool,
    },
    /// Given up, until somebody asks for it.
    Dead {
        error: String,
        arrived: bool,
    },
}

/// The keys of a channel whose oldest row is due, those that have waited longest first. A look, which claims nothing and is
/// in nobody's way: a row of a key is never due while an older one is not done.
///
/// # Errors
/// When the store fails.
pub(crate) async fn due(
    store: &Store,
    channel: &str,
    now_ms: u64,
    limit: usize,
) -> Result<Vec<Head>, StoreError> {
    // From key to key: behind one key there may be ten thousand rows, which are skipped. A cross join, since SQLite keeps to
    // the order of that one.
    let rows = sqlx::query(
        "WITH RECURSIVE head (key) AS (
           SELECT MIN(key) FROM outbox WHERE channel = $1 AND status IN ('pending', 'claimed')
           UNION ALL
           SELECT (SELECT MIN(key) FROM outbox
                   WHERE channel = $1 AND key > head.key AND status IN ('pending', 'claimed'))
           FROM head WHERE head.key IS NOT NULL
         )
         SELECT row.key, row.seq FROM head CROSS JOIN outbox AS row
         WHERE row.channel = $1 AND row.key = head.key AND row.status IN ('pending', 'claimed')
           AND row.seq = (SELECT MIN(seq) FROM outbox
                          WHERE channel = $1 AND key = head.key AND status IN ('pending', 'claimed'))
           AND ((row.status = 'pending' AND row.next_at_ms <= $2)
             OR (row.status = 'claimed' AND row.claimed_until_ms <= $2))
           AND NOT EXISTS (SELECT 1 FROM channel WHERE name = $1)
         ORDER BY row.seq LIMIT $3",
    )
    .bind(channel)
    .bind(int(now_ms))
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(store.reader())
    .await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Claims what was due: one list of rows for each key, which are to be sent as one. What is no longer due is left out.
///
/// # Errors
/// When the store fails; then nothing is claimed.
pub(crate) async fn claim(
    store: &Store,
    ask: Ask<'_>,
    heads: &[Head],
) -> Result<Vec<Vec<Claimed>>, StoreError> {
    if heads.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = store.begin().await?;
    let mut claimed = Vec::new();
    for (key, seq) in heads {
        let rows = claim_key(&mut tx, ask, key, *seq).await?;
        if !rows.is_empty() {
            claimed.push(rows);
        }
    }
    tx.commit().await?;
    Ok(claimed)
}

/// Claims the oldest row of a key, and with it those that go together with it.
async fn claim_key(
    tx: &mut Tx,
    ask: Ask<'_>,
    key: &str,
    seq: i64,
) -> Result<Vec<Claimed>, StoreError> {
    // A write first, which takes the lock: after a read of an older state SQLite would refuse to write.
    let taken = sqlx::query(
        "UPDATE outbox SET status = 'claimed', claimed_until_ms = $1
         WHERE channel = $2 AND key = $3 AND seq = $4 AND status IN ('pending', 'claimed')
           AND ((status = 'pending' AND next_at_ms <= $5) OR (status = 'claimed' AND claimed_until_ms <= $5))
           AND NOT EXISTS (SELECT 1 FROM channel WHERE name = $2)",
    )
    .bind(int(ask.now_ms.saturating_add(millis(CLAIM))))
    .bind(ask.channel)
    .bind(key)
    .bind(seq)
    .bind(int(ask.now_ms))
    .execute(&mut **tx)
    .await?;
    if taken.rows_affected() == 0 {
        return Ok(Vec::new());
    }
    let last = if ask.merged { last_of(tx, ask, key, seq).await? } else { seq };
    let rows = sqlx::query(
        "SELECT row.message, row.channel, row.key, row.seq, row.attempts + 1,
                COALESCE(row.first_at_ms, $5), row.at_ms, row.maybe_delivered, message.body
         FROM outbox AS row JOIN message ON message.id = row.message
         WHERE row.channel = $1 AND row.key = $2 AND row.seq BETWEEN $3 AND $4
           AND row.status IN ('pending', 'claimed')
         ORDER BY row.seq",
    )
    .bind(ask.channel)
    .bind(key)
    .bind(seq)
    .bind(last)
    .bind(int(ask.now_ms))
    .fetch_all(&mut **tx)
    .await?;
    sqlx::query(
        "UPDATE outbox SET status = 'claimed', claimed_until_ms = $1, attempts = attempts + 1,
                first_at_ms = COALESCE(first_at_ms, $2), maybe_delivered = 1
         WHERE channel = $3 AND key = $4 AND seq BETWEEN $5 AND $6 AND status IN ('pending', 'claimed')",
    )
    .bind(int(ask.now_ms.saturating_add(millis(CLAIM))))
    .bind(int(ask.now_ms))
    .bind(ask.channel)
    .bind(key)
    .bind(seq)
    .bind(last)
    .execute(&mut **tx)
    .await?;
    rows.iter().map(read).collect()
}

/// The newest row that goes together with the oldest one: those that are due, up to the first that is not.
async fn last_of(tx: &mut Tx, ask: Ask<'_>, key: &str, seq: i64) -> Result<i64, StoreError> {
    let rows = sqlx::query(
        "SELECT seq, CASE WHEN status = 'pending' THEN next_at_ms ELSE claimed_until_ms END FROM outbox
         WHERE channel = $1 AND key = $2 AND seq > $3 AND status IN ('pending', 'claimed')
         ORDER BY seq LIMIT $4",
    )
    .bind(ask.channel)
    .bind(key)
    .bind(seq)
    .bind(MERGED - 1)
    .fetch_all(&mut **tx)
    .await?;
    let mut last = seq;
    for row in rows {
        if row.try_get::<i64, _>(1)? > int(ask.now_ms) {
            break;
        }
        last = row.try_get(0)?;
    }
    Ok(last)
}

fn read(row: &AnyRow) -> Result<Claimed, StoreError> {
    let number = |at: usize| uint(row.try_get(at)?);
    Ok(Claimed {
        message: row.try_get(0)?,
        channel: row.try_get(1)?,
        key: row.try_get(2)?,
        seq: row.try_get(3)?,
        attempts: u32::try_from(number(4)?).unwrap_or(u32::MAX),
        first_at_ms: number(5)?,
        at_ms: number(6)?,
        maybe_delivered: number(7)? != 0,
        body: row.try_get(8)?,
    })
}

/// Writes down how an attempt ended, for all that went together. That it has arrived counts in any case; anything else
/// only from whoever holds the claim, which is the one with the last attempt.
///
/// # Errors
/// When the store fails: the claim expires, and it is sent again with the same id.
pub(crate) async fn settle(
    store: &Store,
    rows: &[Claimed],
    end: &End,
    now_ms: u64,
) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    for row in rows {
        let (status, next_at_ms, error, arrived) = match end {
            End::Delivered => ("delivered", None, None, true),
            End::Superseded => ("superseded", None, None, row.maybe_delivered),
            End::Retry { at_ms, error, arrived } => {
                ("pending", Some(int(*at_ms)), Some(error.as_str()), *arrived)
            }
            End::Dead { error, arrived } => ("dead", None, Some(error.as_str()), *arrived),
        };
        let delivered_at_ms = (*end == End::Delivered).then(|| int(now_ms));
        sqlx::query(
            "UPDATE outbox SET status = $1, next_at_ms = COALESCE($2, next_at_ms), last_error = $3,
                    maybe_delivered = $4, delivered_at_ms = $5, claimed_until_ms = NULL
             WHERE message = $6 AND channel = $7
               AND ($1 = 'delivered' OR (status = 'claimed' AND attempts = $8))",
        )
        .bind(status)
        .bind(next_at_ms)
        .bind(error)
        .bind(i64::from(arrived || row.maybe_delivered))
        .bind(delivered_at_ms)
        .bind(&row.message)
        .bind(&row.channel)
        .bind(i64::from(row.attempts))
        .execute(&mut *tx)
        .await?;
    }
    Ok(tx.commit().await?)
}

/// Takes back what was claimed by a process that is no more, without waiting for the claims to expire. Only where one
/// process at a time has the store.
///
/// # Errors
/// When the store fails.
pub(crate) async fn release(store: &Store) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    sqlx::query(
        "UPDATE outbox SET status = 'pending', claimed_until_ms = NULL WHERE status = 'claimed'",
    )
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

/// How many rows of a channel could go, were it not for their order; counted up to `most`.
///
/// # Errors
/// When the store fails.
pub(crate) async fn waiting(
    store: &Store,
    channel: &str,
    now_ms: u64,
    most: u32,
) -> Result<u64, StoreError> {
    let row = sqlx::query(
        "SELECT COUNT(*) FROM (
           SELECT 1 FROM outbox WHERE channel = $1 AND status = 'pending' AND next_at_ms <= $2 LIMIT $3
         ) AS some",
    )
    .bind(channel)
    .bind(int(now_ms))
    .bind(i64::from(most))
    .fetch_one(store.reader())
    .await?;
    uint(row.try_get(0)?)
}

/// The documents that wait behind a row, oldest first: those of its key, which one of them may make needless.
///
/// # Errors
/// When the store fails.
pub(crate) async fn behind(store: &Store, row: &Claimed) -> Result<Vec<String>, StoreError> {
    let rows = sqlx::query(
        "SELECT message.body FROM outbox AS row JOIN message ON message.id = row.message
         WHERE row.channel = $1 AND row.key = $2 AND row.seq > $3 AND row.status IN ('pending', 'claimed')
         ORDER BY row.seq LIMIT $4",
    )
    .bind(&row.channel)
    .bind(&row.key)
    .bind(row.seq)
    .bind(MERGED)
    .fetch_all(store.reader())
    .await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
