//! The tests that a second kernel brings along: `evl test` of Xenomai 4 and `smokey` of Xenomai 3. They are run where they
//! are installed, and their words become values.

use crate::sys::process::tie_to_this_thread;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest run of a suite. On two emulated CPUs, 69 tests of EVL took a minute.
const LONGEST: Duration = Duration::from_secs(15 * 60);
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of output that are kept. A test writes a line.
const OUTPUT_MAX: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// `evl test` of Xenomai 4.
    Evl,
    /// `smokey` of Xenomai 3.
    Smokey,
}

impl Suite {
    const ALL: [Self; 2] = [Self::Evl, Self::Smokey];

    /// The program, where it lies by default, and how it is told to run all tests and to go on after a failure.
    const fn program(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::Evl => ("evl", "/usr/evl/bin", &["test", "-k"]),
            Self::Smokey => ("smokey", "/usr/xenomai/bin", &["--run", "--keep-going"]),
        }
    }
}

/// What became of a suite.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnTests {
    /// Whose tests these are.
    pub suite: Suite,
    /// Whether it ran, and how that ended.
    pub run: SuiteRun,
    /// Every test that the suite told of, in its order.
    pub tests: Vec<OwnTest>,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum SuiteRun {
    /// The program is not installed.
    NotInstalled,
    /// It came to its end.
    Ended {
        /// Its exit status; null if a signal ended it.
        status: Option<i32>,
    },
    NotStarted {
        because: String,
    },
    /// It was ended, because it took too long.
    TookTooLong,
    /// It was ended, because the user interrupted the run.
    Interrupted,
}

/// One test of a suite, as the suite tells its result.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnTest {
    /// The name that the suite gives it.
    pub name: String,
    #[serde(flatten)]
    pub result: OwnResult,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum OwnResult {
    Ok,
    Broken,
    /// The kernel was built without what is tested.
    NoKernelSupport,
    Skipped,
    /// A test of accuracy tells a figure instead of a verdict.
    Figure {
        /// The figure, as the test prints it.
        text: String,
    },
}

impl OwnTests {
    pub fn is_broken(&self) -> bool {
        self.count(&OwnResult::Broken) > 0
    }

    /// Whether tests are missing that should have run: a suite that is not installed misses none.
    pub fn is_incomplete(&self) -> bool {
        match self.run {
            SuiteRun::NotInstalled => false,
            SuiteRun::Ended { status } => self.tests.is_empty() || status.is_none(),
            SuiteRun::NotStarted { .. } | SuiteRun::TookTooLong | SuiteRun::Interrupted => true,
        }
    }

    pub fn count(&self, result: &OwnResult) -> usize {
        self.tests.iter().filter(|test| test.result == *result).count()
    }
}

/// Runs every suite that is in a folder of `path`, or where it lies by default, one after the other.
pub fn run_all(path: &[PathBuf], interrupted: &AtomicBool) -> Vec<OwnTests> {
    let run = |suite: Suite| {
        let (name, folder, arguments) = suite.program();
        let mut folders = path.iter().map(PathBuf::as_path).chain([Path::new(folder)]);
        match folders.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file())) {
            None => OwnTests { suite, run: SuiteRun::NotInstalled, tests: Vec::new() },
            Some(program) => {
                let (run, output) = output_of(Command::new(program).args(arguments), LONGEST, interrupted);
                OwnTests { suite, run, tests: output.lines().filter_map(test).collect() }
            }
        }
    };
    Suite::ALL.map(run).into()
}

/// Runs a program, and returns its output as far as it came.
fn output_of(command: &mut Command, longest: Duration, interrupted: &AtomicBool) -> (SuiteRun, String) {
    tie_to_this_thread(command);
    // A suite starts a program for each test. Its own group lets all of them be ended together.
    command.process_group(0);
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return (SuiteRun::NotStarted { because: error.to_string() }, String::new()),
    };
    let readers = [child.stdout.take().map(reader), child.stderr.take().map(reader)];
    let run = match ended(&mut child, longest, interrupted) {
        Ok(run) => run,
        Err(error) => SuiteRun::NotStarted { because: error.to_string() },
    };
    let text = readers.into_iter().flatten().map(|reader| reader.join().unwrap_or_default());
    (run, text.collect::<Vec<String>>().join("\n"))
}

/// Reads all output, so that the program never waits for a reader, and keeps the beginning.
fn reader(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = pipe.by_ref().take(OUTPUT_MAX).read_to_end(&mut kept);
        let _ = io::copy(&mut pipe, &mut io::sink());
        String::from_utf8_lossy(&kept).into_owned()
    })
}

fn ended(child: &mut Child, longest: Duration, interrupted: &AtomicBool) -> io::Result<SuiteRun> {
    let start = Instant::now();
    let why = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(SuiteRun::Ended { status: ExitStatus::code(&status) });
        }
        if interrupted.load(Relaxed) {
            break SuiteRun::Interrupted;
        }
        if start.elapsed() >= longest {
            break SuiteRun::TookTooLong;
        }
        sleep(LOOK);
    };
    // The child has not been waited for, so its process id is still valid.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    child.kill()?;
    child.wait()?;
    Ok(why)
}

/// Reads a line of either suite: `name: OK`, `name: no kernel support`, `** name: BROKEN`, `name: 99.8 %`;
/// `name OK`, `name skipped (no kernel support)`, `test name failed: reason`. Other lines tell of no result.
fn test(line: &str) -> Option<OwnTest> {
    let line = line.trim();
    let line = line.strip_prefix("** ").unwrap_or(line);
    if let Some((name, _)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" failed")) {
        return named(name, OwnResult::Broken);
    }
    let (name, words) = line.split_once(": ").or_else(|| line.split_once(' '))?;
    let words = words.trim();
    let result = match words {
        "OK" => OwnResult::Ok,
        "BROKEN" => OwnResult::Broken,
        "no kernel support" => OwnResult::NoKernelSupport,
        _ if words.starts_with("skipped") && words.contains("no kernel support") => OwnResult::NoKernelSupport,
        _ if words.starts_with("skipped") => OwnResult::Skipped,
        _ => {
            let number = words.strip_suffix('%')?.trim();
            number.parse::<f64>().ok()?;
            OwnResult::Figure { text: words.to_owned() }
        }
    };
    named(name, result)
}

/// A test has one word as its name.
fn named(name: &str, result: OwnResult) -> Option<OwnTest> {
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then(|| OwnTest { name: name.to_owned(), result })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn result(line: &str) -> Option<(String, OwnResult)> {
        test(line).map(|test| (test.name, test.result))
    }

    #[test]
    fn lines_of_both_suites_are_understood() {
        let is = |line, name: &str, wanted| assert_eq!(result(line), Some((name.to_owned(), wanted)), "{line}");
        is("clock-timer-periodic: OK", "clock-timer-periodic", OwnResult::Ok);
        is("** fault: BROKEN", "fault", OwnResult::Broken);
        is("sched-tp-basic: no kernel support", "sched-tp-basic", OwnResult::NoKernelSupport);
        is("sched-quota-accuracy: 80.8 %", "sched-quota-accuracy", OwnResult::Figure { text: "80.8 %".to_owned() });
        is("posix_mutex OK", "posix_mutex", OwnResult::Ok);
        is("memory_pressure skipped (no kernel support)", "memory_pressure", OwnResult::NoKernelSupport);
        is("net_udp skipped", "net_udp", OwnResult::Skipped);
        is("test sigdebug failed: Timer expired", "sigdebug", OwnResult::Broken);
        for line in ["", "OK", ": OK", "fault.c:57: FAILED: 'x == y'", "two words: OK", "a: b", "load: 12", "100 %"] {
            assert_eq!(result(line), None, "{line}");
        }
    }

    fn program(dir: &Path, name: &str, script: &str) {
        std::fs::write(dir.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_suite_is_run_with_its_words_and_what_it_says_is_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let evl =
            "[ \"$*\" = 'test -k' ] || exit 9; echo 'a: OK'; echo 'b.c:1: bad' >&2; echo '** b: BROKEN' >&2; exit 0";
        program(dir.path(), "evl", evl);
        let runs = run_all(&[dir.path().to_owned()], &AtomicBool::new(false));
        let [evl, smokey] = runs.try_into().unwrap();
        assert_eq!(evl.run, SuiteRun::Ended { status: Some(0) });
        assert_eq!(evl.tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(evl.is_broken() && !evl.is_incomplete(), "the status of this program does not tell");
        assert!(!smokey.is_broken());
    }

    #[test]
    fn a_suite_that_does_not_end_is_ended_and_what_it_said_is_kept() {
        let script = ["-c", "echo 'a: OK'; sleep 600; echo never"];
        let started = Instant::now();
        let short = Duration::from_millis(300);
        let (run, said) = output_of(Command::new("sh").args(script), short, &AtomicBool::new(false));
        assert_eq!((run, said.lines().count()), (SuiteRun::TookTooLong, 2));
        let (run, _) = output_of(Command::new("sh").args(script), LONGEST, &AtomicBool::new(true));
        assert_eq!(run, SuiteRun::Interrupted);
        let (run, _) = output_of(&mut Command::new("/nonexistent/suite"), LONGEST, &AtomicBool::new(false));
        assert!(matches!(run, SuiteRun::NotStarted { .. }));
        assert!(started.elapsed() < Duration::from_secs(300), "nothing was waited for to its end");
        let silent = OwnTests { suite: Suite::Smokey, run: SuiteRun::Ended { status: Some(1) }, tests: Vec::new() };
        assert!(silent.is_incomplete(), "a suite that says nothing has tested nothing");
    }
}
