//! Holds `trend` against series of known law: alarms of steady series, and runs until a planted shift is found.

use super::dice::Dice;
use anyhow::{Context, Result, bail};
use punctual_hist::{Counts, Nanos};
use punctual_numbers::trend::{Options, Run, Trend};

pub const USAGE: &str = "\
usage: cargo xtask truth trend [--series N] [--runs N] [--short]

  N series (60) of N runs (400) of each law, and as many with a shift of p99.9 by 20 %. Status 1 where more than one
  alarm in 1 000 runs is false beyond what chance explains, or fewer than 95 % of shifts are found within 3 runs.";

/// How runs of one machine differ from each other.
#[derive(Clone, Copy, Debug)]
struct Law {
    name: &'static str,
    /// Standard deviation of the logarithm of a run's level.
    wanders: f64,
    /// Correlation of the levels of neighbouring runs.
    resembles: f64,
    /// Whether a shift must be found within three runs. It cannot be where runs differ by as much as the shift.
    must_be_found: bool,
}

const LAWS: [Law; 6] = [
    Law { name: "independent", wanders: 0.0, resembles: 0.0, must_be_found: true },
    Law { name: "independent, runs differ by 2 %", wanders: 0.02, resembles: 0.0, must_be_found: true },
    Law { name: "AR(1) 0.5, runs differ by 2 %", wanders: 0.02, resembles: 0.5, must_be_found: true },
    Law { name: "independent, runs differ by 5 %", wanders: 0.05, resembles: 0.0, must_be_found: false },
    Law { name: "AR(1) 0.7, runs differ by 5 %", wanders: 0.05, resembles: 0.7, must_be_found: false },
    Law { name: "AR(1) 0.9, runs differ by 5 %", wanders: 0.05, resembles: 0.9, must_be_found: false },
];

/// Activations of a run: 30 s of 4 CPUs at 1 kHz.
const ACTIVATIONS: u32 = 120_000;
/// Number of runs before a planted shift.
const BEFORE: usize = 30;
const SHIFT: f64 = 1.2;

pub fn run(words: &[String]) -> Result<bool> {
    let (mut series, mut runs) = (60, 400);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || -> Result<usize> {
            let value = words.next().with_context(|| format!("{word} wants a number\n{USAGE}"))?;
            value.parse().with_context(|| format!("{word} {value}"))
        };
        match word.as_str() {
            "--series" => series = number()?,
            "--runs" => runs = number()?,
            "--short" => (series, runs) = (16, 200),
            other => bail!("unknown word `{other}`\n{USAGE}"),
        }
    }
    println!("{:34} {:>9} {:>7} {:>14} {:>12}", "law", "runs", "alarms", "within 3 runs", "ever found");
    let mut is_sound = true;
    for law in &LAWS {
        let alarms: usize = (0..series).map(|n| law.series(n as u64, runs, None).shifts.len()).sum();
        let found: Vec<Option<usize>> = (0..series).map(|n| law.found(n as u64)).collect();
        let (ever, soon) =
            (found.iter().flatten().count(), found.iter().flatten().filter(|after| **after <= 3).count());
        println!(
            "{:34} {:>9} {:>7} {:>14} {:>12}",
            law.name,
            series * runs,
            alarms,
            format!("{soon} of {series}"),
            format!("{ever} of {series}")
        );
        // A Poisson number with the accepted mean exceeds this once in about a hundred.
        let mean = (series * runs) as f64 / 1_000.0;
        is_sound &= alarms as f64 <= mean + 2.33 * mean.sqrt() + 1.0;
        is_sound &= !law.must_be_found || soon * 20 >= series * 19;
    }
    Ok(is_sound)
}

impl Law {
    /// What the product says of a series of this law, with a shift from run `shift` on.
    fn series(&self, number: u64, runs: usize, shift: Option<usize>) -> Trend {
        let mut dice = Dice::new(self.name, number);
        let mut level = 0.0;
        let runs = (0..runs).map(|at| {
            let fresh = if at == 0 { 1.0 } else { (1.0 - self.resembles * self.resembles).sqrt() };
            level = self.resembles * level + fresh * normal(&mut dice);
            let shifted = shift.is_some_and(|shift| at >= shift);
            let scale = (self.wanders * level).exp() * if shifted { SHIFT } else { 1.0 };
            Run { started_unix_ns: at as u64, name: at.to_string(), ..Run::of_counts(&counts(scale, &mut dice)) }
        });
        Trend::of(runs.collect(), Options::default())
    }

    /// After how many runs a planted shift is found; `None` if it is not found at that place.
    fn found(&self, number: u64) -> Option<usize> {
        let trend = self.series(number.wrapping_add(1 << 40), BEFORE + 12, Some(BEFORE));
        let shift = trend.shifts.iter().find(|shift| shift.at + 2 >= BEFORE)?;
        Some(shift.at + shift.found_after - BEFORE)
    }
}

/// The histogram of a run, of which every latency has an exponential tail.
fn counts(scale: f64, dice: &mut Dice) -> Counts {
    let mut counts = Counts::new();
    for _ in 0..ACTIVATIONS {
        counts.record(Nanos::from_ns((scale * (4_000.0 + 2_000.0 * dice.exponential())) as u64));
    }
    counts
}

fn normal(dice: &mut Dice) -> f64 {
    (-2.0 * dice.unit().ln()).sqrt() * (std::f64::consts::TAU * dice.unit()).cos()
}
