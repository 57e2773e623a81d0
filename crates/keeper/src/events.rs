//! `keeper events`: what was told and to whom, and what to do about what could not be delivered.

use crate::{
    Refusal,
    cli::{EventsArgs, EventsCommand, EventsEnableArgs, EventsRetryArgs},
    fold::now_ms,
    lookup,
    output::{count, line, say, utc},
    store::{Store, StoreError, int, outbox, uint},
};
use serde::Serialize;
use serde_json::Value;
use sqlx::{Row, any::AnyRow};

/// How many messages are read at once.
const PAGE: i64 = 500;

pub(crate) async fn events(args: EventsArgs) -> eyre::Result<()> {
    match args.command {
        Some(EventsCommand::Retry(args)) => retry(args).await,
        Some(EventsCommand::Enable(args)) => enable(args).await,
        None => list(args).await,
    }
}

/// A message, and what became of it.
#[derive(Debug, Serialize)]
struct Event {
    #[serde(skip)]
    seq: i64,
    id: String,
    key: String,
    /// The document that a webhook gets.
    body: Value,
    deliveries: Vec<Delivery>,
}

#[derive(Debug, Serialize)]
struct Delivery {
    channel: String,
    status: String,
    attempts: u64,
    error: Option<String>,
}

async fn list(args: EventsArgs) -> eyre::Result<()> {
    let store = lookup::read(&args.store).await?;
    let keys = match &args.breaker {
        None => None,
        Some(name) => {
            let breakers = lookup::breakers(&store, name).await?;
            Some(breakers.into_iter().map(|breaker| breaker.key).collect::<Vec<_>>())
        }
    };
    let mut after = 0;
    let mut printed = 0;
    loop {
        let page = page(&store, &args, keys.as_deref(), after).await?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for event in page {
            printed += 1;
            match args.json {
                true => line(&serde_json::to_string(&event)?)?,
                false => line(&text(&event))?,
            }
        }
    }
    if printed == 0 {
        say("nothing was told that fits");
    }
    Ok(())
}

/// Some of what fits, behind a message.
async fn page(
    store: &Store,
    args: &EventsArgs,
    keys: Option<&[String]>,
    after: i64,
) -> Result<Vec<Event>, StoreError> {
    // The document is SQLite's to look into; another database says this in other words.
    const BLOCK: &str = "json_extract(body, '$.data.block.number')";
    let dead = match args.dead {
        true => {
            "AND EXISTS (SELECT 1 FROM outbox WHERE outbox.message = message.id AND outbox.status = 'dead')"
        }
        false => "",
    };
    let of_keys = match keys {
        Some(keys) => {
            let places = (5..5 + keys.len()).map(|place| format!("${place}"));
            format!("AND key IN ({})", places.collect::<Vec<_>>().join(", "))
        }
        None => String::new(),
    };
    // What is of no block is not within any.
    let query = format!(
        "SELECT seq, id, key, body FROM message WHERE seq > $1 AND ($2 = '' OR phase = $2)
           AND ($3 IS NULL OR {BLOCK} >= $3) AND ($4 IS NULL OR {BLOCK} <= $4) {of_keys} {dead}
         ORDER BY seq LIMIT {PAGE}"
    );
    let mut query = sqlx::query(sqlx::AssertSqlSafe(query))
        .bind(after)
        .bind(args.phase.as_deref().unwrap_or_default())
        .bind(args.from_block.map(int))
        .bind(args.to_block.map(int));
    for key in keys.unwrap_or_default() {
        query = query.bind(key.as_str());
    }
    let rows = query.fetch_all(store.reader()).await?;
    let mut events = Vec::new();
    for row in &rows {
        let id: String = row.try_get(1)?;
        let body: String = row.try_get(3)?;
        let body = serde_json::from_str(&body)
            .map_err(|_| StoreError::Corrupt(format!("the message {id}")))?;
        events.push(Event {
            seq: row.try_get(0)?,
            key: row.try_get(2)?,
            body,
            deliveries: deliveries(store, &id).await?,
            id,
        });
    }
    Ok(events)
}

async fn deliveries(store: &Store, id: &str) -> Result<Vec<Delivery>, StoreError> {
    let rows = sqlx::query(
        "SELECT channel, status, attempts, last_error FROM outbox WHERE message = $1 ORDER BY channel",
    )
    .bind(id)
    .fetch_all(store.reader())
    .await?;
    let read = |row: &AnyRow| {
        Ok(Delivery {
            channel: row.try_get(0)?,
            status: row.try_get(1)?,
            attempts: uint(row.try_get(2)?)?,
            error: row.try_get(3)?,
        })
    };
    rows.iter().map(read).collect()
}

fn text(event: &Event) -> String {
    let data = &event.body["data"];
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let mut line = format!(
        "{}  {}  {}  {}",
        word(&event.body["timestamp"]).unwrap_or_else(|| utc(0)),
        event.id,
        word(&event.body["type"]).unwrap_or_default(),
        word(&data["phase"]).unwrap_or_default(),
    );
    if let Some(number) = data["block"]["number"].as_u64() {
        line += &format!("  block {number}");
    }
    line += &format!("  {}", word(&data["label"]).unwrap_or_else(|| event.key.clone()));
    let deliveries: Vec<_> = event.deliveries.iter().map(delivery).collect();
    match deliveries.is_empty() {
        true => line + "  to nobody",
        false => format!("{line}  {}", deliveries.join(", ")),
    }
}

fn delivery(delivery: &Delivery) -> String {
    let Delivery { channel, status, attempts, error } = delivery;
    match (status.as_str(), error) {
        ("delivered" | "superseded", _) | (_, None) => format!("{channel} {status}"),
        (_, Some(error)) => {
            format!(
                "{channel} {status} after {}: {error}",
                count(usize::try_from(*attempts).unwrap_or(usize::MAX), "attempt")
            )
        }
    }
}

async fn retry(args: EventsRetryArgs) -> eyre::Result<()> {
    let store = lookup::beside(&args.store).await?;
    let rows = outbox::retry(&store, args.id.as_deref(), now_ms()).await?;
    if let (0, Some(id)) = (rows, &args.id) {
        return Err(Refusal::Usage(format!(
            "nothing of {id} waits or was given up; keeper events shows what there is"
        ))
        .into());
    }
    line(&format!("tried again at once: {rows}"))
}

async fn enable(args: EventsEnableArgs) -> eyre::Result<()> {
    let store = lookup::beside(&args.store).await?;
    if outbox::enable(&store, &args.channel).await? {
        return line(&format!("{} is sent to again, also what has waited", args.channel));
    }
    let disabled: Vec<_> =
        outbox::disabled(&store).await?.into_iter().map(|one| one.name).collect();
    Err(Refusal::Usage(match disabled.is_empty() {
        true => format!("{} is not disabled; no channel is", args.channel),
        false => format!("{} is not disabled; these are: {}", args.channel, disabled.join(", ")),
    })
    .into())
}
