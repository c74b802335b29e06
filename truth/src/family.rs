//! The families of simulated machines: a law of latencies, moods, spikes, steps and pauses.

use super::law::Law;
use super::mood::{Mood, quantile};
use punctual_numbers::stats::normal;
use statrs::function::gamma::gamma_ur;

/// Late activations that follow a law of their own.
#[derive(Clone, Copy, Debug)]
pub struct Spikes {
    /// Mean number of activations from one spike to the next.
    pub gap: f64,
    /// Whether spikes come at equal distances instead of at random.
    pub regular: bool,
    /// Latency in nanoseconds: the first number plus an exponential deviate with the second as its mean.
    pub size: (f64, f64),
    /// Number of activations that are late in succession.
    pub together: u32,
}

impl Spikes {
    fn above(&self, value: f64) -> f64 {
        if value <= self.size.0 { 1.0 } else { (-(value - self.size.0) / self.size.1).exp() }
    }

    fn share(&self) -> f64 {
        f64::from(self.together) / self.gap
    }
}

/// A family of simulated machines with equal properties.
#[derive(Clone, Debug)]
pub struct Family {
    pub name: &'static str,
    pub law: Law,
    pub mood: Mood,
    pub spikes: Option<Spikes>,
    /// Values are rounded down to whole multiples of this step, in nanoseconds; 0 for no rounding.
    pub step: f64,
    /// The machine is paused for the first number of seconds in each stretch of the second number.
    pub pauses: Option<(u32, u32)>,
    /// Length in seconds of a single run, and of each run of a pair.
    pub seconds: (u32, u32),
}

fn family(name: &'static str, law: Law, mood: Mood) -> Family {
    Family { name, law, mood, spikes: None, step: 0.0, pauses: None, seconds: (600, 120) }
}

impl Family {
    fn spiked(mut self, each_second: f64) -> Self {
        self.spikes = Some(Spikes { gap: 1_000.0 / each_second, regular: false, size: (20e3, 40e3), together: 1 });
        self
    }

    fn lasting(mut self, claims: u32, pair: u32) -> Self {
        self.seconds = (claims, pair);
        self
    }

    /// The probability of a value above `value` in the long run.
    pub fn above(&self, value: f64) -> f64 {
        // A value that is rounded down to a step is larger than `value` if it reaches the next step.
        let value = if self.step > 0.0 { ((value / self.step).floor() + 1.0) * self.step - 1e-6 } else { value };
        let usual = self.mood.above(&self.law, value);
        let share = self.spikes.map_or(0.0, |spikes| spikes.share());
        (1.0 - share) * usual + self.spikes.map_or(0.0, |spikes| share * spikes.above(value))
    }

    /// The value that is exceeded with this probability.
    pub fn at(&self, p: f64) -> f64 {
        // The search ends just below the step at which the probability falls.
        self.cut(quantile(|value| self.above(value), p) * (1.0 + 1e-9))
    }

    /// The value that is exceeded once an hour on average, where values that come together count once.
    pub fn once_an_hour(&self) -> f64 {
        let times = |value: f64| {
            let spikes = self.spikes.map_or(0.0, |spikes| {
                3.6e6 / spikes.gap * (1.0 - (1.0 - spikes.above(value)).powf(f64::from(spikes.together)))
            });
            self.mood.times_an_hour(&self.law, value) + spikes
        };
        quantile(times, 1.0)
    }

    /// The value rounded down to the steps of the family.
    pub fn cut(&self, value: f64) -> f64 {
        if self.step > 0.0 { (value / self.step).floor() * self.step } else { value }
    }
}

fn lognormal() -> Law {
    Law::of(|p| 10e3 * (-0.5 * normal::quantile(p)).exp())
}

fn exponential() -> Law {
    Law::of(|p| 3e3 - 5e3 * p.ln())
}

/// The generalised Pareto law of this shape, above 5 us.
fn pareto(shape: f64) -> Law {
    Law::of(|p| 5e3 + 5e3 / shape * (p.powf(-shape) - 1.0))
}

fn gamma() -> Law {
    Law::of(|p| 2.5e3 * super::law::root(|x| gamma_ur(4.0, x.max(1e-9)) - p, 0.0, 120.0))
}

/// A law of which most values are lognormal, and `share` of them lie around 40 us.
fn two_modes(share: f64) -> Law {
    let above = |value: f64| {
        let of = |middle: f64, width: f64| normal::below(-(value / middle).ln() / width);
        (1.0 - share) * of(10e3, 0.3) + share * of(40e3, 0.1)
    };
    Law::of(|p| quantile(above, p))
}

fn constant(value: f64) -> Law {
    Law::of(move |_| value)
}

/// Families whose values are independent of each other.
fn independent() -> Vec<Family> {
    let steady = |name, law| family(name, law, Mood::Steady);
    vec![
        steady("lognormal", lognormal()),
        steady("gamma", gamma()),
        steady("exponential", exponential()),
        steady("Pareto -0.3", pareto(-0.3)),
        steady("Pareto 0.2", pareto(0.2)),
        steady("Pareto 0.4", pareto(0.4)),
        steady("two modes, 0.2", two_modes(0.2)),
        steady("two modes, 1e-4", two_modes(1e-4)),
        Family { step: 1e3, ..steady("steps of 1 us", lognormal()) },
        Family { step: 10e3, ..steady("steps of 10 us", lognormal()) },
        Family { step: 30e3, ..steady("steps of 30 us", lognormal()) },
        steady("constant", constant(5_000.0)),
        steady("two values", Law::of(|p| if p < 0.03 { 20e3 } else { 5e3 })),
        Family { pauses: Some((3, 40)), ..steady("pauses", lognormal()) },
        steady("lognormal, 1 s", lognormal()).lasting(1, 1),
        steady("lognormal, 30 s", lognormal()).lasting(30, 30),
        steady("lognormal, 120 s", lognormal()).lasting(120, 60),
        steady("spikes 0.05/s", lognormal()).spiked(0.05),
        steady("spikes 0.2/s", lognormal()).spiked(0.2),
        steady("spikes 1/s", lognormal()).spiked(1.0),
        Family {
            spikes: Some(Spikes { gap: 2_000.0, regular: false, size: (20e3, 30e3), together: 5 }),
            ..steady("spikes in fives", lognormal())
        },
        Family {
            spikes: Some(Spikes { gap: 10_000.0, regular: true, size: (60e3, 10e3), together: 1 }),
            ..steady("spike every 10 s", lognormal())
        },
    ]
}

/// Families whose latencies depend on the latencies before them.
fn moody() -> Vec<Family> {
    let of = |name, mood| family(name, lognormal(), mood);
    let series = |name, memory| family(name, constant(10e3), Mood::Wander { memory, deviation: 0.5 });
    let wander = |name, memory| of(name, Mood::Wander { memory, deviation: 0.15 });
    let sine = |name, period| of(name, Mood::Sine { period, deviation: 0.15 });
    let bursts = |name, length, times| of(name, Mood::Bursts { length, times, share: 0.1 });
    let moods = |name, length| of(name, Mood::Bursts { length, times: 1.3, share: 0.5 });
    vec![
        series("AR(1) 10 ms", 0.01),
        series("AR(1) 0.1 s", 0.1),
        series("AR(1) 1 s", 1.0).lasting(600, 600),
        series("AR(1) 10 s", 10.0).lasting(600, 600),
        wander("wanders 0.1 s", 0.1),
        wander("wanders 1 s", 1.0),
        wander("wanders 3 s", 3.0),
        wander("wanders 10 s", 10.0),
        wander("wanders 30 s", 30.0),
        wander("wanders 100 s", 100.0),
        wander("wanders 300 s", 300.0),
        wander("wanders 30 s, 120 s run", 30.0).lasting(120, 120),
        Family { ..wander("wanders 30 s, spikes", 30.0).spiked(0.2) },
        sine("sine 0.1 s", 0.1),
        sine("sine 10 s", 10.0),
        sine("sine 30 s", 30.0),
        sine("sine 120 s", 120.0),
        sine("sine 300 s", 300.0),
        bursts("bursts 0.1 s x1.5", 0.1, 1.5),
        bursts("bursts 0.1 s x2", 0.1, 2.0),
        bursts("bursts 0.3 s x1.5", 0.3, 1.5),
        bursts("bursts 0.3 s x2", 0.3, 2.0),
        bursts("bursts 1 s x1.5", 1.0, 1.5),
        bursts("bursts 1 s x2", 1.0, 2.0),
        bursts("bursts 10 s x1.5", 10.0, 1.5),
        bursts("bursts 10 s x2", 10.0, 2.0),
        bursts("bursts 60 s x1.5", 60.0, 1.5),
        bursts("bursts 60 s x2", 60.0, 2.0),
        moods("two moods 1 s", 1.0),
        moods("two moods 10 s", 10.0),
        moods("two moods 60 s", 60.0),
        moods("two moods 200 s", 200.0),
    ]
}

/// Families whose law changes in the course of a run.
fn changing() -> Vec<Family> {
    let of = |name, mood| family(name, lognormal(), mood);
    vec![
        of("drift of 10 %", Mood::Path(|part| 0.9 + 0.1 * part)),
        of("step of 10 %", Mood::Before(1.0 / 1.1)),
        of("step of 30 %", Mood::Before(1.0 / 1.3)),
        of("step at 2 % of the run", Mood::Path(|part| if part < 0.02 { 0.8 } else { 1.0 })),
        of("thermal ramp", Mood::Path(|part| 1.0 - 0.2 * (-6.0 * part).exp())),
        of("nightly job", Mood::Job { every: 1_200.0, length: 20.0, times: 2.0 }),
        of("job every 5 min", Mood::Job { every: 300.0, length: 10.0, times: 1.5 }),
    ]
}

pub fn all() -> Vec<Family> {
    independent().into_iter().chain(moody()).chain(changing()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_enough_and_each_has_a_name_of_its_own() {
        let mut names: Vec<&str> = all().iter().map(|family| family.name).collect();
        assert!(names.len() >= 40, "{}", names.len());
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_percentile_is_exceeded_as_often_as_it_says() {
        for family in all().iter().filter(|family| family.step == 0.0 && family.law.only().is_none()) {
            for p in [1e-2, 1e-3, 1e-4] {
                let above = family.above(family.at(p));
                // The probability of a law with two values jumps at each of them.
                assert!((above / p - 1.0).abs() < 1e-3 || family.name == "two values", "{} {p} {above}", family.name);
            }
            assert!(family.once_an_hour() > family.at(1e-4) * 0.999, "{}", family.name);
        }
    }
}
