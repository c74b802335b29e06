//! Threads: identifying them, and reading and setting their affinity and scheduling.
//!
//! Thread ids are reused, so the start time of a thread has to agree as well.

use crate::journal::Owner;
use crate::sys::sched::{Attributes, attributes, cpus, set_attributes, set_cpus};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::stat_line::StatLine;
use punctual_tuning::plan::{SchedPolicy, TaskName};
use rustix::process::Pid;
use std::fs;
use std::io;

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

/// State and start time from a thread's `stat`.
fn state_and_start(pid: u32) -> Option<(char, u64)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let line = StatLine::parse(&stat)?;
    Some((line.field(3)?.chars().next()?, line.number(22)?))
}

fn found(task: &TaskName) -> io::Result<Pid> {
    let start = state_and_start(task.pid).map(|(_, start)| start);
    let pid = i32::try_from(task.pid).ok().and_then(Pid::from_raw);
    pid.filter(|_| start == Some(task.started)).ok_or_else(gone)
}

/// Whether this process still runs, and is not another one with the same number.
pub fn is_alive(owner: Owner) -> bool {
    state_and_start(owner.pid).is_some_and(|(state, start)| start == owner.started && !matches!(state, 'Z' | 'X'))
}

pub fn this_process() -> io::Result<Owner> {
    let pid = std::process::id();
    let (_, started) = state_and_start(pid).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    Ok(Owner { pid, started })
}

pub fn affinity(task: &TaskName) -> io::Result<CpuSet> {
    cpus(Some(found(task)?))
}

pub fn set_affinity(task: &TaskName, cpus: &CpuSet) -> io::Result<()> {
    set_cpus(Some(found(task)?), cpus)
}

pub fn policy(task: &TaskName) -> io::Result<SchedPolicy> {
    let now = attributes(found(task)?)?;
    match i32::try_from(now.policy) {
        Ok(libc::SCHED_OTHER) => Ok(SchedPolicy::Other(now.nice)),
        Ok(libc::SCHED_FIFO) => Ok(SchedPolicy::Fifo(now.priority)),
        Ok(libc::SCHED_RR) => Ok(SchedPolicy::Rr(now.priority)),
        _ => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("it has scheduling policy {}, which could not be given back", now.policy),
        )),
    }
}

pub fn set_policy(task: &TaskName, policy: SchedPolicy) -> io::Result<()> {
    let pid = found(task)?;
    let now = attributes(pid)?;
    let (number, priority, nice) = match policy {
        SchedPolicy::Other(nice) => (libc::SCHED_OTHER, 0, nice),
        SchedPolicy::Fifo(priority) => (libc::SCHED_FIFO, priority, now.nice),
        SchedPolicy::Rr(priority) => (libc::SCHED_RR, priority, now.nice),
    };
    let policy = u32::try_from(number).map_err(io::Error::other)?;
    set_attributes(pid, Attributes { policy, priority, nice, flags: now.flags })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> TaskName {
        let Owner { pid, started } = this_process().unwrap();
        TaskName { pid, started, comm: "me".to_owned() }
    }

    #[test]
    fn only_the_thread_that_is_meant_is_touched() {
        assert!(is_alive(this_process().unwrap()));
        let other = TaskName { started: me().started + 1, ..me() };
        for error in [affinity(&other).unwrap_err(), policy(&other).unwrap_err()] {
            assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        }
        assert!(set_affinity(&other, &CpuSet::new()).is_err() && set_policy(&other, SchedPolicy::Other(0)).is_err());
    }

    #[test]
    fn a_thread_is_moved_and_moved_back() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (_, started) = state_and_start(child.id()).unwrap();
        let task = TaskName { pid: child.id(), started, comm: "sleep".to_owned() };
        let before = affinity(&task).unwrap();
        let one: CpuSet = before.first().into_iter().collect();
        set_affinity(&task, &one).unwrap();
        assert_eq!(affinity(&task).unwrap(), one);
        set_affinity(&task, &before).unwrap();
        assert_eq!(affinity(&task).unwrap(), before);
        set_policy(&task, SchedPolicy::Other(5)).unwrap();
        assert_eq!(policy(&task).unwrap(), SchedPolicy::Other(5));
        if set_policy(&task, SchedPolicy::Fifo(1)).is_ok() {
            assert_eq!(policy(&task).unwrap(), SchedPolicy::Fifo(1));
            set_policy(&task, SchedPolicy::Other(5)).unwrap();
            assert_eq!(policy(&task).unwrap(), SchedPolicy::Other(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(affinity(&task).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
