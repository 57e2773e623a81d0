//! Whether an endpoint serves the chain it is configured for.
//!
//! A node of another chain answers everything, quickly and wrongly. So nothing is asked of an endpoint before its chain
//! id, and if configured its genesis hash, matched once. An endpoint that cannot be reached is unknown, not wrong.

use alloy::rpc::json_rpc::ResponsePayload;
use fusebox_breaker::Tick;
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::json;

use super::Pool;
use super::answer::{Payload, payload};
use super::attempt::{Held, Tried};
use super::call::Call;
use super::error::Rejection;
use super::event::PoolEvent;
use super::servers::Identity;
use super::shared::Shared;
use super::target::Target;
use crate::context::quantity;
use crate::method::MethodClass;
use crate::scrub::{Scrubber, clean_json};
use crate::verdict::Category;

/// How much of a wrong answer is shown.
const SHOWN: usize = 80;

/// Why an endpoint may not be used yet.
#[derive(Debug)]
pub(crate) enum Unidentified {
    /// Others are probing it, or it wants to be left alone.
    NotNow,
    /// It did not answer the question.
    Failed(Tried),
    /// It serves another chain.
    Wrong,
}

impl Pool {
    /// Asks every endpoint for its chain, for programs that would rather not start than start wrong.
    ///
    /// # Errors
    ///
    /// [`Rejection::ForcedOpen`]: every one of them serves another chain. One that cannot be reached is not wrong.
    pub async fn ready(&self) -> Result<(), Rejection> {
        let deadline = self.deadline();
        let checks =
            self.shared.targets.iter().map(|target| self.shared.identify(target, deadline));
        let wrong = |check: &Result<(), Unidentified>| matches!(check, Err(Unidentified::Wrong));
        match join_all(checks).await.iter().all(wrong) {
            true => Err(Rejection::ForcedOpen),
            false => Ok(()),
        }
    }
}

impl Shared {
    /// Asks an endpoint for its chain, unless that is known.
    pub(crate) async fn identify(
        &self,
        target: &Target,
        deadline: Tick,
    ) -> Result<(), Unidentified> {
        if let Some(known) = known(target) {
            return known;
        }
        let checking = tokio::select! {
            checking = target.state.checking.lock() => checking,
            () = self.time.sleep_until(deadline) => return Err(Unidentified::NotNow),
        };
        let result = match known(target) {
            Some(known) => known,
            None => self.check_identity(target, deadline).await.map_err(|failed| {
                // A WebSocket asks for itself on each connection, and may have found another chain meanwhile.
                match known(target) {
                    Some(Err(wrong)) => wrong,
                    _ => failed,
                }
            }),
        };
        drop(checking);
        result
    }

    /// Asks an endpoint for its chain, whatever is known.
    pub(crate) async fn check_identity(
        &self,
        target: &Target,
        deadline: Tick,
    ) -> Result<(), Unidentified> {
        let id = self.question(target, "eth_chainId", json!([]), deadline).await?;
        if let Told::Wrong(found) = Told::of(&id, self.chain) {
            return Err(self.wrong_chain(target, found));
        }
        if let Some(genesis) = self.cfg.genesis {
            let params = json!(["0x0", false]);
            let block = self.question(target, "eth_getBlockByNumber", params, deadline).await?;
            let expected = alloy::primitives::hex::encode_prefixed(genesis);
            let found = block_hash(&block).unwrap_or_else(|| shown(&block));
            if !found.eq_ignore_ascii_case(&expected) {
                return Err(self.serves_another(target, found, expected));
            }
        }
        target.state.known().identity = Identity::Verified(self.time.now());
        Ok(())
    }

    async fn question(
        &self,
        target: &Target,
        method: &str,
        params: serde_json::Value,
        deadline: Tick,
    ) -> Result<Payload, Unidentified> {
        let now = self.time.now();
        if now >= deadline || !target.take_pace(now) {
            return Err(Unidentified::NotNow);
        }
        let held = Held::acquire(target.breaker(MethodClass::Head)).ok_or(Unidentified::NotNow)?;
        let tried = self.attempt(target, &Call::make(method, &params), held, deadline).await;
        match (tried.verdict.category, &tried.payload) {
            (Category::Success, Some(payload)) => Ok(payload.clone()),
            _ => Err(Unidentified::Failed(tried)),
        }
    }

    /// Takes out an endpoint that says it serves the chain `found`.
    pub(crate) fn wrong_chain(&self, target: &Target, found: String) -> Unidentified {
        self.serves_another(target, found, format!("{:#x}", self.chain))
    }

    fn serves_another(&self, target: &Target, found: String, expected: String) -> Unidentified {
        // An endpoint may answer anything, with what was sent to it too. Scrubbed before it is cut: of half a secret nobody
        // knows that it is one.
        let mut found = clean_json(&found, |text| self.scrubber.scrub(text));
        found.truncate(found.floor_char_boundary(SHOWN));
        target.force_open();
        self.servers.pump();
        tracing::error!(provider = &*target.name, found, expected, "wrong chain");
        self.tell(PoolEvent::WrongChain { provider: target.name.clone(), found, expected });
        Unidentified::Wrong
    }
}

fn known(target: &Target) -> Option<Result<(), Unidentified>> {
    match target.state.known().identity {
        Identity::Verified(_) => Some(Ok(())),
        Identity::Wrong => Some(Err(Unidentified::Wrong)),
        Identity::Unknown => None,
    }
}

/// What an endpoint said when it was asked for its chain id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Right,
    /// Another one, or something that is none.
    Wrong(String),
    /// Nothing about it.
    Nothing,
}

impl Told {
    /// By the message that answers.
    pub(crate) fn by(body: &[u8], chain: u64) -> Self {
        // Only the words of errors hold secrets that scrubbing would find, and no error is shown here.
        payload(body, false, &Scrubber::default())
            .map_or(Self::Nothing, |said| Self::of(&said, chain))
    }

    fn of(said: &Payload, chain: u64) -> Self {
        let ResponsePayload::Success(result) = said else { return Self::Nothing };
        match serde_json::from_str::<String>(result.get()).ok().and_then(|id| quantity(&id)) {
            Some(found) if found == chain => Self::Right,
            Some(found) => Self::Wrong(format!("{found:#x}")),
            None => Self::Wrong(shown(said)),
        }
    }
}

fn block_hash(payload: &Payload) -> Option<String> {
    #[derive(Deserialize)]
    struct Block {
        hash: String,
    }
    let ResponsePayload::Success(result) = payload else { return None };
    Some(serde_json::from_str::<Block>(result.get()).ok()?.hash)
}

fn shown(payload: &Payload) -> String {
    let ResponsePayload::Success(result) = payload else { return String::new() };
    result.get().to_owned()
}
