//! Where a task may run, for the list of tasks: the one thing about a task that its line in `/proc` does not
//! say.

use rustix::thread::{CpuSet, sched_getaffinity};

const KERNEL_THREAD: u64 = 0x0020_0000;
/// Set for threads that belong to one CPU; nothing is learnt by asking.
const CANNOT_BE_MOVED: u64 = 0x0400_0000;

/// A line of the list of tasks, with the CPUs told before the name, but for kernel threads that cannot be moved.
pub(super) fn told(pid: &str, line: String) -> String {
    let parts: Vec<&str> = line.splitn(5, ' ').collect();
    let flags: u64 = parts.first().and_then(|flags| flags.parse().ok()).unwrap_or_default();
    if parts.len() < 5 || flags & KERNEL_THREAD != 0 && flags & CANNOT_BE_MOVED != 0 {
        return line;
    }
    match of(pid) {
        Some(cpus) => format!("{} @{cpus} {}", parts[..4].join(" "), parts[4]),
        // Gone meanwhile; a name that looks like CPUs must not be taken for them.
        None if parts[4].starts_with('@') => String::new(),
        None => line,
    }
}

/// The CPU list of a task. Nothing where the task is gone, or the machine has more CPUs than the call was given room
/// for.
fn of(pid: &str) -> Option<String> {
    let pid = rustix::process::Pid::from_raw(pid.parse().ok()?)?;
    let allowed = sched_getaffinity(Some(pid)).ok()?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok());
    let cpus: punctual_facts::cpu_set::CpuSet = cpus.collect();
    (!cpus.is_empty()).then(|| cpus.to_string())
}

#[cfg(test)]
mod tests {
    use super::{of, told};

    #[test]
    fn tasks_that_can_be_moved_are_asked() {
        let me = std::process::id().to_string();
        let cpus = of(&me).unwrap();
        assert!(cpus.starts_with(|c: char| c.is_ascii_digit()));
        assert_eq!(told(&me, "2129984 0 0 0 a b\n".to_owned()), format!("2129984 0 0 0 @{cpus} a b\n"));
        assert_eq!(told(&me, "4194560 0 0 0 bash\n".to_owned()), format!("4194560 0 0 0 @{cpus} bash\n"));
        for line in ["69238848 2 0 0 ksoftirqd/2\n", "2129984 0\n", ""] {
            assert_eq!(told(&me, line.to_owned()), line);
        }
        assert_eq!(told("4194999999", "4194560 0 0 0 @1 x\n".to_owned()), "");
        assert_eq!(told("4194999999", "2129984 0 0 0 gone\n".to_owned()), "2129984 0 0 0 gone\n");
    }
}
