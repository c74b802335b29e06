//! Tests the estimate of rare levels (rung L4) from a histogram of another program, in cells of a microsecond. Only the
//! largest values of a run are drawn individually; all others are in one cell.

use super::asked;
use super::laws::{
    Dice, IN_BURSTS, Law, above_in_bursts, bounded, decaying, exponential, heavy, level_with_mode, lognormal,
    of_frechet, of_mode, quantile,
};
use super::outcome::{self, Expected, LevelOutcome, Told, family};
use punctual_hist::Nanos;
use punctual_numbers::claims::SeriesClaims;
use punctual_numbers::foreign::{Cell, ForeignRun, Series};
use std::collections::BTreeMap;

/// Number of values of a run; the period is a millisecond.
const N: u64 = 1_000_000;
const SECONDS: f64 = 1_000.0;
/// Number of values in an hour.
const AN_HOUR: f64 = 3.6e6;
/// How many of the largest values are drawn individually.
const DRAWN: u32 = 4_000;
const WIDTH: Nanos = Nanos::from_us(1);
/// Mean length of a burst, in which latencies are twice as large, in seconds.
const BURST: f64 = 1.0;

#[derive(Clone, Copy)]
enum Kind {
    Independent,
    /// A large value decays over the next steps, so that five successive values on average exceed a level.
    Decaying,
    /// There are bursts of a second on average, in which every latency is twice as large.
    Bursts,
    /// A second mode: a value is 150 to 200 us with this probability.
    Mode(f64),
}

type Family = outcome::Family<Kind>;

static FAMILIES: [Family; 10] = [
    family("exponential", exponential, Kind::Independent, Expected::Held),
    family("pareto -0.3, wide", wide, Kind::Independent, Expected::Held),
    family("pareto 0.2", heavy, Kind::Independent, Expected::Held),
    family("lognormal 0.5", lognormal, Kind::Independent, Expected::Held),
    family("bursts of 1 s", exponential, Kind::Bursts, Expected::Held),
    family("decaying, fives", exponential, Kind::Decaying, Expected::Unseen),
    family("bimodal 1e-4", exponential, Kind::Mode(1e-4), Expected::Refused),
    family("bimodal 1e-5", exponential, Kind::Mode(1e-5), Expected::Refused),
    family("bimodal 3e-6", exponential, Kind::Mode(3e-6), Expected::RefusedIfSeen),
    family("bimodal 1e-6", exponential, Kind::Mode(1e-6), Expected::RefusedIfSeen),
];

/// A bounded law that ends more than three cells above the largest values.
fn wide(p: f64) -> f64 {
    10.0 * bounded(p)
}

impl Family {
    /// The largest values of a run in us, and the number of them that belong to the rare mode.
    fn largest(&self, dice: &mut Dice) -> (Vec<f64>, u64) {
        let all = N as f64;
        match self.kind {
            Kind::Independent => (largest(self.law, all, dice).collect(), 0),
            Kind::Decaying => (largest_decaying(self.law, dice), 0),
            Kind::Bursts => {
                let slow = all * in_bursts(dice);
                let usual: Vec<f64> = largest(self.law, all - slow, dice).collect();
                (usual.into_iter().chain(largest(self.law, slow, dice).map(|us| 2.0 * us)).collect(), 0)
            }
            Kind::Mode(often) => {
                let mut values: Vec<f64> = largest(self.law, all, dice).collect();
                let usual = values.len();
                let mut passed = -dice.draw().ln();
                while passed < all * often {
                    values.push(of_mode(dice));
                    passed -= dice.draw().ln();
                }
                let rare = (values.len() - usual) as u64;
                (values, rare)
            }
        }
    }

    fn series(&self, dice: &mut Dice) -> (Series, u64) {
        let (mut values, rare) = self.largest(dice);
        values.sort_by(|a, b| b.total_cmp(a));
        values.truncate(DRAWN as usize);
        let mut cells: BTreeMap<u64, u64> = BTreeMap::new();
        for us in &values {
            *cells.entry(Nanos::from_ns((us * 1e3) as u64).whole(WIDTH)).or_default() += 1;
        }
        let first = cells.keys().next().copied().unwrap();
        let rest = N - values.len() as u64;
        let rest = Cell { low: Nanos::ZERO, high: WIDTH.times(first).minus(Nanos::from_ns(1)), count: rest };
        let drawn = cells.into_iter().map(|(index, count)| Cell::of_width(index, WIDTH, count));
        let cells = std::iter::once(rest).chain(drawn).collect();
        (Series { period: Some(Nanos::from_ms(1)), cells, ..Series::default() }, rare)
    }

    /// The true level, which is exceeded once an hour on average.
    fn truth(&self) -> Nanos {
        let us = match self.kind {
            Kind::Bursts => quantile(|us| above_in_bursts(self.law, us), AN_HOUR),
            Kind::Mode(often) => level_with_mode(self.law, often, AN_HOUR),
            _ => (self.law)(-(-1.0 / AN_HOUR).exp_m1()),
        };
        Nanos::from_ns((us * 1e3) as u64)
    }
}

/// The largest of `all` independent values, in descending order. `all` times the probability to exceed each of them is
/// an event time of a Poisson process of rate 1.
fn largest(law: Law, all: f64, dice: &mut Dice) -> impl Iterator<Item = f64> {
    let mut passed = 0.0;
    (0..DRAWN).map(move |_| {
        passed -= dice.draw().ln();
        law(passed / all)
    })
}

/// The largest values of a decaying series. All values of the series are drawn, because they depend on each other.
fn largest_decaying(law: Law, dice: &mut Dice) -> Vec<f64> {
    let least = N as f64 / f64::from(DRAWN);
    let mut state = -1.0 / dice.draw().ln();
    let mut values = Vec::new();
    for _ in 0..N {
        state = decaying(dice, state);
        if state > least {
            values.push(law(of_frechet(state)));
        }
    }
    values
}

/// The share of the time of a run that lies in bursts.
fn in_bursts(dice: &mut Dice) -> f64 {
    let (mut slow, mut at, mut passed) = (dice.draw() < IN_BURSTS, 0.0, 0.0);
    while at < SECONDS {
        let mean = if slow { BURST } else { BURST * (1.0 - IN_BURSTS) / IN_BURSTS };
        let stay = (-mean * dice.draw().ln()).min(SECONDS - at);
        passed += if slow { stay } else { 0.0 };
        (slow, at) = (!slow, at + stay);
    }
    passed / SECONDS
}

fn levels(number: usize, family: &Family, runs: u64) -> LevelOutcome {
    let mut outcome = LevelOutcome::default();
    let asked = (Nanos::from_secs(3_600), family.truth());
    for seed in 0..runs {
        let (series, rare) = family.series(&mut Dice::new(200 + number, seed));
        let claims = SeriesClaims::of(&ForeignRun::default(), &series).unwrap();
        outcome.add(&claims.beyond, asked, rare);
    }
    outcome
}

pub fn families(runs: u64, asked: impl Fn(&str, Expected) -> bool) -> impl Iterator<Item = Told> {
    let asked = FAMILIES.iter().enumerate().filter(move |(_, family)| asked(family.name, family.expected));
    asked.map(move |(number, family)| (family.name, family.expected, levels(number, family, runs)))
}

pub fn table(runs: u64) -> Vec<&'static str> {
    println!("level of an hour from cells of 1 us of 1000 s, {runs} runs of each family");
    outcome::table(families(runs, |name, _| asked(name)))
}
