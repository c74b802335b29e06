//! Reads the facts for a check from files below a root folder, which tests choose.

use super::host::{Host, HostCpu, Rights};
use crate::idle::states_below;
use crate::release::version;
use crate::setup::{group_value, limit, limit_file, others_limit};
use crate::{Nanos, now, sys};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A larger CPU number in a file means that the file does not contain a list of CPUs.
const CPUS_MAX: u32 = 8192;

impl Host {
    /// Reads this machine. Also measures how long a reading of the clock takes, and how long a wake-up takes at best.
    ///
    /// # Real-time
    /// Allocates, reads files, sleeps about fifteen times for a microsecond: call before the loop.
    pub fn here() -> Self {
        let slack = sys::timer_slack().map(Nanos::from_ns);
        Self {
            clock_read: Some(sys::clock_read_cost()),
            wake_up: wake_up_cost(),
            tick: Some(sys::tick_length()).filter(|length| *length > Nanos::ZERO),
            timer_slack: slack,
            ..Self::read(Path::new("/"))
        }
    }

    /// Reads the machine whose files are below `root`. Facts that only system calls can provide stay unknown.
    ///
    /// # Real-time
    /// Allocates, reads files: call before the loop.
    pub fn read(root: &Path) -> Self {
        let from = Files(root);
        let online = from.list("sys/devices/system/cpu/online");
        let cpus = online.iter().flatten().map(|cpu| from.cpu(*cpu)).collect();
        let deadline = |which| from.number(&format!("proc/sys/kernel/sched_deadline_period_{which}_us"));
        Self {
            isolated: from.isolated(),
            nohz_full: from.list("sys/devices/system/cpu/nohz_full"),
            allowed: from.field("proc/self/status", "Cpus_allowed_list:").and_then(|list| parse_list(&list)),
            cpus,
            online,
            rt_runtime_us: from.number("proc/sys/kernel/sched_rt_runtime_us"),
            rt_period_us: from.number("proc/sys/kernel/sched_rt_period_us"),
            has_rt_groups: from.has_rt_groups(),
            deadline_periods_us: deadline("min").zip(deadline("max")),
            rights: from.rights(),
            clock_source: from.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            kernel: from.kernel(),
            is_realtime: from.is_realtime(),
            is_guest: from.is_guest(),
            // The absence of these files does not prove that the process is outside of containers.
            is_container: ["run/systemd/container", ".dockerenv", "run/.containerenv"]
                .iter()
                .any(|file| from.is_there(file))
                .then_some(true),
            ..Self::default()
        }
    }
}

struct Files<'a>(&'a Path);

impl Files<'_> {
    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    fn is_there(&self, file: &str) -> bool {
        self.path(file).exists()
    }

    fn text(&self, file: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(file)).ok()?.trim().to_owned())
    }

    fn number<T: std::str::FromStr>(&self, file: &str) -> Option<T> {
        self.text(file)?.parse().ok()
    }

    fn list(&self, file: &str) -> Option<Vec<u32>> {
        parse_list(&self.text(file)?)
    }

    /// The rest of the line that begins with `name`.
    fn field(&self, file: &str, name: &str) -> Option<String> {
        let text = self.text(file)?;
        text.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim().to_owned())
    }

    /// The kernel lists the CPUs isolated at boot. CPUs isolated later by cpuset partitions are in a separate file,
    /// which does not exist on every kernel.
    fn isolated(&self) -> Option<Vec<u32>> {
        let mut all = self.list("sys/devices/system/cpu/isolated")?;
        let made_since = "sys/fs/cgroup/cpuset.cpus.isolated";
        match self.list(made_since) {
            Some(partitions) => all.extend(partitions),
            // The file exists but cannot be read, so other CPUs may be isolated as well.
            None if self.is_there(made_since) => return None,
            None => {}
        }
        Some(all)
    }

    fn cpu(&self, cpu: u32) -> HostCpu {
        let of = |file: &str| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        HostCpu {
            cpu,
            siblings: self.list(&of("topology/thread_siblings_list")),
            governor: self.text(&of("cpufreq/scaling_governor")),
            idle: states_below(&self.path(&of("cpuidle"))),
            fair_server: self.number(&format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime")),
            is_latency_writable: self.is_writable(&of("power/pm_qos_resume_latency_us")),
            latency_limit: others_limit(&limit_file(self.0, cpu)),
        }
    }

    /// Whether a file can be written. It is opened for writing and closed without writing; the kernel drops a latency
    /// request that was opened this way.
    fn is_writable(&self, file: &str) -> Option<bool> {
        match OpenOptions::new().write(true).open(self.path(file)) {
            Ok(_) => Some(true),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Some(false),
                _ => None,
            },
        }
    }

    fn rights(&self) -> Rights {
        let capabilities = self.field("proc/self/status", "CapEff:");
        Rights {
            capabilities: capabilities.and_then(|bits| u64::from_str_radix(&bits, 16).ok()),
            priority: limit(self.0, "Max realtime priority"),
            memory: limit(self.0, "Max locked memory"),
            rt_time_us: limit(self.0, "Max realtime timeout"),
            group_runtime_us: group_value(self.0, "cpu.rt_runtime_us"),
            is_latency_writable: self.is_writable("dev/cpu_dma_latency"),
        }
    }

    /// A group with a budget proves that groups assign run time. Otherwise the kernel's configuration decides, if it
    /// can be read as plain text.
    fn has_rt_groups(&self) -> Option<bool> {
        if group_value(self.0, "cpu.rt_runtime_us").is_some() {
            return Some(true);
        }
        let release = self.text("proc/sys/kernel/osrelease")?;
        let config = self.text(&format!("boot/config-{release}"))?;
        let is_built = config.lines().any(|line| line == "CONFIG_RT_GROUP_SCHED=y");
        let is_switched = config.lines().any(|line| line == "CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y")
            || self.text("proc/cmdline").is_none_or(|words| words.contains("rt_group_sched"));
        // If a boot parameter can turn the built-in option off or on, the answer is unknown.
        (!is_built || !is_switched).then_some(is_built)
    }

    fn kernel(&self) -> Option<(u32, u32)> {
        version(&self.text("proc/sys/kernel/osrelease")?)
    }

    fn is_realtime(&self) -> Option<bool> {
        if self.text("sys/kernel/realtime").as_deref() == Some("1") {
            return Some(true);
        }
        let version = self.text("proc/sys/kernel/version")?;
        Some(version.contains("PREEMPT_RT") || version.contains("PREEMPT RT"))
    }

    fn is_guest(&self) -> Option<bool> {
        if self.is_there("sys/hypervisor/type") || self.is_there("proc/device-tree/hypervisor") {
            return Some(true);
        }
        let flags = self.field("proc/cpuinfo", "flags")?;
        Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
    }
}

/// Parses a list of CPUs as the kernel prints it. Old kernels print `(null)` for an empty list.
fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty() && *part != "(null)") {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The fastest of a few sleeps of a microsecond, without the rounding of timers that ordinary threads have before their
/// set-up. `None` if the rounding could not be restored.
fn wake_up_cost() -> Option<Nanos> {
    const SLEEPS: usize = 15;
    let slack = sys::timer_slack()?;
    sys::set_timer_slack(1);
    let cost = || {
        let target = now() + Nanos::from_us(1);
        sys::sleep_until(target);
        now() - target
    };
    let quickest = (0..SLEEPS).map(|_| cost()).min();
    sys::set_timer_slack(slack);
    quickest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idle::IdleState;
    use crate::setup::Limit;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        root
    }

    #[test]
    fn a_folder_without_anything_tells_nothing() {
        let root = machine(&[]);
        let expected =
            Host { rights: Rights { is_latency_writable: Some(false), ..Rights::default() }, ..Host::default() };
        assert_eq!(Host::read(root.path()), expected);
    }

    #[test]
    fn the_files_of_a_machine_are_understood() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max locked memory         8388608              unlimited            bytes     \n\
            Max realtime priority     95                   95                             \n\
            Max realtime timeout      unlimited            unlimited            us        ";
        let cpu0 = |file| format!("sys/devices/system/cpu/cpu0/{file}");
        let root = machine(&[
            ("sys/devices/system/cpu/online", "0,2-3"),
            ("sys/devices/system/cpu/isolated", "2"),
            ("sys/fs/cgroup/cpuset.cpus.isolated", "3"),
            ("sys/devices/system/cpu/nohz_full", "(null)"),
            (&cpu0("topology/thread_siblings_list"), "0,4"),
            (&cpu0("cpufreq/scaling_governor"), "schedutil"),
            (&cpu0("cpuidle/state0/name"), "POLL"),
            (&cpu0("cpuidle/state0/latency"), "0"),
            (&cpu0("cpuidle/state1/name"), "C6"),
            (&cpu0("cpuidle/state1/latency"), "170"),
            (&cpu0("cpuidle/state1/disable"), "1"),
            (&cpu0("power/pm_qos_resume_latency_us"), "n/a"),
            ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
            ("proc/self/limits", limits),
            ("proc/self/status", "Name:\tx\nCapEff:\t0000000000804000\nCpus_allowed_list:\t0-1"),
            ("proc/self/cgroup", "3:cpu,cpuacct:/a\n0::/"),
            ("sys/fs/cgroup/cpu,cpuacct/a/cpu.rt_runtime_us", "0"),
            ("proc/sys/kernel/osrelease", "6.12.9-rt1"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT"),
            ("proc/sys/kernel/sched_deadline_period_min_us", "100"),
            ("proc/sys/kernel/sched_deadline_period_max_us", "4194304"),
            ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor"),
        ]);
        let host = Host::read(root.path());
        assert_eq!((host.online.as_deref(), host.isolated.as_deref()), (Some(&[0, 2, 3][..]), Some(&[2, 3][..])));
        assert_eq!((host.nohz_full.as_deref(), host.allowed.as_deref()), (Some(&[][..]), Some(&[0, 1][..])));
        assert_eq!((host.kernel, host.is_realtime, host.is_guest), (Some((6, 12)), Some(true), Some(true)));
        assert_eq!((host.has_rt_groups, host.rights.group_runtime_us), (Some(true), Some(0)));
        assert_eq!((host.rights.priority, host.rights.memory), (Some(Limit::At(95)), Some(Limit::At(8_388_608))));
        assert_eq!(
            (host.rights.rt_time_us, host.deadline_periods_us),
            (Some(Limit::Unlimited), Some((100, 4_194_304)))
        );
        assert_eq!(
            (host.has_capability(23), host.has_capability(14), host.has_capability(24)),
            (Some(true), Some(true), Some(false))
        );
        let cpu = host.cpu(0).unwrap();
        assert_eq!((cpu.siblings.as_deref(), cpu.fair_server), (Some(&[0, 4][..]), Some(50_000_000)));
        assert_eq!((cpu.governor.as_deref(), cpu.is_latency_writable), (Some("schedutil"), Some(true)));
        assert_eq!((cpu.latency_limit.as_deref(), host.cpu(2).unwrap().latency_limit.as_deref()), (Some("n/a"), None));
        let deep = IdleState { enabled: false, ..IdleState::of(1, "C6", 170) };
        assert_eq!((cpu.idle.len(), cpu.idle.get(1)), (2, Some(&deep)));
        assert!(host.cpu(2).unwrap().idle.is_empty());
    }

    #[test]
    fn groups_are_only_known_to_be_absent_from_a_whole_configuration() {
        let with = |config, words| {
            let root = machine(&[
                ("proc/sys/kernel/osrelease", "6.12.9"),
                ("boot/config-6.12.9", config),
                ("proc/cmdline", words),
            ]);
            Host::read(root.path()).has_rt_groups
        };
        assert_eq!(with("# CONFIG_RT_GROUP_SCHED is not set", "quiet"), Some(false));
        assert_eq!(with("CONFIG_RT_GROUP_SCHED=y", "quiet"), Some(true));
        assert_eq!(with("CONFIG_RT_GROUP_SCHED=y", "rt_group_sched=0"), None);
        assert_eq!(with("CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y", ""), None);
    }

    #[test]
    fn what_is_no_list_is_not_read_as_one() {
        for text in ["0-", "3-1", "x", "0-99999"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
        assert_eq!(parse_list(""), Some(vec![]));
    }

    #[test]
    fn this_machine_has_cpus_and_a_clock() {
        let before = sys::timer_slack();
        let host = Host::here();
        assert_eq!((host.timer_slack, sys::timer_slack()), (before.map(Nanos::from_ns), before));
        assert!(host.wake_up.is_some() && host.tick.is_some_and(|tick| tick >= Nanos::from_us(100)));
        assert!(host.online.is_some_and(|online| !online.is_empty()));
        assert!(host.clock_read.is_some_and(|cost| cost > Nanos::ZERO));
        assert!(host.kernel.is_some_and(|(major, _)| major >= 4));
    }
}
