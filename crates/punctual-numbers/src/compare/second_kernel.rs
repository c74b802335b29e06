//! What it changes that another kernel wakes the threads: Linux against a real-time core beside it.
//!
//! Nothing is decided here. The numbers are rows of the comparison, chosen for one sentence.

use super::{Against, Compared, ComparedNumber, Gain, SecondKernel};
use crate::recording::Recording;
use crate::report::Report;

impl SecondKernel {
    /// `None` unless the recordings differ in the kernel.
    pub(super) fn of(first: &[&Recording], second: &[&Recording], against: &Against) -> Option<Self> {
        let scenario = |side: &[&Recording]| side.first().map(|recording| recording.header.scenario.clone());
        let (scenario, other) = (scenario(first)?, scenario(second)?);
        let kernels = (scenario.mechanism, other.mechanism);
        if !kernels.0.differs_only_in_kernel(kernels.1) {
            return None;
        }
        let cpus = first.iter().chain(second).flat_map(|recording| Report::of(recording).cpus);
        let in_band_switches = cpus.filter_map(|cpu| cpu.in_band_switches).fold(0, u64::saturating_add);
        let gains = against.groups.iter().filter_map(Gain::of).collect();
        Some(Self { first: kernels.0, second: kernels.1, gains, in_band_switches, scenario })
    }

    /// The group that gains least or loses most.
    pub fn least(&self) -> Option<&Gain> {
        self.gains.iter().max_by(|a, b| a.ratio().total_cmp(&b.ratio()))
    }
}

impl Gain {
    fn of(result: &super::GroupResult) -> Option<Self> {
        let gains = result.rows.iter().filter(|row| row.odds.is_some() && row.withheld.is_none()).filter_map(|row| {
            let ComparedNumber::Percentile { ppm } = row.what else { return None };
            let (first, second, change) = (row.first?, row.second?, row.change?);
            Some(Self { group: result.group.clone(), ppm, first, second, change, verdict: row.verdict })
        });
        let is_decided = |gain: &Self| matches!(gain.verdict, Compared::Better | Compared::Worse);
        gains.max_by_key(|gain| (is_decided(gain), gain.ppm))
    }

    fn ratio(&self) -> f64 {
        self.second / self.first.max(1.0)
    }
}
