//! Reads all threads, and moves threads off the real-time CPUs.
//!
//! A thread is identified by its number and its start time, because a number alone may be reused.

use super::super::{SchedPolicy, Step, TaskName};
use super::draft::Draft;
use super::{Found, KnobRemedy, Site};
use crate::knobs::{DEADLINE, Doubt, FIFO, KERNEL_THREAD, RR};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::allowed_by;
use punctual_facts::fact::{Fact, printable};
use punctual_facts::stat_line::StatLine;
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// The largest number of threads on a machine. With more threads, none is moved.
const MOST_THREADS: usize = 16_384;
const NAME_CHARS: usize = 64;
const NO_SETAFFINITY: u64 = 0x0400_0000;
/// Names of this program's processes. Their threads are not moved, because they end soon.
const THIS_PROGRAM: [&str; 2] = ["punctual", "punctual-reader"];
const UNSEEN: &str = "the thread ids are not shown here (a captured machine does not contain them)";

/// The threads, read once for all remedies.
pub(super) type Threads = OnceCell<Result<Vec<Thread>, Doubt>>;

#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) name: TaskName,
    pub(super) process: u32,
    pub(super) is_kernel: bool,
    /// Whether the kernel refuses to move the thread.
    is_fixed: bool,
    /// The CPU on which the thread last ran.
    cpu: u32,
    pub(super) policy: SchedPolicy,
    /// Whether the thread belongs to the real-time or the deadline class.
    pub(super) is_real_time: bool,
    /// The CPUs on which the thread may run.
    pub(super) cpus: CpuSet,
}

impl Thread {
    fn parse(process: u32, stat: &str, allowed: impl FnOnce() -> Option<CpuSet>) -> Option<Self> {
        let line = StatLine::parse(stat)?;
        let flags: u64 = line.number(9)?;
        let (priority, policy) = (line.number(40)?, line.number(41)?);
        let is_fixed = flags & NO_SETAFFINITY != 0;
        Some(Self {
            name: TaskName {
                pid: line.pid.parse().ok()?,
                started: line.number(22)?,
                comm: printable(line.comm, NAME_CHARS),
            },
            process,
            is_kernel: flags & KERNEL_THREAD != 0,
            is_fixed,
            cpu: line.number(39)?,
            policy: match policy {
                FIFO => SchedPolicy::Fifo(priority),
                RR => SchedPolicy::Rr(priority),
                _ => SchedPolicy::Other(line.number(19)?),
            },
            is_real_time: [FIFO, RR, DEADLINE].contains(&policy),
            cpus: if is_fixed { CpuSet::new() } else { allowed().unwrap_or_default() },
        })
    }

    fn touches(&self, cpus: &CpuSet) -> bool {
        !self.cpus.intersection(cpus).is_empty()
    }
}

impl Site<'_> {
    fn threads(&self) -> Result<&[Thread], Doubt> {
        self.threads.get_or_init(|| self.read_threads()).as_deref().map_err(Clone::clone)
    }

    pub(super) fn kernel_threads(&self) -> Result<Vec<&Thread>, Doubt> {
        Ok(self.threads()?.iter().filter(|thread| thread.is_kernel).collect())
    }

    fn read_threads(&self) -> Result<Vec<Thread>, Doubt> {
        let case = self.case;
        let names = case.list("/proc");
        let mut processes: Vec<u32> =
            names.known().into_iter().flatten().filter_map(|name| name.parse().ok()).collect();
        processes.sort_unstable();
        let mut threads = Vec::new();
        for process in processes {
            let folder = format!("/proc/{process}");
            let Some(first) = self.read_thread(process, &folder) else { continue };
            let others = if first.is_kernel { Fact::Absent } else { case.list(&format!("{folder}/task")) };
            threads.push(first);
            let others = others.known().into_iter().flatten().filter_map(|name| name.parse::<u32>().ok());
            threads.extend(
                others
                    .filter(|thread| *thread != process)
                    .filter_map(|thread| self.read_thread(process, &format!("{folder}/task/{thread}"))),
            );
            if threads.len() > MOST_THREADS {
                return Doubt::unknown(format!("there are more than {MOST_THREADS} threads"));
            }
        }
        Doubt::unknown_if(threads.is_empty(), UNSEEN)?;
        let is_contained = !threads.iter().any(|thread| thread.is_kernel);
        Doubt::unknown_if(is_contained, "only the tasks of this container can be seen")?;
        Ok(threads)
    }

    fn read_thread(&self, process: u32, folder: &str) -> Option<Thread> {
        let read = |file: &str| self.case.peek(&format!("{folder}/{file}"));
        Thread::parse(process, read("stat").known()?, || allowed_by(read("status").known()?))
    }

    /// The numbers of the processes whose threads stay where they are: this program and the real-time work. A process
    /// belongs to the real-time work if one of its real-time threads may run on the real-time CPUs.
    fn ours(&self) -> Result<BTreeSet<u32>, Doubt> {
        let is_ours = |thread: &&Thread| {
            !thread.is_kernel
                && (thread.is_real_time && thread.touches(self.case.rt()) || thread.name.comm == "punctual")
        };
        Ok(self.threads()?.iter().filter(is_ours).map(|thread| thread.process).collect())
    }

    /// Real-time threads of user programs that may run on the real-time CPUs.
    pub(super) fn real_time_work(&self) -> Result<Vec<&Thread>, Doubt> {
        let is_ours = |thread: &&Thread| !thread.is_kernel && thread.is_real_time && thread.touches(self.case.rt());
        Ok(self.threads()?.iter().filter(is_ours).collect())
    }

    pub(super) fn thread(&self, pid: u32) -> Result<Option<&Thread>, Doubt> {
        Ok(self.threads()?.iter().find(|thread| thread.name.pid == pid))
    }

    /// Moves a thread off the real-time CPUs: to its own other CPUs or, if it has none, to all housekeeping CPUs.
    pub(super) fn send_away(&self, draft: &mut Draft, thread: &Thread) {
        let cpus = self.case.kept_off(&thread.cpus);
        let subject = format!("{} ({})", thread.name.comm, thread.name.pid);
        let (before, after) = (thread.cpus.to_string(), cpus.to_string());
        draft.step(&subject, &before, &after, Step::Affinity { task: thread.name.clone(), cpus });
    }
}

/// Moves kernel threads off the real-time CPUs. Threads bound to one CPU stay, and so do interrupt threads, which run
/// where their interrupt is delivered.
pub(super) fn kernel(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let mut draft = Draft::default();
    for thread in site.kernel_threads()? {
        let roams = !thread.is_fixed && thread.cpus.len() > 1 && thread.touches(case.rt());
        if roams && !thread.name.comm.starts_with("irq/") {
            site.send_away(&mut draft, thread);
        }
    }
    Ok(draft.apart(
        "None worth mentioning; threads that are created later start with the kernel's own mask again.",
        "Cpus_allowed_list in /proc/PID/status",
    ))
}

/// Moves ordinary threads that last ran on the real-time CPUs. Without systemd, whose slices restrict other threads, it
/// moves every thread that may run on these CPUs.
pub(super) fn leftovers(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let ours = site.ours()?;
    let has_slices = case.machine.boot.is_systemd();
    let mut draft = Draft::default();
    for thread in site.threads()? {
        let is_this_program = THIS_PROGRAM.contains(&thread.name.comm.as_str());
        let is_meant = !thread.is_kernel && !thread.is_real_time && !is_this_program && !ours.contains(&thread.process);
        let was_there = case.rt().contains(thread.cpu);
        if is_meant && !thread.is_fixed && thread.touches(case.rt()) && (was_there || !has_slices) {
            site.send_away(&mut draft, thread);
        }
    }
    if draft.is_empty() && !ours.is_empty() {
        return Ok(KnobRemedy::NotHere("the processes on these CPUs belong to the real-time work itself".to_owned()));
    }
    Ok(draft.apart(
        "A program that chose these CPUs on purpose is moved against its will, and may choose them again.",
        "Cpus_allowed_list in /proc/PID/status",
    ))
}
