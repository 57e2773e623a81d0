//! Whatever a channel answers, nothing overtakes and nothing is lost.

use super::*;
use crate::{
    clock::Clock,
    store::outbox::{Claimed, End},
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A message about a key.
    Put(usize),
    /// So much time passes.
    Pass(u64),
    /// What is due is claimed, one by one or merged.
    Claim { merged: bool, limit: usize },
    /// One of those that are under way ends.
    End(usize, Ended),
    /// The sender dies with all that is under way.
    Die,
    /// What is dead is asked for again.
    Retry,
}

#[derive(Clone, Copy, Debug)]
enum Ended {
    Delivered,
    Later { arrived: bool },
    Dead,
    Superseded,
}

fn step() -> impl Strategy<Value = Step> {
    let ended = prop_oneof![
        4 => Just(Ended::Delivered),
        2 => any::<bool>().prop_map(|arrived| Ended::Later { arrived }),
        1 => Just(Ended::Dead),
        1 => Just(Ended::Superseded),
    ];
    prop_oneof![
        6 => (0_usize..3).prop_map(Step::Put),
        3 => (1_u64..40_000).prop_map(Step::Pass),
        5 => (any::<bool>(), 1_usize..4).prop_map(|(merged, limit)| Step::Claim { merged, limit }),
        6 => (0_usize..4, ended).prop_map(|(nth, ended)| Step::End(nth, ended)),
        1 => Just(Step::Die),
        1 => Just(Step::Retry),
    ]
}

/// What the test knows, beside the store.
#[derive(Default)]
struct Known {
    /// The rows of each key in order, and whether they are done.
    keys: BTreeMap<String, Vec<(String, bool)>>,
    under_way: Vec<Vec<Claimed>>,
    /// The last claim of each row, by its attempts. One before it has expired.
    last: BTreeMap<String, u32>,
    delivered: BTreeSet<String>,
    /// Put back by hand: these come after what they once preceded.
    retried: bool,
}

impl Known {
    fn claimed(&mut self, rows: Vec<Claimed>) {
        let key = &self.keys[&rows[0].key];
        if !self.retried {
            let open: Vec<_> =
                key.iter().filter(|(_, done)| !done).map(|(id, _)| id.clone()).collect();
            let ids: Vec<_> = rows.iter().map(|row| row.message.clone()).collect();
            assert_eq!(ids, open[..ids.len()], "something overtakes");
        }
        for row in &rows {
            self.last.insert(row.message.clone(), row.attempts);
        }
        self.under_way.push(rows);
    }

    fn end(&mut self, rows: &[Claimed], ended: Ended) {
        for row in rows {
            let is_delivered = matches!(ended, Ended::Delivered);
            // Once delivered it is.
            if self.delivered.contains(&row.message)
                || !is_delivered && self.last.get(&row.message) != Some(&row.attempts)
            {
                continue;
            }
            let key = self.keys.get_mut(&row.key).unwrap();
            key.iter_mut().find(|(id, _)| *id == row.message).unwrap().1 =
                !matches!(ended, Ended::Later { .. });
            if is_delivered {
                self.delivered.insert(row.message.clone());
            } else {
                self.last.remove(&row.message);
            }
        }
    }
}

async fn play(steps: Vec<Step>) {
    let store = Store::in_memory().await.unwrap();
    let clock = clock();
    let mut known = Known::default();
    let mut count = 0;
    for step in steps {
        let now_ms = clock.now_ms();
        match step {
            Step::Put(key) => {
                count += 1;
                let told = message(&format!("key {key}"), count, json!({}));
                store.announce(&told, ["c"], now_ms).await.unwrap();
                known.keys.entry(told.key).or_default().push((told.id.to_string(), false));
            }
            Step::Pass(ms) => clock.advance(Duration::from_millis(ms)),
            Step::Claim { merged, limit } => {
                let claimed = claim(&store, ("c", now_ms), limit, merged).await;
                assert!(claimed.len() <= limit);
                claimed.into_iter().for_each(|rows| known.claimed(rows));
            }
            Step::End(nth, ended) => {
                if nth >= known.under_way.len() {
                    continue;
                }
                let rows = known.under_way.remove(nth);
                let error = "no".to_owned();
                let end = match ended {
                    Ended::Delivered => End::Delivered,
                    Ended::Superseded => End::Superseded,
                    Ended::Dead => End::Dead { error, arrived: true },
                    Ended::Later { arrived } => {
                        End::Retry { at_ms: now_ms + 5_000, error, arrived }
                    }
                };
                outbox::settle(&store, &rows, &end, now_ms).await.unwrap();
                known.end(&rows, ended);
            }
            Step::Die => {
                known.under_way.clear();
                outbox::release(&store).await.unwrap();
            }
            Step::Retry => {
                known.retried |= outbox::retry(&store, None, now_ms).await.unwrap() > 0;
            }
        }
    }
    drain(&store, &clock, &mut known).await;
}

/// From now on all is taken: then nothing is left but what was given up or need not be sent.
async fn drain(store: &Store, clock: &ManualClock, known: &mut Known) {
    loop {
        // Longer than a claim holds, and than what is tried again waits.
        clock.advance(Duration::from_secs(40));
        let now_ms = clock.now_ms();
        let claimed = claim(store, ("c", now_ms), 8, false).await;
        if claimed.is_empty() {
            break;
        }
        for rows in claimed {
            known.claimed(rows.clone());
            outbox::settle(store, &rows, &End::Delivered, now_ms).await.unwrap();
            known.end(&rows, Ended::Delivered);
        }
    }
    let rows = sqlx::query("SELECT message, status FROM outbox").fetch_all(store.reader()).await;
    for row in rows.unwrap() {
        let (id, status): (String, String) = (row.get(0), row.get(1));
        assert!(["delivered", "dead", "superseded"].contains(&status.as_str()), "{status}");
        assert_eq!(status == "delivered", known.delivered.contains(&id), "{status}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_row_overtakes_an_older_one_of_its_key_and_each_is_delivered_dead_or_superseded(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(play(steps));
    }
}

#[tokio::test]
async fn a_claim_expires_and_the_row_has_the_same_id_and_may_have_arrived() {
    let store = Store::in_memory().await.unwrap();
    let told = opened(1);
    store.announce(&told, ["c"], 0).await.unwrap();
    let claim = async |now_ms| claim(&store, ("c", now_ms), 8, false).await.concat();
    let first = claim(0).await;
    assert!(!first[0].maybe_delivered && first[0].attempts == 1);
    assert!(claim(29_999).await.is_empty());
    let second = claim(30_000).await;
    assert_eq!(second[0].message, told.id.as_str());
    assert!(second[0].maybe_delivered && second[0].attempts == 2);
}

#[tokio::test]
async fn depths_are_by_channel_and_status_with_the_oldest_that_waits() {
    let store = Store::in_memory().await.unwrap();
    for (nth, at_ms) in [(1, 1_000), (2, 2_000), (3, 3_000)] {
        store.announce(&opened(nth), ["a", "b"], at_ms).await.unwrap();
    }
    let rows = claim(&store, ("a", 4_000), 8, false).await.concat();
    outbox::settle(&store, &rows, &End::Delivered, 4_000).await.unwrap();
    let depths = outbox::depths(&store).await.unwrap();
    let rows = |channel: &str| {
        let rows = depths[channel].rows.iter().map(|(status, count)| (status.as_str(), *count));
        (rows.collect::<Vec<_>>(), depths[channel].oldest_ms)
    };
    assert_eq!(rows("a"), (vec![("delivered", 1), ("pending", 2)], Some(2_000)));
    assert_eq!(rows("b"), (vec![("pending", 3)], Some(1_000)));
    assert_eq!(outbox::retry(&store, Some(opened(2).id.as_str()), 9_000).await.unwrap(), 2);
    assert_eq!(outbox::retry(&store, Some("msg_none"), 9_000).await.unwrap(), 0);
}
