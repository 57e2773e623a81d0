//! Logs that lie. They change a list of logs, and leave every other answer alone.

use super::Rule;
use serde_json::{Value, json};

/// Nobody watches it.
const FOREIGN: &str = "0x00000000000000000000000000000000f0e1f0e1";

/// # Logs
impl Rule {
    /// None of the logs.
    pub fn omit_logs(self) -> Self {
        self.logs(|_, logs| logs.clear())
    }

    /// All but the log at this place, counted from 0.
    pub fn omit_log(self, index: usize) -> Self {
        self.logs(move |_, logs| {
            if index < logs.len() {
                logs.remove(index);
            }
        })
    }

    /// Each log twice.
    pub fn double_logs(self) -> Self {
        self.logs(|_, logs| {
            *logs = logs.iter().flat_map(|log| [log.clone(), log.clone()]).collect()
        })
    }

    /// One log more, of a contract that was not asked for.
    pub fn foreign_log(self) -> Self {
        self.logs(|params, logs| {
            let mut log = logs.last().cloned().unwrap_or_else(|| lonely(params));
            log["address"] = FOREIGN.into();
            logs.push(log);
        })
    }

    /// Each log as one that a reorg took away.
    pub fn removed_logs(self) -> Self {
        self.logs(|_, logs| logs.iter_mut().for_each(|log| log["removed"] = true.into()))
    }

    fn logs(self, change: impl Fn(&Value, &mut Vec<Value>) + Send + Sync + 'static) -> Self {
        self.edit(move |params, answer| {
            if let Some(Value::Array(logs)) = answer.get_mut("result") {
                change(params, logs);
            }
        })
    }
}

/// A log where there was none, in the block that was asked about.
fn lonely(params: &Value) -> Value {
    let zero = format!("0x{:064x}", 0);
    let asked = |field| params.pointer(field).cloned();
    json!({
        "address": FOREIGN,
        "topics": [],
        "data": "0x",
        "blockHash": asked("/0/blockHash").unwrap_or_else(|| zero.clone().into()),
        "blockNumber": asked("/0/fromBlock").unwrap_or_else(|| "0x0".into()),
        "transactionHash": zero,
        "transactionIndex": "0x0",
        "logIndex": "0x0",
        "removed": false,
    })
}
