//! What a method is for, and whether asking twice is harmless.
//!
//! One broken index must not take a whole endpoint down: `eth_getLogs` may fail for days on a node whose `eth_call` is
//! perfect. So breakers are kept per class of methods, coarse enough that a class sees traffic and fine enough that its
//! methods fail together.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

/// Methods that fail together, because one part of a node serves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodClass {
    /// Block numbers, headers and the chain id: any node that lives can answer.
    Head,
    /// Calls, balances, storage, estimates, transactions and receipts: needs the state or the bodies of a block.
    State,
    /// Logs and the filters over them: needs the log index.
    Logs,
    /// Whatever hands a transaction over.
    Send,
    /// `debug_*` and `trace_*`: slow by nature.
    Trace,
    /// Everything else.
    Other,
}

impl MethodClass {
    /// Every class, in the order in which status pages list them.
    pub const ALL: [Self; 6] =
        [Self::Head, Self::State, Self::Logs, Self::Send, Self::Trace, Self::Other];

    /// The class of a method. Total: what is not known is [`MethodClass::Other`].
    ///
    /// ```
    /// use fusebox_rpc::MethodClass;
    ///
    /// assert_eq!(MethodClass::of("eth_getLogs"), MethodClass::Logs);
    /// assert_eq!(MethodClass::of("debug_traceTransaction"), MethodClass::Trace);
    /// assert_eq!(MethodClass::of("eth_somethingNew"), MethodClass::Other);
    /// ```
    #[must_use]
    pub fn of(method: &str) -> Self {
        match method {
            "eth_blockNumber"
            | "eth_chainId"
            | "eth_syncing"
            | "net_version"
            | "eth_getBlockByNumber"
            | "eth_getBlockByHash"
            | "eth_getHeaderByNumber"
            | "eth_getHeaderByHash" => Self::Head,
            "eth_call"
            | "eth_callMany"
            | "eth_simulateV1"
            | "eth_estimateGas"
            | "eth_createAccessList"
            | "eth_gasPrice"
            | "eth_blobBaseFee"
            | "eth_feeHistory"
            | "eth_maxPriorityFeePerGas" => Self::State,
            "eth_getLogs"
            | "eth_newFilter"
            | "eth_newBlockFilter"
            | "eth_newPendingTransactionFilter"
            | "eth_getFilterChanges"
            | "eth_getFilterLogs"
            | "eth_uninstallFilter" => Self::Logs,
            _ if method.starts_with("debug_") || method.starts_with("trace_") => Self::Trace,
            _ if SENDS.iter().any(|part| method.contains(part)) => Self::Send,
            _ if method.starts_with("eth_get") => Self::State,
            _ => Self::Other,
        }
    }

    /// The word for configuration, metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::State => "state",
            Self::Logs => "logs",
            Self::Send => "send",
            Self::Trace => "trace",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for MethodClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Parts of the names of methods that hand over a transaction or a bundle, in whatever namespace a chain or relay has.
const SENDS: [&str; 3] = ["_send", "_cancel", "_privateTransaction"];

/// Filters live on the one endpoint that made them, and reading one moves its cursor: a repeated call loses changes.
const FILTER_CALLS: [&str; 2] = ["eth_getFilterChanges", "eth_getFilterLogs"];

/// Whether sending a call a second time changes nothing, so that it may be repeated elsewhere after an unclear end.
///
/// `extra` are the methods that a configuration adds. Everything unknown is not idempotent: a method nobody listed may
/// well move funds.
///
/// ```
/// use fusebox_rpc::is_idempotent;
/// use std::collections::BTreeSet;
///
/// let none = BTreeSet::new();
/// assert!(is_idempotent("eth_getBalance", &none));
/// assert!(!is_idempotent("eth_sendRawTransaction", &none));
/// assert!(!is_idempotent("eth_getFilterChanges", &none));
/// assert!(is_idempotent("bor_getAuthor", &BTreeSet::from(["bor_getAuthor".to_owned()])));
/// ```
#[must_use]
pub fn is_idempotent(method: &str, extra: &BTreeSet<String>) -> bool {
    if FILTER_CALLS.contains(&method) {
        return false;
    }
    let listed = matches!(
        method,
        "eth_call"
            | "eth_estimateGas"
            | "eth_blockNumber"
            | "eth_chainId"
            | "eth_feeHistory"
            | "eth_gasPrice"
            | "eth_maxPriorityFeePerGas"
            | "eth_createAccessList"
            | "eth_simulateV1"
            | "eth_syncing"
    );
    let family = ["eth_get", "net_", "web3_", "debug_trace", "trace_"];
    listed || family.iter().any(|prefix| method.starts_with(prefix)) || extra.contains(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_methods() {
        for (class, methods) in [
            (
                MethodClass::Head,
                &["eth_blockNumber", "eth_getBlockByNumber", "eth_getBlockByHash", "eth_chainId"][..],
            ),
            (
                MethodClass::State,
                &["eth_call", "eth_getBalance", "eth_getStorageAt", "eth_getBlockReceipts"],
            ),
            (
                MethodClass::State,
                &["eth_estimateGas", "eth_getTransactionReceipt", "eth_getProof", "eth_feeHistory"],
            ),
            (
                MethodClass::Logs,
                &["eth_getLogs", "eth_newFilter", "eth_getFilterChanges", "eth_getFilterLogs"],
            ),
            (
                MethodClass::Send,
                &[
                    "eth_sendRawTransaction",
                    "eth_sendTransaction",
                    "zks_sendRawTransactionWithDetailedOutput",
                ],
            ),
            (
                MethodClass::Send,
                &["eth_sendRawTransactionSync", "eth_cancelBundle", "mev_sendBundle"],
            ),
            (MethodClass::Trace, &["debug_traceTransaction", "trace_block", "trace_filter"]),
            (
                MethodClass::Other,
                &["eth_subscribe", "web3_clientVersion", "txpool_content", "", "ETH_CALL"],
            ),
        ] {
            for method in methods {
                assert_eq!(MethodClass::of(method), class, "{method}");
            }
        }
    }

    #[test]
    fn what_is_not_listed_is_sent_once() {
        let none = BTreeSet::new();
        for method in [
            "eth_sendRawTransaction",
            "eth_newFilter",
            "eth_uninstallFilter",
            "evm_mine",
            "debug_setHead",
            "",
        ] {
            assert!(!is_idempotent(method, &none), "{method}");
        }
        for method in
            ["eth_getLogs", "net_version", "web3_clientVersion", "debug_traceCall", "trace_block"]
        {
            assert!(is_idempotent(method, &none), "{method}");
        }
    }

    #[test]
    fn a_configuration_cannot_make_a_filter_read_repeatable() {
        let extra = BTreeSet::from(["eth_getFilterChanges".to_owned()]);
        assert!(!is_idempotent("eth_getFilterChanges", &extra));
    }
}
