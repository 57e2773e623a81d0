//! Takes in what the watch learned: blocks, facts, folds, messages, outbox and cursors, in one transaction.
//!
//! Taking the same batch in again changes nothing: facts have natural keys, messages have ids that follow from them.

use super::{
    breakers::{Breakers, STUCK_AFTER, Slot},
    fact::{COLUMNS, Fact},
    ledger::{Cursors, Ledger, cursors, facts_of, now_ms},
    state::Status,
    tally::Tally,
    tell::{Told, alert_type, moved_from},
};
use crate::{
    alert::{AlertType, Message, MessageId, Phase},
    metrics::Metric,
    store::{self, StoreError, Tx, blob, hash, int, uint},
    watch::{Batch, Block, Sighting, Walked},
};
use alloy::primitives::{Address, B256};
use fusebox_bindings::State;
use serde_json::{Value, json};
use sqlx::Row;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

impl Ledger {
    /// Stores a batch whole, or nothing of it.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn commit(&self, batch: &Batch) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        let begun = Instant::now();
        let cursors = cursors(&mut tx, self.chain.id).await?;
        let mut step = Step {
            ledger: self,
            tx,
            cursors,
            breakers: Breakers::of(self.chain.id),
            contracts: BTreeMap::new(),
            crossed: 0,
            now_ms: now_ms(),
            tally: Tally::default(),
        };
        step.take(batch).await?;
        let tally = std::mem::take(&mut step.tally);
        step.end().await?;
        tally.count(&self.chain.name);
        metrics::histogram!(Metric::StoreCommit.name()).record(begun.elapsed());
        self.store.news();
        Ok(())
    }
}

/// A transaction on its way.
struct Step<'l> {
    ledger: &'l Ledger,
    tx: Tx,
    cursors: Cursors,
    breakers: Breakers,
    contracts: BTreeMap<Address, Option<Source>>,
    /// The newest block whose time has made breakers half-open.
    crossed: u64,
    now_ms: u64,
    tally: Tally,
}

/// What decides whether a contract's facts are told.
#[derive(Clone, Debug)]
struct Source {
    label: Option<String>,
    is_listed: bool,
    first_final: Option<u64>,
    /// Its history was summed up, or has not to be.
    is_digested: bool,
}

impl Source {
    /// Whether what happened in this block is history, which is summed up.
    fn is_history(&self, number: u64) -> bool {
        self.first_final.is_none_or(|last| number <= last)
    }
}

impl Step<'_> {
    async fn take(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if let Some(to) = batch.rewound_to {
            self.rewind(to).await?;
        }
        let last_final = batch.last_final.or(self.cursors.last_final);
        let mut sightings = batch.sightings.iter().peekable();
        for walked in &batch.blocks {
            while let Some(sighting) = sightings.next_if(|at| at.block.number < walked.block.number)
            {
                self.sight(sighting, last_final).await?;
            }
            self.walk(walked).await?;
            self.cross(walked.block).await?;
            while let Some(sighting) =
                sightings.next_if(|at| at.block.number == walked.block.number)
            {
                self.sight(sighting, last_final).await?;
            }
        }
        for sighting in sightings {
            self.sight(sighting, last_final).await?;
        }
        if let Some(last_final) = batch.last_final {
            self.finalize(last_final).await?;
        }
        for (address, to) in &batch.scanned {
            sqlx::query("UPDATE contract SET scanned_to = $3 WHERE chain_id = $1 AND address = $2 AND scanned_to < $3")
                .bind(int(self.ledger.chain.id))
                .bind(blob(address.0))
                .bind(int(*to))
                .execute(&mut *self.tx)
                .await?;
        }
        self.cursors.seen = batch
            .seen
            .or(batch
                .last_final
                .filter(|last| self.cursors.seen.is_none_or(|seen| seen.number < last.number)))
            .or(self.cursors.seen);
        let is_walked = !batch.blocks.is_empty() && batch.last_final.is_none();
        if let Some(clock) = self.cursors.seen {
            self.cross(clock).await?;
            // What was open for long in the past is over, or will be told at its end.
            if is_walked {
                self.stuck(clock).await?;
            }
        }
        self.end_of_history(is_walked).await
    }

    async fn end(mut self) -> Result<(), StoreError> {
        self.breakers.store(&mut self.tx).await?;
        let Cursors { seen, last_final } = self.cursors;
        let number = |block: Option<Block>| block.map(|block| int(block.number));
        let hash = |block: Option<Block>| block.map(|block| blob(block.hash));
        let time = |block: Option<Block>| block.map(|block| int(block.time));
        sqlx::query(
            "UPDATE chain SET seen_number = $2, seen_hash = $3, seen_time = $4,
               final_number = $5, final_hash = $6, final_time = $7 WHERE chain_id = $1",
        )
        .bind(int(self.ledger.chain.id))
        .bind(number(seen))
        .bind(hash(seen))
        .bind(time(seen))
        .bind(number(last_final))
        .bind(hash(last_final))
        .bind(time(last_final))
        .execute(&mut *self.tx)
        .await?;
        Ok(self.tx.commit().await?)
    }

    async fn walk(&mut self, walked: &Walked) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO block (chain_id, hash, number, parent, time) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        )
        .bind(int(self.ledger.chain.id))
        .bind(blob(walked.block.hash))
        .bind(int(walked.block.number))
        .bind(blob(walked.parent))
        .bind(int(walked.block.time))
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    /// What is above a block has left the chain.
    async fn rewind(&mut self, to: Block) -> Result<(), StoreError> {
        let chain = int(self.ledger.chain.id);
        let query = format!(
            "SELECT {COLUMNS} FROM fact WHERE chain_id = $1 AND block_number > $2 AND status <> 'retracted'
             ORDER BY block_number DESC, log_index DESC"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(chain)
            .bind(int(to.number))
            .fetch_all(&mut *self.tx)
            .await?;
        let facts = rows.iter().map(Fact::of_row).collect::<Result<Vec<_>, _>>()?;
        for statement in [
            "UPDATE fact SET status = 'retracted' WHERE chain_id = $1 AND block_number > $2 AND status <> 'retracted'",
            "DELETE FROM block WHERE chain_id = $1 AND number > $2",
        ] {
            sqlx::query(statement).bind(chain).bind(int(to.number)).execute(&mut *self.tx).await?;
        }
        let after_final = self.cursors.last_final.filter(|last| last.number > to.number);
        let touched: BTreeSet<Slot> =
            facts.iter().filter_map(|fact| Some((fact.contract, fact.event?.0))).collect();
        for slot in touched {
            self.refold(slot, to.time, after_final.is_some()).await?;
        }
        for slot in self.breakers.undone(&mut self.tx, to.time).await? {
            self.breakers.get(&mut self.tx, slot).await?.settle(to.time);
        }
        for fact in &facts {
            self.tally.add(fact, Phase::Retracted);
            let is_after_final = after_final.is_some_and(|last| fact.block.number <= last.number);
            self.retract(fact, is_after_final).await?;
        }
        self.cursors.seen = Some(to);
        if after_final.is_some() {
            self.cursors.last_final = Some(to);
            // The range is read again, by the cursors; so no contract may be taken to be further.
            sqlx::query(
                "UPDATE contract SET scanned_to = $2 WHERE chain_id = $1 AND scanned_to > $2",
            )
            .bind(chain)
            .bind(int(to.number))
            .execute(&mut *self.tx)
            .await?;
        }
        self.crossed = to.number;
        Ok(())
    }

    /// A breaker's state anew, from the facts that are on the chain.
    async fn refold(
        &mut self,
        slot: Slot,
        now: u64,
        from_the_start: bool,
    ) -> Result<(), StoreError> {
        let chain = self.ledger.chain.id;
        let finals = match from_the_start {
            true => Some(facts_of(&mut self.tx, chain, slot, "'final'").await?),
            false => None,
        };
        let seen = facts_of(&mut self.tx, chain, slot, "'seen'").await?;
        let breaker = self.breakers.get(&mut self.tx, slot).await?;
        if let Some(finals) = finals {
            breaker.final_fold = Default::default();
            finals.iter().for_each(|fact| fact.apply_to(&mut breaker.final_fold));
        }
        breaker.fold = breaker.final_fold;
        seen.iter().for_each(|fact| fact.apply_to(&mut breaker.fold));
        breaker.stuck_at = None;
        // It was read on what has left.
        breaker.word = None;
        breaker.settle(now);
        Ok(())
    }

    /// A log, where it was not known or had left.
    async fn sight(
        &mut self,
        sighting: &Sighting,
        last_final: Option<Block>,
    ) -> Result<(), StoreError> {
        let Some(source) = self.source(sighting).await? else { return Ok(()) };
        if !sighting.late {
            self.cross(sighting.block).await?;
        }
        let mut fact = Fact::of_sighting(sighting);
        let is_final = last_final.is_some_and(|last| sighting.block.number <= last.number);
        let row = sqlx::query(
            "INSERT INTO fact (chain_id, block_hash, log_index, block_number, block_time, tx_hash, contract, breaker,
               kind, raw, status, entries, late)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, $12)
             ON CONFLICT (chain_id, block_hash, log_index) DO UPDATE
               SET status = excluded.status, entries = fact.entries + 1, late = excluded.late
               WHERE fact.status = 'retracted'
             RETURNING entries",
        )
        .bind(int(self.ledger.chain.id))
        .bind(blob(fact.id.block))
        .bind(int(fact.id.log_index))
        .bind(int(fact.block.number))
        .bind(int(fact.block.time))
        .bind(fact.transaction.map(blob))
        .bind(blob(fact.contract.0))
        .bind(fact.breaker_blob())
        .bind(fact.kind())
        .bind(fact.raw.as_slice())
        .bind(if is_final { "final" } else { "seen" })
        .bind(i64::from(fact.late))
        .fetch_optional(&mut *self.tx)
        .await?;
        let Some(row) = row else { return Ok(()) };
        fact.entries = uint(row.try_get(0)?)?;
        self.tally.add(&fact, if is_final { Phase::Final } else { Phase::Seen });
        let tells = fact.late || !source.is_history(fact.block.number);
        self.fold(&fact, is_final).await?;
        if tells && self.tells(&source) {
            self.announce(&fact, &source, is_final).await?;
        }
        Ok(())
    }

    async fn fold(&mut self, fact: &Fact, is_final: bool) -> Result<(), StoreError> {
        let Some((breaker, _)) = fact.event else { return Ok(()) };
        let slot = (fact.contract, breaker);
        if fact.late {
            // Others that came after it were taken in before it.
            let now =
                self.cursors.seen.map_or(fact.block.time, |seen| seen.time.max(fact.block.time));
            return self.refold(slot, now, true).await;
        }
        let row = self.breakers.get(&mut self.tx, slot).await?;
        if is_final {
            fact.apply_to(&mut row.final_fold);
        }
        fact.apply_to(&mut row.fold);
        row.settle(fact.block.time);
        Ok(())
    }

    async fn announce(
        &mut self,
        fact: &Fact,
        source: &Source,
        is_final: bool,
    ) -> Result<(), StoreError> {
        let kind = alert_type(fact);
        if fact.event.is_none() {
            return self.announce_unknown(fact, source).await;
        }
        let phase = if is_final { Phase::Final } else { Phase::Seen };
        let mut message = self.about_fact(fact, fact.block, source, kind, phase).await?;
        if let Some(from) = self.moved_from(fact).await? {
            insert_data(&mut message, "moved_from", from);
        }
        self.tell(&message, Phase::Seen).await
    }

    /// Of logs of an unknown shape, one an hour for each contract: whoever deploys it can emit many.
    async fn announce_unknown(&mut self, fact: &Fact, source: &Source) -> Result<(), StoreError> {
        let kind = AlertType::BreakerUnknownLog;
        let told = Told {
            kind,
            phase: Phase::Seen,
            label: source.label.as_deref(),
            state: None,
            threshold: None,
        };
        let mut message = self.ledger.of_fact(fact, fact.block, told);
        let hour = fact.block.time / 3_600;
        message.id = MessageId::of_cause(
            kind,
            &format!("{}:{}:{}:{hour}", self.ledger.chain.id, self.ledger.genesis, fact.contract),
        );
        self.tell(&message, Phase::Seen).await
    }

    async fn about_fact(
        &mut self,
        fact: &Fact,
        block: Block,
        source: &Source,
        kind: AlertType,
        phase: Phase,
    ) -> Result<Message, StoreError> {
        let (label, state, threshold) = match fact.event {
            Some((breaker, _)) => {
                let row = self.breakers.get(&mut self.tx, (fact.contract, breaker)).await?;
                (row.label.clone().or_else(|| source.label.clone()), row.state, row.fold.threshold)
            }
            None => (source.label.clone(), None, None),
        };
        let told = Told { kind, phase, label: label.as_deref(), state, threshold };
        Ok(self.ledger.of_fact(fact, block, told))
    }

    /// Where the same transaction said the same before, in a block that left.
    async fn moved_from(&mut self, fact: &Fact) -> Result<Option<Value>, StoreError> {
        let Some(transaction) = fact.transaction else { return Ok(None) };
        let row = sqlx::query(
            "SELECT block_number, block_hash FROM fact
             WHERE chain_id = $1 AND tx_hash = $2 AND contract = $3 AND breaker = $4 AND kind = $5
               AND status = 'retracted' AND block_hash <> $6
             ORDER BY block_number DESC LIMIT 1",
        )
        .bind(int(self.ledger.chain.id))
        .bind(blob(transaction))
        .bind(blob(fact.contract.0))
        .bind(fact.breaker_blob())
        .bind(fact.kind())
        .bind(blob(fact.id.block))
        .fetch_optional(&mut *self.tx)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let hash: B256 = hash(&row.try_get::<Vec<u8>, _>(1)?)?;
        Ok(Some(moved_from(uint(row.try_get(0)?)?, hash)))
    }

    /// Takes back what was told of a fact, at those who heard of it or may have.
    async fn retract(&mut self, fact: &Fact, after_final: bool) -> Result<(), StoreError> {
        let Some(source) = self.contract(fact.contract).await? else { return Ok(()) };
        for kind in [AlertType::BreakerHalfOpen, alert_type(fact)] {
            let said = [Phase::Seen, Phase::Final]
                .map(|phase| self.ledger.fact_message_id(fact, kind, phase).to_string());
            let row = sqlx::query("SELECT COUNT(*) FROM message WHERE id IN ($1, $2)")
                .bind(said[0].as_str())
                .bind(said[1].as_str())
                .fetch_one(&mut *self.tx)
                .await?;
            if row.try_get::<i64, _>(0)? == 0 {
                continue;
            }
            sqlx::query(
                "UPDATE outbox SET status = 'superseded'
                 WHERE message IN ($1, $2) AND status IN ('pending', 'dead') AND maybe_delivered = 0",
            )
            .bind(said[0].as_str())
            .bind(said[1].as_str())
            .execute(&mut *self.tx)
            .await?;
            let rows = sqlx::query(
                "SELECT DISTINCT channel FROM outbox
                 WHERE message IN ($1, $2) AND (status IN ('delivered', 'claimed') OR maybe_delivered = 1)",
            )
            .bind(said[0].as_str())
            .bind(said[1].as_str())
            .fetch_all(&mut *self.tx)
            .await?;
            let heard =
                rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
            let mut message =
                self.about_fact(fact, fact.block, &source, kind, Phase::Retracted).await?;
            if after_final {
                insert_data(&mut message, "after_final", true.into());
            }
            let heard = heard.iter().map(String::as_str);
            store::insert(&mut self.tx, &message, heard, self.now_ms).await?;
        }
        Ok(())
    }

    /// What is up to this block will not leave.
    async fn finalize(&mut self, last: Block) -> Result<(), StoreError> {
        let chain = int(self.ledger.chain.id);
        let before = self.cursors.last_final;
        let query = format!(
            "SELECT {COLUMNS} FROM fact WHERE chain_id = $1 AND block_number <= $2 AND status = 'seen'
             ORDER BY block_number, log_index"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query))
            .bind(chain)
            .bind(int(last.number))
            .fetch_all(&mut *self.tx)
            .await?;
        for row in &rows {
            let fact = Fact::of_row(row)?;
            self.tally.add(&fact, Phase::Final);
            if let Some((breaker, _)) = fact.event {
                let row = self.breakers.get(&mut self.tx, (fact.contract, breaker)).await?;
                fact.apply_to(&mut row.final_fold);
            }
            self.confirm(&fact).await?;
        }
        sqlx::query("UPDATE fact SET status = 'final' WHERE chain_id = $1 AND block_number <= $2 AND status = 'seen'")
            .bind(chain)
            .bind(int(last.number))
            .execute(&mut *self.tx)
            .await?;
        // Others are not read.
        sqlx::query(
            "UPDATE contract SET scanned_to = $2 WHERE chain_id = $1 AND source = 'listed'
               AND scanned_to < $2 AND ($3 IS NULL OR scanned_to >= $3)",
        )
        .bind(chain)
        .bind(int(last.number))
        .bind(before.map(|block| int(block.number)))
        .execute(&mut *self.tx)
        .await?;
        let kept = last.number.saturating_sub(self.ledger.chain.reorg_window);
        sqlx::query("DELETE FROM block WHERE chain_id = $1 AND number < $2")
            .bind(chain)
            .bind(int(kept))
            .execute(&mut *self.tx)
            .await?;
        self.cursors.last_final = Some(last);
        Ok(())
    }

    /// What was told as seen is final: for those who asked to hear that.
    async fn confirm(&mut self, fact: &Fact) -> Result<(), StoreError> {
        let kind = alert_type(fact);
        let seen = self.ledger.fact_message_id(fact, kind, Phase::Seen);
        let row = sqlx::query("SELECT COUNT(*) FROM message WHERE id = $1")
            .bind(seen.as_str())
            .fetch_one(&mut *self.tx)
            .await?;
        if row.try_get::<i64, _>(0)? == 0 {
            return Ok(());
        }
        let Some(source) = self.contract(fact.contract).await? else { return Ok(()) };
        let message = self.about_fact(fact, fact.block, &source, kind, Phase::Final).await?;
        self.tell(&message, Phase::Final).await
    }

    /// The time of a block makes breakers half-open.
    async fn cross(&mut self, block: Block) -> Result<(), StoreError> {
        if block.number <= self.crossed && self.crossed > 0 {
            return Ok(());
        }
        self.crossed = block.number;
        for slot in self.breakers.due(&mut self.tx, block.time).await? {
            let row = self.breakers.get(&mut self.tx, slot).await?;
            row.settle(block.time);
            let (status, due, label, threshold) =
                (row.fold.status, row.due(), row.label.clone(), row.fold.threshold);
            let Some(source) = self.contract(slot.0).await? else { continue };
            // While the history of a contract is read that joins later, the clock is long past it: what that makes
            // half-open is in the sum.
            if source.is_history(block.number) || !source.is_digested || !self.tells(&source) {
                continue;
            }
            let Status::Open { opened, .. } = status else {
                // Known from its storage: it opened before anybody watched.
                let label = label.or(source.label);
                let told = Told {
                    kind: AlertType::BreakerHalfOpen,
                    phase: Phase::Seen,
                    label: label.as_deref(),
                    state: Some(State::HalfOpen),
                    threshold,
                };
                let cause = due.unwrap_or_default().to_string();
                let message =
                    self.ledger.of_breaker(slot, block, &cause, told, json!({ "retry_at": due }));
                self.tell(&message, Phase::Seen).await?;
                continue;
            };
            let query = format!(
                "SELECT {COLUMNS} FROM fact WHERE chain_id = $1 AND block_hash = $2 AND log_index = $3"
            );
            let row = sqlx::query(sqlx::AssertSqlSafe(query))
                .bind(int(self.ledger.chain.id))
                .bind(blob(opened.block))
                .bind(int(opened.log_index))
                .fetch_one(&mut *self.tx)
                .await?;
            let fact = Fact::of_row(&row)?;
            let message = self
                .about_fact(&fact, block, &source, AlertType::BreakerHalfOpen, Phase::Seen)
                .await?;
            self.tell(&message, Phase::Seen).await?;
        }
        Ok(())
    }

    /// Breakers that have been open for too long.
    async fn stuck(&mut self, clock: Block) -> Result<(), StoreError> {
        for slot in self.breakers.stuck(&mut self.tx, clock.time).await? {
            let row = self.breakers.get(&mut self.tx, slot).await?;
            let (Some((_, since)), Some(mut at)) = (row.fold.since, row.stuck_at) else { continue };
            let mut passed = at;
            while at <= clock.time {
                passed = at;
                at = since
                    .saturating_add(at.saturating_sub(since).max(STUCK_AFTER).saturating_mul(2));
            }
            row.stuck_at = Some(at);
            let (label, state, threshold) = (row.label.clone(), row.state, row.fold.threshold);
            let Some(source) = self.contract(slot.0).await? else { continue };
            if source.is_history(clock.number) || !self.tells(&source) {
                continue;
            }
            let label = label.or(source.label);
            let told = Told {
                kind: AlertType::BreakerStuck,
                phase: Phase::Seen,
                label: label.as_deref(),
                state,
                threshold,
            };
            let cause = format!("{since}:{}", passed - since);
            let more = json!({ "open_for": clock.time - since, "since": since });
            let message = self.ledger.of_breaker(slot, clock, &cause, told, more);
            self.tell(&message, Phase::Seen).await?;
        }
        Ok(())
    }

    /// Sums up the history of contracts whose history is read.
    async fn end_of_history(&mut self, walks: bool) -> Result<(), StoreError> {
        let chain = int(self.ledger.chain.id);
        let Some(last_final) = self.cursors.last_final else { return Ok(()) };
        if walks {
            sqlx::query(
                "UPDATE contract SET first_final = $2 WHERE chain_id = $1 AND first_final IS NULL",
            )
            .bind(chain)
            .bind(int(last_final.number))
            .execute(&mut *self.tx)
            .await?;
        }
        let rows = sqlx::query(
            "SELECT address FROM contract WHERE chain_id = $1 AND digested = 0 AND first_final <= $2 AND scanned_to >= first_final",
        )
        .bind(chain)
        .bind(int(last_final.number))
        .fetch_all(&mut *self.tx)
        .await?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut open = Vec::new();
        let mut silent = false;
        for row in &rows {
            let address = Address(hash(&row.try_get::<Vec<u8>, _>(0)?)?);
            self.contracts.remove(&address);
            let source = self.contract(address).await?;
            silent |= !source.is_some_and(|source| self.tells(&source));
            open.extend(self.breakers.open_of(&mut self.tx, address).await?);
        }
        sqlx::query("UPDATE contract SET digested = 1 WHERE chain_id = $1 AND digested = 0 AND first_final <= $2 AND scanned_to >= first_final")
            .bind(chain)
            .bind(int(last_final.number))
            .execute(&mut *self.tx)
            .await?;
        if open.is_empty() || silent {
            return Ok(());
        }
        let message = self.ledger.digest(last_final, rows.len(), &open);
        self.tell(&message, Phase::Seen).await
    }

    /// Puts a message in, for those who want to hear such a thing; what is final when it is first met is news all the same.
    async fn tell(&mut self, message: &Message, as_phase: Phase) -> Result<(), StoreError> {
        let mut about = message.about.clone();
        about.phase = as_phase;
        let channels = (self.ledger.router)(&about);
        let channels = channels.iter().map(String::as_str);
        store::insert(&mut self.tx, message, channels, self.now_ms).await?;
        Ok(())
    }

    /// Whether anything is told of a contract; of strangers' only on request.
    fn tells(&self, source: &Source) -> bool {
        source.is_listed || self.ledger.watched.anywhere.is_some_and(|anywhere| anywhere.alert)
    }

    /// The contract of a log; a new one is put in, where strangers' count and there is room. `None`: not of interest.
    async fn source(&mut self, sighting: &Sighting) -> Result<Option<Source>, StoreError> {
        if let Some(source) = self.contract(sighting.contract).await? {
            return Ok(Some(source));
        }
        let Some(anywhere) = self.ledger.watched.anywhere else { return Ok(None) };
        let chain = int(self.ledger.chain.id);
        let row = sqlx::query(
            "SELECT COUNT(*) FROM contract WHERE chain_id = $1 AND source = 'discovered'",
        )
        .bind(chain)
        .fetch_one(&mut *self.tx)
        .await?;
        if uint(row.try_get(0)?)? >= anywhere.max_contracts {
            return Ok(None);
        }
        let first_final = match self.ledger.watched.tells_history {
            true => Some(0),
            false => self
                .ledger
                .history_end(&mut self.tx)
                .await?
                .or(self.cursors.last_final.map(|last| int(last.number))),
        };
        let number = int(sighting.block.number);
        sqlx::query(
            "INSERT INTO contract (chain_id, address, source, start, scanned_to, first_final, digested)
             VALUES ($1, $2, 'discovered', $3, $3, $4, 1)",
        )
        .bind(chain)
        .bind(blob(sighting.contract.0))
        .bind(number)
        .bind(first_final)
        .execute(&mut *self.tx)
        .await?;
        self.contracts.remove(&sighting.contract);
        self.contract(sighting.contract).await
    }

    async fn contract(&mut self, address: Address) -> Result<Option<Source>, StoreError> {
        if let Some(known) = self.contracts.get(&address) {
            return Ok(known.clone());
        }
        let row = sqlx::query(
            "SELECT label, source, first_final, digested FROM contract WHERE chain_id = $1 AND address = $2",
        )
        .bind(int(self.ledger.chain.id))
        .bind(blob(address.0))
        .fetch_optional(&mut *self.tx)
        .await?;
        let source = match row {
            Some(row) => {
                let first_final: Option<i64> = row.try_get(2)?;
                Some(Source {
                    label: row.try_get(0)?,
                    is_listed: row.try_get::<String, _>(1)? == "listed",
                    first_final: first_final.map(uint).transpose()?,
                    is_digested: row.try_get::<i64, _>(3)? != 0,
                })
            }
            None => None,
        };
        self.contracts.insert(address, source.clone());
        Ok(source)
    }
}

fn insert_data(message: &mut Message, name: &str, value: Value) {
    if let Some(fields) = message.data.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}
