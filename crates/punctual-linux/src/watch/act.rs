//! What is done when an activation was later than the budget: run a command, send a signal, write down the machine, or stop.
//!
//! Everything happens on the housekeeping thread, and rarely: a machine that is late all the time must not be kept busy by
//! the reports of it.

use punctual_hist::{MonoTime, Nanos};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

/// Least time between two commands or signals.
const APART: Nanos = Nanos::from_secs(10);
/// A command that runs longer is killed, with all that it started.
const LONGEST: Nanos = Nanos::from_secs(60);
/// Least time between two snapshots of the machine, and the number of them that are kept.
const SNAPSHOTS_APART: Nanos = Nanos::from_secs(3600);
const SNAPSHOTS_MAX: usize = 8;
const SNAPSHOT: &str = "late-";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run this command by the shell.
    Run(String),
    /// Send this signal to this process.
    Signal { name: String, number: i32, pid: u32 },
    /// Write down the machine beside the segments.
    Snapshot,
    /// End the watch, which stops at the limit of its scenario.
    Stop,
}

/// What a command is told, in its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// The CPU; if a program is watched, the number of the thread among those that are watched.
    pub cpu: u32,
    /// The name of the thread, if a program is watched.
    pub thread: Option<String>,
    /// The latency of the latest activation that stands out; `None` if it is not known.
    pub latency: Option<Nanos>,
    /// Number of activations above the budget since the last look.
    pub times: u64,
    pub unix_ns: u64,
}

/// Writes down the machine as text.
pub type Snapshot = Rc<dyn Fn() -> Result<String, String>>;

pub struct Actions {
    list: Vec<Action>,
    snapshot: Snapshot,
    folder: PathBuf,
    last: Option<MonoTime>,
    last_snapshot: Option<MonoTime>,
    child: Option<(Child, MonoTime)>,
    /// Number of times that something was done, and that it was left undone because it was too soon.
    pub done: u64,
    pub passed_over: u64,
}

impl Actions {
    pub fn new(list: Vec<Action>, snapshot: Snapshot, folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { list, snapshot, folder, last: None, last_snapshot: None, child: None, done: 0, passed_over: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Does what is to be done about activations that were late. Returns what failed.
    pub fn late(&mut self, at: MonoTime, late: &Lateness) -> Vec<String> {
        let is_soon = self.last.is_some_and(|last| at.since(last) < APART) || self.child.is_some();
        if is_soon {
            self.passed_over += 1;
            return Vec::new();
        }
        self.last = Some(at);
        let mut failed = Vec::new();
        for action in self.list.clone() {
            let done = match &action {
                Action::Run(command) => self.run(command, late, at),
                Action::Signal { name, number, pid } => {
                    signal(*number, *pid).map_err(|error| format!("signal {name} to process {pid}: {error}"))
                }
                Action::Snapshot if self.last_snapshot.is_some_and(|last| at.since(last) < SNAPSHOTS_APART) => continue,
                Action::Snapshot => {
                    self.last_snapshot = Some(at);
                    self.write_down(late.unix_ns)
                }
                // The measuring thread itself has stopped at its limit.
                Action::Stop => continue,
            };
            match done {
                Ok(()) => self.done += 1,
                Err(why) => failed.push(why),
            }
        }
        failed
    }

    fn run(&mut self, command: &str, late: &Lateness, at: MonoTime) -> Result<(), String> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).stdin(Stdio::null());
        match &late.thread {
            Some(thread) => shell.env("PUNCTUAL_THREAD", thread),
            None => shell.env("PUNCTUAL_CPU", late.cpu.to_string()),
        };
        shell.env("PUNCTUAL_TIMES", late.times.to_string());
        shell.env("PUNCTUAL_UNIX_NS", late.unix_ns.to_string());
        shell.env("PUNCTUAL_STORE", &self.folder);
        shell.env("PUNCTUAL_LATENCY_NS", late.latency.map_or_else(String::new, |latency| latency.as_ns().to_string()));
        let started = shell.process_group(0).spawn();
        self.child = Some((started.map_err(|error| format!("run {command}: {error}"))?, at));
        Ok(())
    }

    /// Looks after a command that is running. Returns what went wrong with it.
    pub fn look(&mut self, at: MonoTime) -> Option<String> {
        let (child, since) = self.child.as_mut()?;
        match child.try_wait() {
            Ok(None) if at.since(*since) > LONGEST => {
                kill_group(child);
                let _ = child.wait();
                self.child = None;
                Some("the command of --on-late ran for more than a minute and was killed".to_owned())
            }
            Ok(None) => None,
            Ok(Some(status)) => {
                self.child = None;
                (!status.success()).then(|| format!("the command of --on-late ended with {status}"))
            }
            Err(error) => {
                self.child = None;
                Some(format!("wait for the command of --on-late: {error}"))
            }
        }
    }

    fn write_down(&self, unix_ns: u64) -> Result<(), String> {
        let text = (self.snapshot)()?;
        let path = self.folder.join(format!("{SNAPSHOT}{}.snapshot", unix_ns / 1_000_000_000));
        fs::write(&path, text).map_err(|error| format!("write {}: {error}", path.display()))?;
        forget_old_snapshots(&self.folder).map_err(|error| format!("remove old snapshots: {error}"))
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.child {
            kill_group(child);
            let _ = child.wait();
        }
    }
}

fn kill_group(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn signal(number: i32, pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(number)) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    Ok(kill_process(pid, signal)?)
}

fn forget_old_snapshots(folder: &Path) -> io::Result<()> {
    let is_one = |name: &str| name.starts_with(SNAPSHOT) && name.ends_with(".snapshot");
    let listed = fs::read_dir(folder)?.flatten();
    let mut all: Vec<PathBuf> =
        listed.filter(|entry| entry.file_name().to_str().is_some_and(is_one)).map(|entry| entry.path()).collect();
    all.sort();
    all.iter().rev().skip(SNAPSHOTS_MAX).try_for_each(fs::remove_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Lateness = Lateness {
        cpu: 3,
        thread: None,
        latency: Some(Nanos::from_us(700)),
        times: 2,
        unix_ns: 1_800_000_000_000_000_000,
    };

    fn at(seconds: u64) -> MonoTime {
        MonoTime::from_ns(0).plus(Nanos::from_secs(seconds))
    }

    fn actions(list: Vec<Action>, folder: &Path) -> Actions {
        Actions::new(list, Rc::new(|| Ok("a machine\n".to_owned())), folder)
    }

    /// Waits for the command to end.
    fn ended(actions: &mut Actions, seconds: u64) -> Option<String> {
        while actions.child.is_some() {
            if let Some(said) = actions.look(at(seconds)) {
                return Some(said);
            }
            std::thread::yield_now();
        }
        None
    }

    #[test]
    fn a_command_learns_what_was_late_and_is_not_run_again_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let said = dir.path().join("it's said");
        let command = format!("echo $PUNCTUAL_CPU $PUNCTUAL_LATENCY_NS $PUNCTUAL_TIMES >> \"{}\"", said.display());
        let mut actions = actions(vec![Action::Run(command)], dir.path());
        assert_eq!(actions.late(at(100), &LATE), [""; 0]);
        assert_eq!(ended(&mut actions, 101), None);
        assert_eq!(actions.late(at(105), &LATE), [""; 0]);
        assert_eq!(fs::read_to_string(&said).unwrap(), "3 700000 2\n");
        assert_eq!((actions.done, actions.passed_over), (1, 1));
        actions.late(at(110), &LATE);
        assert_eq!(ended(&mut actions, 111), None);
        assert_eq!(fs::read_to_string(&said).unwrap().lines().count(), 2);
    }

    #[test]
    fn a_command_that_fails_or_hangs_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut failing = actions(vec![Action::Run("exit 3".to_owned())], dir.path());
        failing.late(at(0), &LATE);
        assert!(ended(&mut failing, 1).unwrap().contains("exit status: 3"));
        let mut hanging = actions(vec![Action::Run("sleep 600 & sleep 600".to_owned())], dir.path());
        hanging.late(at(0), &LATE);
        assert_eq!(hanging.look(at(60)), None);
        assert!(hanging.look(at(61)).unwrap().contains("killed"));
        assert!(hanging.child.is_none());
    }

    #[test]
    fn a_signal_that_cannot_be_sent_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let signal = |pid| Action::Signal { name: "TERM".to_owned(), number: 15, pid };
        assert_eq!(actions(vec![signal(child.id())], dir.path()).late(at(0), &LATE), [""; 0]);
        assert!(!child.wait().unwrap().success());
        let failed = actions(vec![signal(4_194_303)], dir.path()).late(at(0), &LATE);
        assert!(failed[0].contains("signal TERM to process 4194303"), "{failed:?}");
    }

    #[test]
    fn snapshots_are_rare_and_few() {
        let dir = tempfile::tempdir().unwrap();
        let mut actions = actions(vec![Action::Snapshot], dir.path());
        let snapshots = || fs::read_dir(dir.path()).unwrap().count();
        for n in 0..12 {
            let late = Lateness { unix_ns: LATE.unix_ns + n * 3_600_000_000_000, ..LATE };
            assert_eq!(actions.late(at(n * 3600), &late), [""; 0]);
            actions.late(at(n * 3600 + 20), &late);
            assert_eq!(snapshots(), (usize::try_from(n).unwrap() + 1).min(SNAPSHOTS_MAX));
        }
    }
}
