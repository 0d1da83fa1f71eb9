//! A line through points, by least squares.

use serde::Serialize;

/// `x` in days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// The line that is nearest to a series, and how near it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// How many points there are.
    pub n: usize,
    pub first: f64,
    pub last: f64,
    pub mean: f64,
    pub slope_per_day: f64,
    /// How much of the points' variance the line explains, from 0 to 1. A series that does not move at all has 0: nothing
    /// is to be explained.
    pub r2: f64,
}

/// `None`: there is no point. One point, or several at one time, have no slope.
pub fn fit(points: &[Point]) -> Option<Line> {
    let (first, last) = (points.first()?, points.last()?);
    let n = points.len() as f64;
    let mean = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|p| p.x), mean(|p| p.y));
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>();
    let xx = sum(&|p| (p.x - mean_x).powi(2));
    let yy = sum(&|p| (p.y - mean_y).powi(2));
    let xy = sum(&|p| (p.x - mean_x) * (p.y - mean_y));
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    let r2 = if xx > 0.0 && yy > 0.0 { (xy * xy / (xx * yy)).clamp(0.0, 1.0) } else { 0.0 };
    let round = |value: f64| (value * 1000.0).round() / 1000.0;
    Some(Line {
        n: points.len(),
        first: round(first.y),
        last: round(last.y),
        mean: round(mean_y),
        slope_per_day: round(slope),
        r2: round(r2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[f64]) -> Line {
        let points = values.iter().enumerate().map(|(x, y)| Point { x: x as f64, y: *y });
        fit(&points.collect::<Vec<_>>()).expect("there are points")
    }

    #[test]
    fn a_line_says_how_steep_it_is_and_how_near() {
        let straight = line(&[1.0, 3.0, 5.0, 7.0]);
        assert_eq!((straight.slope_per_day, straight.r2, straight.n), (2.0, 1.0, 4));
        assert_eq!((straight.first, straight.last, straight.mean), (1.0, 7.0, 4.0));
        let falling = line(&[9.0, 6.0, 3.0]);
        assert_eq!((falling.slope_per_day, falling.r2), (-3.0, 1.0));
        let noise = line(&[1.0, 5.0, 1.0, 5.0, 1.0]);
        assert_eq!((noise.slope_per_day, noise.r2), (0.0, 0.0));
        // By hand: x 0..3, y 1 2 2 4; slope 0.9, r2 0.8526.
        let some = line(&[1.0, 2.0, 2.0, 4.0]);
        assert_eq!((some.slope_per_day, some.r2), (0.9, 0.853));
    }

    #[test]
    fn what_has_no_slope_has_none() {
        assert_eq!(fit(&[]), None);
        let one = line(&[4.0]);
        assert_eq!((one.slope_per_day, one.r2, one.n), (0.0, 0.0, 1));
        let at_once = fit(&[Point { x: 1.0, y: 1.0 }, Point { x: 1.0, y: 9.0 }]).expect("a line");
        assert_eq!((at_once.slope_per_day, at_once.r2, at_once.mean), (0.0, 0.0, 5.0));
        assert_eq!(line(&[2.0, 2.0, 2.0]).r2, 0.0);
    }
}
