//! Reads what the kernel tells about a process and its threads.

use super::procfs::{number_after, text};
use super::settings::settings;
use punctual_hist::Nanos;
use punctual_numbers::inspect::{Counters, Policy, Setup};
use std::collections::BTreeMap;
use std::fs;

/// How the names of systemd's services end.
const SERVICE: &str = ".service";

/// A thread, as far as it could be read.
#[derive(Clone, Debug)]
pub struct Thread {
    pub name: String,
    pub setup: Option<Setup>,
    pub counters: Option<Counters>,
}

/// A thread of the program, as it was read first and last.
pub struct Seen {
    /// The number of its process.
    pub pid: u32,
    pub last: Thread,
    first_counters: Option<Counters>,
    /// The highest real-time priority that it was seen with; 0 if it had none.
    highest: u32,
    /// System calls that the thread was found in, with their arguments, and how often.
    pub found_in: BTreeMap<(u32, [u64; 2]), u64>,
}

impl Seen {
    pub fn first(pid: u32, thread: &Thread) -> Self {
        Self { pid, first_counters: thread.counters, last: thread.clone(), highest: 0, found_in: BTreeMap::new() }
    }

    pub fn update(&mut self, thread: Thread) {
        self.highest = self.highest.max(thread.setup.as_ref().map_or(0, |setup| setup.priority));
        self.first_counters = self.first_counters.or(thread.counters);
        self.last = thread;
    }

    pub fn growth(&self) -> Option<Counters> {
        Some(growth(&self.first_counters?, &self.last.counters?))
    }

    /// The real-time priority that the thread had before, if it has a lower one or none now.
    pub fn demoted_from(&self) -> Option<u32> {
        let setup = self.last.setup.as_ref()?;
        let is_lower = setup.priority < self.highest && setup.policy != Some(Policy::Deadline);
        is_lower.then_some(self.highest)
    }
}

pub fn name(id: u32) -> Option<String> {
    text(&format!("/proc/{id}/comm")).map(|name| name.trim_end_matches('\n').to_owned())
}

/// Whether the process exists and is more than an ended one that nobody has waited for.
pub fn is_running(pid: u32) -> bool {
    let state = text(&format!("/proc/{pid}/stat"));
    state
        .and_then(|stat| stat.rsplit_once(')')?.1.trim_start().chars().next())
        .is_some_and(|state| !"ZX".contains(state))
}

pub fn thread_ids(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let id = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    entries.into_iter().flatten().filter_map(id).collect()
}

/// The process that a thread belongs to; `None` if there is no such thread.
pub fn process_of(tid: u32) -> Option<u32> {
    number_after(&text(&format!("/proc/{tid}/status"))?, "Tgid:")
}

/// Processes with this name: the kernel's name, or the file name of the program that was started. The name of a systemd
/// service, as in `loop.service`, stands for the processes of it that none of its others has started.
pub fn processes_named(wanted: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc");
    let id = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let pids = entries.into_iter().flatten().filter_map(id);
    let own = std::process::id();
    if wanted.ends_with(SERVICE) {
        let of_unit = |pid: &u32| is_running(*pid) && unit(*pid).as_deref() == Some(wanted);
        return first_ones(&pids.filter(of_unit).collect::<Vec<_>>(), parent);
    }
    let has_name = |pid: &u32| {
        let path = text(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let program = path.split('\0').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        *pid != own && is_running(*pid) && (program == wanted || name(*pid).as_deref() == Some(wanted))
    };
    pids.filter(has_name).collect()
}

/// The systemd service that a process belongs to.
pub fn unit(pid: u32) -> Option<String> {
    unit_in(&text(&format!("/proc/{pid}/cgroup"))?)
}

/// The service in the text of `/proc/PID/cgroup`: the last part of a path that is a service of its own.
fn unit_in(cgroups: &str) -> Option<String> {
    let of = |line: &str| {
        let path = line.splitn(3, ':').nth(2)?;
        path.split('/').rev().find(|part| part.ends_with(SERVICE)).map(str::to_owned)
    };
    // A login shell of a user is no unit that restarts a program.
    cgroups.lines().find_map(of).filter(|unit| !unit.starts_with("user@"))
}

/// Those of the processes whose parents are not among them.
fn first_ones(pids: &[u32], parent: impl Fn(u32) -> Option<u32>) -> Vec<u32> {
    let is_first = |pid: &&u32| parent(**pid).is_none_or(|parent| !pids.contains(&parent));
    pids.iter().filter(is_first).copied().collect()
}

/// Processes that these have started, and that those have started in turn, with their names.
pub fn descendants(roots: &[u32]) -> BTreeMap<u32, String> {
    let entries = fs::read_dir("/proc");
    let id = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let pids: Vec<u32> = entries.into_iter().flatten().filter_map(id).collect();
    let parents: BTreeMap<u32, u32> = pids.into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let is_from = |pid: u32| {
        let mut line = std::iter::successors(parents.get(&pid), |pid| parents.get(pid)).take(parents.len());
        !roots.contains(&pid) && line.any(|ancestor| roots.contains(ancestor))
    };
    parents.keys().filter(|pid| is_from(**pid)).filter_map(|pid| Some((*pid, name(*pid)?))).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = text(&format!("/proc/{pid}/stat"))?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The threads of a process, of these ids.
pub fn threads(pid: u32, tids: &[u32]) -> BTreeMap<u32, Thread> {
    let status = text(&format!("/proc/{pid}/status")).unwrap_or_default();
    let limits = text(&format!("/proc/{pid}/limits")).unwrap_or_default();
    let read = |tid: &u32| {
        let name = name(*tid)?;
        Some((*tid, Thread { name, setup: settings(*tid, &status, &limits), counters: counters(pid, *tid) }))
    };
    tids.iter().filter_map(read).collect()
}

fn counters(pid: u32, tid: u32) -> Option<Counters> {
    let folder = format!("/proc/{pid}/task/{tid}");
    let status = text(&format!("{folder}/status"))?;
    let stat = text(&format!("{folder}/stat"))?;
    let schedstat = text(&format!("{folder}/schedstat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // The first word after the name is field 3 of proc_pid_stat(5).
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let mut times = schedstat.split_whitespace().map(|word| word.parse().ok().map(Nanos::from_ns));
    Some(Counters {
        waits: number_after(&status, "voluntary_ctxt_switches:")?.into(),
        preemptions: number_after(&status, "nonvoluntary_ctxt_switches:")?.into(),
        minor_faults: field(10)?,
        major_faults: field(12)?,
        ran: times.next().flatten(),
        waited_for_cpu: times.next().flatten(),
    })
}

/// What the counters grew by.
pub fn growth(first: &Counters, last: &Counters) -> Counters {
    let time = |first: Option<Nanos>, last: Option<Nanos>| Some(last?.minus(first?));
    Counters {
        waits: last.waits.saturating_sub(first.waits),
        preemptions: last.preemptions.saturating_sub(first.preemptions),
        minor_faults: last.minor_faults.saturating_sub(first.minor_faults),
        major_faults: last.major_faults.saturating_sub(first.major_faults),
        ran: time(first.ran, last.ran),
        waited_for_cpu: time(first.waited_for_cpu, last.waited_for_cpu),
    }
}

/// The system call that a thread is in, with its first two arguments. `Err` if the kernel does not show it to this user.
pub fn current_call(pid: u32, tid: u32) -> Result<Option<(u32, [u64; 2])>, ()> {
    let line = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).map_err(|_| ())?;
    let mut words = line.split_whitespace();
    let number = words.next().and_then(|word| word.parse().ok());
    let mut argument = || words.next()?.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    Ok(number.and_then(|number| Some((number, [argument()?, argument()?]))))
}

/// The priority of a thread as the kernel counts it: a lower number goes first.
pub fn kernel_priority(tid: u32) -> Option<i32> {
    let stat = text(&format!("/proc/{tid}/stat"))?;
    let priority: i32 = stat.rsplit_once(')')?.1.split_whitespace().nth(18 - 3)?.parse().ok()?;
    Some(priority + 100)
}

pub fn is_kernel_thread(pid: u32) -> bool {
    // A thread of the kernel has no memory of its own.
    text(&format!("/proc/{pid}/status")).is_some_and(|status| !status.contains("VmSize:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_control_groups() {
        assert_eq!(unit_in("0::/system.slice/rt-loop.service\n").as_deref(), Some("rt-loop.service"));
        assert_eq!(unit_in("0::/system.slice/rt.service/inner\n").as_deref(), Some("rt.service"));
        assert_eq!(unit_in("0::/user.slice/user-0.slice/session-1.scope\n"), None);
        assert_eq!(unit_in("0::/user.slice/user@0.service\n"), None);
    }

    #[test]
    fn the_first_processes_of_a_service_are_those_that_others_have_started() {
        let parents = BTreeMap::from([(10, 1), (11, 10), (12, 11), (20, 7)]);
        let parent = |pid| parents.get(&pid).copied();
        assert_eq!(first_ones(&[10, 11, 12], parent), [10]);
        assert_eq!(first_ones(&[12, 20], parent), [12, 20]);
    }

    #[test]
    fn a_process_that_this_one_started_descends_from_it() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = descendants(&[std::process::id()]);
        let of_child = descendants(&[child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        // Until it has replaced itself it has the name of the thread that started it.
        assert!(found.get(&child.id()).is_some_and(|name| !name.is_empty()), "{found:?}");
        assert_eq!(of_child, BTreeMap::new());
    }

    #[test]
    fn a_thread_that_lost_its_priority_was_demoted() {
        let setup = |policy, priority| {
            let own = settings(std::process::id(), "", "").unwrap();
            Thread { name: String::new(), counters: None, setup: Some(Setup { policy: Some(policy), priority, ..own }) }
        };
        let mut seen = Seen::first(1, &setup(Policy::Other, 0));
        seen.update(setup(Policy::Fifo, 80));
        assert_eq!(seen.demoted_from(), None);
        seen.update(setup(Policy::Other, 0));
        assert_eq!(seen.demoted_from(), Some(80));
        seen.update(setup(Policy::Deadline, 0));
        assert_eq!(seen.demoted_from(), None, "the deadline policy is above all priorities");
    }
}
