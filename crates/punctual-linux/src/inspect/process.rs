//! Reads what the kernel tells about a process and its threads.

use super::procfs::{number_after, text};
use super::settings::settings;
use punctual_hist::Nanos;
use punctual_numbers::inspect::{Counters, Setup};
use std::collections::BTreeMap;
use std::fs;

/// A thread, as far as it could be read.
#[derive(Clone, Debug)]
pub struct Thread {
    pub name: String,
    pub setup: Option<Setup>,
    pub counters: Option<Counters>,
}

/// A thread of the program, as it was read first and last.
pub struct Seen {
    pub last: Thread,
    first_counters: Option<Counters>,
    /// System calls that the thread was found in, with their arguments, and how often.
    pub found_in: BTreeMap<(u32, [u64; 2]), u64>,
}

impl Seen {
    pub fn first(thread: &Thread) -> Self {
        Self { first_counters: thread.counters, last: thread.clone(), found_in: BTreeMap::new() }
    }

    pub fn growth(&self) -> Option<Counters> {
        Some(growth(&self.first_counters?, &self.last.counters?))
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

/// Processes with this name: the kernel's name, or the file name of the program that was started.
pub fn processes_named(wanted: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc");
    let id = |entry: std::io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let pids = entries.into_iter().flatten().filter_map(id);
    let own = std::process::id();
    let has_name = |pid: &u32| {
        let path = text(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let program = path.split('\0').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        *pid != own && is_running(*pid) && (program == wanted || name(*pid).as_deref() == Some(wanted))
    };
    pids.filter(has_name).collect()
}

/// Processes that these threads of a process have started and that exist still, with their names. Kernels without
/// `CONFIG_PROC_CHILDREN` show none.
pub fn children(pid: u32, tids: &[u32]) -> BTreeMap<u32, String> {
    let lists = tids.iter().filter_map(|tid| text(&format!("/proc/{pid}/task/{tid}/children")));
    let named = |id: &str| id.parse().ok().and_then(|id| Some((id, name(id)?)));
    lists.flat_map(|list| list.split_whitespace().filter_map(named).collect::<Vec<_>>()).collect()
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
    fn a_process_that_a_thread_started_is_its_child() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = children(own, &thread_ids(own));
        child.kill().unwrap();
        child.wait().unwrap();
        if !std::path::Path::new("/proc/thread-self/children").exists() {
            return println!("this kernel does not tell of children");
        }
        // Until it has replaced itself it has the name of the thread that started it.
        assert!(found.get(&child.id()).is_some_and(|name| !name.is_empty()), "{found:?}");
        assert_eq!(children(own, &[u32::MAX]), BTreeMap::new());
    }
}
