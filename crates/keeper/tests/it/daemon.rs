//! A keeper with a file and a store, in a folder of its own, that can be started again and again.

use crate::support::{Running, keeper};
use std::path::PathBuf;
use tempfile::TempDir;

/// What signs webhooks in tests, as the variable HOOK_SECRET.
pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Others serve at the same time.
const ANY: &str = "127.0.0.1:0";

pub(crate) struct Daemon {
    folder: TempDir,
}

impl Daemon {
    /// With this in its file. `${HOOK_SECRET}` is set.
    pub(crate) fn new(file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("keeper.toml"), file).unwrap();
        Self { folder }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("keeper.toml")
    }

    pub(crate) fn start(&self) -> Running {
        let mut command =
            keeper(["run", "--config", self.file().to_str().unwrap(), "--json", "--listen", ANY]);
        command.current_dir(self.folder.path()).env("HOOK_SECRET", SECRET);
        Running::spawn(command)
    }
}
