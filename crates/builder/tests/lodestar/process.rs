//! The processes of the test: a beacon node, validators, and the sidecar.

use crate::chain::until;
use std::{
    env,
    fs::File,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

/// Who is paid in local blocks.
pub(crate) const LOCAL_RECIPIENT: &str = "0xcccccccccccccccccccccccccccccccccccccccc";
/// Seconds of a slot: as short as two busy cores allow.
pub(crate) const SLOT: u64 = 3;

/// A process, which ends with its value.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) log: PathBuf,
}

impl Process {
    fn start(command: &mut Command, log: PathBuf) -> Self {
        let out = File::create(&log).unwrap();
        command.stdin(Stdio::null()).stderr(out.try_clone().unwrap()).stdout(out);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { child, log }
    }

    /// STOP, CONT or TERM.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Ends it, and says how it ended.
    pub(crate) async fn terminate(mut self) -> ExitStatus {
        self.signal("TERM");
        until("the end of a process", async || self.child.try_wait().unwrap()).await
    }

    /// It has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already. KILL, since Lodestar may hang in its own shutdown, and since a stopped one hears
        // nothing else.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Where Lodestar is installed, and where its processes work.
#[derive(Debug)]
pub(crate) struct Lodestar {
    installed: PathBuf,
    work: PathBuf,
    beacon_port: u16,
}

impl Lodestar {
    pub(crate) fn new(installed: PathBuf, work: PathBuf) -> Self {
        Self { installed, work, beacon_port: free_port() }
    }

    /// The beacon node's API.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.beacon_port)
    }

    pub(crate) fn beacon(&self, genesis: u64, engine: &str, sidecar: &str) -> Process {
        let secret = self.work.join("jwt.hex");
        std::fs::write(&secret, "11".repeat(32)).unwrap();
        let mut command = self.lodestar("dev", "beacon");
        command.args(["--genesisValidators", "16", "--genesisTime", &genesis.to_string()]);
        command.args(["--rest", "--rest.namespace", "*", "--rest.address", "127.0.0.1"]);
        command.args(["--rest.port", &self.beacon_port.to_string()]);
        command.args(["--listenAddress", "127.0.0.1", "--port", &free_port().to_string()]);
        command.args(["--discv5", "false", "--execution.urls", engine, "--jwt-secret"]);
        command.arg(secret).args(["--builder", "--builder.urls", sidecar]);
        Process::start(&mut command, self.work.join("beacon.log"))
    }

    /// Validators with all keys. A second process needs a graffiti of its own for blocks of its own.
    pub(crate) fn validators(&self, name: &str) -> Process {
        let mut command = self.lodestar("validator", name);
        command.args(["--network", "dev", "--interopIndexes", "0..15", "--builder", "--force"]);
        command.args(["--beaconNodes", &self.url(), "--graffiti", name]);
        Process::start(&mut command, self.work.join(format!("{name}.log")))
    }

    fn lodestar(&self, what: &str, name: &str) -> Command {
        let mut command = Command::new("node");
        command
            .arg(self.installed.join("lodestar.mjs"))
            .arg(what)
            .arg("--dataDir")
            .arg(self.work.join(name))
            .args(["--params.SECONDS_PER_SLOT", &SLOT.to_string()])
            .args(["--params.ALTAIR_FORK_EPOCH", "0", "--params.BELLATRIX_FORK_EPOCH", "0"])
            .args(["--terminal-total-difficulty-override", "0", "--logLevel", "info"])
            .args(["--suggestedFeeRecipient", LOCAL_RECIPIENT])
            .env("NODE_BACKEND", "js")
            .env("LODESTAR_PRESET", "minimal")
            .env(
                "NODE_OPTIONS",
                format!("--require {}", self.installed.join("polyfill.cjs").display()),
            )
            // It writes genesis.ssz wherever it is.
            .current_dir(&self.work);
        command
    }
}

/// `keeper builder proxy`, as a staker starts it.
pub(crate) fn sidecar(
    port: u16,
    beacon: &str,
    upstream: &str,
    record: &Path,
    more: &[&str],
) -> Process {
    let mut command = Command::new(keeper());
    let listen = format!("127.0.0.1:{port}");
    command.args(["builder", "proxy", "--listen", &listen, "--beacon-node", beacon]);
    command.args(["--upstream", upstream, "--record"]).arg(record).args(more);
    Process::start(&mut command, record.with_extension("log"))
}

/// The binary, which another package makes.
pub(crate) fn keeper() -> PathBuf {
    env::var_os("FUSEBOX_KEEPER").expect("start it by `make e2e-lodestar`").into()
}

/// A port that nothing uses now. Somebody may take it before it is used; the processes of this test then say so and end.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
