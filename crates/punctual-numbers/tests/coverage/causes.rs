//! Tests the estimate of rare levels (rung L4) for each of two causes, whose latencies follow different laws. The
//! latencies of both together follow no single law.

use super::asked;
use super::header::header as made_up;
use super::laws::{Dice, Law, bounded, exponential, heavy};
use super::outcome::{self, Expected, LevelOutcome, Told};
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::claims::{Claims, PhaseClaims};
use punctual_numbers::explain::CpuLate;
use punctual_numbers::explain::{Blame, Cause, Class, Explanation, LateCount, Spike};
use punctual_numbers::recording::{CpuInterval, Frame, Header, Interval, RecTime, Recording};
use punctual_numbers::scenario::Amount;
use punctual_numbers::trace::Kept;
use std::collections::BTreeMap;

/// Length of a run in seconds. The level to estimate is the latency that is exceeded once an hour.
const SECONDS: u32 = 720;
const EACH: u32 = 100;
const PERIOD: Nanos = Nanos::from_ms(10);
const EPOCH: MonoTime = MonoTime::from_ns(1_000_000_000);
/// Latencies of a cause exceed this many microseconds, and all other latencies are smaller.
const LATE: f64 = 15.0;
const ORDINARY: Nanos = Nanos::from_us(3);

/// At which times, and with which latencies, a cause strikes.
#[derive(Clone, Copy)]
enum Kind {
    Chance,
    /// In one of every two minutes, but then twice as often.
    Minutes,
    /// At any time, and always with about the same latency.
    Size,
}

struct Source {
    name: &'static str,
    law: Law,
    /// Mean number of occurrences in a second.
    often: f64,
    kind: Kind,
    expected: Expected,
}

const fn source(name: &'static str, law: Law, often: f64, kind: Kind, expected: Expected) -> Source {
    Source { name, law, often, kind, expected }
}

struct Mixture([Source; 2]);

static MIXTURES: [Mixture; 3] = [
    Mixture([
        source("exponential", exponential, 0.8, Kind::Chance, Expected::Held),
        source("pareto 0.2", heavy, 0.6, Kind::Chance, Expected::Held),
    ]),
    Mixture([
        source("pareto -0.3", bounded, 0.8, Kind::Chance, Expected::Held),
        source("by the minute", exponential, 0.6, Kind::Minutes, Expected::Refused),
    ]),
    Mixture([
        source("exponential, rarer", exponential, 0.5, Kind::Chance, Expected::Held),
        source("of one size", exponential, 0.4, Kind::Size, Expected::Refused),
    ]),
];

impl Source {
    /// The late activations of a run: (number of the activation, latency).
    fn run(&self, dice: &mut Dice) -> Vec<(u32, Nanos)> {
        let (mut at, mut found) = (0.0, Vec::new());
        // The minutes in which the cause strikes: one of every two successive minutes, chosen at random.
        let minutes: Vec<bool> =
            (0..SECONDS / 120).map(|_| dice.draw() < 0.5).flat_map(|first| [first, !first]).collect();
        let often = if matches!(self.kind, Kind::Minutes) { 2.0 * self.often } else { self.often };
        loop {
            at -= dice.draw().ln() / often;
            let number = (at * f64::from(EACH)) as u32;
            if number >= SECONDS * EACH {
                return found;
            }
            let us = match self.kind {
                Kind::Size => 25.0 + dice.draw(),
                Kind::Chance | Kind::Minutes => LATE + (self.law)(dice.draw()),
            };
            if !matches!(self.kind, Kind::Minutes) || minutes[(at / 60.0) as usize] {
                found.push((number, Nanos::from_ns((us * 1e3) as u64)));
            }
        }
    }

    /// The level that latencies of this cause exceed once an hour on average.
    fn truth(&self) -> Nanos {
        Nanos::from_ns(((LATE + (self.law)(1.0 / (self.often * 3_600.0))) * 1e3) as u64)
    }

    fn cause(&self) -> Cause {
        Cause { class: Class::HigherPriority, name: self.name.into() }
    }
}

fn header() -> Header {
    let mut header = made_up(1, Nanos::from_secs(u64::from(SECONDS)));
    header.epoch = EPOCH;
    header.scenario.warm_up = Amount::Activations(0);
    for thread in &mut header.scenario.threads {
        thread.period = PERIOD;
    }
    header
}

impl Mixture {
    /// The claims about a run in which the cause of each late activation is known.
    fn claimed(&self, dice: &mut Dice) -> PhaseClaims {
        // If both causes strike the same activation, the one with the larger latency is blamed.
        let mut late: BTreeMap<u32, (Nanos, &Source)> = BTreeMap::new();
        for source in &self.0 {
            for (number, latency) in source.run(dice) {
                let at = late.entry(number).or_insert((latency, source));
                if latency > at.0 {
                    *at = (latency, source);
                }
            }
        }
        let mut recording = Recording::new(header());
        let mut largest = ORDINARY;
        for second in 0..SECONDS {
            let mut counts = Counts::new();
            late.range(second * EACH..(second + 1) * EACH).for_each(|(_, (latency, _))| counts.record(*latency));
            counts.record_n(ORDINARY, u64::from(EACH) - counts.count());
            largest = largest.max(counts.max().unwrap());
            recording.add(Frame::Interval(interval(second, &counts, largest)));
        }
        let spikes: Vec<Spike> = late.iter().map(|(number, (latency, of))| spike(*number, *latency, of)).collect();
        let known = spikes.len() as u64;
        let late = vec![CpuLate { cpu: 0, count: LateCount { late: known, complete: known, ..LateCount::default() } }];
        let explanation = Explanation { late, spikes, ..Explanation::default() };
        Claims::of(&recording, Some(&explanation)).phases.remove(0)
    }
}

/// The interval of one second. `largest` is the largest latency of the run so far.
fn interval(second: u32, counts: &Counts, largest: Nanos) -> Interval {
    let cpu = CpuInterval {
        ran_min: Some(ORDINARY),
        ran_max: Some(largest),
        block_max: vec![(second, counts.max().unwrap())],
        ..CpuInterval::of(0, counts, &Counts::new())
    };
    let (start, length) = (Nanos::from_secs(u64::from(second)), Nanos::from_secs(1));
    Interval { start: RecTime::after_epoch(start), length, phase: 0, cpus: vec![cpu] }
}

fn spike(number: u32, latency: Nanos, of: &Source) -> Spike {
    let release = EPOCH.plus(PERIOD.times(u64::from(number)));
    Spike {
        cpu: 0,
        release,
        woke: release.plus(latency),
        phase: 0,
        kept: Kept::Sampled,
        incomplete: None,
        parts: Vec::new(),
        causes: vec![Blame { cause: of.cause(), time: latency, excess: latency, why: Vec::new() }],
    }
}

/// The outcome for each cause, and for both causes together, for which a level must be refused.
fn levels(number: usize, mixture: &Mixture, runs: u64) -> Vec<Told> {
    let hour = Nanos::from_secs(3_600);
    let mut whole = LevelOutcome::default();
    let mut outcomes = [LevelOutcome::default(), LevelOutcome::default()];
    for seed in 0..runs {
        let phase = mixture.claimed(&mut Dice::new(300 + number, seed));
        whole.add(&phase.beyond, (hour, Nanos::ZERO), 0);
        for (source, outcome) in mixture.0.iter().zip(&mut outcomes) {
            let claims = phase.by_cause.iter().find(|claims| claims.cause.name == source.name.into()).unwrap();
            outcome.add(&claims.beyond, (hour, source.truth()), 0);
        }
    }
    let of_causes = mixture.0.iter().zip(outcomes).map(|(source, outcome)| (source.name, source.expected, outcome));
    of_causes.chain([("both together", Expected::Refused, whole)]).collect()
}

/// The outcomes of all pairs that contain a cause whose name `asked` accepts.
pub fn families(runs: u64, asked: impl Fn(&str) -> bool) -> impl Iterator<Item = Told> {
    let asked = move |mixture: &Mixture| mixture.0.iter().any(|source| asked(source.name));
    let asked = MIXTURES.iter().enumerate().filter(move |(_, mixture)| asked(mixture));
    asked.flat_map(move |(number, mixture)| levels(number, mixture, runs))
}

/// Prints the table and returns the names of the causes whose outcome is not as expected.
pub fn table(runs: u64) -> Vec<&'static str> {
    println!("level of an hour that each of two causes makes, from {SECONDS} s, {runs} runs of each pair");
    outcome::table(families(runs, asked))
}
