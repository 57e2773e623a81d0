//! What systemd is told, where it has started the keeper: that it is ready, alive, about to end.
//!
//! Without its socket in the environment all of this does nothing.

use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// It has begun to watch. Units that depend on it start now.
    Ready,
    /// It does what it is there for.
    Alive,
    /// It was asked to end, and does.
    Stopping,
}

/// Says it. An error is nobody's business: systemd notices silence by itself.
pub(crate) fn notify(note: Note) {
    #[cfg(unix)]
    {
        use sd_notify::NotifyState;
        let state = match note {
            Note::Ready => NotifyState::Ready,
            Note::Alive => NotifyState::Watchdog,
            Note::Stopping => NotifyState::Stopping,
        };
        let _ = sd_notify::notify(&[state]);
    }
    #[cfg(not(unix))]
    let _ = note;
}

/// How long the unit's `WatchdogSec` lets it be silent.
fn patience() -> Option<Duration> {
    #[cfg(unix)]
    return sd_notify::watchdog_enabled().filter(|patience| !patience.is_zero());
    #[cfg(not(unix))]
    None
}

/// Says that it is alive, twice in the time that systemd waits for it, as long as that is so; until it is to stop. Ends at
/// once where no watchdog is set.
pub(crate) async fn watchdog<F: Future<Output = bool> + Send>(
    is_alive: impl Fn() -> F + Send,
    stop: CancellationToken,
) {
    let Some(patience) = patience() else { return };
    loop {
        if is_alive().await {
            notify(Note::Alive);
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(patience / 2) => {}
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{os::unix::net::UnixDatagram, process::Command};

    /// A process of its own: the environment is read, and no test may change it.
    #[test]
    fn systemd_hears_ready_watchdog_and_stopping() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "systemd::tests::all_that_is_said", "--ignored"])
            .env("NOTIFY_SOCKET", &path)
            .env("WATCHDOG_USEC", "20000")
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        for want in ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"] {
            let mut heard = [0; 64];
            let length = socket.recv(&mut heard).unwrap();
            assert_eq!(std::str::from_utf8(&heard[..length]).unwrap().trim_end(), want);
        }
        assert!(child.wait().unwrap().success());
    }

    #[tokio::test]
    #[ignore = "the other one starts it"]
    async fn all_that_is_said() {
        use std::sync::atomic::{AtomicU8, Ordering};
        notify(Note::Ready);
        let (asked, stop) = (AtomicU8::new(0), CancellationToken::new());
        // Dead after two signs of life: then there is silence.
        let is_alive = || {
            let nth = asked.fetch_add(1, Ordering::Relaxed);
            if nth > 2 {
                stop.cancel();
            }
            std::future::ready(nth < 2)
        };
        watchdog(is_alive, stop.clone()).await;
        notify(Note::Stopping);
    }

    #[tokio::test]
    async fn without_systemd_nothing_is_said() {
        notify(Note::Ready);
        watchdog(|| std::future::ready(true), CancellationToken::new()).await;
    }
}
