//! A text file by lines, each with its number, whatever the file holds.

use std::{
    fmt,
    io::{self, BufRead, Read as _},
};

/// A file that is not as it must be.
#[derive(Debug, thiserror::Error)]
pub struct InputError {
    /// The file's name.
    pub file: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u64,
    /// What is wrong.
    #[source]
    pub problem: InputProblem,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, problem } = self;
        match line {
            0 => write!(f, "{file}: {problem}"),
            line => write!(f, "{file}:{line}: {problem}"),
        }
    }
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputProblem {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// Longer than any that means something.
    #[error("the line is longer than {0} bytes")]
    TooLong(u64),
    /// It is no text.
    #[error("the line is not UTF-8")]
    NotText,
    /// The first line has to name the columns.
    #[error("expected the header {expected}, found `{found}`")]
    Header {
        /// Which would do.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Not as many fields as columns.
    #[error("{found} fields for {expected} columns")]
    Fields {
        /// The header's.
        expected: usize,
        /// The line's.
        found: usize,
    },
    /// A field is not a number, a root, or 0 or 1.
    #[error("`{found}` is not {expected}")]
    Field {
        /// What had to be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// Slots have to ascend.
    #[error("slot {slot} after slot {before}: slots must ascend")]
    Order {
        /// The line's slot.
        slot: u64,
        /// The one before.
        before: u64,
    },
    /// The same slot again.
    #[error("slot {0} stands here a second time")]
    Repeated(u64),
    /// The same block again, or two canonical ones in a slot.
    #[error("{what} of slot {slot} stands here a second time")]
    RepeatedBlock {
        /// Which thing.
        what: &'static str,
        /// The slot.
        slot: u64,
    },
    /// The slot is not in the range that was asked for.
    #[error("slot {slot} is outside of {from} to {to}")]
    Outside {
        /// The line's slot.
        slot: u64,
        /// The first one.
        from: u64,
        /// The last one, or what is known of it.
        to: String,
    },
    /// There is nothing from which a range could be taken.
    #[error("no slots are listed: say from which to which with --from and --to")]
    Empty,
    /// The range is not one, or too large.
    #[error("{from} to {to} is no range of 1 to {most} slots")]
    Range {
        /// The first slot.
        from: u64,
        /// The last slot.
        to: u64,
        /// How many there can be.
        most: u64,
    },
    /// A line of a log is not an event.
    #[error("not an event: {0}")]
    Event(#[source] serde_json::Error),
    /// A log begins with `spec`, and has it once.
    #[error("{0}")]
    Spec(&'static str),
}

/// Reads line by line, with bounded memory.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    file: String,
    number: u64,
    longest: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R, file: &str, longest: u64) -> Self {
        Self { reader, file: file.to_owned(), number: 0, longest, buffer: Vec::new() }
    }

    /// The next line without its end, CRLF or LF; none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<&str>, InputError> {
        self.buffer.clear();
        // The end of the line is not part of the bound, and one byte more tells that it is exceeded.
        let mut bounded = (&mut self.reader).take(self.longest + 3);
        let read = bounded.read_until(b'\n', &mut self.buffer);
        self.number += 1;
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(self.error(InputProblem::Io(error))),
        }
        let mut line: &[u8] = &self.buffer;
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.len() as u64 > self.longest {
            return Err(self.error(InputProblem::TooLong(self.longest)));
        }
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(self.error(InputProblem::NotText)),
        }
    }

    /// What is wrong with the line that was read last.
    pub(super) fn error(&self, problem: InputProblem) -> InputError {
        InputError { file: self.file.clone(), line: self.number, problem }
    }

    /// What is wrong with the file as a whole.
    pub(super) fn whole(&self, problem: InputProblem) -> InputError {
        InputError { file: self.file.clone(), line: 0, problem }
    }
}

/// No chain has a later slot, and sums with it are still numbers.
pub(super) const LAST_SLOT: u64 = 1 << 62;

/// A slot's number.
pub(super) fn slot(field: &str) -> Result<u64, InputProblem> {
    let digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    let number = field.parse().ok().filter(|number| digits && *number <= LAST_SLOT);
    number.ok_or_else(|| wrong("a slot's number", field))
}

/// 0 or 1.
pub(super) fn flag(field: &str) -> Result<bool, InputProblem> {
    match field {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(wrong("0 or 1", field)),
    }
}

/// A field that is something else, cut short.
pub(super) fn wrong(expected: &'static str, found: &str) -> InputProblem {
    InputProblem::Field { expected, found: shown(found) }
}

/// Enough of a text to recognise it.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 80;
    text.chars().take(SHOWN).collect()
}
