//! One chain in the store: what is known of it, and where the watch goes on.

use super::{breakers, fact};
use crate::{
    alert::{About, AlertType, Message, MessageId, Phase, breaker_key},
    clock::{Clock as _, SystemClock},
    store::{Store, StoreError, Tx, blob, hash, int, uint},
    watch::{Block, Walked},
};
use alloy::primitives::{Address, B256};
use serde_json::Value;
use sqlx::{Row, any::AnyRow};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex},
};

/// Who is to be told of something: names of channels.
pub(crate) type Router = Arc<dyn Fn(&About) -> Vec<String> + Send + Sync>;

/// A chain, by name.
#[derive(Clone, Debug)]
pub(crate) struct ChainName {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// A link to a transaction, with `{tx}` in it.
    pub(crate) tx_link: Option<String>,
    /// Walked blocks that are kept below the final one.
    pub(crate) reorg_window: u64,
}

/// What is watched of a chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) contracts: Vec<WatchedContract>,
    /// What other contracts emit counts as well.
    pub(crate) anywhere: Option<Anywhere>,
    /// Whether history is told event by event, where it is summed up else.
    pub(crate) tells_history: bool,
}

/// A contract that is listed.
#[derive(Clone, Debug)]
pub(crate) struct WatchedContract {
    pub(crate) address: Address,
    pub(crate) label: Option<String>,
    pub(crate) start: u64,
    /// Labels by slot, as far as the breakers are known beforehand.
    pub(crate) breakers: BTreeMap<B256, Option<String>>,
    pub(crate) read_back: bool,
    /// Whether its events without an id count, as those of a breaker of its own.
    pub(crate) is_legacy: bool,
}

/// Contracts that nobody listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anywhere {
    /// The first block that is read of them. Once it is stored it stays, as that of a listed contract does.
    pub(crate) start: u64,
    pub(crate) max_contracts: u64,
    pub(crate) alert: bool,
}

/// Where the watch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursors {
    pub(crate) seen: Option<Block>,
    pub(crate) last_final: Option<Block>,
}

/// A contract, and how far it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contract {
    pub(crate) address: Address,
    pub(crate) start: u64,
    /// The last block that was read; below `start` where none was.
    pub(crate) scanned_to: u64,
    /// Whether its events without an id count.
    pub(crate) is_legacy: bool,
}

/// One chain in the store. Only one writes at a time.
#[derive(Clone)]
pub(crate) struct Ledger {
    pub(super) store: Store,
    pub(super) chain: Arc<ChainName>,
    pub(super) genesis: B256,
    pub(super) watched: Arc<Watched>,
    anywhere_from: Option<u64>,
    pub(super) router: Router,
    /// Breakers whose storage contradicted their events once, and how: it counts when it is read again.
    pub(super) suspects: Arc<Mutex<BTreeMap<breakers::Slot, String>>>,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Opens a chain in the store, and lists in it what is watched. Where blocks of it were read, its first block stays
    /// the one that was found then: whether nodes are still on that chain is for the watch to say.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn open(
        store: Store,
        chain: ChainName,
        genesis: B256,
        watched: Watched,
        router: Router,
    ) -> Result<Self, StoreError> {
        let mut ledger = Self {
            store,
            chain: chain.into(),
            genesis,
            watched: watched.into(),
            anywhere_from: None,
            router,
            suspects: Arc::default(),
        };
        let mut tx = ledger.store.begin().await?;
        let id = int(ledger.chain.id);
        sqlx::query(
            "INSERT INTO chain (chain_id, name, genesis) VALUES ($1, $2, $3)
             ON CONFLICT (chain_id) DO UPDATE SET genesis = excluded.genesis WHERE chain.seen_number IS NULL",
        )
        .bind(id)
        .bind(ledger.chain.name.as_str())
        .bind(blob(genesis))
        .execute(&mut *tx)
        .await?;
        let row = sqlx::query("SELECT genesis FROM chain WHERE chain_id = $1")
            .bind(id)
            .fetch_one(&mut *tx)
            .await?;
        ledger.genesis = hash(&row.try_get::<Vec<u8>, _>(0)?)?;
        sqlx::query("UPDATE chain SET name = $2 WHERE chain_id = $1")
            .bind(id)
            .bind(ledger.chain.name.as_str())
            .execute(&mut *tx)
            .await?;
        ledger.list(&mut tx).await?;
        ledger.anywhere_from = ledger.list_anywhere(&mut tx).await?;
        tx.commit().await?;
        Ok(ledger)
    }

    async fn list(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let cursors = cursors(tx, self.chain.id).await?;
        // What is added to a chain that was read before has its history up to here.
        let first_final = match self.watched.tells_history {
            true => Some(0),
            false => cursors.last_final.map(|block| int(block.number)),
        };
        // What is not listed any more is not read any more. It stays as far as it was read, and goes on from there.
        sqlx::query(
            "UPDATE contract SET source = 'discovered' WHERE chain_id = $1 AND source = 'listed'",
        )
        .bind(int(self.chain.id))
        .execute(&mut **tx)
        .await?;
        for contract in &self.watched.contracts {
            sqlx::query(
                "INSERT INTO contract (chain_id, address, label, source, start, scanned_to, first_final, digested)
                 VALUES ($1, $2, $3, 'listed', $4, $5, $6, $7)
                 ON CONFLICT (chain_id, address) DO UPDATE SET label = excluded.label, source = 'listed'",
            )
            .bind(int(self.chain.id))
            .bind(blob(contract.address.0))
            .bind(contract.label.as_deref())
            .bind(int(contract.start))
            .bind(int(contract.start) - 1)
            .bind(first_final)
            .bind(i64::from(self.watched.tells_history))
            .execute(&mut **tx)
            .await?;
            for (slot, label) in &contract.breakers {
                breakers::list(tx, self.chain.id, contract.address, *slot, label.as_deref())
                    .await?;
            }
        }
        Ok(())
    }

    /// The first block that is read of contracts that nobody listed. The one that was found when they were watched first:
    /// "from now on" must not become a later now by a restart, which would leave out what happened meanwhile.
    async fn list_anywhere(&self, tx: &mut Tx) -> Result<Option<u64>, StoreError> {
        let Some(anywhere) = self.watched.anywhere else { return Ok(None) };
        let name = format!("anywhere_from:{}", self.chain.id);
        sqlx::query("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(name.as_str())
            .bind(anywhere.start.to_string())
            .execute(&mut **tx)
            .await?;
        let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
            .bind(name.as_str())
            .fetch_one(&mut **tx)
            .await?;
        let stored: String = row.try_get(0)?;
        let start = stored.parse().map_err(|_| StoreError::Corrupt(format!("{name}: {stored}")))?;
        Ok(Some(start))
    }

    /// The first block that is read of contracts that nobody listed, where they count.
    pub(crate) fn anywhere_from(&self) -> Option<u64> {
        self.anywhere_from
    }

    pub(crate) fn genesis(&self) -> B256 {
        self.genesis
    }

    /// Where the watch goes on.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn cursors(&self) -> Result<Cursors, StoreError> {
        let mut tx = self.store.begin().await?;
        cursors(&mut tx, self.chain.id).await
    }

    /// The walked block of this height on the chain as it is stored.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn stored(&self, number: u64) -> Result<Option<Walked>, StoreError> {
        let row = sqlx::query(
            "SELECT number, hash, time, parent FROM block WHERE chain_id = $1 AND number = $2",
        )
        .bind(int(self.chain.id))
        .bind(int(number))
        .fetch_optional(self.store.reader())
        .await?;
        row.as_ref().map(walked).transpose()
    }

    /// The logs that are stored of a range of the chain: block number, block hash, log index.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn sightings(
        &self,
        from: u64,
        to: u64,
    ) -> Result<Vec<(u64, B256, u64)>, StoreError> {
        let rows = sqlx::query(
            "SELECT block_number, block_hash, log_index FROM fact
             WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3 AND status <> 'retracted'
             ORDER BY block_number, log_index",
        )
        .bind(int(self.chain.id))
        .bind(int(from))
        .bind(int(to))
        .fetch_all(self.store.reader())
        .await?;
        let read = |row: &AnyRow| {
            let hash = hash(&row.try_get::<Vec<u8>, _>(1)?)?;
            Ok((uint(row.try_get(0)?)?, hash, uint(row.try_get(2)?)?))
        };
        rows.iter().map(read).collect()
    }

    /// The contracts that are known, and how far each was read.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn contracts(&self) -> Result<Vec<Contract>, StoreError> {
        let rows = sqlx::query("SELECT address, start, scanned_to FROM contract WHERE chain_id = $1 AND source = 'listed'")
            .bind(int(self.chain.id))
            .fetch_all(self.store.reader())
            .await?;
        let legacy = self.watched.contracts.iter().filter(|one| one.is_legacy);
        let legacy: BTreeSet<_> = legacy.map(|one| one.address).collect();
        let read = |row: &AnyRow| {
            let start = uint(row.try_get(1)?)?;
            let scanned_to: i64 = row.try_get(2)?;
            let address = Address(hash(&row.try_get::<Vec<u8>, _>(0)?)?);
            Ok(Contract {
                address,
                start,
                scanned_to: u64::try_from(scanned_to).unwrap_or_default(),
                is_legacy: legacy.contains(&address),
            })
        };
        rows.iter().map(read).collect()
    }

    /// The names of listed breakers and their states, not more than so many.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn states(&self, limit: usize) -> Result<Vec<(String, String)>, StoreError> {
        let rows = sqlx::query(
            "SELECT contract, breaker, label, state FROM breaker WHERE chain_id = $1 AND listed = 1
             ORDER BY contract, breaker LIMIT $2",
        )
        .bind(int(self.chain.id))
        .bind(int(limit as u64))
        .fetch_all(self.store.reader())
        .await?;
        let read = |row: &AnyRow| {
            let contract = Address(hash(&row.try_get::<Vec<u8>, _>(0)?)?);
            let slot = hash(&row.try_get::<Vec<u8>, _>(1)?)?;
            let label: Option<String> = row.try_get(2)?;
            let name = label.unwrap_or_else(|| breaker_key(&self.chain.name, contract, slot));
            Ok((name, row.try_get(3)?))
        };
        rows.iter().map(read).collect()
    }

    /// What is final at the node when contracts are read for the first time: up to there is their history, which makes no
    /// alerts. Called once the watch knows it, and before the first batch; for contracts that have theirs it changes
    /// nothing.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn history_ends_at(&self, number: u64) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "UPDATE contract SET first_final = $2 WHERE chain_id = $1 AND first_final IS NULL",
        )
        .bind(int(self.chain.id))
        .bind(int(number))
        .execute(&mut *tx)
        .await?;
        sqlx::query("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(self.history_name())
            .bind(number.to_string())
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }

    /// What was final when this chain was read for the first time.
    pub(super) async fn history_end(&self, tx: &mut Tx) -> Result<Option<i64>, StoreError> {
        let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
            .bind(self.history_name())
            .fetch_optional(&mut **tx)
            .await?;
        Ok(row.and_then(|row| row.try_get::<String, _>(0).ok()?.parse().ok()))
    }

    fn history_name(&self) -> String {
        format!("history_end:{}", self.chain.id)
    }

    /// Tells of something that is no log: once for each `cause`.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn note(
        &self,
        kind: AlertType,
        cause: &str,
        at: u64,
        mut data: Value,
    ) -> Result<(), StoreError> {
        if let Some(fields) = data.as_object_mut() {
            fields.insert("v".to_owned(), 1.into());
            fields.insert("phase".to_owned(), Phase::Seen.name().into());
            fields.insert("chain".to_owned(), self.chain.name.as_str().into());
            fields.insert("severity".to_owned(), kind.severity().name().into());
        }
        let about = About {
            chain: Some(self.chain.name.clone()),
            label: None,
            kind,
            phase: Phase::Seen,
            severity: kind.severity(),
        };
        let channels = (self.router)(&about);
        let message = Message {
            id: MessageId::of_cause(kind, &format!("{}:{}:{cause}", self.chain.id, self.genesis)),
            key: self.chain.name.clone(),
            about,
            fact: None,
            note: Some(cause.to_owned()),
            data,
            at,
        };
        self.store.announce(&message, channels.iter().map(String::as_str), now_ms()).await?;
        Ok(())
    }
}

pub(super) async fn cursors(tx: &mut Tx, chain: u64) -> Result<Cursors, StoreError> {
    let row = sqlx::query(
        "SELECT seen_number, seen_hash, seen_time, final_number, final_hash, final_time FROM chain WHERE chain_id = $1",
    )
    .bind(int(chain))
    .fetch_one(&mut **tx)
    .await?;
    let block = |at: usize| -> Result<Option<Block>, StoreError> {
        let number: Option<i64> = row.try_get(at)?;
        let Some(number) = number else { return Ok(None) };
        let hash = hash(&row.try_get::<Vec<u8>, _>(at + 1)?)?;
        Ok(Some(Block { number: uint(number)?, hash, time: uint(row.try_get(at + 2)?)? }))
    };
    Ok(Cursors { seen: block(0)?, last_final: block(3)? })
}

fn walked(row: &AnyRow) -> Result<Walked, StoreError> {
    let block = Block {
        number: uint(row.try_get(0)?)?,
        hash: hash(&row.try_get::<Vec<u8>, _>(1)?)?,
        time: uint(row.try_get(2)?)?,
    };
    Ok(Walked { block, parent: hash(&row.try_get::<Vec<u8>, _>(3)?)? })
}

/// The facts of one breaker that are on the chain, in its order.
pub(super) async fn facts_of(
    tx: &mut Tx,
    chain: u64,
    slot: breakers::Slot,
    statuses: &str,
) -> Result<Vec<fact::Fact>, StoreError> {
    let query = format!(
        "SELECT {} FROM fact WHERE chain_id = $1 AND contract = $2 AND breaker = $3 AND status IN ({statuses})
         ORDER BY block_number, log_index",
        fact::COLUMNS
    );
    let rows = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(int(chain))
        .bind(blob(slot.0.0))
        .bind(blob(slot.1))
        .fetch_all(&mut **tx)
        .await?;
    rows.iter().map(fact::Fact::of_row).collect()
}

/// The machine's clock, for when rows are to be sent. What is true of a chain goes by its own.
pub(crate) fn now_ms() -> u64 {
    SystemClock.now_ms()
}
