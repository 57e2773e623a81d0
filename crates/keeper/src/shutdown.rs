//! The wish to stop: Ctrl-C, SIGTERM or SIGHUP.
//!
//! It is listened for without a gap: until the first handler is there a signal kills, and one that came between two
//! handlers would be lost.

use crate::Refusal;
use std::{fmt, io};
use tokio::signal;
use tokio_util::sync::CancellationToken;

/// A wish to stop, by what it came as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// What service managers send.
    Terminate,
    /// The terminal was closed.
    HangUp,
}

impl Signal {
    /// The exit code of a program that it ends: 128 and its number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::HangUp => 129,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "Ctrl-C",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        })
    }
}

/// The signals that come from now on.
#[cfg(unix)]
struct Signals {
    interrupt: signal::unix::Signal,
    terminate: signal::unix::Signal,
    hang_up: signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hang_up.recv() => Signal::HangUp,
        }
    }
}

/// The same where there is Ctrl-C only.
#[cfg(windows)]
struct Signals(signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> Signal {
        self.0.recv().await;
        Signal::Interrupt
    }
}

/// Completes at the first signal.
///
/// # Errors
/// When the handlers cannot be installed.
pub(crate) async fn requested() -> io::Result<Signal> {
    Ok(Signals::listen()?.next().await)
}

/// Does what goes on until it is asked to stop, which the token says. At a second signal it is over at once.
///
/// # Errors
/// Those of the work, and [`Refusal::Interrupted`] by the second signal.
pub(crate) async fn until_stopped<W>(work: impl FnOnce(CancellationToken) -> W) -> eyre::Result<()>
where
    W: Future<Output = eyre::Result<()>> + Send + 'static,
{
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    // In a task of its own, since it may hold its thread: where nobody reads what it prints, printing takes for ever.
    let mut work = tokio::spawn(work(stop.clone()));
    tokio::select! {
        ended = &mut work => return ended?,
        _ = signals.next() => stop.cancel(),
    }
    tokio::select! {
        ended = &mut work => ended?,
        signal = signals.next() => Err(Refusal::Interrupted(signal).into()),
    }
}
