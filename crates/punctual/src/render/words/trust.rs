//! Whether a run can be trusted, and why not, in sentences.

use super::{cpus, end};
use crate::render::lang::{said, text, tr};
use crate::render::units;
use punctual_numbers::report::{Direction, Distrust, Trust};

pub const CHECKED: &str = "the recording is complete, the clocks were steady, no time was stolen, and threads, loads \
    and settings stayed as requested";

/// The answer to "Can this run be trusted?", without its reasons.
pub fn trust_answer(trust: &Trust) -> String {
    match (trust.ok(), trust.reasons.is_empty(), trust.remarks.is_empty()) {
        (false, ..) => tr!("No, because:").to_owned(),
        (true, false, _) => tr!("Yes, although:").to_owned(),
        (true, true, false) => tr!("Yes: {checked}. Worth knowing:", checked = text(CHECKED)),
        (true, true, true) => tr!("Yes: {checked}.", checked = text(CHECKED)),
    }
}

/// Doubts about a verdict that stands in spite of them, as the text after "although": `the hypervisor took 40 ms: that
/// can only have added latency`. Empty without doubts.
pub fn although(doubts: &[Distrust]) -> String {
    let mut doubts: Vec<&Distrust> = doubts.iter().collect();
    doubts.sort_by_key(|doubt| doubt.direction());
    let alike = doubts.chunk_by(|a, b| a.direction() == b.direction()).filter_map(|alike| {
        let facts: Vec<String> = alike.iter().map(|doubt| told(doubt).0).collect();
        let meaning = meaning(alike.first()?.direction());
        Some(tr!("{facts}: {meaning}", facts = facts.join(tr!("; ")), meaning))
    });
    alike.collect::<Vec<_>>().join(tr!("; "))
}

/// The effect of doubts of this direction on the numbers.
fn meaning(direction: Direction) -> &'static str {
    match direction {
        Direction::OnlyAdds => tr!("that can only have added latency"),
        Direction::MayHide => tr!("that can have hidden latency"),
        Direction::Both => tr!("that can have added or hidden latency"),
        Direction::TooFew => tr!("more samples may hold more misses"),
        Direction::MoodsLong => tr!("the answer is about this run, not the next"),
        Direction::Neither => tr!("the counts are complete"),
    }
}

pub fn distrust(reason: &Distrust) -> String {
    let (fact, follows) = told(reason);
    tr!("{fact}; {follows}.", fact = units::capitalised(&fact), follows)
}

/// How to avoid this doubt in the next run, as the text that follows "First". `None` if only a longer run helps, or if
/// nothing has to be done.
pub fn remedy(doubt: &Distrust) -> Option<String> {
    let text = match doubt {
        Distrust::Steal { .. } | Distrust::Paused { .. } => tr!("let the host give this machine CPUs of its own"),
        Distrust::Suspended { .. } => tr!("keep the machine from being suspended (systemd-inhibit)"),
        Distrust::WallClockStep { .. } => tr!("stop what sets the clock (chrony, ntpd, systemd-timesyncd)"),
        Distrust::TscDrift => tr!("find out which clock is wrong (dmesg, clocksource)"),
        Distrust::HelperShared { .. } | Distrust::HelperSibling { .. } => {
            tr!("leave a core for punctual itself out of --cpus")
        }
        Distrust::Throttled => tr!("cool the machine or lower its frequency"),
        Distrust::RtThrottled => tr!("raise kernel.sched_rt_runtime_us"),
        Distrust::SlowClock { .. } => tr!("use a clock source that is read without entering the kernel"),
        Distrust::Faults { .. } | Distrust::MemoryNotLocked => tr!("raise the limit for locked memory (ulimit -l)"),
        Distrust::NotRealTime => tr!("measure as root"),
        Distrust::InBand { .. } => tr!("look for the fault or signal in the kernel's log (dmesg)"),
        Distrust::Migrations { cpu, .. } | Distrust::GrantedOtherwise { cpu } => {
            return Some(tr!(
                "find out what moves the thread of CPU {cpu} or changes its settings (report --full)",
                cpu
            ));
        }
        Distrust::EndedEarly { .. } | Distrust::CutOff => {
            tr!("find out what ended the run early (a signal, a full disk), and let it run to its end")
        }
        Distrust::Damaged { .. } => tr!("check the disk, or write to another with --out"),
        Distrust::WriteFailed => tr!("make room on the disk, or write to another with --out"),
        Distrust::ChangedDuring { path } => return Some(tr!("keep {path} as it is while measuring", path)),
        Distrust::LoadMissing { load, .. } => {
            return Some(tr!("make sure that load {load} can run, or leave it out of --load", load));
        }
        Distrust::Tracing { .. } => tr!("switch tracing off (current_tracer: nop)"),
        Distrust::Early { .. } => tr!(
            "find the clock or timer that is wrong (dmesg, clocksource); on Cobalt or EVL, measure with --gravity tune"
        ),
        Distrust::Drifts { .. } => tr!("find what changes over the run: heat, a job, a load that grows"),
        Distrust::TooFew { .. } | Distrust::MaximaLost { .. } => return None,
    };
    Some(text.to_owned())
}

/// The fact behind a doubt, and its effect on the numbers.
#[allow(clippy::too_many_lines, reason = "a table")]
fn told(doubt: &Distrust) -> (String, &'static str) {
    let times = |n: u64| units::counted(n, "time");
    match doubt {
        Distrust::Steal { time } => (
            tr!("the hypervisor took {time} in total while this machine wanted to run", time = units::duration(*time)),
            tr!("this time is part of the latencies"),
        ),
        Distrust::Paused { times: n, total } => (
            tr!(
                "the whole machine stood still {times}, {total} in all (a paused or starved virtual machine)",
                times = times(*n),
                total = units::duration(*total)
            ),
            tr!("the releases that were due during this time are in no histogram"),
        ),
        Distrust::Suspended { times: n, total } => (
            tr!(
                "the machine was suspended {times}, {total} in all",
                times = times(*n),
                total = units::duration(*total)
            ),
            tr!("the releases that were due during this time are in no histogram"),
        ),
        Distrust::WallClockStep { times: n } => (
            tr!("the wall clock was set {times}", times = times(*n)),
            tr!("latencies are measured by the monotonic clock, but setting the clock can also be a sign that the \
                machine was stopped"),
        ),
        Distrust::TscDrift => (
            tr!("the TSC and the monotonic clock drifted apart").to_owned(),
            tr!("one of them is wrong, so the latencies may be wrong, too"),
        ),
        Distrust::SlowClock { cost } => (
            tr!("reading the clock takes {cost}, as if it were not read in the vDSO", cost = units::latency(*cost)),
            tr!("this time is part of every latency"),
        ),
        Distrust::Throttled => (
            tr!("a CPU was throttled for heat").to_owned(),
            tr!("the latencies are those of the hot machine, not those at its normal speed"),
        ),
        Distrust::RtThrottled => (
            tr!("the kernel stopped real-time threads for using too much time (sched_rt_runtime_us)").to_owned(),
            tr!("the latency at these times comes from this limit"),
        ),
        Distrust::ChangedDuring { path } => {
            (tr!("{path} changed during the run", path), tr!("the numbers come from two different settings"))
        }
        Distrust::LoadMissing { load, why } => (
            tr!("load {load} did not run as asked ({why})", load, why = said(why)),
            tr!("with this load the numbers may be worse"),
        ),
        Distrust::Tracing { tracer } => {
            (tr!("tracing was on ({tracer})", tracer), tr!("it costs time at every event that it records"))
        }
        Distrust::HelperShared { cpus: set } => (
            tr!("threads of punctual itself had to run on the measured {cpus}", cpus = cpus(set)),
            tr!("they may have caused a part of the latency there"),
        ),
        Distrust::HelperSibling { cpus: set } => (
            tr!("threads of punctual itself had to run on SMT siblings of the measured {cpus}", cpus = cpus(set)),
            tr!("they slow the measured CPUs down"),
        ),
        Distrust::Faults { cpu, faults: n } => (
            tr!(
                "the measuring thread of CPU {cpu} took {faults} in its loop",
                cpu,
                faults = units::counted(*n, "page fault")
            ),
            tr!("the time of each fault is part of a latency"),
        ),
        Distrust::InBand { cpu, times: n } => (
            tr!(
                "the real-time core handed the measuring thread of CPU {cpu} over to Linux {times}",
                cpu,
                times = times(*n)
            ),
            tr!("the time to come back is part of a latency"),
        ),
        Distrust::Migrations { cpu, times: n } => (
            tr!("the measuring thread of CPU {cpu} changed CPU {times}", cpu, times = times(*n)),
            tr!("its numbers do not belong to a single CPU"),
        ),
        Distrust::MemoryNotLocked => {
            (tr!("memory was not locked (RLIMIT_MEMLOCK)").to_owned(), tr!("a page fault can come at any time"))
        }
        Distrust::NotRealTime => {
            (tr!("the threads did not run in a real-time class").to_owned(), tr!("these are not real-time latencies"))
        }
        Distrust::GrantedOtherwise { cpu } => (
            tr!("the kernel granted the thread of CPU {cpu} other settings than requested", cpu),
            tr!("the table of threads in the full report shows which"),
        ),
        Distrust::Early { cpu, times: n, by } => {
            let times = times(*n);
            let seen = match by.map(units::latency) {
                Some(by) => tr!("CPU {cpu} woke before the release {times}, by up to {by}", cpu, times, by),
                None => tr!("the thread of CPU {cpu} woke before its release {times}", cpu, times),
            };
            (
                seen,
                tr!("a clock or a timer is wrong, or the gravity of the Cobalt or EVL core (how early its timers are \
                    set) is too large"),
            )
        }
        Distrust::TooFew { due: 0 } => (tr!("no release came due").to_owned(), tr!("nothing can be said")),
        Distrust::TooFew { due } => (
            tr!("only {releases} came due", releases = units::counted(*due, "release")),
            if *due < 1_000 { tr!("that is too few for p99.9") } else { tr!("that is too few for p99.99") },
        ),
        Distrust::EndedEarly { reason } => {
            (tr!("the run {ended}", ended = end(*reason)), tr!("nothing after that was measured"))
        }
        Distrust::CutOff => (
            tr!("the recording is cut off").to_owned(),
            tr!("it does not contain what happened after it was last saved"),
        ),
        Distrust::Damaged { lost_bytes } => (
            tr!(
                "the recording is damaged in its middle, and the {bytes} after that cannot be read",
                bytes = units::counted(*lost_bytes, "byte")
            ),
            tr!("the numbers do not include what was measured there"),
        ),
        Distrust::WriteFailed => (
            tr!("part of the recording could not be written").to_owned(),
            tr!("the file contains less than was measured"),
        ),
        Distrust::MaximaLost { maxima: n } => (
            tr!(
                "the exact maximum is missing for {seconds} (added over all CPUs), because it was not collected in \
                time",
                seconds = units::counted(*n, "second")
            ),
            tr!("the histograms are complete"),
        ),
        Distrust::Drifts { load } => (
            tr!("latencies drifted during the run (load: {load})", load),
            tr!("the numbers are about this run and not about the next"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::sample;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_has_its_own_sentence_and_names_its_numbers() {
        let reasons = sample::every_distrust();
        let sentences: BTreeSet<String> = reasons.iter().map(distrust).collect();
        assert_eq!(sentences.len(), reasons.len());
        for sentence in &sentences {
            assert!(sentence.ends_with('.') && !sentence.contains("  "), "{sentence}");
        }
        let number = units::counted(7, "page fault");
        assert!(distrust(&Distrust::Faults { cpu: 3, faults: 7 }).contains(&number));
        assert!(
            distrust(&Distrust::SlowClock { cost: punctual_hist::Nanos::from_ns(850) })
                .contains(&format!("850{}ns", units::THIN))
        );
    }

    #[test]
    fn remarks_do_not_turn_a_yes_into_a_no() {
        let answer = |reasons: &[Distrust], remarks: &[Distrust]| {
            trust_answer(&Trust { reasons: reasons.to_vec(), remarks: remarks.to_vec() })
        };
        let [adds, hides] = [[Distrust::NotRealTime], [Distrust::CutOff]];
        assert_eq!(
            (answer(&[], &[]), answer(&adds, &hides)),
            (format!("Yes: {CHECKED}."), "Yes, although:".to_owned())
        );
        assert!(answer(&[], &hides).starts_with("Yes: ") && answer(&hides, &adds).starts_with("No"));
    }

    #[test]
    fn what_stands_is_said_with_what_speaks_against_it() {
        let steal = Distrust::Steal { time: punctual_hist::Nanos::from_ms(40) };
        let said = although(&[Distrust::Drifts { load: "idle".to_owned() }, steal, Distrust::Throttled]);
        let wanted = format!(
            "the hypervisor took 40{}ms in total while this machine wanted to run; a CPU was throttled for heat: that can only have \
             added latency; latencies drifted during the run (load: idle): the answer is about this run, not the next",
            units::THIN
        );
        assert_eq!((said, although(&[])), (wanted, String::new()));
    }
}
