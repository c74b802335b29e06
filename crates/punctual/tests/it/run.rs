//! Runs the program and examines its output.

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub fn captured(name: &str) -> String {
    repository(&format!("fixtures/machines/{name}.machine")).to_str().unwrap().to_owned()
}

#[track_caller]
pub fn assert_fits(schema: &str, document: &Value, what: &str) {
    let path = repository(&format!("schemas/{schema}.schema.json"));
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(wrong.is_empty(), "{what}: {}", wrong.join("; "));
}

/// Locks this machine, so that only one privileged test runs at a time: such tests change the machine, and any
/// measurement removes what a killed one left behind.
pub fn machine() -> File {
    let lock = File::create(std::env::temp_dir().join("punctual-live-machine.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    lock
}

/// Longest time to wait for an expected event, because machines that run tests may be busy.
pub const PATIENCE: Duration = Duration::from_secs(300);

#[track_caller]
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Numbers of the processes that remove the tracing instances of this process after a kill -9.
pub fn guards_of(pid: u32) -> Vec<u32> {
    let words = format!("\0__trace-guard\0{pid}\0");
    let numbers =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let line = |number: &u32| std::fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
    numbers.filter(|number| line(number).contains(&words)).collect()
}

/// Kills the guard of this process, and waits until it is gone.
pub fn kill_guard_of(pid: u32) {
    until("it has a guard", || guards_of(pid).len() == 1);
    for guard in guards_of(pid) {
        let guard = rustix::process::Pid::from_raw(i32::try_from(guard).unwrap()).unwrap();
        rustix::process::kill_process(guard, rustix::process::Signal::KILL).unwrap();
    }
    until("the guard is gone", || guards_of(pid).is_empty());
}

/// Runs the program in a directory of its own.
pub struct Run {
    pub dir: TempDir,
}

impl Run {
    pub fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command that runs the program with these words in this directory.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(words).current_dir(self.dir.path()).env("NO_COLOR", "1").env("TMPDIR", self.dir.path());
        // Without LC_ALL the locale of the person who runs the tests would choose the language.
        command.env("LC_ALL", "C");
        command
    }

    pub fn punctual(&self, words: &[&str]) -> Said {
        Said::of(self.command(words).output().unwrap())
    }

    /// Runs the program with a folder /run of its own, where other tests do not see the note of its campaign, which
    /// would keep them from measuring. Only root writes the note, and only root can get such a folder.
    pub fn beside_others(&self, words: &[&str]) -> Said {
        Said::of(self.command_beside_others(words).output().unwrap())
    }

    /// The command of [`Run::beside_others`].
    pub fn command_beside_others(&self, words: &[&str]) -> Command {
        let apart = |script: &str| {
            let mut command = Command::new("unshare");
            command.args(["--mount", "--propagation", "private", "sh", "-c", script]);
            command
        };
        let mount = "mount -t tmpfs none /run";
        if !apart(mount).output().is_ok_and(|said| said.status.success()) {
            return self.command(words);
        }
        let mut command = apart(&format!("{mount} && exec \"$0\" \"$@\""));
        let plain = self.command(words);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(self.dir.path());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// A short recording made by an ordinary task; returns its name.
    pub fn recording(&self, duration: &str) -> &'static str {
        let words =
            ["measure", "--policy", "other", "--cpus", "0", "--duration", duration, "--out", "r.punctual", "-q"];
        let said = self.punctual(&words);
        assert!(said.code == 0 || said.code == 3, "{said:?}");
        "r.punctual"
    }

    /// Waits until a growing recording holds this many releases of its first CPU.
    #[track_caller]
    pub fn until_due(&self, name: &str, releases: u64) {
        let due = || {
            let report: Value = serde_json::from_str(&self.punctual(&["report", name, "--json"]).out).ok()?;
            report["cpus"][0]["due"].as_u64()
        };
        until("enough releases are in it", || due() >= Some(releases));
    }

    pub fn json(&self, words: &[&str]) -> Value {
        let said = self.punctual(words);
        serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"))
    }
}

#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Asserts an error that the user made: exit code 1, nothing on standard output, and all of `parts` on standard
    /// error.
    #[track_caller]
    pub fn refused(&self, parts: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "no '{part}' in {self:?}");
        }
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}
