//! The runs a recording is made of: when each was, and how much of the whole is its.

use super::{end, started};
use punctual_hist::Nanos;
use punctual_numbers::recording::Run;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct RunOut<'a> {
    tool_version: &'a str,
    started: Option<String>,
    ended: Option<String>,
    from_ns: u64,
    to_ns: u64,
    measured_ns: u64,
    ran: u64,
    skipped: u64,
    end: Option<&'static str>,
}

/// One of them. Its times are those of the whole recording.
pub(super) fn run(run: &Run) -> RunOut<'_> {
    RunOut {
        tool_version: &run.header.tool_version,
        started: started(run.header.started_unix_ns),
        ended: started(run.until_unix_ns()).filter(|_| run.covered > Nanos::ZERO),
        from_ns: run.at.as_ns(),
        to_ns: run.until.as_ns(),
        measured_ns: run.covered.as_ns(),
        ran: run.ran,
        skipped: run.skipped,
        end: run.end.as_ref().map(|of| end(of.reason)),
    }
}
