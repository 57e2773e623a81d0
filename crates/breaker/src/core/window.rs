//! Rates over the last calls and over the last seconds.
//!
//! Both keep a running sum beside the samples, so a sample costs the same whatever the window's length.

use crate::clock::{Tick, nanos};
use crate::config::{self, Config};
use crate::state::Cause;

/// One call as a window sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) failed: bool,
    pub(super) slow: bool,
}

/// Samples, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    calls: u64,
    failed: u64,
    slow: u64,
}

impl Tally {
    fn add(&mut self, sample: Sample) {
        self.calls += 1;
        self.failed += u64::from(sample.failed);
        self.slow += u64::from(sample.slow);
    }

    fn remove(&mut self, other: Self) {
        self.calls -= other.calls;
        self.failed -= other.failed;
        self.slow -= other.slow;
    }

    /// Whether `part` is at least `percent` of the calls. Multiplied across: a division would round.
    fn reaches(&self, part: u64, percent: u8, min_calls: u32) -> bool {
        self.calls >= u64::from(min_calls) && part * 100 >= u64::from(percent) * self.calls
    }
}

impl From<Sample> for Tally {
    fn from(sample: Sample) -> Self {
        let mut tally = Self::default();
        tally.add(sample);
        tally
    }
}

/// The last `size` samples, each evicted by the one that takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Count {
    samples: Box<[Sample]>,
    next: usize,
    sum: Tally,
}

impl Count {
    fn new(cfg: &config::CountWindow) -> Self {
        Self { samples: vec![Sample::default(); cfg.size].into(), next: 0, sum: Tally::default() }
    }

    fn push(&mut self, sample: Sample) {
        let place = &mut self.samples[self.next];
        let evicted = std::mem::replace(place, sample);
        if self.sum.calls == self.samples.len() as u64 {
            self.sum.remove(evicted.into());
        }
        self.sum.add(sample);
        self.next += 1;
        if self.next == self.samples.len() {
            self.next = 0;
        }
    }

    /// So many good samples, one after the other.
    fn push_good(&mut self, count: usize) {
        for _ in 0..count.min(self.samples.len()) {
            self.push(Sample::default());
        }
    }

    fn clear(&mut self) {
        self.samples.fill(Sample::default());
        self.next = 0;
        self.sum = Tally::default();
    }
}

/// The samples of the last `period`, in buckets that leave by age.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Time {
    buckets: Box<[Tally]>,
    /// Nanoseconds a bucket lasts.
    width: u64,
    /// How many widths after the origin the newest bucket began.
    newest: u64,
    sum: Tally,
}

impl Time {
    fn new(cfg: &config::TimeWindow) -> Self {
        let buckets = usize::from(cfg.buckets.max(1));
        Self {
            buckets: vec![Tally::default(); buckets].into(),
            width: (nanos(cfg.period) / buckets as u64).max(1),
            newest: 0,
            sum: Tally::default(),
        }
    }

    fn push(&mut self, sample: Sample, now: Tick) {
        self.turn(now.as_nanos() / self.width);
        let place = self.place(self.newest);
        self.buckets[place].add(sample);
        self.sum.add(sample);
    }

    /// When the newest bucket ends.
    fn end(&self) -> Tick {
        Tick::from_nanos(self.newest.saturating_add(1).saturating_mul(self.width))
    }

    /// So many good samples in the newest bucket.
    fn push_good(&mut self, count: u64) {
        let place = self.place(self.newest);
        self.buckets[place].calls += count;
        self.sum.calls += count;
    }

    /// Makes `newest` the newest bucket; those that are a period older than it leave.
    fn turn(&mut self, newest: u64) {
        let behind = newest.saturating_sub(self.newest);
        if behind >= self.buckets.len() as u64 {
            self.buckets.fill(Tally::default());
            self.sum = Tally::default();
        } else {
            for step in 1..=behind {
                let place = self.place(self.newest + step);
                let left = std::mem::take(&mut self.buckets[place]);
                self.sum.remove(left);
            }
        }
        self.newest += behind;
    }

    fn place(&self, bucket: u64) -> usize {
        // The remainder is below the number of buckets, which is a usize.
        (bucket % self.buckets.len() as u64) as usize
    }

    fn clear(&mut self) {
        self.buckets.fill(Tally::default());
        self.sum = Tally::default();
    }
}

/// The windows of a breaker; most have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    count: Option<Count>,
    time: Option<Time>,
}

impl Windows {
    pub(super) fn new(cfg: &Config) -> Self {
        Self {
            count: cfg.count_window.as_ref().map(Count::new),
            time: cfg.time_window.as_ref().map(Time::new),
        }
    }

    pub(super) fn push(&mut self, sample: Sample, now: Tick) {
        if let Some(count) = &mut self.count {
            count.push(sample);
        }
        if let Some(time) = &mut self.time {
            time.push(sample, now);
        }
    }

    /// So many good samples from before [`Windows::good_until`].
    pub(super) fn push_good(&mut self, count: u32) {
        if let Some(window) = &mut self.count {
            window.push_good(usize::try_from(count).unwrap_or(usize::MAX));
        }
        if let Some(window) = &mut self.time {
            window.push_good(count.into());
        }
    }

    /// Until when good samples need nothing but to be counted.
    pub(super) fn good_until(&self) -> Tick {
        self.time.as_ref().map_or(Tick::MAX, Time::end)
    }

    pub(super) fn clear(&mut self) {
        if let Some(count) = &mut self.count {
            count.clear();
        }
        if let Some(time) = &mut self.time {
            time.clear();
        }
    }

    /// The first rule that is met, right after a sample was pushed.
    pub(super) fn tripped(&self, cfg: &Config) -> Option<Cause> {
        let count = self.count.as_ref().map(|window| window.sum).zip(cfg.count_window.as_ref());
        let time = self.time.as_ref().map(|window| window.sum).zip(cfg.time_window.as_ref());

        if count.is_some_and(|(sum, rule)| {
            sum.reaches(sum.failed, rule.failure_percent, rule.min_calls)
        }) {
            return Some(Cause::CountRate);
        }
        if time.is_some_and(|(sum, rule)| {
            sum.reaches(sum.failed, rule.failure_percent, rule.min_calls)
        }) {
            return Some(Cause::TimeRate);
        }
        let too_slow = |sum: Tally, percent: Option<u8>, min_calls| {
            percent.is_some_and(|percent| sum.reaches(sum.slow, percent, min_calls))
        };
        (count.is_some_and(|(sum, rule)| too_slow(sum, rule.slow_percent, rule.min_calls))
            || time.is_some_and(|(sum, rule)| too_slow(sum, rule.slow_percent, rule.min_calls)))
        .then_some(Cause::SlowRate)
    }
}
