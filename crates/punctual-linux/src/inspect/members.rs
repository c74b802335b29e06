//! The threads and processes of the program, as they come and go.
//!
//! Without a trace they are found by looking from time to time. The trace tells of each task as it begins, so that also
//! one that ends soon is known by its name.

use super::process::{self, Seen, Thread};
use punctual_numbers::inspect::{self as numbers, Record};
use punctual_numbers::trace::Tid;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time for processes to end after SIGTERM, before SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// Tasks that are read as soon as they begin, between two readings of the trace. Of more, those that are still there at the
/// next look are read then, so that the trace is read in time.
const READ_AT_ONCE: u32 = 64;

pub struct Members {
    /// By number, all threads that were seen.
    pub threads: BTreeMap<u32, Seen>,
    /// By number, the processes that are observed.
    pub processes: BTreeMap<u32, Process>,
    /// Processes that these have started and that are not observed, with their names.
    pub others: BTreeMap<u32, String>,
    /// Whether processes that the program starts are observed as well.
    follows: bool,
    /// By number of the thread, its process, also before the thread could be read.
    tasks: BTreeMap<u32, u32>,
}

pub struct Process {
    pub name: String,
    /// Where it can be ended, whatever becomes of its number.
    handle: Option<OwnedFd>,
    has_ended: bool,
}

impl Members {
    pub fn new(pid: u32, follows: bool) -> Self {
        let mut members = Self {
            threads: BTreeMap::new(),
            processes: BTreeMap::new(),
            others: BTreeMap::new(),
            follows,
            tasks: BTreeMap::new(),
        };
        members.admit(pid, String::new());
        members
    }

    fn admit(&mut self, pid: u32, name: String) {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let handle = raw.and_then(|raw| pidfd_open(raw, PidfdFlags::empty()).ok());
        self.processes.entry(pid).or_insert(Process { name, handle, has_ended: false });
        self.tasks.insert(pid, pid);
    }

    /// Admits processes that exist already and that the observed ones have started.
    pub fn find_children(&mut self) {
        let roots: Vec<u32> = self.processes.keys().copied().collect();
        for (pid, name) in process::descendants(&roots) {
            if self.follows {
                self.admit(pid, name);
            } else {
                self.others.insert(pid, name);
            }
        }
    }

    /// Reads the threads and their settings. What was read before stays if a thread is gone.
    pub fn look(&mut self) {
        let Self { threads, processes, tasks, .. } = self;
        for (pid, process) in processes.iter_mut().filter(|(_, process)| !process.has_ended) {
            let tids = process::thread_ids(*pid);
            process.has_ended = tids.is_empty();
            tasks.extend(tids.iter().map(|tid| (*tid, *pid)));
            for (tid, thread) in process::threads(*pid, &tids) {
                note(threads, *pid, tid, thread);
            }
            process.name = process::name(*pid).unwrap_or_else(|| std::mem::take(&mut process.name));
        }
    }

    /// Learns from the trace which tasks began or got another name, and reads those that began while they are there.
    pub fn learn(&mut self, records: &[Record]) {
        let mut unread = READ_AT_ONCE;
        for record in records {
            match &record.seen {
                numbers::Seen::Begun { tid, is_thread, name } => {
                    self.begun(record.tid, *tid, *is_thread, name, unread > 0);
                    unread = unread.saturating_sub(1);
                }
                numbers::Seen::Renamed { tid, name } => self.renamed(*tid, name),
                _ => {}
            }
        }
    }

    fn begun(&mut self, by: Tid, tid: Tid, is_thread: bool, name: &str, reads: bool) {
        let (Ok(by), Ok(tid)) = (u32::try_from(by), u32::try_from(tid)) else { return };
        let Some(process) = self.tasks.get(&by).copied() else { return };
        match (is_thread, self.follows) {
            (true, _) => {
                self.tasks.insert(tid, process);
            }
            (false, true) => self.admit(tid, name.to_owned()),
            (false, false) => {
                self.others.insert(tid, name.to_owned());
                return;
            }
        }
        let pid = if is_thread { process } else { tid };
        let read = reads.then(|| process::threads(pid, &[tid]).remove(&tid)).flatten();
        let nothing_but_its_name = || Thread { name: name.to_owned(), setup: None, counters: None };
        note(&mut self.threads, pid, tid, read.unwrap_or_else(nothing_but_its_name));
    }

    fn renamed(&mut self, tid: Tid, name: &str) {
        let Ok(tid) = u32::try_from(tid) else { return };
        if let Some(thread) = self.threads.get_mut(&tid) {
            name.clone_into(&mut thread.last.name);
        }
        if let Some(process) = self.processes.get_mut(&tid) {
            name.clone_into(&mut process.name);
        }
        if let Some(other) = self.others.get_mut(&tid) {
            name.clone_into(other);
        }
    }

    pub fn is_any_running(&self) -> bool {
        self.processes.iter().any(|(pid, process)| !process.has_ended && process::is_running(*pid))
    }

    /// Ends the processes that still run, first by SIGTERM.
    pub fn end(&self) {
        let signal = |signal| {
            for handle in self.processes.values().filter_map(|process| process.handle.as_ref()) {
                let _ = pidfd_send_signal(handle, signal);
            }
        };
        if !self.is_any_running() {
            return;
        }
        signal(Signal::TERM);
        let asked = Instant::now();
        while self.is_any_running() {
            if asked.elapsed() > PATIENCE {
                return signal(Signal::KILL);
            }
            sleep(POLL);
        }
    }
}

fn note(threads: &mut BTreeMap<u32, Seen>, pid: u32, tid: u32, thread: Thread) {
    threads.entry(tid).or_insert_with(|| Seen::first(pid, &thread)).update(thread);
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_hist::MonoTime;
    use punctual_numbers::trace::Context;

    /// A number that no task has.
    const GONE: Tid = 4_194_305;

    fn record(tid: Tid, seen: numbers::Seen) -> Record {
        Record { at: MonoTime::default(), cpu: 0, tid, context: Context::default(), seen }
    }

    fn begun(tid: Tid, is_thread: bool, name: &str) -> numbers::Seen {
        numbers::Seen::Begun { tid, is_thread, name: name.into() }
    }

    fn own() -> Tid {
        Tid::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn a_task_that_is_gone_already_is_known_by_its_name() {
        let mut members = Members::new(std::process::id(), true);
        members.learn(&[
            record(own(), begun(GONE, true, "first")),
            record(own(), numbers::Seen::Renamed { tid: GONE, name: "last".into() }),
            record(GONE, begun(GONE + 1, false, "child")),
            record(GONE + 7, begun(GONE + 8, true, "of somebody else")),
        ]);
        let told = |tid: Tid| {
            let thread = &members.threads[&u32::try_from(tid).unwrap()];
            (thread.pid, thread.last.name.as_str(), thread.last.setup.is_none())
        };
        assert_eq!(told(GONE), (std::process::id(), "last", true));
        assert_eq!(told(GONE + 1), (u32::try_from(GONE).unwrap() + 1, "child", true));
        assert_eq!((members.threads.len(), members.processes.len()), (2, 2));
    }

    #[test]
    fn a_process_that_is_not_followed_is_named_and_not_observed() {
        let mut members = Members::new(std::process::id(), false);
        members.learn(&[
            record(own(), begun(GONE, false, "sh")),
            record(GONE, numbers::Seen::Renamed { tid: GONE, name: "logger".into() }),
            record(GONE, begun(GONE + 1, true, "its thread")),
        ]);
        assert_eq!(members.others.into_values().collect::<Vec<_>>(), ["logger"]);
        assert_eq!((members.threads.len(), members.processes.len()), (0, 1));
    }

    #[test]
    fn children_are_found_and_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut members = Members::new(child.id(), true);
        members.find_children();
        members.look();
        assert!(members.is_any_running() && members.threads[&child.id()].last.setup.is_some());
        members.end();
        child.wait().unwrap();
        members.look();
        assert!(!members.is_any_running());
    }
}
