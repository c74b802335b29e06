//! Causes of latency in words: their kinds and names, when and where they occurred, why they could take the CPU, and
//! how they were searched.

use super::phase_name;
use crate::render::clean::visible;
use crate::render::lang::{said, text, tr};
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
        Class::IdleExit => tr!("leaving idle"),
        Class::WakeUp => tr!("waking and switching"),
        Class::OwnPath => tr!("the thread's own path"),
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
    tr!("latency {latency}", latency = units::latency(latency))
}

pub fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::TimerLate => tr!("timer late"),
        Stage::Expiry => tr!("timer interrupt"),
        Stage::Waking => tr!("waking"),
        Stage::Dispatch => tr!("waiting for the CPU"),
        Stage::Return => tr!("back to the task"),
        Stage::Unknown => tr!("stage not known"),
    }
}

/// Why something could take the CPU, as part of a sentence.
pub fn why(why: &Why) -> String {
    let said = match why {
        Why::Priority { its, ours } => {
            tr!("its priority is {its}, that of the late thread {ours}", its = priority(*its), ours = priority(*ours))
        }
        Why::Boosted { own } => {
            tr!(
                "it has inherited this priority from a thread that waits for a lock which it holds; its own is {own}",
                own = priority(*own)
            )
        }
        Why::MigrationOff => tr!("it could not be moved to another CPU").to_owned(),
        Why::PreemptOff => tr!("it held pre-emption off").to_owned(),
        Why::IrqsOff => tr!("it held interrupts off").to_owned(),
        Why::NotPreempted => tr!("it was asked to give up the CPU and did not").to_owned(),
        Why::RaisedBy { by: name } => tr!("raised by {name}", name = or(name, tr!("an interrupt"))),
        Why::WokenBy { task: 0, name } => tr!("woken from {name}", name = or(name, tr!("an interrupt"))),
        Why::WokenBy { task: tid, name } => {
            tr!("woken by {name} (thread {tid})", name = or(name, tr!("a thread without a name")), tid)
        }
        Why::SentBy { cpu, by: who, work: what } => {
            let who = if who.is_empty() { String::new() } else { tr!(" while {who} ran there", who) };
            let what = if what.is_empty() { String::new() } else { tr!(", to do {what}", what) };
            tr!("sent by CPU {cpu}{who}{what}", cpu, who, what)
        }
        Why::Affinity { cpus } => tr!("it may go to CPUs {cpus}", cpus),
        Why::Managed => tr!("the kernel alone decides where it goes (managed)").to_owned(),
        Why::Counter { name, grew, is_time } => {
            tr!("{name} grew by {grew}", name, grew = amount(*grew, *is_time))
        }
        Why::PartlyStolen { time } => {
            tr!("up to {time} of the latency may be the hypervisor's", time = units::latency(*time))
        }
    };
    name(&said)
}

/// By how much a counter grew, which counts nanoseconds or things.
fn amount(grew: u64, is_time: bool) -> String {
    if is_time { units::latency(Nanos::from_ns(grew)) } else { units::count(grew) }
}

/// A kernel priority (smaller is more urgent) in the terms that users set: deadline, real-time priority, or nice value.
fn priority(kernel: i32) -> String {
    match kernel {
        ..0 => tr!("deadline").to_owned(),
        0..=99 => tr!("real-time {priority}", priority = 99 - kernel),
        _ => tr!("ordinary, nice {nice}", nice = kernel.saturating_sub(120)),
    }
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// The period of something that occurs at regular times, and how often it did: `every 250 ms (57 of 58 fit)`.
pub fn rhythm(rhythm: &Rhythm) -> String {
    let (fitting, of) = rhythm.fitting;
    let fit = if of == 0 {
        String::new()
    } else {
        tr!(" ({fitting} of {of} fit)", fitting = units::count(fitting), of = units::count(of))
    };
    tr!("every {period}{fit}", period = units::duration(rhythm.period), fit)
}

/// Whether a cause occurred at regular times or in bursts; `None` if neither was found.
pub fn pattern(ranked: &Ranked) -> Option<String> {
    let rhythm = ranked.rhythm.as_ref().map(rhythm);
    let bursts = ranked.bursts.map(|of| {
        tr!(
            "in {bursts}, at most {spikes} in one",
            bursts = units::counted(of.clusters, "burst"),
            spikes = units::counted(of.largest, "spike")
        )
    });
    let both: Vec<String> = rhythm.into_iter().chain(bursts).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

/// The CPUs on which, and the loads under which, a cause occurred. CPUs are left out if only one was measured, loads if
/// only one was traced.
pub fn places(ranked: &Ranked, report: &Report) -> Vec<String> {
    let cpus = ranked.by_cpu.iter().map(|on| (on.spikes, tr!("on CPU {cpu}", cpu = on.cpu)));
    let phases = ranked
        .by_phase
        .iter()
        .map(|under| (under.spikes, tr!("under {phase}", phase = phase_name(&report.phase_name(under.phase)))));
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
        tr!(" ({excess} more than ordinarily)", excess = units::latency(blame.excess))
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
    let said: Vec<String> = explanation
        .rhythms
        .iter()
        .map(|found| tr!("on CPU {cpu} {rhythm}", cpu = found.cpu, rhythm = rhythm(&found.rhythm)))
        .collect();
    (!said.is_empty())
        .then(|| tr!("Late activations come at regular times, whatever their causes: {said}.", said = said.join("; ")))
}

/// A sentence about the time that ordinary activations spend; `None` if that is unknown.
pub fn ordinary(explanation: &Explanation) -> Option<String> {
    let said: Vec<String> = explanation
        .ordinary
        .iter()
        .map(|spent| format!("{} {}", units::latency(spent.median), cause(&spent.cause)))
        .collect();
    (!said.is_empty()).then(|| {
        tr!(
            "An ordinary activation spends {said}; only time beyond that is attributed to causes.",
            said = said.join(", ")
        )
    })
}

pub fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::Timerlat => tr!("the kernel's trace, with the events of its own latency tracers"),
        Rung::Tracefs => tr!("the kernel's trace"),
        Rung::Bpf => tr!("a BPF program in the kernel"),
        Rung::Deltas => tr!("counters, read before and after each late activation"),
        Rung::InProcess => tr!("only what the kernel counts for the measuring thread: faults, switches, migrations"),
    }
}

/// A sentence about something that the chosen way of searching cannot see.
pub fn blind(blind: &Blind) -> String {
    match blind {
        Blind::Records => {
            tr!("Nothing was traced, only counted: counters name causes, but not how long each took.").to_owned()
        }
        Blind::Event(name) => tr!("This kernel does not provide the event {name}.", name),
        Blind::CriticalSections => {
            tr!("Code with interrupts or pre-emption off is not recorded itself; only what it delays is seen.")
                .to_owned()
        }
        Blind::Firmware => tr!("What firmware does shows only as a gap in the trace.").to_owned(),
        Blind::Hypervisor => tr!("What the host does shows only as a gap in the trace.").to_owned(),
        Blind::Holes(cpu) => tr!(
            "The trace of CPU {cpu} has holes that the kernel did not report: the self-test, or captured activations \
            without a context switch, show this.",
            cpu
        ),
        Blind::Witness(what, why) => tr!("Cannot be seen: {what}: {why}.", what = witness(what), why = said(why)),
    }
}

/// What a second witness counts, such as `idle states (CPU 3)`.
fn witness(what: &str) -> String {
    match what.split_once(" (") {
        Some((what, cpus)) => format!("{} ({cpus}", said(what)),
        None => said(what).into_owned(),
    }
}

pub fn self_test(test: &SelfTest) -> Option<String> {
    (!test.passed()).then(|| {
        tr!(
            "Self-test of CPU {cpu}: of {timers}, the trace shows {expiries}, {wakings} and {switches}; the trace's \
            clock and the thread's differ by up to {warp}.",
            cpu = test.cpu,
            timers = units::counted(test.timers.into(), "timer"),
            expiries = units::counted(test.expiries.into(), "expiry"),
            wakings = units::counted(test.wakings.into(), "waking"),
            switches = units::counted(test.switches.into(), "switch"),
            warp = units::latency(test.warp)
        )
    })
}

pub fn incomplete(why: Incomplete) -> &'static str {
    match why {
        Incomplete::Holes => {
            tr!("records of this activation or of its CPU are missing, which the kernel did not report as lost")
        }
        Incomplete::Lost => tr!("the kernel lost records of this activation"),
        Incomplete::Late => tr!("the trace begins after the release"),
        Incomplete::Short => tr!("the trace ends before the wake-up"),
        Incomplete::Warped => tr!("the clocks of the trace and of the thread do not agree"),
        Incomplete::TooLong => tr!("this activation had more records than are kept for one"),
        Incomplete::Elsewhere => {
            tr!("the thread was not seen on its CPU; its scheduling policy lets it run on other CPUs")
        }
        Incomplete::NoTrace => tr!("there are no records"),
    }
}

pub fn kept(kept: Kept) -> &'static str {
    match kept {
        Kept::Worst => tr!("one of the activations with the largest latency on its CPU"),
        Kept::Sampled => tr!("drawn at random"),
        Kept::Ordinary => tr!("an ordinary one for comparison"),
    }
}

/// Sentences about the number of late activations, and the share of their latency that is explained.
pub fn late(report: &Report, explanation: &Explanation) -> Vec<String> {
    let all = report.late();
    let thresholds: Vec<String> = explanation
        .thresholds
        .iter()
        .map(|of| tr!("{threshold} on CPU {cpu}", threshold = units::latency(of.threshold), cpu = of.cpu))
        .collect();
    let than = if thresholds.is_empty() {
        String::new()
    } else {
        tr!(" (later than {thresholds})", thresholds = thresholds.join(", "))
    };
    if report.causes_doubt() == Some(CausesDoubt::NotReached) {
        return Vec::new();
    }
    if all.late == 0 {
        return vec![tr!("No activation was late{than}: there is nothing to explain.", than)];
    }
    let mut sentences = vec![tr!(
        "{late} late{than}, {latency} in all; {kept} captured, {complete} of them completely traced.",
        late = were(all.late, "activation"),
        than,
        latency = units::duration(all.latency),
        kept = units::count(all.kept),
        complete = units::count(all.complete)
    )];
    sentences.push(explained(explanation));
    if all.passed_over > 0 {
        sentences.push(tr!(
            "{passed_over} more were not captured, because they came too fast one after the other or needed too much \
            space.",
            passed_over = units::count(all.passed_over)
        ));
    }
    if let Some(share) = explanation.complete.filter(|share| *share < 0.995) {
        sentences.push(tr!(
            "The shares of the causes leave out activations with incomplete records, which have {share} of the \
            captured time.",
            share = units::portion(1.0 - share)
        ));
    }
    sentences
}

/// How much of the traced latency has a known cause. The traced latency is that of all late activations with complete
/// records; every share of a cause refers to it.
pub fn explained(explanation: &Explanation) -> String {
    explanation.explained.map_or_else(
        || tr!("It is not known how much of the latency each cause made.").to_owned(),
        |share| tr!("{share} of the traced latency has a known cause.", share = units::portion(share)),
    )
}

/// Why the causes found are not conclusive: the text after "Inconclusive:".
pub fn doubt(why: CausesDoubt) -> &'static str {
    match why {
        CausesDoubt::NotReached => tr!("the run ended before the part that captures late activations."),
        CausesDoubt::NothingKept => tr!("no late activation was captured."),
        CausesDoubt::NoTimes => tr!("counters name causes, but not how much of the latency each caused."),
        CausesDoubt::Unexplained => tr!("more than a fifth of the traced latency has no known cause."),
        CausesDoubt::SelfTest => tr!("the self-test of the trace failed: records may be missing or have wrong times."),
        CausesDoubt::Incomplete => {
            tr!("more than a fifth of the captured latency belongs to activations with incomplete records.")
        }
        CausesDoubt::Added => {
            tr!("the run was disturbed by something that only adds latency; the report names it.")
        }
    }
}

/// Why a ranking without doubts can be trusted: what was checked.
pub fn checked(report: &Report) -> String {
    let tests = report.causes.iter().filter_map(|causes| causes.tracing.as_ref()).flat_map(|of| &of.self_test);
    let test = if tests.count() > 0 { tr!(", and the self-test of the trace passed") } else { "" };
    match report.late() {
        late if late.late == 0 => tr!("each activation was compared with its threshold{test}", test),
        late => tr!(
            "{complete} of {kept} captured activations have complete records{test}",
            complete = units::count(late.complete),
            kept = units::count(late.kept),
            test
        ),
    }
}

fn were(n: u64, noun: &str) -> String {
    let values = units::counted(n, noun);
    if n == 1 { tr!("{values} was", values) } else { tr!("{values} were", values) }
}

/// Sentences about the method of the search.
pub fn how(tracing: &Tracing, report: &Report) -> Vec<String> {
    let threshold = match tracing.threshold {
        Some(limit) => tr!("later than {limit}", limit = units::latency(limit)),
        None => tr!("later than 99.9{thin}% of the activations before it in this run", thin = units::THIN),
    };
    let cut = report.cut_off.is_some().then(|| super::ending(report));
    let mut sentences: Vec<String> = cut.into_iter().collect();
    sentences.push(tr!(
        "Source: {rung}. An activation is late if it is {threshold}; at most {most} are captured.",
        rung = rung(tracing.rung),
        threshold,
        most = units::count(tracing.windows_max.into())
    ));
    if let Some(sentence) = phases(report) {
        sentences.push(sentence);
    }
    sentences.extend(tracing.refused.iter().map(|better| {
        tr!(
            "A better source cannot be used: {rung}: {why}.",
            rung = rung(better.rung),
            why = said(better.why.trim_end_matches('.'))
        )
    }));
    sentences.extend(tracing.blind.iter().map(blind));
    sentences.extend(tracing.self_test.iter().filter_map(self_test));
    sentences.extend(report.causes.as_ref().and_then(|causes| causes.opinions).map(opinions));
    sentences
}

fn opinions(Opinions { same, different }: Opinions) -> String {
    let all = units::counted(same.saturating_add(different), "case");
    let differs = if different == 0 {
        tr!("all lengths agree").to_owned()
    } else {
        tr!("in {n} of them they differ, so lengths in this report are doubtful", n = units::count(different))
    };
    tr!(
        "The kernel's noise tracer also says how long each interrupt, softirq and thread ran. In {all}, this was \
        compared with the trace: {differs}.",
        all,
        differs
    )
}

/// A sentence that names the traced load phases; `None` if all were traced.
pub fn phases(report: &Report) -> Option<String> {
    let phases = 0..u16::try_from(report.scenario.load_phases.len()).unwrap_or(u16::MAX);
    let traced: Vec<u16> = phases.filter(|phase| report.traced(*phase)).collect();
    let names: Vec<String> =
        traced.iter().map(|phase| format!("{phase} ({})", phase_name(&report.phase_name(*phase)))).collect();
    report.traced_apart().then(|| match names.len() {
        1 => tr!(
            "Causes are those of load phase {names}, which is traced and not part of the verdict.",
            names = names.join(", ")
        ),
        _ => tr!(
            "Causes are those of load phases {names}, which are traced and not part of the verdict.",
            names = names.join(", ")
        ),
    })
}

/// How many records the kernel lost on each CPU; `None` if it lost none.
pub fn lost(explanation: &Explanation) -> Option<String> {
    let lost = explanation.totals.iter().filter(|total| total.lost > 0).map(|total| {
        let all = total.records.saturating_add(total.lost);
        tr!(
            "{lost} of {records} on CPU {cpu}",
            lost = units::count(total.lost),
            records = units::counted(all, "record"),
            cpu = total.cpu
        )
    });
    let lost: Vec<String> = lost.collect();
    (!lost.is_empty()).then(|| {
        tr!("The kernel lost {lost}; activations with a hole in their trace are marked.", lost = lost.join(", "))
    })
}

/// An instant as the time since the start of the run.
pub fn at(report: &Report, instant: punctual_hist::MonoTime) -> String {
    units::moment(RecTime::of(instant, report.epoch))
}

/// The share, time and frequency of a cause: `61 % of the traced latency: 18.2 ms in 58 spikes, at most 812 us in one;
/// in 51 of them it is the main cause`.
pub fn weight(ranked: &Ranked) -> String {
    let (count, first) = (units::counted(ranked.count, "spike"), units::count(ranked.first_in));
    if ranked.total == Nanos::ZERO {
        return tr!("counters point to it in {count}; in {first} of them it is the first suspect", count, first);
    }
    tr!(
        "{share} of the traced latency: {total} in {count}, at most {worst} in one; in {first} of them it is the main \
        cause",
        share = units::portion(ranked.share),
        total = units::duration(ranked.total),
        count,
        worst = units::latency(ranked.worst),
        first
    )
}

/// The share of a cause in few words, for the answer: `61 % of the traced latency, at most 812 us of one activation`.
pub fn short_weight(ranked: &Ranked) -> String {
    if ranked.total == Nanos::ZERO {
        return tr!("counters point to it in {spikes}", spikes = units::counted(ranked.count, "spike"));
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
        title: super::knob(id).map_or("", |knob| knob.title),
        state: report.findings.iter().find(|finding| finding.id == **id).map(|finding| &finding.state),
    };
    let mut knobs: Vec<KnobHere> = ranked.knobs.iter().map(here).collect();
    knobs.retain(|knob| !matches!(knob.state, Some(State::NotApplicable(_))));
    knobs.sort_by_key(|knob| matches!(knob.state, Some(State::Good)));
    knobs
}

/// Why a cause could take the CPU, the most frequent reason first. A reason that did not apply to every spike has its
/// count. An amount is the largest of its spikes.
pub fn reasons(ranked: &Ranked, limit: usize) -> Vec<String> {
    let said = |WhyCount { why: reason, spikes }: &WhyCount| {
        let often =
            if *spikes < ranked.count { format!(" ({})", units::counted(*spikes, "time")) } else { String::new() };
        let reason = match reason {
            Why::Counter { name: counter, grew, is_time } if *spikes > 1 => {
                let grew = amount(*grew, *is_time);
                name(&tr!("{counter} grew by up to {grew}", counter, grew))
            }
            reason => why(reason),
        };
        format!("{reason}{often}")
    };
    ranked.why.iter().take(limit).map(said).collect()
}
