//! A keeper of its own, as users run it: another process, in another folder.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

/// What can go wrong with it.
pub type Failure = Box<dyn std::error::Error>;

/// What signs its webhooks: `${HOOK_SECRET}`.
pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A keeper under measurement. Killed when dropped.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    client: reqwest::Client,
    url: String,
    _folder: tempfile::TempDir,
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
            .stderr(Stdio::null())
            .spawn()?;
        let client = reqwest::Client::new();
        Ok(Self { child, client, url: format!("http://{listen}"), _folder: folder })
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
