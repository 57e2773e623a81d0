//! What was asked, of whom, and when: all that a verdict depends on besides the reply.

use std::time::SystemTime;

use serde_json::Value;

use crate::method::MethodClass;

/// The call a reply belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallContext<'a> {
    /// The JSON-RPC method.
    pub method: &'a str,
    /// The host of the endpoint, or the name of a provider that the rules know; selects host rules.
    pub host: &'a str,
    /// The id of the request as JSON text. A result under another id is somebody else's. `None` = not checked.
    pub id: Option<&'a str>,
    /// The block whose absence would be `null`; see [`block_asked_for`].
    pub block: Option<u64>,
    /// The highest block this endpoint has shown.
    pub head: Option<u64>,
    /// The wall clock when the reply arrived. Dates in a reply are measured against the reply's own `Date` if it has
    /// one, else against this.
    pub now: SystemTime,
}

impl CallContext<'_> {
    /// The class of the method.
    #[must_use]
    pub fn class(&self) -> MethodClass {
        MethodClass::of(self.method)
    }
}

/// The number of the block that a call wants to have, for methods that answer `null` when they do not have it.
///
/// ```
/// use fusebox_rpc::block_asked_for;
/// use serde_json::json;
///
/// assert_eq!(block_asked_for("eth_getBlockByNumber", &json!(["0x10", false])), Some(16));
/// assert_eq!(block_asked_for("eth_getBlockByNumber", &json!(["latest", false])), None);
/// assert_eq!(block_asked_for("eth_getBalance", &json!(["0x…", "0x10"])), None);
/// ```
#[must_use]
pub fn block_asked_for(method: &str, params: &Value) -> Option<u64> {
    match method {
        "eth_getBlockByNumber"
        | "eth_getHeaderByNumber"
        | "eth_getBlockReceipts"
        | "eth_getBlockTransactionCountByNumber"
        | "eth_getUncleCountByBlockNumber" => quantity(params.get(0)?.as_str()?),
        _ => None,
    }
}

/// A JSON-RPC quantity: `0x` and hexadecimal digits.
pub(crate) fn quantity(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    // `from_str_radix` would take a sign.
    digits
        .bytes()
        .all(|b| b.is_ascii_hexdigit())
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_hexadecimal_and_fits() {
        assert_eq!(quantity("0x0"), Some(0));
        assert_eq!(quantity("0xffffffffffffffff"), Some(u64::MAX));
        for bad in ["", "0x", "10", "0x+1", "0x-1", "0x10000000000000000", "0xg", "latest"] {
            assert_eq!(quantity(bad), None, "{bad}");
        }
    }
}
