//! Whom to ask. The pure part: nothing here knows a clock, a lock or a socket.

use std::time::Duration;

use crate::config::Strategy;

/// Of calls under [`Strategy::Fastest`] one in twenty goes elsewhere: without it a node that was slow once would never
/// be measured again.
const EXPLORE_PERCENT: u64 = 5;

/// The least share a slow endpoint keeps under [`Strategy::LatencyWeighted`], in percent of the best one's.
const LEAST_SHARE: f64 = 0.01;

/// How an endpoint stands for one call. Smaller is better; what is out has no tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// Half-open, and nobody else will ever probe it.
    Rescue,
    /// Closed.
    Closed,
    /// Closed, and the WebSocket of a provider whose HTTP endpoint goes first.
    Spare,
    /// Half-open with a free slot.
    HalfOpen,
    /// Behind the pool's head.
    Lagging,
    /// Closed, and asks to be left alone.
    Throttled,
    /// Half-open, and asks to be left alone.
    HalfOpenThrottled,
}

impl Tier {
    pub(crate) fn of(half_open: bool, lagging: bool, throttled: bool) -> Self {
        match (throttled, half_open, lagging) {
            (true, true, _) => Self::HalfOpenThrottled,
            (true, false, _) => Self::Throttled,
            (false, _, true) => Self::Lagging,
            (false, true, false) => Self::HalfOpen,
            (false, false, false) => Self::Closed,
        }
    }
}

/// An endpoint that may be asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    /// Its place in the configuration.
    pub(crate) index: usize,
    pub(crate) tier: Tier,
    /// How long its throttle lasts.
    pub(crate) wait: Duration,
    /// Of its successes, for calls of this class.
    pub(crate) latency: Option<Duration>,
    pub(crate) weight: u32,
}

/// The candidate to ask; `draw` is a random number.
pub(crate) fn choose(strategy: Strategy, candidates: &[Candidate], draw: u64) -> Option<Candidate> {
    let best = candidates.iter().map(|candidate| candidate.tier).min()?;
    let tier: Vec<Candidate> =
        candidates.iter().copied().filter(|candidate| candidate.tier == best).collect();
    if matches!(best, Tier::Throttled | Tier::HalfOpenThrottled) {
        // Waiting in line is for the shortest line, whatever the strategy.
        return tier.into_iter().min_by_key(|candidate| (candidate.wait, candidate.index));
    }
    match strategy {
        Strategy::Priority => tier.into_iter().min_by_key(|candidate| candidate.index),
        Strategy::LoadBalanced => weighted(&tier, draw, |candidate| f64::from(candidate.weight)),
        Strategy::Fastest if draw % 100 < EXPLORE_PERCENT => weighted(&tier, draw, |_| 1.0),
        // Those without a sample first: nobody knows that they are slow.
        Strategy::Fastest => tier.into_iter().min_by_key(|candidate| candidate.latency),
        Strategy::LatencyWeighted => {
            let best = tier.iter().filter_map(|candidate| candidate.latency).min();
            weighted(&tier, draw, |candidate| match best.zip(candidate.latency) {
                Some((best, mine)) => share(best, mine),
                None => 1.0,
            })
        }
    }
}

fn share(best: Duration, mine: Duration) -> f64 {
    if mine.is_zero() {
        return 1.0;
    }
    best.div_duration_f64(mine).powi(3).max(LEAST_SHARE)
}

fn weighted(
    tier: &[Candidate],
    draw: u64,
    weight: impl Fn(&Candidate) -> f64,
) -> Option<Candidate> {
    let total: f64 = tier.iter().map(&weight).sum();
    let mut left = draw as f64 / u64::MAX as f64 * total;
    let found = tier.iter().find(|candidate| {
        left -= weight(candidate);
        left < 0.0
    });
    found.or(tier.last()).copied()
}

/// The head of the pool: of three or more the second-highest, so that one liar cannot make all others lag.
pub(crate) fn pool_head(heads: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut heads: Vec<u64> = heads.into_iter().collect();
    heads.sort_unstable_by(|a, b| b.cmp(a));
    heads.get(usize::from(heads.len() >= 3)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: u64 = 10_000;

    fn candidate(index: usize, latency_ms: u64) -> Candidate {
        Candidate {
            index,
            tier: Tier::Closed,
            wait: Duration::ZERO,
            latency: (latency_ms > 0).then(|| Duration::from_millis(latency_ms)),
            weight: 1,
        }
    }

    /// How many of evenly spread draws go where.
    fn spread(strategy: Strategy, candidates: &[Candidate]) -> Vec<u64> {
        let mut hits = vec![0; candidates.len()];
        for i in 0..STEPS {
            hits[choose(strategy, candidates, u64::MAX / STEPS * i).unwrap().index] += 1;
        }
        hits
    }

    #[test]
    fn a_better_tier_goes_first_whatever_the_strategy() {
        let tiers = [
            Tier::of(true, false, true),
            Tier::of(false, false, true),
            Tier::of(false, true, false),
            Tier::of(true, false, false),
            Tier::of(false, false, false),
        ];
        for strategy in [
            Strategy::Priority,
            Strategy::LoadBalanced,
            Strategy::Fastest,
            Strategy::LatencyWeighted,
        ] {
            for best in 1..=tiers.len() {
                let candidates: Vec<_> =
                    (0..best).map(|i| Candidate { tier: tiers[i], ..candidate(i, 1) }).collect();
                let chosen = choose(strategy, &candidates, 7).unwrap();
                assert_eq!(chosen.index, best - 1, "{strategy:?}");
            }
        }
        assert_eq!(choose(Strategy::Priority, &[], 0), None);
    }

    #[test]
    fn priority_is_the_order_of_the_file() {
        assert_eq!(spread(Strategy::Priority, &[candidate(0, 90), candidate(1, 1)]), [STEPS, 0]);
    }

    #[test]
    fn load_is_balanced_by_weight() {
        let heavy = Candidate { weight: 3, ..candidate(1, 0) };
        let hits = spread(Strategy::LoadBalanced, &[candidate(0, 0), heavy]);
        assert!(hits[0].abs_diff(STEPS / 4) < 10, "{hits:?}");
    }

    #[test]
    fn the_fastest_gets_all_but_a_few() {
        let hits = spread(Strategy::Fastest, &[candidate(0, 50), candidate(1, 10)]);
        assert!(hits[0] > 0 && hits[0] < STEPS / 10, "{hits:?}");
        let hits = spread(Strategy::Fastest, &[candidate(0, 50), candidate(1, 0)]);
        assert!(hits[1] > STEPS * 9 / 10, "one without a sample is measured: {hits:?}");
    }

    #[test]
    fn twice_as_slow_is_an_eighth_and_never_less_than_a_hundredth() {
        let hits = spread(Strategy::LatencyWeighted, &[candidate(0, 10), candidate(1, 20)]);
        assert!(hits[1].abs_diff(STEPS / 9) < 10, "{hits:?}");
        let hits = spread(Strategy::LatencyWeighted, &[candidate(0, 1), candidate(1, 10_000)]);
        assert!(hits[1].abs_diff(STEPS / 101) < 10, "{hits:?}");
    }

    #[test]
    fn in_line_the_shortest_wait_wins() {
        let waits = |ms| Candidate {
            tier: Tier::Throttled,
            wait: Duration::from_millis(ms),
            ..candidate(0, 0)
        };
        let chosen = choose(Strategy::Priority, &[waits(9), waits(3), waits(5)], 0).unwrap();
        assert_eq!(chosen.wait, Duration::from_millis(3));
    }

    #[test]
    fn one_liar_does_not_move_the_head() {
        assert_eq!(pool_head([]), None);
        assert_eq!(pool_head([5]), Some(5));
        assert_eq!(pool_head([5, 9]), Some(9));
        assert_eq!(pool_head([5, 999, 6]), Some(6));
        assert_eq!(pool_head([5, 5, 999, 4]), Some(5));
    }
}
