//! Puts every fact of a report into plain English. The terminal and the page use the same words.
//!
//! There is one function for each enum. It names every variant, so that a new variant does not compile until it has
//! words. Must not know the medium: no colour, no markup, no line breaks.

pub mod answer;
pub mod causes;
pub mod claims;
pub mod command;
pub mod compare;
mod findings;
pub mod next;
mod refusal;
pub mod runs;
mod trust;
mod verdict;

pub use findings::{
    Alike, blast_meaning, by_family, by_reason, findings_counted, otherwise, resort, standing_in_the_way,
};
pub use refusal::{import_problem, measure_error, scenario_error, told};
#[cfg(test)]
pub use trust::CHECKED;
pub use trust::{although, distrust, trust_answer};
pub use verdict::{skip_difference, verdict};

use super::clean::shortened;
use super::lang::{said, text, tr, width};
use super::units;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Confidence, Finding, Severity, State};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use punctual_linux::measure::{OtherProgram, OtherWork, WallTime, wall_time};
use punctual_numbers::recording::{CutOff, CutReason, EndReason, Event, EventKind, InForce, LoadDone, Moment};
use punctual_numbers::report::{CpuRow, PhaseRow, Report};
use punctual_numbers::scenario::{
    Amount, Channel, Core, LoadPhase, Mechanism, OtherClock, Policy, Scenario, TimerPhase,
};
use punctual_tuning::knobs::{self, Knob};

/// The knob with this id. The program for boards has no catalogue of knobs, because it does not audit.
pub fn knob(id: &str) -> Option<&'static Knob> {
    if cfg!(feature = "every-verb") { knobs::find(id) } else { None }
}

/// `CPU 2`, `CPUs 0-3`, `no CPU`.
pub fn cpus(set: &CpuSet) -> String {
    match set.len() {
        0 => tr!("no CPU").to_owned(),
        1 => tr!("CPU {set}", set),
        _ => tr!("CPUs {set}", set),
    }
}

pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => tr!("info"),
        Severity::Medium => tr!("medium"),
        Severity::High => tr!("high"),
        Severity::Fatal => tr!("fatal"),
    }
}

pub fn severity_meaning(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => tr!("worth knowing"),
        Severity::Medium => tr!("costs microseconds, or happens rarely"),
        Severity::High => tr!("costs tens to hundreds of microseconds, or happens regularly"),
        Severity::Fatal => tr!("the need cannot be met unless this is changed"),
    }
}

pub fn state(state: &State) -> &'static str {
    match state {
        State::Good => tr!("good"),
        State::Bad => tr!("bad"),
        State::Unknown(_) => tr!("unknown"),
        State::Advice(_) => tr!("advice"),
        State::NotApplicable(_) => tr!("not applicable"),
    }
}

/// The title of a finding. A knob's title names its wanted state, so "should be" is put before it unless the machine
/// has that state.
pub fn title(finding: &Finding) -> String {
    match finding.state {
        State::Bad | State::Unknown(_) | State::Advice(_) => tr!("should be: {title}", title = text(&finding.title)),
        State::Good | State::NotApplicable(_) => text(&finding.title).to_owned(),
    }
}

pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => tr!("common advice, not verified"),
        Confidence::Medium => tr!("documented by the kernel; how much it helps depends on the machine"),
        Confidence::High => tr!("verified in kernel source or by measurement"),
    }
}

pub fn event_kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Suspended => tr!("the machine was suspended"),
        EventKind::Paused => tr!("the whole machine stood still (a paused or starved virtual machine)"),
        EventKind::WallClockStep => tr!("the wall clock was set"),
        EventKind::TscDrift => tr!("the TSC and the monotonic clock drifted apart"),
        EventKind::Steal => tr!("the hypervisor ran other work while this machine wanted to run"),
        EventKind::Throttled => tr!("a CPU was throttled for heat"),
        EventKind::RtThrottled => tr!("the kernel stopped real-time threads for using too much time"),
        EventKind::Moved => tr!("a CPU went off-line or its measuring thread was moved"),
    }
}

/// One event in words, without the moment at which it happened.
pub fn event(event: &Event) -> String {
    let mut text = event_kind(event.kind).to_owned();
    if event.length > Nanos::ZERO {
        let length = units::duration(event.length);
        text = match event.kind {
            EventKind::WallClockStep => tr!("{text}, by {length}", text, length),
            _ => tr!("{text}, for {length}", text, length),
        };
    }
    match event.releases_lost {
        0 => text,
        n => tr!("{text}; {releases} due meanwhile (in no histogram)", text, releases = units::counted(n, "release")),
    }
}

/// How the run ended, as the text that follows "the run".
pub fn end(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Completed => tr!("ran as long as asked"),
        EndReason::Interrupted => tr!("was stopped by a signal (SIGINT or SIGTERM)"),
        EndReason::LimitExceeded => tr!("was stopped at the first activation later than the limit"),
        EndReason::Stalled => tr!("was stopped because a measuring thread made no progress any more"),
        EndReason::SourceLost => {
            tr!(
                "was stopped because what a measuring thread waits for failed: its clock, or the other side of a channel"
            )
        }
        EndReason::ProgramEnded => tr!("ended with the program that was watched"),
        EndReason::CoreLost => tr!("was stopped because the real-time core no longer let a measuring thread sleep"),
    }
}

pub fn ending(report: &Report) -> String {
    let how = report.end.map_or(tr!("did not finish, according to the recording"), end);
    let mut text = tr!("The run {how}.", how);
    if let Some(cut) = &report.cut_off {
        text = format!("{text} {}", incomplete(cut));
    }
    if let Some(error) = &report.write_error {
        text = tr!(
            "{text} The recording could not be written completely: {error}.",
            text,
            error = error.trim_end_matches('.')
        );
    }
    text
}

/// A sentence that says what is missing from a recording, and why. Damage in the middle and a missing end are worded
/// differently.
fn incomplete(cut: &CutOff) -> String {
    let good = units::counted(cut.good_bytes, "byte");
    match cut.reason {
        CutReason::Damaged(how) => tr!(
            "The recording is damaged after {good}: {how}, and the {bytes} that follow are not read.",
            good,
            how,
            bytes = units::counted(cut.lost_bytes, "byte")
        ),
        CutReason::Unfinished | CutReason::InAFrame => {
            tr!("The recording is cut off after {good}: {reason}.", good, reason = said(&cut.reason.to_string()))
        }
    }
}

pub fn moment(moment: Moment) -> &'static str {
    match moment {
        Moment::Before => tr!("before"),
        Moment::During => tr!("during"),
        Moment::After => tr!("after"),
    }
}

pub fn policy(policy: Policy) -> String {
    match policy {
        Policy::Fifo(priority) => tr!("SCHED_FIFO priority {priority}", priority),
        Policy::RoundRobin(priority) => tr!("SCHED_RR priority {priority}", priority),
        Policy::Deadline { runtime } => {
            tr!("SCHED_DEADLINE with {runtime} per period", runtime = units::latency(runtime))
        }
        Policy::Other => tr!("SCHED_OTHER (not real time)").to_owned(),
    }
}

/// The kernel that wakes threads which wait like this.
pub fn kernel(mechanism: Mechanism) -> &'static str {
    match mechanism.core() {
        Some((Core::Evl, _)) => "EVL",
        Some((Core::Cobalt, _)) => "Cobalt",
        None => "Linux",
    }
}

pub fn mechanism(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Absolute => tr!("clock_nanosleep to the release"),
        Mechanism::Relative => tr!("clock_nanosleep for the time left"),
        Mechanism::Timerfd => "timerfd",
        Mechanism::Futex => tr!("futex with a time-out"),
        Mechanism::Hybrid => tr!("clock_nanosleep to shortly before the release, then polling the clock"),
        Mechanism::Spin => tr!("polling the clock"),
        Mechanism::Nanosleep => tr!("sleeping one period from the current time"),
        Mechanism::Evl => tr!("an out-of-band sleep on EVL until the release"),
        Mechanism::Cobalt => tr!("an out-of-band sleep on Cobalt until the release"),
        Mechanism::CobaltTimer => tr!("a timer file descriptor of Cobalt, on which the thread waits out-of-band"),
        Mechanism::EvlKernel => tr!("a task in the kernel that EVL's driver latmus wakes"),
        Mechanism::EvlIrq => tr!("the timer handler of EVL's driver latmus"),
        Mechanism::CobaltKernel => tr!("a task in the kernel that Cobalt's driver timerbench wakes"),
        Mechanism::CobaltIrq => tr!("the timer handler of Cobalt's driver timerbench"),
        Mechanism::RoundTrip(Channel::Rpmsg) => {
            tr!("a message through rpmsg at each release, and the wait for its answer")
        }
        Mechanism::RoundTrip(Channel::SharedMemory) => {
            tr!("a number written to shared memory at each release, and polling for its answer")
        }
        Mechanism::OnClock(OtherClock::Realtime) => tr!("clock_nanosleep on CLOCK_REALTIME until the release"),
        Mechanism::OnClock(OtherClock::Tai) => tr!("clock_nanosleep on CLOCK_TAI until the release"),
        Mechanism::OnClock(OtherClock::Auxiliary(_)) => tr!("clock_nanosleep until the release on an auxiliary clock"),
        Mechanism::OnClock(OtherClock::Ptp(_)) => tr!("clock_nanosleep until the release on a PTP clock"),
    }
}

/// How the releases of a thread lie relative to the kernel's tick and to the releases on other CPUs.
pub fn timer_phase(phase: TimerPhase) -> &'static str {
    match phase {
        TimerPhase::Auto => tr!("together, off the tick"),
        TimerPhase::Aligned => tr!("together, at multiples of the period"),
        TimerPhase::Staggered => tr!("spread over the period, CPU by CPU"),
        TimerPhase::Random(_) => tr!("at random"),
    }
}

/// Where the releases of a measurement lie.
fn releases(scenario: &Scenario) -> &'static str {
    match scenario.mechanism.driver_of() {
        Some(_) => tr!("where the driver puts them"),
        None => timer_phase(scenario.phase),
    }
}

/// The length of a measurement: a time, or a number of activations.
pub fn amount(amount: Amount) -> String {
    match amount {
        Amount::Time(length) => units::duration(length),
        Amount::Activations(n) => tr!("{activations} of each thread", activations = units::counted(n, "activation")),
    }
}

pub fn asked(report: &Report) -> String {
    let budget = report
        .need
        .budget
        .map_or_else(|| tr!("no budget stated").to_owned(), |b| tr!("budget {b}", b = units::latency(b)));
    tr!("Period {period}, {budget}.", period = units::period(report.need.period), budget)
}

/// The moment of a CPU's largest latency, and the load at that moment.
pub fn worst_at(cpu: &CpuRow) -> String {
    let told = cpu.worst_at.as_ref().map(|worst| format!("{}, {}", units::moment(worst.at), phase_name(&worst.phase)));
    told.unwrap_or_else(|| units::ABSENT.to_owned())
}

/// A sentence about the scenario: periods, policy and length. If the wanted policy was refused, the sentence names the
/// granted one and says so.
pub fn scenario(report: &Report) -> String {
    let (scenario, threads) = (&report.scenario, &report.threads);
    let refused = scenario.policy != Policy::Other && threads.iter().any(|granted| granted.policy == Policy::Other);
    let mut text = tr!(
        "{policy} on {cpus}, {mechanism}, releases {phase}, measured for {length} after a warm-up of {warm_up}",
        policy = if refused {
            tr!("SCHED_OTHER (not real time; {policy} was refused)", policy = policy(scenario.policy))
        } else {
            policy(scenario.policy)
        },
        cpus = cpus(&scenario.cpus()),
        mechanism = mechanism(scenario.mechanism),
        phase = releases(scenario),
        length = amount(scenario.length),
        warm_up = amount(scenario.warm_up)
    );
    if report.traced_apart() {
        text.push_str(tr!(", where traced load phases only serve to find causes"));
    }
    if let Some(us) = scenario.dma_latency_us {
        text = tr!("{text}, with cpu_dma_latency held at {us}{thin}us", text, us, thin = units::THIN);
    }
    if let Some(limit) = scenario.limit {
        text = tr!("{text}, to stop at the first activation later than {limit}", text, limit = units::latency(limit));
    }
    if let Some(suite) = &scenario.suite {
        text = tr!("{text}, as suite {suite}", text, suite);
    }
    format!("{text}.")
}

/// A sentence that names the loads, one phase after the other.
pub fn loads(report: &Report) -> String {
    let phases: Vec<String> = report.scenario.load_phases.iter().map(LoadPhase::name).collect();
    tr!("Load: {phases}.", phases = phases.join(tr!(", then ")))
}

/// A sentence about the measurement to come: `Measuring for 30 s, which takes 34 to 41 s with what is between phases:
/// idle 10 s, then 5 loads 20 s.`
pub fn scenario_ahead(scenario: &Scenario) -> String {
    let Amount::Time(whole) = scenario.length else {
        return tr!("Measuring {amount}.", amount = amount(scenario.length));
    };
    let parts: u64 = scenario.load_phases.iter().map(|phase| u64::from(phase.parts)).sum();
    let length = |phase: &LoadPhase| Nanos::from_ns(whole.as_ns() / parts.max(1) * u64::from(phase.parts));
    let phase = |phase: &LoadPhase| format!("{} {}", short_phase_name(&phase.name()), units::duration(length(phase)));
    let phases: Vec<String> = scenario.load_phases.iter().map(phase).collect();
    let second = Nanos::from_secs(1);
    let WallTime { least, most } = wall_time(scenario);
    let (least, most) = (least.whole(second), most.whole(second) + 1);
    let seconds = |number: u64| units::duration(Nanos::from_secs(number));
    tr!(
        "Measuring for {length}, which takes {least} to {most} including set-up between phases: {phases}.",
        length = units::duration(whole),
        least = if most < 60 { least.to_string() } else { seconds(least) },
        most = seconds(most),
        phases = phases.join(tr!(", then "))
    )
}

/// How much CPU time other programs use: `1.2 CPUs: make (pid 812) 83 %, cc1 (pid 820) 31 % of a CPU`.
pub fn other_work(work: &OtherWork) -> String {
    let program = |one: &OtherProgram| {
        tr!(
            "{one} (pid {pid}) {cpus} %",
            one = shortened(&one.name, 20),
            pid = one.pid,
            cpus = format!("{:.0}", one.cpus * 100.0)
        )
    };
    let named: Vec<String> = work.programs.iter().map(program).collect();
    tr!("{cpus} CPUs: {named} of a CPU", cpus = format!("{:.1}", work.cpus), named = named.join(", "))
}

pub fn short_phase_name(name: &str) -> String {
    const ROOM: usize = 14;
    let name = phase_name(name);
    match name.split('+').count() {
        _ if width(name) <= ROOM => text(name).to_owned(),
        1 => shortened(name, ROOM),
        loads => tr!("{loads} loads", loads),
    }
}

/// The rate that a load achieved, `1 234 loops/s`, or why there is no number.
pub fn achieved(load: &LoadDone) -> String {
    let rate = load.operations.and_then(|n| units::rate(n, load.time));
    let rate = rate.map_or_else(
        || tr!("does not say how much it did").to_owned(),
        |r| match r.split_once('/') {
            Some((n, per)) => format!("{n}{}{}/{per}", units::THIN, text(&load.unit)),
            None => r,
        },
    );
    match &load.failure {
        Some(failure) => tr!("{rate}; failed: {failure}", rate, failure),
        None => rate,
    }
}

/// A setting whose effective value changed, with both values as text.
pub struct Changed<'a> {
    pub path: &'a str,
    pub was: &'a str,
    pub is: &'a str,
}

/// The settings whose values in `after` differ from `before`. A setting that is missing in `after` was not read again,
/// and does not count as changed.
pub fn changed_between<'a>(before: &'a InForce, after: &'a InForce) -> Vec<Changed<'a>> {
    let was = |path: &str| MachineLine::of(&before.values, path);
    let changed = after.values.iter().filter(|line| was(&line.name).is_none_or(|was| was != line.value));
    let turned = |MachineLine { name, value }: &'a MachineLine| Changed {
        path: name,
        was: was(name).unwrap_or(tr!("not read before")),
        is: value,
    };
    changed.map(turned).collect()
}

/// The name of a load phase; the phase without load is called "idle".
pub fn phase_name(name: &str) -> &str {
    if name.is_empty() { tr!("idle") } else { name }
}

/// The name of a load phase for a table. It says whether the phase was traced.
pub fn phase_title(report: &Report, row: &PhaseRow) -> String {
    let name = phase_name(&row.name);
    if report.traced(row.phase) { tr!("{name} (traced)", name) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::clean::ascii as plain;
    use crate::render::sample;
    use punctual_numbers::recording::RecTime;

    #[test]
    fn cpu_sets_have_a_number() {
        assert_eq!(cpus(&CpuSet::new()), "no CPU");
        assert_eq!(cpus(&CpuSet::from_iter([2])), "CPU 2");
        assert_eq!(cpus(&CpuSet::from_iter([0, 1, 2, 5])), "CPUs 0-2,5");
    }

    #[test]
    fn the_worst_findings_come_first_and_the_good_ones_not_at_all() {
        let report = sample::two_cpus();
        let shown = standing_in_the_way(&report);
        assert!(shown.iter().all(|f| matches!(f.state, State::Bad | State::Unknown(_))));
        assert_eq!(shown.first().map(|f| f.severity), Some(Severity::High));
        assert!(shown.iter().position(|f| f.state != State::Bad) > shown.iter().rposition(|f| f.state == State::Bad));
    }

    #[test]
    fn a_load_that_does_not_count_has_no_rate() {
        let mut load = sample::load(1, "cpu", Some(20_000));
        assert_eq!(plain(&achieved(&load)), "1 000 loops/s");
        load.operations = None;
        assert_eq!(achieved(&load), "does not say how much it did");
        load.failure = Some("ended with status 2".to_owned());
        assert_eq!(achieved(&load), "does not say how much it did; failed: ended with status 2");
    }

    #[test]
    fn an_event_says_how_long_and_what_was_lost() {
        let mut e = Event { at: RecTime::EPOCH, length: Nanos::ZERO, kind: EventKind::WallClockStep, releases_lost: 0 };
        assert_eq!(event(&e), "the wall clock was set");
        e.length = Nanos::from_secs(90);
        e.releases_lost = 1;
        assert_eq!(
            plain(&event(&e)),
            "the wall clock was set, by 1 min 30 s; 1 release due meanwhile (in no histogram)"
        );
    }

    #[test]
    fn a_run_without_an_end_is_not_called_finished() {
        let cut = ending(&sample::cut_off());
        assert!(cut.contains("did not finish") && cut.contains("cut off after"), "{cut}");
        let damaged =
            CutOff { good_bytes: 1, lost_bytes: 9_000, reason: CutReason::Damaged("a frame's checksum is wrong") };
        let said = plain(&incomplete(&damaged));
        assert_eq!(
            said,
            "The recording is damaged after 1 byte: a frame's checksum is wrong, and the 9 000 bytes that follow are not read."
        );
        assert_eq!(ending(&sample::two_cpus()), "The run ran as long as asked.");
    }
}
