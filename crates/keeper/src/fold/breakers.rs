//! The breakers that a transaction touches, in memory until it is committed.

use super::state::{Folded, Status, column};
use crate::store::{StoreError, Tx, blob, hash, int, uint};
use alloy::primitives::{Address, B256, U256};
use fusebox_bindings::{NEVER, State, Word};
use sqlx::{Row as _, any::AnyRow};
use std::collections::{BTreeMap, btree_map::Entry};

/// A breaker of a chain.
pub(crate) type Slot = (Address, B256);

/// A breaker as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Breaker {
    pub(super) label: Option<String>,
    pub(super) is_listed: bool,
    pub(super) final_fold: Folded,
    pub(super) fold: Folded,
    pub(super) state: Option<State>,
    /// When it will have been open for too long, where it is open.
    pub(super) stuck_at: Option<u64>,
    pub(super) word: Option<Word>,
}

impl Breaker {
    fn found() -> Self {
        Self {
            label: None,
            is_listed: false,
            final_fold: Folded::default(),
            fold: Folded::default(),
            state: None,
            stuck_at: None,
            word: None,
        }
    }

    /// By the chain's clock: as its events tell, else as its storage does.
    pub(super) fn state_at(&self, now: u64) -> Option<State> {
        self.fold.state(now).or_else(|| self.word?.state(now).ok())
    }

    /// When it becomes half-open, where it will by itself.
    pub(super) fn due(&self) -> Option<u64> {
        match (self.fold.status, self.word) {
            (Status::Unknown, Some(word))
                if word.state(0).is_ok_and(|state| state != State::Closed) =>
            {
                Some(word.retry_at()).filter(|due| *due < NEVER)
            }
            _ => self.fold.due(),
        }
    }

    /// The same while it is not yet.
    pub(super) fn due_at(&self) -> Option<u64> {
        self.due().filter(|_| self.state == Some(State::Open))
    }

    /// The state by this clock, and since when it counts as open for too long.
    pub(super) fn settle(&mut self, now: u64) {
        self.state = self.state_at(now);
        self.stuck_at = match (self.fold.status, self.stuck_at) {
            (Status::Open { .. }, None) => {
                self.fold.since.map(|(_, since)| since.saturating_add(STUCK_AFTER))
            }
            (Status::Open { .. }, at) => at,
            _ => None,
        };
    }
}

/// How long a breaker is open before that is told again; then twice as long, and so on.
pub(super) const STUCK_AFTER: u64 = 3_600;

const COLUMNS: &str = "contract, breaker, label, listed, final_fold, fold, state, stuck_at, word";

/// The working set of a transaction.
#[derive(Debug, Default)]
pub(super) struct Breakers {
    chain: u64,
    rows: BTreeMap<Slot, Breaker>,
}

impl Breakers {
    pub(super) fn of(chain: u64) -> Self {
        Self { chain, rows: BTreeMap::new() }
    }

    /// A breaker, known or new.
    pub(super) async fn get(
        &mut self,
        tx: &mut Tx,
        slot: Slot,
    ) -> Result<&mut Breaker, StoreError> {
        match self.rows.entry(slot) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let query = format!(
                    "SELECT {COLUMNS} FROM breaker WHERE chain_id = $1 AND contract = $2 AND breaker = $3"
                );
                let row = sqlx::query(sqlx::AssertSqlSafe(query))
                    .bind(int(self.chain))
                    .bind(blob(slot.0.0))
                    .bind(blob(slot.1))
                    .fetch_optional(&mut **tx)
                    .await?;
                Ok(entry.insert(match row {
                    Some(row) => read(&row)?.1,
                    None => Breaker::found(),
                }))
            }
        }
    }

    /// The open ones whose deadline this time has reached, the earliest deadline first.
    pub(super) async fn due(&mut self, tx: &mut Tx, time: u64) -> Result<Vec<Slot>, StoreError> {
        self.load(tx, "due_at <= $2", time).await?;
        let mut due: Vec<_> = self
            .rows
            .iter()
            .filter_map(|(slot, breaker)| Some((breaker.due_at()?, *slot)))
            .filter(|(due, _)| *due <= time)
            .collect();
        due.sort();
        Ok(due.into_iter().map(|(_, slot)| slot).collect())
    }

    /// Those that have been open for too long.
    pub(super) async fn stuck(&mut self, tx: &mut Tx, time: u64) -> Result<Vec<Slot>, StoreError> {
        self.load(tx, "stuck_at <= $2", time).await?;
        let stuck =
            self.rows.iter().filter(|(_, breaker)| breaker.stuck_at.is_some_and(|at| at <= time));
        Ok(stuck.map(|(slot, _)| *slot).collect())
    }

    /// Those that are half-open by a clock that went back.
    pub(super) async fn undone(&mut self, tx: &mut Tx, time: u64) -> Result<Vec<Slot>, StoreError> {
        self.load(tx, "state = 'half-open' AND retry_at > $2", time).await?;
        let undone = self.rows.iter().filter(|(_, breaker)| {
            breaker.state == Some(State::HalfOpen) && breaker.due().is_some_and(|due| due > time)
        });
        Ok(undone.map(|(slot, _)| *slot).collect())
    }

    /// Those of a contract that are open or half-open.
    pub(super) async fn open_of(
        &mut self,
        tx: &mut Tx,
        contract: Address,
    ) -> Result<Vec<(Slot, Breaker)>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM breaker WHERE chain_id = $1 AND contract = $2");
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(int(self.chain))
            .bind(blob(contract.0))
            .fetch_all(&mut **tx)
            .await?;
        for row in &rows {
            let (slot, breaker) = read(row)?;
            self.rows.entry(slot).or_insert(breaker);
        }
        let open = |breaker: &Breaker| matches!(breaker.state, Some(State::Open | State::HalfOpen));
        let rows = self.rows.iter().filter(|(slot, breaker)| slot.0 == contract && open(breaker));
        Ok(rows.map(|(slot, breaker)| (*slot, breaker.clone())).collect())
    }

    async fn load(&mut self, tx: &mut Tx, which: &str, time: u64) -> Result<(), StoreError> {
        let query = format!("SELECT {COLUMNS} FROM breaker WHERE chain_id = $1 AND {which}");
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(int(self.chain))
            .bind(int(time))
            .fetch_all(&mut **tx)
            .await?;
        for row in &rows {
            let (slot, breaker) = read(row)?;
            self.rows.entry(slot).or_insert(breaker);
        }
        Ok(())
    }

    /// Writes all of them back.
    pub(super) async fn store(self, tx: &mut Tx) -> Result<(), StoreError> {
        for ((contract, slot), breaker) in self.rows {
            let since = breaker.fold.since.map(|(_, time)| int(time));
            sqlx::query(
                "INSERT INTO breaker (chain_id, contract, breaker, label, listed, final_fold, fold, state, retry_at, due_at, since,
                   stuck_at, word)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
                 ON CONFLICT (chain_id, contract, breaker) DO UPDATE SET
                   final_fold = excluded.final_fold, fold = excluded.fold, state = excluded.state,
                   retry_at = excluded.retry_at, due_at = excluded.due_at, since = excluded.since, stuck_at = excluded.stuck_at,
                   word = excluded.word, word_number = NULL",
            )
            .bind(int(self.chain))
            .bind(blob(contract.0))
            .bind(blob(slot))
            .bind(breaker.label.as_deref())
            .bind(i64::from(breaker.is_listed))
            .bind(text(&breaker.final_fold)?)
            .bind(text(&breaker.fold)?)
            .bind(column(breaker.state))
            .bind(breaker.due().map(int))
            .bind(breaker.due_at().map(int))
            .bind(since)
            .bind(breaker.stuck_at.map(int))
            .bind(breaker.word.map(|word| word.0.to_be_bytes::<32>().to_vec()))
            .execute(&mut **tx)
            .await?;
        }
        Ok(())
    }
}

/// Puts a breaker in that is known before it says anything.
pub(super) async fn list(
    tx: &mut Tx,
    chain: u64,
    contract: Address,
    slot: B256,
    label: Option<&str>,
) -> Result<(), StoreError> {
    let nothing = text(&Folded::default())?;
    sqlx::query(
        "INSERT INTO breaker (chain_id, contract, breaker, label, listed, final_fold, fold, state)
         VALUES ($1, $2, $3, $4, 1, $5, $5, 'unknown')
         ON CONFLICT (chain_id, contract, breaker) DO UPDATE SET label = excluded.label, listed = 1",
    )
    .bind(int(chain))
    .bind(blob(contract.0))
    .bind(blob(slot))
    .bind(label)
    .bind(nothing)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn read(row: &AnyRow) -> Result<(Slot, Breaker), StoreError> {
    let slot = (
        Address(hash(&row.try_get::<Vec<u8>, _>("contract")?)?),
        hash(&row.try_get::<Vec<u8>, _>("breaker")?)?,
    );
    let fold = |name| -> Result<Folded, StoreError> {
        let text: String = row.try_get(name)?;
        serde_json::from_str(&text).map_err(|_| StoreError::Corrupt(format!("the fold {text}")))
    };
    let state: String = row.try_get("state")?;
    let stuck_at: Option<i64> = row.try_get("stuck_at")?;
    let word: Option<Vec<u8>> = row.try_get("word")?;
    let breaker = Breaker {
        label: row.try_get("label")?,
        is_listed: row.try_get::<i64, _>("listed")? != 0,
        final_fold: fold("final_fold")?,
        fold: fold("fold")?,
        state: match state.as_str() {
            "closed" => Some(State::Closed),
            "open" => Some(State::Open),
            "half-open" => Some(State::HalfOpen),
            _ => None,
        },
        stuck_at: stuck_at.map(uint).transpose()?,
        word: word
            .as_deref()
            .map(|word| hash::<32>(word).map(|word| Word(U256::from_be_bytes(word.0))))
            .transpose()?,
    };
    Ok((slot, breaker))
}

fn text(fold: &Folded) -> Result<String, StoreError> {
    serde_json::to_string(fold).map_err(|error| StoreError::Corrupt(error.to_string()))
}
