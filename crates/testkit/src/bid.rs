//! A builder's bid for an empty payload: how the builder API writes it, and what is signed.
//!
//! Bellatrix, the oldest fork that has builders and the one with the fewest fields. SSZ is written out here: one type with a
//! root is no reason for a library of them.

use alloy::{
    consensus::Header,
    primitives::{B256, U256, hex},
};
use blst::min_pk::SecretKey;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Hash to curve, as all of the consensus layer has it.
const SUITE: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";
/// `DOMAIN_APPLICATION_BUILDER` of the builder specification.
const DOMAIN_TYPE: [u8; 4] = [0, 0, 0, 1];
/// log₂ of `MAX_TRANSACTIONS_PER_PAYLOAD`.
const TRANSACTIONS_DEPTH: usize = 20;

type Chunk = [u8; 32];

/// Signs bids for one network.
#[derive(Debug)]
pub(crate) struct Signer {
    secret: SecretKey,
    domain: Chunk,
}

impl Signer {
    /// With a key that everybody knows.
    pub(crate) fn new(genesis_fork_version: [u8; 4]) -> Self {
        let secret = SecretKey::key_gen(&[0xb1; 32], &[]).expect("32 bytes are enough");
        // compute_domain: a builder has no genesis, so the root is zero.
        let fork = pair(left(&genesis_fork_version), Chunk::default());
        let mut domain = left(&DOMAIN_TYPE);
        domain[4..].copy_from_slice(&fork[..28]);
        Self { secret, domain }
    }

    /// The bid for this payload, in JSON.
    pub(crate) fn bid(&self, header: &Header, value: U256) -> Value {
        let pubkey = self.secret.sk_to_pk().compress();
        let root = merkle(&[
            header_root(header),
            value.to_le_bytes(),
            merkle(&[left(&pubkey[..32]), left(&pubkey[32..])]),
        ]);
        let signature = self.secret.sign(&pair(root, self.domain), SUITE, &[]);
        let mut message = to_builder(header);
        message["transactions_root"] = json!(B256::from(transactions_root()));
        json!({
            "version": "bellatrix",
            "data": {
                "message": {
                    "header": message,
                    "value": value.to_string(),
                    "pubkey": hex::encode_prefixed(pubkey),
                },
                "signature": hex::encode_prefixed(signature.compress()),
            },
        })
    }
}

/// The payload itself, once the block was signed.
pub(crate) fn payload(header: &Header) -> Value {
    let mut payload = to_builder(header);
    payload["transactions"] = json!([]);
    json!({ "version": "bellatrix", "data": payload })
}

/// What header and payload have in common.
fn to_builder(header: &Header) -> Value {
    json!({
        "parent_hash": header.parent_hash,
        "fee_recipient": header.beneficiary,
        "state_root": header.state_root,
        "receipts_root": header.receipts_root,
        "logs_bloom": header.logs_bloom,
        "prev_randao": header.mix_hash,
        "block_number": header.number.to_string(),
        "gas_limit": header.gas_limit.to_string(),
        "gas_used": header.gas_used.to_string(),
        "timestamp": header.timestamp.to_string(),
        "extra_data": header.extra_data,
        "base_fee_per_gas": header.base_fee_per_gas.unwrap_or_default().to_string(),
        "block_hash": header.hash_slow(),
    })
}

/// `hash_tree_root` of an `ExecutionPayloadHeader`.
fn header_root(header: &Header) -> Chunk {
    let bloom: Vec<Chunk> = header.logs_bloom.chunks(32).map(left).collect();
    merkle(&[
        header.parent_hash.0,
        left(header.beneficiary.as_slice()),
        header.state_root.0,
        header.receipts_root.0,
        merkle(&bloom),
        header.mix_hash.0,
        number(header.number),
        number(header.gas_limit),
        number(header.gas_used),
        number(header.timestamp),
        // A list of at most 32 bytes: one chunk, and its length.
        pair(left(&header.extra_data), number(header.extra_data.len() as u64)),
        number(header.base_fee_per_gas.unwrap_or_default()),
        header.hash_slow().0,
        transactions_root(),
    ])
}

/// The root of no transactions.
fn transactions_root() -> Chunk {
    let none = (0..TRANSACTIONS_DEPTH).fold(Chunk::default(), |root, _| pair(root, root));
    pair(none, number(0))
}

/// The root over chunks, with zeros up to the next power of two.
fn merkle(chunks: &[Chunk]) -> Chunk {
    let mut level = chunks.to_vec();
    level.resize(chunks.len().next_power_of_two(), Chunk::default());
    while level.len() > 1 {
        level = level.chunks(2).map(|two| pair(two[0], two[1])).collect();
    }
    level[0]
}

fn pair(left: Chunk, right: Chunk) -> Chunk {
    Sha256::new().chain_update(left).chain_update(right).finalize().into()
}

/// At most 32 bytes, and zeros.
fn left(bytes: &[u8]) -> Chunk {
    let mut chunk = Chunk::default();
    chunk[..bytes.len()].copy_from_slice(bytes);
    chunk
}

fn number(number: u64) -> Chunk {
    left(&number.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::{Address, Bloom, Bytes, b256};
    use blst::{
        BLST_ERROR,
        min_pk::{PublicKey, Signature},
    };

    fn header() -> Header {
        Header {
            parent_hash: B256::repeat_byte(0x11),
            beneficiary: Address::repeat_byte(0xbb),
            state_root: B256::repeat_byte(0x22),
            receipts_root: B256::repeat_byte(0x33),
            logs_bloom: Bloom::repeat_byte(0x44),
            mix_hash: B256::repeat_byte(0x55),
            number: 6,
            gas_limit: 30_000_000,
            gas_used: 7,
            timestamp: 1_700_000_000,
            extra_data: Bytes::from_static(b"builder"),
            base_fee_per_gas: Some(7),
            ..Header::default()
        }
    }

    /// As `@lodestar/types` 1.5.1 has them.
    #[test]
    fn roots_are_those_of_a_beacon_node() {
        let none = b256!("7ffe241ea60187fdb0187bfa22de35d1f9bed7ab061d9401fd47e34a54fbede1");
        assert_eq!(B256::from(transactions_root()), none);
        let root = b256!("aeb6dbb41af29990d874ccdfc48264fd5507838f10f9abaff6d7d05e63181315");
        assert_eq!(B256::from(header_root(&header())), root);
    }

    #[test]
    fn a_bid_carries_the_signature_of_its_builder() {
        let signer = Signer::new([0, 0, 0, 1]);
        let bid = signer.bid(&header(), U256::from(5));
        let bytes = |path: &str| hex::decode(bid.pointer(path).unwrap().as_str().unwrap()).unwrap();
        let pubkey = PublicKey::from_bytes(&bytes("/data/message/pubkey")).unwrap();
        let signature = Signature::from_bytes(&bytes("/data/signature")).unwrap();
        let key = bytes("/data/message/pubkey");
        let root = merkle(&[
            header_root(&header()),
            U256::from(5).to_le_bytes(),
            merkle(&[left(&key[..32]), left(&key[32..])]),
        ]);
        // compute_domain of the builder specification, as Lodestar has it for the minimal preset.
        let domain = b256!("0000000118ae4ccbda9538839d79bb18ca09e23e24ae8c1550f56cbb3d84b053");
        assert_eq!(signer.domain, domain.0);
        let message = pair(root, domain.0);
        let verified = signature.verify(true, &message, SUITE, &[], &pubkey, true);
        assert_eq!(verified, BLST_ERROR::BLST_SUCCESS);
        assert_eq!(bid["data"]["message"]["value"], "5");
    }
}
