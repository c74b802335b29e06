//! Did the largest become smaller? Counts how many blocks of one run reach beyond all of the other.
//!
//! Two maxima say next to nothing: of two runs of one system, one reaches a tenth higher in a third of all cases. That
//! five independent blocks of one run reach beyond everything in the other says something (Rosenbaum 1954), and how
//! much is exact, whatever the distribution is.

/// Odds that the `beyond` largest of all blocks fall to the one run, where nothing differs: that run has `own` blocks,
/// the other has `others`. 1 where nothing is beyond.
#[allow(clippy::cast_precision_loss, reason = "numbers of blocks are small")]
pub fn chance(beyond: usize, own: usize, others: usize) -> f64 {
    if beyond > own {
        return 0.0;
    }
    (0..beyond).map(|i| (own - i) as f64 / ((own - i) as f64 + others as f64)).product()
}

/// How many of `own` reach beyond all of `others`; 0 where there are no others.
pub fn beyond(own: &[f64], others: &[f64]) -> usize {
    let Some(largest) = others.iter().copied().reduce(f64::max) else { return 0 };
    own.iter().filter(|value| **value > largest).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_values() {
        // The research note, computed with scipy: 19 of 2000 beyond 1500, and runs of equal length.
        assert!((chance(19, 2000, 1500) / 2.324_27e-5 - 1.0).abs() < 1e-5);
        for (beyond, wanted) in [(5, 0.031), (7, 0.0078), (10, 0.000_98)] {
            assert!((chance(beyond, 1_000_000, 1_000_000) / wanted - 1.0).abs() < 0.01);
        }
        assert!((chance(2, 1_000_000, 4_000_000) - 0.04).abs() < 1e-4);
        // By hand: both of two beyond one other has the odds 2/3 * 1/2.
        assert!((chance(2, 2, 1) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn only_what_is_beyond_everything_counts() {
        assert_eq!(beyond(&[1.0, 5.0, 6.0, 7.0], &[2.0, 5.0]), 2);
        assert_eq!((beyond(&[1.0], &[]), beyond(&[], &[1.0])), (0, 0));
        assert!((chance(0, 10, 10) - 1.0).abs() < 1e-12);
        assert!(chance(11, 10, 10) < 1e-12);
    }
}
