//! The measuring side of a load: starts the worker process, waits until it works, and ends it.
//!
//! The worker is started without copying this process's page tables (nothing runs between fork and exec), because a
//! copy would cause page faults in measuring threads. For the same reason, the worker does all its preparations itself.

use super::{LoadError, LoadSpec};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a load may take to begin its work.
const READY: Duration = Duration::from_secs(5);
/// Longest time until an interruption is noticed while a load is awaited.
const LOOK: Duration = Duration::from_millis(100);
/// How long a load may take to end when asked, before it is killed.
const END: Duration = Duration::from_secs(2);
/// How long the end of a killed process may take. Only a process that hangs in the kernel takes longer.
const KILLED: Duration = Duration::from_secs(2);

/// The program of worker processes, and its arguments before the load's name.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// A program that calls [`super::worker_main`].
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Default for Launcher {
    fn default() -> Self {
        Self { program: PathBuf::from("/proc/self/exe"), arguments: vec!["__load".into()] }
    }
}

impl Launcher {
    /// Starts a load and waits until it works, or until the run is interrupted. The load runs for at most `limit`. The
    /// kernel also ends it when the calling thread ends, so this thread must outlive the load.
    pub fn start(
        &self,
        name: &str,
        on: &CpuSet,
        dir: &Path,
        limit: Nanos,
        interrupted: &AtomicBool,
    ) -> Result<RunningLoad, LoadError> {
        let spec = LoadSpec::parse(name)?;
        if on.is_empty() {
            return Err(LoadError::NoCpu { name: name.to_owned() });
        }
        if let Some(reason) = spec.unavailable() {
            return Err(LoadError::NotOffered { name: name.to_owned(), reason });
        }
        let seconds = limit.plus(Nanos::from_ns(999_999_999)).whole(Nanos::from_secs(1)).max(1).to_string();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(name).arg("--on").arg(on.to_string()).arg("--dir").arg(dir);
        command.args(["--seconds", &seconds]).process_group(0); // Ctrl-C is for us; we end our loads in order
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|source| LoadError::Start {
            name: name.to_owned(),
            operation: format!("start '{}' as its worker", self.program.display()),
            source,
        })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let lines = Lines { stdout, pending: Vec::new() };
        let mut load =
            RunningLoad { name: name.to_owned(), spec, child, stdin, lines, since: Instant::now(), gone: false };
        load.await_ready(interrupted)?;
        Ok(load)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOutcome {
    pub name: String,
    pub unit: &'static str,
    /// Number of operations; `None` if the load is an outside program, or ended without a report.
    pub operations: Option<u64>,
    pub time: Nanos,
    pub failure: Option<String>,
}

/// A running load. Dropping it ends the load, too.
#[derive(Debug)]
pub struct RunningLoad {
    name: String,
    spec: LoadSpec,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines,
    since: Instant,
    gone: bool,
}

impl RunningLoad {
    /// Starts a load as a worker process of this very program; see [`Launcher::start`].
    pub fn start(
        name: &str,
        on: &CpuSet,
        dir: &Path,
        limit: Nanos,
        interrupted: &AtomicBool,
    ) -> Result<Self, LoadError> {
        Launcher::default().start(name, on, dir, limit, interrupted)
    }

    /// Id of the worker process and of its process group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn ask_to_end(&mut self) {
        self.stdin = None;
    }

    /// Ends the load. Takes at most two seconds, or four if the load hangs in the kernel.
    pub fn stop(mut self) -> LoadOutcome {
        self.finish()
    }

    fn await_ready(&mut self, interrupted: &AtomicBool) -> Result<(), LoadError> {
        let deadline = Instant::now() + READY;
        let mut said = None;
        let reason = loop {
            if interrupted.load(Ordering::Relaxed) {
                return Err(LoadError::Interrupted { name: self.name.clone() });
            }
            match self.lines.next_before(deadline.min(Instant::now() + LOOK)) {
                Heard::Said(line) if line == "ready" => {
                    self.since = Instant::now();
                    return Ok(());
                }
                Heard::Said(line) => said = said.or(line.strip_prefix("error ").map(str::to_owned)),
                Heard::End => break said.unwrap_or_else(|| format!("its process ended ({})", self.await_end())),
                Heard::Late if Instant::now() < deadline => {}
                Heard::Late => break format!("it was not ready within {} s", READY.as_secs()),
            }
        };
        Err(LoadError::NotReady { name: self.name.clone(), reason })
    }

    fn await_end(&mut self) -> String {
        let status = self.exit_before(Instant::now() + KILLED);
        status.map_or_else(|| "but is still there".to_owned(), |status| status.to_string())
    }

    fn finish(&mut self) -> LoadOutcome {
        self.ask_to_end();
        let deadline = Instant::now() + END;
        let (mut counted, mut failure) = (None, None);
        while let Heard::Said(line) = self.lines.next_before(deadline) {
            if let Some(text) = line.strip_prefix("error ") {
                failure = failure.or(Some(text.to_owned()));
            }
            counted = counted.or_else(|| read_count(&line));
        }
        let status = self.exit_before(deadline);
        let (operations, time) = counted.unwrap_or((None, nanos(self.since.elapsed())));
        match status {
            Some(status) if counted.is_none() => {
                failure = failure.or(Some(format!("it ended before it was asked to ({status})")));
            }
            Some(_) => {}
            None => failure = Some(self.kill()),
        }
        LoadOutcome { name: self.name.clone(), unit: self.spec.unit(), operations, time, failure }
    }

    /// Kills the process and its group. Returns what to report about it.
    fn kill(&mut self) -> String {
        // The child has not been waited for, so its process id is still valid.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let late = format!("it did not end within {} s of being asked and was killed", END.as_secs());
        match self.exit_before(Instant::now() + KILLED) {
            Some(_) => late,
            None => format!("{late}, but process {} hangs in the kernel", self.child.id()),
        }
    }

    fn exit_before(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.gone = true;
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        if !self.gone {
            let _ = self.finish();
        }
    }
}

pub fn stop_all(mut loads: Vec<RunningLoad>) -> Vec<LoadOutcome> {
    loads.iter_mut().for_each(RunningLoad::ask_to_end);
    loads.into_iter().map(RunningLoad::stop).collect()
}

/// Parses `ops N ns T`.
fn read_count(line: &str) -> Option<(Option<u64>, Nanos)> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["ops", "-", "ns", time] => Some((None, Nanos::from_ns(time.parse().ok()?))),
        ["ops", count, "ns", time] => Some((Some(count.parse().ok()?), Nanos::from_ns(time.parse().ok()?))),
        _ => None,
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

enum Heard {
    Said(String),
    End,
    Late,
}

/// Lines of a worker process, which are read with a deadline.
#[derive(Debug)]
struct Lines {
    stdout: Option<ChildStdout>,
    pending: Vec<u8>,
}

impl Lines {
    /// Limit on bytes of a line without an end. Real lines are far shorter.
    const LONGEST: usize = 64 * 1024;

    fn next_before(&mut self, deadline: Instant) -> Heard {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).take(end).collect();
                return Heard::Said(String::from_utf8_lossy(&line).into_owned());
            }
            let Some(stdout) = &mut self.stdout else { return Heard::End };
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(left) else { return Heard::Late };
            match poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&timeout)) {
                Ok(0) => return Heard::Late,
                Ok(_) => {}
                Err(_) if left.is_zero() => return Heard::Late,
                Err(_) => continue,
            }
            let mut bytes = [0_u8; 1024];
            match stdout.read(&mut bytes) {
                Ok(0) => self.stdout = None,
                Ok(count) if self.pending.len() < Self::LONGEST => self.pending.extend_from_slice(&bytes[..count]),
                Ok(_) => self.pending.clear(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.stdout = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_line_is_understood() {
        assert_eq!(read_count("ops 12 ns 34"), Some((Some(12), Nanos::from_ns(34))));
        assert_eq!(read_count("ops - ns 34"), Some((None, Nanos::from_ns(34))));
        for line in ["ops", "ops x ns 1", "ops 1 ns", "ops 1 ns 2 3", "ops -1 ns 2", "test ops 1 ns 2"] {
            assert_eq!(read_count(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,60}") {
            let _ = read_count(&line);
        }
    }
}
