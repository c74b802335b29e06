//! Interprets the sequence of period errors: whether the loop needs a compensation, or suffers from one.
//!
//! On a stable grid the time between two wake-ups is `T + L(k+1) - L(k)`: a late wake-up makes one period longer and
//! the next one shorter, although the grid is undisturbed. So independent latencies give period errors with a lag-1
//! autocorrelation of exactly -1/2 and 1.41 times the latencies' standard deviation. Any other value reveals something
//! about the loop.

use std::fmt;

/// With fewer pairs of successive periods there is no verdict, because the error of the autocorrelation would be above
/// 0.03.
const ENOUGH_PAIRS: u64 = 1_000;

/// Sums over period errors, each between two activations without a missed release in between, and over the wake-up
/// errors that cause them. In nanoseconds and their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeriodMoments {
    /// Number of period errors in the sums.
    pub count: u64,
    /// The sum of the period errors.
    pub sum: i128,
    /// The sum of the squares of the period errors.
    pub squares: i128,
    /// Number of pairs of successive period errors.
    pub pairs: u64,
    /// The sum over these pairs of the product of both period errors.
    pub products: i128,
    /// The sum of the wake-up errors (woke minus release) at the end of each period.
    pub error_sum: i128,
    /// The sum of the squares of the wake-up errors at the end of each period.
    pub error_squares: i128,
}

/// The meaning of an autocorrelation of period errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rhythm {
    /// There are too few successive periods for a verdict.
    TooFew,
    /// All periods were equal.
    Still,
    /// Each period overcorrects the error of the one before: a compensation oscillates.
    Oscillating,
    /// The latencies are independent, and the grid is stable.
    Independent,
    /// A part of each latency persists into the next activation.
    PartlyPersistent,
    /// The wake-ups drift away from the grid.
    Drifting,
    /// The latencies change in steps that last.
    Lasting,
    /// The latencies change slowly.
    Wandering,
    /// Some wake-ups were polled for, others came late from sleep: see [`Snapshot::rhythm`](super::Snapshot::rhythm).
    Mixed,
    /// Many releases were missed, or activations timed out: see [`Snapshot::rhythm`](super::Snapshot::rhythm).
    Broken,
}

#[allow(clippy::cast_precision_loss, reason = "a ratio needs no more than 53 bits")]
fn mean(sum: i128, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

fn variance(sum: i128, squares: i128, count: u64) -> Option<f64> {
    let mean_of_values = mean(sum, count)?;
    Some((mean(squares, count)? - mean_of_values * mean_of_values).max(0.0))
}

impl PeriodMoments {
    /// Mean of the period errors, in nanoseconds. It is not zero if the wake-ups drift away from the grid.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn mean_ns(&self) -> Option<f64> {
        mean(self.sum, self.count)
    }

    /// Standard deviation of the period errors, in nanoseconds.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn sd_ns(&self) -> Option<f64> {
        variance(self.sum, self.squares, self.count).map(f64::sqrt)
    }

    /// Standard deviation of the wake-up errors at the ends of the periods, in nanoseconds.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn wake_error_sd_ns(&self) -> Option<f64> {
        variance(self.error_sum, self.error_squares, self.count).map(f64::sqrt)
    }

    /// Standard deviation of the period errors divided by that of the wake-up errors: the square root of two if
    /// latencies are independent.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn ratio(&self) -> Option<f64> {
        let (periods, wakes) = (self.sd_ns()?, self.wake_error_sd_ns()?);
        (wakes > 0.0).then(|| periods / wakes)
    }

    /// The autocorrelation of successive period errors, -1 to 1; `None` if there are too few, or all are equal.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn autocorrelation(&self) -> Option<f64> {
        if self.pairs < ENOUGH_PAIRS {
            return None;
        }
        let (mean_error, variance) = (self.mean_ns()?, variance(self.sum, self.squares, self.count)?);
        let covariance = mean(self.products, self.pairs)? - mean_error * mean_error;
        (variance > 0.0).then(|| (covariance / variance).clamp(-1.0, 1.0))
    }

    /// Whether the wake-up error grows all the time. Then periods vary much less than the error, although on a stable
    /// grid they vary more. And from the first to the last period the error has changed by more than 2.5 standard
    /// deviations; on a straight line it would be 3.46.
    #[allow(clippy::cast_precision_loss, reason = "a ratio needs no more than 53 bits")]
    fn runs_away(&self) -> bool {
        let gone = self.sum as f64;
        let far = self.wake_error_sd_ns().is_some_and(|sd| gone.abs() > 2.5 * sd);
        far && self.ratio().is_some_and(|ratio| ratio < 0.2)
    }

    /// The meaning of the autocorrelation alone. [`Snapshot::rhythm`](super::Snapshot::rhythm) also considers how the
    /// loop woke.
    ///
    /// # Real-time
    /// Only computes; floating point.
    pub fn rhythm(&self) -> Rhythm {
        if self.pairs < ENOUGH_PAIRS {
            return Rhythm::TooFew;
        }
        let Some(rho) = self.autocorrelation() else { return Rhythm::Still };
        match rho {
            _ if rho < -0.6 => Rhythm::Oscillating,
            _ if rho < -0.4 => Rhythm::Independent,
            _ if rho < -0.1 => Rhythm::PartlyPersistent,
            _ if rho > 0.1 => Rhythm::Wandering,
            _ if self.runs_away() => Rhythm::Drifting,
            _ => Rhythm::Lasting,
        }
    }
}

impl fmt::Display for Rhythm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooFew => "too few periods in a row for a verdict, which takes 1000 pairs",
            Self::Still => "all periods alike",
            Self::Oscillating => {
                "a compensation that oscillates: it corrects by the last error; track a slow constant instead"
            }
            Self::Independent => {
                "independent wake-up latency on a stable grid: nothing to compensate, reduce the latency"
            }
            Self::PartlyPersistent => "a stable grid; part of the latency lasts from one wake-up to the next",
            Self::Drifting => "wake-ups run away from the grid: relative sleeping, or a reference that drifts",
            Self::Lasting => "few changes of latency, each of which lasts: look at the worst and at the modes",
            Self::Wandering => "a slow wander of the latency: clock frequency, temperature or steering",
            Self::Mixed => "no verdict: more than 5 % late from sleep among polled ones, and the two kinds alternate",
            Self::Broken => "no verdict: more than 5 % of the releases were missed or timed out",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_computed_case() {
        // Period errors of +4 and -4 in turns: mean 0, standard deviation 4, autocorrelation -1.
        let moments = PeriodMoments {
            count: 2_000,
            squares: 32_000,
            pairs: 1_999,
            products: -31_984,
            error_sum: 4_000,
            error_squares: 16_000,
            ..PeriodMoments::default()
        };
        assert_eq!((moments.mean_ns(), moments.sd_ns(), moments.autocorrelation()), (Some(0.0), Some(4.0), Some(-1.0)));
        assert_eq!((moments.wake_error_sd_ns(), moments.ratio()), (Some(2.0), Some(2.0)));
        assert_eq!(moments.rhythm(), Rhythm::Oscillating);
    }

    #[test]
    fn little_data_gives_no_verdict() {
        let few =
            PeriodMoments { count: 1_000, squares: 5_000, pairs: 999, products: -2_500, ..PeriodMoments::default() };
        assert_eq!((few.autocorrelation(), few.rhythm()), (None, Rhythm::TooFew));
        let still = PeriodMoments { count: 5_000, pairs: 4_999, ..PeriodMoments::default() };
        assert_eq!((still.autocorrelation(), still.rhythm()), (None, Rhythm::Still));
        assert_eq!(PeriodMoments::default().sd_ns(), None);
    }

    #[test]
    fn sums_of_a_hostile_page_are_survived() {
        let wild = PeriodMoments {
            count: u64::MAX,
            sum: i128::MIN,
            squares: i128::MIN,
            pairs: u64::MAX,
            products: i128::MAX,
            error_sum: i128::MAX,
            error_squares: i128::MIN,
        };
        let _: (Rhythm, Option<f64>) = (wild.rhythm(), wild.ratio());
    }
}
