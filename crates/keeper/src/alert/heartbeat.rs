//! A sign of life to somebody outside, as long as every chain is current.
//!
//! A keeper that is down, or reads nothing any more, cannot say so itself. Whoever misses the sign does.

use super::http::{Heard, Http, Request, UrlError, checked};
use crate::{clock::Clock, config::HeartbeatSettings, output::log};
use reqwest::{Method, header::HeaderMap};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Where the sign goes, and how often.
#[derive(Clone)]
pub(crate) struct Heartbeat {
    url: Url,
    every: Duration,
}

impl std::fmt::Debug for Heartbeat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heartbeat").field("every", &self.every).finish_non_exhaustive()
    }
}

impl Heartbeat {
    /// # Errors
    /// [`UrlError`] where what is sent would be others' to read: the URL is a key.
    pub(crate) fn new(settings: &HeartbeatSettings) -> Result<Self, UrlError> {
        Ok(Self { url: checked(&settings.url)?, every: settings.every })
    }

    /// Gives the sign until it is asked to stop, and none while a chain is not current. One that does not get through is not
    /// repeated: the next one is the repetition.
    pub(crate) async fn run<F: Future<Output = bool> + Send>(
        self,
        http: Http,
        clock: Arc<dyn Clock>,
        is_current: impl Fn() -> F + Send,
        stop: CancellationToken,
    ) {
        let mut trouble = None;
        loop {
            if is_current().await {
                let found = self.beat(&http, &*clock).await;
                if found != trouble
                    && let Some(found) = &found
                {
                    log(&format!("the heartbeat does not get through: {found}"));
                }
                trouble = found;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = clock.sleep(self.every) => {}
            }
        }
    }

    async fn beat(&self, http: &Http, clock: &dyn Clock) -> Option<String> {
        let url = self.url.clone();
        let (headers, body) = (HeaderMap::new(), Vec::new());
        match http.send(Request { method: Method::GET, url, headers, body }, clock).await {
            Heard::Answer { status: 200..=299, .. } => None,
            Heard::Answer { status, .. } => Some(format!("it answered {status}")),
            Heard::Nothing(why) => Some(why.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_rpc::SecretUrl;
    use fusebox_testkit::{ManualClock, Sink};
    use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

    #[tokio::test]
    async fn it_beats_while_every_chain_is_current_whatever_is_answered() {
        let every = Duration::from_secs(30);
        let sink = Sink::builder().answer(500).start().await.unwrap();
        let url = SecretUrl::new(format!("{}/ping/k3y", sink.url()));
        let heartbeat = Heartbeat::new(&HeartbeatSettings { url, every }).unwrap();
        let clock = ManualClock::new(every);
        let (is_current, asked) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU8::new(0)));
        let stop = CancellationToken::new();
        let task = {
            let (is_current, asked) = (Arc::clone(&is_current), Arc::clone(&asked));
            let is_current = move || {
                asked.fetch_add(1, Ordering::Relaxed);
                std::future::ready(is_current.load(Ordering::Relaxed))
            };
            let clock = Arc::new(clock.clone());
            tokio::spawn(heartbeat.run(Http::new().unwrap(), clock, is_current, stop.clone()))
        };
        assert_eq!(sink.received(1).await[0].path, "/ping/k3y");
        is_current.store(false, Ordering::Relaxed);
        let passes = async |is_enough: &dyn Fn() -> bool| {
            while !is_enough() {
                clock.advance(every);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        passes(&|| asked.load(Ordering::Relaxed) > 4).await;
        assert_eq!(sink.deliveries().len(), 1);
        is_current.store(true, Ordering::Relaxed);
        passes(&|| sink.deliveries().len() > 1).await;
        stop.cancel();
        tokio::time::timeout(every, task).await.unwrap().unwrap();
    }

    #[test]
    fn it_goes_to_nobody_who_could_listen() {
        let settings = |url| HeartbeatSettings { url: SecretUrl::new(url), every: Duration::MAX };
        assert_eq!(Heartbeat::new(&settings("http://a.example/x")).unwrap_err(), UrlError::Open);
        assert!(!format!("{:?}", Heartbeat::new(&settings("https://a.example/x"))).contains("/x"));
    }
}
