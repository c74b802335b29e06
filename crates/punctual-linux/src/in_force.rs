//! What was in force: the few settings that make two latency numbers incomparable, read before, during and after.

use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_numbers::recording::{InForce, Moment};
use std::fs;
use std::io::Read;

/// Holds another id in each boot.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

const MACHINE_WIDE: &[&str] = &[
    BOOT_ID,
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/nmi_watchdog",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/cpuidle/current_driver",
    "/sys/devices/system/cpu/cpuidle/current_governor",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/tracing/current_tracer",
];

const PER_CPU: &[&str] = &[
    "cpufreq/scaling_governor",
    "cpufreq/scaling_min_freq",
    "cpufreq/scaling_max_freq",
    "power/pm_qos_resume_latency_us",
    "thermal_throttle/core_throttle_count",
    "thermal_throttle/package_throttle_count",
];

/// What is in force now for these CPUs. Files that do not exist here are left out; of files that cannot be read the
/// reason is kept.
pub fn read(moment: Moment, cpus: &CpuSet) -> InForce {
    let mut values: Vec<(String, String)> =
        MACHINE_WIDE.iter().filter_map(|path| Some(((*path).to_owned(), text(path)?))).collect();
    for cpu in cpus.iter() {
        let paths = PER_CPU.iter().map(|name| format!("/sys/devices/system/cpu/cpu{cpu}/{name}"));
        values.extend(paths.filter_map(|path| text(&path).map(|value| (path, value))));
    }
    values.extend(dma_latency().map(|value| ("/dev/cpu_dma_latency".to_owned(), value)));
    InForce { moment, values }
}

/// How often heat throttled the CPUs up to then, as the counters in `state` tell.
pub fn times_throttled(state: &InForce) -> u64 {
    let counters = state.values.iter().filter(|(path, _)| path.ends_with("_throttle_count"));
    counters.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
}

/// How long the kernel keeps real-time threads from running when they have used up their share of a period; `None`
/// where it never does.
pub fn real_time_pause() -> Option<Nanos> {
    let number = |name: &str| text(&format!("/proc/sys/kernel/{name}"))?.parse::<i64>().ok();
    let (runtime, period) = (number("sched_rt_runtime_us")?, number("sched_rt_period_us")?);
    let pause = u64::try_from(period - runtime).ok().filter(|us| runtime >= 0 && *us > 0)?;
    Some(Nanos::from_us(pause))
}

/// Which boot this is; `None` where the kernel does not say.
pub fn boot_id() -> Option<String> {
    text(BOOT_ID).filter(|id| !id.contains(' '))
}

fn text(path: &str) -> Option<String> {
    match fs::read_to_string(path) {
        Ok(value) => Some(value.trim().to_owned()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => Some(format!("unreadable: {e}")),
    }
}

/// The lowest latency that anyone asked for, in microseconds: four bytes in native order.
fn dma_latency() -> Option<String> {
    let mut bytes = [0; 4];
    match fs::File::open("/dev/cpu_dma_latency").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => Some(format!("{} us", i32::from_ne_bytes(bytes))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => Some(format!("unreadable: {e}")),
    }
}
