//! A program that is found again after it was restarted: by its name, and by its unit if systemd started it.

use super::process;
use super::target::{self, Target};
use super::{InspectError, ThreadFilter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A program to be found, now and after each of its ends.
#[derive(Clone, Debug)]
pub struct Sought {
    /// The process, until it has ended.
    pid: Option<u32>,
    name: String,
    unit: Option<String>,
}

/// A running process of it.
#[derive(Debug)]
pub struct Program {
    pub pid: u32,
    pub name: String,
    /// The file that it executes.
    exe: Option<PathBuf>,
    handle: Option<OwnedFd>,
}

impl Sought {
    /// The program that is meant, which must be running, unless `waits` and a name is given.
    pub fn new(target: &Target, thread: Option<&ThreadFilter>, waits: bool) -> Result<Self, InspectError> {
        let found = target::find(target, thread);
        match (found, target) {
            (Err(InspectError::NoName(name)), _) if waits => Ok(Self { pid: None, name, unit: None }),
            (found, target) => {
                let pid = found?;
                let named = match target {
                    Target::Named(name) => Some(name.clone()),
                    _ => pid.and_then(process::name),
                };
                Ok(Self { pid, name: named.unwrap_or_default(), unit: pid.and_then(process::unit) })
            }
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A running process of the program. Of several, the first of the same unit, or the first one.
    pub fn find(&mut self) -> Option<Program> {
        let known = self.pid.filter(|pid| process::is_running(*pid));
        self.pid = known.or_else(|| self.look());
        let pid = self.pid?;
        self.unit = process::unit(pid).or(self.unit.take());
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let handle = raw.and_then(|raw| pidfd_open(raw, PidfdFlags::empty()).ok());
        Some(Program { pid, name: process::name(pid)?, exe: exe(pid), handle })
    }

    fn look(&self) -> Option<u32> {
        let mut pids: Vec<u32> =
            process::processes_named(&self.name).into_iter().filter(|pid| !process::is_kernel_thread(*pid)).collect();
        pids.sort_unstable();
        let of_unit = pids.iter().find(|pid| self.unit.is_some() && process::unit(**pid) == self.unit);
        of_unit.or(pids.first()).copied()
    }
}

impl Program {
    pub fn has_ended(&self) -> bool {
        let Some(handle) = &self.handle else { return !process::is_running(self.pid) };
        let mut polled = [PollFd::new(handle, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Whether it executes another file than it did, or has another name.
    pub fn is_another(&self) -> bool {
        exe(self.pid) != self.exe || process::name(self.pid).is_some_and(|name| name != self.name)
    }

    /// Its threads at present, by number, with their names.
    pub fn threads(&self) -> Vec<(u32, String)> {
        process::thread_ids(self.pid).into_iter().filter_map(|tid| Some((tid, process::name(tid)?))).collect()
    }
}

fn exe(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/exe")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A program under a name that nothing else has.
    fn copied(dir: &std::path::Path, name: &str) -> PathBuf {
        let path = dir.join(name);
        let folders = std::env::var_os("PATH").unwrap();
        let sleep = std::env::split_paths(&folders).map(|folder| folder.join("sleep")).find(|path| path.exists());
        std::fs::copy(sleep.unwrap(), &path).unwrap();
        path
    }

    #[test]
    fn a_program_is_found_again_under_another_number() {
        let dir = tempfile::tempdir().unwrap();
        let name = format!("again{}", std::process::id());
        let path = copied(dir.path(), &name);
        let target = Target::Named(name.clone());
        assert!(matches!(Sought::new(&target, None, false), Err(InspectError::NoName(_))));
        let mut sought = Sought::new(&target, None, true).unwrap();
        assert!(sought.find().is_none());
        for _ in 0..2 {
            let mut child = Command::new(&path).arg("1000").spawn().unwrap();
            let program = std::iter::from_fn(|| Some(sought.find())).flatten().next().unwrap();
            assert_eq!((program.pid, program.has_ended()), (child.id(), false));
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(program.has_ended() && sought.find().is_none());
        }
    }
}
