//! Runs steps in a second process, one after the other, while this process runs others. Their output goes to a file,
//! which is shown when the process has ended.
//!
//! The second process appends a line for each step to a file of notes ([`line()`]), which this process reads
//! afterwards. The output itself is only for people.

use super::Tally;
use crate::run;
use crate::step::{Done, StepOutcome};
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// The second process, which runs steps.
pub struct Beside {
    child: Child,
    printed: PathBuf,
    notes: PathBuf,
    steps: &'static [&'static str],
}

impl Beside {
    /// Starts the process with these steps. Its output and notes are kept in Cargo's target folder.
    pub fn start(root: &Path, steps: &'static [&'static str]) -> Result<Self> {
        let folder = run::target_folder(root)?;
        let (printed, notes) = (folder.join("ci-beside.log"), folder.join("ci-beside.notes"));
        // The file is emptied, because it may hold notes of an earlier run.
        fs::write(&notes, "").with_context(|| format!("empty {}", notes.display()))?;
        let output = File::create(&printed).with_context(|| format!("create {}", printed.display()))?;
        let errors = output.try_clone().context("write to the log twice")?;
        // An earlier step may have rebuilt this program, so the running executable is started, not the file of that
        // name.
        let mut command = Command::new("/proc/self/exe");
        command.arg("ci").arg(format!("--notes={}", notes.display())).args(steps).stdout(output).stderr(errors);
        let child = run::settle(&mut command).spawn().context("start the steps beside")?;
        Ok(Self { child, printed, notes, steps })
    }

    /// Waits for the process, shows its output, and returns the outcome of each step. A step without a note has failed.
    pub fn wait(mut self) -> Result<Vec<(Done, Tally)>> {
        self.child.wait().context("wait for the steps beside")?;
        let printed = fs::read(&self.printed).with_context(|| format!("read {}", self.printed.display()))?;
        println!("{}", String::from_utf8_lossy(&printed));
        let notes = fs::read_to_string(&self.notes).with_context(|| format!("read {}", self.notes.display()))?;
        let mut left = notes.lines().map(read).collect::<Result<Vec<Noted>>>()?;
        let done = self.steps.iter().map(|step| {
            let place = left.iter().position(|note| note.name == *step);
            let none = || Noted { outcome: StepOutcome::Failed("it left no result".to_owned()), ..Noted::default() };
            let Noted { outcome, took, cpu, tests, .. } = place.map_or_else(none, |place| left.swap_remove(place));
            (Done { name: step, outcome, took, cpu }, tests)
        });
        Ok(done.collect())
    }
}

/// The note of one step, read from its line.
#[derive(Debug, PartialEq, Eq)]
struct Noted {
    name: String,
    outcome: StepOutcome,
    took: Duration,
    cpu: Duration,
    tests: Tally,
}

impl Default for Noted {
    fn default() -> Self {
        let (name, outcome) = (String::new(), StepOutcome::Passed);
        Self { name, outcome, took: Duration::ZERO, cpu: Duration::ZERO, tests: Tally::default() }
    }
}

/// A line of the notes: name, outcome, times in milliseconds, four numbers of tests, and the reason, with tabs between.
pub fn line(done: &Done, tests: Tally) -> String {
    let (outcome, why) = match &done.outcome {
        StepOutcome::Passed => ("passed", ""),
        StepOutcome::Failed(why) => ("failed", why.as_str()),
        StepOutcome::NotRun(why) => ("not-run", why.as_str()),
    };
    let (took, cpu) = (done.took.as_millis(), done.cpu.as_millis());
    let Tally { binaries, passed, failed, ignored } = tests;
    let why = why.replace(['\t', '\n'], " ");
    format!("{}\t{outcome}\t{took}\t{cpu}\t{binaries}\t{passed}\t{failed}\t{ignored}\t{why}\n", done.name)
}

fn read(line: &str) -> Result<Noted> {
    let fields: Vec<&str> = line.splitn(9, '\t').collect();
    let [name, outcome, numbers @ .., why] = fields.as_slice() else { bail!("a note of a step is short: {line}") };
    let numbers = numbers.iter().map(|number| number.parse()).collect::<Result<Vec<u64>, _>>();
    let numbers = numbers.with_context(|| format!("read the note {line}"))?;
    ensure!(numbers.len() == 6, "a note of a step has {} numbers and not 6: {line}", numbers.len());
    let number = |place: usize| numbers.get(place).copied().unwrap_or_default();
    let outcome = match *outcome {
        "passed" => StepOutcome::Passed,
        "failed" => StepOutcome::Failed((*why).to_owned()),
        "not-run" => StepOutcome::NotRun((*why).to_owned()),
        other => bail!("a step came to `{other}`: {line}"),
    };
    let tests = Tally { binaries: number(2), passed: number(3), failed: number(4), ignored: number(5) };
    let (took, cpu) = (Duration::from_millis(number(0)), Duration::from_millis(number(1)));
    Ok(Noted { name: (*name).to_owned(), outcome, took, cpu, tests })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again() {
        let tests = Tally { binaries: 1, passed: 2, failed: 3, ignored: 4 };
        let (took, cpu) = (Duration::from_millis(1_250), Duration::from_millis(900));
        for (outcome, again) in [
            (StepOutcome::Passed, StepOutcome::Passed),
            (StepOutcome::Failed("a\nb\tc".into()), StepOutcome::Failed("a b c".into())),
            (StepOutcome::NotRun("no clang".into()), StepOutcome::NotRun("no clang".into())),
        ] {
            let line = line(&Done { name: "fuzz", outcome, took, cpu }, tests);
            let noted = Noted { name: "fuzz".into(), outcome: again, took, cpu, tests };
            assert_eq!(line.lines().map(|line| read(line).unwrap()).collect::<Vec<_>>(), [noted]);
        }
    }

    #[test]
    fn half_a_note_is_an_error() {
        for half in
            ["", "fuzz", "fuzz\tpassed\t12\t", "fuzz\tgood\t1\t2\t3\t4\t5\t6\t", "fuzz\tpassed\t1\t2\t3\t4\t5\tx\t"]
        {
            assert!(read(half).is_err(), "{half:?}");
        }
    }

    #[test]
    fn a_step_that_left_no_note_has_failed() {
        let folder = std::env::temp_dir().join(format!("punctual-beside-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (printed, notes) = (folder.join("log"), folder.join("notes"));
        fs::write(&printed, "").unwrap();
        fs::write(&notes, "fuzz\tpassed\t1\t2\t0\t0\t0\t0\t\n").unwrap();
        let child = Command::new("true").spawn().unwrap();
        let ended = Beside { child, printed, notes, steps: &["lab", "fuzz"] }.wait().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let outcomes: Vec<&StepOutcome> = ended.iter().map(|(done, _)| &done.outcome).collect();
        assert_eq!(outcomes, [&StepOutcome::Failed("it left no result".into()), &StepOutcome::Passed]);
    }
}
