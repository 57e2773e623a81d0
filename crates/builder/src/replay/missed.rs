//! History as the slots that were missed: `slot[,relayed_block_forked]`, strictly ascending.
//!
//! A listed slot has no canonical block. With the flag 1 it held one that lost a fork, and is present in the tree. Slots that
//! are not listed have a canonical block.

use super::{
    Missed, Source,
    lines::{InputError, InputProblem, Lines, flag, shown, slot},
    range::Range,
};
use crate::evidence::{Evidence, SlotFacts};
use std::io::BufRead;

const HEADER: &str = "`slot` or `slot,relayed_block_forked`";
/// Two numbers and a comma are far below it.
const LONGEST: u64 = 1_024;

/// A file of missed slots.
#[derive(Debug)]
pub struct MissedCsv<R> {
    lines: Lines<R>,
    has_flag: bool,
    range: Range,
    from: u64,
    /// The line that was read ahead.
    ahead: Option<(u64, bool)>,
    last: u64,
    evidence: Evidence,
    begun: bool,
    missed: Missed,
}

impl<R: BufRead> MissedCsv<R> {
    /// Opens it: reads the header and the first line.
    ///
    /// # Errors
    /// Where these are not as they must be.
    pub fn new(reader: R, file: &str, range: Range) -> Result<Self, InputError> {
        let mut lines = Lines::new(reader, file, LONGEST);
        let header = lines.next()?.unwrap_or_default().to_owned();
        let has_flag = match header.as_str() {
            "slot" => false,
            "slot,relayed_block_forked" => true,
            other => {
                let found = shown(other);
                return Err(lines.error(InputProblem::Header { expected: HEADER, found }));
            }
        };
        let mut csv = Self {
            lines,
            has_flag,
            range,
            from: 0,
            ahead: None,
            last: 0,
            evidence: Evidence::filled(0),
            begun: false,
            missed: Missed::default(),
        };
        let first = csv.line()?;
        let from = range.first(first.map(|(slot, _)| slot));
        csv.from = from.map_err(|problem| csv.lines.whole(problem))?;
        csv.accept(first, None)?;
        csv.evidence = Evidence::filled(csv.from);
        Ok(csv)
    }

    fn line(&mut self) -> Result<Option<(u64, bool)>, InputError> {
        let has_flag = self.has_flag;
        let Some(line) = self.lines.next()? else { return Ok(None) };
        let parsed = match (line.split_once(','), has_flag) {
            (None, false) => slot(line).map(|slot| (slot, false)),
            (Some((first, second)), true) if !second.contains(',') => {
                slot(first).and_then(|slot| Ok((slot, flag(second)?)))
            }
            _ => {
                let (expected, found) = (1 + usize::from(has_flag), line.split(',').count());
                Err(InputProblem::Fields { expected, found })
            }
        };
        parsed.map(Some).map_err(|problem| self.lines.error(problem))
    }

    fn accept(&mut self, line: Option<(u64, bool)>, before: Option<u64>) -> Result<(), InputError> {
        if let Some((slot, _)) = line {
            let problem = match before {
                Some(before) if before == slot => Some(InputProblem::Repeated(slot)),
                Some(before) if before > slot => Some(InputProblem::Order { slot, before }),
                _ => self.range.check(slot, self.from).err(),
            };
            if let Some(problem) = problem {
                return Err(self.lines.error(problem));
            }
            self.last = slot;
        }
        self.ahead = line;
        Ok(())
    }
}

impl<R: BufRead> Source for MissedCsv<R> {
    fn next(&mut self) -> Result<Option<&Evidence>, InputError> {
        if !self.begun {
            self.begun = true;
            return Ok(Some(&self.evidence));
        }
        let slot = self.evidence.slot();
        let facts = match self.ahead {
            Some((listed, orphan)) if listed == slot => {
                let next = self.line()?;
                self.accept(next, Some(slot))?;
                self.missed.canonical += 1;
                self.missed.tree += u64::from(!orphan);
                if orphan { SlotFacts::ORPHANED } else { SlotFacts::EMPTY }
            }
            Some(_) => SlotFacts::FILLED,
            None if slot <= self.to() => SlotFacts::FILLED,
            None => return Ok(None),
        };
        self.evidence.push(facts);
        Ok(Some(&self.evidence))
    }

    fn from(&self) -> u64 {
        self.from
    }

    fn to(&self) -> u64 {
        self.range.to.unwrap_or(self.last)
    }

    fn missed(&self) -> Missed {
        self.missed
    }
}
