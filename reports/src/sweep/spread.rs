//! Several measurements of the same.

use serde::{Deserialize, Serialize};

/// Mean and spread of several measurements, in whole units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: u64,
    /// Standard deviation of the sample; 0 of a single one.
    pub deviation: u64,
    /// Least.
    pub min: u64,
    /// Most.
    pub max: u64,
}

impl Spread {
    /// Of these, which are positive; all 0 of none.
    pub fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let whole = |value: f64| value.round() as u64;
        Spread {
            mean: whole(mean),
            deviation: if values.len() > 1 { whole((squares / (count - 1.0)).sqrt()) } else { 0 },
            min: whole(values.iter().copied().fold(f64::INFINITY, f64::min)),
            max: whole(values.iter().copied().fold(0.0, f64::max)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_those_of_a_sample() {
        let spread = Spread { mean: 500, deviation: 361, min: 200, max: 900 };
        assert_eq!(Spread::of(&[200.0, 400.0, 900.0]), spread);
        assert_eq!(Spread::of(&[7.0]).deviation, 0);
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
