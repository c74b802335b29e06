//! The Cobalt core of Xenomai 3.

use super::library::{Fit, Library, field, find};
use super::{CoreState, CoreThread, Gravity, messages, number};
use crate::cpu_set::CpuSet;
use crate::fact::Fact;
use crate::machine::{Arch, Version};
use crate::tree::{Tree, text};

#[derive(Clone, Debug)]
pub struct Cobalt {
    pub version: Fact<String>,
    pub state: Fact<CoreState>,
    pub cpus: Fact<CpuSet>,
    pub gravity: Fact<Gravity>,
    /// The clock that the core reads, as the core names it.
    pub clock: Fact<String>,
    pub heaps: Fact<Vec<Heap>>,
    pub registry: Fact<Slots>,
    /// What was asked for against interrupts of the firmware: `disabled`, `detect` or `enabled`.
    pub smi: Fact<String>,
    /// The group whose members may use the core; -1 stands for no group.
    pub allowed_group: Fact<i64>,
    pub threads: Fact<Vec<CoreThread>>,
    /// Faults of threads while the core ran them.
    pub faults: Fact<Vec<Fault>>,
    pub messages: Fact<Vec<String>>,
    pub libraries: Vec<Library>,
}

/// A piece of memory from which the core takes its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heap {
    pub name: String,
    pub total_bytes: u64,
    pub free_bytes: u64,
}

/// How many of the places for named objects are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub used: u32,
    pub of: u32,
}

/// How often a kind of fault happened, on all CPUs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub name: String,
    pub count: u64,
}

pub const COBALT_VERSION: &str = "/proc/xenomai/version";
pub const COBALT_CLOCK: &str = "/proc/xenomai/clock/coreclk";
pub const COBALT_HEAP: &str = "/proc/xenomai/heap";
pub const COBALT_REGISTRY: &str = "/proc/xenomai/registry/usage";
pub const COBALT_FAULTS: &str = "/proc/xenomai/faults";
pub const COBALT_THREADS: &str = "/proc/xenomai/sched/stat";
pub(super) const FOLDER: &str = "/proc/xenomai";
pub(super) const PARAMETERS: &str = "/sys/module/xenomai/parameters";
/// The timer of CPU 0, which every Cobalt serves. While the core runs, it drives the timer itself and gives Linux a
/// device of the name `proxy` instead.
pub(super) const TIMER: &str = "/sys/devices/system/clockevents/clockevent0/current_device";
/// Kernels with the interrupt pipeline before Dovetail have this folder, and no proxy.
const I_PIPE: &str = "/proc/ipipe";
const ONLINE: &str = "/sys/devices/system/cpu/online";
const PREFIXES: [&str; 4] = ["/usr", "/usr/local", "/usr/xenomai", "/opt/xenomai"];

impl Cobalt {
    pub(super) fn read(tree: &dyn Tree) -> Self {
        let parameter = |name: &str| format!("{PARAMETERS}/{name}");
        let messages = messages(tree, "[Xenomai] ");
        let clock = text(tree, COBALT_CLOCK);
        Self {
            version: text(tree, COBALT_VERSION),
            state: state(tree, &messages),
            cpus: number(tree, &parameter("supported_cpus")).map(|mask| served(tree, mask)),
            gravity: clock.as_ref().and_then(|told| told_of(gravity(told), COBALT_CLOCK)),
            clock: clock.and_then(|told| told_of(clock_of(&told), COBALT_CLOCK)),
            heaps: text(tree, COBALT_HEAP).and_then(|table| told_of(heaps(&table), COBALT_HEAP)),
            registry: text(tree, COBALT_REGISTRY).and_then(|told| told_of(slots(&told), COBALT_REGISTRY)),
            smi: text(tree, &parameter("smi")),
            allowed_group: number(tree, &parameter("allowed_group")),
            threads: text(tree, COBALT_THREADS).and_then(|table| told_of(threads(&table), COBALT_THREADS)),
            faults: text(tree, COBALT_FAULTS).and_then(|table| told_of(faults(&table), COBALT_FAULTS)),
            messages,
            libraries: libraries(tree),
        }
    }

    fn released(&self) -> Option<Version> {
        Version::parse(self.version.known()?)
    }

    /// The revision of the binary interface, which follows from the version; `None` for versions that were not read.
    pub fn abi(&self, arch: &Fact<Arch>) -> Option<u32> {
        let version = self.released()?;
        match (version.major, version.minor, arch.known()?) {
            (3, 0, Arch::X86) => Some(16),
            (3, 1, Arch::X86) => Some(17),
            (3, 2, Arch::X86) => Some(18),
            (3, 3, Arch::X86) => Some(19),
            (3, 1, Arch::Arm64) => Some(1),
            (3, 2, Arch::Arm64) => Some(2),
            (3, 3, Arch::Arm64) => Some(20),
            _ => None,
        }
    }

    /// The core serves exactly one revision of the interface, and each series from 3.0 to 3.3 has one of its own.
    pub(super) fn fits(&self, library: &Library) -> Fit {
        let library = library.version.known().and_then(|version| Version::parse(version));
        match (self.released(), library) {
            (Some(core), Some(library)) if core == library => Fit::Fits,
            (Some(_), Some(_)) => Fit::Refused,
            _ => Fit::Untold,
        }
    }
}

fn told_of<T>(told: Option<T>, path: &str) -> Fact<T> {
    told.map_or_else(|| Fact::Garbled(format!("{path} is not as Cobalt writes it")), Fact::Known)
}

/// The state. The parameter tells only what was asked for at boot.
fn state(tree: &dyn Tree, messages: &Fact<Vec<String>>) -> Fact<CoreState> {
    if tree.list(FOLDER) == Fact::Absent {
        let sees_proc =
            || tree.list("/proc").and_then(|names| if names.is_empty() { Fact::Absent } else { Fact::Known(()) });
        let asked = text(tree, &format!("{PARAMETERS}/state"));
        return sees_proc().and_then(|()| asked.map(|asked| CoreState::without_files(&asked)));
    }
    let by_log = || {
        messages
            .as_ref()
            .and_then(|messages| messages.iter().rev().find_map(|m| after(m)).map_or(Fact::Absent, Fact::Known))
    };
    match text(tree, TIMER) {
        Fact::Known(device) if device == "proxy" => Fact::Known(CoreState::Running),
        Fact::Known(_) if tree.list(I_PIPE) == Fact::Absent => Fact::Known(CoreState::Stopped),
        Fact::Known(_) => by_log(),
        unknown => unknown.and_then(|_| Fact::Absent).or_else(by_log),
    }
}

/// The state after a message of the core; `None` if the message is about something else.
fn after(message: &str) -> Option<CoreState> {
    match message {
        "services started" => Some(CoreState::Running),
        "services stopped" => Some(CoreState::Stopped),
        started if started.starts_with("Cobalt v") => {
            Some(if started.contains("[STOPPED]") { CoreState::Stopped } else { CoreState::Running })
        }
        _ => None,
    }
}

/// The CPUs of the mask that are online. By default the mask has all its bits set.
fn served(tree: &dyn Tree, mask: u64) -> CpuSet {
    let asked: CpuSet = (0..u64::BITS).filter(|cpu| mask & (1 << cpu) != 0).collect();
    let online = text(tree, ONLINE).known().and_then(|list| CpuSet::parse_list(list).ok());
    online.map_or(asked.clone(), |online| asked.intersection(&online))
}

/// The text behind `name:` at the start of a line.
fn line_of<'t>(told: &'t str, name: &str) -> Option<&'t str> {
    told.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':').map(str::trim))
}

/// Parses the line `gravity: irq=0 kernel=3350 user=3350`.
fn gravity(told: &str) -> Option<Gravity> {
    let line = line_of(told, "gravity")?;
    let of = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse().ok());
    Some(Gravity { irq_ns: of("irq=")?, kernel_ns: of("kernel=")?, user_ns: of("user=")? })
}

/// Parses the line `devices: timer=lapic-deadline, clock=tsc`.
fn clock_of(told: &str) -> Option<String> {
    let (_, clock) = line_of(told, "devices")?.split_once("clock=")?;
    Some(clock.split(',').next()?.trim().to_owned())
}

/// Parses a table with a line `TOTAL FREE NAME` above.
fn heaps(table: &str) -> Option<Vec<Heap>> {
    let mut lines = table.lines();
    lines.next()?.trim_start().strip_prefix("TOTAL")?;
    let row = |line: &str| {
        let (total, rest) = line.trim_start().split_once(' ')?;
        let (free, name) = rest.trim_start().split_once(' ')?;
        Some(Heap { name: name.trim().to_owned(), total_bytes: total.parse().ok()?, free_bytes: free.parse().ok()? })
    };
    lines.map(row).collect()
}

/// Parses `12/512`: how many places are taken, and how many there are.
fn slots(told: &str) -> Option<Slots> {
    let (used, of) = told.trim().split_once('/')?;
    Some(Slots { used: used.parse().ok()?, of: of.parse().ok()? })
}

/// Parses a table with a line `CPU PID MSW CSW XSC PF STAT %CPU NAME` above. Rows without a process are threads of the
/// core itself.
fn threads(table: &str) -> Option<Vec<CoreThread>> {
    let mut lines = table.lines();
    lines.next()?.split_whitespace().eq("CPU PID MSW CSW XSC PF STAT %CPU NAME".split(' ')).then_some(())?;
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (cpu, pid) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let (in_band_switches, context_switches) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let name = words.skip(4).collect::<Vec<_>>().join(" ");
        Some(CoreThread { name, pid, cpu, in_band_switches, context_switches })
    };
    let rows: Option<Vec<CoreThread>> = lines.map(row).collect();
    Some(rows?.into_iter().filter(|thread| thread.pid != 0 && !thread.name.starts_with('[')).collect())
}

/// Parses a table with a line `TRAP CPU0 CPU1` above, and rows that end in the fault's name in parentheses.
fn faults(table: &str) -> Option<Vec<Fault>> {
    let mut lines = table.lines();
    lines.next()?.strip_prefix("TRAP")?;
    let row = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (counts, name) = rest.split_once('(')?;
        let counts: Option<Vec<u64>> = counts.split_whitespace().map(|count| count.parse().ok()).collect();
        Some(Fault { name: name.trim_end().trim_end_matches(')').to_owned(), count: counts?.into_iter().sum() })
    };
    lines.map(row).collect()
}

fn libraries(tree: &dyn Tree) -> Vec<Library> {
    let found = find(tree, "libcobalt", &PREFIXES).into_iter();
    let library = found.map(|found| Library {
        path: found.path,
        version: field(tree, &format!("{}/bin/xeno-config", found.prefix), "XENO_VERSION="),
        abi: Fact::Absent,
    });
    library.collect()
}
