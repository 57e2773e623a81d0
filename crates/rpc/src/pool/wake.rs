//! That there is a new block, as early as anybody says so.
//!
//! A wake-up is a hint and no fact: subscriptions lose what happens during a reconnect, and a queue of heads overflows
//! just when much happens. So only the newest one is kept, whoever wakes pulls what it wants over the pool, and a timer
//! pulls when nobody says anything.

use std::time::Duration;

use alloy::primitives::B256;
use alloy::rpc::json_rpc::ResponsePayload;
use futures_util::stream::{Stream, unfold};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use super::Pool;
use super::call::Call;
use crate::context::quantity;

/// How often the head is asked for while somebody listens, unless the block time is configured: an L1 slot is 12 s.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_secs(4);

/// There is a block of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Wake {
    /// Its number.
    pub number: u64,
    /// Its hash, at the node that told.
    pub hash: B256,
}

/// The newest wake-up.
#[derive(Debug)]
pub(crate) struct Wakes(watch::Sender<Option<Wake>>);

impl Default for Wakes {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Wakes {
    /// Tells of a block, unless it is the one told of before, or an endpoint that is behind tells of an older one.
    pub(crate) fn tell(&self, wake: Wake) {
        self.0.send_if_modified(|last| {
            let is_news =
                last.is_none_or(|last| wake.number >= last.number && wake.hash != last.hash);
            if is_news {
                *last = Some(wake);
            }
            is_news
        });
    }

    fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }
}

/// The header of a notification or an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    number: String,
    hash: B256,
}

impl Head {
    pub(crate) fn wake(&self) -> Option<Wake> {
        Some(Wake { number: quantity(&self.number)?, hash: self.hash })
    }
}

impl Pool {
    /// Blocks as they appear: newest wins, and those that came while nobody looked are left out. Never ends while the
    /// pool lives. Needs [`Pool::run`], which listens to the `ws` endpoints and asks the pool besides.
    pub fn wakeups(&self) -> impl Stream<Item = Wake> + Send + use<> {
        unfold(self.shared.wakes.0.subscribe(), |mut news| async move {
            loop {
                news.changed().await.ok()?;
                let wake = *news.borrow_and_update();
                if let Some(wake) = wake {
                    return Some((wake, news));
                }
            }
        })
    }

    /// Asks for the head in intervals, while somebody listens.
    pub(crate) async fn poll_heads(&self) {
        let time = &self.shared.time;
        let interval = self.shared.cfg.block_time.unwrap_or(POLL_INTERVAL);
        let call = Call::make("eth_getBlockByNumber", &json!(["latest", false]));
        loop {
            time.sleep_until(time.now().after(interval)).await;
            if !self.shared.wakes.is_heard() {
                continue;
            }
            // What went wrong, the attempts have said already; the next interval comes.
            let Ok(ResponsePayload::Success(head)) = self.ask(&call, self.deadline()).await else {
                continue;
            };
            let head = serde_json::from_str::<Head>(head.get()).ok();
            if let Some(wake) = head.and_then(|head| head.wake()) {
                self.shared.wakes.tell(wake);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_wins_and_an_endpoint_that_is_behind_wakes_nobody() {
        let wakes = Wakes::default();
        let mut news = wakes.0.subscribe();
        let mut told = |number, hash| {
            wakes.tell(Wake { number, hash: B256::repeat_byte(hash) });
            let changed = news.has_changed().unwrap();
            news.mark_unchanged();
            changed
        };
        assert!(told(5, 1));
        assert!(!told(5, 1), "the same");
        assert!(told(5, 2), "a reorg at the head");
        assert!(!told(4, 3), "behind");
        assert!(told(6, 4));
    }
}
