//! What can be wrong with the store.

use std::path::PathBuf;

/// The store failed, or is not one that the keeper may write.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum StoreError {
    /// Not to be used as it is: what, and the remedy. Exit code 5.
    #[error("the store {place}: {why}")]
    Refused { place: String, why: String },
    /// Another keeper has it. Exit code 5.
    #[error("the store {} is in use by {holder}: stop that keeper, or give this one another --store", path.display())]
    Held { path: PathBuf, holder: String },
    /// A query failed: nothing of its transaction is there.
    #[error("the store does not answer: {0}")]
    Query(#[from] sqlx::Error),
    /// What is stored is not what the keeper wrote.
    #[error("the store holds what this keeper did not write: {0}")]
    Corrupt(String),
}
