//! The chains of the document.

use super::{Live, LiveChain};
use crate::store::{Store, StoreError, uint};
use alloy::primitives::B256;
use serde::Serialize;
use sqlx::{Row, any::AnyRow};

/// A chain.
#[derive(Debug, Serialize)]
pub(crate) struct Chain {
    chain: String,
    pub(crate) id: u64,
    /// All up to this block is told.
    seen: Option<Cursor>,
    /// All up to this block is told, and will not leave.
    #[serde(rename = "final")]
    last_final: Option<Cursor>,
    /// `null` while no keeper runs.
    live: Option<LiveChain>,
}

#[derive(Debug, Serialize)]
struct Cursor {
    number: u64,
    hash: B256,
    time: u64,
}

pub(super) async fn chains(store: &Store, live: Option<&Live>) -> Result<Vec<Chain>, StoreError> {
    let rows = sqlx::query(
        "SELECT chain_id, name, seen_number, seen_hash, seen_time, final_number, final_hash, final_time
         FROM chain ORDER BY name",
    )
    .fetch_all(store.reader())
    .await?;
    let chain = |row: &AnyRow| {
        let id = uint(row.try_get(0)?)?;
        let live = live.and_then(|live| live.chains.iter().find(|chain| chain.chain == id));
        Ok(Chain {
            chain: row.try_get(1)?,
            id,
            seen: cursor(row, 2)?,
            last_final: cursor(row, 5)?,
            live: live.cloned(),
        })
    };
    rows.iter().map(chain).collect()
}

fn cursor(row: &AnyRow, at: usize) -> Result<Option<Cursor>, StoreError> {
    let Some(number) = row.try_get::<Option<i64>, _>(at)? else { return Ok(None) };
    let hash = crate::store::hash(&row.try_get::<Vec<u8>, _>(at + 1)?)?;
    Ok(Some(Cursor { number: uint(number)?, hash, time: uint(row.try_get(at + 2)?)? }))
}
