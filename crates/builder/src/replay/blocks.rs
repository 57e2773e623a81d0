//! History as the blocks there were: `slot[,root[,parent[,canonical]]]`, ascending, a line a block.
//!
//! A slot that stands there twice held two blocks; one that is not listed is missed. Which blocks are canonical says the last
//! column. Without it the parents tell, as they would have told live: at each slot the head is the newest slot's first
//! block, and what is not among its ancestors is an orphan. Without parents every listed slot is canonical.

use super::{
    Missed, Source,
    lines::{InputError, InputProblem, Lines, flag, shown, slot, wrong},
    range::Range,
};
use crate::{
    evidence::{DEPTH, Evidence, SlotFacts, Status},
    fault::{Block, Payload, Validity},
    policy::Start,
    root::Root,
    tally::Tally,
};
use std::io::BufRead;

const COLUMNS: [&str; 4] = ["slot", "root", "parent", "canonical"];
const HEADER: &str = "`slot`, `slot,root`, `slot,root,parent` or `slot,root,parent,canonical`";
/// Two roots, a number and a flag are far below it.
const LONGEST: u64 = 1_024;

#[derive(Clone, Copy, Debug)]
struct Line {
    slot: u64,
    root: Option<Root>,
    parent: Option<Root>,
    canonical: Option<bool>,
}

/// What knows the status of slots: by itself where the file says it, else with the parents.
#[derive(Debug)]
enum Known {
    Listed(Box<Evidence>),
    Linked(Box<Tally>),
}

/// A file of blocks.
#[derive(Debug)]
pub struct BlocksCsv<R> {
    lines: Lines<R>,
    columns: usize,
    range: Range,
    from: u64,
    ahead: Option<Line>,
    last: u64,
    known: Known,
    begun: bool,
    missed: Missed,
}

impl<R: BufRead> BlocksCsv<R> {
    /// Opens it: reads the header and the first line. Slots before the first are present, or unknown.
    ///
    /// # Errors
    /// Where these are not as they must be.
    pub fn new(reader: R, file: &str, range: Range, before: Status) -> Result<Self, InputError> {
        let mut lines = Lines::new(reader, file, LONGEST);
        let header = lines.next()?.unwrap_or_default().to_owned();
        let columns = header.split(',').count();
        if columns > COLUMNS.len() || !header.split(',').eq(COLUMNS[..columns].iter().copied()) {
            let found = shown(&header);
            return Err(lines.error(InputProblem::Header { expected: HEADER, found }));
        }
        let mut csv = Self {
            lines,
            columns,
            range,
            from: 0,
            ahead: None,
            last: 0,
            known: Known::Listed(Box::new(Evidence::filled(0))),
            begun: false,
            missed: Missed::default(),
        };
        let first = csv.line()?;
        let from = range.first(first.map(|line| line.slot));
        let from = from.map_err(|problem| csv.lines.whole(problem))?;
        csv.from = from;
        csv.accept(first, None)?;
        csv.known = match (columns, before) {
            (3, Status::Present) => linked(from, Start::Zero),
            (3, _) => linked(from, Start::Backfill),
            (_, Status::Present) => Known::Listed(Box::new(Evidence::filled(from))),
            _ => Known::Listed(Box::new(Evidence::unknown(from))),
        };
        Ok(csv)
    }

    fn line(&mut self) -> Result<Option<Line>, InputError> {
        let columns = self.columns;
        let Some(line) = self.lines.next()? else { return Ok(None) };
        let fields = line.split(',');
        let parsed = match fields.clone().count() {
            found if found != columns => Err(InputProblem::Fields { expected: columns, found }),
            _ => parse(fields),
        };
        parsed.map(Some).map_err(|problem| self.lines.error(problem))
    }

    fn accept(&mut self, line: Option<Line>, before: Option<u64>) -> Result<(), InputError> {
        if let Some(Line { slot, .. }) = line {
            let problem = match before {
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

    /// All lines of one slot.
    fn blocks_of(&mut self, slot: u64) -> Result<Vec<Line>, InputError> {
        let mut blocks: Vec<Line> = Vec::new();
        while let Some(line) = self.ahead.filter(|line| line.slot == slot) {
            let same = |other: &Line| line.root.is_some() && other.root == line.root;
            let both = |other: &Line| line.canonical == Some(true) && other.canonical == Some(true);
            let repeated = match () {
                () if blocks.iter().any(same) => Some("the root of a block"),
                () if blocks.iter().any(both) => Some("the canonical block"),
                () => None,
            };
            if let Some(what) = repeated {
                // The line behind it has been read already, or this is the first one.
                return Err(self.lines.error(InputProblem::RepeatedBlock { what, slot }));
            }
            if blocks.len() < crate::tally::BLOCKS_PER_SLOT {
                blocks.push(line);
            }
            let next = self.line()?;
            self.accept(next, Some(slot))?;
        }
        Ok(blocks)
    }
}

fn linked(from: u64, start: Start) -> Known {
    Known::Linked(Box::new(Tally::new(from.saturating_sub(1), start)))
}

fn parse<'a>(mut fields: impl Iterator<Item = &'a str>) -> Result<Line, InputProblem> {
    let root = |field: &str| field.parse().map_err(|_| wrong("a root", field));
    Ok(Line {
        slot: slot(fields.next().unwrap_or_default())?,
        root: fields.next().map(root).transpose()?,
        // Nothing at all: the parent is not known.
        parent: fields.next().filter(|field| !field.is_empty()).map(root).transpose()?,
        canonical: fields.next().map(flag).transpose()?,
    })
}

fn facts(blocks: &[Line]) -> SlotFacts {
    let status = |present| if present { Status::Present } else { Status::Missed };
    SlotFacts {
        tree: status(!blocks.is_empty()),
        canonical: status(blocks.iter().any(|block| block.canonical != Some(false))),
        blocks: u8::try_from(blocks.len()).unwrap_or(u8::MAX),
    }
}

impl<R: BufRead> Source for BlocksCsv<R> {
    fn next(&mut self) -> Result<Option<&Evidence>, InputError> {
        if !self.begun {
            self.begun = true;
            return Ok(Some(match &mut self.known {
                Known::Listed(evidence) => evidence,
                Known::Linked(tally) => {
                    tally.advance(self.from);
                    tally.evidence()
                }
            }));
        }
        let slot = match &self.known {
            Known::Listed(evidence) => evidence.slot(),
            Known::Linked(tally) => tally.now(),
        };
        if self.ahead.is_none() && slot > self.to() {
            if let Known::Linked(tally) = &self.known {
                // The statuses of the last slots are final now.
                let unsettled = slot.saturating_sub(DEPTH).max(self.from)..slot;
                unsettled.for_each(|slot| self.missed.count(tally.status(slot)));
            }
            return Ok(None);
        }
        let blocks = self.blocks_of(slot)?;
        match &mut self.known {
            Known::Listed(evidence) => {
                let facts = facts(&blocks);
                self.missed.count(Some(facts));
                evidence.push(facts);
                Ok(Some(evidence))
            }
            Known::Linked(tally) => {
                for &Line { root, parent, .. } in &blocks {
                    let root = root.unwrap_or_default();
                    let (validity, payload) = (Validity::Valid, Payload::Unknown);
                    tally.add(slot, Block { root, parent, validity, payload });
                }
                if let Some(root) = blocks.first().and_then(|block| block.root) {
                    tally.set_head(slot, root);
                }
                tally.end_slot(1);
                if let Some(settled) = (slot + 1).checked_sub(DEPTH + 1).filter(|s| *s >= self.from)
                {
                    self.missed.count(tally.status(settled));
                }
                Ok(Some(tally.evidence()))
            }
        }
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
