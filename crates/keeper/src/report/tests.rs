//! Pages of many breakers.

use super::*;
use crate::store::{blob, int};
use alloy::primitives::{Address, B256, U256};
use std::time::Duration;
use tokio::time::Instant;

const NOW: u64 = 1_000_000;

async fn store(breakers: u64) -> Store {
    let store = Store::in_memory().await.unwrap();
    let mut tx = store.begin().await.unwrap();
    sqlx::query("INSERT INTO chain (chain_id, name, genesis) VALUES (5, 'dev', $1)")
        .bind(blob(B256::ZERO))
        .execute(&mut *tx)
        .await
        .unwrap();
    for at in 0..breakers.div_ceil(10) {
        sqlx::query(
            "INSERT INTO contract (chain_id, address, label, source, start, scanned_to) VALUES (5, $1, $2, 'listed', 0, 0)",
        )
        .bind(blob(address(at).0))
        .bind((at == 0).then_some("first"))
        .execute(&mut *tx)
        .await
        .unwrap();
    }
    for at in 0..breakers {
        let (state, fold) = match at % 4 {
            0 => ("closed", r#"{"status":"closed","since":[7,70]}"#.to_owned()),
            1 => ("unknown", r#"{"status":"unknown"}"#.to_owned()),
            _ => {
                let opened = format!(r#"{{"block":"{}","log_index":1}}"#, B256::ZERO);
                let retry_at = if at % 4 == 2 { 2 * NOW } else { NOW / 2 };
                (
                    if at % 4 == 2 { "open" } else { "half-open" },
                    format!(
                        r#"{{"status":{{"open":{{"retry_at":{retry_at},"cause":1,"opened":{opened},"entries":1}}}},"since":[7,70],"threshold":3}}"#
                    ),
                )
            }
        };
        sqlx::query(
            "INSERT INTO breaker (chain_id, contract, breaker, label, listed, final_fold, fold, state)
             VALUES (5, $1, $2, $3, 1, $4, $5, $6)",
        )
        .bind(blob(address(at / 10).0))
        .bind(blob(B256::from(U256::from(at))))
        .bind((at % 10 == 3).then(|| format!("vault_{at}/oracle")))
        .bind(r#"{"status":"closed","since":[7,70]}"#)
        .bind(fold)
        .bind(state)
        .execute(&mut *tx)
        .await
        .unwrap();
    }
    tx.commit().await.unwrap();
    store
}

fn address(at: u64) -> Address {
    Address::left_padding_from(&at.to_be_bytes())
}

#[tokio::test]
async fn pages_hold_each_breaker_once_in_the_order_of_the_keys() {
    let store = store(100).await;
    let mut query = Query { limit: 7, ..Query::default() };
    let mut keys = Vec::new();
    loop {
        let (page, next) = page(&store, &query, NOW).await.unwrap();
        assert!(page.len() == 7 || next.is_none());
        keys.extend(page.into_iter().map(|breaker| breaker.key));
        match next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert_eq!(keys.len(), 100);
    assert_eq!(keys[13], format!("dev:{}:0x0d", address(1)));
    keys.dedup();
    assert_eq!(keys.len(), 100);
}

#[tokio::test]
async fn a_breaker_is_shown_with_all_that_its_events_told() {
    let store = store(8).await;
    let find = async |name: &str| match super::find(&store, name, NOW).await.unwrap() {
        Found::Breakers(found) => found,
        Found::Nothing(some) => panic!("{some:?}"),
    };
    let [open] = &find(&format!("dev:{}:0x02", address(0))).await[..] else { panic!("one") };
    assert_eq!((open.state.as_str(), open.label.as_deref()), ("open", Some("first")));
    assert_eq!((open.retry_at, open.threshold, open.failures), (Some(2 * NOW), Some(3), None));
    assert_eq!((open.since, open.phase, open.muted_until), (Some(70), Some("seen"), None));
    assert!(open.cause.is_some() && open.drift.is_none());
    // Its own label goes before that of its contract, which stands for the others.
    let [half_open] = &find("vault_3/oracle").await[..] else { panic!("one") };
    assert_eq!(half_open.state, "half-open");
    assert_eq!(find("first").await.len(), 7);
    let [closed] = &find(&format!("dev:{}:0x0", address(0))).await[..] else { panic!("one") };
    assert_eq!((closed.phase, closed.cause.as_ref(), closed.retry_at), (Some("final"), None, None));
    for nobody in [
        "nobody",
        "dev:0x00:0x00",
        "other:0x0000000000000000000000000000000000000000:0x00",
        "::",
        "%",
    ] {
        let found = super::find(&store, nobody, NOW).await.unwrap();
        assert!(matches!(found, Found::Nothing(some) if some.len() == 8), "{nobody}");
    }
}

#[tokio::test]
async fn breakers_are_found_by_state_label_and_address() {
    let store = store(100).await;
    let count = async |state: Option<&str>, q: Option<&str>| {
        let own = |text: Option<&str>| text.map(str::to_owned);
        let query = Query { state: own(state), q: own(q), limit: 1_000, after: None };
        page(&store, &query, NOW).await.unwrap().0.len()
    };
    assert_eq!(count(None, None).await, 100);
    assert_eq!(count(Some("open"), None).await, 25);
    assert_eq!(count(None, Some("ORACLE")).await, 10);
    assert_eq!(count(None, Some("vault_13")).await, 1);
    // They stand for themselves.
    assert_eq!(count(None, Some("%")).await, 0);
    assert_eq!(count(None, Some("t_13")).await, 1);
    assert_eq!(count(None, Some(&address(3).to_string())).await, 10);
    assert_eq!(count(Some("open"), Some("oracle")).await, 0);
    let document = document(&store, None, &Query::default(), NOW * 1_000).await.unwrap();
    let want = Counts { closed: 25, open: 25, half_open: 25, unknown: 25 };
    assert_eq!(document.counts, want);
}

#[tokio::test]
async fn a_mute_is_shown_while_it_lasts() {
    let store = store(4).await;
    let key = format!("dev:{}:0x02", address(0));
    let mut tx = store.begin().await.unwrap();
    sqlx::query("INSERT INTO mute (key, until, reason, at) VALUES ($1, $2, 'x', 0)")
        .bind(key.as_str())
        .bind(int(NOW + 5))
        .execute(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    for (now, want) in [(NOW, Some(NOW + 5)), (NOW + 5, None)] {
        let document = document(&store, None, &Query::default(), now * 1_000).await.unwrap();
        let muted: Vec<_> = document.breakers.iter().filter_map(|one| one.muted_until).collect();
        assert_eq!(muted, want.into_iter().collect::<Vec<_>>());
        assert_eq!(document.mutes.len(), muted.len());
    }
}

/// 50 ms is what is promised of an optimised build. This one is not, nor is its SQLite, and others use the machine.
#[tokio::test]
async fn a_page_of_a_hundred_thousand_breakers_comes_at_once() {
    const MANY: u64 = 100_000;
    let store = store(MANY).await;
    let after = Some(format!("dev:{}:0x00", address(MANY / 20)));
    for query in [
        Query::default(),
        Query { state: Some("open".to_owned()), ..Query::default() },
        Query { after: after.clone(), ..Query::default() },
        Query { state: Some("half-open".to_owned()), after, ..Query::default() },
        Query { q: Some("vault_99993".to_owned()), ..Query::default() },
    ] {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            let document = document(&store, None, &query, NOW * 1_000).await.unwrap();
            best = best.min(began.elapsed());
            assert!(!document.breakers.is_empty());
        }
        assert!(best < Duration::from_secs(2), "{query:?}: {best:?}");
    }
}
