//! What the tests share: a chain with the trio on it, and the keeper as a process.

use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    node_bindings::{Anvil, AnvilInstance},
    primitives::{Address, Bytes},
    providers::{DynProvider, Provider, ProviderBuilder},
    rpc::types::TransactionRequest,
};
use fusebox_bindings::{Moody, Resilient, Stoic};
use fusebox_simulator::engine::find_anvil;
use serde_json::Value;
use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// Long enough for a loaded machine; nothing waits this long when all is well.
const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) const THRESHOLD: u16 = 3;
pub(crate) const COOLDOWN: u32 = 100;

/// A chain with Moody, Stoic and Resilient on it.
pub(crate) struct Chain {
    pub(crate) anvil: AnvilInstance,
    pub(crate) provider: DynProvider,
    pub(crate) moody: Address,
    pub(crate) host: Address,
}

pub(crate) fn anvil() -> Anvil {
    find_anvil().unwrap()
}

impl Chain {
    pub(crate) async fn start() -> Self {
        Self::on(anvil().spawn()).await
    }

    /// Deploys the trio.
    pub(crate) async fn on(anvil: AnvilInstance) -> Self {
        let provider = provider(&anvil);
        let moody = *Moody::deploy(&provider, "Sup.".to_owned()).await.unwrap().address();
        let stoic = *Stoic::deploy(&provider, "Huzzah!".to_owned()).await.unwrap().address();
        let host = Resilient::deploy(&provider, moody, stoic, THRESHOLD, COOLDOWN).await.unwrap();
        let host = *host.address();
        Self { anvil, provider, moody, host }
    }

    /// The same contracts on a node that was started again.
    pub(crate) fn revived(anvil: AnvilInstance, moody: Address, host: Address) -> Self {
        Self { provider: provider(&anvil), anvil, moody, host }
    }

    pub(crate) fn url(&self) -> String {
        self.anvil.endpoint()
    }

    pub(crate) async fn toggle_mood(&self) {
        let moody = Moody::new(self.moody, &self.provider);
        let receipt = moody.toggleMood().gas(100_000).send().await.unwrap().get_receipt().await;
        assert!(receipt.unwrap().status());
    }

    /// Asks the host and returns the block.
    pub(crate) async fn ask(&self) -> u64 {
        let host = Resilient::new(self.host, &self.provider);
        let receipt =
            host.safeAsk().gas(500_000).send().await.unwrap().get_receipt().await.unwrap();
        assert!(receipt.status());
        receipt.block_number.unwrap()
    }

    /// Starts an outage and trips the breaker. Returns the block it opened in.
    pub(crate) async fn trip(&self) -> u64 {
        self.toggle_mood().await;
        for _ in 1..THRESHOLD {
            self.ask().await;
        }
        self.ask().await
    }

    /// Ends the outage, makes a block at the breaker's deadline, and closes it by a good call in the next block, whose
    /// number is returned.
    pub(crate) async fn recover(&self) -> u64 {
        self.toggle_mood().await;
        let breaker = Resilient::new(self.host, &self.provider).breaker().call().await.unwrap();
        self.mine_at(breaker.retryAt.to()).await;
        self.ask().await
    }

    /// Makes a block, this many seconds after the last one.
    pub(crate) async fn advance(&self, seconds: u64) {
        self.mine_at(self.time().await + seconds).await;
    }

    /// Makes a block at this time, or at that of the last one where it is later.
    async fn mine_at(&self, time: u64) {
        let time = time.max(self.time().await);
        let _: Value =
            self.provider.raw_request("evm_setNextBlockTimestamp".into(), [time]).await.unwrap();
        let _: Value = self.provider.raw_request("evm_mine".into(), ()).await.unwrap();
    }

    async fn time(&self) -> u64 {
        self.provider.get_block(BlockId::latest()).await.unwrap().unwrap().header.timestamp
    }

    /// A contract with this runtime code.
    pub(crate) async fn deploy_code(&self, runtime: &[u8]) -> Address {
        deploy_code(&self.provider, runtime).await
    }

    pub(crate) async fn poke(&self, contract: Address) {
        let transaction = TransactionRequest::default().with_to(contract);
        let sent = self.provider.send_transaction(transaction).await.unwrap();
        assert!(sent.get_receipt().await.unwrap().status());
    }
}

/// A contract with this runtime code.
pub(crate) async fn deploy_code(provider: &DynProvider, runtime: &[u8]) -> Address {
    // PUSH1 length, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN, and a STOP to make it ten.
    let mut creation =
        vec![0x60, runtime.len() as u8, 0x80, 0x60, 10, 0x5f, 0x39, 0x5f, 0xf3, 0x00];
    creation.extend(runtime);
    let transaction = TransactionRequest::default().with_deploy_code(Bytes::from(creation));
    let sent = provider.send_transaction(transaction).await.unwrap();
    sent.get_receipt().await.unwrap().contract_address.unwrap()
}

/// Without a wallet: anvil signs for its own accounts and knows their nonces, also after a reorg.
fn provider(anvil: &AnvilInstance) -> DynProvider {
    ProviderBuilder::default().connect_http(anvil.endpoint_url()).erased()
}

/// The keeper, with none of the settings of whoever runs the tests.
pub(crate) fn keeper<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keeper"));
    for name in
        ["ETH_RPC_URL", "CHAIN", "KEEPER_CONFIG", "KEEPER_STORE", "KEEPER_LISTEN", "KEEPER_LOG"]
    {
        command.env_remove(name);
    }
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the keeper to its end.
pub(crate) fn keeper_output<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    keeper(args).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A keeper that goes on until it is stopped. Killed when dropped.
pub(crate) struct Running {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Running {
    pub(crate) fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        Self::spawn(keeper(args))
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = lines(child.stdout.take().unwrap());
        let err = lines(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    /// The next line of the result.
    pub(crate) fn line(&self) -> String {
        self.out.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            panic!(
                "no line on standard output; standard error: {:#?}",
                self.err.try_iter().collect::<Vec<_>>()
            )
        })
    }

    /// The next line of the result, as JSON.
    pub(crate) fn json(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Waits for a line on standard error that holds this.
    pub(crate) fn says(&self, text: &str) -> String {
        let mut said = Vec::new();
        loop {
            match self.err.recv_timeout(DEADLINE) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => said.push(line),
                Err(_) => panic!("no line with `{text}` on standard error, only {said:#?}"),
            }
        }
    }

    /// Asks it to stop, and returns the exit code and what was not read yet.
    #[cfg(unix)]
    pub(crate) fn stop(mut self, signal: &str) -> (Option<i32>, Vec<String>) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        (code, self.out.iter().collect())
    }

    /// What it has said on standard error and nobody has read.
    pub(crate) fn said(&self) -> Vec<String> {
        self.err.try_iter().collect()
    }

    /// Waits for it to end by itself.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Ends it at once, wherever it is.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Writes what the deploy script would have written for a chain.
pub(crate) fn write_deployment(path: &Path, chain_id: u64, host: Address, slot: &str) {
    let deployment = serde_json::json!({
        "chainId": chain_id,
        "commit": "",
        "contracts": {
            "moody": { "artifact": "Moody", "address": Address::repeat_byte(1), "block": 1, "breakers": {} },
            "resilient": { "artifact": "Resilient", "address": host, "block": 1, "breakers": { "primary": slot } },
        },
    });
    std::fs::write(path, deployment.to_string()).unwrap();
}
