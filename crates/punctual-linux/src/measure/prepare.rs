//! Preparations before the first activation: placement, privileges, and threads that are set up and verified.

use super::causes::Causes;
use super::terms::{MeasureError, Setting};
use crate::privilege;
use crate::probe::driver::Device;
use crate::probe::{OpenClock, Probe, ProbeError, RunControl, Waiting};
use punctual_hist::Nanos;
use punctual_numbers::placement::{Placement, place};
use punctual_numbers::recording::{Clock, Mark, MarkKind, RecTime, ThreadPhase};
use punctual_numbers::scenario::{Core, CoreContext, Mechanism, Policy, ProbeThread, Scenario, phase_offsets};
use punctual_rt::check::clock_read_cost;
use punctual_rt::setup::LatencyRequest;
use punctual_rt::{Backend, SetupError, kernel, lock_memory, setup};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Arc;

pub(super) struct Prepared {
    pub placement: Placement,
    pub clock: Clock,
    pub probes: Vec<Probe>,
    pub control: Arc<RunControl>,
    pub notes: Vec<Mark>,
    /// Kept open until the run is over, because closing it ends the request.
    pub _dma_latency: Option<LatencyRequest>,
    pub causes: Option<Causes>,
}

pub(super) fn prepare(scenario: &Scenario, setting: &Setting) -> Result<Prepared, MeasureError> {
    look_for(scenario.mechanism)?;
    if matches!(scenario.mechanism, Mechanism::RoundTrip(_)) && setting.endpoint.is_none() {
        return Err(MeasureError::NoEndpoint);
    }
    let mut notes = Vec::new();
    let mut note = |text: String| notes.push(Mark { at: RecTime::EPOCH, kind: MarkKind::Note(text) });
    setting.notes.iter().cloned().for_each(&mut note);
    if let Some(endpoint) = &setting.endpoint {
        note(format!("the messages went to {endpoint}, and the latencies are the times until their answers"));
    }
    // A tracing instance left behind by a killed measurement still records, and costs CPU time on every CPU.
    crate::trace::sweep();
    let placement = place(&scenario.cpus(), &setting.cpus, scenario.load_cpus.as_ref());
    let housekeeping: Vec<u32> = placement.housekeeping.iter().collect();
    if let Err(error) = setup::pin_current(&housekeeping) {
        note(format!("the housekeeping thread could not be kept to CPUs {}: {error}", placement.housekeeping));
    }
    let dma_latency = scenario.dma_latency_us.map(hold_idle_states).transpose()?;
    let memory_locked = lock_memory().is_ok();
    if !memory_locked {
        note(format!("memory is not locked: {}", privilege::explain_memory_lock()));
    }
    bound_run_away(scenario);
    let tick = kernel::tick_length();
    let phase = |(thread, offset): (&ProbeThread, Nanos)| ThreadPhase { cpu: thread.cpu, offset };
    let phase = scenario.threads.iter().zip(phase_offsets(scenario, tick)).map(phase).collect();
    let clock = Clock { source: setting.clock_source.clone(), read_cost: clock_read_cost(), tick, phase };
    let control = Arc::new(RunControl::default());
    let start_all = |policy| {
        let start = |thread: &_| {
            Probe::start(
                *thread,
                policy,
                Waiting { mechanism: scenario.mechanism, endpoint: setting.endpoint.clone() },
                scenario.limit,
                memory_locked,
                &setting.cpus.online,
                &control,
            )
        };
        scenario.threads.iter().map(start).collect::<Result<Vec<_>, _>>()
    };
    let probes = match start_all(scenario.policy) {
        Err(ProbeError::Refused {
            source: punctual_rt::Error::Setup(SetupError::Policy(libc::EPERM) | SetupError::Deadline(libc::EPERM)),
            ..
        }) if setting.ordinary_if_refused => {
            note(format!("measured as an ordinary task: {}", privilege::explain_policy(libc::EPERM)));
            start_all(Policy::Other)?
        }
        started => started?,
    };
    let causes = setting.explain.as_ref().map(|explain| Causes::start(explain, scenario, setting, &probes));
    let causes = causes.and_then(|started| started.map_err(note).ok());
    Ok(Prepared { placement, clock, probes, control, notes, _dma_latency: dma_latency, causes })
}

/// Looks whether this machine has the kernel that wakes such threads, the driver that measures for it, and the clock.
///
/// # Errors
/// [`MeasureError::Clock`] if the clock cannot be read; [`MeasureError::Core`] or [`MeasureError::Driver`] with the reason why a real-time core cannot be used.
pub fn look_for(mechanism: Mechanism) -> Result<(), MeasureError> {
    if let Mechanism::OnClock(clock) = mechanism {
        OpenClock::open(clock)?;
    }
    let Some((core, context)) = mechanism.core() else { return Ok(()) };
    if context != CoreContext::User {
        return Ok(Device::that_measures(core).look()?);
    }
    let backend = match core {
        Core::Evl => Backend::Evl,
        Core::Cobalt => Backend::Cobalt,
    };
    backend.look().map_err(MeasureError::Core)
}

/// Makes the kernel end this process if one of its real-time threads runs for seconds without sleeping, which would be
/// a bug of ours and make the machine unusable. Threads that spin on purpose leave a CPU free and are exempt.
fn bound_run_away(scenario: &Scenario) {
    const SECOND_IN_US: u64 = 1_000_000;
    if scenario.mechanism != Mechanism::Spin && scenario.policy != Policy::Other {
        // Only the soft limit is set, so that the workers of loads can lift it again.
        let limit = Rlimit { current: Some(2 * SECOND_IN_US), ..getrlimit(Resource::Rttime) };
        // Fails if a lower hard limit is already in force, which is just as good.
        let _ = setrlimit(Resource::Rttime, limit);
    }
}

fn hold_idle_states(us: u32) -> Result<LatencyRequest, MeasureError> {
    LatencyRequest::global(Nanos::from_us(us.into()))
        .map_err(|error| MeasureError::DmaLatency(std::io::Error::from_raw_os_error(error.errno())))
}
