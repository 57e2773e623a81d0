//! The wish to stop: Ctrl-C or SIGTERM.

use std::io;
use tokio::signal;

/// Completes at the first Ctrl-C or SIGTERM.
///
/// # Errors
/// When the handlers cannot be installed.
pub(crate) async fn requested() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminated = signal::unix::signal(signal::unix::SignalKind::terminate())?;
        tokio::select! {
            pressed = signal::ctrl_c() => pressed,
            _ = terminated.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    signal::ctrl_c().await
}
