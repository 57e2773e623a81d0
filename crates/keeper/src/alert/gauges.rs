//! What the outbox and its channels look like from outside.

use crate::{
    metrics::Metric,
    store::{Store, StoreError, outbox},
};

/// All that a row can be, so that a series that has become zero says so.
const STATUSES: [&str; 5] = ["pending", "claimed", "delivered", "superseded", "dead"];

/// Counts anew.
///
/// # Errors
/// When the store fails.
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub(super) async fn refresh(
    store: &Store,
    channels: &[&str],
    now_ms: u64,
) -> Result<(), StoreError> {
    let depths = outbox::depths(store).await?;
    let disabled = outbox::disabled(store).await?;
    for name in channels {
        let depth = depths.get(*name).cloned().unwrap_or_default();
        for status in STATUSES {
            let rows = depth.rows.get(status).copied().unwrap_or_default();
            metrics::gauge!(Metric::OutboxRows.name(), "channel" => (*name).to_owned(), "status" => status)
                .set(rows as f64);
        }
        let oldest_ms = depth.oldest_ms.map_or(0, |at| now_ms.saturating_sub(at));
        metrics::gauge!(Metric::OutboxOldest.name(), "channel" => (*name).to_owned())
            .set(oldest_ms as f64 / 1_000.0);
        let is_disabled = disabled.iter().any(|one| one.name == *name);
        metrics::gauge!(Metric::ChannelDisabled.name(), "channel" => (*name).to_owned())
            .set(f64::from(u8::from(is_disabled)));
    }
    Ok(())
}

/// Counts how rows ended: `result` is `delivered`, `retry`, `dead` or `superseded`.
pub(super) fn ended(channel: &str, result: &'static str, rows: usize) {
    let rows = u64::try_from(rows).unwrap_or(u64::MAX);
    metrics::counter!(Metric::Alerts.name(), "channel" => channel.to_owned(), "result" => result)
        .increment(rows);
}

/// Measures how long a row took to arrive.
#[expect(clippy::cast_precision_loss, reason = "a histogram is of floats")]
pub(super) fn arrived(channel: &str, at_ms: u64, now_ms: u64) {
    metrics::histogram!(Metric::AlertLatency.name(), "channel" => channel.to_owned())
        .record(now_ms.saturating_sub(at_ms) as f64 / 1_000.0);
}
