//! Page faults in the measured loop: pages of the measuring program are taken away while it sleeps.
//!
//! The victim must not have locked its memory; the process that starts it sees to that. With swap space, only the pages
//! of the measuring thread's stack to which it returns are taken, so that the thread that reads the trace is not
//! disturbed. Without swap, the program's code is taken, and any of its threads may bring it back. A BPF program
//! records the faults and the thread's system calls: a plant is the time from a fault to the thread's next system call.

use super::burn::{Burn, Burner, Burnt};
use super::{Noted, Planting, Stop, another, jitter};
use crate::sys;
use crate::truth::Plant;
use anyhow::{Context, Result};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Time within which a page is written to the swap space.
const WRITTEN_NS: u64 = 2_200_000;
/// A real-time thread that has existed for this time is the one that measures.
const SETTLED_NS: u64 = 2_500_000_000;
const PAGE: u64 = 4096;

/// Takes the victim's pages away again and again.
pub fn run(planting: &Planting, stop: &Stop) -> Result<Vec<Plant>> {
    let victim = planting.victim.context("whose pages? (--victim PID)")?;
    let pid = rustix::process::Pid::from_raw(i32::try_from(victim)?).context("0 is no process")?;
    let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).context("open the victim")?;
    let thread = settled_thread(victim, stop).context("find the victim's real-time thread")?;
    let prey = if is_swapping() {
        // A page that came back recently waits in a buffer of the CPU on which it came back, and can be taken only from
        // there.
        sys::pin(planting.cpu)?;
        Prey::stack(victim, thread)
            .with_context(|| format!("find the stack of the victim's real-time thread {thread}"))?
    } else {
        sys::pin(another(planting.cpu))?;
        Prey::Code(code(victim)?)
    };
    let note =
        Burn { cpu: planting.cpu, burst_ns: 0, every_ns: 0, tid: Some(thread), argument: None, function_at: None };
    let faults = Burner::start(&["page_fault_user"], note)?;
    let calls = Burner::start(&["sys_enter"], note)?;
    let mut random = sys::now_ns() | 1;
    prey.take(&pidfd)?;
    // The victim may end before the planter.
    while !stop.asked() && prey.take(&pidfd).is_ok() {
        sys::sleep_until(sys::now_ns() + jitter(&mut random, planting.every_ns));
    }
    Ok(planting.plants("-", &pairs(&faults.burnt()?, &calls.burnt()?)))
}

/// The pages that are taken away.
#[derive(Debug)]
enum Prey {
    /// All code that the victim has mapped from files.
    Code(Vec<(u64, u64)>),
    /// A few pages of a stack, and the file through which the victim's memory is read.
    Stack(File, (u64, u64)),
}

impl Prey {
    /// The pages around the top of a thread's stack, whose address is known while the thread waits in a system call.
    fn stack(pid: u32, thread: u32) -> Result<Self> {
        let pointer = pointer(pid, thread).context("it is never seen in a system call")?;
        let path = format!("/proc/{pid}/maps");
        let maps = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let ranges = maps.lines().filter_map(|line| line.split_whitespace().next()).filter_map(bounds);
        let mut holding = ranges.filter(|(from, to)| (*from..*to).contains(&pointer));
        let whole = holding.next().with_context(|| format!("{path} has no mapping of {pointer:#x}"))?;
        let path = format!("/proc/{pid}/mem");
        let memory = File::open(&path).with_context(|| format!("open {path}"))?;
        Ok(Self::Stack(memory, around(pointer, whole)))
    }

    /// Takes the pages away. Pages of a stack are dirty, so the first request only writes them to the swap space.
    /// Reading them makes them clean pages with a copy there, and the second request drops them at once.
    fn take(&self, pidfd: &OwnedFd) -> Result<()> {
        let (memory, range) = match self {
            Self::Code(ranges) => return sys::page_out(pidfd, ranges),
            Self::Stack(memory, range) => (memory, *range),
        };
        sys::page_out(pidfd, &[range])?;
        sys::sleep_until(sys::now_ns() + WRITTEN_NS);
        for page in (range.0..range.1).step_by(usize::try_from(PAGE)?) {
            memory.read_exact_at(&mut [0; 1], page).context("look at a page of the victim")?;
        }
        sys::page_out(pidfd, &[range])
    }
}

/// The page of an address, and the pages before and after it if they belong to the range.
fn around(address: u64, (from, to): (u64, u64)) -> (u64, u64) {
    let page = address / PAGE * PAGE;
    (page.saturating_sub(PAGE).max(from), page.saturating_add(2 * PAGE).min(to))
}

/// The times from the first fault after a system call to the next system call.
fn pairs(faults: &[Burnt], calls: &[Burnt]) -> Vec<Noted> {
    let mut noted: Vec<Noted> = Vec::new();
    for fault in faults {
        let after = calls.partition_point(|call| call.start_ns < fault.start_ns);
        let Some(end_ns) = calls.get(after).map(|call| call.start_ns) else { break };
        if noted.last().is_none_or(|last| last.end_ns != end_ns) {
            noted.push(Noted { start_ns: fault.start_ns, end_ns, gaps_ns: 0 });
        }
    }
    noted
}

/// The real-time thread of a process that stays. Before the measurement, other real-time threads come and go.
fn settled_thread(pid: u32, stop: &Stop) -> Option<u32> {
    let mut last = None;
    while !stop.asked() {
        let thread = real_time_thread(pid);
        if thread.is_some() && thread == last {
            return thread;
        }
        last = thread;
        sys::sleep_until(sys::now_ns() + SETTLED_NS);
    }
    None
}

/// Priority and id of the thread with the highest real-time priority in a process.
fn real_time_thread(pid: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let threads = threads.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ranked = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
        // The name may contain anything. After it, the state is the first word and the real-time priority the 38th.
        let (_, rest) = text.rsplit_once(") ")?;
        let priority: u32 = rest.split_whitespace().nth(37)?.parse().ok()?;
        (priority > 0).then_some((priority, thread))
    });
    ranked.max().map(|(_, thread)| thread)
}

/// Whether there is swap space. The first line of the file is a heading.
fn is_swapping() -> bool {
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}

/// The stack pointer of a thread while it waits in a system call.
fn pointer(pid: u32, thread: u32) -> Option<u64> {
    for _ in 0..1000 {
        let said = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).unwrap_or_default();
        if let Some(pointer) = stack_pointer(&said) {
            return Some(pointer);
        }
        sys::sleep_until(sys::now_ns() + 300_000);
    }
    None
}

/// Parses the stack pointer, which is the last word but one.
fn stack_pointer(said: &str) -> Option<u64> {
    let word = said.split_whitespace().rev().nth(1)?;
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// The address ranges of a process with code from files.
fn code(pid: u32) -> Result<Vec<(u64, u64)>> {
    let path = format!("/proc/{pid}/maps");
    let text = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    Ok(text.lines().filter_map(range).collect())
}

fn range(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_whitespace();
    let bounds = bounds(words.next()?)?;
    let code = words.next()?.contains('x') && words.nth(3)?.starts_with('/');
    code.then_some(bounds)
}

fn bounds(word: &str) -> Option<(u64, u64)> {
    let (from, to) = word.split_once('-')?;
    Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_from_files_is_taken() {
        let line = "55d0-55f0 r-xp 00001000 fe:00 123 /usr/bin/punctual";
        assert_eq!(range(line), Some((0x55d0, 0x55f0)));
        assert_eq!(range("55d0-55f0 rw-p 00001000 fe:00 123 /usr/bin/punctual"), None);
        assert_eq!(range("7ff0-7ff1 r-xp 00000000 00:00 0 [vdso]"), None);
    }

    #[test]
    fn a_stack_is_told_of_a_thread_that_waits() {
        assert_eq!(stack_pointer("230 0x1 0x1 0x7ff0 0x0 0x0 0x0 0x7f10 0x7f00\n"), Some(0x7f10));
        assert_eq!(stack_pointer("running\n"), None);
    }

    #[test]
    fn only_pages_of_the_stack_are_taken() {
        assert_eq!(around(0x7f12_3456, (0x7f00_0000, 0x7f20_0000)), (0x7f12_2000, 0x7f12_5000));
        assert_eq!(around(0x7f00_0010, (0x7f00_0000, 0x7f20_0000)), (0x7f00_0000, 0x7f00_2000));
        assert_eq!(around(0x7f1f_f010, (0x7f00_0000, 0x7f20_0000)), (0x7f1f_e000, 0x7f20_0000));
    }

    #[test]
    fn faults_of_one_activation_are_one_plant() {
        let at = |ns| Burnt { start_ns: ns, end_ns: ns, gaps_ns: 0, comm: String::new(), function: 0 };
        let noted = pairs(&[at(5), at(7), at(25), at(40)], &[at(1), at(10), at(20), at(30)]);
        let times: Vec<(u64, u64)> = noted.iter().map(|noted| (noted.start_ns, noted.end_ns)).collect();
        assert_eq!(times, [(5, 10), (25, 30)]);
    }
}
