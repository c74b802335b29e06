//! Errors with their remedies: why a scenario cannot be run, what to write instead, and what to do about other errors.

use super::{cpus, units};
use punctual_linux::apply::EngineError;
use punctual_linux::measure::{MeasureError, MeasureRemedy};
use punctual_linux::recording::{RecordingError, Unresumable};
use punctual_linux::result_file::ResultError;
use punctual_numbers::foreign::{self, Problem, Unit};
use punctual_numbers::recording::Unreadable;
use punctual_numbers::scenario::{DRIVER_PERIOD_MAX, LONGEST, PERIOD_MAX, PERIOD_MIN, PRIORITY_MAX, ScenarioError};
use std::io::{self, ErrorKind};

pub fn scenario_error(error: ScenarioError) -> anyhow::Error {
    anyhow::Error::msg(match error {
        ScenarioError::OnlineUnknown => {
            "which CPUs run is not known: neither /sys nor /proc says so. Mount them:\n  mount -t proc proc /proc; mount -t \
             sysfs sysfs /sys"
                .to_owned()
        }
        ScenarioError::NoCpus => "no CPU to measure: name some with --cpus".to_owned(),
        ScenarioError::NotOnline(asked, online) => {
            format!("{} cannot be used: not online; online are {}", cpus(&asked), cpus(&online))
        }
        ScenarioError::Period(period) => format!(
            "a period of {} cannot be measured: write one from {} to {}",
            units::period(period),
            units::latency(PERIOD_MIN),
            units::duration(PERIOD_MAX)
        ),
        ScenarioError::Priority(priority) => format!(
            "priority {priority} cannot be used: it must be 1 to {PRIORITY_MAX}; above that run the kernel's own threads, \
             and a machine that starves them hangs"
        ),
        ScenarioError::TooShort(length) => {
            format!("{} holds no activation: measure at least one period, or --activations 1", units::duration(length))
        }
        ScenarioError::TooLong(length) => format!(
            "{} is too long: a warm-up or a run may take {} at most",
            units::duration(length),
            units::duration(LONGEST)
        ),
        ScenarioError::Budget(budget) => format!(
            "a budget of {} is not below the period: an activation with that latency has skipped the next release, \
            which is a miss in itself; write a smaller --budget or a longer --period",
            units::duration(budget)
        ),
        ScenarioError::NoPhase => "no load phase: write for example --load none".to_owned(),
        ScenarioError::SpinEverywhere => "if every CPU ran a real-time thread that never sleeps, this machine would lock up: leave at least one CPU out with --cpus, or use --policy other"
            .to_owned(),
        ScenarioError::Runtime(runtime) => {
            format!("a deadline run time of {} does not fit into the period", units::latency(runtime))
        }
        ScenarioError::DriverPeriod(period) => format!(
            "a core's driver that measures in the kernel takes periods up to {}, and not {}",
            units::duration(DRIVER_PERIOD_MAX),
            units::duration(period)
        ),
        ScenarioError::OneThread => "a round trip is measured from one CPU: name it with --cpus".to_owned(),
        ScenarioError::OnlyFifo => "a real-time core paces only threads of SCHED_FIFO: leave --policy out".to_owned(),
    })
}

/// Why a file cannot be imported, and which option would help.
pub fn import_problem(problem: &Problem) -> String {
    let Some(remedy) = &problem.remedy else { return problem.to_string() };
    let what = match remedy {
        foreign::ImportRemedy::SayFormat(formats) if formats.is_empty() => {
            "if it is such a file, name its format with --from".to_owned()
        }
        foreign::ImportRemedy::SayFormat(formats) => {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            format!("name the format: --from {}", names.join(" or --from "))
        }
        foreign::ImportRemedy::SayUnit(units) => {
            let names: Vec<String> = units.iter().map(Unit::to_string).collect();
            format!("name the unit: --unit {}", names.join(" or --unit "))
        }
        foreign::ImportRemedy::LeaveUnitOut => "leave --unit out".to_owned(),
        foreign::ImportRemedy::LeavePeriodOut => "leave --period out".to_owned(),
    };
    format!("{problem}; {what}")
}

/// An error with its causes and what to do about it.
pub fn told(error: &anyhow::Error) -> String {
    match error.chain().find_map(remedy) {
        Some(remedy) => format!("{error:#}. {remedy}"),
        None => format!("{error:#}"),
    }
}

fn remedy(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(EngineError::Damaged { .. }) = cause.downcast_ref() {
        return Some("First put back everything that can be put back: punctual revert".to_owned());
    }
    match cause.downcast_ref() {
        Some(ResultError::Recording(error)) => Some(recording_remedy(error)),
        _ => cause.downcast_ref().map(recording_remedy),
    }
}

fn recording_remedy(error: &RecordingError) -> String {
    match error {
        RecordingError::Exists { .. } => "Choose another name with --out, or remove it first".to_owned(),
        RecordingError::Create { .. } => "Choose a directory you may write to with --out".to_owned(),
        RecordingError::Write { reason, .. } => {
            format!("The part that is already in the file can be read; {}", write_remedy(reason))
        }
        RecordingError::Resume { path, reason } => match reason {
            Unresumable::Refused(_) => "Check that you may write to it".to_owned(),
            Unresumable::Held => "Is it still being measured? Then wait until the measurement ends".to_owned(),
            Unresumable::Damaged { .. } => {
                format!("punctual merge {} --out NEW copies the undamaged part; continue with the copy", path.display())
            }
        },
        RecordingError::Frame { .. } => "This is a mistake in punctual: please report it".to_owned(),
        RecordingError::Read { .. } => "Check the name and that you may read it".to_owned(),
        RecordingError::Unreadable { reason, .. } => read_remedy(reason).to_owned(),
    }
}

fn write_remedy(reason: &io::Error) -> &'static str {
    match reason.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on that disk and measure again",
        ErrorKind::FileTooLarge => "raise the limit on file sizes (ulimit -f) and measure again",
        _ => "measure again with --out on another disk",
    }
}

fn read_remedy(reason: &Unreadable) -> &'static str {
    match reason {
        Unreadable::Empty => "The run ended before anything was written: measure again",
        Unreadable::NoHeader => "The run was ended before it began to measure: measure again",
        Unreadable::NotARecording => "Give a file that punctual wrote (*.punctual)",
        Unreadable::Newer { .. } => "Read it with the punctual that wrote it, or a later one",
        Unreadable::HeaderDamaged(_) => "Nothing in it can be shown: measure again",
    }
}

pub fn measure_error(error: MeasureError) -> anyhow::Error {
    let remedy = error.remedy().map(|remedy| match remedy {
        MeasureRemedy::RealTime(why) if why.is_empty() => {
            "or measure as an ordinary task with --policy other".to_owned()
        }
        MeasureRemedy::RealTime(why) => format!("{why}; or measure as an ordinary task with --policy other"),
        MeasureRemedy::OtherCpus => {
            "the CPU is outside this process's cpuset (/proc/self/cgroup, cpuset.cpus.effective) or \
             off-line; name other CPUs with --cpus"
                .to_owned()
        }
        MeasureRemedy::NameEndpoint => "name the other side with --endpoint, as in --endpoint /dev/rpmsg0".to_owned(),
        MeasureRemedy::MoreLockedMemory(why) | MeasureRemedy::Core(why) => why,
        MeasureRemedy::LongerPeriod => "ask for a longer one with --period".to_owned(),
        MeasureRemedy::LeaveIdleStates => "run as root, or leave --dma-latency away".to_owned(),
    });
    let error = anyhow::Error::new(error);
    match remedy {
        Some(remedy) => anyhow::anyhow!("{error}\n{remedy}"),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_recording_that_cannot_be_made_or_read_has_a_remedy_wherever_it_is_found() {
        let exists = || RecordingError::Exists { path: "run.punctual".into() };
        let whole =
            "run.punctual: create recording: the file exists. Choose another name with --out, or remove it first";
        assert_eq!(told(&exists().into()), whole);
        assert_eq!(told(&Err::<(), _>(exists()).context("merge").unwrap_err()), format!("merge: {whole}"));
        let unreadable = RecordingError::Unreadable { path: "x".into(), reason: Unreadable::NotARecording };
        let result = told(&ResultError::from(unreadable).into());
        assert!(result.ends_with("it is not a recording of punctual. Give a file that punctual wrote (*.punctual)"));
        let damaged = told(&EngineError::Damaged { lines: 2 }.into());
        assert!(damaged.ends_with(
            "2 of its lines cannot be read. First put back everything that can be put back: punctual revert"
        ));
        assert_eq!(told(&anyhow::anyhow!("else")), "else");
    }

    #[test]
    fn what_a_measurement_was_refused_names_the_option() {
        let refused = measure_error(MeasureError::DmaLatency(ErrorKind::PermissionDenied.into())).to_string();
        assert!(refused.ends_with("\nrun as root, or leave --dma-latency away"), "{refused}");
    }
}
