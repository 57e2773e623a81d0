//! The log of what the machine is told, for replay.
//!
//! A thread writes it, so that a slow disk never holds up a decision. A log with a hole would replay to something else, so
//! one that cannot keep up ends, and says so.

use crate::{
    machine::{Observation, Spec},
    replay::EventLine,
};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

/// A file of so many bytes is moved to `FILE.1`, and a new one begun: nine days of mainnet.
pub const ROTATE_AT: u64 = 64 << 20;
/// Lines that may wait for the disk: more than one backfill and a burst of blocks.
const WAITING: usize = 4_096;
/// How long a line may stay in memory.
const FLUSH: Duration = Duration::from_secs(1);

/// Writes a log.
#[derive(Debug)]
pub struct Recorder {
    lines: Option<SyncSender<EventLine>>,
    thread: Option<thread::JoinHandle<()>>,
    spec: Option<Spec>,
}

impl Recorder {
    /// Begins the file anew; what is there already becomes `FILE.1`.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(path: &Path) -> io::Result<Self> {
        let mut file = LogFile::create(path)?;
        let (lines, receiver) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("builder-log".to_owned()).spawn(move || {
            if let Err(error) = file.run(&receiver) {
                tracing::error!(%error, "the log ends here");
            }
        })?;
        Ok(Self { lines: Some(lines), thread: Some(thread), spec: None })
    }

    pub(super) fn begin(&mut self, ms: i64, spec: Spec) {
        self.spec = Some(spec);
        self.write(ms, &Observation::Spec(spec));
    }

    pub(super) fn write(&mut self, ms: i64, observation: &Observation) {
        let Some(lines) = &self.lines else { return };
        if lines.try_send(EventLine { ms, observation: observation.clone() }).is_err() {
            tracing::error!("the log ends here: the disk cannot keep up");
            self.lines = None;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct LogFile {
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
    spec: Option<Spec>,
    nodes: Nodes,
}

/// Nodes by what was written of them: whether their streams are up, and relied on.
#[derive(Default)]
struct Nodes(BTreeMap<u8, bool>);

impl Nodes {
    fn note(&mut self, observation: &Observation) {
        match *observation {
            Observation::Stream { node, up: true } => {
                self.0.insert(node, false);
            }
            Observation::Stream { node, up: false } => {
                self.0.remove(&node);
            }
            Observation::Snapshot { node, .. } => {
                self.0.entry(node).and_modify(|is_fit| *is_fit = true);
            }
            _ => {}
        }
    }

    /// What leads to the same nodes from a start in this slot.
    fn again(&self, slot: u64) -> Vec<Observation> {
        let of = |(&node, &is_fit): (&u8, &bool)| {
            let blocks = Vec::new();
            let snapshot = Observation::Snapshot { node, from: slot, blocks, whole_tree: true };
            let up = Observation::Stream { node, up: true };
            std::iter::once(up).chain(is_fit.then_some(snapshot))
        };
        self.0.iter().flat_map(of).collect()
    }
}

impl LogFile {
    fn create(path: &Path) -> io::Result<Self> {
        if path.exists() {
            fs::rename(path, old(path))?;
        }
        let file = BufWriter::new(File::create(path)?);
        let nodes = Nodes::default();
        Ok(Self { path: path.to_owned(), file, written: 0, spec: None, nodes })
    }

    fn run(&mut self, lines: &Receiver<EventLine>) -> io::Result<()> {
        loop {
            match lines.recv_timeout(FLUSH) {
                Ok(line) => self.line(&line)?,
                Err(RecvTimeoutError::Timeout) => self.file.flush()?,
                Err(RecvTimeoutError::Disconnected) => return self.file.flush(),
            }
        }
    }

    fn line(&mut self, line: &EventLine) -> io::Result<()> {
        if let Observation::Spec(spec) = line.observation {
            self.spec = Some(spec);
        } else if self.written >= ROTATE_AT {
            self.file.flush()?;
            fs::rename(&self.path, old(&self.path))?;
            self.file = BufWriter::new(File::create(&self.path)?);
            self.written = 0;
            if let Some(spec) = self.spec {
                // A file by itself begins as a restart in this moment would, with the nodes as they are.
                let slot = spec.clock().slot_at(line.ms);
                for observation in [vec![Observation::Spec(spec)], self.nodes.again(slot)].concat()
                {
                    self.write(&EventLine { ms: line.ms, observation })?;
                }
            }
        }
        self.nodes.note(&line.observation);
        self.write(line)
    }

    fn write(&mut self, line: &EventLine) -> io::Result<()> {
        let text = serde_json::to_string(line)?;
        self.written += text.len() as u64 + 1;
        self.file.write_all(text.as_bytes())?;
        self.file.write_all(b"\n")
    }
}

fn old(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        OnUnknown, SlotsPerEpoch, Start,
        replay::{EventLog, EventOptions, InputError, replay_events},
    };
    use std::io::BufReader;

    /// What a file replays to: answers with their causes, and trips.
    fn replayed(path: &Path) -> (Vec<(bool, String)>, u64) {
        let mut log =
            EventLog::new(BufReader::new(File::open(path).unwrap()), "events.jsonl").unwrap();
        let policies = vec!["seed".parse().unwrap()];
        let options = EventOptions { policies, recovery: None, seed: 0 };
        let mut answers = Vec::new();
        let trips = replay_events(&mut log, &options, |told| {
            let told = serde_json::to_value(told).unwrap();
            let cause = told["cause"].as_str().map(ToOwned::to_owned);
            answers.extend(told["forward"].as_bool().zip(cause));
            Ok::<_, InputError>(())
        });
        (answers, trips.unwrap())
    }

    #[test]
    fn a_file_that_was_rotated_goes_on_with_the_nodes_as_they_are() {
        let spec = Spec {
            slot_ms: 12_000.try_into().unwrap(),
            slots_per_epoch: SlotsPerEpoch::MAINNET,
            start: Start::Zero,
            on_unknown: OnUnknown::Local,
            trusts: false,
            gloas_epoch: None,
        };
        let up = |up| Observation::Stream { node: 0, up };
        let blocks = Vec::new();
        let snapshot = Observation::Snapshot { node: 0, from: 0, blocks, whole_tree: true };
        // Relied upon, up and not asked yet, and down: seven slots without a block after that.
        for (before, answer, trips) in [
            (vec![up(true), snapshot.clone()], (false, "missed-run"), 1),
            (vec![up(true)], (false, "no-node"), 0),
            (vec![up(true), snapshot, up(false)], (false, "no-node"), 0),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("events.jsonl");
            let mut file = LogFile::create(&path).unwrap();
            for observation in [vec![Observation::Spec(spec)], before].concat() {
                file.line(&EventLine { ms: 1_200_000, observation }).unwrap();
            }
            file.written = ROTATE_AT;
            for slot in [100, 107] {
                let observation = Observation::Header { slot };
                let ms = i64::try_from(slot * 12_000 + 500).unwrap();
                file.line(&EventLine { ms, observation }).unwrap();
            }
            file.file.flush().unwrap();
            assert!(old(&path).exists());
            let (answers, tripped) = replayed(&path);
            assert_eq!(answers.last(), Some(&(answer.0, answer.1.to_owned())));
            assert_eq!(tripped, trips);
        }
    }
}
