//! The outcome of a step of `ci`, and the table of all outcomes.
//!
//! A step that could not run is never shown as a pass.

use std::fmt::Write;
use std::time::Duration;

/// The outcome of a step of `ci`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The step ran and found nothing wrong.
    Passed,
    /// The step ran and found the defects in this text.
    Failed(String),
    /// The step could not run, for this reason, which says nothing about the code.
    NotRun(String),
}

impl StepOutcome {
    /// The outcome of a program by its exit code: 0 is a pass, and with 3 the machine lacks something that the program
    /// needs.
    pub fn of_program(code: anyhow::Result<Option<i32>>, lacks: &str, failed: &str) -> Self {
        match code {
            Ok(Some(0)) => Self::Passed,
            Ok(Some(3)) => Self::NotRun(lacks.to_owned()),
            Ok(_) => Self::Failed(failed.to_owned()),
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }

    /// The outcome as the result of a command that runs this step alone: everything but a pass is an error.
    pub fn into_result(self) -> anyhow::Result<()> {
        match self {
            Self::Passed => Ok(()),
            Self::NotRun(why) | Self::Failed(why) => Err(anyhow::anyhow!(why)),
        }
    }

    /// The outcome of a function that returns defects as an error.
    pub fn of(result: anyhow::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Done {
    /// Name of the step, as `cargo xtask ci NAME` takes it.
    pub name: &'static str,
    pub outcome: StepOutcome,
    /// Time from the start of the step to its end.
    pub took: Duration,
    /// Processor time of the programs that the step ran. Unlike the time from start to end, it hardly depends on other
    /// work of the machine.
    pub cpu: Duration,
}

/// Processor time of all child processes that have ended; zero if it cannot be read.
pub fn cpu_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // proc_pid_stat(5): `cutime` and `cstime` are the 14th and 15th number after the name, in hundredths of a second.
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(13).take(2).filter_map(|number| number.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// The table of all steps, without a verdict.
pub fn table(steps: &[Done]) -> String {
    let wide = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Done { name, outcome, took, cpu } in steps {
        let (word, why) = match outcome {
            StepOutcome::Passed => ("ok", ""),
            StepOutcome::Failed(why) => ("FAILED", first_line(why)),
            StepOutcome::NotRun(why) => ("NOT RUN", first_line(why)),
        };
        let line = format!(
            "  {name:wide$}  {word:<7}  {:>6.1} s  {:>6.1} s of CPU  {why}",
            took.as_secs_f64(),
            cpu.as_secs_f64()
        );
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The last sentence of a run: `Ok` if nothing is wrong. With `all`, a step that could not run counts as failed.
pub fn verdict(steps: &[Done], all: bool) -> Result<String, String> {
    let named = |wanted: fn(&StepOutcome) -> bool| -> Vec<&str> {
        steps.iter().filter(|step| wanted(&step.outcome)).map(|step| step.name).collect()
    };
    let failed = named(|outcome| matches!(outcome, StepOutcome::Failed(_)));
    let not_run = named(|outcome| matches!(outcome, StepOutcome::NotRun(_)));
    let passed = steps.len() - failed.len() - not_run.len();
    let skipped = if not_run.is_empty() { String::new() } else { format!(", NOT RUN: {}", not_run.join(", ")) };
    if !failed.is_empty() {
        return Err(format!("failed: {}; {passed} of {} steps passed{skipped}", failed.join(", "), steps.len()));
    }
    if passed == 0 {
        return Err(format!("nothing was checked{skipped}"));
    }
    if all && !not_run.is_empty() {
        return Err(format!("all steps were asked for; {passed} of {} steps passed{skipped}", steps.len()));
    }
    Ok(format!("{passed} of {} steps passed{skipped}", steps.len()))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(name: &'static str, outcome: StepOutcome) -> Done {
        Done { name, outcome, took: Duration::from_millis(1_250), cpu: Duration::from_secs(2) }
    }

    #[test]
    fn a_skip_is_never_shown_as_a_pass() {
        let steps =
            [done("fmt", StepOutcome::Passed), done("fuzz", StepOutcome::NotRun("no nightly toolchain".into()))];
        assert_eq!(
            table(&steps),
            "  fmt   ok          1.2 s     2.0 s of CPU\n  fuzz  NOT RUN     1.2 s     2.0 s of CPU  no nightly toolchain\n"
        );
        assert_eq!(verdict(&steps, false), Ok("1 of 2 steps passed, NOT RUN: fuzz".into()));
        let refused = Err("all steps were asked for; 1 of 2 steps passed, NOT RUN: fuzz".into());
        assert_eq!(verdict(&steps, true), refused);
        assert_eq!(verdict(&steps[..1], true), Ok("1 of 1 steps passed".into()));
    }

    #[test]
    fn one_failure_is_enough_and_only_its_first_line_is_in_the_table() {
        let steps = [done("tidy", StepOutcome::Failed("3 complaints\na\nb".into())), done("fmt", StepOutcome::Passed)];
        assert!(table(&steps).contains("tidy  FAILED      1.2 s     2.0 s of CPU  3 complaints\n"));
        assert_eq!(verdict(&steps, false), Err("failed: tidy; 1 of 2 steps passed".into()));
    }

    #[test]
    fn a_run_in_which_nothing_was_checked_is_no_pass() {
        assert!(verdict(&[done("fuzz", StepOutcome::NotRun("no".into()))], false).is_err());
        assert!(verdict(&[], false).is_err());
    }
}
