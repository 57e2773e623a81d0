//! Filters live on the endpoint that made them.
//!
//! Two nodes give out the same ids, so a caller gets an id of ours, and calls that name it go to the one endpoint that
//! knows what it means. Reading a filter moves its cursor: such calls are never repeated.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use alloy::rpc::json_rpc::ResponsePayload;
use fusebox_breaker::Tick;
use serde_json::{Value, json};

use super::Pool;
use super::answer::{Payload, refusal, text_result};
use super::call::Call;
use super::ending::Ended;
use super::error::PoolError;
use super::failover::Run;
use super::note::draw;
use super::servers::lock;

/// How many filters are remembered; of more, the one that has been idle longest is forgotten. A megabyte or so.
const MOST: usize = 10_000;

/// How long an idle filter is remembered. Nodes forget theirs after 5 minutes.
const IDLE: Duration = Duration::from_secs(15 * 60);

/// What nodes say of a filter they do not have.
const NOT_FOUND: i64 = -32_000;

/// Filters by our id.
#[derive(Debug, Default)]
pub(crate) struct Filters(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_id: BTreeMap<String, Filter>,
}

#[derive(Debug, Clone)]
struct Filter {
    index: usize,
    theirs: String,
    used: Tick,
}

impl Filters {
    fn add(&self, index: usize, theirs: String, now: Tick) -> String {
        let mut known = lock(&self.0);
        known.by_id.retain(|_, filter| now.since(filter.used) < IDLE);
        if known.by_id.len() >= MOST {
            let oldest = known.by_id.iter().min_by_key(|(_, filter)| filter.used);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                known.by_id.remove(&id);
            }
        }
        // Not counted: a number of an earlier process would name another caller's filter in this one.
        let id = format!("{:#x}", u128::from(draw()) << 64 | u128::from(draw()));
        known.by_id.insert(id.clone(), Filter { index, theirs, used: now });
        id
    }

    fn get(&self, id: &str, now: Tick) -> Option<(usize, String)> {
        let mut known = lock(&self.0);
        let filter = known.by_id.get_mut(id).filter(|filter| now.since(filter.used) < IDLE)?;
        filter.used = now;
        Some((filter.index, filter.theirs.clone()))
    }

    fn remove(&self, id: &str) {
        lock(&self.0).by_id.remove(id);
    }
}

impl Pool {
    /// Makes a filter, and remembers where.
    pub(crate) async fn new_filter(
        &self,
        call: &Call,
        deadline: Tick,
    ) -> Result<Payload, PoolError> {
        let mut run = Run::new(self, call, deadline);
        let payload = match run.end().await {
            Ended::Answer(payload) => payload,
            Ended::Failed(error) | Ended::Unclear { error, .. } => return Err(error),
        };
        let theirs = match &payload {
            ResponsePayload::Success(id) => serde_json::from_str::<String>(id.get()).ok(),
            ResponsePayload::Failure(_) => None,
        };
        let Some((theirs, index)) = theirs.zip(run.answered) else { return Ok(payload) };
        let id = self.shared.filters.add(index, theirs, self.shared.time.now());
        Ok(text_result(&id).unwrap_or(payload))
    }

    /// Reads or removes a filter, where it is.
    pub(crate) async fn use_filter(
        &self,
        call: &Call,
        deadline: Tick,
    ) -> Result<Payload, PoolError> {
        let id = call.params().get(0).and_then(Value::as_str).unwrap_or_default().to_owned();
        let Some((index, theirs)) = self.shared.filters.get(&id, self.shared.time.now()) else {
            return Ok(refusal(NOT_FOUND, "filter not found; make a new one"));
        };
        let call = call.with_params(&json!([theirs]));
        let pinned = self.pinned_to(index);
        let mut run = Run::new(&pinned, &call, deadline);
        let ended = run.end().await;
        if run.filter_lost || call.method == "eth_uninstallFilter" {
            self.shared.filters.remove(&id);
        }
        match ended {
            Ended::Answer(payload) => Ok(payload),
            Ended::Failed(error) | Ended::Unclear { error, .. } => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_remembered_until_it_is_idle_for_too_long() {
        let filters = Filters::default();
        let at = |seconds| Tick::ZERO.after(Duration::from_secs(seconds));
        let id = filters.add(3, "0x1".to_owned(), at(0));
        assert_eq!(filters.get(&id, at(899)), Some((3, "0x1".to_owned())));
        assert_eq!(filters.get(&id, at(899 + 899)), Some((3, "0x1".to_owned())));
        assert_eq!(filters.get(&id, at(899 + 899 + 900)), None);
    }

    #[test]
    fn an_id_of_an_earlier_process_is_nobodys() {
        let first = || Filters::default().add(0, String::new(), Tick::ZERO);
        let ids: std::collections::BTreeSet<String> = (0..100).map(|_| first()).collect();
        assert_eq!(ids.len(), 100);
    }

    #[test]
    fn of_too_many_filters_the_one_idle_longest_goes() {
        let filters = Filters::default();
        let ids: Vec<String> =
            (0..MOST as u64).map(|i| filters.add(0, String::new(), Tick::from_nanos(i))).collect();
        filters.add(0, String::new(), Tick::from_nanos(MOST as u64));
        let now = Tick::from_nanos(MOST as u64);
        assert!(filters.get(&ids[0], now).is_none());
        assert!(filters.get(&ids[1], now).is_some());
    }
}
