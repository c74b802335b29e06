//! The data from which the causes of latency are found: windows by slot, late activations, the size of the trace.

use super::windows::Windows;
use crate::trace::{Late, LateList, LateTotal, TraceTotal, Tracing};
use std::collections::BTreeMap;

/// Largest number of late activations that are kept individually; those beyond it are only counted.
const LATE_MAX: usize = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Causes {
    /// How causes were looked for; `None` if they were not.
    pub tracing: Option<Tracing>,
    pub windows: Windows,
    /// The first 2^20 late activations in the order of the file.
    pub late: Vec<Late>,
    /// Sums over all late activations of each CPU, with the threshold that was last in force.
    pub late_totals: BTreeMap<u32, LateTotal>,
    pub totals: Vec<TraceTotal>,
}

impl Causes {
    /// Whether this load phase is kept apart from the headline numbers: it was traced, and others were not.
    pub fn apart(&self, phase: u16, phases: usize) -> bool {
        self.tracing.as_ref().is_some_and(|tracing| {
            tracing.phases.contains(&phase) && (0..phases).any(|p| !tracing.phases.iter().any(|t| usize::from(*t) == p))
        })
    }

    pub(super) fn add_late(&mut self, list: LateList) {
        let room = LATE_MAX.saturating_sub(self.late.len());
        self.late.extend(list.late.into_iter().take(room));
        for more in list.totals {
            self.late_totals.entry(more.cpu).or_insert(LateTotal { cpu: more.cpu, ..LateTotal::default() }).add(&more);
        }
    }
}
