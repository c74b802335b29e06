//! What one step of the check came to, and how all of them are shown.
//!
//! A step that could not run is told apart from one that passed: a skip is never shown as a pass.

use std::fmt::Write;
use std::time::Duration;

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran and found nothing wrong.
    Passed,
    /// It ran and something is wrong: this.
    Failed(String),
    /// It could not run, because of this. Neither good nor bad.
    NotRun(String),
}

impl Outcome {
    /// The outcome of work that either succeeds or says why not.
    pub fn of(result: anyhow::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }
}

/// A step that has been run.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its name, as `cargo xtask ci NAME` takes it.
    pub name: &'static str,
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
    /// What its programs took of all CPUs together, which says what the step costs on a machine that does other things.
    pub cpu: Duration,
}

/// What all programs that were started and have ended took of all CPUs; nothing where the kernel does not say.
pub fn cpu_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // proc_pid_stat(5): `cutime` and `cstime` are the 14th and 15th number after the name, in hundredths of a second.
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(13).take(2).filter_map(|number| number.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// The table at the end, without a verdict.
pub fn table(steps: &[Done]) -> String {
    let wide = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Done { name, outcome, took, cpu } in steps {
        let (word, why) = match outcome {
            Outcome::Passed => ("ok", ""),
            Outcome::Failed(why) => ("FAILED", first_line(why)),
            Outcome::NotRun(why) => ("NOT RUN", first_line(why)),
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

/// The last sentence, and whether it is a good one; with `all`, a step that could not run is as bad as one that failed.
pub fn verdict(steps: &[Done], all: bool) -> Result<String, String> {
    let named = |wanted: fn(&Outcome) -> bool| -> Vec<&str> {
        steps.iter().filter(|step| wanted(&step.outcome)).map(|step| step.name).collect()
    };
    let failed = named(|outcome| matches!(outcome, Outcome::Failed(_)));
    let not_run = named(|outcome| matches!(outcome, Outcome::NotRun(_)));
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

    fn done(name: &'static str, outcome: Outcome) -> Done {
        Done { name, outcome, took: Duration::from_millis(1_250), cpu: Duration::from_secs(2) }
    }

    #[test]
    fn a_skip_is_never_shown_as_a_pass() {
        let steps = [done("fmt", Outcome::Passed), done("fuzz", Outcome::NotRun("no nightly toolchain".into()))];
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
        let steps = [done("tidy", Outcome::Failed("3 complaints\na\nb".into())), done("fmt", Outcome::Passed)];
        assert!(table(&steps).contains("tidy  FAILED      1.2 s     2.0 s of CPU  3 complaints\n"));
        assert_eq!(verdict(&steps, false), Err("failed: tidy; 1 of 2 steps passed".into()));
    }

    #[test]
    fn a_run_in_which_nothing_was_checked_is_no_pass() {
        assert!(verdict(&[done("fuzz", Outcome::NotRun("no".into()))], false).is_err());
        assert!(verdict(&[], false).is_err());
    }
}
