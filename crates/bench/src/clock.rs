//! The only place here that reads a clock or waits: peers have no clock to pass in, so their cooldowns pass for real.

use std::time::Duration;

use rustix::time::ClockId;

/// How long `f` keeps this thread's processor busy. Work of others on the machine does not count.
pub fn processor_time(f: impl FnOnce()) -> Duration {
    spent(ClockId::ThreadCPUTime, f)
}

/// How long `f` keeps processors busy, on whatever threads of this process.
pub fn process_time(f: impl FnOnce()) -> Duration {
    spent(ClockId::ProcessCPUTime, f)
}

fn spent(clock: ClockId, f: impl FnOnce()) -> Duration {
    let start = on_processor(clock);
    f();
    on_processor(clock).saturating_sub(start)
}

fn on_processor(clock: ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    // Neither is negative.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Waits.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing else runs here, and peers read the system's clock"
)]
pub fn wait(duration: Duration) {
    std::thread::sleep(duration);
}
