//! Answers to questions about a fleet: the counts that an engine of SQL returned, judged.

use super::shared::{Counted, RISK, Shared, judged};
use crate::stats::float::float;
use crate::stats::{binomial, multiplicity, normal};
use crate::trend::{self, Changed};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// A change smaller than this part of the value is neither better nor worse.
const MARGIN: f64 = 0.1;

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "question", rename_all = "kebab-case")]
pub enum Answer {
    Worst {
        /// The machines, the one that misses the largest share first.
        machines: Vec<MachineRow>,
    },
    Shared {
        /// The findings, the one that stands out most first.
        candidates: Vec<Shared>,
    },
    Brought {
        /// The changes, the one that stands out most first.
        changes: Vec<Brought>,
    },
    Changed {
        /// Name of the machine in the tables.
        machine: String,
        /// What differs between its last good run and the next one.
        differences: Vec<Changed>,
    },
    Percentiles {
        /// The groups, by name.
        groups: Vec<GroupRow>,
    },
    Newest {
        /// All machines together, one row for each percentile.
        fleet: Vec<FleetNewest>,
        /// The machines, the one that stands out most first.
        machines: Vec<Newest>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineRow {
    /// Name of the machine in the tables.
    pub machine: String,
    /// Number of its recordings.
    pub runs: u64,
    /// Number of releases that came due.
    pub due: u64,
    /// Number of releases that were skipped or later than the budget.
    pub missed: u64,
    /// Largest latency in all its recordings, in nanoseconds.
    #[serde(rename = "max_ns")]
    pub max: Option<Nanos>,
    /// Whether it misses more than is accepted.
    pub bad: bool,
}

/// A change of a kernel, program or setting, with what it did to the machines on which it happened.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Brought {
    /// Name of the setting.
    pub item: String,
    /// Value that it had on these machines before.
    pub was: String,
    /// Value that it has on these machines since.
    pub became: String,
    /// Machines on which it changed.
    pub machines: u64,
    /// Machines that miss a larger share since.
    pub worse: u64,
    /// Machines that miss a smaller share since.
    pub better: u64,
    /// Probability that chance alone makes any change stand out as much.
    pub odds: f64,
    /// Whether it made machines worse: the odds are at most 5 %.
    pub named: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupRow {
    /// Value of the column by which groups are made.
    pub group: String,
    /// Number of activations that ran.
    pub activations: u64,
    /// The median, in nanoseconds.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Nanos>,
    /// Latency that 99 % of the activations did not exceed, in nanoseconds.
    #[serde(rename = "p99_ns")]
    pub p99: Option<Nanos>,
    /// Latency that 99.9 % of the activations did not exceed, in nanoseconds.
    #[serde(rename = "p99_9_ns")]
    pub p99_9: Option<Nanos>,
    /// Latency that 99.99 % of the activations did not exceed, in nanoseconds.
    #[serde(rename = "p99_99_ns")]
    pub p99_99: Option<Nanos>,
    /// Latency that 99.999 % of the activations did not exceed, in nanoseconds.
    #[serde(rename = "p99_999_ns")]
    pub p99_999: Option<Nanos>,
    /// Largest latency of the whole group, in nanoseconds.
    #[serde(rename = "max_ns")]
    pub max: Option<Nanos>,
}

/// The newest run of one machine against its runs before.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Newest {
    /// Name of the machine in the tables.
    pub machine: String,
    /// Number of runs before that it was compared with.
    pub before: usize,
    /// The percentile that stands out most, in parts per million; null for too few runs.
    pub percentile_ppm: Option<u32>,
    /// Newest value divided by the usual one, with 95 % limits; null for too few runs.
    pub ratio: Option<f64>,
    /// Lower limit of the ratio.
    pub low: Option<f64>,
    /// Upper limit of the ratio.
    pub high: Option<f64>,
    /// Probability that chance alone makes any machine stand out as much; null for too few runs.
    pub odds: Option<f64>,
    /// Whether it is worse by more than chance and by at least a tenth.
    pub worse: bool,
}

/// The newest runs of all machines together, for one percentile. Machines are the sample.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetNewest {
    /// Which percentile, in parts per million.
    pub percentile_ppm: u32,
    /// Number of machines with enough runs.
    pub machines: usize,
    /// Mean of the newest values divided by the usual ones.
    pub ratio: f64,
    /// Lower limit of the ratio, of 95 %.
    pub low: f64,
    /// Upper limit of the ratio, of 95 %.
    pub high: f64,
    /// Whether the newest runs are worse by more than chance and by at least a tenth.
    pub worse: bool,
}

/// One run of one machine, as the question `newest` returns it. Age 1 is the newest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgedRun {
    pub machine: String,
    pub age: u64,
    /// The percentiles p50, p99 and p99.9, if the run is long enough.
    pub values: [Option<Nanos>; 3],
}

const PERCENTILES_PPM: [u32; 3] = [500_000, 990_000, 999_000];

impl Answer {
    pub fn shared(counted: &[Counted]) -> Self {
        Self::Shared { candidates: judged(counted) }
    }

    /// Judges changes by the exact test of signs over machines, corrected for the number of changes.
    pub fn brought(mut changes: Vec<Brought>) -> Self {
        let odds = |of: &Brought| (binomial::at_least(of.worse, of.worse.saturating_add(of.better), 0.5), 1.0);
        let adjusted = multiplicity::holm_weighted(&changes.iter().map(odds).collect::<Vec<_>>());
        for (change, odds) in changes.iter_mut().zip(adjusted) {
            change.odds = odds;
            change.named = odds <= RISK;
        }
        changes.sort_by(|a, b| a.odds.total_cmp(&b.odds).then(b.worse.cmp(&a.worse)).then(a.item.cmp(&b.item)));
        Self::Brought { changes }
    }

    /// Compares the newest run of each machine with its runs before.
    pub fn newest(runs: &[AgedRun]) -> Self {
        let mut by_machine: BTreeMap<&str, Vec<&AgedRun>> = BTreeMap::new();
        for run in runs {
            by_machine.entry(&run.machine).or_default().push(run);
        }
        let mut machines = Vec::new();
        let mut changes: [Vec<f64>; 3] = Default::default();
        for (machine, mut runs) in by_machine {
            runs.sort_by_key(|run| std::cmp::Reverse(run.age));
            let (odds, newest) = newest_of(machine, &runs, &mut changes);
            machines.push((odds, newest));
        }
        let told: Vec<(f64, f64)> = machines.iter().map(|(odds, _)| (odds.unwrap_or(1.0), 1.0)).collect();
        let adjusted = multiplicity::holm_weighted(&told);
        for ((odds, newest), adjusted) in machines.iter_mut().zip(adjusted) {
            newest.odds = odds.map(|_| adjusted);
            newest.worse =
                odds.is_some() && adjusted <= RISK && newest.ratio.is_some_and(|ratio| ratio >= 1.0 + MARGIN);
        }
        let mut machines: Vec<Newest> = machines.into_iter().map(|(_, newest)| newest).collect();
        let rank = |of: &Newest| of.odds.unwrap_or(2.0);
        machines.sort_by(|a, b| rank(a).total_cmp(&rank(b)).then(a.machine.cmp(&b.machine)));
        let fleet = PERCENTILES_PPM.iter().zip(&changes).filter_map(|(ppm, changes)| fleet(*ppm, changes)).collect();
        Self::Newest { fleet, machines }
    }
}

/// The newest of these runs, which are in the order of time, against the others: the odds before they are corrected for
/// the number of machines. Changes of all percentiles are added to `changes`.
fn newest_of(machine: &str, runs: &[&AgedRun], changes: &mut [Vec<f64>; 3]) -> (Option<f64>, Newest) {
    let mut newest = Newest {
        machine: machine.to_owned(),
        before: runs.len().saturating_sub(1),
        percentile_ppm: None,
        ratio: None,
        low: None,
        high: None,
        odds: None,
        worse: false,
    };
    let mut least: Option<f64> = None;
    let places = PERCENTILES_PPM.into_iter().enumerate().zip(changes.iter_mut());
    for ((place, ppm), changes) in places {
        let log = |run: &&AgedRun| Some(float((*run.values.get(place)?)?.as_ns().max(1)).ln());
        let Some(logs) = runs.iter().map(log).collect::<Option<Vec<f64>>>() else { continue };
        let Some((latest, before)) = logs.split_last() else { continue };
        let Some(found) = trend::against(before, &[*latest]) else { continue };
        changes.push(found.by);
        // One machine has three percentiles, each of which may stand out by chance.
        let odds = (found.odds() * float(PERCENTILES_PPM.len())).min(1.0);
        if least.is_none_or(|least| odds < least) {
            least = Some(odds);
            let (ratio, low, high) = found.ratio();
            newest =
                Newest { percentile_ppm: Some(ppm), ratio: Some(ratio), low: Some(low), high: Some(high), ..newest };
        }
    }
    (least, newest)
}

/// The mean change of all machines, with Student's limits.
fn fleet(ppm: u32, changes: &[f64]) -> Option<FleetNewest> {
    if changes.len() < 3 {
        return None;
    }
    let n = float(changes.len());
    let mean = changes.iter().sum::<f64>() / n;
    let variance = changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let away = normal::student_quantile_above(RISK / 2.0, n - 1.0) * (variance / n).sqrt();
    let (ratio, low, high) = (mean.exp(), (mean - away).exp(), (mean + away).exp());
    Some(FleetNewest {
        percentile_ppm: ppm,
        machines: changes.len(),
        ratio,
        low,
        high,
        worse: low > 1.0 && ratio >= 1.0 + MARGIN,
    })
}
