//! Deliveries to a sink that says what it likes, over days of a clock that is turned by hand.

mod cases;
mod chats;
mod order;
mod runbooks;
mod secrets;
mod texts;

use super::{
    About, AlertType, Channel, Delivery, Message, MessageId, Phase, Routes, Severity, http::Http,
};
use crate::{
    config::{ChannelKind, ChannelSettings, RouteSettings, Storm},
    store::{Store, outbox},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use fusebox_rpc::{SecretText, SecretUrl};
use fusebox_testkit::{ManualClock, Sink, SinkBuilder};
use serde_json::{Value, json};
use sqlx::Row;
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// 2026-01-02T03:04:05Z
const NOW: u64 = 1_767_323_045;

const KEY: &str = "mainnet:0x5aAe:0x07";

fn clock() -> ManualClock {
    ManualClock::new(Duration::from_secs(NOW))
}

fn secret(byte: u8) -> String {
    format!("whsec_{}", BASE64_STANDARD.encode([byte; 32]))
}

fn sink(clock: &ManualClock) -> SinkBuilder {
    Sink::builder().secret(&secret(1)).clock(clock.clone())
}

fn channel(name: &str, kind: ChannelKind) -> ChannelSettings {
    ChannelSettings { name: name.to_owned(), kind, confirm: true, storm: None, template: None }
}

fn hook(name: &str, url: &str) -> ChannelSettings {
    let secrets = vec![SecretText::new(secret(1))];
    channel(name, ChannelKind::Webhook { url: SecretUrl::new(url), secrets })
}

fn slack(name: &str, url: &str) -> ChannelSettings {
    channel(name, ChannelKind::Slack { url: SecretUrl::new(url) })
}

fn telegram(name: &str, url: &str) -> ChannelSettings {
    let token = SecretText::new("110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw");
    let chat = "-1001234567890".to_owned();
    channel(name, ChannelKind::Telegram { token, chat, url: SecretUrl::new(url) })
}

/// The n-th message about a key.
fn message(key: &str, nth: usize, data: Value) -> Message {
    let kind = AlertType::BreakerOpened;
    Message {
        id: MessageId::of_cause(kind, &format!("{key}:{nth}")),
        key: key.to_owned(),
        about: About {
            chain: Some("mainnet".to_owned()),
            label: Some("vault/oracle".to_owned()),
            kind,
            phase: Phase::Seen,
            severity: Severity::Warning,
        },
        fact: None,
        note: None,
        data,
        at: NOW,
    }
}

fn opened(nth: usize) -> Message {
    message(KEY, nth, json!({ "cause": "reverted", "n": nth }))
}

/// Claims what is due in a channel.
async fn claim(
    store: &Store,
    (channel, now_ms): (&str, u64),
    limit: usize,
    merged: bool,
) -> Vec<Vec<outbox::Claimed>> {
    let heads = outbox::due(store, channel, now_ms, limit).await.unwrap();
    outbox::claim(store, outbox::Ask { channel, now_ms, merged }, &heads).await.unwrap()
}

/// A keeper's deliveries, and the store behind them.
struct Bench {
    store: Store,
    clock: ManualClock,
    channels: Vec<ChannelSettings>,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
}

impl Bench {
    async fn new(clock: &ManualClock, channels: impl IntoIterator<Item = ChannelSettings>) -> Self {
        let mut bench = Self {
            store: Store::in_memory().await.unwrap(),
            clock: clock.clone(),
            channels: channels.into_iter().collect(),
            stop: CancellationToken::new(),
            running: None,
        };
        bench.start();
        bench
    }

    fn start(&mut self) {
        let names = self.channels.iter().map(|channel| channel.name.clone()).collect();
        let all = RouteSettings { channels: names, ..RouteSettings::default() };
        let routes = Routes::new(&[all], &self.channels).unwrap();
        let delivery = Delivery::new(
            self.store.clone(),
            self.channels.iter().map(|settings| Channel::new(settings).unwrap()),
            Arc::new(routes),
            Http::new().unwrap(),
            Arc::new(self.clock.clone()),
        );
        self.stop = CancellationToken::new();
        self.running = Some(tokio::spawn(delivery.run(self.stop.clone(), Duration::from_secs(10))));
    }

    /// Asks it to stop, and waits until it has.
    async fn ended(&mut self) {
        self.stop.cancel();
        let running = self.running.take().unwrap();
        tokio::time::timeout(Duration::from_secs(20), running).await.unwrap().unwrap();
    }

    async fn put(&self, message: &Message) {
        let names = self.channels.iter().map(|channel| channel.name.as_str());
        self.put_for(message, names).await;
    }

    async fn put_for(&self, message: &Message, channels: impl IntoIterator<Item = &str>) {
        let now_ms = crate::clock::Clock::now_ms(&self.clock);
        assert!(self.store.announce(message, channels, now_ms).await.unwrap());
    }

    /// Lets time pass, as soon as the deliveries wait for it.
    async fn pass(&self, time: Duration) {
        self.clock.sleeping(1).await;
        self.clock.advance(time);
    }

    async fn row(&self, message: &Message, channel: &str) -> Stored {
        let row = sqlx::query(
            "SELECT status, attempts, maybe_delivered, COALESCE(last_error, ''), next_at_ms
             FROM outbox WHERE message = $1 AND channel = $2",
        )
        .bind(message.id.as_str())
        .bind(channel)
        .fetch_one(self.store.reader())
        .await
        .unwrap();
        let number = |at: usize| row.get::<i64, _>(at);
        Stored {
            status: row.get(0),
            attempts: number(1),
            maybe_delivered: number(2) != 0,
            error: row.get(3),
            next_at_ms: number(4),
        }
    }

    /// Between two looks at the store. Time may have passed while the deliveries were about to wait for it: they look again.
    async fn look(&self) {
        self.store.news();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }

    /// The row, as soon as it has been tried so often and stands like this.
    async fn tried(&self, message: &Message, channel: &str, attempts: i64, status: &str) -> Stored {
        let until = async {
            loop {
                let row = self.row(message, channel).await;
                if row.attempts == attempts && row.status == status {
                    return row;
                }
                self.look().await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(20), until).await {
            Ok(row) => row,
            Err(_) => panic!("{:?}", self.row(message, channel).await),
        }
    }

    /// Waits until so many rows of a channel stand like this.
    async fn counted(&self, channel: &str, status: &str, count: u64) {
        let until = async {
            loop {
                let depths = outbox::depths(&self.store).await.unwrap();
                let rows = depths.get(channel).and_then(|depth| depth.rows.get(status));
                if rows.copied().unwrap_or_default() == count {
                    return;
                }
                self.look().await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(20), until).await.is_err() {
            panic!("{:?}", outbox::depths(&self.store).await.unwrap());
        }
    }

    async fn messages(&self, kind: AlertType) -> Vec<Value> {
        let rows = sqlx::query("SELECT body FROM message WHERE type = $1 ORDER BY seq")
            .bind(kind.name())
            .fetch_all(self.store.reader())
            .await
            .unwrap();
        rows.iter().map(|row| serde_json::from_str(row.get(0)).unwrap()).collect()
    }
}

/// A row of the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    status: String,
    attempts: i64,
    maybe_delivered: bool,
    error: String,
    next_at_ms: i64,
}
