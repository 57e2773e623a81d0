//! Takes the answer to a batch apart.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One answer of a batch, still as text: classify it as a [`Reply`](crate::Reply) with the status and headers of the
/// whole. `Debug` shows how long it is and not what it says, as with a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BatchElement<'a> {
    /// Its id as JSON text, if it has one that is not `null`.
    pub id: Option<&'a str>,
    /// The element.
    pub text: &'a str,
}

impl fmt::Debug for BatchElement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchElement")
            .field("id", &self.id)
            .field("text_len", &self.text.len())
            .finish()
    }
}

/// The elements of a batch's answer in the order in which they came, which need not be that of the requests.
///
/// `None` if it is no array: then the body answers the batch as a whole, and every element has its verdict.
///
/// ```
/// use fusebox_rpc::batch_elements;
///
/// let body = br#"[{"id":2,"result":"0x1"},{"id":1,"error":{"code":-32005,"message":"limit exceeded"}}]"#;
/// let ids: Vec<_> = batch_elements(body).unwrap().into_iter().map(|element| element.id).collect();
/// assert_eq!(ids, [Some("2"), Some("1")]);
/// assert!(batch_elements(br#"{"code":429,"message":"Too Many Requests"}"#).is_none());
/// ```
#[must_use]
pub fn batch_elements(body: &[u8]) -> Option<Vec<BatchElement<'_>>> {
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    let elements: Vec<&RawValue> = serde_json::from_slice(body).ok()?;
    Some(
        elements
            .into_iter()
            .map(|raw| BatchElement {
                id: serde_json::from_str::<Id<'_>>(raw.get())
                    .ok()
                    .and_then(|id| id.id)
                    .map(RawValue::get),
                text: raw.get(),
            })
            .collect(),
    )
}
