//! `keeper mute`: nobody is told of something for a while. What happens is stored all the same.

use crate::{
    cli::MuteArgs,
    fold::now_ms,
    lookup,
    output::{line, utc},
    report::{self, Found},
    store::{Store, StoreError, int},
};
use sqlx::Row;
use std::collections::BTreeSet;

pub(crate) async fn mute(args: MuteArgs) -> eyre::Result<()> {
    let store = lookup::beside(&args.store).await?;
    let now = now_ms() / 1_000;
    let keys = keys(&store, &args.key, now).await?;
    let until = now.saturating_add(args.duration.as_secs());
    let mut tx = store.begin().await?;
    // Those that are over say nothing any more.
    sqlx::query("DELETE FROM mute WHERE until <= $1").bind(int(now)).execute(&mut *tx).await?;
    for key in &keys {
        sqlx::query(
            "INSERT INTO mute (key, until, reason, at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (key) DO UPDATE SET until = excluded.until, reason = excluded.reason, at = excluded.at",
        )
        .bind(key.as_str())
        .bind(int(until))
        .bind(args.reason.as_str())
        .bind(int(now))
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    for key in &keys {
        line(&match args.duration.is_zero() {
            true => format!("{key} is told of again"),
            false => format!("{key} is muted until {}", utc(until)),
        })?;
    }
    Ok(())
}

/// What messages about it have as their key.
async fn keys(store: &Store, name: &str, now: u64) -> eyre::Result<BTreeSet<String>> {
    let found = report::find(store, name, now).await?;
    let is_known = is_chain(store, name).await? || is_contract(store, name).await?;
    match found {
        Found::Nothing(some) if !is_known => Err(lookup::nothing(name, &some).into()),
        found => {
            let breakers = match found {
                Found::Breakers(breakers) => breakers,
                Found::Nothing(_) => Vec::new(),
            };
            let mut keys: BTreeSet<_> = breakers.into_iter().map(|breaker| breaker.key).collect();
            // What has no breaker, or none yet, goes by this name.
            if is_known {
                keys.insert(name.to_owned());
            }
            Ok(keys)
        }
    }
}

async fn is_chain(store: &Store, name: &str) -> Result<bool, StoreError> {
    let row = sqlx::query("SELECT COUNT(*) FROM chain WHERE name = $1").bind(name);
    Ok(row.fetch_one(store.reader()).await?.try_get::<i64, _>(0)? > 0)
}

async fn is_contract(store: &Store, label: &str) -> Result<bool, StoreError> {
    let row = sqlx::query("SELECT COUNT(*) FROM contract WHERE label = $1").bind(label);
    Ok(row.fetch_one(store.reader()).await?.try_get::<i64, _>(0)? > 0)
}
