//! Adds the affinity to the list of tasks, because a task's line in `/proc` does not contain it.

use crate::sys::sched;

const KERNEL_THREAD: u64 = 0x0020_0000;
/// Flag of threads that are bound to one CPU, whose affinity need not be read.
const CANNOT_BE_MOVED: u64 = 0x0400_0000;

/// Puts the affinity of a task before its name. Lines of kernel threads that cannot be moved stay as they are.
pub(super) fn told(pid: &str, line: String) -> String {
    let parts: Vec<&str> = line.splitn(5, ' ').collect();
    let flags: u64 = parts.first().and_then(|flags| flags.parse().ok()).unwrap_or_default();
    if parts.len() < 5 || flags & KERNEL_THREAD != 0 && flags & CANNOT_BE_MOVED != 0 {
        return line;
    }
    match of(pid) {
        Some(cpus) => format!("{} @{cpus} {}", parts[..4].join(" "), parts[4]),
        // The task has ended. Without an affinity, a name that begins with `@` would be taken for one.
        None if parts[4].starts_with('@') => String::new(),
        None => line,
    }
}

/// The CPU list of a task; `None` if the task has ended, or if the machine has more CPUs than the mask.
fn of(pid: &str) -> Option<String> {
    let pid = rustix::process::Pid::from_raw(pid.parse().ok()?)?;
    let cpus = sched::cpus(Some(pid)).ok()?;
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
