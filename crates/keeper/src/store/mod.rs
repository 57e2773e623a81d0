//! What outlives the process: one database, written by one connection, one transaction a batch.
//!
//! The queries are plain SQL with `$1` placeholders through sqlx's `Any` driver, so that another database is a matter of
//! its migrations and of the few statements that differ.

mod error;
mod message;
mod open;
pub(crate) mod outbox;
mod probe;
mod value;

pub(crate) use error::StoreError;
pub(crate) use message::insert;
pub(crate) use value::{blob, hash, int, uint};

use sqlx::{Any, AnyPool, Transaction};
use std::{path::PathBuf, sync::Arc};
use tokio::sync::watch;

/// An open store. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    write: AnyPool,
    read: AnyPool,
    /// Changes when there is something new to tell.
    news: Arc<watch::Sender<()>>,
    /// Held while the store is open for writing, and freed by the system whatever ends the process.
    _lock: Option<Arc<std::fs::File>>,
    /// Whether it was made just now.
    pub(crate) is_fresh: bool,
    /// The database file, where there is one.
    pub(crate) path: Option<PathBuf>,
}

pub(crate) type Tx = Transaction<'static, Any>;

impl Store {
    /// Begins what is stored whole or not at all.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(self.write.begin().await?)
    }

    /// Wakes those who tell. A hint: they look by themselves, too.
    pub(crate) fn news(&self) {
        self.news.send_replace(());
    }

    /// Wakes when there may be something new to tell.
    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// For queries that change nothing.
    pub(crate) fn reader(&self) -> &AnyPool {
        &self.read
    }
}
