//! Turns a recording, or an audit, into the rows of a fleet's tables.

use super::identity;
use crate::explain::Explanation;
use crate::foreign::Cell;
use crate::recording::{CpuTallies, Moment, Recording, Tally};
use crate::scenario::{LoadPhase, Scenario};
use crate::trend::Run;
use punctual_facts::finding::Finding;
use punctual_facts::machine::{MachineFacts, MachineLine};
use punctual_hist::{Counts, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// What a row of the runs was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    Recording,
    /// An audit without a measurement. It has findings, and no latencies.
    Audit,
}

impl RunKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Audit => "audit",
        }
    }
}

/// What all rows of one run have in common, so that a question about one table needs no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub run: String,
    /// Number of good bytes of the file. Of two versions of one run, the longer one replaces the other.
    pub version: u64,
    /// Name of the machine, masked unless the user asked for names.
    pub machine: String,
    pub started_unix_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub kind: RunKind,
    /// Whether the run ended by itself and its file is whole.
    pub complete: bool,
    pub program: Option<String>,
    pub facts: MachineFacts,
    /// Name of the configuration: two runs have the same one if their settings and findings are the same.
    pub configuration: String,
    pub loads: String,
    pub length: Nanos,
    /// Shortest period of the measuring threads.
    pub period: Option<Nanos>,
    pub budget: Option<Nanos>,
    pub ran: u64,
    pub skipped: u64,
    pub over_budget: u64,
    pub max: Option<Nanos>,
}

/// One CPU in one load phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyRow {
    pub cpu: u32,
    pub phase: String,
    /// Whether the kernel recorded its activity in this phase while other phases ran without. Such a phase is slower,
    /// and is left out of the numbers of the run.
    pub traced: bool,
    pub period: Option<Nanos>,
    pub ran: u64,
    pub skipped: u64,
    pub over_budget: Option<u64>,
    pub min: Option<Nanos>,
    pub max: Option<Nanos>,
    /// Latencies of the activations that ran.
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingRow {
    pub finding: String,
    pub severity: String,
    pub state: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    pub name: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseRow {
    pub class: String,
    pub name: String,
    /// Number of late activations in which the cause had at least a tenth of the latency.
    pub times: u64,
    pub total: Nanos,
    pub worst: Nanos,
}

/// All rows of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    pub origin: Origin,
    pub run: RunRow,
    pub latencies: Vec<LatencyRow>,
    pub findings: Vec<FindingRow>,
    pub settings: Vec<SettingRow>,
    pub causes: Vec<CauseRow>,
}

/// The rows of a recording. `version` is the number of its good bytes.
pub fn of_recording(recording: &Recording, machine: String, version: u64) -> Packed {
    let header = &recording.header;
    let (settings, findings) = (settings(recording), findings(&recording.findings));
    let sum =
        |of: fn(&crate::recording::CpuTotals) -> u64| recording.cpus.values().map(of).fold(0u64, u64::saturating_add);
    let run = RunRow {
        kind: RunKind::Recording,
        complete: recording.cut_off.is_none() && recording.end.is_some(),
        program: Some(format!("punctual {}", header.tool_version)),
        facts: MachineFacts::of(&header.machine),
        configuration: configuration(&settings, &findings),
        loads: header.scenario.load_phases.iter().map(LoadPhase::name).collect::<Vec<_>>().join(", "),
        length: recording.covered,
        period: header.scenario.threads.iter().map(|thread| thread.period).min(),
        budget: header.scenario.budget,
        ran: sum(|cpu| cpu.ran.count()),
        skipped: sum(|cpu| cpu.skipped.count()),
        over_budget: sum(|cpu| cpu.over_budget),
        max: recording.cpus.values().filter_map(|cpu| cpu.ran.max()).max(),
    };
    Packed {
        origin: Origin { run: identity::run(header), version, machine, started_unix_ns: Some(header.started_unix_ns) },
        run,
        latencies: latencies(recording),
        findings,
        settings,
        causes: causes(recording),
    }
}

impl Packed {
    /// This recording as a run of a series, over all CPUs, without traced phases that are kept apart.
    pub fn as_run(&self, name: String, recording: &Recording) -> Run {
        let mut counts = Counts::new();
        recording.cpus.values().for_each(|cpu| counts.merge(&cpu.ran));
        let due = self.run.ran.saturating_add(self.run.skipped);
        let missed = self.run.over_budget.saturating_add(self.run.skipped);
        let mut settings: BTreeMap<String, String> = BTreeMap::new();
        settings.extend(self.settings.iter().map(|SettingRow { name, value }| (name.clone(), value.clone())));
        settings.extend(self.findings.iter().map(|FindingRow { finding, state, .. }| (finding.clone(), state.clone())));
        settings.extend(self.run.program.clone().map(|program| ("program".to_owned(), program)));
        let started_unix_ns = recording.header.started_unix_ns;
        Run { name, started_unix_ns, due, missed, settings, ..Run::of_counts(&counts) }
    }
}

/// The rows of an audit: its findings as (id, severity, state), and what is known of the machine.
pub fn of_audit(origin: Origin, facts: MachineFacts, settings: Vec<SettingRow>, findings: Vec<FindingRow>) -> Packed {
    let run = RunRow {
        kind: RunKind::Audit,
        complete: true,
        program: None,
        facts,
        configuration: configuration(&settings, &findings),
        loads: String::new(),
        length: Nanos::ZERO,
        period: None,
        budget: None,
        ran: 0,
        skipped: 0,
        over_budget: 0,
        max: None,
    };
    Packed { origin, run, latencies: Vec::new(), findings, settings, causes: Vec::new() }
}

fn latencies(recording: &Recording) -> Vec<LatencyRow> {
    let scenario: &Scenario = &recording.header.scenario;
    let periods: BTreeMap<u32, Nanos> = scenario.threads.iter().map(|thread| (thread.cpu, thread.period)).collect();
    let row = |((phase, cpu), of): (&(u16, u32), &CpuTallies)| {
        let named = scenario.load_phases.get(usize::from(*phase)).map(LoadPhase::name);
        LatencyRow {
            cpu: *cpu,
            phase: named.unwrap_or_else(|| format!("phase {phase}")),
            traced: recording.causes.apart(*phase, scenario.load_phases.len()),
            period: periods.get(cpu).copied(),
            ran: of.ran.count(),
            skipped: of.skipped.count(),
            over_budget: scenario.budget.map(|_| of.over_budget),
            min: of.ran.min(),
            max: of.ran.max(),
            cells: cells(&of.ran),
        }
    };
    recording.phases.iter().map(row).collect()
}

fn cells(of: &Tally) -> Vec<Cell> {
    of.nonzero().map(Cell::of_bucket).collect()
}

fn findings(of: &[Finding]) -> Vec<FindingRow> {
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let row = |finding: &Finding| FindingRow {
        finding: finding.id.clone(),
        severity: serde_json::to_value(finding.severity).map(word).unwrap_or_default(),
        state: state(finding).to_owned(),
    };
    of.iter().map(row).collect()
}

fn state(finding: &Finding) -> &'static str {
    use punctual_facts::finding::State;
    match finding.state {
        State::Good => "good",
        State::Bad => "bad",
        State::Unknown(_) => "unknown",
        State::Advice(_) => "advice",
        State::NotApplicable(_) => "not-applicable",
    }
}

/// Ends of the names of files whose values change by themselves, so that they are no settings.
const COUNTED: [&str; 2] = ["_throttle_count", "/boot_id"];

/// The settings that were in force before the run, and the machine's own facts, in ascending order of their names.
fn settings(recording: &Recording) -> Vec<SettingRow> {
    let before = recording.in_force.iter().filter(|state| state.moment == Moment::Before);
    let in_force = before.flat_map(|state| &state.values);
    let is_setting = |line: &&MachineLine| !COUNTED.iter().any(|end| line.name.ends_with(end));
    let lines = recording.header.machine.iter().chain(in_force.filter(is_setting));
    let by_name: BTreeMap<&str, &str> = lines.map(|line| (line.name.as_str(), line.value.as_str())).collect();
    by_name.into_iter().map(|(name, value)| SettingRow { name: name.to_owned(), value: value.to_owned() }).collect()
}

/// The name of the configuration: settings, and the states of findings that were judged.
fn configuration(settings: &[SettingRow], findings: &[FindingRow]) -> String {
    let judged: BTreeSet<(&str, &str)> = findings
        .iter()
        .filter(|finding| matches!(finding.state.as_str(), "good" | "bad"))
        .map(|finding| (finding.finding.as_str(), finding.state.as_str()))
        .collect();
    let settings = settings.iter().map(|setting| (setting.name.as_str(), setting.value.as_str()));
    identity::configuration(settings.chain(judged))
}

fn causes(recording: &Recording) -> Vec<CauseRow> {
    if recording.causes.tracing.is_none() {
        return Vec::new();
    }
    let row = |ranked: &crate::explain::Ranked| CauseRow {
        class: serde_json::to_value(ranked.cause.class)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default(),
        name: ranked.cause.name.to_string(),
        times: ranked.count,
        total: ranked.total,
        worst: ranked.worst,
    };
    Explanation::of(recording).causes.iter().map(row).collect()
}
