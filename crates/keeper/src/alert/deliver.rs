//! Sends what is in the outbox, each row until it has arrived or is given up.
//!
//! Nothing here holds up the watch: it writes rows, and this reads them. A channel that does not answer holds up no other
//! one, and a key that is not taken holds up no other key.

use super::{
    About, AlertType, Channel, Message, MessageId, Phase, Routes, gauges,
    http::{Heard, Http},
    schedule::{Failed, next},
    storm::{Pace, Window},
};
use crate::{
    clock::{Clock, millis},
    output::log,
    store::{
        Store, StoreError,
        outbox::{self, Ask, Claimed, End, Head},
    },
};
use rand::Rng;
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// How many keys of a channel are being told of at once.
const IN_FLIGHT: usize = 8;

/// How many keys are looked up at once: a look at ten thousand takes a while, and eight of them are gone at once.
const AHEAD: usize = 256;

/// How often the outbox is looked at without a reason: for what is due again, and for what another process has put there.
const POLL: Duration = Duration::from_secs(1);

/// How often the metrics are counted anew: rows that are delivered stay for long, and counting many takes a while.
const COUNTED_MS: u64 = 10_000;

/// Why a channel is disabled.
const GONE: &str = "it answered 410: it is gone";

/// What sends, and all that it needs.
#[derive(Debug)]
pub(crate) struct Delivery {
    shared: Arc<Shared>,
    lanes: Vec<Lane>,
}

/// What the deliveries have in common.
#[derive(Debug)]
struct Shared {
    store: Store,
    routes: Arc<Routes>,
    http: Http,
    clock: Arc<dyn Clock>,
}

/// One channel.
#[derive(Debug)]
struct Lane {
    channel: Arc<Channel>,
    window: Window,
    /// Keys that are due, and have not been claimed yet.
    due: Vec<Head>,
    /// A permit lives as long as its delivery, however that ends.
    free: Arc<Semaphore>,
}

impl Delivery {
    pub(crate) fn new(
        store: Store,
        channels: impl IntoIterator<Item = Channel>,
        routes: Arc<Routes>,
        http: Http,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let lane = |channel: Channel| Lane {
            window: Window::new(channel.storm),
            due: Vec::new(),
            free: Arc::new(Semaphore::new(IN_FLIGHT)),
            channel: Arc::new(channel),
        };
        Self {
            lanes: channels.into_iter().map(lane).collect(),
            shared: Arc::new(Shared { store, routes, http, clock }),
        }
    }

    /// Sends until it is asked to stop. Then nothing more is begun, and what is under way has the grace to end; what does
    /// not is sent again after the next start, with the same id.
    pub(crate) async fn run(mut self, stop: CancellationToken, grace: Duration) {
        let shared = Arc::clone(&self.shared);
        let mut news = shared.store.listen();
        let mut tasks = JoinSet::new();
        let mut trouble = Trouble::default();
        let mut counted_ms = None;
        // A process that was killed has left claims, and this one alone has the store.
        trouble.note(outbox::release(&shared.store).await);
        while !stop.is_cancelled() {
            let mut begun = Ok(());
            for lane in &mut self.lanes {
                begun = begun.and(lane.begin(&shared, &mut tasks).await);
            }
            let now_ms = shared.clock.now_ms();
            if counted_ms.is_none_or(|at: u64| now_ms.abs_diff(at) >= COUNTED_MS) {
                counted_ms = Some(now_ms);
                let names: Vec<_> =
                    self.lanes.iter().map(|lane| lane.channel.name.as_str()).collect();
                begun = begun.and(gauges::refresh(&shared.store, &names, now_ms).await);
            }
            trouble.note(begun);
            tokio::select! {
                () = stop.cancelled() => break,
                // It ends with the store, which this holds.
                _ = news.changed() => {}
                Some(_) = tasks.join_next() => {}
                () = shared.clock.sleep(POLL) => {}
            }
            while tasks.try_join_next().is_some() {}
        }
        let all = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            () = all => {}
            () = shared.clock.sleep(grace) => {}
        }
        tasks.shutdown().await;
        trouble.note(outbox::release(&shared.store).await);
    }
}

impl Lane {
    /// Begins what is due and there is room for.
    async fn begin(
        &mut self,
        shared: &Arc<Shared>,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), StoreError> {
        let free = self.free.available_permits();
        if free == 0 {
            return Ok(());
        }
        let now_ms = shared.clock.now_ms();
        let name = self.channel.name.as_str();
        let waiting = match self.window.counts() {
            Some(most) => outbox::waiting(&shared.store, name, now_ms, most).await?,
            None => 0,
        };
        let (limit, merged, resting) = match self.window.pace(free, waiting, now_ms) {
            Pace::Single(limit) => (limit, false, BTreeSet::new()),
            Pace::Merged(resting) => (free, true, resting),
        };
        if self.due.iter().all(|(key, _)| resting.contains(key)) {
            self.due = outbox::due(&shared.store, name, now_ms, AHEAD + resting.len()).await?;
        }
        let mut heads = Vec::new();
        self.due.retain(|head| {
            let goes = heads.len() < limit && !resting.contains(&head.0);
            if goes {
                heads.push(head.clone());
            }
            !goes
        });
        let ask = Ask { channel: name, now_ms, merged };
        for rows in outbox::claim(&shared.store, ask, &heads).await? {
            let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else { break };
            self.window.sends(&rows[0].key, now_ms);
            let (shared, channel) = (Arc::clone(shared), Arc::clone(&self.channel));
            tasks.spawn(async move {
                shared.deliver(&channel, rows).await;
                drop(permit);
            });
        }
        Ok(())
    }
}

impl Shared {
    /// One attempt, and what follows from it.
    async fn deliver(&self, channel: &Channel, rows: Vec<Claimed>) {
        let mut trouble = Trouble::default();
        let (needless, rows) = match self.moved(channel, rows).await {
            Ok(parts) => parts,
            // The claim expires, and it is asked again.
            Err(error) => return trouble.note(Err(error)),
        };
        self.settle(&needless, &End::Superseded).await;
        let Some(last) = rows.last() else { return };
        let bodies: Vec<_> = rows.iter().map(|row| row.body.as_str()).collect();
        let now_ms = self.clock.now_ms();
        let request = channel.request(&last.message, &bodies, now_ms / 1_000);
        let heard = self.http.send(request, &*self.clock).await;
        let (end, news) = self.judge(channel, last, &heard);
        if let Some(message) = news {
            // Before the row is free again: a channel that is disabled must not be asked once more. Where this fails the row
            // tells all the same how it stands.
            trouble.note(self.announce(channel, message).await);
        }
        self.settle(&rows, &end).await;
    }

    /// What need not be sent: that something left the chain, where the same transaction is told of right behind it.
    async fn moved(
        &self,
        channel: &Channel,
        rows: Vec<Claimed>,
    ) -> Result<(Vec<Claimed>, Vec<Claimed>), StoreError> {
        let left = |row: &Claimed| {
            let body: Value = serde_json::from_str(&row.body).unwrap_or_default();
            let data = &body["data"];
            (data["phase"] == "retracted" && data["tx"].is_string())
                .then(|| (data["tx"].clone(), data["block"]["hash"].clone(), body["type"].clone()))
        };
        if !channel.is_chat() || !rows.iter().any(|row| left(row).is_some()) {
            return Ok((Vec::new(), rows));
        }
        let mut behind: Vec<_> = rows.iter().map(|row| row.body.clone()).collect();
        behind.extend(outbox::behind(&self.store, &rows[rows.len() - 1]).await?);
        let arrived: Vec<_> = behind
            .iter()
            .filter_map(|body| serde_json::from_str::<Value>(body).ok())
            .map(|body| {
                let data = &body["data"];
                (data["tx"].clone(), data["moved_from"]["hash"].clone(), body["type"].clone())
            })
            .filter(|(_, from, _)| from.is_string())
            .collect();
        Ok(rows.into_iter().partition(|row| left(row).is_some_and(|it| arrived.contains(&it))))
    }

    /// What becomes of a row, and what is to be told of that elsewhere.
    fn judge(&self, channel: &Channel, row: &Claimed, heard: &Heard) -> (End, Option<Message>) {
        let now_ms = self.clock.now_ms();
        let (hint, said) = channel.said(heard);
        let (status, arrived, error) = match heard {
            Heard::Answer { status: 200..=299, .. } => return (End::Delivered, None),
            Heard::Answer { status, .. } => {
                let said = said.map(|said| format!(": {said}")).unwrap_or_default();
                (Some(*status), true, format!("it answered {status}{said}"))
            }
            Heard::Nothing(why) => (None, why.may_have_arrived(), why.to_string()),
        };
        if status == Some(410) && channel.ends_when_gone() {
            let at_ms = now_ms;
            let message = disabled(channel, &error, now_ms / 1_000);
            return (End::Retry { at_ms, error, arrived }, Some(message));
        }
        let age = Duration::from_millis(now_ms.saturating_sub(row.first_at_ms));
        let failed = Failed { status, hint, attempts: row.attempts, age };
        match next(failed, rand::rng().random_range(-1.0..=1.0)) {
            Some(wait) => {
                let at_ms = now_ms.saturating_add(millis(wait));
                (End::Retry { at_ms, error, arrived }, None)
            }
            None => {
                let message = dead(channel, row, &error, now_ms / 1_000);
                (End::Dead { error, arrived }, Some(message))
            }
        }
    }

    /// Tells of a channel on the other ones.
    async fn announce(&self, channel: &Channel, message: Message) -> Result<(), StoreError> {
        let now_ms = self.clock.now_ms();
        if message.about.kind == AlertType::ChannelDisabled
            && !outbox::disable(&self.store, &channel.name, GONE, now_ms).await?
        {
            return Ok(());
        }
        let mut others = self.routes.channels(&message.about);
        others.retain(|name| *name != channel.name);
        if self.store.announce(&message, others, now_ms).await? {
            log(&format!("{}: channel {}", message.about.kind, channel.name));
        }
        Ok(())
    }

    /// Writes it down, and does not give up: else it would be sent once more.
    async fn settle(&self, rows: &[Claimed], end: &End) {
        let mut trouble = Trouble::default();
        if rows.is_empty() {
            return;
        }
        while let Err(error) = outbox::settle(&self.store, rows, end, self.clock.now_ms()).await {
            trouble.note(Err(error));
            self.clock.sleep(POLL).await;
        }
        let channel = rows[0].channel.as_str();
        let result = match end {
            End::Delivered => "delivered",
            End::Superseded => "superseded",
            End::Retry { .. } => "retry",
            End::Dead { .. } => "dead",
        };
        gauges::ended(channel, result, rows.len());
        if *end == End::Delivered {
            let now_ms = self.clock.now_ms();
            rows.iter().for_each(|row| gauges::arrived(channel, row.at_ms, now_ms));
        }
    }
}

/// A row was given up. Once an hour for each channel, or a channel that refuses everything would fill the others.
fn dead(channel: &Channel, row: &Claimed, error: &str, now: u64) -> Message {
    let data = json!({
        "channel": channel.name,
        "message": row.message,
        "error": error,
        "attempts": row.attempts,
    });
    about_channel(AlertType::ChannelDead, channel, now / 3_600, data, now)
}

fn disabled(channel: &Channel, error: &str, now: u64) -> Message {
    let data = json!({ "channel": channel.name, "error": error });
    about_channel(AlertType::ChannelDisabled, channel, now, data, now)
}

fn about_channel(kind: AlertType, channel: &Channel, cause: u64, data: Value, now: u64) -> Message {
    Message {
        id: MessageId::of_cause(kind, &format!("{}:{cause}", channel.name)),
        key: format!("channel:{}", channel.name),
        about: About {
            chain: None,
            label: None,
            kind,
            phase: Phase::Seen,
            severity: kind.severity(),
        },
        fact: None,
        note: None,
        data,
        at: now,
    }
}

/// The store's troubles, each told once.
#[derive(Debug, Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn note(&mut self, result: Result<(), StoreError>) {
        let error = result.err().map(|error| error.to_string());
        if let Some(error) = &error
            && self.0.as_ref() != Some(error)
        {
            log(&format!("nothing is sent for now: {error}"));
        }
        self.0 = error;
    }
}
