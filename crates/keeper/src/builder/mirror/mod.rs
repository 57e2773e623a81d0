//! What the sidecar says of itself, in the keeper: asked again and again, shown, and told.
//!
//! The sidecar stands in a validator's way to its builders and shares no fate with the keeper, in either direction: whatever
//! it answers, or does not, `keeper run` goes on. What was told is stored in one transaction with how far that was, so that
//! each opening and closing is told once, whichever of the two is started again.

mod changes;
mod said;
#[cfg(test)]
mod tests;

use crate::{
    alert::{
        About, AlertType, Message, MessageId, Phase,
        http::{Heard, Http, Request, UrlError, checked},
    },
    clock::Clock,
    config::BuilderSettings,
    fold::Router,
    metrics::Metric,
    output::log,
    store::{Store, StoreError, insert},
};
use changes::{Change, Position, changes};
use reqwest::{Method, header::HeaderMap};
use said::Said;
use serde_json::{Value, json};
use sqlx::Row as _;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;
use url::Url;

/// Less than a slot, so that each decision is seen; the sidecar answers from memory.
const EVERY: Duration = Duration::from_secs(5);
/// Silence that is shorter is that of an update.
const LASTING: Duration = Duration::from_secs(60);
/// Far more than `/status` ever has.
const LARGEST: usize = 256 << 10;
/// The name of the position in `meta`.
const POSITION: &str = "builder";
/// What messages about it go by.
const KEY: &str = "builder";
/// What it is called in messages.
const NAME: &str = "the builder's sidecar";

/// What asks the sidecar. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Mirror {
    url: Url,
    http: Http,
    store: Store,
    router: Router,
    clock: Arc<dyn Clock>,
    shown: Arc<watch::Sender<Shown>>,
}

/// What is shown of it.
#[derive(Clone, Debug, Default)]
struct Shown {
    said: Option<Said>,
    answered_ms: Option<u64>,
    error: Option<String>,
}

/// Reads what was answered last.
#[derive(Clone, Debug)]
pub(crate) struct Handle(watch::Receiver<Shown>);

impl Handle {
    /// The `builder` of `/status`.
    pub(crate) fn document(&self) -> Value {
        let Shown { said, answered_ms, error } = &*self.0.borrow();
        let mut document = json!(said);
        if !document.is_object() {
            document = json!({});
        }
        document["answers"] = (said.is_some() && error.is_none()).into();
        document["answered_at"] = answered_ms.map(|ms| ms / 1_000).into();
        document["error"] = error.as_deref().into();
        document
    }
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirror").finish_non_exhaustive()
    }
}

impl Mirror {
    /// # Errors
    /// [`UrlError`] where what is asked would be others' to answer.
    pub(crate) fn new(
        settings: &BuilderSettings,
        http: Http,
        store: Store,
        router: Router,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, UrlError> {
        let url = checked(&settings.status_url)?;
        Ok(Self { url, http, store, router, clock, shown: Arc::default() })
    }

    /// What reads it.
    pub(crate) fn handle(&self) -> Handle {
        Handle(self.shown.subscribe())
    }

    /// Asks until it is dropped.
    pub(crate) async fn run(self) {
        let mut outage = Outage::default();
        loop {
            if let Err(error) = self.look(&mut outage).await {
                // The next answer has it all once more.
                log(&format!("what the builder's sidecar says is not stored: {error}"));
            }
            self.clock.sleep(EVERY).await;
        }
    }

    async fn look(&self, outage: &mut Outage) -> Result<(), StoreError> {
        let answer = ask(&self.url, &self.http, &*self.clock).await;
        let now_ms = self.clock.now_ms();
        metrics::gauge!(Metric::BuilderAnswers.name()).set(f64::from(u8::from(answer.is_ok())));
        match answer {
            Ok(said) => {
                if outage.reason.take().is_some() {
                    log(&format!("{NAME} answers again"));
                }
                outage.since_ms = None;
                show(&said);
                self.shown.send_modify(|shown| {
                    *shown =
                        Shown { said: Some(said.clone()), answered_ms: Some(now_ms), error: None };
                });
                self.answered(&said, now_ms).await
            }
            Err(reason) => {
                self.shown.send_modify(|shown| shown.error = Some(reason.clone()));
                if outage.reason.as_ref() != Some(&reason) {
                    log(&format!("{NAME}: {reason}; asking again"));
                }
                let since_ms = *outage.since_ms.get_or_insert(now_ms);
                outage.reason = Some(reason.clone());
                match Duration::from_millis(now_ms.saturating_sub(since_ms)) >= LASTING {
                    true => self.is_down(&reason, now_ms).await,
                    false => Ok(()),
                }
            }
        }
    }

    /// Tells what is new, once.
    async fn answered(&self, said: &Said, now_ms: u64) -> Result<(), StoreError> {
        let before = position(&self.store).await?;
        let (changes, mut after) = changes(&before, said);
        after.is_down = false;
        let messages = changes.iter().map(|change| self.of_change(change, said, now_ms));
        self.tell(messages.collect(), (&before, &after), now_ms).await
    }

    /// Tells of a silence, once until it has ended: also where the keeper was started again meanwhile.
    async fn is_down(&self, reason: &str, now_ms: u64) -> Result<(), StoreError> {
        let before = position(&self.store).await?;
        if before.is_down {
            return Ok(());
        }
        let after = Position { is_down: true, downs: before.downs + 1, ..before.clone() };
        let data = json!({ "provider": NAME, "reason": reason });
        let cause = format!("{KEY}:{}", after.downs);
        let message = self.message(AlertType::ProviderDown, &cause, now_ms / 1_000, data);
        self.tell(vec![message], (&before, &after), now_ms).await
    }

    fn of_change(&self, change: &Change, said: &Said, now_ms: u64) -> Message {
        let kind = match change.is_open {
            true => AlertType::BuilderOpened,
            false => AlertType::BuilderClosed,
        };
        // Its clock is another one, and what it says may be anything.
        let now = now_ms / 1_000;
        let at = change.at.map_or(now, |at| at.min(now));
        let data = json!({
            "summary": change.summary(),
            "policy": said.policy,
            "slot": change.slot,
            "cause": change.cause,
            "value": change.value,
            "limit": change.limit,
        });
        self.message(kind, &format!("{KEY}:{}", change.id), at, data)
    }

    fn message(&self, kind: AlertType, cause: &str, at: u64, data: Value) -> Message {
        let (phase, severity) = (Phase::Seen, kind.severity());
        Message {
            id: MessageId::of_cause(kind, cause),
            key: KEY.to_owned(),
            about: About { chain: None, label: None, kind, phase, severity },
            fact: None,
            note: Some(cause.to_owned()),
            data,
            at,
        }
    }

    async fn tell(
        &self,
        messages: Vec<Message>,
        (before, after): (&Position, &Position),
        now_ms: u64,
    ) -> Result<(), StoreError> {
        if before == after && messages.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.begin().await?;
        for message in &messages {
            let channels = (self.router)(&message.about);
            insert(&mut tx, message, channels.iter().map(String::as_str), now_ms).await?;
        }
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(POSITION)
        .bind(json!(after).to_string())
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        self.store.news();
        Ok(())
    }
}

/// Why there is no answer, and since when.
#[derive(Debug, Default)]
struct Outage {
    reason: Option<String>,
    since_ms: Option<u64>,
}

/// Asks once, and says what was answered, for `keeper check`.
///
/// # Errors
/// Why there is no answer, or none of a sidecar.
pub(crate) async fn summary(
    settings: &BuilderSettings,
    http: &Http,
    clock: &dyn Clock,
) -> Result<String, String> {
    let url = checked(&settings.status_url).map_err(|error| error.to_string())?;
    ask(&url, http, clock).await.map(|said| said.summary())
}

async fn ask(url: &Url, http: &Http, clock: &dyn Clock) -> Result<Said, String> {
    let (url, headers, body) = (url.clone(), HeaderMap::new(), Vec::new());
    let request = Request { method: Method::GET, url, headers, body };
    match http.send_for(request, clock, LARGEST).await {
        Heard::Answer { status: 200, body, .. } => Said::read(&body).map_err(str::to_owned),
        Heard::Answer { status, .. } => Err(format!("it answers with status {status}")),
        Heard::Nothing(why) => Err(why.to_string()),
    }
}

/// What cannot be read any more is as if nothing had been told: ids keep it from being told twice.
async fn position(store: &Store) -> Result<Position, StoreError> {
    let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
        .bind(POSITION)
        .fetch_optional(store.reader())
        .await?;
    let text = row.and_then(|row| row.try_get::<String, _>(0).ok());
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

fn show(said: &Said) {
    metrics::gauge!(Metric::BuilderOpen.name()).set(f64::from(u8::from(said.state.is_open())));
    if let Some(decision) = &said.decision {
        let run = u32::try_from(decision.run).unwrap_or(u32::MAX);
        metrics::gauge!(Metric::BuilderMissedSlots.name()).set(f64::from(run));
    }
}
