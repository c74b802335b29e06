//! Reads the settings that influence latencies, before, during and after a measurement. Latencies measured under
//! different settings cannot be compared.

pub use punctual_numbers::recording::BOOT_ID;

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use punctual_numbers::recording::{InForce, Moment};
use std::fs;
use std::io::{self, Read};

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
    "/sys/devices/virtual/clock/monotonic/gravity",
    "/proc/xenomai/latency",
];

const PER_CPU: &[&str] = &[
    "cpufreq/scaling_governor",
    "cpufreq/scaling_min_freq",
    "cpufreq/scaling_max_freq",
    "power/pm_qos_resume_latency_us",
    "thermal_throttle/core_throttle_count",
    "thermal_throttle/package_throttle_count",
];

/// The settings in force now for these CPUs. Files that do not exist are left out; for files that cannot be read, the
/// reason is kept.
pub fn read(moment: Moment, cpus: &CpuSet) -> InForce {
    let mut values: Vec<MachineLine> =
        MACHINE_WIDE.iter().filter_map(|path| Some(MachineLine::from((*path, text(path)?)))).collect();
    for cpu in cpus.iter() {
        let paths = PER_CPU.iter().map(|name| format!("/sys/devices/system/cpu/cpu{cpu}/{name}"));
        values.extend(paths.filter_map(|path| text(&path).map(|value| MachineLine::from((path, value)))));
    }
    values.extend(dma_latency().map(|value| MachineLine::from(("/dev/cpu_dma_latency", value))));
    InForce { moment, values }
}

/// How often the CPUs were throttled for heat between boot and the moment when `state` was read.
pub fn times_throttled(state: &InForce) -> u64 {
    let counters = state.values.iter().filter(|line| line.name.ends_with("_throttle_count"));
    counters.filter_map(|line| line.value.parse::<u64>().ok()).sum()
}

/// How long the kernel stops real-time threads that have used up their share of a period; `None` if it never does.
pub fn real_time_pause() -> Option<Nanos> {
    let number = |name: &str| text(&format!("/proc/sys/kernel/{name}"))?.parse::<i64>().ok();
    let (runtime, period) = (number("sched_rt_runtime_us")?, number("sched_rt_period_us")?);
    let pause = u64::try_from(period - runtime).ok().filter(|us| runtime >= 0 && *us > 0)?;
    Some(Nanos::from_us(pause))
}

pub fn boot_id() -> Option<String> {
    text(BOOT_ID).filter(|id| !id.contains(' '))
}

fn text(path: &str) -> Option<String> {
    told(fs::read_to_string(path).map(|value| value.trim().to_owned()))
}

fn told(read: io::Result<String>) -> Option<String> {
    match read {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.unwrap_or_else(|e| format!("unreadable: {e}"))),
    }
}

/// The lowest latency limit requested by any program, in microseconds. The device returns four bytes in native order.
fn dma_latency() -> Option<String> {
    let mut bytes = [0; 4];
    let read = fs::File::open("/dev/cpu_dma_latency").and_then(|mut file| file.read_exact(&mut bytes));
    told(read.map(|()| format!("{} us", i32::from_ne_bytes(bytes))))
}
