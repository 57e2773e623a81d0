//! Each message as a line of standard output, in order. How far it came is stored: a keeper that starts again goes on
//! where it stopped.

use crate::{
    output,
    store::{Store, StoreError, int},
};
use serde_json::{Map, Value};
use sqlx::Row;
use tokio_util::sync::CancellationToken;

/// Messages read at once.
const AT_ONCE: i64 = 256;

/// The name of the position in `meta`.
const POSITION: &str = "printed";

/// What prints.
#[derive(Debug)]
pub(super) struct Printer {
    store: Store,
    json: bool,
    printed: i64,
}

impl Printer {
    pub(super) async fn new(store: Store, json: bool) -> Result<Self, StoreError> {
        let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
            .bind(POSITION)
            .fetch_optional(store.reader())
            .await?;
        let position = row.and_then(|row| row.try_get::<String, _>(0).ok()?.parse().ok());
        Ok(Self { store, json, printed: position.unwrap_or_default() })
    }

    /// Prints what there is, and what comes, until it is asked to stop. What is printed is written down before that counts,
    /// else a start after a stop would print it again.
    ///
    /// # Errors
    /// Where nobody can be told any more, or the store fails.
    pub(super) async fn run(mut self, stop: CancellationToken) -> eyre::Result<()> {
        let mut news = self.store.listen();
        loop {
            news.mark_unchanged();
            while !stop.is_cancelled() && self.some().await? {}
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                // The store, and so whoever wakes this, lives as long as this does.
                changed = news.changed() => changed?,
            }
        }
    }

    /// Prints some of what there is. Whether there may be more.
    async fn some(&mut self) -> eyre::Result<bool> {
        let rows =
            sqlx::query(
            // That it has started, whoever looks on knows.
            "SELECT seq, body FROM message WHERE seq > $1 AND type <> 'keeper.started' ORDER BY seq LIMIT $2",
        )
                .bind(self.printed)
                .bind(AT_ONCE)
                .fetch_all(self.store.reader())
                .await
                .map_err(StoreError::from)?;
        for row in &rows {
            let body: String = row.try_get(1)?;
            let body: Value = serde_json::from_str(&body)?;
            let text = if self.json { flat(body).to_string() } else { output::message(&body) };
            // Whatever ends a pipe, events that nobody hears of are no success.
            output::line(&text).map_err(|error| {
                eyre::eyre!(
                    "what happens cannot be told any more, standard output says: {error}. First untold: {text}"
                )
            })?;
            self.printed = row.try_get(0)?;
        }
        if rows.is_empty() {
            return Ok(false);
        }
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(POSITION)
        .bind(self.printed.to_string())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(int(rows.len() as u64) == AT_ONCE)
    }
}

/// The data of a message with its type beside it: one object a line.
pub(crate) fn flat(body: Value) -> Value {
    let Value::Object(mut fields) = body else { return body };
    let mut line = match fields.remove("data") {
        Some(Value::Object(data)) => data,
        _ => Map::new(),
    };
    line.extend(fields);
    Value::Object(line)
}
