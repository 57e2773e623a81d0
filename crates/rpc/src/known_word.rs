//! Which words of a URL are names, and no keys.
//!
//! How long a word is does not tell: there are keys of six characters and names of twenty. So every part of a URL that a
//! user configured is taken for a key, unless the whole world knows it. A name that is missing here is cut out of an
//! error and costs its reader a word; a key that were taken for a name would be shown.

/// So short that nobody is kept out by it. These are places in a list, versions and the like, and to cut them out would
/// take every "1" out of "block 1, transaction 1".
const TOO_SHORT_FOR_A_KEY: usize = 2;

/// What providers, gateways and nodes have in their URLs. Lower case.
const NAMES: &[&str] = &[
    // What is behind it.
    "api",
    "beacon",
    "chain",
    "client",
    "consensus",
    "data",
    "endpoint",
    "evm",
    "execution",
    "ext",
    "gateway",
    "graphql",
    "http",
    "https",
    "json",
    "jsonrpc",
    "net",
    "network",
    "node",
    "nodes",
    "provider",
    "proxy",
    "rest",
    "rpc",
    "rpcs",
    "server",
    "service",
    "services",
    "web3",
    "websocket",
    "ws",
    "wss",
    // What kind of it.
    "apikey",
    "archive",
    "auth",
    "debug",
    "default",
    "dev",
    "free",
    "full",
    "key",
    "latest",
    "light",
    "main",
    "paid",
    "premium",
    "pro",
    "prod",
    "production",
    "project",
    "projects",
    "public",
    "staging",
    "test",
    "token",
    "trace",
    "user",
    "users",
    // What runs there.
    "anvil",
    "besu",
    "erigon",
    "geth",
    "hardhat",
    "nethermind",
    "reth",
    // Which chain.
    "amoy",
    "arbitrum",
    "aurora",
    "avalanche",
    "avax",
    "base",
    "berachain",
    "binance",
    "blast",
    "bnb",
    "bsc",
    "celo",
    "cronos",
    "devnet",
    "era",
    "eth",
    "ether",
    "ethereum",
    "fantom",
    "fuji",
    "gnosis",
    "goerli",
    "holesky",
    "hoodi",
    "linea",
    "mainnet",
    "mantle",
    "matic",
    "metis",
    "moonbeam",
    "nova",
    "one",
    "optimism",
    "opt",
    "polygon",
    "polygonzkevm",
    "scroll",
    "sepolia",
    "sonic",
    "testnet",
    "unichain",
    "xdai",
    "zkevm",
    "zksync",
];

/// Whether a word is a name: one of those that are known, a version, too short for a key, or several of these joined, as
/// in `eth-mainnet`.
pub(crate) fn is_known(word: &str) -> bool {
    word.split(['-', '_', '.']).all(|part| {
        part.len() <= TOO_SHORT_FOR_A_KEY
            || is_version(part)
            || NAMES.contains(&part.to_ascii_lowercase().as_str())
    })
}

/// `v1`, `v10`, `v2024`.
fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix(['v', 'V']);
    digits.is_some_and(|rest| rest.len() <= 4 && rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_keys_are_not() {
        for name in [
            "",
            "1",
            "C",
            "v2",
            "v2024",
            "rpc",
            "Mainnet",
            "eth-mainnet",
            "base_sepolia",
            "arbitrum-one",
            "json-rpc",
            "eth.v1",
        ] {
            assert!(is_known(name), "{name}");
        }
        for key in [
            "abc",
            "137",
            "v20245",
            "v2x",
            "mainnets",
            "mainnet-abc",
            "k3y",
            "0123456789abcdef",
            "a-b-c-abc",
            "ключ",
        ] {
            assert!(!is_known(key), "{key}");
        }
    }
}
