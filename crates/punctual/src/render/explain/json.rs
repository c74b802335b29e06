//! Who made it late, for programs: one document, described by `schemas/explanation-1.schema.json`.
//!
//! The structures here mirror the document and nothing else has them. Instants are nanoseconds of `CLOCK_MONOTONIC` as
//! the kernel wrote them, so that they can be held against other logs of the same boot; lengths are nanoseconds; what
//! is absent is null, never 0.

use crate::render::words::causes as words;
use crate::render::{audit, units, words as all_words};
use punctual_hist::Nanos;
use punctual_numbers::explain::{
    Blame, Cause, Class, Explanation, LateCount, Opinions, Part, Ranked, Rhythm, Spike, Stage, Why,
};
use punctual_numbers::report::{CausesDoubt, Report};
use punctual_numbers::trace::{Blind, Incomplete, Kept, Rung, SelfTest, TraceTotal, Tracing};
use serde::Serialize;
use std::path::Path;

/// Name and version of the document.
const SCHEMA: &str = "punctual/explanation/1";

/// The document, indented, with a line break at its end; `None` where nobody looked for causes.
pub fn document(report: &Report, recording: Option<&Path>) -> Option<String> {
    let document = Document::of(report, report.causes.as_ref()?, recording);
    // Serialising to a string fails only for maps with keys that are not strings, and there are none; the error is
    // still said rather than swallowed.
    let text = serde_json::to_string_pretty(&document);
    Some(
        text.unwrap_or_else(|error| format!("{{\"schema\": \"{SCHEMA}\", \"error\": {:?}}}", error.to_string())) + "\n",
    )
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    format: u32,
    kind: &'static str,
    tool_version: &'a str,
    recording: Option<String>,
    epoch_ns: u64,
    tracing: Option<TracingOut<'a>>,
    traces: Vec<TraceOut>,
    late: LateOut,
    explained: Option<f64>,
    complete: Option<f64>,
    doubt: Option<&'static str>,
    causes: Vec<CauseOut<'a>>,
    rhythms: Vec<CpuRhythm>,
    ordinary: Vec<OrdinaryOut<'a>>,
    /// Only where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    second_opinion: Option<OpinionsOut>,
    spikes: Vec<SpikeOut<'a>>,
}

#[derive(Serialize)]
struct OpinionsOut {
    same: u64,
    different: u64,
}

/// What a check's document says of causes: the ranking without the single activations.
#[derive(Serialize)]
pub(in crate::render) struct Summary<'a> {
    rung: Option<&'static str>,
    apart: bool,
    late: u64,
    explained: Option<f64>,
    doubt: Option<&'static str>,
    causes: Vec<CauseOut<'a>>,
}

impl<'a> Summary<'a> {
    /// Of a report; `None` where nobody looked.
    pub(in crate::render) fn of(report: &'a Report) -> Option<Self> {
        let causes = report.causes.as_ref()?;
        Some(Self {
            rung: causes.tracing.as_ref().map(|tracing| rung(tracing.rung)),
            apart: report.traced_apart(),
            late: report.late().late,
            explained: causes.explained.filter(|share| share.is_finite()),
            doubt: report.causes_doubt().map(doubt),
            causes: causes.causes.iter().map(|ranked| CauseOut::of(ranked, report)).collect(),
        })
    }
}

#[derive(Serialize)]
struct TracingOut<'a> {
    rung: &'static str,
    refused: Vec<RefusedOut<'a>>,
    phases: &'a [u16],
    apart: bool,
    events: &'a [String],
    blind: Vec<Said>,
    clock: &'a str,
    buffer_bytes: u64,
    threshold_ns: Option<u64>,
    windows_max: u32,
    self_test: Vec<SelfTestOut>,
}

#[derive(Serialize)]
struct RefusedOut<'a> {
    rung: &'static str,
    because: &'a str,
}

/// A fact as a word for programs and a sentence for people.
#[derive(Serialize)]
struct Said {
    code: &'static str,
    message: String,
}

#[derive(Serialize)]
struct SelfTestOut {
    cpu: u32,
    passed: bool,
    timers: u32,
    expiries: u32,
    wakings: u32,
    switches: u32,
    warp_ns: u64,
}

#[derive(Serialize)]
struct TraceOut {
    cpu: u32,
    records: u64,
    lost: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct LateOut {
    #[serde(flatten)]
    all: CountOut,
    cpus: Vec<CpuLate>,
}

#[derive(Serialize)]
struct CountOut {
    late: u64,
    lateness_ns: u64,
    kept: u64,
    complete: u64,
    sampled: u64,
    passed_over: u64,
}

#[derive(Serialize)]
struct CpuLate {
    cpu: u32,
    threshold_ns: Option<u64>,
    #[serde(flatten)]
    count: CountOut,
}

#[derive(Serialize)]
struct CauseOut<'a> {
    class: &'static str,
    name: &'a str,
    message: String,
    count: u64,
    first_in: u64,
    total_ns: u64,
    worst_ns: u64,
    share: f64,
    cpus: Vec<CpuShare>,
    phases: Vec<PhaseShare>,
    first_ns: u64,
    last_ns: u64,
    rhythm: Option<RhythmOut>,
    bursts: Option<BurstsOut>,
    why: Vec<ReasonOut>,
    knobs: Vec<KnobOut>,
    example: usize,
}

#[derive(Serialize)]
struct CpuShare {
    cpu: u32,
    count: u64,
    total_ns: u64,
}

#[derive(Serialize)]
struct PhaseShare {
    phase: u16,
    name: String,
    count: u64,
    total_ns: u64,
}

#[derive(Serialize)]
struct RhythmOut {
    period_ns: u64,
    chance: f64,
    fitting: u64,
    of: u64,
}

#[derive(Serialize)]
struct CpuRhythm {
    cpu: u32,
    #[serde(flatten)]
    rhythm: RhythmOut,
}

#[derive(Serialize)]
struct BurstsOut {
    bursts: u64,
    largest: u64,
}

#[derive(Serialize)]
struct ReasonOut {
    #[serde(flatten)]
    reason: Said,
    count: u64,
}

#[derive(Serialize)]
struct KnobOut {
    id: &'static str,
    title: &'static str,
    state: Option<&'static str>,
}

impl KnobOut {
    fn of(knob: &words::KnobHere) -> Self {
        let words::KnobHere { id, title, state } = *knob;
        Self { id, title, state: state.map(audit::state_word) }
    }
}

#[derive(Serialize)]
struct OrdinaryOut<'a> {
    class: &'static str,
    name: &'a str,
    median_ns: u64,
}

#[derive(Serialize)]
struct SpikeOut<'a> {
    cpu: u32,
    release_ns: u64,
    woke_ns: u64,
    lateness_ns: u64,
    phase: u16,
    load: String,
    kept: &'static str,
    complete: bool,
    incomplete_because: Option<&'static str>,
    causes: Vec<BlameOut<'a>>,
    parts: Vec<PartOut<'a>>,
}

#[derive(Serialize)]
struct BlameOut<'a> {
    class: &'static str,
    name: &'a str,
    time_ns: u64,
    excess_ns: u64,
    why: Vec<Said>,
}

#[derive(Serialize)]
struct PartOut<'a> {
    stage: &'static str,
    class: &'static str,
    name: &'a str,
    from_ns: u64,
    length_ns: u64,
    certain: bool,
}

impl<'a> Document<'a> {
    fn of(report: &'a Report, causes: &'a Explanation, recording: Option<&Path>) -> Self {
        let threshold = |cpu: u32| causes.thresholds.iter().find(|(of, _)| *of == cpu).map(|(_, limit)| limit.as_ns());
        let by_cpu = causes.late.iter().map(|(cpu, count)| CpuLate {
            cpu: *cpu,
            threshold_ns: threshold(*cpu),
            count: CountOut::of(count),
        });
        let rhythms = causes.rhythms.iter().map(|(cpu, found)| CpuRhythm { cpu: *cpu, rhythm: RhythmOut::of(found) });
        Self {
            schema: SCHEMA,
            format: 1,
            kind: "explanation",
            tool_version: &report.tool_version,
            recording: recording.map(|path| path.display().to_string()),
            epoch_ns: report.epoch.as_ns(),
            tracing: causes.tracing.as_ref().map(|tracing| TracingOut::of(tracing, report)),
            traces: causes.totals.iter().map(TraceOut::of).collect(),
            late: LateOut { all: CountOut::of(&report.late()), cpus: by_cpu.collect() },
            explained: causes.explained.filter(|share| share.is_finite()),
            complete: causes.complete.filter(|share| share.is_finite()),
            doubt: report.causes_doubt().map(doubt),
            causes: causes.causes.iter().map(|ranked| CauseOut::of(ranked, report)).collect(),
            rhythms: rhythms.collect(),
            ordinary: causes.ordinary.iter().map(OrdinaryOut::of).collect(),
            second_opinion: causes.opinions.map(|Opinions { same, different }| OpinionsOut { same, different }),
            spikes: causes.spikes.iter().map(|spike| SpikeOut::of(spike, report)).collect(),
        }
    }
}

impl<'a> TracingOut<'a> {
    fn of(tracing: &'a Tracing, report: &Report) -> Self {
        let refused = tracing.refused.iter().map(|(better, because)| RefusedOut { rung: rung(*better), because });
        Self {
            rung: rung(tracing.rung),
            refused: refused.collect(),
            phases: &tracing.phases,
            apart: report.traced_apart(),
            events: &tracing.events,
            blind: tracing.blind.iter().map(blind).collect(),
            clock: &tracing.clock,
            buffer_bytes: tracing.buffer_bytes,
            threshold_ns: tracing.threshold.map(Nanos::as_ns),
            windows_max: tracing.windows_max,
            self_test: tracing.self_test.iter().map(SelfTestOut::of).collect(),
        }
    }
}

impl SelfTestOut {
    fn of(test: &SelfTest) -> Self {
        Self {
            cpu: test.cpu,
            passed: test.passed(),
            timers: test.timers,
            expiries: test.expiries,
            wakings: test.wakings,
            switches: test.switches,
            warp_ns: test.warp.as_ns(),
        }
    }
}

impl TraceOut {
    fn of(total: &TraceTotal) -> Self {
        Self { cpu: total.cpu, records: total.records, lost: total.lost, bytes: total.bytes }
    }
}

impl CountOut {
    fn of(count: &LateCount) -> Self {
        Self {
            late: count.late,
            lateness_ns: count.lateness.as_ns(),
            kept: count.kept,
            complete: count.complete,
            sampled: count.sampled,
            passed_over: count.passed_over,
        }
    }
}

impl<'a> CauseOut<'a> {
    fn of(ranked: &'a Ranked, report: &Report) -> Self {
        let cpu =
            |(cpu, count, total): &(u32, u64, Nanos)| CpuShare { cpu: *cpu, count: *count, total_ns: total.as_ns() };
        let phase = |(phase, count, total): &(u16, u64, Nanos)| PhaseShare {
            phase: *phase,
            name: all_words::phase_name(&report.phase_name(*phase)).to_owned(),
            count: *count,
            total_ns: total.as_ns(),
        };
        Self {
            class: class(ranked.cause.class),
            name: &ranked.cause.name,
            message: words::cause(&ranked.cause),
            count: ranked.count,
            first_in: ranked.first_in,
            total_ns: ranked.total.as_ns(),
            worst_ns: ranked.worst.as_ns(),
            share: finite(ranked.share),
            cpus: ranked.by_cpu.iter().map(cpu).collect(),
            phases: ranked.by_phase.iter().map(phase).collect(),
            first_ns: ranked.seen.0.as_ns(),
            last_ns: ranked.seen.1.as_ns(),
            rhythm: ranked.rhythm.as_ref().map(RhythmOut::of),
            bursts: ranked.bursts.map(|(bursts, largest)| BurstsOut { bursts, largest }),
            why: ranked.why.iter().map(|(reason, count)| ReasonOut { reason: why(reason), count: *count }).collect(),
            knobs: words::knobs(ranked, report).iter().map(KnobOut::of).collect(),
            example: ranked.example,
        }
    }
}

impl RhythmOut {
    fn of(rhythm: &Rhythm) -> Self {
        let (fitting, of) = rhythm.fitting;
        Self { period_ns: rhythm.period.as_ns(), chance: finite(rhythm.chance), fitting, of }
    }
}

impl<'a> OrdinaryOut<'a> {
    fn of((cause, median): &'a (Cause, Nanos)) -> Self {
        Self { class: class(cause.class), name: &cause.name, median_ns: median.as_ns() }
    }
}

impl<'a> SpikeOut<'a> {
    fn of(spike: &'a Spike, report: &Report) -> Self {
        Self {
            cpu: spike.cpu,
            release_ns: spike.release.as_ns(),
            woke_ns: spike.woke.as_ns(),
            lateness_ns: spike.lateness().as_ns(),
            phase: spike.phase,
            load: all_words::phase_name(&report.phase_name(spike.phase)).to_owned(),
            kept: kept(spike.kept),
            complete: spike.incomplete.is_none(),
            incomplete_because: spike.incomplete.map(incomplete),
            causes: spike.causes.iter().map(BlameOut::of).collect(),
            parts: spike.parts.iter().map(PartOut::of).collect(),
        }
    }
}

impl<'a> BlameOut<'a> {
    fn of(blame: &'a Blame) -> Self {
        Self {
            class: class(blame.cause.class),
            name: &blame.cause.name,
            time_ns: blame.time.as_ns(),
            excess_ns: blame.excess.as_ns(),
            why: blame.why.iter().map(why).collect(),
        }
    }
}

impl<'a> PartOut<'a> {
    fn of(part: &'a Part) -> Self {
        Self {
            stage: stage(part.stage),
            class: class(part.cause.class),
            name: &part.cause.name,
            from_ns: part.from.as_ns(),
            length_ns: part.length.as_ns(),
            certain: part.certain,
        }
    }
}

/// A number that JSON can hold.
fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

/// The kind of a cause, as documents name it.
pub(in crate::render) fn class(class: Class) -> &'static str {
    match class {
        Class::Nmi => "nmi",
        Class::HardIrq => "hard-irq",
        Class::TimerCallback => "timer-callback",
        Class::TimerInterrupt => "timer-interrupt",
        Class::Ipi => "ipi",
        Class::Vector => "vector",
        Class::Softirq => "softirq",
        Class::HigherPriority => "higher-priority",
        Class::SamePriority => "same-priority",
        Class::StopMachine => "stop-machine",
        Class::Worker => "worker",
        Class::PreemptOff => "preempt-off",
        Class::IrqOff => "irq-off",
        Class::IdleExit => "idle-exit",
        Class::WakeUp => "wake-up",
        Class::OwnPath => "own-path",
        Class::PageFault => "page-fault",
        Class::Throttled => "throttled",
        Class::Stopped => "stopped",
        Class::Migration => "migration",
        Class::Frequency => "frequency",
        Class::Firmware => "firmware",
        Class::Hypervisor => "hypervisor",
        Class::Paused => "paused",
        Class::Unexplained => "unexplained",
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::TimerLate => "timer-late",
        Stage::Expiry => "expiry",
        Stage::Waking => "waking",
        Stage::Dispatch => "dispatch",
        Stage::Return => "return",
        Stage::Unknown => "unknown",
    }
}

fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::Timerlat => "timerlat",
        Rung::Tracefs => "tracefs",
        Rung::Bpf => "bpf",
        Rung::Deltas => "deltas",
        Rung::InProcess => "in-process",
    }
}

fn kept(kept: Kept) -> &'static str {
    match kept {
        Kept::Worst => "worst",
        Kept::Sampled => "sampled",
        Kept::Ordinary => "ordinary",
    }
}

fn incomplete(why: Incomplete) -> &'static str {
    match why {
        Incomplete::Lost => "lost",
        Incomplete::Holes => "holes",
        Incomplete::Late => "late",
        Incomplete::Short => "short",
        Incomplete::Warped => "warped",
        Incomplete::TooLong => "too-long",
        Incomplete::Elsewhere => "elsewhere",
        Incomplete::NoTrace => "no-trace",
    }
}

fn doubt(why: CausesDoubt) -> &'static str {
    match why {
        CausesDoubt::NothingKept => "nothing-kept",
        CausesDoubt::NoTimes => "no-times",
        CausesDoubt::Unexplained => "unexplained",
        CausesDoubt::SelfTest => "self-test",
        CausesDoubt::Incomplete => "incomplete",
    }
}

fn blind(blind: &Blind) -> Said {
    let code = match blind {
        Blind::Records => "records",
        Blind::Event(_) => "event",
        Blind::CriticalSections => "critical-sections",
        Blind::Firmware => "firmware",
        Blind::Hypervisor => "hypervisor",
        Blind::Holes(_) => "holes",
        Blind::Witness(..) => "witness",
    };
    Said { code, message: spoken(&words::blind(blind)) }
}

fn why(why: &Why) -> Said {
    let code = match why {
        Why::Priority(..) => "priority",
        Why::Boosted(_) => "boosted",
        Why::MigrationOff => "migration-off",
        Why::PreemptOff => "preempt-off",
        Why::IrqsOff => "irqs-off",
        Why::NotPreempted => "not-preempted",
        Why::WokenBy(..) => "woken-by",
        Why::RaisedBy(..) => "raised-by",
        Why::SentBy(..) => "sent-by",
        Why::Affinity(_) => "affinity",
        Why::Managed => "managed",
        Why::Counter(..) => "counter",
        Why::PartlyStolen(_) => "partly-stolen",
    };
    Said { code, message: spoken(&words::why(why)) }
}

/// A sentence with plain spaces.
fn spoken(text: &str) -> String {
    text.replace(units::THIN, " ")
}
