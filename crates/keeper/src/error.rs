//! Errors that have an exit code of their own.

use crate::{output, shutdown::Signal, store::StoreError};
use std::process::ExitCode;

/// Why the keeper will not go on. Each message names the thing and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The command line asks for something that does not exist. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// A file, or what it names, is not as it must be. Exit code 3.
    #[error("{0}")]
    Configuration(String),
    /// The node is on another chain than the one that is meant. Exit code 4.
    #[error("{0}")]
    Identity(String),
    /// The store cannot be used as it is. Exit code 5.
    #[error("{0}")]
    Store(String),
    /// Nothing can be reached that could answer. Exit code 6; only commands that answer once give up.
    #[error("{0}")]
    Unreachable(String),
    /// The answer is no. Exit code 7.
    #[error("{0}")]
    No(String),
    /// It was stopped before it could answer, or end by itself. The exit code is that of a program that the signal ends.
    #[error("stopped by {0}")]
    Interrupted(Signal),
}

impl Refusal {
    /// The same kind of refusal, in other words.
    pub(crate) fn with_text(self, text: String) -> Self {
        match self {
            Self::Usage(_) => Self::Usage(text),
            Self::Configuration(_) => Self::Configuration(text),
            Self::Identity(_) => Self::Identity(text),
            Self::Store(_) => Self::Store(text),
            Self::Unreachable(_) => Self::Unreachable(text),
            Self::No(_) => Self::No(text),
            Self::Interrupted(signal) => Self::Interrupted(signal),
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Configuration(_) => 3,
            Self::Identity(_) => 4,
            Self::Store(_) => STORE,
            Self::Unreachable(_) => 6,
            Self::No(_) => 7,
            Self::Interrupted(signal) => signal.code(),
        }
    }
}

/// The exit code of a finished command: 0, that of the refusal, or 1 for whatever was not foreseen.
pub fn exit_code(result: &eyre::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::gone(error) => ExitCode::SUCCESS,
        Err(error) => code(error).into(),
    }
}

fn code(error: &eyre::Report) -> u8 {
    match (error.downcast_ref::<Refusal>(), error.downcast_ref::<StoreError>()) {
        (Some(refusal), _) => refusal.code(),
        (None, Some(StoreError::Refused { .. } | StoreError::Held { .. })) => STORE,
        _ => 1,
    }
}

/// The exit code of a store that the keeper will not use.
const STORE: u8 = 5;
