//! A block builder behind the builder API: it bids for every slot, and reveals what was signed.

use crate::{
    bid::{Signer, payload},
    engine::{Building, Engine},
    relay::{Relay, RelayAnswer, RelayRequest},
    reply::HttpReply,
};
use alloy::{
    consensus::Header,
    primitives::{Address, B256, Bytes, U256},
};
use serde_json::Value;
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// What stands in the extra data of its payloads.
const EXTRA_DATA: &[u8] = b"builder";
/// Wei: one ether, more than an empty payload is worth to anybody else.
const VALUE: u64 = 1_000_000_000_000_000_000;
/// How long a bid waits for a beacon node to say what is to be built; mev-boost's own patience is 950 ms.
const PATIENCE: Duration = Duration::from_millis(900);

/// The network that blocks are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuilderNetwork {
    /// Unix seconds of genesis.
    pub genesis: u64,
    /// Seconds of a slot.
    pub seconds_per_slot: u64,
    /// `GENESIS_FORK_VERSION`, which bids are signed for.
    pub genesis_fork_version: [u8; 4],
}

/// A block builder that runs. Dropping it closes all that belongs to it.
#[derive(Debug)]
pub struct BlockBuilder {
    relay: Relay,
    bidder: Arc<Bidder>,
}

#[derive(Debug)]
struct Bidder {
    building: Arc<Building>,
    network: BuilderNetwork,
    signer: Signer,
    /// Payloads that were bid, by their hash.
    bids: Mutex<HashMap<B256, Header>>,
    /// The payload that is revealed late, and by how much.
    late: Mutex<Option<Duration>>,
}

impl BlockBuilder {
    /// Who is paid in its blocks.
    pub const FEE_RECIPIENT: Address = Address::repeat_byte(0xbb);

    /// Starts one on a free port of the loopback, which bids on what a beacon node wants built by this engine.
    ///
    /// # Errors
    /// When there is none.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(engine: &Engine, network: BuilderNetwork) -> io::Result<Self> {
        let relay = Relay::start().await?;
        let signer = Signer::new(network.genesis_fork_version);
        let bidder = Arc::new(Bidder {
            building: engine.building(),
            network,
            signer,
            bids: Mutex::default(),
            late: Mutex::default(),
        });
        let (bids, reveals) = (Arc::clone(&bidder), Arc::clone(&bidder));
        relay.answer_by("/builder/header/", move |request| {
            let bidder = Arc::clone(&bids);
            async move { bidder.bid(&request).await.unwrap_or(HttpReply::new(204)).into() }
        });
        relay.answer_by("/v1/builder/blinded_blocks", move |request| {
            let answer = reveals.reveal(&request);
            async move { answer }
        });
        Ok(Self { relay, bidder })
    }

    /// The next payload that is asked for is revealed after this time only, and so comes to be an orphan where the next
    /// slot has a block.
    pub fn reveal_next_after(&self, time: Duration) {
        *lock(&self.bidder.late) = Some(time);
    }

    /// What it was asked, and other answers.
    #[must_use]
    pub fn relay(&self) -> &Relay {
        &self.relay
    }
}

impl Bidder {
    /// None where nobody wants such a block.
    async fn bid(&self, request: &RelayRequest) -> Option<HttpReply> {
        let (_, path) = request.target().split_once("/header/")?;
        let mut parts = path.split('/');
        let slot: u64 = parts.next()?.parse().ok()?;
        let parent: B256 = parts.next()?.parse().ok()?;
        let time = slot.checked_mul(self.network.seconds_per_slot)?;
        let wanted = self.building.payload(parent, self.network.genesis.checked_add(time)?);
        let header = tokio::time::timeout(PATIENCE, wanted).await.ok()?;
        let header = Header {
            beneficiary: BlockBuilder::FEE_RECIPIENT,
            extra_data: Bytes::from_static(EXTRA_DATA),
            ..header
        };
        let bid = self.signer.bid(&header, U256::from(VALUE));
        lock(&self.bids).insert(header.hash_slow(), header);
        Some(json(&bid))
    }

    fn reveal(&self, request: &RelayRequest) -> RelayAnswer {
        let Some(reply) = self.payload(request) else { return HttpReply::new(400).into() };
        match lock(&self.late).take() {
            Some(time) => RelayAnswer::Later(time, reply),
            None => reply.into(),
        }
    }

    /// None for what was not bid.
    fn payload(&self, request: &RelayRequest) -> Option<HttpReply> {
        let block: Value = serde_json::from_slice(&request.body).ok()?;
        let hash = block.pointer("/message/body/execution_payload_header/block_hash")?;
        let hash: B256 = hash.as_str()?.parse().ok()?;
        lock(&self.bids).get(&hash).map(|header| json(&payload(header)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn json(value: &Value) -> HttpReply {
    HttpReply::new(200).header("content-type", "application/json").body(value.to_string())
}
