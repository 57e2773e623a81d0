//! The body of an answer, from whoever it is.

use reqwest::Response;

/// All of it. None where it breaks off, or is longer than this: whoever answers may never end.
pub(super) async fn read(mut response: Response, most: usize) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.ok()? {
        body.extend_from_slice(&piece);
        if body.len() > most {
            return None;
        }
    }
    Some(body)
}
