//! What differs between two recordings beside their numbers, and whether the numbers may be compared at all.
//!
//! A kernel or a setting that differs is mostly the reason for comparing, so it is listed. A difference that makes the
//! numbers mean something else forbids the comparison. `arm` pairs equal loads, and traced with traced measurements.

use crate::foreign::Quantity;
use crate::recording::{Moment, Recording};
use crate::scenario::{Mechanism, Policy, Scenario, TimerPhase};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::State;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use std::collections::BTreeMap;
use std::mem::discriminant;

/// One thing that differs between the two recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    pub subject: Subject,
    /// The value of the subject in the first recording.
    pub first: Value,
    /// The value of the subject in the second recording.
    pub second: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The way in which threads wait for their release.
    Mechanism,
    /// Time between releases on a CPU; the CPU is `None` if a file does not state it.
    Period(Option<u32>),
    /// The meaning of the values: latency, or time taken away.
    Quantity,
    /// The point up to which latency was measured: the interrupt of an activation, or its thread.
    Context,
    Program,
    /// The command line of the program that measured.
    Command,
    Load,
    Cpu,
    ClockSource,
    /// A fact that identifies the machine, by its name.
    Machine(String),
    /// Scheduling policy in force on a CPU.
    Policy(u32),
    /// The phase of the releases relative to the clock.
    TimerPhase,
    /// The largest latency that the user accepts.
    Budget,
    /// The value written to `/dev/cpu_dma_latency`, in microseconds.
    DmaLatency,
    LoadCpus,
    /// The housekeeping CPUs, on which the helper threads of punctual ran.
    Housekeeping,
    /// A setting in force before the run, by its path.
    Setting(String),
    /// The audit's verdict on a knob, by its id.
    Knob(String),
    /// Version of the program that measured.
    ToolVersion,
}

/// A value of a subject that differs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// The recording or file does not state the value.
    Absent,
    Text(String),
    #[serde(rename = "time_ns")]
    Time(Nanos),
    Mechanism(Mechanism),
    Policy(Policy),
    Phase(TimerPhase),
    State(State),
    Quantity(Quantity),
}

/// How much a difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Matters {
    /// The numbers mean different things and must not be compared.
    Refuses,
    /// This difference alone can explain any change of the numbers.
    Much,
    /// The difference may explain changed numbers, and may be the reason for comparing.
    Some,
    /// The difference is worth knowing, but it cannot explain changed numbers.
    Little,
}

impl Difference {
    pub fn matters(&self) -> Matters {
        match &self.subject {
            Subject::Mechanism if self.is_of_kernels() => Matters::Some,
            Subject::Mechanism | Subject::Period(_) | Subject::ClockSource | Subject::Quantity | Subject::Context => {
                Matters::Refuses
            }
            Subject::Machine(name) if matches!(name.as_str(), "model" | "virtualisation") => Matters::Much,
            Subject::Policy(_) | Subject::TimerPhase | Subject::Program | Subject::Load | Subject::Cpu => Matters::Much,
            Subject::Machine(_)
            | Subject::DmaLatency
            | Subject::LoadCpus
            | Subject::Setting(_)
            | Subject::Knob(_)
            | Subject::Command => Matters::Some,
            Subject::Budget | Subject::Housekeeping | Subject::ToolVersion => Matters::Little,
        }
    }

    /// Whether the threads sleep in the same way and only the kernel that wakes them differs, which is worth comparing.
    fn is_of_kernels(&self) -> bool {
        match (&self.first, &self.second) {
            (Value::Mechanism(a), Value::Mechanism(b)) => a.differs_only_in_kernel(*b),
            _ => false,
        }
    }

    pub fn refuses(&self) -> bool {
        self.matters() == Matters::Refuses
    }
}

/// A subject with its values in the first and in the second recording.
type Values = (Subject, Value, Value);

/// All differences between two recordings, the most important ones first.
pub(super) fn differences(first: &Recording, second: &Recording) -> Vec<Difference> {
    let mut all = scenario(&first.header.scenario, &second.header.scenario);
    let clock = |of: &Recording| of.header.clock.source.clone().map(Value::Text);
    // A clock that is not stated does not forbid the comparison.
    if let Some((a, b)) = clock(first).zip(clock(second)) {
        all.push((Subject::ClockSource, a, b));
    }
    let cpus = |of: &Recording| Value::Text(of.header.placement.housekeeping.to_string());
    all.push((Subject::Housekeeping, cpus(first), cpus(second)));
    let version = |of: &Recording| Value::Text(of.header.tool_version.clone());
    all.push((Subject::ToolVersion, version(first), version(second)));
    all.extend(paired(Subject::Machine, &first.header.machine, &second.header.machine));
    all.extend(paired(Subject::Setting, &settings(first), &settings(second)));
    let policies = |of: &Recording| of.threads.iter().map(|g| (g.cpu, g.policy)).collect::<BTreeMap<_, _>>();
    let others = policies(second);
    for (cpu, policy) in policies(first) {
        if let Some(other) = others.get(&cpu) {
            all.push((Subject::Policy(cpu), Value::Policy(policy), Value::Policy(*other)));
        }
    }
    for finding in &first.findings {
        let other = second.findings.iter().find(|other| other.id == finding.id);
        // The wording of reasons may differ between versions; only a different verdict counts as a difference.
        if let Some(other) = other.filter(|other| discriminant(&other.state) != discriminant(&finding.state)) {
            let (a, b) = (Value::State(finding.state.clone()), Value::State(other.state.clone()));
            all.push((Subject::Knob(finding.id.clone()), a, b));
        }
    }
    let differing = all.into_iter().filter(|(_, a, b)| a != b);
    let mut found: Vec<_> = differing.map(|(subject, first, second)| Difference { subject, first, second }).collect();
    found.sort_by_key(Difference::matters);
    found
}

fn scenario(a: &Scenario, b: &Scenario) -> Vec<Values> {
    let time = |t: Option<Nanos>| t.map_or(Value::Absent, Value::Time);
    let number = |n: Option<u32>| n.map_or(Value::Absent, |n| Value::Text(n.to_string()));
    let cpus = |set: &Option<CpuSet>| set.as_ref().map_or(Value::Absent, |s| Value::Text(s.to_string()));
    let mut all = vec![
        (Subject::Mechanism, Value::Mechanism(a.mechanism), Value::Mechanism(b.mechanism)),
        (Subject::TimerPhase, Value::Phase(a.phase), Value::Phase(b.phase)),
        (Subject::Budget, time(a.budget), time(b.budget)),
        (Subject::DmaLatency, number(a.dma_latency_us), number(b.dma_latency_us)),
        (Subject::LoadCpus, cpus(&a.load_cpus), cpus(&b.load_cpus)),
    ];
    for thread in &a.threads {
        if let Some(other) = b.threads.iter().find(|other| other.cpu == thread.cpu) {
            all.push((Subject::Period(Some(thread.cpu)), Value::Time(thread.period), Value::Time(other.period)));
        }
    }
    all
}

/// Settings in force before the run, without counters.
fn settings(recording: &Recording) -> Vec<MachineLine> {
    let before = recording.in_force.iter().filter(|state| state.moment == Moment::Before);
    let values = before.flat_map(|state| &state.values).filter(|line| !line.name.ends_with("_count"));
    values.cloned().collect()
}

/// Pairs the values of two lists by name, in the order of the first list.
fn paired(subject: fn(String) -> Subject, a: &[MachineLine], b: &[MachineLine]) -> Vec<Values> {
    let of = |lines: &[MachineLine], name: &str| {
        MachineLine::of(lines, name).map_or(Value::Absent, |value| Value::Text(value.to_owned()))
    };
    let mut names: Vec<&String> = a.iter().map(|line| &line.name).collect();
    for MachineLine { name, .. } in b {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| (subject(name.clone()), of(a, name), of(b, name))).collect()
}
