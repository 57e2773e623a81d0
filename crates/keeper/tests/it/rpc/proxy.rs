//! What these tests share: a running proxy, nodes for it, and a file that names them.

use crate::support::keeper;
use fusebox_testkit::{Chain, Node, NodeBuilder};
use reqwest::{Client, Response, header::HeaderMap};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Output},
    time::Duration,
};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// Long enough for a loaded machine; nothing waits this long when all is well.
pub(super) const DEADLINE: Duration = Duration::from_secs(20);

/// The id of scripted chains.
pub(super) const CHAIN: u64 = 31_337;

/// A node at block 5.
pub(super) fn node() -> NodeBuilder {
    node_of(CHAIN)
}

pub(super) fn node_of(id: u64) -> NodeBuilder {
    let chain = Chain::with_id(id);
    chain.mine_empty(5);
    Node::scripted(&chain)
}

/// A provider's table, without what follows its URL.
pub(super) fn provider(chain: u64, name: &str, url: &str) -> String {
    format!("[[profile.default.chain.{chain}.provider]]\nname = \"{name}\"\nhttp = \"{url}\"\n")
}

/// A file with these nodes of one chain, named a, b, c.
pub(super) fn file(nodes: &[&Node]) -> String {
    let names = ["a", "b", "c"];
    nodes.iter().zip(names).map(|(node, name)| provider(CHAIN, name, &node.url())).collect()
}

/// How a proxy is started.
pub(super) struct Start {
    dir: TempDir,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Start {
    /// With a file.
    pub(super) fn with(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keeper.toml");
        fs::write(&path, config).unwrap();
        let args = vec!["--config".to_owned(), path.to_str().unwrap().to_owned()];
        Self { dir, args, env: Vec::new() }
    }

    /// Without one.
    pub(super) fn bare() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), args: Vec::new(), env: Vec::new() }
    }

    pub(super) fn args<'a>(mut self, args: impl IntoIterator<Item = &'a str>) -> Self {
        self.args.extend(args.into_iter().map(str::to_owned));
        self
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("keeper.toml")
    }

    fn command(&self) -> std::process::Command {
        let mut command = keeper(["rpc"]);
        command.env_remove("KEEPER_CONFIG").env_remove("KEEPER_RPC_LISTEN").args(&self.args);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if !self.args.iter().any(|arg| arg == "--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command
    }

    /// Runs it to its end, which must come by itself.
    pub(super) fn output(&self) -> Output {
        self.command().output().unwrap()
    }

    /// Lets it run, and waits until it listens.
    pub(super) async fn run(self) -> Proxy {
        let mut proxy = self.spawn();
        let said = proxy.says("at http://").await;
        let (_, at) = said.split_once("at http://").unwrap();
        proxy.address = at.split('/').next().unwrap().to_owned();
        proxy
    }

    /// Lets it run.
    pub(super) fn spawn(self) -> Proxy {
        let file = |name| File::create(self.dir.path().join(name)).unwrap();
        let child = self.command().stdout(file("out")).stderr(file("err")).spawn().unwrap();
        Proxy { dir: self.dir, child, address: String::new(), client: client() }
    }
}

pub(super) fn client() -> Client {
    Client::builder().no_proxy().timeout(DEADLINE).build().unwrap()
}

/// A running proxy. Killed when dropped.
pub(super) struct Proxy {
    dir: TempDir,
    child: Child,
    pub(super) address: String,
    pub(super) client: Client,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Got {
    pub(super) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: response.text().await.unwrap() }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

impl Proxy {
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Posts a text.
    pub(super) async fn post_to(&self, path: &str, body: impl Into<String>) -> Got {
        let request = self.client.post(self.url(path)).header("content-type", "application/json");
        Got::of(request.body(body.into()).send().await.unwrap()).await
    }

    pub(super) async fn post(&self, body: impl Into<String>) -> Got {
        self.post_to("/", body).await
    }

    /// Asks one thing.
    pub(super) async fn ask(&self, method: &str) -> Got {
        self.post(json!({ "jsonrpc": "2.0", "id": 1, "method": method }).to_string()).await
    }

    pub(super) async fn get(&self, path: &str) -> Got {
        Got::of(self.client.get(self.url(path)).send().await.unwrap()).await
    }

    /// The endpoint of this name in the status.
    pub(super) async fn endpoint(&self, name: &str) -> Value {
        let status = self.get("/status").await.json();
        let all = status["chains"].as_array().unwrap().iter();
        let mut all = all.flat_map(|chain| chain["endpoints"].as_array().unwrap());
        all.find(|endpoint| endpoint["provider"] == name).unwrap().clone()
    }

    /// All that it has printed so far.
    pub(super) fn printed(&self) -> String {
        let read = |name| fs::read_to_string(self.dir.path().join(name)).unwrap();
        read("out") + &read("err")
    }

    /// Waits for a line that holds this.
    pub(super) async fn says(&mut self, text: &str) -> String {
        let line = async {
            loop {
                let printed = self.printed();
                if let Some(line) = printed.lines().find(|line| line.contains(text)) {
                    return line.to_owned();
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        let found = timeout(DEADLINE, line).await;
        found.unwrap_or_else(|_| panic!("no line with `{text}`, only:\n{}", self.printed()))
    }

    pub(super) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let kill = std::process::Command::new("kill").args(["-s", signal, &id]).status();
        assert!(kill.unwrap().success());
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self) -> Option<i32> {
        let end = async {
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    return status.code();
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(DEADLINE, end).await.expect("it ends")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
