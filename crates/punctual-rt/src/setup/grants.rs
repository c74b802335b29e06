//! Reads back what the system granted to the current thread, and prints it as text.

use super::latency;
use crate::{Nanos, Policy, sys};
use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;

/// A limit of the process (`RLIMIT_...`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The limit, in the unit of its resource.
    At(u64),
    /// No limit is set.
    Unlimited,
}

/// Scheduling of the thread as granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadGrant {
    /// Thread id.
    pub tid: u32,
    /// Policy in force.
    pub policy: Option<Policy>,
    /// CPUs the thread may run on, ascending.
    pub cpus: Option<Vec<u32>>,
}

/// Facts about the memory of the process. The kernel does not show the flags of `mlockall`, so their effects are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryGrant {
    /// Bytes of locked memory (`VmLck`).
    pub locked_bytes: Option<u64>,
    /// Bytes of mapped memory (`VmSize`). Some mapped memory can never be locked, so this number stays above
    /// `locked_bytes`.
    pub mapped_bytes: Option<u64>,
    /// Whether new memory is resident at once, tested with one page.
    pub new_is_resident: Option<bool>,
}

/// What the system granted to a thread. `None` means that a value could not be read. Prints as text with one line per
/// topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Thread id, policy and CPUs.
    pub thread: ThreadGrant,
    /// Memory of the process.
    pub memory: MemoryGrant,
    /// By how much the thread's timers may be rounded. Without effect under a real-time policy.
    pub timer_slack: Option<Nanos>,
    /// Standard signals that can still interrupt the thread from outside. Signals for its own faults always can.
    pub open_signals: Vec<i32>,
    /// The limit on exit latencies of idle states in force for all CPUs, in microseconds, including requests of other
    /// programs.
    pub latency_us: Option<i32>,
    /// The limits of the thread's CPUs on exit latencies: `n/a` if no idle state is allowed, 0 if there is no limit.
    pub cpu_latency: Vec<(u32, String)>,
    /// CPU time in microseconds after which the kernel ends a real-time thread that never sleeps (soft
    /// `RLIMIT_RTTIME`).
    pub rt_time_us: Option<Limit>,
    /// Real-time run time of the thread's control group per period, in microseconds; -1 is unlimited. `None` if groups
    /// have no such limit (it needs `RT_GROUP_SCHED` and cgroup v1).
    pub group_runtime_us: Option<i64>,
    /// Period of the control group's real-time run time, in microseconds.
    pub group_period_us: Option<i64>,
}

/// Reads back what the current thread was granted.
///
/// # Real-time
/// Allocates, reads files: call before the loop, or after it.
pub fn grants() -> Grants {
    let root = Path::new("/");
    let thread = ThreadGrant { tid: sys::thread_id(), policy: sys::policy().ok(), cpus: sys::affinity().ok() };
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = MemoryGrant {
        locked_bytes: bytes(&status, "VmLck:"),
        mapped_bytes: bytes(&status, "VmSize:"),
        new_is_resident: sys::new_memory_is_resident(),
    };
    Grants {
        memory,
        timer_slack: sys::timer_slack().map(Nanos::from_ns),
        open_signals: sys::open_signals(),
        latency_us: latency::global_in_force(),
        cpu_latency: latency::per_cpu_in_force(thread.cpus.as_deref().unwrap_or_default()),
        rt_time_us: limit(root, "Max realtime timeout"),
        group_runtime_us: group_value(root, "cpu.rt_runtime_us"),
        group_period_us: group_value(root, "cpu.rt_period_us"),
        thread,
    }
}

/// A size in the text of `/proc/PID/status`, in bytes.
fn bytes(status: &str, name: &str) -> Option<u64> {
    let kib = status.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?;
    kib.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit of this name in `/proc/self/limits`.
pub(crate) fn limit(root: &Path, name: &str) -> Option<Limit> {
    let limits = fs::read_to_string(root.join("proc/self/limits")).ok()?;
    let words = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match words.split_whitespace().next()? {
        "unlimited" => Some(Limit::Unlimited),
        number => number.parse().ok().map(Limit::At),
    }
}

/// The number in the file `name` of the caller's control group (cgroup v1); `None` if groups have no real-time run
/// time.
pub(crate) fn group_value(root: &Path, name: &str) -> Option<i64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|name| name == "cpu").then_some(group)
    })?;
    let file = |mount| root.join(format!("sys/fs/cgroup/{mount}{}/{name}", group.trim_end_matches('/')));
    let value = ["cpu", "cpu,cpuacct"].into_iter().find_map(|mount| fs::read_to_string(file(mount)).ok())?;
    value.trim().parse().ok()
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadGrant { tid, policy, cpus } = &self.thread;
        let policy_words = policy.map_or("a policy that could not be read".to_owned(), |policy| policy.to_string());
        let cpus = cpus.as_ref().map_or("CPUs that could not be read".to_owned(), |cpus| named(cpus));
        writeln!(f, "thread {tid}: {policy_words}, on {cpus}")?;
        writeln!(f, "memory: {}", self.memory)?;
        match self.timer_slack {
            _ if policy.is_some_and(Policy::is_real_time) => {
                writeln!(f, "timers: not rounded, for the policy is a real-time one")?;
            }
            Some(slack) => writeln!(f, "timers: rounded by up to {} ns", slack.as_ns())?,
            None => writeln!(f, "timers: rounded by an unknown amount")?,
        }
        match self.open_signals.len() {
            0 => writeln!(f, "signals: all blocked but those of the thread's own faults")?,
            open => writeln!(f, "signals: {open} of the 22 that come from outside are not blocked")?,
        }
        self.write_idle(f)?;
        match policy {
            // The limits on run time apply only to policies with a priority.
            Some(Policy::Other | Policy::Deadline { .. }) => Ok(()),
            Some(Policy::Fifo(_) | Policy::RoundRobin(_)) | None => self.write_run_time(f),
        }
    }
}

impl Grants {
    fn write_run_time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.rt_time_us {
            Some(Limit::Unlimited) => {
                "\nprocess: does not end a real-time thread that never sleeps (RLIMIT_RTTIME is not set)"
            }
            Some(Limit::At(_)) => "\nprocess: ended when a real-time thread runs without sleep for RLIMIT_RTTIME",
            None => "\nprocess: RLIMIT_RTTIME could not be read",
        })?;
        if let Some(Limit::At(us)) = self.rt_time_us {
            write!(f, ", {us} us")?;
        }
        match (self.group_runtime_us, self.group_period_us) {
            (Some(us), _) if us < 0 => f.write_str("\ncontrol group: does not limit real-time run time"),
            (Some(us), Some(period)) => {
                write!(f, "\ncontrol group: its real-time threads run for at most {us} us of each {period} us")
            }
            (Some(us), None) => {
                write!(f, "\ncontrol group: its real-time threads run for at most {us} us of each cpu.rt_period_us")
            }
            (None, _) => f.write_str("\ncontrol group: shows no real-time run time of its own"),
        }
    }

    fn write_idle(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.latency_us {
            // Without any request the kernel shows 2000 seconds.
            Some(us) if us >= 2_000_000_000 => f.write_str("idle states: no limit for all CPUs")?,
            Some(us) => write!(f, "idle states: left within {us} us on all CPUs")?,
            None => f.write_str("idle states: the limit for all CPUs could not be read")?,
        }
        for (cpu, limit) in &self.cpu_latency {
            match limit.as_str() {
                "0" => {}
                "n/a" => write!(f, "; none at all on CPU {cpu}")?,
                us => write!(f, "; left within {us} us on CPU {cpu}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for MemoryGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kib = |bytes: Option<u64>| bytes.map_or("an unknown amount".to_owned(), |b| format!("{} KiB", b >> 10));
        write!(f, "{} of {} is locked", kib(self.locked_bytes), kib(self.mapped_bytes))?;
        f.write_str(match self.new_is_resident {
            Some(true) => ", and new memory is resident at once",
            Some(false) => ", and new memory faults when first touched",
            None => ", and whether new memory faults could not be tried",
        })
    }
}

/// A text for CPUs: `CPU 1`, `CPUs 0-3,8`.
pub(crate) fn named(cpus: &[u32]) -> String {
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, list(cpus))
}

/// A text for CPU numbers: `0-3,8`.
pub(crate) fn list(cpus: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let Some((first, after)) = rest.split_first() {
        let run = after.iter().zip(first.saturating_add(1)..).take_while(|(cpu, next)| *cpu == next).count();
        let (inside, beyond) = after.split_at(run);
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match inside.last() {
            Some(last) => write!(text, "{comma}{first}-{last}"),
            None => write!(text, "{comma}{first}"),
        };
        rest = beyond;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    #[test]
    fn what_is_given_is_said_in_plain_words() {
        let grants = Grants {
            thread: ThreadGrant { tid: 7, policy: Some(Policy::Fifo(85)), cpus: Some(vec![1, 2, 3, 8]) },
            memory: MemoryGrant {
                locked_bytes: Some(3 << 20),
                mapped_bytes: Some(4 << 20),
                new_is_resident: Some(true),
            },
            timer_slack: Some(Nanos::from_ns(50_000)),
            open_signals: vec![],
            latency_us: Some(0),
            cpu_latency: vec![(1, "n/a".to_owned()), (2, "0".to_owned()), (3, "100".to_owned())],
            rt_time_us: Some(Limit::At(200_000)),
            group_runtime_us: Some(950_000),
            group_period_us: Some(1_000_000),
        };
        let text = "thread 7: SCHED_FIFO 85, on CPUs 1-3,8\n\
            memory: 3072 KiB of 4096 KiB is locked, and new memory is resident at once\n\
            timers: not rounded, for the policy is a real-time one\n\
            signals: all blocked but those of the thread's own faults\n\
            idle states: left within 0 us on all CPUs; none at all on CPU 1; left within 100 us on CPU 3\n\
            process: ended when a real-time thread runs without sleep for RLIMIT_RTTIME, 200000 us\n\
            control group: its real-time threads run for at most 950000 us of each 1000000 us";
        assert_eq!(grants.to_string(), text);
        let thread = ThreadGrant { tid: 7, policy: Some(Policy::Other), cpus: Some(vec![1]) };
        let ordinary = Grants { thread, ..grants }.to_string();
        assert!(ordinary.starts_with("thread 7: SCHED_OTHER, on CPU 1\n"), "{ordinary}");
        assert!(!ordinary.contains("real-time") && !ordinary.ends_with('\n'), "{ordinary}");
    }

    #[test]
    fn what_could_not_be_read_is_said_so() {
        let grants = Grants { open_signals: vec![10], ..Grants::default() };
        let text = grants.to_string();
        let parts = [
            "thread 0: a policy that could not be read, on CPUs that could not be read",
            "an unknown amount of an unknown amount",
            "could not be tried",
            "1 of the 22",
            "RLIMIT_RTTIME could not be read",
        ];
        for part in parts {
            assert!(text.contains(part), "no '{part}' in {text}");
        }
    }

    #[test]
    fn what_is_set_is_read_back() {
        let read = || {
            let before = grants();
            super::super::quiet_current();
            (before, grants())
        };
        let (before, after) = std::thread::spawn(read).join().unwrap();
        assert!(before.open_signals.contains(&libc::SIGTERM) && !before.open_signals.contains(&libc::SIGKILL));
        assert_eq!((after.open_signals.len(), after.timer_slack), (0, Some(Nanos::from_ns(1))));
        assert!(after.memory.mapped_bytes.unwrap() > after.memory.locked_bytes.unwrap());
    }

    #[test]
    fn lists_of_cpus_are_short() {
        for (cpus, text) in [(&[][..], ""), (&[3], "3"), (&[0, 1], "0-1"), (&[0, 2, 3, 4, 9], "0,2-4,9")] {
            assert_eq!(list(cpus), text);
        }
    }
}
