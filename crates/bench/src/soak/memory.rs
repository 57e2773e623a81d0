//! How much memory a process has in use.

use std::process::Command;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Samples a second apart, of which the middle one counts.
const SAMPLES: usize = 9;

const SECOND: Duration = Duration::from_secs(1);

/// Resident, in KiB; `None` where neither `/proc` nor `ps` says it, or the process is gone.
#[must_use]
pub fn resident(process: u32) -> Option<u64> {
    from_proc(process).or_else(|| from_ps(process))
}

fn from_proc(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn from_ps(process: u32) -> Option<u64> {
    let output =
        Command::new("ps").args(["-o", "rss=", "-p", &process.to_string()]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// In use around the end of the warm-up, and at the end.
pub async fn watch(process: u32, time: Duration, warm_up: Duration) -> Option<(u64, u64)> {
    let start = Instant::now();
    let mut seen = Vec::new();
    let middle = |seen: &[u64]| {
        let mut last = seen[seen.len().saturating_sub(SAMPLES)..].to_vec();
        last.sort_unstable();
        last[last.len() / 2]
    };
    let mut first = None;
    while start.elapsed() < time {
        sleep(SECOND.min(time / 4)).await;
        seen.push(resident(process)?);
        if first.is_none() && start.elapsed() >= warm_up {
            first = Some(middle(&seen));
        }
    }
    Some((first?, middle(&seen)))
}

/// KiB as people read them.
#[must_use]
pub fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_becomes_resident() {
        let own = std::process::id();
        let before = resident(own).unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident(own).unwrap();
        assert!(after > before + (60 << 10), "{before} KiB, then {after} KiB");
        drop(block);
    }

    #[test]
    fn a_process_that_is_not_there_uses_none() {
        assert_eq!(resident(u32::MAX), None);
    }
}
