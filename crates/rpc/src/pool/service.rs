//! The pool as an alloy transport.

use std::sync::Arc;
use std::task::{Context, Poll};

use alloy::rpc::client::RpcClient;
use alloy::rpc::json_rpc::{RequestPacket, Response, ResponsePacket, SerializedRequest};
use alloy::transports::{TransportError, TransportFut};
use tower_service::Service;
use tracing::Instrument;

use super::Pool;
use super::answer::{Payload, refusal};
use super::call::Call;
use super::error::{BadRequest, PoolError};
use super::wake::POLL_INTERVAL;

/// What geth takes at most. A longer body is refused by most nodes after it has been sent.
const MAX_REQUEST: usize = 5 * 1024 * 1024;

/// JSON-RPC's "method not found".
const NOT_FOUND: i64 = -32_601;

impl Pool {
    /// The pool as a client for alloy's providers.
    ///
    /// It is not marked local: alloy would guess from the URL, of which there is none, and poll four times a second.
    #[must_use]
    pub fn client(&self) -> RpcClient {
        let client = RpcClient::new(self.clone(), false);
        client.with_poll_interval(self.shared.cfg.block_time.unwrap_or(POLL_INTERVAL))
    }

    async fn answer(self, packet: RequestPacket) -> Result<ResponsePacket, PoolError> {
        let bytes: usize =
            packet.requests().iter().map(|request| request.serialized().get().len()).sum();
        if bytes > MAX_REQUEST {
            return Err(BadRequest::Oversized { bytes, max: MAX_REQUEST }.into());
        }
        match &packet {
            RequestPacket::Single(request) => {
                let call = self.call(request);
                let payload = self.route(&call).await?;
                Ok(ResponsePacket::Single(Response { id: call.id, payload }))
            }
            RequestPacket::Batch(requests) if requests.is_empty() => {
                Err(BadRequest::EmptyBatch.into())
            }
            RequestPacket::Batch(requests) => {
                let calls: Vec<Call> = requests.iter().map(|request| self.call(request)).collect();
                self.batch(calls).await.map(ResponsePacket::Batch)
            }
        }
    }

    fn call(&self, request: &SerializedRequest) -> Call {
        let mut call = Call::new(request, &self.shared.cfg.idempotent);
        call.class = self.options.class.unwrap_or(call.class);
        call
    }

    /// Sends a single call the way its method has to go.
    pub(crate) async fn route(&self, call: &Call) -> Result<Payload, PoolError> {
        let span = tracing::debug_span!("rpc", method = call.method, class = call.class.as_str());
        self.route_in_span(call).instrument(span).await
    }

    async fn route_in_span(&self, call: &Call) -> Result<Payload, PoolError> {
        let deadline = self.deadline();
        match call.method.as_str() {
            "eth_subscribe" | "eth_unsubscribe" => Ok(refusal(
                NOT_FOUND,
                format!(
                    "{} is not served by the pool: subscriptions lose what happens during a reconnect; poll, or use its wake-ups",
                    call.method
                ),
            )),
            "eth_sendRawTransaction" => self.send_raw(call, deadline).await,
            "eth_newFilter" | "eth_newBlockFilter" | "eth_newPendingTransactionFilter" => {
                self.new_filter(call, deadline).await
            }
            "eth_getFilterChanges" | "eth_getFilterLogs" | "eth_uninstallFilter" => {
                self.use_filter(call, deadline).await
            }
            _ => self.ask(call, deadline).await,
        }
    }
}

impl Service<RequestPacket> for Pool {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        // Whom to ask, and whether anybody can be, depends on the call.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> Self::Future {
        let pool = Self { shared: Arc::clone(&self.shared), options: self.options.clone() };
        Box::pin(async move { pool.answer(packet).await.map_err(TransportError::from) })
    }
}
