//! Messages, and for whom they are.

use super::{Store, StoreError, Tx, blob, int};
use crate::alert::Message;
use sqlx::Row;

/// Puts a message in, with a row for each channel that is to send it. False where it was there before, which changes
/// nothing. Nobody is told of what is muted, or of what is kept from everybody.
///
/// # Errors
/// When a query fails.
pub(crate) async fn insert<'c>(
    tx: &mut Tx,
    message: &Message,
    channels: impl IntoIterator<Item = &'c str>,
    now_ms: u64,
) -> Result<bool, StoreError> {
    let (chain, block, log_index) = match message.fact {
        Some((chain, block, log_index)) => {
            (Some(int(chain)), Some(blob(block)), Some(int(log_index)))
        }
        None => (None, None, None),
    };
    let row = sqlx::query(
        "INSERT INTO message (id, key, type, phase, severity, chain_id, block_hash, log_index, note, body, at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING RETURNING seq",
    )
    .bind(message.id.as_str())
    .bind(message.key.as_str())
    .bind(message.about.kind.name())
    .bind(message.about.phase.name())
    .bind(message.about.severity.name())
    .bind(chain)
    .bind(block)
    .bind(log_index)
    .bind(message.note.as_deref())
    .bind(message.body().to_string())
    .bind(int(message.at))
    .fetch_optional(&mut **tx)
    .await?;
    let Some(row) = row else { return Ok(false) };
    let seq: i64 = row.try_get(0)?;
    let mut channels = channels.into_iter().peekable();
    if channels.peek().is_none() || is_muted(tx, message, now_ms / 1_000).await? {
        return Ok(true);
    }
    for channel in channels {
        sqlx::query(
            "INSERT INTO outbox (message, channel, seq, key, status, at_ms, next_at_ms)
             VALUES ($1, $2, $3, $4, 'pending', $5, $5) ON CONFLICT DO NOTHING",
        )
        .bind(message.id.as_str())
        .bind(channel)
        .bind(seq)
        .bind(message.key.as_str())
        .bind(int(now_ms))
        .execute(&mut **tx)
        .await?;
    }
    Ok(true)
}

async fn is_muted(tx: &mut Tx, message: &Message, now: u64) -> Result<bool, StoreError> {
    let row = sqlx::query("SELECT 1 FROM mute WHERE (key = $1 OR key = $2) AND until > $3 LIMIT 1")
        .bind(message.key.as_str())
        .bind(message.about.label.as_deref().unwrap_or(&message.key))
        .bind(int(now))
        .fetch_optional(&mut **tx)
        .await?;
    Ok(row.is_some())
}

impl Store {
    /// Tells of something that is no log, in a transaction of its own. False where that was told before.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn announce<'c>(
        &self,
        message: &Message,
        channels: impl IntoIterator<Item = &'c str>,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let is_new = insert(&mut tx, message, channels, now_ms).await?;
        tx.commit().await?;
        self.news();
        Ok(is_new)
    }
}
