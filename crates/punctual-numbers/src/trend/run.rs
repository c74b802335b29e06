//! One run of a series: percentiles of its whole histogram, and its settings.

use punctual_hist::{Counts, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Percentiles that are watched, in parts per million.
pub const WATCHED_PPM: [u32; 4] = [500_000, 990_000, 999_000, 999_900];
/// A percentile is watched if at least this number of activations of every run lie beyond it. With fewer, it says more
/// of chance than of the run.
const BEYOND_MIN: u64 = 10;

#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Path of the recording.
    pub name: String,
    /// Wall clock at the start, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Number of releases that came due.
    pub due: u64,
    /// Number of releases that were skipped or later than the budget.
    pub missed: u64,
    /// Largest latency, in nanoseconds.
    #[serde(rename = "max_ns")]
    pub max: Option<Nanos>,
    /// Watched percentiles as (parts per million, value), without those for which the run is too short.
    pub percentiles: Vec<Percentile>,
    #[serde(skip)]
    pub settings: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// Which percentile, in parts per million.
    pub percentile_ppm: u32,
    /// Its value, in nanoseconds.
    #[serde(rename = "value_ns")]
    pub value: Nanos,
}

/// A setting or a finding that differs between two runs. Null stands for one that was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changed {
    /// Name of the setting, or id of the finding.
    pub item: String,
    /// Value in the run before the shift.
    pub was: Option<String>,
    /// Value in the first run after the shift.
    pub became: Option<String>,
}

impl Run {
    /// A run of which only the histogram is known.
    pub fn of_counts(counts: &Counts) -> Self {
        let n = counts.count();
        let is_told = |ppm: &u32| {
            let beyond = u128::from(n).saturating_mul(u128::from(1_000_000 - ppm)) / 1_000_000;
            beyond >= u128::from(BEYOND_MIN)
        };
        let value = |ppm: u32| Some(Percentile { percentile_ppm: ppm, value: counts.percentile_ppm(ppm)? });
        let percentiles = WATCHED_PPM.into_iter().filter(is_told).filter_map(value).collect();
        Self { due: n, max: counts.max(), percentiles, ..Self::default() }
    }

    pub fn at(&self, ppm: u32) -> Option<Nanos> {
        self.percentiles.iter().find(|of| of.percentile_ppm == ppm).map(|of| of.value)
    }

    /// What differs in the settings of this run and a later one.
    pub fn changed(&self, later: &Self) -> Vec<Changed> {
        let names: BTreeSet<&String> = self.settings.keys().chain(later.settings.keys()).collect();
        let one = |name: &String| {
            let (was, became) = (self.settings.get(name).cloned(), later.settings.get(name).cloned());
            (was != became).then(|| Changed { item: name.clone(), was, became })
        };
        names.into_iter().filter_map(one).collect()
    }
}
