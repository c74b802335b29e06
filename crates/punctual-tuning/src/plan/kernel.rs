//! Decides which kernel files may be written at all, now or at each boot. The planner and the code that writes use the
//! same list.
//!
//! This module checks paths only. The code that writes can follow links, and checks where they lead.

const VALUES: [&str; 3] = ["/proc/irq/", "/proc/sys/", "/sys/"];
/// Files that are never written: they name programs that the kernel runs as root, suspend or stop the machine, or
/// belong to its firmware.
const NEVER: [&str; 9] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hotplug",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/poweroff_cmd",
    "/proc/sys/kernel/sysrq",
    "/proc/sys/fs/binfmt_misc",
    "/sys/firmware",
    "/sys/kernel/uevent_helper",
    "/sys/power",
];

/// Whether a file may be written; for a shell pattern, whether every file that matches it may be written.
pub fn may_be_written(path: &str) -> bool {
    let fixed = path.split(['*', '?', '[']).next().unwrap_or_default();
    let is_pattern = fixed.len() < path.len();
    let is_plain = path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."));
    let is_never = |never: &&str| path.starts_with(*never) || (is_pattern && never.starts_with(fixed));
    is_plain && VALUES.iter().any(|place| fixed.starts_with(place)) && !NEVER.iter().any(is_never)
}

/// The path of the file that holds a sysctl. `name` is written with dots or slashes.
pub fn sysctl_file(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::may_be_written;

    #[test]
    fn what_reaches_further_than_a_value_is_never_written() {
        for path in ["/proc/sys/kernel/numa_balancing", "/sys/block/*/queue/scheduler", "/proc/irq/5/smp_affinity"] {
            assert!(may_be_written(path), "{path}");
        }
        let never = "/proc/sys/kernel/core_pattern /proc/sys/kernel/core_p* /proc/sys/*/core_pattern /sys/power/state \
            /sys/p?wer/state /sys//power/state /sys/./power/state /sys/kernel/[u]event_helper /proc/1/oom_adj /proc/*/sys \
            /etc/passwd sys/block";
        for path in never.split(' ').chain([""]) {
            assert!(!may_be_written(path), "{path}");
        }
    }
}
