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
}
