//! The breakers of the document, a page at a time: there may be 100,000, and nobody waits for them.

use crate::{
    alert::{Phase, breaker_key},
    fold::{Folded, Status},
    store::{Store, StoreError, blob, hash, int, uint},
    target::Slot,
};
use alloy::primitives::{Address, B256, U256};
use fusebox_bindings::{Cause, NEVER, Word};
use serde::Serialize;
use sqlx::{Row, any::AnyRow};
use std::collections::BTreeMap;

/// How many breakers there are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(crate) closed: u64,
    pub(crate) open: u64,
    #[serde(rename = "half-open")]
    pub(crate) half_open: u64,
    pub(crate) unknown: u64,
}

/// A breaker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Breaker {
    pub(crate) key: String,
    pub(crate) label: Option<String>,
    pub(crate) state: String,
    /// Unix seconds. `null` while closed, and where it stays open until somebody resets it.
    pub(crate) retry_at: Option<u64>,
    /// In a row, as its storage had them when it was last read; `null` where something happened since.
    pub(crate) failures: Option<u16>,
    pub(crate) threshold: Option<u16>,
    /// Why it is open.
    pub(crate) cause: Option<String>,
    /// Unix seconds.
    pub(crate) since: Option<u64>,
    /// Whether what led to this state can still leave the chain: `seen` or `final`.
    pub(crate) phase: Option<&'static str>,
    /// How its storage contradicts its events.
    pub(crate) drift: Option<String>,
    pub(crate) parked_until: Option<u64>,
    /// Nobody is told of it until then.
    pub(crate) muted_until: Option<u64>,
}

/// Which breakers.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// In this state only.
    pub(crate) state: Option<String>,
    /// With this in the label, or in the contract's address.
    pub(crate) q: Option<String>,
    /// At most so many.
    pub(crate) limit: u32,
    /// Behind this one, by its key.
    pub(crate) after: Option<String>,
}

/// How many a page has where nobody says.
const PAGE: u32 = 100;

/// How many it has at most.
const LARGEST_PAGE: u32 = 1_000;

impl Default for Query {
    fn default() -> Self {
        Self { state: None, q: None, limit: PAGE, after: None }
    }
}

pub(super) async fn counts(store: &Store) -> Result<Counts, StoreError> {
    let rows = sqlx::query("SELECT state, COUNT(*) FROM breaker GROUP BY state")
        .fetch_all(store.reader())
        .await?;
    let mut counts = Counts::default();
    for row in rows {
        let number = uint(row.try_get(1)?)?;
        match row.try_get::<String, _>(0)?.as_str() {
            "closed" => counts.closed = number,
            "open" => counts.open = number,
            "half-open" => counts.half_open = number,
            _ => counts.unknown = number,
        }
    }
    Ok(counts)
}

/// What every page needs and is small: the names of the chains, and who is muted.
struct Around {
    chains: BTreeMap<i64, String>,
    mutes: BTreeMap<String, u64>,
}

impl Around {
    async fn of(store: &Store, now: u64) -> Result<Self, StoreError> {
        let rows =
            sqlx::query("SELECT chain_id, name FROM chain").fetch_all(store.reader()).await?;
        let chains = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let chains = chains.collect::<Result<_, sqlx::Error>>()?;
        let rows = sqlx::query("SELECT key, until FROM mute WHERE until > $1")
            .bind(int(now))
            .fetch_all(store.reader())
            .await?;
        let mutes = rows.iter().map(|row| Ok((row.try_get(0)?, uint(row.try_get(1)?)?)));
        Ok(Self { chains, mutes: mutes.collect::<Result<_, StoreError>>()? })
    }

    /// The parts of a key, as columns have them. `None` where it is none.
    fn parts(&self, key: &str) -> Option<(i64, Vec<u8>, Vec<u8>)> {
        let mut parts = key.rsplitn(3, ':');
        let breaker: B256 = Slot::parse(parts.next()?)?;
        let contract: Address = parts.next()?.parse().ok()?;
        let name = parts.next()?;
        let (chain, _) = self.chains.iter().find(|(_, chain)| *chain == name)?;
        Some((*chain, blob(contract.0), blob(breaker)))
    }
}

const SELECT: &str =
    "SELECT row.chain_id, row.contract, row.breaker, COALESCE(row.label, contract.label),
    row.state, row.fold, row.final_fold, row.word, row.word_number, row.drift, row.parked_until
  FROM breaker AS row
  LEFT JOIN contract ON contract.chain_id = row.chain_id AND contract.address = row.contract";

/// By its own label, or by its contract: there are fewer contracts than breakers, so they are looked through once.
const NAMED: &str = "(row.label LIKE ? ESCAPE '\\' OR (row.chain_id, row.contract) IN (
    SELECT chain_id, address FROM contract WHERE label LIKE ? ESCAPE '\\' OR '0x' || hex(address) LIKE ? ESCAPE '\\'))";

const ORDER: &str = "ORDER BY row.chain_id, row.contract, row.breaker";

/// A value of a condition.
enum Value {
    Number(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// Conditions that all hold, with their values in order.
#[derive(Default)]
struct Where(Vec<String>, Vec<Value>);

impl Where {
    /// One more, with `?` for each value.
    fn and(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        let mut numbered = String::new();
        let mut values = values.into_iter();
        for c in condition.chars() {
            match (c, values.size_hint()) {
                ('?', _) => {
                    self.1.extend(values.next());
                    numbered.push_str(&format!("${}", self.1.len()));
                }
                _ => numbered.push(c),
            }
        }
        self.0.push(numbered);
    }

    fn query(&self, limit: u32) -> String {
        let conditions = match self.0.is_empty() {
            true => String::new(),
            false => format!("WHERE {}", self.0.join(" AND ")),
        };
        format!("{SELECT} {conditions} {ORDER} LIMIT {limit}")
    }

    async fn fetch(self, store: &Store, limit: u32) -> Result<Vec<AnyRow>, StoreError> {
        let mut query = sqlx::query(sqlx::AssertSqlSafe(self.query(limit)));
        for value in self.1 {
            query = match value {
                Value::Number(number) => query.bind(number),
                Value::Text(text) => query.bind(text),
                Value::Blob(blob) => query.bind(blob),
            };
        }
        Ok(query.fetch_all(store.reader()).await?)
    }
}

/// One page, in the order of the keys, and the key behind which the next one begins.
///
/// # Errors
/// When the store fails.
pub(crate) async fn page(
    store: &Store,
    query: &Query,
    now: u64,
) -> Result<(Vec<Breaker>, Option<String>), StoreError> {
    let around = Around::of(store, now).await?;
    let limit = query.limit.clamp(1, LARGEST_PAGE);
    let mut conditions = Where::default();
    if let Some(state) = &query.state {
        conditions.and("row.state = ?", [Value::Text(state.clone())]);
    }
    if let Some(q) = &query.q {
        // Behind a backslash, they stand for themselves.
        let plain = q.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let pattern = format!("%{plain}%");
        conditions.and(NAMED, std::iter::repeat_n(pattern, 3).map(Value::Text));
    }
    if let Some(after) = &query.after {
        let Some((chain, contract, breaker)) = around.parts(after) else {
            return Ok((Vec::new(), None));
        };
        conditions.and(
            "(row.chain_id, row.contract, row.breaker) > (?, ?, ?)",
            [Value::Number(chain), Value::Blob(contract), Value::Blob(breaker)],
        );
    }
    let rows = conditions.fetch(store, limit + 1).await?;
    let limit = limit as usize;
    let page = rows.iter().take(limit).map(|row| read(row, &around));
    let page = page.collect::<Result<Vec<_>, _>>()?;
    let next = page.last().filter(|_| rows.len() > limit).map(|last| last.key.clone());
    Ok((page, next))
}

/// What a name stands for.
#[derive(Debug)]
pub(crate) enum Found {
    /// Breakers with this key, or this label.
    Breakers(Vec<Breaker>),
    /// None; these are some of those that there are.
    Nothing(Vec<Breaker>),
}

/// The breakers with this key, or else with this label.
///
/// # Errors
/// When the store fails.
pub(crate) async fn find(store: &Store, name: &str, now: u64) -> Result<Found, StoreError> {
    /// Enough to see what names look like.
    const SOME: u32 = 8;
    let around = Around::of(store, now).await?;
    let mut conditions = Where::default();
    match around.parts(name) {
        Some((chain, contract, breaker)) => conditions.and(
            "row.chain_id = ? AND row.contract = ? AND row.breaker = ?",
            [Value::Number(chain), Value::Blob(contract), Value::Blob(breaker)],
        ),
        None => conditions.and(
            "(row.label = ? OR contract.label = ?)",
            [Value::Text(name.to_owned()), Value::Text(name.to_owned())],
        ),
    }
    let read_all = |rows: Vec<AnyRow>| -> Result<Vec<Breaker>, StoreError> {
        rows.iter().map(|row| read(row, &around)).collect()
    };
    let found = read_all(conditions.fetch(store, LARGEST_PAGE).await?)?;
    // A label of its own goes before that of its contract.
    let exact = found.iter().filter(|found| found.label.as_deref() == Some(name)).count();
    if !found.is_empty() {
        let is_exact = |breaker: &Breaker| exact == 0 || breaker.label.as_deref() == Some(name);
        return Ok(Found::Breakers(found.into_iter().filter(is_exact).collect()));
    }
    Ok(Found::Nothing(read_all(Where::default().fetch(store, SOME).await?)?))
}

fn read(row: &AnyRow, around: &Around) -> Result<Breaker, StoreError> {
    let chain: i64 = row.try_get(0)?;
    let contract = Address(hash(&row.try_get::<Vec<u8>, _>(1)?)?);
    let name = around.chains.get(&chain).cloned().unwrap_or_else(|| chain.to_string());
    let key = breaker_key(&name, contract, hash(&row.try_get::<Vec<u8>, _>(2)?)?);
    let label: Option<String> = row.try_get(3)?;
    let fold = |at: usize| -> Result<Folded, StoreError> {
        let text: String = row.try_get(at)?;
        serde_json::from_str(&text).map_err(|_| StoreError::Corrupt(format!("the fold {text}")))
    };
    let (fold, final_fold) = (fold(5)?, fold(6)?);
    let word: Option<Vec<u8>> = row.try_get(7)?;
    let word = word.map(|word| Ok(Word(U256::from_be_bytes(hash::<32>(&word)?.0))));
    let word: Option<Word> = word.transpose().map_err(|error: StoreError| error)?;
    let is_current = row.try_get::<Option<i64>, _>(8)?.is_some();
    let state: String = row.try_get(4)?;
    let retry_at = match fold.status {
        Status::Open { retry_at, .. } => Some(retry_at),
        Status::Closed => None,
        Status::Unknown => word.filter(|_| state != "closed").map(Word::retry_at),
    };
    let parked: Option<i64> = row.try_get(10)?;
    let muted = around.mutes.get(&key).or_else(|| around.mutes.get(label.as_deref()?));
    Ok(Breaker {
        state,
        retry_at: retry_at.filter(|retry_at| *retry_at < NEVER),
        failures: word.filter(|_| is_current).map(Word::failure_count),
        threshold: word.map(Word::failure_threshold).or(fold.threshold),
        cause: match fold.status {
            Status::Open { cause, .. } => cause.map(|cause| Cause(cause).to_string()),
            _ => None,
        },
        since: fold.since.map(|(_, time)| time),
        phase: match fold.status {
            Status::Unknown => None,
            status if status == final_fold.status => Some(Phase::Final.name()),
            _ => Some(Phase::Seen.name()),
        },
        drift: row.try_get(9)?,
        parked_until: parked.map(uint).transpose()?,
        muted_until: muted.copied(),
        key,
        label,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_page_is_sorted_after_all_of_its_rows_were_read() {
        let store = Store::in_memory().await.unwrap();
        for parts in 0..8 {
            let mut conditions = Where::default();
            if parts & 1 != 0 {
                conditions.and("row.state = ?", [Value::Text("open".to_owned())]);
            }
            if parts & 2 != 0 {
                conditions.and(NAMED, std::iter::repeat_n("%a%".to_owned(), 3).map(Value::Text));
            }
            if parts & 4 != 0 {
                let blob = || Value::Blob(Vec::new());
                conditions.and(
                    "(row.chain_id, row.contract, row.breaker) > (?, ?, ?)",
                    [Value::Number(1), blob(), blob()],
                );
            }
            let query = format!("EXPLAIN QUERY PLAN {}", conditions.query(100));
            let rows =
                sqlx::query(sqlx::AssertSqlSafe(query.clone())).fetch_all(store.reader()).await;
            for row in rows.unwrap() {
                let step: String = row.try_get(3).unwrap();
                assert!(!step.contains("TEMP B-TREE"), "{query}: {step}");
            }
        }
    }
}
