//! The only place here that reads a clock or waits: peers have no clock to pass in, so their cooldowns pass for real.

use std::time::Duration;

/// How long `f` keeps this thread's processor busy. Work of others on the machine does not count.
pub fn processor_time(f: impl FnOnce()) -> Duration {
    let start = on_processor();
    f();
    on_processor().saturating_sub(start)
}

fn on_processor() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
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
