//! Judges whether the numbers can be relied upon, from what the recording shows about itself.
//!
//! A *reason* is an event or a condition because of which the numbers may describe the measurement instead of the
//! machine, or may lack large latencies. Its direction determines its effect on a verdict. A *remark* is worth knowing
//! and changes no verdict. Involuntary switches are neither, because latency from pre-emption is the very quantity that
//! is measured.

use super::causes::records;
use super::{CpuRow, Distrust, Trust};
use crate::claims::{Claims, PhaseClaims};
use crate::recording::{CpuTotals, EndReason, EventKind, Granted, Header, MarkKind, Moment, Recording};
use crate::scenario::{LoadPhase, Policy, Scenario};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Longest time of a clock reading through the vDSO, which usually takes 20 to 60 ns. A reading that enters the kernel
/// takes longer.
const VDSO_READ_MAX: Nanos = Nanos::from_ns(100);
/// A CPU with fewer releases than [`DUE_MIN`] has no p99.9, with fewer than [`DUE_FOR_ALL`] no p99.99.
pub(super) const DUE_MIN: u64 = 1_000;
const DUE_FOR_ALL: u64 = 10_000;

pub(super) fn judge(recording: &Recording, cpus: &[CpuRow], claims: &Claims) -> Trust {
    let mut trust = Trust::default();
    from_events(recording, &mut trust);
    from_loads(recording, &mut trust);
    from_placement(recording, &mut trust);
    from_threads(recording, &mut trust);
    from_counters(recording, &mut trust);
    from_state(recording, &mut trust);
    from_tracing(recording, &mut trust);
    from_ending(recording, claims, &mut trust);
    from_amount(cpus, &mut trust);
    from_course(recording, claims, &mut trust);
    trust
}

impl Trust {
    /// Adds a doubt. One that several phases or runs raise in the same words is kept once.
    fn doubt(&mut self, reason: Distrust) {
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    fn remark(&mut self, remark: Distrust) {
        self.remarks.push(remark);
    }
}

fn from_events(recording: &Recording, trust: &mut Trust) {
    // The histograms still hold every sample, so this is a remark and no doubt.
    if recording.maxima_lost > 0 {
        trust.remark(Distrust::MaximaLost { maxima: recording.maxima_lost });
    }
    for (kind, total) in &recording.event_totals {
        match kind {
            EventKind::Suspended => trust.doubt(Distrust::Suspended { times: total.times, total: total.length }),
            EventKind::Paused => trust.doubt(Distrust::Paused { times: total.times, total: total.length }),
            // The wall clock is not used for measuring, but a pause of the whole machine can show as such a step.
            EventKind::WallClockStep => trust.doubt(Distrust::WallClockStep { times: total.times }),
            EventKind::TscDrift => trust.doubt(Distrust::TscDrift),
            EventKind::Steal => trust.doubt(Distrust::Steal { time: total.length }),
            EventKind::Throttled => trust.doubt(Distrust::Throttled),
            EventKind::RtThrottled => trust.doubt(Distrust::RtThrottled),
            EventKind::Moved => {
                trust.doubt(Distrust::ChangedDuring { path: "The CPUs a measuring thread may use".to_owned() });
            }
        }
    }
}

/// Doubts about loads. If a load of the need did not run, the latencies may be smaller than they would have been under
/// all loads.
fn from_loads(recording: &Recording, trust: &mut Trust) {
    for mark in &recording.marks {
        if let MarkKind::LoadSkipped { load, why } = &mark.kind {
            trust.doubt(Distrust::LoadMissing { load: load.clone(), why: why.clone() });
        }
    }
    for load in &recording.loads {
        if let Some(why) = &load.failure {
            trust.doubt(Distrust::LoadMissing { load: load.name.clone(), why: why.clone() });
        }
    }
}

fn from_placement(recording: &Recording, trust: &mut Trust) {
    let of_all = |cpus: fn(&Header) -> &CpuSet| {
        recording.runs.iter().fold(CpuSet::new(), |all, run| all.union(cpus(&run.header)))
    };
    let (shared, siblings) = (of_all(|h| &h.placement.shared), of_all(|h| &h.placement.shared_siblings));
    if !shared.is_empty() {
        trust.doubt(Distrust::HelperShared { cpus: shared });
    }
    if !siblings.is_empty() {
        trust.remark(Distrust::HelperSibling { cpus: siblings });
    }
    let costs = recording.runs.iter().map(|run| run.header.clock.read_cost);
    let cost = costs.max().unwrap_or_default();
    if cost > VDSO_READ_MAX {
        trust.doubt(Distrust::SlowClock { cost });
    }
}

fn from_threads(recording: &Recording, trust: &mut Trust) {
    let scenario = &recording.header.scenario;
    let threads = &recording.threads;
    if scenario.policy == Policy::Other {
        trust.remark(Distrust::NotRealTime);
    } else if threads.iter().any(|granted| granted.policy == Policy::Other) {
        trust.doubt(Distrust::NotRealTime);
    }
    // A thread without real-time priority has its own doubt above.
    let refused = |granted: &Granted| granted.policy == Policy::Other && scenario.policy != Policy::Other;
    for granted in threads.iter().filter(|granted| !refused(granted) && !as_asked(granted, scenario)) {
        trust.doubt(Distrust::GrantedOtherwise { cpu: granted.cpu });
    }
    let known: BTreeSet<u32> = threads.iter().map(|granted| granted.cpu).collect();
    let unknown = scenario.threads.iter().filter(|asked| !known.contains(&asked.cpu));
    if !known.is_empty() {
        trust.reasons.extend(unknown.map(|asked| Distrust::GrantedOtherwise { cpu: asked.cpu }));
    }
    // Faults are counted, so unlocked memory that never faulted did no harm.
    if threads.iter().any(|granted| !granted.memory_locked) {
        trust.remark(Distrust::MemoryNotLocked);
    }
}

/// Whether the thread got the requested policy and CPU. Deadline threads may run anywhere, because the kernel refuses
/// to pin them.
fn as_asked(granted: &Granted, scenario: &Scenario) -> bool {
    let pinned = granted.affinity.len() == 1 && granted.affinity.contains(granted.cpu);
    granted.policy == scenario.policy && (pinned || roams(scenario))
}

fn roams(scenario: &Scenario) -> bool {
    matches!(scenario.policy, Policy::Deadline { .. })
}

fn from_counters(recording: &Recording, trust: &mut Trust) {
    let count = |of: fn(&CpuTotals) -> u64| {
        let cpus = recording.cpus.iter().map(move |(cpu, totals)| (*cpu, of(totals)));
        cpus.filter(|(_, n)| *n > 0)
    };
    for (cpu, n) in count(|cpu| cpu.counters.minor_faults.saturating_add(cpu.counters.major_faults)) {
        trust.doubt(Distrust::Faults { cpu, faults: n });
    }
    for (cpu, times) in count(|cpu| cpu.in_band_switches) {
        trust.doubt(Distrust::InBand { cpu, times });
    }
    for (cpu, n) in count(|cpu| cpu.counters.migrations) {
        if roams(&recording.header.scenario) {
            trust.remark(Distrust::Migrations { cpu, times: n });
        } else {
            trust.doubt(Distrust::Migrations { cpu, times: n });
        }
    }
    for (cpu, n) in count(|cpu| cpu.early) {
        let by = recording.cpus.get(&cpu).map(|totals| totals.earliest).filter(|by| *by > Nanos::ZERO);
        trust.remark(Distrust::Early { cpu, times: n, by });
    }
}

fn from_state(recording: &Recording, trust: &mut Trust) {
    let states = &recording.in_force;
    let values =
        || states.iter().flat_map(|state| state.values.iter().map(move |line| (state, &line.name, &line.value)));
    let ours = |path: &str| recording.header.scenario.dma_latency_us.is_some() && path.ends_with("/cpu_dma_latency");
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for (state, path, value) in values() {
        if state.moment == Moment::Before {
            before.insert(path, value);
        } else if before.get(path.as_str()).is_some_and(|earlier| earlier != value) && !ours(path) && told.insert(path)
        {
            trust.doubt(Distrust::ChangedDuring { path: path.clone() });
        }
    }
    let tracer =
        values().find(|(_, path, value)| is_tracer(path) && !matches!(value.trim(), "nop" | "") && is_word(value));
    if let Some((_, _, tracer)) = tracer {
        trust.doubt(Distrust::Tracing { tracer: tracer.trim().to_owned() });
    }
}

/// Doubts about tracing. It adds a little latency, which is part of the headline numbers if every load phase was
/// traced.
fn from_tracing(recording: &Recording, trust: &mut Trust) {
    let Some(tracing) = recording.causes.tracing.as_ref().filter(|tracing| records(tracing.rung)) else { return };
    let phases = recording.header.scenario.load_phases.len();
    let in_headline = |phase: &u16| !recording.causes.apart(*phase, phases);
    if tracing.phases.iter().any(in_headline) {
        trust.remark(Distrust::Tracing { tracer: "punctual's own, to find causes".to_owned() });
    }
}

fn is_tracer(path: &str) -> bool {
    path.ends_with("/current_tracer")
}

/// Whether the value is the name of a tracer, which is one word. A whole sentence states why the file could not be
/// read.
fn is_word(value: &str) -> bool {
    !value.trim().contains(char::is_whitespace)
}

fn from_ending(recording: &Recording, claims: &Claims, trust: &mut Trust) {
    // A load phase that was never reached might have had late activations.
    let phases = recording.header.scenario.load_phases.len();
    let counts = |phase: u16| !recording.causes.apart(phase, phases);
    let wanted = (0u16..).take(phases).filter(|phase| counts(*phase)).count();
    let reached = claims.phases.iter().filter(|phase| phase.due > 0 && counts(phase.phase)).count();
    let is_whole = reached >= wanted;
    let ends = || recording.runs.iter().filter_map(|run| run.end.as_ref());
    let reasons: BTreeSet<EndReason> = ends().map(|end| end.reason).collect();
    for reason in reasons {
        match reason {
            EndReason::Completed => {}
            failed if failed.is_failure() => trust.doubt(Distrust::EndedEarly { reason }),
            // The user or the scenario asked for this end, so the numbers up to the end are valid.
            reason if is_whole => trust.remark(Distrust::EndedEarly { reason }),
            reason => trust.doubt(Distrust::EndedEarly { reason }),
        }
    }
    // The missing part may hold the very event that ended the run.
    let former_cut_off = recording.runs.iter().rev().skip(1).any(|run| run.end.is_none());
    match recording.cut_off.filter(|cut| !cut.is_clean()) {
        Some(damaged) => trust.doubt(Distrust::Damaged { lost_bytes: damaged.lost_bytes }),
        None if recording.cut_off.is_some() || former_cut_off => trust.doubt(Distrust::CutOff),
        None => {}
    }
    if ends().any(|end| end.write_error.is_some()) {
        trust.doubt(Distrust::WriteFailed);
    }
}

fn from_amount(cpus: &[CpuRow], trust: &mut Trust) {
    let fewest = cpus.iter().map(|cpu| cpu.row.due).min().unwrap_or(0);
    if fewest < DUE_MIN {
        trust.doubt(Distrust::TooFew { due: fewest });
    } else if fewest < DUE_FOR_ALL {
        trust.remark(Distrust::TooFew { due: fewest });
    }
}

/// Doubts about changes over time. A run that drifts, or saw only a few moods of the machine, does not predict the next
/// run.
fn from_course(recording: &Recording, claims: &Claims, trust: &mut Trust) {
    let loads = &recording.header.scenario.load_phases;
    let is_own = |phase: &&PhaseClaims| phase.drift.is_some() || phase.moods.is_some_and(|moods| moods.too_long);
    for phase in claims.phases.iter().filter(is_own) {
        let load =
            loads.get(usize::from(phase.phase)).map_or_else(|| format!("phase {}", phase.phase), LoadPhase::name);
        trust.doubt(Distrust::Drifts { load });
    }
}
