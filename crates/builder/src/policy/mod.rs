//! When to stop asking builders.
//!
//! A policy judges [`Evidence`] and nothing else. Each rule is judged twice, with unknown slots as present and as missed:
//! where the two differ, the verdict is [`Verdict::Unknown`], and that never trips a breaker.

mod kind;
mod options;
mod parse;
mod rule;

pub use options::{OnUnknown, OptionError, Recovery, Start};
pub use parse::{MAX_DEPTH, MAX_LEAVES, PolicyError, PolicyProblem, PolicySpec};

use crate::evidence::{Evidence, View};
use rand::Rng;
use rule::Rule;
use serde::Serialize;
use std::fmt;

/// A judge of evidence. It must be a pure function.
pub trait Policy {
    /// What the slots before `evidence.slot()` say.
    fn judge(&self, evidence: &Evidence) -> Verdict;

    /// The view in which its run is reported, and in which slots must be present for it to recover.
    fn view(&self) -> View {
        View::Tree
    }
}

/// Why a verdict is to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TripCause {
    /// Too many missed slots in a row, just before.
    MissedRun,
    /// Too many missed slots among the last ones.
    MissedWindow,
    /// Finality is too far behind.
    FinalityLag,
    /// A reorg went too deep.
    ReorgDepth,
    /// Too many reorgs.
    ReorgCount,
    /// The head's payload is not verified, which this client's rule counts as a fault.
    Optimistic,
}

impl TripCause {
    /// Its name in JSON, metrics and texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MissedRun => "missed-run",
            Self::MissedWindow => "missed-window",
            Self::FinalityLag => "finality-lag",
            Self::ReorgDepth => "reorg-depth",
            Self::ReorgCount => "reorg-count",
            Self::Optimistic => "optimistic",
        }
    }
}

/// The number that a rule compared, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which rule.
    pub cause: TripCause,
    /// The run, the missed slots, the lag or the depth; for `teku` the different roots, for `lodestar` the blocks.
    pub value: u64,
    /// The policy's number that it was compared with.
    pub limit: u64,
}

/// What a policy makes of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Builders may be asked.
    Closed,
    /// They must not.
    Open(Finding),
    /// It depends on slots of which nothing is known.
    Unknown,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open(_) => "open",
            Self::Unknown => "unknown",
        }
    }
}

/// Data that a source of history may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The finalized epoch.
    pub finality: bool,
    /// Reorgs.
    pub reorgs: bool,
}

/// A policy that was read, and fitted to a network.
#[derive(Clone, Debug)]
pub struct Compiled {
    expr: Expr,
    name: String,
    view: View,
    latches: bool,
}

#[derive(Clone, Debug)]
enum Expr {
    Leaf(Leaf),
    Any(Vec<Expr>),
    All(Vec<Expr>),
}

/// A rule, and the view it looks at.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    rule: Rule,
    view: View,
}

impl Compiled {
    /// As it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it recovers unless told otherwise: `seed` by a restart only, all others at once.
    #[must_use]
    pub fn default_recovery(&self) -> Recovery {
        if self.latches { Recovery::UntilRestart } else { Recovery::None }
    }

    /// Looks at `view` in every rule, whatever their own is.
    #[must_use]
    pub fn in_view(mut self, view: View) -> Self {
        fn set(expr: &mut Expr, view: View) {
            match expr {
                Expr::Leaf(leaf) => leaf.view = view,
                Expr::Any(parts) | Expr::All(parts) => {
                    parts.iter_mut().for_each(|part| set(part, view));
                }
            }
        }
        set(&mut self.expr, view);
        self.view = view;
        self
    }

    /// Leaves out the rules for which there is no data: what is left, if anything is, and what was left out.
    #[must_use]
    pub fn limited_to(self, known: Known) -> (Option<Self>, Vec<&'static str>) {
        fn limit(expr: Expr, known: Known, ignored: &mut Vec<&'static str>) -> Option<Expr> {
            match expr {
                Expr::Leaf(leaf) => {
                    let (rule, lacking) = leaf.rule.limited_to(known);
                    ignored.extend(lacking);
                    rule.map(|rule| Expr::Leaf(Leaf { rule, ..leaf }))
                }
                Expr::Any(parts) => limit_all(parts, known, ignored).map(Expr::Any),
                Expr::All(parts) => limit_all(parts, known, ignored).map(Expr::All),
            }
        }
        fn limit_all(
            parts: Vec<Expr>,
            known: Known,
            ignored: &mut Vec<&'static str>,
        ) -> Option<Vec<Expr>> {
            let parts: Vec<_> =
                parts.into_iter().filter_map(|part| limit(part, known, ignored)).collect();
            (!parts.is_empty()).then_some(parts)
        }
        let mut ignored = Vec::new();
        let expr = limit(self.expr, known, &mut ignored);
        (expr.map(|expr| Self { expr, ..self }), ignored)
    }

    /// The same with every threshold made laxer by a factor between 1 and 2, drawn anew for each: so that not all
    /// operators open in the same slot.
    #[must_use]
    pub fn loosened(mut self, rng: &mut impl Rng) -> Self {
        fn loosen(expr: &mut Expr, rng: &mut impl Rng) {
            match expr {
                Expr::Leaf(leaf) => leaf.rule = leaf.rule.loosened(rng),
                Expr::Any(parts) | Expr::All(parts) => {
                    parts.iter_mut().for_each(|part| loosen(part, rng));
                }
            }
        }
        loosen(&mut self.expr, rng);
        self
    }

    /// The longest run that does not trip, where a run is all that the policy looks at.
    #[must_use]
    pub fn longest_run(&self) -> Option<u64> {
        match &self.expr {
            Expr::Leaf(Leaf { rule: Rule::Consecutive { max }, .. }) => Some(*max),
            _ => None,
        }
    }
}

impl Policy for Compiled {
    fn judge(&self, evidence: &Evidence) -> Verdict {
        self.expr.judge(evidence)
    }

    fn view(&self) -> View {
        self.view
    }
}

impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Expr {
    #[inline]
    fn judge(&self, evidence: &Evidence) -> Verdict {
        match self {
            Self::Leaf(leaf) => leaf.judge(evidence),
            Self::Any(parts) => any(parts.iter().map(|part| part.judge(evidence))),
            Self::All(parts) => all(parts.iter().map(|part| part.judge(evidence))),
        }
    }
}

impl Leaf {
    #[inline]
    fn judge(&self, evidence: &Evidence) -> Verdict {
        let readings = evidence.view(self.view);
        let if_present = self.rule.judge(self.view, &readings.if_present, evidence);
        if readings.if_present == readings.if_missed {
            return if_present;
        }
        match (if_present, self.rule.judge(self.view, &readings.if_missed, evidence)) {
            (Verdict::Open(finding), Verdict::Open(_)) => Verdict::Open(finding),
            (Verdict::Closed, Verdict::Closed) => Verdict::Closed,
            _ => Verdict::Unknown,
        }
    }
}

/// Three-valued or. The first open one gives the cause.
pub(crate) fn any(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let mut sum = Verdict::Closed;
    for verdict in verdicts {
        match verdict {
            Verdict::Open(_) => return verdict,
            Verdict::Unknown => sum = Verdict::Unknown,
            Verdict::Closed => {}
        }
    }
    sum
}

/// Three-valued and. The first one gives the cause.
pub(crate) fn all(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let mut sum = None;
    for verdict in verdicts {
        match verdict {
            Verdict::Closed => return verdict,
            Verdict::Unknown => sum = Some(verdict),
            Verdict::Open(_) => sum = sum.or(Some(verdict)),
        }
    }
    sum.unwrap_or(Verdict::Closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Verdict =
        Verdict::Open(Finding { cause: TripCause::MissedRun, value: 6, limit: 5 });
    const VALUES: [Verdict; 3] = [Verdict::Closed, Verdict::Unknown, OPEN];

    /// Closed < unknown < open: then or is the maximum, and the minimum.
    #[test]
    fn any_and_all_are_three_valued_or_and_and() {
        for (a, left) in VALUES.into_iter().enumerate() {
            for (b, right) in VALUES.into_iter().enumerate() {
                assert_eq!(any([left, right].into_iter()), VALUES[a.max(b)]);
                assert_eq!(all([left, right].into_iter()), VALUES[a.min(b)]);
            }
        }
    }
}
