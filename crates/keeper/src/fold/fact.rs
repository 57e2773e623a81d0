//! A log as the store keeps it: raw, so that what it means can be told again by a later version.

use super::state::Folded;
use crate::{
    store::{StoreError, blob, hash, uint},
    watch::{Block, Kind, Sighting, decode},
};
use alloy::primitives::{Address, B256, Bytes};
use sqlx::{Row, any::AnyRow};

/// Where a log is: the hash of its block, and its index there. With the chain it is unique.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub(crate) struct FactId {
    pub(crate) block: B256,
    pub(crate) log_index: u64,
}

/// A breaker's event.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) id: FactId,
    pub(crate) block: Block,
    pub(crate) transaction: Option<B256>,
    pub(crate) contract: Address,
    /// The breaker and what happened to it; `None` where the log is of an unknown shape.
    pub(crate) event: Option<(B256, Kind)>,
    /// Number of topics, topics, data.
    pub(crate) raw: Vec<u8>,
    /// How often it has entered the chain.
    pub(crate) entries: u64,
    pub(crate) late: bool,
}

/// The columns of [`Fact::of_row`].
pub(crate) const COLUMNS: &str =
    "block_hash, log_index, block_number, block_time, tx_hash, contract, raw, entries, late";

impl Fact {
    pub(crate) fn of_sighting(sighting: &Sighting) -> Self {
        let mut raw = vec![u8::try_from(sighting.topics.len()).unwrap_or(u8::MAX)];
        sighting.topics.iter().for_each(|topic| raw.extend(topic.as_slice()));
        raw.extend(&sighting.data);
        Self {
            id: FactId { block: sighting.block.hash, log_index: sighting.log_index },
            block: sighting.block,
            transaction: sighting.transaction,
            contract: sighting.contract,
            event: decode(&sighting.topics, &sighting.data),
            raw,
            entries: 1,
            late: sighting.late,
        }
    }

    /// # Errors
    /// [`StoreError::Corrupt`] where another program wrote the row.
    pub(crate) fn of_row(row: &AnyRow) -> Result<Self, StoreError> {
        let raw: Vec<u8> = row.try_get("raw")?;
        let (topics, data) = parts(&raw)?;
        let hash_of = |name| hash::<32>(&row.try_get::<Vec<u8>, _>(name)?);
        let block = Block {
            number: uint(row.try_get("block_number")?)?,
            hash: hash_of("block_hash")?,
            time: uint(row.try_get("block_time")?)?,
        };
        let transaction: Option<Vec<u8>> = row.try_get("tx_hash")?;
        Ok(Self {
            id: FactId { block: block.hash, log_index: uint(row.try_get("log_index")?)? },
            block,
            transaction: transaction.as_deref().map(hash).transpose()?,
            contract: Address(hash(&row.try_get::<Vec<u8>, _>("contract")?)?),
            event: decode(&topics, &data),
            entries: uint(row.try_get("entries")?)?,
            late: row.try_get::<i64, _>("late")? != 0,
            raw,
        })
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self.event {
            Some((_, Kind::Opened { .. })) => "opened",
            Some((_, Kind::Closed)) => "closed",
            Some((_, Kind::Configured(_))) => "configured",
            None => "unknown",
        }
    }

    /// The breaker's slot as a column has it; nothing where it is not known.
    pub(crate) fn breaker_blob(&self) -> Vec<u8> {
        self.event.map(|(breaker, _)| blob(breaker)).unwrap_or_default()
    }

    /// Its topics and its data.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], where another program wrote the row.
    pub(crate) fn log(&self) -> Result<(Vec<B256>, Bytes), StoreError> {
        parts(&self.raw)
    }

    /// Folds it into the state of its breaker.
    pub(super) fn apply_to(&self, folded: &mut Folded) {
        if let Some((_, kind)) = &self.event {
            folded.apply(self.id, self.entries, self.block, kind);
        }
    }
}

fn parts(raw: &[u8]) -> Result<(Vec<B256>, Bytes), StoreError> {
    let cut = || StoreError::Corrupt("a log that ends within its topics".to_owned());
    let (count, rest) = raw.split_first().ok_or_else(cut)?;
    let (topics, data) = rest.split_at_checked(usize::from(*count) * 32).ok_or_else(cut)?;
    Ok((topics.chunks_exact(32).map(B256::from_slice).collect(), Bytes::copy_from_slice(data)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_kept_whole() {
        for topics in 0..=4 {
            let sighting = Sighting {
                block: Block { number: 1, hash: B256::ZERO, time: 2 },
                transaction: None,
                log_index: 3,
                contract: Address::ZERO,
                topics: (0..topics).map(B256::repeat_byte).collect(),
                data: Bytes::from_static(b"data"),
                late: false,
            };
            let fact = Fact::of_sighting(&sighting);
            assert_eq!(fact.log().unwrap(), (sighting.topics, sighting.data));
        }
    }

    #[test]
    fn a_cut_row_is_corrupt_and_no_panic() {
        for raw in [&[][..], &[1], &[1, 2, 3], &[255; 33]] {
            assert!(parts(raw).is_err());
        }
    }
}
