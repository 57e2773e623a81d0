//! What a store took in of a range, against what the chain holds of it now.
//!
//! Only what the store claims to have read is compared: contracts that are listed in it, from their first block to the one
//! up to which they were read; and not what is old enough to have been forgotten.

use super::Range;
use crate::{
    Refusal,
    config::StoreSettings,
    fold::{ChainName, now_ms},
    output::{self, count, say},
    store::{Store, StoreError, hash, int, uint},
};
use alloy::primitives::{Address, B256};
use serde_json::json;
use sqlx::{Any, Row as _, Transaction, any::AnyRow};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Differences that are named in words.
const NAMED: usize = 10;

/// An event's block and place in it.
type Place = (u64, B256, u64);

/// An event, as far as it is compared.
#[derive(Clone, Debug)]
struct Event {
    contract: Address,
    kind: String,
    time: u64,
}

/// One thing that the store has otherwise than the chain.
#[derive(Clone, Debug)]
struct Difference {
    what: What,
    place: Place,
    event: Event,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// It is on the chain, and the store lacks it.
    Missing,
    /// It is in the store, and not on the chain.
    Foreign,
    /// It is in both, and the store has no message of it.
    Untold,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Foreign => "foreign",
            Self::Untold => "untold",
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((number, hash, index), Event { contract, kind, .. }) = (self.place, &self.event);
        let what = match self.what {
            What::Missing => "the store lacks it",
            What::Foreign => "it is in the store and not on the chain",
            What::Untold => "the store has it, and nobody was told",
        };
        write!(f, "{kind} by {contract} in block {number} with hash {hash}, log {index}: {what}")
    }
}

/// How far a contract is read in the store.
#[derive(Clone, Copy, Debug)]
struct Covered {
    from: u64,
    to: u64,
    /// Up to here is history, of which nothing is told one by one.
    history: u64,
}

impl Covered {
    fn holds(self, number: u64) -> bool {
        (self.from..=self.to).contains(&number)
    }
}

/// Compares a store with what was read just now.
///
/// # Errors
/// [`Refusal::No`] where they differ, [`Refusal::Identity`] where the store is of another chain.
pub(super) async fn compare(
    memory: &Store,
    settings: &StoreSettings,
    chain: &ChainName,
    genesis: B256,
    range: Range,
    is_json: bool,
) -> eyre::Result<()> {
    let url = settings.url.expose();
    let Some(store) = existing(url).await? else {
        say("there is no store to compare with");
        return Ok(());
    };
    // One transaction: the keeper that writes it may go on meanwhile.
    let mut tx = store.reader().begin().await.map_err(StoreError::from)?;
    let covered = covered(&mut tx, chain.id, genesis).await?;
    let is_any = covered.values().any(|one| one.from <= range.to && one.to >= range.from);
    if !is_any {
        say("the store covers no block of this range: there is nothing to compare");
        return Ok(());
    }
    let kept = (now_ms() / 1_000).saturating_sub(settings.keep.as_secs());
    let stored = events(&mut tx, chain.id, range).await?;
    let told = told(&mut tx, chain.id).await?;
    drop(tx);
    let mut reader = memory.reader().begin().await.map_err(StoreError::from)?;
    let found = events(&mut reader, chain.id, range).await?;
    let tellable = self::told(&mut reader, chain.id).await?;
    drop(reader);

    let of = |place: &Place, event: &Event| {
        covered.get(&event.contract).filter(|one| one.holds(place.0)).copied()
    };
    let mut differences = Vec::new();
    let mut same = 0;
    for (place, event) in &found {
        let Some(covered) = of(place, event).filter(|_| event.time >= kept) else { continue };
        let id = (place.1, place.2);
        let is_tellable = place.0 > covered.history && tellable.contains(&id);
        let what = match stored.contains_key(place) {
            false => What::Missing,
            true if is_tellable && !told.contains(&id) => What::Untold,
            true => {
                same += 1;
                continue;
            }
        };
        differences.push(Difference { what, place: *place, event: event.clone() });
    }
    for (place, event) in stored.iter().filter(|(place, _)| !found.contains_key(*place)) {
        if of(place, event).is_some() {
            let what = What::Foreign;
            differences.push(Difference { what, place: *place, event: event.clone() });
        }
    }
    differences.sort_by_key(|difference| difference.place);
    verdict(&differences, same, is_json)
}

fn verdict(differences: &[Difference], same: usize, is_json: bool) -> eyre::Result<()> {
    if differences.is_empty() {
        let is = if same == 1 { "is" } else { "are" };
        say(&format!("the store agrees: {} {is} the same in it", count(same, "event")));
        return Ok(());
    }
    if is_json {
        for Difference { what, place: (number, hash, log_index), event } in differences {
            let line = json!({
                "type": "replay.difference",
                "difference": what.name(),
                "kind": event.kind,
                "contract": event.contract,
                "block": { "number": number, "hash": hash, "time": event.time },
                "log_index": log_index,
            });
            output::line(&line.to_string())?;
        }
    }
    let mut message =
        format!("the store differs from the chain in {}:", count(differences.len(), "event"));
    for difference in differences.iter().take(NAMED) {
        message.push_str(&format!("\n  {difference}"));
    }
    if let Some(more @ 1..) = differences.len().checked_sub(NAMED) {
        message.push_str(&format!("\n  and {more} more"));
    }
    Err(Refusal::No(message).into())
}

/// The store, where there is one: a range can be read without any.
async fn existing(url: &str) -> Result<Option<Store>, StoreError> {
    let path = url.strip_prefix("sqlite:").map(|path| path.trim_start_matches("//"));
    match path {
        Some(path) if path == ":memory:" || !std::path::Path::new(path).exists() => Ok(None),
        _ => Store::read_only(url).await.map(Some),
    }
}

type Reading = Transaction<'static, Any>;

/// What the store has read of a chain.
async fn covered(
    tx: &mut Reading,
    chain: u64,
    genesis: B256,
) -> eyre::Result<BTreeMap<Address, Covered>> {
    let row =
        sqlx::query("SELECT genesis, seen_number, final_number FROM chain WHERE chain_id = $1")
            .bind(int(chain))
            .fetch_optional(&mut **tx)
            .await
            .map_err(StoreError::from)?;
    let Some(row) = row else { return Ok(BTreeMap::new()) };
    let number = |at: usize| -> Result<Option<u64>, StoreError> {
        row.try_get::<Option<i64>, _>(at)?.map(uint).transpose()
    };
    let Some(seen) = number(1)? else { return Ok(BTreeMap::new()) };
    let last = number(2)?.unwrap_or_default();
    let stored: B256 = hash(&row.try_get::<Vec<u8>, _>(0)?)?;
    if stored != genesis {
        return Err(Refusal::Identity(format!(
            "the store is of a chain that began with {stored}, the nodes' with {genesis}"
        ))
        .into());
    }
    let rows = sqlx::query(
        "SELECT address, start, scanned_to, first_final FROM contract WHERE chain_id = $1 AND source = 'listed'",
    )
    .bind(int(chain))
    .fetch_all(&mut **tx)
    .await
    .map_err(StoreError::from)?;
    let read = |row: &AnyRow| -> Result<(Address, Covered), StoreError> {
        let scanned = u64::try_from(row.try_get::<i64, _>(2)?).unwrap_or_default();
        let first_final: Option<i64> = row.try_get(3)?;
        let covered = Covered {
            from: uint(row.try_get(1)?)?,
            // Those that were read as far as the others are read with them.
            to: if scanned >= last { seen } else { scanned },
            history: first_final.map(uint).transpose()?.unwrap_or(u64::MAX),
        };
        Ok((Address(hash(&row.try_get::<Vec<u8>, _>(0)?)?), covered))
    };
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

/// The events of a range that are on the chain, as far as is known.
async fn events(
    tx: &mut Reading,
    chain: u64,
    range: Range,
) -> Result<BTreeMap<Place, Event>, StoreError> {
    let rows = sqlx::query(
        "SELECT block_number, block_hash, log_index, contract, kind, block_time FROM fact
         WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3 AND status <> 'retracted'",
    )
    .bind(int(chain))
    .bind(int(range.from))
    .bind(int(range.to))
    .fetch_all(&mut **tx)
    .await?;
    let read = |row: &AnyRow| {
        let block: B256 = hash(&row.try_get::<Vec<u8>, _>(1)?)?;
        let event = Event {
            contract: Address(hash(&row.try_get::<Vec<u8>, _>(3)?)?),
            kind: row.try_get(4)?,
            time: uint(row.try_get(5)?)?,
        };
        Ok(((uint(row.try_get(0)?)?, block, uint(row.try_get(2)?)?), event))
    };
    rows.iter().map(read).collect()
}

/// The events that a message was made of each on its own. One of an unknown shape speaks for all of an hour.
async fn told(tx: &mut Reading, chain: u64) -> Result<BTreeSet<(B256, u64)>, StoreError> {
    let rows = sqlx::query(
        "SELECT block_hash, log_index FROM message WHERE chain_id = $1 AND phase <> 'retracted'
           AND type IN ('breaker.opened', 'breaker.closed', 'breaker.configured')",
    )
    .bind(int(chain))
    .fetch_all(&mut **tx)
    .await?;
    let read = |row: &AnyRow| Ok((hash(&row.try_get::<Vec<u8>, _>(0)?)?, uint(row.try_get(1)?)?));
    rows.iter().map(read).collect()
}
