//! The causes of latency as JSON: the document `punctual/explain/2`.
//!
//! Instants are nanoseconds of `CLOCK_MONOTONIC` as the kernel wrote them, so that they can be compared with other logs
//! of the same boot.

use crate::render::document::{self, Published};
use punctual_hist::MonoTime;
use punctual_numbers::explain::{Explanation, LateCount, Spike};
use punctual_numbers::report::{CausesDoubt, Report};
use punctual_numbers::scenario::LoadPhase;
use serde::Serialize;
use std::path::Path;

/// Largest size of the document without `--full`, in bytes. With all windows, the document of one long recording had
/// 4.8 MB.
const BYTES_MAX: usize = 500_000;

/// The ranking of causes of one run, with the late activations that it was made from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::render) struct Document<'a> {
    /// Path of the recording; null if the report came from no file.
    recording: Option<String>,
    /// Version of the program that measured.
    measured_with: &'a str,
    /// The instant that all times of the report are relative to, in nanoseconds of `CLOCK_MONOTONIC`.
    epoch_ns: MonoTime,
    load_phases: &'a [LoadPhase],
    /// Whether the traced load phases are left out of the report's headline numbers.
    apart: bool,
    /// Numbers of late activations of all CPUs together.
    all_late: LateCount,
    /// Why the ranking cannot be relied upon; null if it can.
    doubt: Option<CausesDoubt>,
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// Late activations of which a window was kept, the one with the largest latency first.
    spikes: &'a [Spike],
    /// Number of late activations left out of `spikes`, all with a smaller latency than the listed ones. `--full` lists
    /// all.
    windows_left_out: usize,
}

impl Published for Document<'_> {
    const SCHEMA: &'static str = "punctual/explain/2";
}

impl<'a> Document<'a> {
    /// The document of a report, with all spikes; `None` if the run was not traced.
    pub(in crate::render) fn of(report: &'a Report, recording: Option<&Path>) -> Option<Self> {
        let explanation = report.causes.as_ref()?;
        Some(Self {
            recording: recording.map(|path| path.display().to_string()),
            measured_with: &report.tool_version,
            epoch_ns: report.epoch,
            load_phases: &report.scenario.load_phases,
            apart: report.traced_apart(),
            all_late: report.late(),
            doubt: report.causes_doubt(),
            explanation,
            spikes: &explanation.spikes,
            windows_left_out: 0,
        })
    }

    /// Leaves out the spikes with the smallest latencies until the document has no more than this number of bytes.
    fn fit(mut self, bytes_max: usize) -> serde_json::Result<Self> {
        let all = std::mem::take(&mut self.spikes);
        self.windows_left_out = all.len();
        // The 4 bytes are for line breaks around the list, which the empty list does not have.
        let mut room = bytes_max.saturating_sub(document::document(&self)?.len() + 4);
        let mut shown = 0;
        for spike in all {
            let Some(left) = room.checked_sub(bytes_in_list(spike)?) else { break };
            (room, shown) = (left, shown + 1);
        }
        self.spikes = all.get(..shown).unwrap_or_default();
        self.windows_left_out -= shown;
        Ok(self)
    }
}

/// Number of bytes that one more value adds to a list of the document, whose lines are indented by four spaces.
fn bytes_in_list(value: &impl Serialize) -> serde_json::Result<usize> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(text.len() + 4 * text.lines().count() + ",\n".len())
}

/// The document, indented; `None` if the run was not traced. Without `full` it has only the worst spikes.
pub fn document(report: &Report, recording: Option<&Path>, full: bool) -> serde_json::Result<Option<String>> {
    let Some(all) = Document::of(report, recording) else { return Ok(None) };
    document::document(&if full { all } else { all.fit(BYTES_MAX)? }).map(Some)
}
