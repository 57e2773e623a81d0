//! How much memory this process has in use.

use std::process::Command;

/// Resident, in KiB; `None` where neither `/proc` nor `ps` says it.
#[must_use]
pub fn resident() -> Option<u64> {
    from_proc().or_else(from_ps)
}

fn from_proc() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn from_ps() -> Option<u64> {
    let pid = std::process::id().to_string();
    let output = Command::new("ps").args(["-o", "rss=", "-p", &pid]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_becomes_resident() {
        let before = resident().unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident().unwrap();
        assert!(after > before + (60 << 10), "{before} KiB, then {after} KiB");
        drop(block);
    }
}
