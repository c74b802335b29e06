//! A scenario, run: frames of its recording handed out as they come.
//!
//! The calling thread becomes the housekeeping thread: it keeps off the measured CPUs where there is room, watches the
//! clocks, switches loads and collects what the measuring threads recorded. Nothing on the machine is changed unless
//! the scenario asks for it.

mod causes;
mod gaps;
mod others;
mod phases;
mod prepare;
mod run;
mod terms;
mod watch;

pub use others::{OtherProgram, OtherWork, Sighting};
pub use phases::{WallTime, wall_time};
pub use punctual_rt::now;
pub use terms::{
    CpuProgress, CpuSoFar, Explain, MeasureError, Observer, PhaseNumber, Progress, Remedy, Setting, Spike,
};

use punctual_numbers::recording::EndReason;
use punctual_numbers::scenario::Scenario;
use std::sync::atomic::AtomicBool;

/// Runs a scenario that was checked. A signal handler may set `interrupted` to end it early and cleanly. Errors come
/// only before the first activation: later events are in the recording.
pub fn measure(
    scenario: &Scenario,
    setting: &Setting,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<EndReason, MeasureError> {
    let prepared = prepare::prepare(scenario, setting)?;
    Ok(run::run(prepared, scenario, setting, interrupted, observer))
}
