//! Tests the estimate of rare levels (rung L4) from block maxima. If values are independent, only the maxima are drawn,
//! which is fast: the largest of n values has the quantile function of one value at u^(1/n).

use super::asked;
use super::laws::{
    Dice, autoregressive, autoregressive_level, bounded, decaying, exponential, heavy, level_with_mode, lognormal,
    of_frechet, of_mode,
};
use super::outcome::{self, Expected, LevelOutcome, Told, family};
use punctual_hist::Nanos;
use punctual_numbers::claims::{Maxima, beyond};

/// Length of a run in seconds. Each second is a block of `EACH` activations.
const BLOCKS: u32 = 3_600;
const EACH: f64 = 1_000.0;
/// The level to estimate is exceeded once in this many runs on average.
const TIMES: u64 = 10;
/// Activations in a block of an autoregressive series. They are fewer, because each of them is drawn.
const EACH_DRAWN: u32 = 100;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Independent,
    /// A large value decays over the next steps, so that five successive values on average exceed a level.
    Decaying,
    /// The logarithm of each value depends on the value before.
    Autoregressive,
    /// There are minutes in which every latency is twice as large.
    Minutes,
    /// Latencies grow by a third over the run.
    Drifting,
    /// A second mode: a latency is 150 to 200 us with this probability.
    Mode(f64),
    /// Every 20 s there is a latency of 120 to 130 us.
    Schedule,
}

type Family = outcome::Family<Kind>;

static FAMILIES: [Family; 14] = [
    family("exponential", exponential, Kind::Independent, Expected::Held),
    family("pareto -0.3", bounded, Kind::Independent, Expected::Held),
    family("pareto 0.2", heavy, Kind::Independent, Expected::Held),
    family("lognormal 0.5", lognormal, Kind::Independent, Expected::Held),
    family("decaying, fives", exponential, Kind::Decaying, Expected::Held),
    family("AR(1) 0.9", lognormal, Kind::Autoregressive, Expected::Held),
    family("bursts of minutes", exponential, Kind::Minutes, Expected::Refused),
    family("drift by a third", exponential, Kind::Drifting, Expected::Refused),
    family("every 20 s", exponential, Kind::Schedule, Expected::Refused),
    family("bimodal 1e-4", exponential, Kind::Mode(1e-4), Expected::Refused),
    family("bimodal 1e-5", exponential, Kind::Mode(1e-5), Expected::Refused),
    family("bimodal 3e-6", exponential, Kind::Mode(3e-6), Expected::Refused),
    family("bimodal 1e-6", exponential, Kind::Mode(1e-6), Expected::RefusedIfSeen),
    family("bimodal 3e-7", exponential, Kind::Mode(3e-7), Expected::RefusedIfSeen),
];

/// The block maxima of a run in us, and the number of blocks with a value of the rare mode.
fn run(family: &Family, dice: &mut Dice) -> (Vec<f64>, u64) {
    let (mut slow, mut rare) = (false, 0);
    let mut state = if family.kind == Kind::Decaying { -1.0 / dice.draw().ln() } else { dice.normal() };
    let mut block = |i: u32| {
        let largest = |dice: &mut Dice| (family.law)(dice.largest_of(EACH));
        match family.kind {
            Kind::Decaying => (family.law)(of_frechet(largest_decaying(dice, &mut state))),
            Kind::Autoregressive => {
                let next = |_| {
                    state = autoregressive(dice, state);
                    state
                };
                10.0 * (0.5 * (0..EACH_DRAWN).map(next).fold(f64::MIN, f64::max)).exp()
            }
            Kind::Minutes => {
                if i % 60 == 0 && dice.draw() < 0.3 {
                    slow = !slow;
                }
                largest(dice) * if slow { 2.0 } else { 1.0 }
            }
            Kind::Drifting => largest(dice) * (1.0 + f64::from(i) / f64::from(BLOCKS) / 3.0),
            Kind::Mode(often) if dice.draw() < -(-often * EACH).exp_m1() => {
                rare += 1;
                largest(dice).max(of_mode(dice))
            }
            Kind::Schedule if i % 20 == 7 => largest(dice).max(120.0 + 10.0 * dice.draw()),
            Kind::Independent | Kind::Mode(_) | Kind::Schedule => largest(dice),
        }
    };
    ((0..BLOCKS).map(&mut block).collect(), rare)
}

/// The largest value of a block of a decaying series; `state` becomes the last value. Only the last 100 values are
/// drawn one by one, because earlier ones have decayed at the end of the block.
fn largest_decaying(dice: &mut Dice, state: &mut f64) -> f64 {
    let early = -(EACH - 100.0) / dice.draw().ln();
    let (mut largest, mut value) = ((0.8 * *state).max(0.2 * early), 0.0f64);
    for _ in 0..100 {
        value = decaying(dice, value);
        largest = largest.max(value);
    }
    *state = value;
    largest
}

/// The true level, which is exceeded once in `TIMES` runs on average.
fn truth(family: &Family) -> f64 {
    let values = f64::from(BLOCKS) * TIMES as f64 * EACH;
    match family.kind {
        Kind::Decaying => (family.law)(-(-5.0 / values).exp_m1()),
        Kind::Autoregressive => {
            let steps = f64::from(BLOCKS) * TIMES as f64 * f64::from(EACH_DRAWN);
            10.0 * (0.5 * autoregressive_level(steps)).exp()
        }
        Kind::Mode(often) => level_with_mode(family.law, often, values),
        _ => (family.law)(-(-1.0 / values).exp_m1()),
    }
}

fn levels(number: usize, family: &Family, runs: u64) -> LevelOutcome {
    let mut outcome = LevelOutcome::default();
    let (time, truth) = (Nanos::from_secs(u64::from(BLOCKS) * TIMES), Nanos::from_ns((truth(family) * 1e3) as u64));
    for seed in 0..runs {
        let (values, rare) = run(family, &mut Dice::new(number, seed));
        let list = (0u32..).zip(values.into_iter().map(|us| Nanos::from_ns((us * 1e3) as u64))).collect();
        let told = beyond(&Maxima { block: Nanos::from_secs(1), list }, &[time]);
        outcome.add(&told, (time, truth), rare);
    }
    outcome
}

pub fn families(runs: u64, asked: impl Fn(&str, Expected) -> bool) -> impl Iterator<Item = Told> {
    let asked = FAMILIES.iter().enumerate().filter(move |(_, family)| asked(family.name, family.expected));
    asked.map(move |(number, family)| (family.name, family.expected, levels(number, family, runs)))
}

pub fn table(runs: u64) -> Vec<&'static str> {
    println!("level of {TIMES} times the run, {runs} runs of each family");
    outcome::table(families(runs, |name, _| asked(name)))
}
