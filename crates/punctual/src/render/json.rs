//! A report for programs: one document, `punctual/check/1`, described by `schemas/check-1.schema.json`.
//!
//! The structures here mirror the document and nothing else has them, so that core types can change without the
//! document changing. Lengths are integers of nanoseconds; what is absent is null, never 0.

mod claims;
mod imported;
mod runs;

pub use claims::unfit;
pub use imported::imported;

use super::explain::json::Summary;
use super::{units, words};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Confidence, Finding, Severity, State};
use punctual_hist::Nanos;
use punctual_numbers::recording::{CutReason, EndReason, Event, EventKind, Granted, InForce, LoadDone, Moment, WarmUp};
use punctual_numbers::report::{
    Answer, CpuRow, Distrust, Inconclusive, NextStep, Percentiles, PhaseRow, PhaseSpan, Report, Row, WorstRow,
};
use punctual_numbers::scenario::{Amount, LoadPhase, Mechanism, Policy, Scenario, TimerPhase};
use serde::Serialize;
use std::path::Path;

/// Name and version of the document.
pub const SCHEMA: &str = "punctual/check/1";

/// The document, indented, with a line break at its end.
pub fn check(report: &Report, recording: Option<&Path>) -> String {
    // Serialising to a string fails only for maps with keys that are not strings, and there are none; the error is
    // still said rather than swallowed.
    let text = serde_json::to_string_pretty(&Document::of(report, recording));
    text.unwrap_or_else(|error| format!("{{\"schema\": \"{SCHEMA}\", \"error\": {:?}}}", error.to_string())) + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool_version: &'a str,
    started: Option<String>,
    measured_ns: u64,
    verdict: &'static str,
    inconclusive_because: Option<&'static str>,
    due: u64,
    missed: u64,
    miss_probability_upper_95: Option<f64>,
    need: NeedOut,
    scenario: ScenarioOut<'a>,
    machine: Vec<Named<'a>>,
    cpus: Vec<CpuOut<'a>>,
    total: Option<RowOut>,
    phases: Vec<PhaseOut<'a>>,
    spans: Vec<SpanOut<'a>>,
    findings: Vec<FindingOut<'a>>,
    trust: TrustOut,
    next: Vec<Said>,
    worst: Vec<WorstOut<'a>>,
    claims: Vec<claims::ClaimsOut>,
    causes: Option<Summary<'a>>,
    events: Vec<EventOut>,
    loads: Vec<LoadOut<'a>>,
    loads_skipped: Vec<Skipped<'a>>,
    runs: Vec<runs::RunOut<'a>>,
    notes: Vec<String>,
    threads: Vec<ThreadOut>,
    warm_up: Vec<WarmUpOut>,
    in_force: Vec<InForceOut<'a>>,
    housekeeping: Vec<u32>,
    end: Option<&'static str>,
    cut_off: Option<CutOffOut>,
    write_error: Option<&'a str>,
    recording: Option<String>,
}

#[derive(Serialize)]
struct NeedOut {
    period_ns: u64,
    budget_ns: Option<u64>,
    cpus: Vec<u32>,
}

#[derive(Serialize)]
struct ScenarioOut<'a> {
    policy: &'static str,
    priority: Option<u8>,
    runtime_ns: Option<u64>,
    mechanism: &'static str,
    timer_phase: &'static str,
    warm_up: AmountOut,
    length: AmountOut,
    limit_ns: Option<u64>,
    dma_latency_us: Option<u32>,
    load_phases: Vec<LoadPhaseOut<'a>>,
    load_cpus: Option<Vec<u32>>,
    suite: Option<&'a str>,
}

#[derive(Serialize)]
struct AmountOut {
    time_ns: Option<u64>,
    activations: Option<u64>,
}

#[derive(Serialize)]
struct LoadPhaseOut<'a> {
    loads: &'a [String],
    parts: u32,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct CpuOut<'a> {
    cpu: u32,
    period_ns: u64,
    #[serde(flatten)]
    row: RowOut,
    worst_at_ns: Option<u64>,
    worst_load: Option<&'a str>,
    longest_gap_ns: u64,
    early: u64,
}

#[derive(Serialize)]
struct RowOut {
    due: u64,
    ran: u64,
    skipped: u64,
    over_budget: u64,
    latency_ns: PointsOut,
    latency_due_ns: PointsOut,
}

#[derive(Serialize)]
struct PointsOut {
    min: Option<u64>,
    mean: Option<u64>,
    p50: Option<u64>,
    p99: Option<u64>,
    p99_9: Option<u64>,
    p99_99: Option<u64>,
    max: Option<u64>,
}

#[derive(Serialize)]
struct PhaseOut<'a> {
    phase: u16,
    name: &'a str,
    cpu: u32,
    traced: bool,
    #[serde(flatten)]
    row: RowOut,
}

#[derive(Serialize)]
struct SpanOut<'a> {
    name: &'a str,
    from_ns: u64,
    to_ns: u64,
}

#[derive(Serialize)]
struct FindingOut<'a> {
    id: &'a str,
    title: &'a str,
    severity: &'static str,
    state: &'static str,
    because: Option<&'a str>,
    evidence: Vec<EvidenceOut<'a>>,
    why: &'a str,
    fix: &'a str,
    cost: &'a str,
    confidence: &'static str,
}

#[derive(Serialize)]
struct EvidenceOut<'a> {
    source: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct TrustOut {
    ok: bool,
    reasons: Vec<Said>,
    remarks: Vec<Said>,
}

/// A fact as a word for programs and a sentence for people.
#[derive(Serialize)]
pub struct Said {
    code: &'static str,
    message: String,
}

#[derive(Serialize)]
struct WorstOut<'a> {
    cpu: u32,
    latency_ns: u64,
    at_ns: u64,
    load: &'a str,
    index: u64,
    woke_on_cpu: u32,
    involuntary_switches: u32,
    faults: u32,
    migrations: u32,
    counted_over_ns: u64,
}

#[derive(Serialize)]
struct EventOut {
    kind: &'static str,
    at_ns: u64,
    length_ns: u64,
    releases_lost: u64,
}

#[derive(Serialize)]
struct LoadOut<'a> {
    phase: u16,
    name: &'a str,
    cpus: Vec<u32>,
    unit: &'a str,
    operations: Option<u64>,
    time_ns: u64,
    failure: Option<&'a str>,
}

#[derive(Serialize)]
struct Skipped<'a> {
    name: &'a str,
    because: &'a str,
}

#[derive(Serialize)]
struct ThreadOut {
    cpu: u32,
    tid: u32,
    policy: &'static str,
    priority: Option<u8>,
    runtime_ns: Option<u64>,
    affinity: Vec<u32>,
    memory_locked: bool,
}

#[derive(Serialize)]
struct WarmUpOut {
    cpu: u32,
    activations: u64,
    max_ns: u64,
}

#[derive(Serialize)]
struct InForceOut<'a> {
    moment: &'static str,
    values: Vec<EvidenceOut<'a>>,
}

#[derive(Serialize)]
struct CutOffOut {
    good_bytes: u64,
    reason: CutReason,
}

impl<'a> Document<'a> {
    fn of(report: &'a Report, recording: Option<&Path>) -> Self {
        let verdict = &report.verdict;
        let at_95 = (verdict.confidence - 0.95).abs() < 1e-9;
        Self {
            schema: SCHEMA,
            tool_version: &report.tool_version,
            started: started(report.started_unix_ns),
            measured_ns: report.measured.as_ns(),
            verdict: answer(verdict.answer),
            inconclusive_because: verdict.inconclusive_because.as_ref().map(inconclusive),
            due: verdict.due,
            missed: verdict.missed,
            miss_probability_upper_95: verdict.miss_probability_upper.filter(|p| at_95 && p.is_finite()),
            need: NeedOut {
                period_ns: report.need.period.as_ns(),
                budget_ns: report.need.budget.map(Nanos::as_ns),
                cpus: list(&report.need.cpus),
            },
            scenario: scenario(&report.scenario),
            machine: report.machine.iter().map(|(name, value)| Named { name, value }).collect(),
            cpus: report.cpus.iter().map(cpu).collect(),
            total: report.total.as_ref().map(row),
            phases: report.phases.iter().map(|row| phase(row, report)).collect(),
            spans: report.spans.iter().map(span).collect(),
            findings: report.findings.iter().map(finding).collect(),
            trust: TrustOut {
                ok: report.trust.ok(),
                reasons: report.trust.reasons.iter().map(distrust).collect(),
                remarks: report.trust.remarks.iter().map(distrust).collect(),
            },
            next: report.next.iter().map(|step| next(step, report)).collect(),
            worst: report.worst.iter().map(worst).collect(),
            claims: claims::claims(report),
            causes: Summary::of(report),
            events: report.events.iter().map(event).collect(),
            loads: report.loads.iter().map(load).collect(),
            loads_skipped: report.loads_skipped.iter().map(|(name, because)| Skipped { name, because }).collect(),
            runs: report.runs.iter().map(runs::run).collect(),
            notes: words::runs::notes(report),
            threads: report.threads.iter().map(thread).collect(),
            warm_up: report.warm_up.iter().map(warm_up).collect(),
            in_force: report.in_force.iter().map(in_force).collect(),
            housekeeping: list(&report.housekeeping),
            end: report.end.map(end),
            cut_off: report.cut_off.as_ref().map(|c| CutOffOut { good_bytes: c.good_bytes, reason: c.reason }),
            write_error: report.write_error.as_deref(),
            recording: recording.map(|path| path.display().to_string()),
        }
    }
}

/// RFC 3339, or null for an instant no calendar holds.
fn started(unix_ns: u64) -> Option<String> {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).ok().map(|t| t.to_string())
}

fn list(cpus: &CpuSet) -> Vec<u32> {
    cpus.iter().collect()
}

fn scenario(scenario: &Scenario) -> ScenarioOut<'_> {
    let (policy, priority, runtime_ns) = policy(scenario.policy);
    ScenarioOut {
        policy,
        priority,
        runtime_ns,
        mechanism: match scenario.mechanism {
            Mechanism::Absolute => "absolute",
            Mechanism::Relative => "relative",
            Mechanism::Timerfd => "timerfd",
            Mechanism::Futex => "futex",
            Mechanism::Hybrid => "hybrid",
            Mechanism::Spin => "spin",
            Mechanism::Nanosleep => "nanosleep",
        },
        timer_phase: match scenario.phase {
            TimerPhase::Auto => "auto",
            TimerPhase::Aligned => "aligned",
            TimerPhase::Staggered => "staggered",
            TimerPhase::Random(_) => "random",
        },
        warm_up: amount(scenario.warm_up),
        length: amount(scenario.length),
        limit_ns: scenario.limit.map(Nanos::as_ns),
        dma_latency_us: scenario.dma_latency_us,
        load_phases: scenario.load_phases.iter().map(load_phase).collect(),
        load_cpus: scenario.load_cpus.as_ref().map(list),
        suite: scenario.suite.as_deref(),
    }
}

fn policy(policy: Policy) -> (&'static str, Option<u8>, Option<u64>) {
    match policy {
        Policy::Fifo(priority) => ("fifo", Some(priority), None),
        Policy::RoundRobin(priority) => ("rr", Some(priority), None),
        Policy::Deadline { runtime } => ("deadline", None, Some(runtime.as_ns())),
        Policy::Other => ("other", None, None),
    }
}

fn amount(amount: Amount) -> AmountOut {
    match amount {
        Amount::Time(length) => AmountOut { time_ns: Some(length.as_ns()), activations: None },
        Amount::Activations(n) => AmountOut { time_ns: None, activations: Some(n) },
    }
}

fn load_phase(phase: &LoadPhase) -> LoadPhaseOut<'_> {
    LoadPhaseOut { loads: &phase.loads, parts: phase.parts }
}

fn cpu(cpu: &CpuRow) -> CpuOut<'_> {
    CpuOut {
        cpu: cpu.cpu,
        period_ns: cpu.period.as_ns(),
        row: row(&cpu.row),
        worst_at_ns: cpu.worst_at.as_ref().map(|(at, _)| at.as_ns()),
        worst_load: cpu.worst_at.as_ref().map(|(_, load)| words::phase_name(load)),
        longest_gap_ns: cpu.longest_gap.as_ns(),
        early: cpu.early,
    }
}

fn row(row: &Row) -> RowOut {
    RowOut {
        due: row.due,
        ran: row.ran,
        skipped: row.skipped,
        over_budget: row.over_budget,
        latency_ns: points(&row.latency),
        latency_due_ns: points(&row.latency_due),
    }
}

fn points(points: &Percentiles) -> PointsOut {
    let ns = |point: Option<Nanos>| point.map(Nanos::as_ns);
    PointsOut {
        min: ns(points.min),
        mean: ns(points.mean),
        p50: ns(points.p50),
        p99: ns(points.p99),
        p99_9: ns(points.p99_9),
        p99_99: ns(points.p99_99),
        max: ns(points.max),
    }
}

fn phase<'a>(phase: &'a PhaseRow, report: &Report) -> PhaseOut<'a> {
    PhaseOut {
        phase: phase.phase,
        name: words::phase_name(&phase.name),
        cpu: phase.cpu,
        traced: report.traced(phase.phase),
        row: row(&phase.row),
    }
}

fn span(span: &PhaseSpan) -> SpanOut<'_> {
    SpanOut { name: words::phase_name(&span.name), from_ns: span.from.as_ns(), to_ns: span.to.as_ns() }
}

fn finding(finding: &Finding) -> FindingOut<'_> {
    FindingOut {
        id: &finding.id,
        title: &finding.title,
        severity: match finding.severity {
            Severity::Info => "info",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Fatal => "fatal",
        },
        state: match finding.state {
            State::Good => "good",
            State::Bad => "bad",
            State::Unknown(_) => "unknown",
            State::Advice(_) => "advice",
            State::NotApplicable(_) => "not-applicable",
        },
        because: words::state_because(&finding.state),
        evidence: finding.evidence.iter().map(|e| EvidenceOut { source: &e.source, value: &e.value }).collect(),
        why: &finding.why,
        fix: &finding.fix,
        cost: &finding.cost,
        confidence: match finding.confidence {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        },
    }
}

fn distrust(reason: &Distrust) -> Said {
    let code = match reason {
        Distrust::Steal(_) => "steal",
        Distrust::Paused(..) => "paused",
        Distrust::Suspended(..) => "suspended",
        Distrust::WallClockStep(_) => "wall-clock-step",
        Distrust::TscDrift => "tsc-drift",
        Distrust::HelperShared(_) => "helper-shared-cpu",
        Distrust::HelperSibling(_) => "helper-on-sibling",
        Distrust::Throttled => "throttled",
        Distrust::RtThrottled => "rt-throttled",
        Distrust::SlowClock(_) => "slow-clock",
        Distrust::Faults(..) => "page-faults",
        Distrust::Migrations(..) => "migrations",
        Distrust::MemoryNotLocked => "memory-not-locked",
        Distrust::NotRealTime => "not-real-time",
        Distrust::GrantedOtherwise(_) => "granted-otherwise",
        Distrust::TooFew(_) => "too-few",
        Distrust::EndedEarly(_) => "ended-early",
        Distrust::CutOff => "cut-off",
        Distrust::WriteFailed => "write-failed",
        Distrust::BlocksLost(_) => "blocks-lost",
        Distrust::ChangedDuring(_) => "changed-during",
        Distrust::LoadMissing(..) => "load-missing",
        Distrust::Tracing(_) => "tracing",
        Distrust::Early(..) => "early",
    };
    Said { code, message: spoken(&words::distrust(reason)) }
}

fn next(step: &NextStep, report: &Report) -> Said {
    let code = match step {
        NextStep::Fix(_) => "fix",
        NextStep::MeasureLonger { .. } => "measure-longer",
        NextStep::RunAsRoot(_) => "run-as-root",
        NextStep::Repeat => "repeat",
        NextStep::StateBudget => "state-budget",
        NextStep::LookAtSkips(_) => "look-at-skips",
    };
    Said { code, message: spoken(&words::next_step(step, report)) }
}

/// A sentence with plain spaces.
fn spoken(text: &str) -> String {
    text.replace(units::THIN, " ")
}

fn worst(worst: &WorstRow) -> WorstOut<'_> {
    let activation = &worst.activation;
    WorstOut {
        cpu: worst.cpu,
        latency_ns: activation.lateness().as_ns(),
        at_ns: worst.at.as_ns(),
        load: words::phase_name(&worst.phase),
        index: activation.index,
        woke_on_cpu: activation.cpu,
        involuntary_switches: activation.involuntary_switches,
        faults: activation.faults,
        migrations: activation.migrations,
        counted_over_ns: activation.counted_over.as_ns(),
    }
}

fn event(event: &Event) -> EventOut {
    let kind = match event.kind {
        EventKind::Suspended => "suspended",
        EventKind::Paused => "paused",
        EventKind::WallClockStep => "wall-clock-step",
        EventKind::TscDrift => "tsc-drift",
        EventKind::Steal => "steal",
        EventKind::Throttled => "throttled",
        EventKind::RtThrottled => "rt-throttled",
        EventKind::BlocksLost => "blocks-lost",
        EventKind::Moved => "moved",
    };
    EventOut { kind, at_ns: event.at.as_ns(), length_ns: event.length.as_ns(), releases_lost: event.releases_lost }
}

fn load(load: &LoadDone) -> LoadOut<'_> {
    LoadOut {
        phase: load.phase,
        name: &load.name,
        cpus: list(&load.cpus),
        unit: &load.unit,
        operations: load.operations,
        time_ns: load.time.as_ns(),
        failure: load.failure.as_deref(),
    }
}

fn thread(thread: &Granted) -> ThreadOut {
    let (policy, priority, runtime_ns) = policy(thread.policy);
    ThreadOut {
        cpu: thread.cpu,
        tid: thread.tid,
        policy,
        priority,
        runtime_ns,
        affinity: list(&thread.affinity),
        memory_locked: thread.memory_locked,
    }
}

fn warm_up(warm_up: &WarmUp) -> WarmUpOut {
    WarmUpOut { cpu: warm_up.cpu, activations: warm_up.activations, max_ns: warm_up.max.as_ns() }
}

fn in_force(state: &InForce) -> InForceOut<'_> {
    let moment = match state.moment {
        Moment::Before => "before",
        Moment::During => "during",
        Moment::After => "after",
    };
    InForceOut { moment, values: state.values.iter().map(|(source, value)| EvidenceOut { source, value }).collect() }
}

fn answer(answer: Answer) -> &'static str {
    match answer {
        Answer::Held => "held",
        Answer::NotHeld => "not-held",
        Answer::Inconclusive => "inconclusive",
    }
}

fn inconclusive(because: &Inconclusive) -> &'static str {
    match because {
        Inconclusive::NoBudget => "no-budget",
        Inconclusive::TooFew { .. } => "too-few",
        Inconclusive::NothingRan => "nothing-ran",
    }
}

fn end(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Completed => "completed",
        EndReason::Interrupted => "interrupted",
        EndReason::LimitExceeded => "limit-exceeded",
        EndReason::Stalled => "stalled",
    }
}

#[cfg(test)]
mod tests;
