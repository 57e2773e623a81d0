//! What is counted when somebody asks: breakers by their state, and the size of the store.

use crate::{
    alert::breaker_key,
    metrics::Metric,
    store::{Store, StoreError, hash, uint},
};
use alloy::primitives::Address;
use sqlx::Row as _;
use std::{collections::BTreeMap, fs};

/// Listed breakers that have a series of their own. Of more, a database of series would be the larger one.
const EACH: usize = 1_000;

/// As the store has them, and the number that stands for each.
const STATES: [(&str, f64); 4] =
    [("closed", 0.0), ("half-open", 1.0), ("open", 2.0), ("unknown", -1.0)];

/// Counts anew.
///
/// # Errors
/// When a query fails.
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub(super) async fn refresh(store: &Store) -> Result<(), StoreError> {
    metrics::gauge!(Metric::StoreBytes.name()).set(bytes(store) as f64);
    for (chain, counts) in counts(store).await? {
        for (state, _) in STATES {
            let breakers = counts.get(state).copied().unwrap_or_default();
            metrics::gauge!(Metric::Breakers.name(), "chain" => chain.clone(), "state" => state)
                .set(breakers as f64);
        }
    }
    each(store).await
}

/// Breakers by the name of their chain, and their state.
async fn counts(store: &Store) -> Result<BTreeMap<String, BTreeMap<String, u64>>, StoreError> {
    let rows = sqlx::query(
        "SELECT chain.name, breaker.state, COUNT(breaker.state) FROM chain
         LEFT JOIN breaker ON breaker.chain_id = chain.chain_id GROUP BY chain.name, breaker.state",
    )
    .fetch_all(store.reader())
    .await?;
    let mut counts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for row in &rows {
        let of_chain = counts.entry(row.try_get(0)?).or_default();
        let state: Option<String> = row.try_get(1)?;
        if let Some(state) = state {
            *of_chain.entry(state).or_default() += uint(row.try_get(2)?)?;
        }
    }
    Ok(counts)
}

/// The state of each listed breaker, where there are not too many.
async fn each(store: &Store) -> Result<(), StoreError> {
    let rows = sqlx::query(
        "SELECT chain.name, breaker.contract, breaker.breaker, breaker.label, breaker.state FROM breaker
         JOIN chain ON chain.chain_id = breaker.chain_id WHERE breaker.listed = 1 LIMIT $1",
    )
    .bind(i64::try_from(EACH + 1).unwrap_or(i64::MAX))
    .fetch_all(store.reader())
    .await?;
    if rows.len() > EACH {
        return Ok(());
    }
    for row in &rows {
        let chain: String = row.try_get(0)?;
        let contract = Address(hash(&row.try_get::<Vec<u8>, _>(1)?)?);
        let key = breaker_key(&chain, contract, hash(&row.try_get::<Vec<u8>, _>(2)?)?);
        let label: Option<String> = row.try_get(3)?;
        let state: String = row.try_get(4)?;
        let number =
            STATES.iter().find(|(name, _)| *name == state).map_or(-1.0, |(_, number)| *number);
        metrics::gauge!(
            Metric::BreakerState.name(),
            "chain" => chain, "key" => key, "label" => label.unwrap_or_default()
        )
        .set(number);
    }
    Ok(())
}

/// On disk, with what is written and not yet moved into the file.
fn bytes(store: &Store) -> u64 {
    let Some(path) = &store.path else { return 0 };
    let size = |path: &std::path::Path| fs::metadata(path).map_or(0, |file| file.len());
    let mut log = path.clone().into_os_string();
    log.push("-wal");
    size(path) + size(log.as_ref())
}
