//! Numbers out of samples.

use std::time::Duration;

/// The sample at or above `percent` of all, by the nearest-rank method.
pub fn percentile(samples: &[Duration], percent: u32) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent as usize).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

pub fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1000.0
}

/// How something grows with its size: n to the power of this. 0: it does not; 1: in proportion.
pub fn exponent(small: (f64, f64), large: (f64, f64)) -> f64 {
    let ((few, little), (many, much)) = (small, large);
    (much / little).ln() / (many / few).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let samples: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        let check = |percent, expect| {
            assert_eq!(percentile(&samples, percent), Duration::from_millis(expect), "{percent}");
        };
        check(50, 50);
        check(99, 99);
        check(100, 100);
        check(0, 1);
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }

    #[test]
    fn the_exponent_of_a_square_is_two() {
        let check = |to: f64, expect: f64| {
            let found = exponent((100.0, 3.0), (10_000.0, to));
            assert!((found - expect).abs() < 1e-9, "{found}, not {expect}");
        };
        check(30_000.0, 2.0);
        check(300.0, 1.0);
        check(3.0, 0.0);
    }
}
