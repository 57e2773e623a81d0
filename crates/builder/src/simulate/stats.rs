//! What many runs say together.

use serde::Serialize;

/// A figure over all runs that have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many runs have it.
    pub runs: u64,
    /// Its mean.
    pub mean: f64,
    /// How far the mean may be off: its standard error.
    pub standard_error: f64,
    /// The 95 % interval of the mean.
    pub interval: [f64; 2],
    /// Half of the runs are below.
    pub median: f64,
    /// One in twenty is below.
    pub p5: f64,
    /// One in twenty is above.
    pub p95: f64,
}

/// Standard errors on both sides of the mean that hold it in 95 of 100 cases.
const WIDTH_95: f64 = 1.959_964;

impl Summary {
    /// None where no run has the figure.
    #[must_use]
    pub fn of(mut figures: Vec<f64>) -> Option<Self> {
        if figures.is_empty() {
            return None;
        }
        figures.sort_by(f64::total_cmp);
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let variance = if count > 1.0 { squares / (count - 1.0) } else { 0.0 };
        let standard_error = (variance / count).sqrt();
        let width = WIDTH_95 * standard_error;
        // The nearest rank: a figure that a run really had.
        let rank =
            |share: f64| figures[((share * count).ceil() as usize).clamp(1, figures.len()) - 1];
        Some(Self {
            runs: figures.len() as u64,
            mean,
            standard_error,
            interval: [mean - width, mean + width],
            median: rank(0.5),
            p5: rank(0.05),
            p95: rank(0.95),
        })
    }
}

/// The wait that theory expects, and the one that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Theory {
    /// The expected number of slots until a run of misses trips.
    pub expected: f64,
    /// Whether the mean lies within three standard errors of it.
    pub agrees: bool,
}

impl Theory {
    /// For a run of `length` misses, each with probability `miss`.
    #[must_use]
    pub fn of_run(length: u64, miss: f64, seen: &Summary) -> Self {
        let expected = expected_wait(length, miss);
        // Where every slot misses the wait is certain, and nothing is left but rounding.
        let tolerance = (3.0 * seen.standard_error).max(1e-9 * expected);
        Self { expected, agrees: (seen.mean - expected).abs() <= tolerance }
    }
}

/// Slots until `length` misses in a row have come: (x⁻ᵏ − 1)/(1 − x).
fn expected_wait(length: u64, miss: f64) -> f64 {
    let length = length as f64;
    if miss >= 1.0 { length } else { (miss.powf(-length) - 1.0) / (1.0 - miss) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_figures_that_runs_had() {
        let summary = Summary::of((1..=100).rev().map(f64::from).collect()).unwrap();
        assert_eq!(
            (summary.median, summary.p5, summary.p95, summary.mean),
            (50.0, 5.0, 95.0, 50.5)
        );
        assert!((summary.standard_error - 2.901_149).abs() < 1e-6);
        assert_eq!(Summary::of(Vec::new()), None);
        assert_eq!(Summary::of(vec![7.0]).unwrap().interval, [7.0, 7.0]);
    }

    #[test]
    fn the_expected_wait_for_six_misses_is_that_of_the_books() {
        assert!((expected_wait(6, 0.8) - 14.07).abs() < 0.005);
        assert_eq!(expected_wait(6, 0.5), 126.0);
        assert_eq!(expected_wait(6, 1.0), 6.0);
    }
}
