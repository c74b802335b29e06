//! Why a scenario cannot be run or a file cannot be imported, and what to write instead.

use super::{cpus, units};
use punctual_numbers::foreign::{Problem, Remedy, Unit};
use punctual_numbers::scenario::{LONGEST, PERIOD_MAX, PERIOD_MIN, PRIORITY_MAX, ScenarioError};

/// The reason with its remedy, as an error of the command.
pub fn scenario_error(error: ScenarioError) -> anyhow::Error {
    anyhow::Error::msg(match error {
        ScenarioError::NoCpus => "no CPU to measure: name some with --cpus".to_owned(),
        ScenarioError::NotOnline(asked, online) => {
            format!("{} cannot be used: not online; online are {}", cpus(&asked), cpus(&online))
        }
        ScenarioError::Period(period) => format!(
            "a period of {} cannot be measured: write one from {} to {}",
            units::latency(period),
            units::latency(PERIOD_MIN),
            units::duration(PERIOD_MAX)
        ),
        ScenarioError::Priority(priority) => format!(
            "priority {priority} is not handed out: write 1 to {PRIORITY_MAX}; above live the kernel's own threads, \
             whose starvation hangs the machine"
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
            "a budget of {} is not below the period: whoever is that late has skipped the next release, which is a \
             miss in itself; write a smaller --budget or a longer --period",
            units::latency(budget)
        ),
        ScenarioError::NoPhase => "no load phase: write for example --load none".to_owned(),
        ScenarioError::SpinEverywhere => "real-time threads that never sleep on every CPU would lock up this machine: \
             leave at least one CPU out with --cpus, or use --policy other"
            .to_owned(),
        ScenarioError::Runtime(runtime) => {
            format!("a deadline run time of {} does not fit into the period", units::latency(runtime))
        }
    })
}

/// Why a file cannot be imported, with what to write so that it can.
pub fn import_problem(problem: &Problem) -> String {
    let Some(remedy) = &problem.remedy else { return problem.to_string() };
    let what = match remedy {
        Remedy::SayFormat(formats) if formats.is_empty() => "if it is one, name it with --from".to_owned(),
        Remedy::SayFormat(formats) => {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            format!("say which it is: --from {}", names.join(" or --from "))
        }
        Remedy::SayUnit(units) => {
            let names: Vec<String> = units.iter().map(Unit::to_string).collect();
            format!("say which it is: --unit {}", names.join(" or --unit "))
        }
        Remedy::LeaveUnitOut => "leave --unit out".to_owned(),
        Remedy::LeavePeriodOut => "leave --period out".to_owned(),
    };
    format!("{problem}; {what}")
}
