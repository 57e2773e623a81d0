//! From a log to an event. Every value is hostile: whoever deploys a contract chooses what it emits.

use alloy::{
    primitives::{B256, U256, b256},
    sol_types::{SolEvent, SolValue},
};
use fusebox_bindings::{Cause, Config, events};

/// The slot of a breaker whose events carry none, as those of the original article. No event that carries one is taken
/// for it.
pub(crate) const LEGACY: B256 = B256::new(*b"fusebox: a breaker without an id");

/// `Opened(uint256 retryAt)`.
const LEGACY_OPENED: B256 =
    b256!("076ee234681125279e2cfc540cc3442961385c988bd343b4081105999f39f5ea");
/// `Closed()`.
const LEGACY_CLOSED: B256 =
    b256!("1cdde67b72a90f19919ac732a437ac2f7a10fc128d28c2a6e525d89ce5cd9d3a");

/// The events of such a breaker, which count only of contracts that are marked.
pub(super) const LEGACY_TOPICS: [B256; 2] = [LEGACY_OPENED, LEGACY_CLOSED];

/// What happened to a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It opened, or an open one got a later deadline.
    Opened {
        /// Unix seconds at which it becomes half-open; saturated, as a hostile contract may say anything.
        retry_at: u64,
        /// Why, where the event tells.
        cause: Option<Cause>,
    },
    /// It closed.
    Closed,
    /// It has a new configuration.
    Configured(Config),
}

/// The breaker and what happened to it; `None` where the log is not of such an event's shape.
pub(crate) fn decode(topics: &[B256], data: &[u8]) -> Option<(B256, Kind)> {
    let (event, breaker) = match *topics {
        [event, breaker] if breaker != LEGACY => (event, breaker),
        [event] => return Some((LEGACY, decode_legacy(event, data)?)),
        _ => return None,
    };
    let kind = match event {
        events::Opened::SIGNATURE_HASH if data.len() == 64 => {
            // By hand, since a cause that is newer than this program is still an opening.
            let (retry_at, cause) = <(U256, U256)>::abi_decode(data).ok()?;
            Kind::Opened {
                retry_at: retry_at.saturating_to(),
                cause: Some(Cause(u8::try_from(cause).ok()?)),
            }
        }
        events::Closed::SIGNATURE_HASH if data.is_empty() => Kind::Closed,
        events::Configured::SIGNATURE_HASH => {
            let configured = events::Configured::abi_decode_data_validate(data).ok()?;
            let canonical = data.len() == configured.0.abi_encoded_size();
            canonical.then(|| Kind::Configured(configured.0.into()))?
        }
        _ => return None,
    };
    Some((breaker, kind))
}

fn decode_legacy(event: B256, data: &[u8]) -> Option<Kind> {
    match event {
        LEGACY_OPENED => {
            let retry_at = U256::from_be_bytes(<[u8; 32]>::try_from(data).ok()?);
            Some(Kind::Opened { retry_at: retry_at.saturating_to(), cause: None })
        }
        LEGACY_CLOSED => data.is_empty().then_some(Kind::Closed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::keccak256;

    fn words(words: &[U256]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes::<32>()).collect()
    }

    fn opened(retry_at: U256, cause: u64) -> Option<(B256, Kind)> {
        let topics = [events::Opened::SIGNATURE_HASH, B256::with_last_byte(7)];
        decode(&topics, &words(&[retry_at, U256::from(cause)]))
    }

    #[test]
    fn an_opening_is_decoded_whatever_its_cause_and_deadline() {
        let kind = |retry_at, cause| {
            Some((B256::with_last_byte(7), Kind::Opened { retry_at, cause: Some(Cause(cause)) }))
        };
        assert_eq!(opened(U256::from(1_700_000_100), 1), kind(1_700_000_100, 1));
        assert_eq!(opened(U256::from(1), 200), kind(1, 200), "a cause of a later version");
        assert_eq!(opened(U256::MAX, 1), kind(u64::MAX, 1), "saturated");
        assert_eq!(opened(U256::from(1), 256), None, "not a uint8");
    }

    #[test]
    fn a_configuration_is_decoded() {
        let topics = [events::Configured::SIGNATURE_HASH, B256::ZERO];
        let data = words(&[3, 100, 1, 200, 0, 2].map(U256::from));
        let config = Config {
            failure_threshold: 3,
            cooldown: 100,
            success_threshold: 1,
            max_cooldown: 200,
            window: 0,
            flags: 2,
        };
        assert_eq!(decode(&topics, &data), Some((B256::ZERO, Kind::Configured(config))));
        let dirty = words(&[3, 100, 1, 200, 0, 256].map(U256::from));
        assert_eq!(decode(&topics, &dirty), None, "flags are a uint8");
    }

    #[test]
    fn an_event_without_an_id_is_of_the_one_breaker_of_its_contract() {
        assert_eq!(LEGACY_OPENED, keccak256("Opened(uint256)"));
        assert_eq!(LEGACY_CLOSED, keccak256("Closed()"));
        let opened = |retry_at| Some((LEGACY, Kind::Opened { retry_at, cause: None }));
        assert_eq!(decode(&[LEGACY_OPENED], &words(&[U256::from(7)])), opened(7));
        assert_eq!(decode(&[LEGACY_OPENED], &words(&[U256::MAX])), opened(u64::MAX), "saturated");
        assert_eq!(decode(&[LEGACY_CLOSED], &[]), Some((LEGACY, Kind::Closed)));
    }

    #[test]
    fn another_shape_is_not_taken_for_the_event() {
        let [opened, closed, configured] = [
            events::Opened::SIGNATURE_HASH,
            events::Closed::SIGNATURE_HASH,
            events::Configured::SIGNATURE_HASH,
        ];
        let slot = B256::ZERO;
        for (topics, bytes) in [
            (vec![opened, slot], 0),
            (vec![opened, slot], 32),
            (vec![opened, slot], 63),
            (vec![opened, slot], 65),
            (vec![opened], 64),
            (vec![opened, slot, slot], 64),
            (vec![closed, slot], 1),
            (vec![closed], 0),
            (vec![configured, slot], 191),
            (vec![configured, slot], 193),
            (vec![LEGACY_OPENED], 0),
            (vec![LEGACY_OPENED], 31),
            (vec![LEGACY_OPENED], 64),
            (vec![LEGACY_OPENED, slot], 32),
            (vec![LEGACY_CLOSED], 32),
            (vec![LEGACY_CLOSED, slot], 0),
            (vec![opened, LEGACY], 64),
            (vec![closed, LEGACY], 0),
            (vec![slot, slot], 0),
            (vec![], 0),
        ] {
            assert_eq!(decode(&topics, &vec![0; bytes]), None, "{topics:?} and {bytes} bytes");
        }
        assert!(decode(&[closed, slot], &[]).is_some());
    }
}
