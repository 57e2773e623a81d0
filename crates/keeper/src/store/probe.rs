//! Whether the store still takes what it is given.

use super::{Store, StoreError};
use std::time::Duration;
use tokio::time::timeout;

/// How long it may take to take a write. It waits for others as long as this.
const PATIENCE: Duration = Duration::from_secs(5);

impl Store {
    /// Why nothing can be stored now; `None` where it can.
    pub(crate) async fn stuck(&self) -> Option<String> {
        match timeout(PATIENCE, self.write_nothing()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("nothing can be stored: {error}")),
            Err(_) => Some(format!("the store has taken no write for {} s", PATIENCE.as_secs())),
        }
    }

    /// Takes the place of the one who writes, for a moment.
    async fn write_nothing(&self) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ('alive', '')
             ON CONFLICT (name) DO UPDATE SET value = ''",
        )
        .execute(&mut *tx)
        .await?;
        // That it could is enough.
        Ok(tx.rollback().await?)
    }
}
