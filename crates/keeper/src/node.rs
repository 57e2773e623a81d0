//! The node: how a provider is made, and how its errors are told without telling a key.

use crate::Refusal;
use alloy::{
    primitives::Address,
    providers::{Provider, ProviderBuilder, RootProvider},
    rpc::json_rpc::RpcError,
    transports::{
        TransportError, TransportErrorKind,
        http::reqwest::{self, Url},
    },
};
use std::{convert::Infallible, error::Error, fmt, str::FromStr, time::Duration};

/// How long one request may take. alloy's HTTP transport has no limit of its own, so a node that accepts connections and
/// says nothing would hold the keeper for ever.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// An endpoint as it was given. It may hold a key, so it is never printed, nor repeated in an error.
#[derive(Clone)]
pub struct RpcUrl(String);

impl FromStr for RpcUrl {
    type Err = Infallible;

    fn from_str(given: &str) -> Result<Self, Infallible> {
        Ok(Self(given.to_owned()))
    }
}

impl fmt::Debug for RpcUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RpcUrl(…)")
    }
}

/// A node and what may be printed of where it is.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) provider: RootProvider,
    pub(crate) host: String,
}

impl Node {
    /// The one place where providers are made. It connects to nothing yet.
    pub(crate) fn new(url: &RpcUrl) -> Result<Self, Refusal> {
        let usage =
            |what| Refusal::Usage(format!("--rpc-url {what}; an example is http://127.0.0.1:8545"));
        let url = Url::parse(&url.0).map_err(|error| usage(format!("is not a URL: {error}")))?;
        match url.scheme() {
            "http" | "https" => Self::at(url),
            "ws" | "wss" => Err(usage("is a WebSocket; give the node's HTTP endpoint".to_owned())),
            scheme => Err(usage(format!("starts with `{scheme}:`, which is not HTTP"))),
        }
    }

    /// A node of our own, whose URL has no secret.
    pub(crate) fn at(url: Url) -> Result<Self, Refusal> {
        // Scheme, host and port: the path, the query and the user part are where keys are.
        let host = url.origin().ascii_serialization();
        // A redirect would be told the URL, and with it the key, as where it was sent from.
        let client = reqwest::Client::builder()
            .timeout(REQUEST_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .build()
            .map_err(|error| {
                let cause = root(&error);
                Refusal::Configuration(format!(
                    "no HTTP client: {cause}; are CA certificates installed?"
                ))
            })?;
        Ok(Self { provider: ProviderBuilder::default().connect_reqwest(client, url), host })
    }

    /// The chain id, which must be the expected one where there is one.
    pub(crate) async fn chain_id(&self, expected: Option<Expected<'_>>) -> eyre::Result<u64> {
        let found = self.provider.get_chain_id().await?;
        match expected {
            Some(expected) if expected.chain != found => Err(Refusal::Identity(format!(
                "the node at {} is on chain {found}, but {} says {}: check --rpc-url",
                self.host, expected.says, expected.chain
            ))
            .into()),
            _ => Ok(found),
        }
    }

    /// Fails where there is no contract.
    pub(crate) async fn must_have_code(
        &self,
        address: Address,
        chain: u64,
        source: Source<'_>,
    ) -> eyre::Result<()> {
        if !self.provider.get_code_at(address).await?.is_empty() {
            return Ok(());
        }
        let host = &self.host;
        Err(Refusal::Configuration(match source {
            Source::CommandLine => format!(
                "there is no contract at {address} on chain {chain}: check the address, and that {host} is the node you mean"
            ),
            Source::Deployment { name, file } => format!(
                "there is no contract at {address} on chain {chain}, where {file} has `{name}`: it is written before anything is sent, so if that failed, run script/Deploy.s.sol again; else check that {host} is the node you mean"
            ),
        })
        .into())
    }
}

/// The chain that is meant, and who says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) chain: u64,
    pub(crate) says: &'a str,
}

/// Who says that a contract is somewhere: what has to be done where there is none depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// An address that was typed.
    CommandLine,
    /// An entry of a deployment file, which the script writes before it sends.
    Deployment { name: &'a str, file: &'a str },
}

/// A transport error for a person, without the URL that `reqwest` puts into its own.
pub(crate) fn explain(error: &TransportError) -> String {
    match error {
        RpcError::ErrorResp(answer) => {
            format!("the node answers with error {}: {}", answer.code, printable(&answer.message))
        }
        RpcError::DeserError { .. } | RpcError::NullResp => {
            "the answer is not that of an Ethereum node; is the URL right?".to_owned()
        }
        RpcError::Transport(TransportErrorKind::HttpError(answer)) => {
            format!("HTTP status {}; is the URL right?", answer.status)
        }
        RpcError::Transport(TransportErrorKind::Custom(error)) => {
            match error.downcast_ref::<reqwest::Error>() {
                Some(error) if error.is_timeout() => {
                    format!("no answer within {} s", REQUEST_TIMEOUT.as_secs())
                }
                Some(error) => root(error).to_string(),
                None => "the request failed".to_owned(),
            }
        }
        _ => "the request failed".to_owned(),
    }
}

/// What a node says, on one line of bounded length: it must not be able to write lines of its own into a log.
fn printable(message: &str) -> String {
    const LENGTH: usize = 200;
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LENGTH).collect()
}

/// The first cause: "connection refused" rather than "error sending request".
fn root(error: &reqwest::Error) -> &dyn Error {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    // Without a cause this is the error that holds the URL.
    if cause.is::<reqwest::Error>() { &Unexplained } else { cause }
}

#[derive(Debug, thiserror::Error)]
#[error("the request failed")]
struct Unexplained;

/// The transport error in a chain of errors: what is worth another try.
pub(crate) fn transport_error(error: &eyre::Report) -> Option<&TransportError> {
    error.chain().find_map(|cause| {
        cause.downcast_ref::<TransportError>().or_else(|| {
            match cause.downcast_ref::<alloy::contract::Error>() {
                Some(alloy::contract::Error::TransportError(error)) => Some(error),
                _ => None,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_says_stays_on_one_line_of_bounded_length() {
        assert_eq!(printable("bad\nblock 1  closed\u{1b}[31m"), "bad block 1  closed [31m");
        assert_eq!(printable(&"x".repeat(1_000)).len(), 200);
    }
}
