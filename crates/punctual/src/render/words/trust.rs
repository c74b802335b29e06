//! Why a run can, or cannot, be relied upon, in sentences.

use super::{cpus, end};
use crate::render::units;
use punctual_numbers::report::{Distrust, Trust};

/// The answer to "Can this run be trusted?", without its reasons.
pub fn trust_answer(trust: &Trust) -> &'static str {
    match (trust.ok(), trust.remarks.is_empty()) {
        (true, true) => "Yes.",
        (true, false) => "Yes. Worth knowing:",
        (false, _) => "No, because:",
    }
}

/// One reason, or remark, as a sentence.
#[allow(clippy::too_many_lines, reason = "a table")]
pub fn distrust(reason: &Distrust) -> String {
    let times = |n: u64| units::counted(n, "time");
    match reason {
        Distrust::Steal { time } => format!(
            "The hypervisor ran others for {} while this machine wanted to run; that time is in the latencies.",
            units::duration(*time)
        ),
        Distrust::Paused { times: n, total } => format!(
            "The whole machine stood still {}, {} in all (a paused or starved virtual machine); the releases due then \
             are in no histogram.",
            times(*n),
            units::duration(*total)
        ),
        Distrust::Suspended { times: n, total } => format!(
            "The machine was suspended {}, {} in all; the releases due then are in no histogram.",
            times(*n),
            units::duration(*total)
        ),
        Distrust::WallClockStep { times: n } => format!(
            "The wall clock was set {}; latencies are taken from the monotonic clock, times of day are not.",
            times(*n)
        ),
        Distrust::TscDrift => {
            "The TSC and the monotonic clock drifted apart: one of them is wrong, and with it the latencies.".to_owned()
        }
        Distrust::SlowClock { cost } => format!(
            "Reading the clock takes {}, as if it were not read in the vDSO; that time is in every latency.",
            units::latency(*cost)
        ),
        Distrust::Throttled => {
            "A CPU was throttled for heat, so this is the machine when hot, not the machine as built.".to_owned()
        }
        Distrust::RtThrottled => "The kernel stopped real-time threads for using too much time \
            (sched_rt_runtime_us); what was late then was late by that rule."
            .to_owned(),
        Distrust::ChangedDuring { path } => format!("{path} changed during the run, so it is the sum of two runs."),
        Distrust::LoadMissing { load, why } => {
            format!("Load {load} did not run as asked ({why}); with it the numbers may be worse.")
        }
        Distrust::Tracing { tracer } => format!("Tracing was on ({tracer}); it costs time at every event it records."),
        Distrust::HelperShared { cpus: set } => format!(
            "Threads of punctual itself had to run on the measured {}; part of the latency there may be their doing.",
            cpus(set)
        ),
        Distrust::HelperSibling { cpus: set } => format!(
            "Threads of punctual itself had to run on SMT siblings of the measured {}, and slow them down.",
            cpus(set)
        ),
        Distrust::Faults { cpu, faults: n } => format!(
            "The measuring thread of CPU {cpu} took {} in its loop; each is in a latency.",
            units::counted(*n, "page fault")
        ),
        Distrust::Migrations { cpu, times: n } => {
            format!(
                "The measuring thread of CPU {cpu} changed CPU {}, so its numbers are not those of one CPU.",
                times(*n)
            )
        }
        Distrust::MemoryNotLocked => {
            "Memory was not locked (RLIMIT_MEMLOCK), so a page fault can come at any time.".to_owned()
        }
        Distrust::NotRealTime => {
            "The threads did not run in a real-time class, so these are not real-time latencies.".to_owned()
        }
        Distrust::GrantedOtherwise { cpu } => {
            format!("The kernel granted the thread of CPU {cpu} something else than was asked; see the threads table.")
        }
        Distrust::Early { cpu, times: n } => {
            format!("The thread of CPU {cpu} woke before its release {}: a clock or a timer is wrong.", times(*n))
        }
        Distrust::TooFew { due: 0 } => "No release came due, so there is nothing to go by.".to_owned(),
        Distrust::TooFew { due } => format!(
            "Only {} came due: too few for the percentiles that were asked for.",
            units::counted(*due, "release")
        ),
        Distrust::EndedEarly { reason } => format!("The run {}.", end(*reason)),
        Distrust::CutOff => {
            "The recording is cut off: what happened after its last good checkpoint is not in it.".to_owned()
        }
        Distrust::WriteFailed => "Part of the recording could not be written.".to_owned(),
        Distrust::MaximaLost { maxima: n } => format!(
            "The exact maximum is missing for {}, counted for each CPU: it was not collected in time. The histograms \
             are complete.",
            units::counted(*n, "second")
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
        let remarks = vec![Distrust::NotRealTime];
        assert_eq!(trust_answer(&Trust::default()), "Yes.");
        assert!(trust_answer(&Trust { reasons: Vec::new(), remarks: remarks.clone() }).starts_with("Yes."));
        assert!(trust_answer(&Trust { reasons: remarks, remarks: Vec::new() }).starts_with("No"));
    }
}
