//! Forgets what is old: delivered messages, and facts that decide nothing any more.

use crate::store::{Store, StoreError, int};
use std::time::Duration;

/// Deletes what is older than `keep` at a time in unix milliseconds. Facts stay where a breaker is still in the state that
/// they led to.
///
/// # Errors
/// When a query fails.
pub(super) async fn prune(store: &Store, keep: Duration, now_ms: u64) -> Result<(), StoreError> {
    let before_ms = now_ms.saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
    let before = int(before_ms / 1_000);
    let mut tx = store.begin().await?;
    sqlx::query("DELETE FROM outbox WHERE status IN ('delivered', 'superseded') AND at_ms < $1")
        .bind(int(before_ms))
        .execute(&mut *tx)
        .await?;
    sqlx::query(
        "DELETE FROM message WHERE at < $1
           AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.message = message.id)",
    )
    .bind(before)
    .execute(&mut *tx)
    .await?;
    sqlx::query(
        "DELETE FROM fact WHERE block_time < $1 AND status <> 'seen' AND kind <> 'configured'
           AND (status = 'retracted' OR EXISTS (
             SELECT 1 FROM fact AS later WHERE later.chain_id = fact.chain_id AND later.contract = fact.contract
               AND later.breaker = fact.breaker AND later.status = 'final' AND later.kind IN ('opened', 'closed')
               AND later.block_number > fact.block_number))",
    )
    .bind(before)
    .execute(&mut *tx)
    .await?;
    sqlx::query("DELETE FROM mute WHERE until < $1")
        .bind(int(now_ms / 1_000))
        .execute(&mut *tx)
        .await?;
    Ok(tx.commit().await?)
}
