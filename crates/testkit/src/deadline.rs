//! Every wait of a test ends.

use std::{fmt, future::Future, time::Duration};

/// Long enough for a loaded machine; nothing waits this long when all is well.
const DEADLINE: Duration = Duration::from_secs(20);

/// What `wait` gives; panics with `what` if it does not come.
pub(crate) async fn within<T>(what: impl fmt::Display, wait: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, wait).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {DEADLINE:?}"),
    }
}
