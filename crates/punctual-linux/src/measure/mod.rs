//! Runs a scenario, and returns the frames of its recording as they arise.
//!
//! The calling thread becomes the housekeeping thread: it avoids the measured CPUs if possible, watches the clocks,
//! switches loads, and collects what the measuring threads recorded. It changes the machine only as the scenario
//! requests.

mod causes;
mod gaps;
mod others;
mod phases;
mod prepare;
mod run;
mod terms;
pub(crate) mod watch;

pub use crate::probe::driver::{Gravities, reset_gravity, tune_gravity};
pub use others::{OtherProgram, OtherWork, Sighting};
pub use phases::{WallTime, wall_time};
pub use prepare::look_for;
pub use punctual_rt::now;
pub use terms::{
    CpuProgress, CpuSoFar, Endpoint, Explain, MeasureError, MeasureRemedy, Observer, Pace, PhaseNumber, Progress,
    Setting, Spike, TracePace,
};

use punctual_numbers::recording::EndReason;
use punctual_numbers::scenario::Scenario;
use std::sync::atomic::AtomicBool;

/// Runs a scenario that was checked. A signal handler may set `interrupted` to end it early and in order. Errors are
/// returned only before the first activation; later events are in the recording.
pub fn measure(
    scenario: &Scenario,
    setting: &Setting,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<EndReason, MeasureError> {
    let prepared = prepare::prepare(scenario, setting)?;
    Ok(run::run(prepared, scenario, setting, interrupted, observer))
}
