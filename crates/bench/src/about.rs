//! What a figure was measured with, and what it may be.

use std::fmt;

/// The processor and the system of this machine.
#[must_use]
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cpu = cpu.unwrap_or(std::env::consts::ARCH);
    format!("{cpu} ({cores} processors), {}", std::env::consts::OS)
}

/// How busy the machine is, over the last minute; `None` where the system does not say.
#[must_use]
pub fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// The version of a package, from the lock file this was built with; empty if it is none.
#[must_use]
pub fn version(package: &str) -> &'static str {
    const LOCK: &str = include_str!("../../../Cargo.lock");
    let name = format!("name = \"{package}\"\nversion = \"");
    LOCK.split_once(name.as_str()).and_then(|(_, rest)| rest.split('"').next()).unwrap_or("")
}

/// A figure, and what it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    what: String,
    seen: String,
    want: String,
    is_met: bool,
}

impl Bound {
    /// `seen` is at most `most`, both shown by `show`.
    pub fn at_most<T: PartialOrd + Copy>(
        what: impl Into<String>,
        seen: T,
        most: T,
        show: impl Fn(T) -> String,
    ) -> Self {
        let want = format!("at most {}", show(most));
        Self { what: what.into(), seen: show(seen), want, is_met: seen <= most }
    }

    /// `seen` is at least `least`.
    pub fn at_least<T: PartialOrd + fmt::Display>(
        what: impl Into<String>,
        seen: T,
        least: T,
    ) -> Self {
        let is_met = seen >= least;
        Self {
            what: what.into(),
            seen: seen.to_string(),
            want: format!("at least {least}"),
            is_met,
        }
    }

    /// `seen` is exactly `want`.
    pub fn exactly<T: PartialEq + fmt::Display>(what: impl Into<String>, seen: T, want: T) -> Self {
        let is_met = seen == want;
        Self { what: what.into(), seen: seen.to_string(), want: want.to_string(), is_met }
    }

    /// Whether it is what it may be.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.is_met
    }

    /// A table of them.
    #[must_use]
    pub fn table(bounds: &[Self]) -> String {
        let head = "| bound | seen | want | |\n|---|---:|---:|---|\n".to_owned();
        bounds.iter().fold(head, |table, bound| table + &bound.to_string() + "\n")
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, seen, want, is_met } = self;
        write!(f, "| {what} | {seen} | {want} | {} |", if *is_met { "met" } else { "**missed**" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_at_its_bound_meets_it() {
        for (seen, is_met) in [(9, true), (10, true), (11, false)] {
            assert_eq!(Bound::at_most("x", seen, 10, |x| x.to_string()).is_met(), is_met, "{seen}");
        }
        for (seen, is_met) in [(9, false), (10, true), (11, true)] {
            assert_eq!(Bound::at_least("x", seen, 10).is_met(), is_met, "{seen}");
        }
        assert!(!Bound::at_most("x", f64::NAN, 1.0, |x| x.to_string()).is_met());
        assert!(!Bound::exactly("x", 1, 0).is_met());
    }
}
