//! Storage, compared with what events told.
//!
//! A missed log, a foreign write and a slot that is no breaker all show as a difference. Between the reading and here
//! there may be a newer event, so a difference counts when it is read twice.

use super::{
    breakers::{Breakers, Slot},
    ledger::{Ledger, cursors, now_ms},
    tell::Told,
};
use crate::{
    alert::{AlertType, Phase},
    metrics::Metric,
    store::{self, StoreError, blob, hash, int},
    watch::{Block, LEGACY},
};
use alloy::primitives::{Address, U256};
use fusebox_bindings::Word;
use serde_json::json;
use sqlx::{Row, any::AnyRow};
use std::sync::PoisonError;

/// How many words are asked for at once.
const AT_ONCE: i64 = 100;

impl Ledger {
    /// The breakers whose storage is to be read, since something happened to them. Not more than fit into a batch.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn words_wanted(&self) -> Result<Vec<Slot>, StoreError> {
        let rows = sqlx::query(
            "SELECT b.contract, b.breaker FROM breaker b
             WHERE b.chain_id = $1 AND b.word_number IS NULL AND b.breaker <> $3 LIMIT $2",
        )
        .bind(int(self.chain.id))
        .bind(AT_ONCE)
        // It is in no slot that is known.
        .bind(blob(LEGACY))
        .fetch_all(self.store.reader())
        .await?;
        let read = |row: &AnyRow| {
            let contract = Address(hash(&row.try_get::<Vec<u8>, _>(0)?)?);
            Ok((contract, hash(&row.try_get::<Vec<u8>, _>(1)?)?))
        };
        rows.iter().map(read).collect()
    }

    /// Has all of them read again.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn audit(&self) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE breaker SET word_number = NULL WHERE chain_id = $1")
            .bind(int(self.chain.id))
            .execute(&mut *tx)
            .await?;
        Ok(tx.commit().await?)
    }

    /// Takes words in that were read at a block. At any other than the newest one they say nothing.
    ///
    /// # Errors
    /// When a query fails.
    pub(crate) async fn read_back(
        &self,
        block: Block,
        words: &[(Slot, U256)],
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        if cursors(&mut tx, self.chain.id).await?.seen.is_none_or(|seen| seen.hash != block.hash) {
            return Ok(());
        }
        let mut told = Vec::new();
        for (slot, word) in words {
            // On its own: what is stored of it is the word only.
            let mut breakers = Breakers::of(self.chain.id);
            let breaker = breakers.get(&mut tx, *slot).await?;
            let word = Word(*word);
            let difference = breaker.fold.contradiction(word);
            let is_sure = self.is_repeated(*slot, difference.as_deref());
            breaker.word = Some(word);
            let (label, is_listed) = (breaker.label.clone(), breaker.is_listed);
            breaker.state = breaker.state_at(block.time);
            let (threshold, state) = (breaker.fold.threshold, breaker.state);
            let is_watched = self.is_read_back(slot.0);
            let (due, due_at) = (breaker.due().map(int), breaker.due_at().map(int));
            sqlx::query(
                "UPDATE breaker SET word = $4, word_number = $5, word_hash = $6, state = $7, drift = $8,
                   retry_at = $9, due_at = $10
                 WHERE chain_id = $1 AND contract = $2 AND breaker = $3",
            )
            .bind(int(self.chain.id))
            .bind(blob(slot.0.0))
            .bind(blob(slot.1))
            .bind(word.0.to_be_bytes::<32>().to_vec())
            // A first difference is to be read again.
            .bind((difference.is_none() || is_sure).then(|| int(block.number)))
            .bind(blob(block.hash))
            .bind(super::state::column(state))
            .bind(difference.as_deref().filter(|_| is_sure && is_watched))
            .bind(due)
            .bind(due_at)
            .execute(&mut *tx)
            .await?;
            let Some(difference) = difference.filter(|_| is_sure && is_listed && is_watched) else {
                continue;
            };
            let kind = AlertType::BreakerDrift;
            let about =
                Told { kind, phase: Phase::Seen, label: label.as_deref(), state, threshold };
            let cause = format!("{difference}:{}", breaker_since(&breaker.fold));
            told.push(self.of_breaker(*slot, block, &cause, about, json!({ "drift": difference })));
        }
        for message in &told {
            let channels = (self.router)(&message.about);
            store::insert(&mut tx, message, channels.iter().map(String::as_str), now_ms()).await?;
        }
        tx.commit().await?;
        if !told.is_empty() {
            let chain = self.chain.name.clone();
            metrics::counter!(Metric::BreakerDrift.name(), "chain" => chain)
                .increment(told.len() as u64);
            self.store.news();
        }
        Ok(())
    }

    /// Whether the same difference was there before; without one, whatever was is forgotten.
    fn is_repeated(&self, slot: Slot, difference: Option<&str>) -> bool {
        let mut suspects = self.suspects.lock().unwrap_or_else(PoisonError::into_inner);
        match difference {
            None => {
                suspects.remove(&slot);
                false
            }
            Some(now) => suspects.insert(slot, now.to_owned()).is_some_and(|before| before == now),
        }
    }

    fn is_read_back(&self, contract: Address) -> bool {
        let listed = self.watched.contracts.iter().find(|listed| listed.address == contract);
        listed.is_none_or(|listed| listed.read_back)
    }
}

/// The same drift after another event is news.
fn breaker_since(fold: &super::state::Folded) -> u64 {
    fold.since.map_or(0, |(number, _)| number)
}
