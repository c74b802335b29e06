//! The moods of a simulated machine: the factor by which all latencies are multiplied, as it changes over time.

use super::dice::Dice;
use super::law::{Law, root};
use punctual_numbers::stats::normal;

/// The process that makes the factor. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub enum Mood {
    Steady,
    /// The logarithm of the factor is an autoregressive series with this memory and standard deviation.
    Wander {
        memory: f64,
        deviation: f64,
    },
    /// The logarithm of the factor is a sine of this period and standard deviation with a random phase.
    Sine {
        period: f64,
        deviation: f64,
    },
    /// The factor is `times` in bursts and 1 otherwise. Lengths of bursts are exponential with mean `length`, and
    /// bursts make up `share` of all time.
    Bursts {
        length: f64,
        times: f64,
        share: f64,
    },
    /// The factor is a function of the part of the run that has passed, 0 to 1. It ends at 1, the factor of the next
    /// run.
    Path(fn(f64) -> f64),
    /// The factor is this number until a random instant in the middle three fifths of the run, and 1 afterwards.
    Before(f64),
    /// Every `every` seconds a job of `length` seconds multiplies latencies by `times`.
    Job {
        every: f64,
        length: f64,
        times: f64,
    },
}

/// A stretch of time with a constant factor.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Number of activations, which come one per millisecond.
    pub activations: u32,
    pub times: f64,
}

/// The moods of one run, one after the other.
#[derive(Debug)]
pub struct Moods {
    mood: Mood,
    /// State of the process, according to its kind: the deviate, the phase, 1 in a burst and 0 outside, or an instant.
    state: f64,
    passed_ms: f64,
    run_ms: f64,
    /// Whether the factor has been 1, and whether it has been another value.
    seen: [bool; 2],
    normal: Law,
}

/// The next value of a standard autoregressive series with correlation `kept`.
fn stepped(state: f64, kept: f64, deviate: f64) -> f64 {
    kept * state + (1.0 - kept * kept).sqrt() * deviate
}

fn in_ms(seconds: f64) -> u32 {
    (seconds * 1e3).round().clamp(1.0, 1e9) as u32
}

impl Moods {
    pub fn new(mood: Mood, seconds: u32, dice: &mut Dice) -> Self {
        let normal = Law::of(|p| -normal::quantile(p));
        let run_ms = f64::from(seconds) * 1e3;
        let state = match mood {
            Mood::Steady | Mood::Path(_) => 0.0,
            Mood::Wander { .. } => normal.draw(dice),
            Mood::Sine { .. } => dice.unit(),
            Mood::Bursts { share, .. } => f64::from(u8::from(dice.unit() < share)),
            Mood::Before(_) => run_ms * (0.2 + 0.6 * dice.unit()),
            Mood::Job { every, .. } => every * 1e3 * dice.unit(),
        };
        Self { mood, state, passed_ms: 0.0, run_ms, seen: [false; 2], normal }
    }

    pub fn next(&mut self, dice: &mut Dice) -> Piece {
        let piece = self.piece(dice);
        self.passed_ms += f64::from(piece.activations);
        let [usual, other] = &mut self.seen;
        *if (piece.times - 1.0).abs() < 1e-12 { usual } else { other } = true;
        piece
    }

    fn piece(&mut self, dice: &mut Dice) -> Piece {
        let grid = |seconds: f64| in_ms(seconds).min(1_000);
        match self.mood {
            Mood::Steady => Piece { activations: 1_000, times: 1.0 },
            Mood::Wander { memory, deviation } => {
                let activations = grid(memory / 50.0);
                let kept = (-f64::from(activations) / (memory * 1e3)).exp();
                self.state = stepped(self.state, kept, self.normal.draw(dice));
                Piece { activations, times: (deviation * self.state).exp() }
            }
            Mood::Sine { period, deviation } => {
                let phase = self.state + self.passed_ms / (period * 1e3);
                let swing = std::f64::consts::SQRT_2 * deviation * (std::f64::consts::TAU * phase).sin();
                Piece { activations: grid(period / 100.0), times: swing.exp() }
            }
            Mood::Bursts { length, times, share } => {
                let inside = self.state > 0.5;
                let mean = if inside { length } else { length * (1.0 - share) / share };
                self.state = 1.0 - self.state;
                Piece { activations: in_ms(mean * dice.exponential()), times: if inside { times } else { 1.0 } }
            }
            Mood::Path(path) => Piece { activations: 1_000, times: path((self.passed_ms / self.run_ms).min(1.0)) },
            Mood::Before(times) => {
                Piece { activations: 100, times: if self.passed_ms < self.state { times } else { 1.0 } }
            }
            Mood::Job { every, length, times } => {
                let since = (self.passed_ms + self.state) % (every * 1e3);
                Piece { activations: 100, times: if since < length * 1e3 { times } else { 1.0 } }
            }
        }
    }

    /// Whether the run so far shows more than one mood. A burst or job that did not begin, or did not end, during the
    /// run leaves no sign of a change.
    pub fn shows_itself(&self) -> bool {
        !matches!(self.mood, Mood::Bursts { .. } | Mood::Job { .. }) || self.seen == [true; 2]
    }
}

impl Mood {
    /// The probability that a value of this law under this mood is larger than `value`: in the long run, or after a
    /// change in the next run.
    pub fn above(&self, law: &Law, value: f64) -> f64 {
        let at = |times: f64| law.above(value / times);
        match *self {
            Self::Steady | Self::Path(_) | Self::Before(_) => at(1.0),
            Self::Wander { deviation, .. } => match law.only() {
                Some(only) => normal::below(-(value / only).ln() / deviation),
                None => mean_of_normal(|z| at((deviation * z).exp())),
            },
            Self::Sine { deviation, .. } => {
                let swing = |i: u32| {
                    std::f64::consts::SQRT_2 * deviation * (std::f64::consts::PI * (f64::from(i) + 0.5) / 256.0).cos()
                };
                (0..256).map(|i| at(swing(i).exp())).sum::<f64>() / 256.0
            }
            Self::Bursts { times, share, .. } => share * at(times) + (1.0 - share) * at(1.0),
            Self::Job { every, length, times } => {
                let share = length / every;
                share * at(times) + (1.0 - share) * at(1.0)
            }
        }
    }

    /// Mean number of times an hour that latency exceeds this value, where values that come together count once. If
    /// values are independent within a mood, it is the number of larger values. If latency itself is an autoregressive
    /// series, it is an hour over the mean time to the first larger value (Ornstein and Uhlenbeck's process, corrected
    /// for its discrete steps after Broadie, Glasserman and Kou 1997).
    pub fn times_an_hour(&self, law: &Law, value: f64) -> f64 {
        let per_hour = 3.6e6;
        match (*self, law.only()) {
            (Self::Wander { memory, deviation }, Some(only)) => {
                let steps = (f64::from(in_ms(memory / 50.0).min(1_000)) / (memory * 1e3)).min(1.0);
                let level = (value / only).ln() / deviation + 0.5826 * (2.0 * steps).sqrt();
                let grid = level.max(0.0) / 400.0;
                let sum: f64 = (0..400)
                    .map(|i| (f64::from(i) + 0.5) * grid)
                    .map(|u| (u * u / 2.0).exp() * normal::below(u) * grid)
                    .sum();
                3_600.0 / (memory * std::f64::consts::TAU.sqrt() * sum).max(1e-12)
            }
            _ => per_hour * self.above(law, value),
        }
    }
}

/// The mean of `of` over a standard normal deviate.
fn mean_of_normal(of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 320;
    let step = 16.0 / f64::from(STEPS);
    let weighed = (0..STEPS).map(|i| -8.0 + step * (f64::from(i) + 0.5)).map(|z| (of(z), (-z * z / 2.0).exp()));
    let (sum, weights) = weighed.fold((0.0, 0.0), |sum, (value, weight)| (sum.0 + value * weight, sum.1 + weight));
    sum / weights
}

/// The value that is exceeded with probability `p`, where `above` gives the probability of exceeding a value.
pub fn quantile(above: impl Fn(f64) -> f64, p: f64) -> f64 {
    root(|ln: f64| above(ln.exp()) - p, 0.0, 30.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_above(mood: Mood, value: f64) -> f64 {
        let law = Law::of(|p| -10_000.0 * p.ln());
        let mut dice = Dice::new("moods", 7);
        let (mut above, mut all) = (0.0, 0.0);
        while all < 4e6 {
            let mut moods = Moods::new(mood, 600, &mut dice);
            let mut passed = 0;
            while passed < 100_000 {
                let piece = moods.next(&mut dice);
                passed += piece.activations;
                above += f64::from(piece.activations) * law.above(value / piece.times);
                all += f64::from(piece.activations);
            }
        }
        above / all
    }

    #[test]
    fn the_long_run_is_what_the_process_does() {
        let moods = [
            Mood::Wander { memory: 0.1, deviation: 0.15 },
            Mood::Sine { period: 10.0, deviation: 0.15 },
            Mood::Bursts { length: 0.1, times: 2.0, share: 0.1 },
        ];
        let law = Law::of(|p| -10_000.0 * p.ln());
        for mood in moods {
            let value = quantile(|value| mood.above(&law, value), 1e-3);
            let seen = share_above(mood, value);
            assert!((seen / 1e-3 - 1.0).abs() < 0.06, "{mood:?} {seen}");
        }
    }
}
