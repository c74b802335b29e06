//! Causes of latency in words: their kinds and names, when and where they occurred, why they could take the CPU, and
//! how they were searched.

use super::phase_name;
use crate::render::clean::visible;
use crate::render::lang::{text, tr};
use crate::render::units;
use punctual_facts::finding::State;
use punctual_hist::Nanos;
use punctual_numbers::explain::{
    Blame, Cause, CauseName, Class, Explanation, Opinions, Ranked, Rhythm, Stage, Why, WhyCount, advice,
};
use punctual_numbers::recording::RecTime;
use punctual_numbers::report::{CausesDoubt, Report};
use punctual_numbers::trace::{Blind, Incomplete, Kept, Rung, SelfTest, Tracing};

pub fn class(class: Class) -> &'static str {
    match class {
        Class::Nmi => tr!("non-maskable interrupt"),
        Class::HardIrq => tr!("device interrupt"),
        Class::TimerCallback => tr!("timer callback"),
        Class::TimerInterrupt => tr!("timer interrupt"),
        Class::Ipi => tr!("interrupt from another CPU"),
        Class::Vector => tr!("system interrupt"),
        Class::Softirq => tr!("softirq"),
        Class::HigherPriority => tr!("thread of higher priority"),
        Class::SamePriority => tr!("thread of the same priority"),
        Class::StopMachine => tr!("CPU stopper"),
        Class::Worker => tr!("kernel worker"),
        Class::PreemptOff => tr!("pre-emption off"),
        Class::IrqOff => tr!("interrupts off"),
        Class::IdleExit => tr!("way out of idle"),
        Class::WakeUp => tr!("waking and switching"),
        Class::OwnPath => tr!("our thread's own path"),
        Class::PageFault => tr!("page fault"),
        Class::Throttled => tr!("throttled"),
        Class::Stopped => tr!("stopped by a signal or a debugger"),
        Class::Migration => tr!("moved to another CPU"),
        Class::Frequency => tr!("CPU frequency"),
        Class::Firmware => tr!("firmware"),
        Class::Hypervisor => tr!("hypervisor"),
        Class::Paused => tr!("machine stood still"),
        Class::Unexplained => tr!("unexplained"),
    }
}

/// A name from outside, such as that of a process, without characters that could act on a terminal or reverse text.
pub fn name(given: &str) -> String {
    given.chars().map(visible).collect()
}

/// A cause with its name: `device interrupt nvme0q3 (irq 131)`.
pub fn cause(cause: &Cause) -> String {
    let class = class(cause.class);
    let (called, function) = match &cause.name {
        CauseName::Under(task) => (name(&task.to_string()), None),
        CauseName::Worker(function) => (name(&cause.name.to_string()), function.as_deref().map(name)),
        CauseName::Given(given) => (name(given), None),
    };
    match (cause.class, called.as_str()) {
        (_, "") => class.to_owned(),
        (Class::IrqOff | Class::PreemptOff, name) => tr!("{class} by {name}", class, name),
        (Class::Throttled, name) => tr!("{class} while {name} ran", class, name),
        (Class::Unexplained, name) => tr!("{class} (running: {name})", class, name),
        (Class::Worker, name) => format!("{class} {}", function.as_deref().unwrap_or(name)),
        (Class::Ipi | Class::Vector | Class::IdleExit | Class::TimerInterrupt | Class::Frequency, name) => {
            tr!("{class}, {name}", class, name)
        }
        (_, name) => format!("{class} {name}"),
    }
}

/// The name of a cause, or its kind if it has no name.
pub fn cause_label(cause: &Cause) -> String {
    if cause.name.is_empty() { class(cause.class).to_owned() } else { name(&cause.name.to_string()) }
}

/// A latency with its label: `latency 1.02 ms`.
pub fn late_by(latency: Nanos) -> String {
    format!("latency {}", units::latency(latency))
}

pub fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::TimerLate => "timer late",
        Stage::Expiry => "timer interrupt",
        Stage::Waking => "waking",
        Stage::Dispatch => "waiting for the CPU",
        Stage::Return => "back to the task",
        Stage::Unknown => "in between",
    }
}

/// Why something could take the CPU, as part of a sentence.
pub fn why(why: &Why) -> String {
    let said = match why {
        Why::Priority { its, ours } => format!("its priority is {}, ours {}", priority(*its), priority(*ours)),
        Why::Boosted { own } => {
            format!("that is lent to it for now, by who waits for a lock it holds; its own is {}", priority(*own))
        }
        Why::MigrationOff => "it could not be moved to another CPU".to_owned(),
        Why::PreemptOff => "it held pre-emption off".to_owned(),
        Why::IrqsOff => "it held interrupts off".to_owned(),
        Why::NotPreempted => "it was asked to give way and did not".to_owned(),
        Why::RaisedBy { by: name } => format!("raised by {}", or(name, "an interrupt")),
        Why::WokenBy { task: 0, name } => format!("woken from {}", or(name, "an interrupt")),
        Why::WokenBy { task: tid, name } => format!("woken by {} (thread {tid})", or(name, "a thread without a name")),
        Why::SentBy { cpu, by: who, work: what } => {
            let who = if who.is_empty() { String::new() } else { format!(" while {who} ran there") };
            let what = if what.is_empty() { String::new() } else { format!(", to do {what}") };
            format!("sent by CPU {cpu}{who}{what}")
        }
        Why::Affinity { cpus } => format!("it may go to CPUs {cpus}"),
        Why::Managed => "the kernel alone decides where it goes (managed)".to_owned(),
        Why::Counter { name, grew, is_time: true } => {
            format!("{name} grew by {}", units::latency(Nanos::from_ns(*grew)))
        }
        Why::Counter { name, grew, is_time: false } => format!("{name} grew by {}", units::count(*grew)),
        Why::PartlyStolen { time } => {
            format!("up to {} of the latency may be the hypervisor's", units::latency(*time))
        }
    };
    name(&said)
}

/// A kernel priority (smaller is more urgent) in the terms that users set: deadline, real-time priority, or nice value.
fn priority(kernel: i32) -> String {
    match kernel {
        ..0 => "deadline".to_owned(),
        0..=99 => format!("real-time {}", 99 - kernel),
        _ => format!("ordinary, nice {}", kernel.saturating_sub(120)),
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// The period of something that occurs at regular times, and how often it did: `every 250 ms (57 of 58 fit)`.
pub fn rhythm(rhythm: &Rhythm) -> String {
    let (fitting, of) = rhythm.fitting;
    let fit = if of == 0 { String::new() } else { format!(" ({} of {} fit)", units::count(fitting), units::count(of)) };
    format!("every {}{fit}", units::duration(rhythm.period))
}

/// Whether a cause occurred at regular times or in bursts; `None` if neither was found.
pub fn pattern(ranked: &Ranked) -> Option<String> {
    let rhythm = ranked.rhythm.as_ref().map(rhythm);
    let bursts = ranked.bursts.map(|of| {
        format!("in {}, the largest of {}", units::counted(of.clusters, "burst"), units::counted(of.largest, "spike"))
    });
    let both: Vec<String> = rhythm.into_iter().chain(bursts).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

/// The CPUs on which, and the loads under which, a cause occurred. CPUs are left out if only one was measured, loads if
/// only one was traced.
pub fn places(ranked: &Ranked, report: &Report) -> Vec<String> {
    let cpus = ranked.by_cpu.iter().map(|on| (on.spikes, format!("on CPU {}", on.cpu)));
    let phases = ranked
        .by_phase
        .iter()
        .map(|under| (under.spikes, format!("under {}", phase_name(&report.phase_name(under.phase)))));
    let looked = report.causes.as_ref().and_then(|causes| causes.tracing.as_ref()).map_or(0, |t| t.phases.len());
    [(report.need.cpus.len() > 1, counts(cpus.collect())), (looked > 1, counts(phases.collect()))]
        .into_iter()
        .filter_map(|(several, text)| (several && !text.is_empty()).then_some(text))
        .collect()
}

fn counts(mut places: Vec<(u64, String)>) -> String {
    places.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    places.iter().map(|(n, place)| format!("{} {place}", units::count(*n))).collect::<Vec<_>>().join(", ")
}

/// A cause of one late activation: its time, its name, and why it could take the CPU.
pub fn blame(blame: &Blame) -> String {
    let blamed = blamed(blame);
    let beyond = if blame.excess == blame.time {
        String::new()
    } else {
        format!(" ({} more than ordinarily)", units::latency(blame.excess))
    };
    let reasons: Vec<String> = blame.why.iter().map(why).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    format!("{blamed}{beyond}{reasons}")
}

/// A cause of one late activation, without the reasons: its time and its name.
pub fn blamed(blame: &Blame) -> String {
    let took = if blame.time == Nanos::ZERO { String::new() } else { format!("{} ", units::latency(blame.time)) };
    format!("{took}{}", cause(&blame.cause))
}

/// A sentence about late activations that occur at regular times; `None` if none do.
pub fn rhythms(explanation: &Explanation) -> Option<String> {
    let said: Vec<String> =
        explanation.rhythms.iter().map(|found| format!("on CPU {} {}", found.cpu, rhythm(&found.rhythm))).collect();
    (!said.is_empty())
        .then(|| format!("Late activations come at regular times, whatever their causes: {}.", said.join("; ")))
}

/// A sentence about the time that ordinary activations spend; `None` if that is unknown.
pub fn ordinary(explanation: &Explanation) -> Option<String> {
    let said: Vec<String> = explanation
        .ordinary
        .iter()
        .map(|spent| format!("{} {}", units::latency(spent.median), cause(&spent.cause)))
        .collect();
    (!said.is_empty()).then(|| {
        format!("An ordinary activation spends {}; only time beyond that is charged to causes.", said.join(", "))
    })
}

pub fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::Timerlat => "the kernel's trace, with the events of its own latency tracers",
        Rung::Tracefs => "the kernel's trace",
        Rung::Bpf => "a program in the kernel",
        Rung::Deltas => "counters before and after",
        Rung::InProcess => "what the process knows of itself",
    }
}

/// A sentence about something that the chosen way of searching cannot see.
pub fn blind(blind: &Blind) -> String {
    match blind {
        Blind::Records => {
            "Nothing was traced, only counted: counters name causes, but not how long each took.".to_owned()
        }
        Blind::Event(name) => format!("This kernel does not provide the event {name}."),
        Blind::CriticalSections => {
            "Sections with interrupts or pre-emption off show only by what they delay.".to_owned()
        }
        Blind::Firmware => "What firmware does shows only as a gap in the trace.".to_owned(),
        Blind::Hypervisor => "What the host does shows only as a gap in the trace.".to_owned(),
        Blind::Holes(cpu) => format!(
            "Records of CPU {cpu} have holes that nothing reported: the self-test or windows without a switch show them."
        ),
        Blind::Witness(what, why) => format!("There is no {what}: {why}."),
    }
}

pub fn self_test(test: &SelfTest) -> Option<String> {
    (!test.passed()).then(|| {
        format!(
            "Self-test of CPU {}: of {} there were {} seen, {} and {}; clocks apart by up to {}.",
            test.cpu,
            units::counted(test.timers.into(), "timer"),
            counted(test.expiries, "expiry", "expiries"),
            counted(test.wakings, "waking", "wakings"),
            counted(test.switches, "switch", "switches"),
            units::latency(test.warp)
        )
    })
}

fn counted(n: u32, one: &str, more: &str) -> String {
    format!("{}{}{}", units::count(n.into()), units::THIN, if n == 1 { one } else { more })
}

pub fn incomplete(why: Incomplete) -> &'static str {
    match why {
        Incomplete::Holes => "records are missing in it, or of its CPU, that nobody reported as lost",
        Incomplete::Lost => "the kernel lost records in it",
        Incomplete::Late => "the trace begins after the release",
        Incomplete::Short => "the trace ends before the wake-up",
        Incomplete::Warped => "clocks do not fit together",
        Incomplete::TooLong => "it had more records than are kept of one activation",
        Incomplete::Elsewhere => "it was not seen to run on its CPU; its policy lets it run on others",
        Incomplete::NoTrace => "there are no records",
    }
}

pub fn kept(kept: Kept) -> &'static str {
    match kept {
        Kept::Worst => "among the latest of its CPU",
        Kept::Sampled => "drawn at random",
        Kept::Ordinary => "an ordinary one, to compare with",
    }
}

/// Sentences about the number of late activations, and the share of their latency that is explained.
pub fn late(report: &Report, explanation: &Explanation) -> Vec<String> {
    let all = report.late();
    let thresholds: Vec<String> =
        explanation.thresholds.iter().map(|of| format!("{} on CPU {}", units::latency(of.threshold), of.cpu)).collect();
    let than = if thresholds.is_empty() { String::new() } else { format!(" (later than {})", thresholds.join(", ")) };
    if report.causes_doubt() == Some(CausesDoubt::NotReached) {
        return Vec::new();
    }
    if all.late == 0 {
        return vec![format!("No activation was late{than}: there is nothing to explain.")];
    }
    let mut sentences = vec![format!(
        "{} late{than}, {} in all; {} captured, {} of them completely traced.",
        were(all.late, "activation"),
        units::duration(all.latency),
        units::count(all.kept),
        units::count(all.complete)
    )];
    sentences.push(explained(explanation));
    if all.passed_over > 0 {
        sentences.push(format!(
            "{} more were not captured: they came too fast one after the other, or needed too much room.",
            units::count(all.passed_over)
        ));
    }
    if let Some(share) = explanation.complete.filter(|share| *share < 0.995) {
        sentences.push(format!(
            "Activations whose records are incomplete, with {} of the time captured, count in no share.",
            units::portion(1.0 - share)
        ));
    }
    sentences
}

/// How much of the traced latency has a known cause. The traced latency is that of all late activations with complete
/// records; every share of a cause refers to it.
pub fn explained(explanation: &Explanation) -> String {
    explanation.explained.map_or_else(
        || "How much of the latency each cause made is not known.".to_owned(),
        |share| format!("{} of the traced latency has a known cause.", units::portion(share)),
    )
}

/// Why the causes found are not conclusive: the text after "Inconclusive:".
pub fn doubt(why: CausesDoubt) -> &'static str {
    match why {
        CausesDoubt::NotReached => tr!("the run ended before the part in which late activations are captured."),
        CausesDoubt::NothingKept => tr!("no late activation was captured."),
        CausesDoubt::NoTimes => tr!("counters name causes, but not how much of the latency each made."),
        CausesDoubt::Unexplained => tr!("more than a fifth of the traced latency has no known cause."),
        CausesDoubt::SelfTest => tr!("the self-test of the trace failed: records may be missing, or at wrong times."),
        CausesDoubt::Incomplete => tr!("more than a fifth of the time captured has incomplete records."),
        CausesDoubt::Added => tr!("something that only adds latency was at work as well; punctual report names it."),
    }
}

/// Why a ranking without doubts can be trusted: what was checked.
pub fn checked(report: &Report) -> String {
    let tests = report.causes.iter().filter_map(|causes| causes.tracing.as_ref()).flat_map(|of| &of.self_test);
    let test = if tests.count() > 0 { ", and the self-test of the trace passed" } else { "" };
    match report.late() {
        late if late.late == 0 => format!("each activation was held against its threshold{test}"),
        late => format!(
            "{} of {} captured have complete records{test}",
            units::count(late.complete),
            units::count(late.kept)
        ),
    }
}

fn were(n: u64, noun: &str) -> String {
    format!("{} {}", units::counted(n, noun), if n == 1 { "was" } else { "were" })
}

/// Sentences about the method of the search.
pub fn how(tracing: &Tracing, report: &Report) -> Vec<String> {
    let threshold = match tracing.threshold {
        Some(limit) => format!("later than {}", units::latency(limit)),
        None => format!("later than 99.9{}% of the run so far", units::THIN),
    };
    let cut = report.cut_off.is_some().then(|| super::ending(report));
    let mut sentences: Vec<String> = cut.into_iter().collect();
    sentences.push(format!(
        "Source: {}. An activation is late if it is {threshold}; at most {} are captured.",
        rung(tracing.rung),
        units::count(tracing.windows_max.into())
    ));
    if let Some(sentence) = phases(report) {
        sentences.push(sentence);
    }
    sentences.extend(tracing.refused.iter().map(|better| {
        format!("Better, but not to be had: {}: {}.", rung(better.rung), better.why.trim_end_matches('.'))
    }));
    sentences.extend(tracing.blind.iter().map(blind));
    sentences.extend(tracing.self_test.iter().filter_map(self_test));
    sentences.extend(report.causes.as_ref().and_then(|causes| causes.opinions).map(opinions));
    sentences
}

fn opinions(Opinions { same, different }: Opinions) -> String {
    let all = units::counted(same.saturating_add(different), "time");
    let differs = if different == 0 {
        "each time it says the same".to_owned()
    } else {
        format!("{} it says something else, which makes the time doubtful", units::counted(different, "time"))
    };
    format!("The kernel's own noise tracer was heard on interrupts and threads {all}: {differs}.")
}

/// A sentence that names the traced load phases; `None` if all were traced.
pub fn phases(report: &Report) -> Option<String> {
    let phases = 0..u16::try_from(report.scenario.load_phases.len()).unwrap_or(u16::MAX);
    let traced: Vec<u16> = phases.filter(|phase| report.traced(*phase)).collect();
    let names: Vec<String> =
        traced.iter().map(|phase| format!("{phase} ({})", phase_name(&report.phase_name(*phase)))).collect();
    let noun = if names.len() == 1 { "phase" } else { "phases" };
    report.traced_apart().then(|| {
        format!(
            "Causes are those of load {noun} {}, which {} traced and not part of the verdict.",
            names.join(", "),
            if names.len() == 1 { "is" } else { "are" }
        )
    })
}

/// How many records the kernel lost on each CPU; `None` if it lost none.
pub fn lost(explanation: &Explanation) -> Option<String> {
    let lost = explanation.totals.iter().filter(|total| total.lost > 0).map(|total| {
        let all = total.records.saturating_add(total.lost);
        format!("{} of {} on CPU {}", units::count(total.lost), units::counted(all, "record"), total.cpu)
    });
    let lost: Vec<String> = lost.collect();
    (!lost.is_empty())
        .then(|| format!("The kernel lost {}; activations with a hole in their trace are marked.", lost.join(", ")))
}

/// An instant as the time since the start of the run.
pub fn at(report: &Report, instant: punctual_hist::MonoTime) -> String {
    units::moment(RecTime::of(instant, report.epoch))
}

/// The share, time and frequency of a cause: `61 % of the traced latency: 18.2 ms in 58 spikes, at most 812 us in one;
/// the main cause of 51`.
pub fn weight(ranked: &Ranked) -> String {
    let (count, first) = (units::counted(ranked.count, "spike"), units::count(ranked.first_in));
    if ranked.total == Nanos::ZERO {
        return format!("counters name it in {count}, as the first suspect in {first}");
    }
    format!(
        "{} of the traced latency: {} in {count}, at most {} in one; the main cause of {first}",
        units::portion(ranked.share),
        units::duration(ranked.total),
        units::latency(ranked.worst)
    )
}

/// The share of a cause in few words, for the answer: `61 % of the traced latency, at most 812 us of one activation`.
pub fn short_weight(ranked: &Ranked) -> String {
    if ranked.total == Nanos::ZERO {
        return tr!("counters name it in {spikes}", spikes = units::counted(ranked.count, "spike"));
    }
    let (share, most) = (units::portion(ranked.share), units::latency(ranked.worst));
    tr!("{share} of the traced latency, at most {most} of one activation", share, most)
}

/// The causes of latency that a knob bears on, in the words of `explain`; empty if there are none.
pub fn borne_on(knob: &str) -> String {
    let mut causes: Vec<String> = advice::causes(knob).into_iter().map(|of| cause(&of.example())).collect();
    causes.sort();
    causes.dedup();
    causes.join(", ")
}

/// A knob that bears on a cause.
pub struct KnobHere<'a> {
    pub id: &'static str,
    pub title: &'static str,
    /// State of the knob in the audit of the same run; `None` without an audit.
    pub state: Option<&'a State>,
}

impl KnobHere<'_> {
    /// A phrase with the wanted state of the knob, which says if the machine has it already.
    pub fn wanted(&self) -> String {
        match self.state {
            Some(State::Good) => tr!("should be: {title}; already so", title = text(self.title)),
            Some(State::Bad) => tr!("should be: {title}; is not", title = text(self.title)),
            _ => tr!("should be: {title}", title = text(self.title)),
        }
    }
}

/// The knobs that bear on a cause, most useful first. Knobs that do not apply here are left out, and good ones come
/// last.
pub fn knobs<'a>(ranked: &Ranked, report: &'a Report) -> Vec<KnobHere<'a>> {
    let here = |id: &&'static str| KnobHere {
        id,
        title: punctual_tuning::knobs::find(id).map_or("", |knob| knob.title),
        state: report.findings.iter().find(|finding| finding.id == **id).map(|finding| &finding.state),
    };
    let mut knobs: Vec<KnobHere> = ranked.knobs.iter().map(here).collect();
    knobs.retain(|knob| !matches!(knob.state, Some(State::NotApplicable(_))));
    knobs.sort_by_key(|knob| matches!(knob.state, Some(State::Good)));
    knobs
}

/// Why a cause could take the CPU, the most frequent reason first. A reason that did not apply to every spike has its
/// count.
pub fn reasons(ranked: &Ranked, limit: usize) -> Vec<String> {
    let said = |WhyCount { why: reason, spikes }: &WhyCount| {
        let often =
            if *spikes < ranked.count { format!(" ({})", units::counted(*spikes, "time")) } else { String::new() };
        format!("{}{often}", why(reason))
    };
    ranked.why.iter().take(limit).map(said).collect()
}
