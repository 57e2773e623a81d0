//! A keeper of its own, as users run it: another process, in another folder. `make bench-keeper` measures it.

pub mod backfill;
pub mod latency;
pub mod many;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use alloy::primitives::{Address, B256, U256};
use alloy::sol_types::SolEvent;
use fusebox_bindings::events::Opened;
use fusebox_testkit::{BlockPlan, Node, Sink, block};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// What can go wrong with it.
pub type Failure = Box<dyn std::error::Error>;

/// What signs its webhooks: `${HOOK_SECRET}`.
pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// What is watched.
pub const HOST: Address = Address::repeat_byte(0x11);

/// How often the keeper asks for a new block, unless said otherwise.
pub const POLL: Duration = Duration::from_millis(250);

/// What takes longer than this does not end.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A block in which a breaker of [`HOST`] opens for ever, so that none becomes half-open meanwhile.
pub fn opening(breaker: u32) -> BlockPlan {
    let (topics, data) = opened(breaker);
    block().log(HOST, topics, data)
}

fn opened(breaker: u32) -> ([B256; 2], Vec<u8>) {
    let data = [U256::MAX, U256::from(1)].map(|word| word.to_be_bytes::<32>()).concat();
    ([Opened::SIGNATURE_HASH, B256::from(U256::from(breaker))], data)
}

/// A keeper that watches [`HOST`] through one node.
#[derive(Clone, Copy, Debug)]
pub struct Watching<'a> {
    /// Its node.
    pub node: &'a Node,
    /// Whether it listens there for new heads.
    pub by_hints: bool,
    /// How often it asks.
    pub poll: Duration,
    /// The first block that it reads.
    pub start: u64,
    /// Whom it tells.
    pub sink: Option<&'a Sink>,
}

impl<'a> Watching<'a> {
    /// From a block on; by polling, and nobody is told.
    #[must_use]
    pub fn new(node: &'a Node, start: u64) -> Self {
        Self { node, by_hints: false, poll: POLL, start, sink: None }
    }

    /// Starts it.
    ///
    /// # Errors
    /// As [`Keeper::start`].
    pub fn start(self) -> Result<Keeper, Failure> {
        let hook = self.sink.map_or(String::new(), |sink| {
            format!(
                "[channel.hook]\ntype = \"webhook\"\nurl = \"{}\"\nsecrets = [\"${{HOOK_SECRET}}\"]\n\
                 [[route]]\nchannels = [\"hook\"]\n",
                sink.url()
            )
        });
        let ws = if self.by_hints {
            format!("ws = \"{}\"\n", self.node.ws_url())
        } else {
            String::new()
        };
        Keeper::start(&format!(
            "[[profile.default.chain.31337.provider]]\nname = \"node\"\nhttp = \"{}\"\n{ws}\
             [chain.dev]\nid = 31337\npoll = \"{}ms\"\n\
             [[chain.dev.watch]]\naddress = \"{HOST}\"\nstart = {}\nread_back = false\n{hook}",
            self.node.url(),
            self.poll.as_millis(),
            self.start,
        ))
    }
}

/// A keeper under measurement. Killed when dropped.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    client: reqwest::Client,
    url: String,
    folder: tempfile::TempDir,
}

impl Keeper {
    /// Starts `keeper run` with this in its file.
    ///
    /// # Errors
    /// When there is no keeper beside this program.
    pub fn start(file: &str) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("keeper.toml"), file)?;
        let listen = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = Command::new(beside()?)
            .args(["run", "--listen", &listen.to_string()])
            .current_dir(folder.path())
            .env("HOOK_SECRET", SECRET)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log"))?)
            .spawn()?;
        let client = reqwest::Client::new();
        Ok(Self { child, client, url: format!("http://{listen}"), folder })
    }

    /// Leaves its folder, with its store and its log, for whoever looks for a reason.
    pub fn keep_folder(&mut self) -> &std::path::Path {
        self.folder.disable_cleanup(true);
        self.folder.path()
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// What it answers at a path: the code and the body.
    ///
    /// # Errors
    /// When it does not.
    pub async fn get(&self, path: &str) -> Result<(u16, Vec<u8>), reqwest::Error> {
        let answer = self.client.get(format!("{}{path}", self.url)).send().await?;
        Ok((answer.status().as_u16(), answer.bytes().await?.to_vec()))
    }

    /// The last block of its first chain that it has seen; none before it serves.
    ///
    /// # Errors
    /// When what it says is no JSON.
    pub async fn seen(&self) -> Result<Option<u64>, Failure> {
        let Ok((_, body)) = self.get("/status").await else { return Ok(None) };
        let status: Value = serde_json::from_slice(&body)?;
        Ok(status["chains"][0]["seen"]["number"].as_u64())
    }

    /// How long a command takes in its folder.
    ///
    /// # Errors
    /// When it fails, or prints fewer lines than that.
    pub async fn run(&self, arguments: &[&str], lines: u32) -> Result<Duration, Failure> {
        let start = Instant::now();
        let mut command = tokio::process::Command::new(beside()?);
        let output = command.args(arguments).current_dir(self.folder.path()).output().await?;
        let time = start.elapsed();
        let printed = output.stdout.iter().filter(|byte| **byte == b'\n').count();
        if !output.status.success() || printed < lines as usize {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "keeper {}: {printed} lines, {}: {said}",
                arguments.join(" "),
                output.status
            )
            .into());
        }
        Ok(time)
    }

    /// Waits until all up to a block is seen.
    ///
    /// # Errors
    /// When it is not by then.
    pub async fn sees(&self, number: u64, within: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            if self.seen().await? >= Some(number) {
                return Ok(());
            }
            sleep(Duration::from_millis(2)).await;
        }
        Err(format!("the keeper has not come to block {number} within {within:?}").into())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn beside() -> Result<PathBuf, Failure> {
    let keeper = std::env::current_exe()?.with_file_name("keeper");
    match keeper.exists() {
        true => Ok(keeper),
        false => Err(format!("there is no {}: make builds it before", keeper.display()).into()),
    }
}
