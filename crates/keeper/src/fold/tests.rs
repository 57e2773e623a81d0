//! The ledger against chains that are made up: what is stored, and what is told to whom.

use super::{ChainName, Contract, Cursors, Ledger, Router, Watched, WatchedContract};
use crate::{
    alert::{About, Phase},
    store::Store,
    watch::{Batch, Block, Sighting, Walked},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    sol_types::SolEvent,
};
use fusebox_bindings::events;
use proptest::prelude::*;
use serde_json::Value;
use sqlx::Row;
use std::{collections::BTreeMap, sync::Arc};

const HOST: Address = Address::repeat_byte(0x11);
const START: u64 = 100;

fn slot(n: u8) -> B256 {
    B256::with_last_byte(n)
}

/// A block of one fork; its time is ten times its number.
fn block(number: u64, fork: u8) -> Block {
    let hash = keccak256([&number.to_be_bytes()[..], &[fork]].concat());
    Block { number, hash, time: number * 10 }
}

fn walked(number: u64, fork: u8, parent_fork: u8) -> Walked {
    Walked { block: block(number, fork), parent: block(number - 1, parent_fork).hash }
}

fn log(block: Block, log_index: u64, topics: Vec<B256>, data: Bytes) -> Sighting {
    Sighting {
        block,
        transaction: Some(B256::with_last_byte(log_index as u8)),
        log_index,
        contract: HOST,
        topics,
        data,
        late: false,
    }
}

fn opened(block: Block, log_index: u64, breaker: u8, retry_at: u64) -> Sighting {
    let words = [U256::from(retry_at), U256::from(1)];
    let data: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes::<32>()).collect();
    log(block, log_index, vec![events::Opened::SIGNATURE_HASH, slot(breaker)], data.into())
}

fn closed(block: Block, log_index: u64, breaker: u8) -> Sighting {
    log(block, log_index, vec![events::Closed::SIGNATURE_HASH, slot(breaker)], Bytes::new())
}

/// `hook` hears all, `chat` all but what became final.
fn router() -> Router {
    Arc::new(|about: &About| {
        let chat = (about.phase != Phase::Final).then(|| "chat".to_owned());
        ["hook".to_owned()].into_iter().chain(chat).collect()
    })
}

fn watched() -> Watched {
    let breakers = BTreeMap::from([(slot(1), Some("vault/oracle".to_owned()))]);
    let contract = WatchedContract {
        address: HOST,
        label: Some("vault".to_owned()),
        start: START,
        breakers,
        read_back: true,
        is_legacy: false,
    };
    Watched { contracts: vec![contract], anywhere: None, tells_history: false }
}

struct Bench {
    store: Store,
    ledger: Ledger,
}

impl Bench {
    async fn new() -> Self {
        Self::watching(watched()).await
    }

    async fn watching(watched: Watched) -> Self {
        let store = Store::in_memory().await.unwrap();
        let name = ChainName { id: 1, name: "main".to_owned(), tx_link: None, reorg_window: 256 };
        let ledger =
            Ledger::open(store.clone(), name, B256::ZERO, watched, router()).await.unwrap();
        Self { store, ledger }
    }

    /// One whose history ended before block 100.
    async fn live() -> Self {
        let bench = Self::new().await;
        bench.ledger.history_ends_at(START - 1).await.unwrap();
        let ground = Some(block(START - 1, 0));
        bench.commit(Batch { last_final: ground, ..Batch::default() }).await;
        bench
    }

    async fn commit(&self, batch: Batch) {
        self.ledger.commit(&batch).await.unwrap();
    }

    /// One more block, with these logs.
    async fn append(&self, number: u64, fork: u8, parent_fork: u8, sightings: Vec<Sighting>) {
        self.commit(Batch {
            blocks: vec![walked(number, fork, parent_fork)],
            sightings,
            seen: Some(block(number, fork)),
            ..Batch::default()
        })
        .await;
    }

    /// What is told: phase, type, and the number of the block.
    async fn told(&self) -> Vec<(String, u64)> {
        let bodies = self.bodies().await;
        let line = |body: &Value| {
            let data = &body["data"];
            let kind = body["type"].as_str().unwrap();
            let number = data["block"]["number"].as_u64().unwrap();
            (format!("{} {kind}", data["phase"].as_str().unwrap()), number)
        };
        bodies.iter().map(line).collect()
    }

    async fn bodies(&self) -> Vec<Value> {
        let rows =
            sqlx::query("SELECT body FROM message ORDER BY seq").fetch_all(self.store.reader());
        let bodies = rows.await.unwrap().into_iter().map(|row| row.get::<String, _>(0));
        bodies.map(|body| serde_json::from_str(&body).unwrap()).collect()
    }

    /// What a channel is to send: phase, type, status.
    async fn outbox(&self, channel: &str) -> Vec<String> {
        let rows = sqlx::query(
            "SELECT m.phase, m.type, o.status FROM outbox o JOIN message m ON m.id = o.message
             WHERE o.channel = $1 ORDER BY o.seq",
        )
        .bind(channel)
        .fetch_all(self.store.reader())
        .await
        .unwrap();
        let text = |at: usize, row: &sqlx::any::AnyRow| row.get::<String, _>(at);
        rows.iter()
            .map(|row| format!("{} {} {}", text(0, row), text(1, row), text(2, row)))
            .collect()
    }

    async fn delivered(&self) {
        let update = sqlx::query("UPDATE outbox SET status = 'delivered' WHERE status = 'pending'");
        update.execute(self.store.reader()).await.unwrap();
    }

    async fn state(&self, breaker: u8) -> String {
        let row = sqlx::query("SELECT state FROM breaker WHERE breaker = $1")
            .bind(slot(breaker).to_vec())
            .fetch_optional(self.store.reader())
            .await
            .unwrap();
        row.map_or("absent".to_owned(), |row| row.get(0))
    }
}

fn lines(lines: &[(&str, u64)]) -> Vec<(String, u64)> {
    lines.iter().map(|(line, number)| ((*line).to_owned(), *number)).collect()
}

#[tokio::test]
async fn a_fact_is_told_as_seen_and_again_as_final_to_those_who_asked_for_it() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![opened(block(100, 0), 0, 1, 5_000)]).await;
    assert_eq!(bench.state(1).await, "open");
    bench.append(101, 0, 0, vec![]).await;
    bench.commit(Batch { last_final: Some(block(100, 0)), ..Batch::default() }).await;
    assert_eq!(
        bench.told().await,
        lines(&[("seen breaker.opened", 100), ("final breaker.opened", 100)])
    );
    assert_eq!(
        bench.outbox("hook").await,
        ["seen breaker.opened pending", "final breaker.opened pending"]
    );
    assert_eq!(bench.outbox("chat").await, ["seen breaker.opened pending"]);
    let body = &bench.bodies().await[0]["data"];
    assert_eq!(body["key"], format!("main:{HOST}:0x01"));
    assert_eq!(body["label"], "vault/oracle");
    assert_eq!(body["retry_at"], 5_000);
    assert_eq!(body["state"], "open");
    assert_eq!(body["fact"], format!("1:{}:0", block(100, 0).hash));
}

#[tokio::test]
async fn what_is_final_when_it_is_met_is_told_once_and_to_everybody() {
    let bench = Bench::live().await;
    bench
        .commit(Batch {
            sightings: vec![opened(block(150, 0), 0, 1, 5_000)],
            last_final: Some(block(200, 0)),
            ..Batch::default()
        })
        .await;
    assert_eq!(bench.outbox("hook").await, ["final breaker.opened pending"]);
    assert_eq!(bench.outbox("chat").await, ["final breaker.opened pending"]);
}

#[tokio::test]
async fn the_same_batch_again_changes_nothing() {
    let bench = Bench::live().await;
    let batch = Batch {
        blocks: vec![walked(100, 0, 0)],
        sightings: vec![opened(block(100, 0), 0, 1, 1_010), closed(block(100, 0), 1, 2)],
        seen: Some(block(100, 0)),
        ..Batch::default()
    };
    bench.commit(batch.clone()).await;
    bench.append(101, 0, 0, vec![]).await;
    let (told, outbox) = (bench.told().await, bench.outbox("hook").await);
    assert_eq!(told.len(), 3, "opened, closed, half-open");
    bench.commit(batch).await;
    assert_eq!((bench.told().await, bench.outbox("hook").await), (told, outbox));
    assert_eq!(bench.state(1).await, "half-open");
    assert_eq!(bench.state(2).await, "closed");
}

#[tokio::test]
async fn what_left_before_it_was_sent_is_not_sent() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![opened(block(100, 0), 0, 1, 5_000)]).await;
    bench.commit(Batch { rewound_to: Some(block(99, 0)), ..Batch::default() }).await;
    assert_eq!(
        bench.told().await,
        lines(&[("seen breaker.opened", 100), ("retracted breaker.opened", 100)])
    );
    assert_eq!(bench.outbox("hook").await, ["seen breaker.opened superseded"]);
    assert_eq!(bench.state(1).await, "unknown");
}

#[tokio::test]
async fn what_was_sent_and_left_is_taken_back_where_it_was_heard() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![opened(block(100, 0), 0, 1, 5_000)]).await;
    let update = "UPDATE outbox SET status = 'delivered' WHERE channel = 'hook'";
    sqlx::query(update).execute(bench.store.reader()).await.unwrap();
    bench.commit(Batch { rewound_to: Some(block(99, 0)), ..Batch::default() }).await;
    assert_eq!(
        bench.outbox("hook").await,
        ["seen breaker.opened delivered", "retracted breaker.opened pending"]
    );
    assert_eq!(bench.outbox("chat").await, ["seen breaker.opened superseded"]);
}

#[tokio::test]
async fn what_was_given_up_and_left_is_not_sent_by_hand_either() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![opened(block(100, 0), 0, 1, 5_000)]).await;
    let update = "UPDATE outbox SET status = 'dead'";
    sqlx::query(update).execute(bench.store.reader()).await.unwrap();
    bench.commit(Batch { rewound_to: Some(block(99, 0)), ..Batch::default() }).await;
    assert_eq!(bench.outbox("hook").await, ["seen breaker.opened superseded"]);
}

#[tokio::test]
async fn a_block_that_returns_is_no_repeat() {
    let bench = Bench::live().await;
    let sighting = || vec![opened(block(100, 0), 0, 1, 5_000)];
    bench.append(100, 0, 0, sighting()).await;
    bench.delivered().await;
    bench.commit(Batch { rewound_to: Some(block(99, 0)), ..Batch::default() }).await;
    bench.append(100, 0, 0, sighting()).await;
    assert_eq!(
        bench.outbox("hook").await,
        [
            "seen breaker.opened delivered",
            "retracted breaker.opened pending",
            "seen breaker.opened pending"
        ]
    );
    assert_eq!(bench.state(1).await, "open");
}

#[tokio::test]
async fn a_transaction_that_is_mined_again_says_where_it_was() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![opened(block(100, 0), 0, 1, 5_000)]).await;
    bench.delivered().await;
    bench
        .commit(Batch {
            rewound_to: Some(block(99, 0)),
            blocks: vec![walked(100, 1, 0), walked(101, 1, 1)],
            sightings: vec![opened(block(101, 1), 0, 1, 5_000)],
            seen: Some(block(101, 1)),
            ..Batch::default()
        })
        .await;
    assert_eq!(
        bench.told().await,
        lines(&[
            ("seen breaker.opened", 100),
            ("retracted breaker.opened", 100),
            ("seen breaker.opened", 101)
        ])
    );
    assert_eq!(bench.bodies().await[2]["data"]["moved_from"]["number"], 100);
}

#[tokio::test]
async fn half_open_comes_with_the_first_block_at_the_deadline_and_once() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![opened(block(100, 0), 0, 1, 1_030)]).await;
    bench.append(101, 0, 0, vec![]).await;
    bench.append(102, 0, 0, vec![]).await;
    assert_eq!(bench.state(1).await, "open", "a second before it, and ten");
    bench.append(103, 0, 0, vec![]).await;
    assert_eq!(bench.state(1).await, "half-open");
    // The block that crossed it leaves, and another crosses it.
    bench.commit(Batch { rewound_to: Some(block(102, 0)), ..Batch::default() }).await;
    assert_eq!(bench.state(1).await, "open");
    bench.append(103, 1, 0, vec![]).await;
    bench.append(104, 1, 1, vec![]).await;
    assert_eq!(
        bench.told().await,
        lines(&[("seen breaker.opened", 100), ("seen breaker.half_open", 103)])
    );
    // It is taken back with the opening.
    bench.delivered().await;
    bench.commit(Batch { rewound_to: Some(block(99, 0)), ..Batch::default() }).await;
    let told = bench.told().await;
    assert_eq!(
        told[2..],
        lines(&[("retracted breaker.half_open", 100), ("retracted breaker.opened", 100)])
    );
}

#[tokio::test]
async fn blocks_in_one_batch_are_taken_in_one_by_one() {
    let bench = Bench::live().await;
    bench
        .commit(Batch {
            blocks: (100..=103).map(|number| walked(number, 0, 0)).collect(),
            sightings: vec![opened(block(100, 0), 0, 1, 1_020), closed(block(103, 0), 0, 1)],
            seen: Some(block(103, 0)),
            ..Batch::default()
        })
        .await;
    assert_eq!(
        bench.told().await,
        lines(&[
            ("seen breaker.opened", 100),
            ("seen breaker.half_open", 102),
            ("seen breaker.closed", 103)
        ])
    );
}

#[tokio::test]
async fn history_is_summed_up_and_what_comes_after_it_is_told() {
    let bench = Bench::new().await;
    bench.ledger.history_ends_at(300).await.unwrap();
    bench
        .commit(Batch {
            sightings: vec![opened(block(150, 0), 0, 1, 9_000), opened(block(151, 0), 0, 2, 9_000)],
            last_final: Some(block(200, 0)),
            ..Batch::default()
        })
        .await;
    assert!(bench.told().await.is_empty());
    bench
        .commit(Batch {
            sightings: vec![closed(block(250, 0), 0, 2), closed(block(301, 0), 0, 1)],
            last_final: Some(block(310, 0)),
            ..Batch::default()
        })
        .await;
    let told = bench.told().await;
    assert_eq!(told[0], ("final breaker.closed".to_owned(), 301), "later than the history");
    assert_eq!(told.len(), 1, "all closed: {told:?}");
    let bench = Bench::new().await;
    bench.ledger.history_ends_at(300).await.unwrap();
    bench
        .commit(Batch {
            sightings: vec![opened(block(150, 0), 0, 1, 90_000)],
            last_final: Some(block(300, 0)),
            ..Batch::default()
        })
        .await;
    assert_eq!(bench.told().await, lines(&[("seen keeper.digest", 300)]));
    let digest = &bench.bodies().await[0]["data"];
    assert_eq!(digest["not_closed"], 1);
    assert_eq!(digest["breakers"][0]["label"], "vault/oracle");
}

#[tokio::test]
async fn what_became_half_open_in_the_history_of_a_contract_that_joins_later_is_in_the_sum() {
    let bench = Bench::live().await;
    let last = Some(block(300, 0));
    bench.commit(Batch { seen: last, last_final: last, ..Batch::default() }).await;
    // A second one, of which nothing was read yet.
    let joins = Address::repeat_byte(0x22);
    let mut more = watched();
    let contract = WatchedContract { address: joins, start: 10, ..more.contracts[0].clone() };
    more.contracts.push(contract);
    let name = ChainName { id: 1, name: "main".to_owned(), tx_link: None, reorg_window: 256 };
    let ledger = Ledger::open(bench.store.clone(), name, B256::ZERO, more, router()).await.unwrap();
    let bench = Bench { ledger, ..bench };
    let of = |sighting: Sighting| Sighting { contract: joins, ..sighting };
    let history = vec![of(opened(block(20, 0), 0, 1, 500))];
    bench
        .commit(Batch { sightings: history, scanned: vec![(joins, 150)], ..Batch::default() })
        .await;
    assert_eq!(bench.told().await, [], "long ago");
    bench.commit(Batch { scanned: vec![(joins, 300)], ..Batch::default() }).await;
    assert_eq!(bench.told().await, lines(&[("seen keeper.digest", 300)]));
    assert_eq!(bench.bodies().await[0]["data"]["breakers"][0]["state"], "half-open");
    // From here on it is as the others are.
    bench.append(301, 0, 0, vec![of(opened(block(301, 0), 1, 1, 3_020))]).await;
    bench.append(302, 0, 0, Vec::new()).await;
    let told = bench.told().await;
    assert_eq!(told[1..], lines(&[("seen breaker.opened", 301), ("seen breaker.half_open", 302)]));
}

#[tokio::test]
async fn a_late_fact_takes_its_place_in_the_order() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![]).await;
    bench.append(101, 0, 0, vec![closed(block(101, 0), 0, 1)]).await;
    let late = Sighting { late: true, ..opened(block(100, 0), 0, 1, 5_000) };
    bench
        .commit(Batch {
            sightings: vec![late],
            last_final: Some(block(101, 0)),
            ..Batch::default()
        })
        .await;
    assert_eq!(bench.state(1).await, "closed", "it closed after that");
    let told = bench.told().await;
    assert!(told.contains(&("final breaker.opened".to_owned(), 100)), "{told:?}");
    let late = bench.bodies().await.into_iter().find(|body| body["type"] == "breaker.opened");
    assert_eq!(late.unwrap()["data"]["late"], true);
}

#[tokio::test]
async fn a_rewind_below_what_was_final_says_so_and_refolds_from_the_start() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![closed(block(100, 0), 0, 1)]).await;
    bench.append(101, 0, 0, vec![opened(block(101, 0), 0, 1, 5_000)]).await;
    bench.commit(Batch { last_final: Some(block(101, 0)), ..Batch::default() }).await;
    bench.delivered().await;
    bench.commit(Batch { rewound_to: Some(block(100, 0)), ..Batch::default() }).await;
    assert_eq!(bench.state(1).await, "closed");
    let cursors = bench.ledger.cursors().await.unwrap();
    let at = Some(block(100, 0));
    assert_eq!(cursors, Cursors { seen: at, last_final: at });
    let last = bench.bodies().await.pop().unwrap();
    assert_eq!(last["data"]["phase"], "retracted");
    assert_eq!(last["data"]["after_final"], true);
}

#[tokio::test]
async fn logs_of_an_unknown_shape_are_told_once_an_hour() {
    let bench = Bench::live().await;
    let odd = |number: u64, index: u64| {
        let topics = vec![events::Closed::SIGNATURE_HASH, slot(1)];
        log(block(number, 0), index, topics, Bytes::from_static(&[1]))
    };
    bench.append(100, 0, 0, vec![odd(100, 0), odd(100, 1)]).await;
    bench.append(101, 0, 0, vec![odd(101, 0)]).await;
    bench.append(720, 0, 0, vec![odd(720, 0)]).await;
    assert_eq!(
        bench.told().await,
        lines(&[("seen breaker.unknown_log", 100), ("seen breaker.unknown_log", 720)])
    );
}

#[tokio::test]
async fn an_open_breaker_is_told_of_again_after_an_hour_then_two() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![opened(block(100, 0), 0, 1, u64::MAX)]).await;
    for number in [459, 460, 461, 819, 820, 1_540] {
        bench.append(number, 0, 0, vec![]).await;
    }
    assert_eq!(
        bench.told().await[1..],
        lines(&[
            ("seen breaker.stuck", 460),
            ("seen breaker.stuck", 820),
            ("seen breaker.stuck", 1_540)
        ])
    );
}

#[tokio::test]
async fn what_each_block_looks_for_is_found_by_an_index() {
    let bench = Bench::live().await;
    for (query, index) in [
        (
            "contract, breaker FROM breaker WHERE chain_id = 1 AND word_number IS NULL LIMIT 100",
            "breaker_unread",
        ),
        ("* FROM breaker WHERE chain_id = 1 AND due_at <= 5", "breaker_due"),
        ("* FROM breaker WHERE chain_id = 1 AND stuck_at <= 5", "breaker_stuck"),
        (
            "address FROM contract WHERE chain_id = 1 AND digested = 0 AND first_final <= 5 AND scanned_to >= first_final",
            "contract_undigested",
        ),
    ] {
        let explain = format!("EXPLAIN QUERY PLAN SELECT {query}");
        let row = sqlx::query(sqlx::AssertSqlSafe(explain)).fetch_one(bench.store.reader());
        let plan: String = row.await.unwrap().get("detail");
        assert!(plan.contains(index), "{query}: {plan}");
    }
}

#[tokio::test]
async fn who_is_muted_is_stored_and_not_sent() {
    let bench = Bench::live().await;
    let key = format!("main:{HOST}:0x01");
    sqlx::query("INSERT INTO mute (key, until, reason, at) VALUES ($1, 99999999999, 'test', 0)")
        .bind(key)
        .execute(bench.store.reader())
        .await
        .unwrap();
    bench
        .append(
            100,
            0,
            0,
            vec![opened(block(100, 0), 0, 1, 5_000), opened(block(100, 0), 1, 2, 5_000)],
        )
        .await;
    assert_eq!(bench.told().await.len(), 2);
    assert_eq!(bench.outbox("hook").await.len(), 1);
}

#[tokio::test]
async fn storage_that_contradicts_is_told_when_it_is_read_twice() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![closed(block(100, 0), 0, 1)]).await;
    let open = (U256::from(1) | (U256::from(3) << 24)) | (U256::from(5_000) << 72);
    let wanted = bench.ledger.words_wanted().await.unwrap();
    assert_eq!(wanted, [(HOST, slot(1))]);
    for (told, word) in [(1, open), (1, U256::from(3) << 24), (1, open), (2, open), (2, open)] {
        bench.ledger.read_back(block(100, 0), &[((HOST, slot(1)), word)]).await.unwrap();
        assert_eq!(bench.told().await.len(), told, "{word:x}");
    }
    assert_eq!(bench.told().await[1], ("seen breaker.drift".to_owned(), 100));
    // Of another block it says nothing.
    bench.append(101, 0, 0, vec![closed(block(101, 0), 0, 1)]).await;
    bench.ledger.read_back(block(100, 0), &[((HOST, slot(1)), open)]).await.unwrap();
    assert_eq!(bench.ledger.words_wanted().await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_no_event_told_is_known_from_storage() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![]).await;
    assert_eq!(bench.state(1).await, "unknown");
    let open = (U256::from(1) | (U256::from(3) << 24)) | (U256::from(5_000) << 72);
    bench.ledger.read_back(block(100, 0), &[((HOST, slot(1)), open)]).await.unwrap();
    assert_eq!(bench.state(1).await, "open");
    bench.append(499, 0, 0, vec![]).await;
    assert_eq!(bench.state(1).await, "open");
    bench.append(500, 0, 0, vec![]).await;
    assert_eq!(bench.state(1).await, "half-open");
    assert_eq!(bench.told().await, lines(&[("seen breaker.half_open", 500)]));
}

#[tokio::test]
async fn a_contract_that_is_taken_out_and_put_back_is_read_from_where_it_was_left() {
    let bench = Bench::live().await;
    bench.append(100, 0, 0, vec![]).await;
    bench.commit(Batch { last_final: Some(block(100, 0)), ..Batch::default() }).await;
    let open = async |watched| {
        let name = ChainName { id: 1, name: "main".to_owned(), tx_link: None, reorg_window: 256 };
        Ledger::open(bench.store.clone(), name, B256::ZERO, watched, router()).await.unwrap()
    };
    let without = open(Watched::default()).await;
    assert!(without.contracts().await.unwrap().is_empty());
    let batch = Batch {
        blocks: vec![walked(101, 0, 0)],
        seen: Some(block(101, 0)),
        last_final: Some(block(101, 0)),
        ..Batch::default()
    };
    without.commit(&batch).await.unwrap();
    let again = open(watched()).await.contracts().await.unwrap();
    assert_eq!(
        again,
        [Contract { address: HOST, start: START, scanned_to: 100, is_legacy: false }]
    );
}

#[tokio::test]
async fn the_first_block_is_the_one_that_was_found_when_others_were_read() {
    let bench = Bench::new().await;
    let open = async |genesis| {
        let name = ChainName { id: 1, name: "main".to_owned(), tx_link: None, reorg_window: 256 };
        Ledger::open(bench.store.clone(), name, genesis, watched(), router()).await.unwrap().genesis
    };
    let other = B256::repeat_byte(1);
    assert_eq!(open(other).await, other, "nothing was read");
    bench.append(100, 0, 0, vec![]).await;
    assert_eq!(open(B256::ZERO).await, other);
}

/// One step of a made-up chain.
#[derive(Clone, Debug)]
enum Op {
    /// A block with these events: breaker and, where it opens, after how many seconds it is half-open.
    Append(Vec<(u8, Option<u64>)>),
    /// So many blocks leave.
    Rewind(u64),
    /// All but so many blocks are final.
    Finalize(u64),
    /// What is waiting is sent.
    Deliver,
}

fn op() -> impl Strategy<Value = Op> {
    let event = (1_u8..4, prop::option::of(0_u64..60));
    prop_oneof![
        4 => prop::collection::vec(event, 0..4).prop_map(Op::Append),
        1 => (1_u64..4).prop_map(Op::Rewind),
        1 => (0_u64..3).prop_map(Op::Finalize),
        1 => Just(Op::Deliver),
    ]
}

/// A block of the model: its fork and its logs.
type Modelled = (u8, Vec<Sighting>);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens, what stands announced at a receiver is what is on the chain, and the states are those of the
    /// facts in order.
    #[test]
    fn what_stands_announced_is_what_is_on_the_chain(ops in prop::collection::vec(op(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::live().await;
            let mut chain: Vec<Modelled> = Vec::new();
            let (mut fork, mut finals) = (0_u8, 0_usize);
            for op in ops {
                match op {
                    Op::Append(events) => {
                        let number = START + chain.len() as u64;
                        let at = block(number, fork);
                        let parent = chain.last().map_or(0, |(fork, _)| *fork);
                        let sighting = |(index, (breaker, open)): (usize, (u8, Option<u64>))| {
                            let mut sighting = match open {
                                Some(after) => opened(at, index as u64, breaker, at.time + after),
                                None => closed(at, index as u64, breaker),
                            };
                            sighting.transaction = Some(keccak256([number as u8, index as u8, fork]));
                            sighting
                        };
                        let logs: Vec<_> = events.into_iter().enumerate().map(sighting).collect();
                        bench.append(number, fork, parent, logs.clone()).await;
                        chain.push((fork, logs));
                    }
                    Op::Rewind(blocks) => {
                        let left = chain.len().saturating_sub(blocks as usize).max(finals);
                        if left == chain.len() {
                            continue;
                        }
                        chain.truncate(left);
                        let at = chain.last().map_or(block(START - 1, 0), |(fork, _)| {
                            block(START + left as u64 - 1, *fork)
                        });
                        fork = fork.wrapping_add(1);
                        bench.commit(Batch { rewound_to: Some(at), ..Batch::default() }).await;
                    }
                    Op::Finalize(but) => {
                        finals = finals.max(chain.len().saturating_sub(but as usize));
                        let Some((fork, _)) = finals.checked_sub(1).map(|last| &chain[last]) else { continue };
                        let last_final = Some(block(START + finals as u64 - 1, *fork));
                        bench.commit(Batch { last_final, ..Batch::default() }).await;
                    }
                    Op::Deliver => bench.delivered().await,
                }
            }
            bench.delivered().await;
            let mut canonical: Vec<String> = chain
                .iter()
                .flat_map(|(_, logs)| logs)
                .map(|log| format!("1:{}:{}", log.block.hash, log.log_index))
                .collect();
            canonical.sort();
            // As a receiver keeps it: by fact, the last phase that came.
            let rows = sqlx::query(
                "SELECT m.body FROM outbox o JOIN message m ON m.id = o.message
                 WHERE o.channel = 'hook' AND o.status = 'delivered' AND m.type <> 'breaker.half_open'
                   AND m.type <> 'breaker.stuck' ORDER BY o.seq",
            )
            .fetch_all(bench.store.reader())
            .await
            .unwrap();
            let mut standing = BTreeMap::new();
            for row in rows {
                let body: Value = serde_json::from_str(&row.get::<String, _>(0)).unwrap();
                let data = &body["data"];
                standing.insert(data["fact"].to_string(), data["phase"] != "retracted");
            }
            let standing: Vec<String> = standing
                .into_iter()
                .filter(|(_, stands)| *stands)
                .map(|(fact, _)| fact.trim_matches('"').to_owned())
                .collect();
            assert_eq!(standing, canonical);
            let now = chain.len() as u64 * 10 + (START - 1) * 10;
            for breaker in 1..4 {
                let logs = chain.iter().flat_map(|(_, logs)| logs).filter(|log| log.topics[1] == slot(breaker));
                let want = match logs.last() {
                    None => ["unknown", "absent"].as_slice(),
                    Some(log) if log.data.is_empty() => &["closed"],
                    Some(log) => {
                        let retry_at: u64 = U256::from_be_slice(&log.data[..32]).to();
                        if retry_at <= now { &["half-open"] } else { &["open"] }
                    }
                };
                let state = bench.state(breaker).await;
                assert!(want.contains(&state.as_str()), "breaker {breaker}: {state}, not {want:?}");
            }
        });
    }
}
