//! What is known of nodes outlives the process: how long a range may be, who is to be left alone, whose breaker is open. Else
//! each start would ask everybody anew for what was refused before.

use crate::{
    node::Nodes,
    store::{Store, StoreError, int},
};
use fusebox_rpc::PoolSnapshot;
use sqlx::Row as _;
use std::time::Duration;
use tokio::time;

/// How often it is written down, for a process that is killed.
const EVERY: Duration = Duration::from_secs(30);

/// The nodes of one chain of a profile, and where what is known of them is stored.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) store: Store,
    pub(super) nodes: Nodes,
    pub(super) profile: String,
}

impl Memory {
    /// Gives back what was known; before anything is asked.
    ///
    /// # Errors
    /// When a query fails.
    pub(super) async fn recall(&self) -> Result<(), StoreError> {
        let row = sqlx::query("SELECT snapshot FROM pool WHERE chain_id = $1 AND profile = $2")
            .bind(int(self.nodes.chain))
            .bind(self.profile.as_str())
            .fetch_optional(self.store.reader())
            .await?;
        if let Some(row) = row {
            let text: String = row.try_get(0)?;
            // What cannot be read is not known to be well.
            let snapshot = serde_json::from_str(&text).unwrap_or_else(|_| PoolSnapshot::unknown());
            self.nodes.restore(&snapshot);
        }
        Ok(())
    }

    /// Writes down what is known now.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn keep(&self) -> Result<(), StoreError> {
        let text = serde_json::to_string(&self.nodes.save())
            .map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "INSERT INTO pool (chain_id, profile, snapshot) VALUES ($1, $2, $3)
             ON CONFLICT (chain_id, profile) DO UPDATE SET snapshot = excluded.snapshot",
        )
        .bind(int(self.nodes.chain))
        .bind(self.profile.as_str())
        .bind(text)
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    /// Writes it down again and again.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn run(self) -> eyre::Result<()> {
        loop {
            time::sleep(EVERY).await;
            self.keep().await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Pools;
    use alloy::providers::Provider as _;
    use fusebox_rpc::Servers;

    /// Whether a breaker is open.
    fn is_open(nodes: &Nodes) -> bool {
        serde_json::to_string(&nodes.save()).unwrap().to_lowercase().contains("\"open\"")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_breaker_that_is_open_is_open_after_a_restart_and_what_cannot_be_read_is_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("keeper.toml");
        let text = "[breaker]\ncooldown = \"600s\"\nmax_cooldown = \"600s\"
[[profile.default.chain.5.provider]]\nname = \"main\"\nhttp = \"http://127.0.0.1:1\"\n";
        std::fs::write(&file, text).unwrap();
        let pools = Pools::read(&file).unwrap();
        let nodes = || {
            let servers = Servers::default();
            Nodes::configured(&pools.rpc, "default", 5, &servers, &pools.rules).unwrap()
        };
        let store = Store::in_memory().await.unwrap();
        let memory =
            |nodes: Nodes| Memory { store: store.clone(), nodes, profile: "default".into() };
        let first = nodes();
        let failing = async {
            while !is_open(&first) {
                let asked = first.any.get_block_number();
                let _ = time::timeout(Duration::from_millis(500), asked).await;
            }
        };
        time::timeout(Duration::from_secs(20), failing).await.unwrap();
        memory(first).keep().await.unwrap();

        let second = nodes();
        assert!(!is_open(&second));
        memory(second.clone()).recall().await.unwrap();
        assert!(is_open(&second));

        let mut tx = store.begin().await.unwrap();
        sqlx::query("UPDATE pool SET snapshot = '?'").execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        let third = nodes();
        memory(third.clone()).recall().await.unwrap();
        assert!(!is_open(&third), "half-open");
    }
}
