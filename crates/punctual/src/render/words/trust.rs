//! Whether a run can be trusted, and why not, in sentences.

use super::{cpus, end};
use crate::render::units;
use punctual_numbers::report::{Direction, Distrust, Trust};

pub const CHECKED: &str = "the recording is whole, the clocks were steady, no time was stolen, and threads, loads and \
                           settings stayed as asked";

/// The answer to "Can this run be trusted?", without its reasons.
pub fn trust_answer(trust: &Trust) -> String {
    match (trust.ok(), trust.reasons.is_empty(), trust.remarks.is_empty()) {
        (false, ..) => "No, because:".to_owned(),
        (true, false, _) => "Yes, although:".to_owned(),
        (true, true, false) => format!("Yes: {CHECKED}. Worth knowing:"),
        (true, true, true) => format!("Yes: {CHECKED}."),
    }
}

/// Doubts about a verdict that stands in spite of them, as the text after "although": `the hypervisor took 40 ms: that
/// can only have added latency`. Empty without doubts.
pub fn although(doubts: &[Distrust]) -> String {
    let mut doubts: Vec<&Distrust> = doubts.iter().collect();
    doubts.sort_by_key(|doubt| doubt.direction());
    let alike = doubts.chunk_by(|a, b| a.direction() == b.direction()).filter_map(|alike| {
        let facts: Vec<String> = alike.iter().map(|doubt| told(doubt).0).collect();
        Some(format!("{}: {}", facts.join("; "), meaning(alike.first()?.direction())))
    });
    alike.collect::<Vec<_>>().join("; ")
}

/// The effect of doubts of this direction on the numbers.
fn meaning(direction: Direction) -> &'static str {
    match direction {
        Direction::OnlyAdds => "that can only have added latency",
        Direction::MayHide => "that can have hidden latency",
        Direction::Both => "that can have added or hidden latency",
        Direction::TooFew => "more samples may hold more misses",
        Direction::MoodsLong => "the answer is about this run, not the next",
        Direction::Neither => "the counts are complete",
    }
}

pub fn distrust(reason: &Distrust) -> String {
    let (fact, follows) = told(reason);
    format!("{}; {follows}.", units::capitalised(&fact))
}

/// How to avoid this doubt in the next run, as the text that follows "First". `None` if only a longer run helps, or if
/// nothing has to be done.
pub fn remedy(doubt: &Distrust) -> Option<String> {
    let text = match doubt {
        Distrust::Steal { .. } | Distrust::Paused { .. } => "let the host give this machine CPUs of its own",
        Distrust::Suspended { .. } => "keep the machine from being suspended (systemd-inhibit)",
        Distrust::WallClockStep { .. } => "stop what sets the clock (chrony, ntpd, systemd-timesyncd)",
        Distrust::TscDrift => "find out which clock is wrong (dmesg, clocksource)",
        Distrust::HelperShared { .. } | Distrust::HelperSibling { .. } => {
            "leave a core for punctual itself out of --cpus"
        }
        Distrust::Throttled => "cool the machine or lower its frequency",
        Distrust::RtThrottled => "raise kernel.sched_rt_runtime_us",
        Distrust::SlowClock { .. } => "use a clock source that is read without entering the kernel",
        Distrust::Faults { .. } | Distrust::MemoryNotLocked => "raise the limit for locked memory (ulimit -l)",
        Distrust::NotRealTime => "measure as root",
        Distrust::InBand { .. } => "look for the fault or signal in the kernel's log (dmesg)",
        Distrust::Migrations { cpu, .. } | Distrust::GrantedOtherwise { cpu } => {
            return Some(format!("find out what moves or changes the thread of CPU {cpu} (report --full)"));
        }
        Distrust::EndedEarly { .. } | Distrust::CutOff => {
            "find out what ended the run early (a signal, a full disk), and let it come to its end"
        }
        Distrust::Damaged { .. } => "check the disk, or write to another with --out",
        Distrust::WriteFailed => "make room on the disk, or write to another with --out",
        Distrust::ChangedDuring { path } => return Some(format!("keep {path} as it is while measuring")),
        Distrust::LoadMissing { load, .. } => {
            return Some(format!("make load {load} run, or leave it out of --load"));
        }
        Distrust::Tracing { .. } => "switch tracing off (current_tracer: nop)",
        Distrust::Early { .. } => "find the clock or timer that is wrong (dmesg, clocksource)",
        Distrust::Drifts { .. } => "find what changes over the run: heat, a job, a load that grows",
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
            format!("the hypervisor took {} in total while this machine wanted to run", units::duration(*time)),
            "that time is in the latencies",
        ),
        Distrust::Paused { times: n, total } => (
            format!(
                "the whole machine stood still {}, {} in all (a paused or starved virtual machine)",
                times(*n),
                units::duration(*total)
            ),
            "the releases due then are in no histogram",
        ),
        Distrust::Suspended { times: n, total } => (
            format!("the machine was suspended {}, {} in all", times(*n), units::duration(*total)),
            "the releases due then are in no histogram",
        ),
        Distrust::WallClockStep { times: n } => (
            format!("the wall clock was set {}", times(*n)),
            "latencies are taken from the monotonic clock, but a machine that was stopped looks like this as well",
        ),
        Distrust::TscDrift => (
            "the TSC and the monotonic clock drifted apart".to_owned(),
            "one of them is wrong, and with it the latencies",
        ),
        Distrust::SlowClock { cost } => (
            format!("reading the clock takes {}, as if it were not read in the vDSO", units::latency(*cost)),
            "that time is in every latency",
        ),
        Distrust::Throttled => {
            ("a CPU was throttled for heat".to_owned(), "this is the machine when hot, not the machine as built")
        }
        Distrust::RtThrottled => (
            "the kernel stopped real-time threads for using too much time (sched_rt_runtime_us)".to_owned(),
            "latency then is the work of that limit",
        ),
        Distrust::ChangedDuring { path } => (format!("{path} changed during the run"), "the numbers mix two settings"),
        Distrust::LoadMissing { load, why } => {
            (format!("load {load} did not run as asked ({why})"), "with it the numbers may be worse")
        }
        Distrust::Tracing { tracer } => {
            (format!("tracing was on ({tracer})"), "it costs time at every event it records")
        }
        Distrust::HelperShared { cpus: set } => (
            format!("threads of punctual itself had to run on the measured {}", cpus(set)),
            "part of the latency there may be theirs",
        ),
        Distrust::HelperSibling { cpus: set } => (
            format!("threads of punctual itself had to run on SMT siblings of the measured {}", cpus(set)),
            "they slow these CPUs down",
        ),
        Distrust::Faults { cpu, faults: n } => (
            format!("the measuring thread of CPU {cpu} took {} in its loop", units::counted(*n, "page fault")),
            "the time of each is in a latency",
        ),
        Distrust::InBand { cpu, times: n } => (
            format!("the real-time core handed the measuring thread of CPU {cpu} over to Linux {}", times(*n)),
            "the way back is in a latency",
        ),
        Distrust::Migrations { cpu, times: n } => (
            format!("the measuring thread of CPU {cpu} changed CPU {}", times(*n)),
            "its numbers are not those of one CPU",
        ),
        Distrust::MemoryNotLocked => {
            ("memory was not locked (RLIMIT_MEMLOCK)".to_owned(), "a page fault can come at any time")
        }
        Distrust::NotRealTime => {
            ("the threads did not run in a real-time class".to_owned(), "these are not real-time latencies")
        }
        Distrust::GrantedOtherwise { cpu } => (
            format!("the kernel granted the thread of CPU {cpu} something else than was asked"),
            "the table of threads in the full report shows what",
        ),
        Distrust::Early { cpu, times: n } => {
            (format!("the thread of CPU {cpu} woke before its release {}", times(*n)), "a clock or a timer is wrong")
        }
        Distrust::TooFew { due: 0 } => ("no release came due".to_owned(), "nothing can be said"),
        Distrust::TooFew { due } => (
            format!("only {} came due", units::counted(*due, "release")),
            if *due < 1_000 { "that is too few for p99.9" } else { "that is too few for p99.99" },
        ),
        Distrust::EndedEarly { reason } => (format!("the run {}", end(*reason)), "what came later was not measured"),
        Distrust::CutOff => {
            ("the recording is cut off".to_owned(), "what happened after it was last saved is not in it")
        }
        Distrust::Damaged { lost_bytes } => (
            format!(
                "the recording is damaged in its middle, and the {} after that cannot be read",
                units::counted(*lost_bytes, "byte")
            ),
            "what was measured there is not in the numbers",
        ),
        Distrust::WriteFailed => {
            ("part of the recording could not be written".to_owned(), "the file holds less than was measured")
        }
        Distrust::MaximaLost { maxima: n } => (
            format!(
                "the exact maximum is missing for {}, counted for each CPU: it was not collected in time",
                units::counted(*n, "second")
            ),
            "the histograms are complete",
        ),
        Distrust::Drifts { load } => (
            format!("the machine changed over the run (load: {load})"),
            "the numbers are about this run and not about the next",
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
             added latency; the machine changed over the run (load: idle): the answer is about this run, not the next",
            units::THIN
        );
        assert_eq!((said, although(&[])), (wanted, String::new()));
    }
}
