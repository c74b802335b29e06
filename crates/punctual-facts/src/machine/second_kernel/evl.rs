//! The EVL core of Xenomai 4.

use super::library::{Fit, Found, Library, field, find};
use super::{CoreState, CoreThread, Gravity, configured, messages, number};
use crate::cpu_set::CpuSet;
use crate::fact::Fact;
use crate::machine::Config;
use crate::tree::{Tree, text};

#[derive(Clone, Debug)]
pub struct Evl {
    /// The newest revision of the binary interface that the core serves.
    pub abi: Fact<u32>,
    /// The oldest revision that the core serves. Only the core's device tells it.
    pub abi_base: Fact<u32>,
    pub state: Fact<CoreState>,
    pub cpus: Fact<CpuSet>,
    pub gravity: Fact<Gravity>,
    /// Size of the memory from which the core takes its own objects, in KiB.
    pub heap_kib: Fact<u64>,
    /// The largest number of threads at a time.
    pub most_threads: Fact<usize>,
    pub threads: Fact<Vec<CoreThread>>,
    /// Names in the folder of the core's devices, through which programs reach the core.
    pub devices: Fact<Vec<String>>,
    pub messages: Fact<Vec<String>>,
    pub libraries: Vec<Library>,
}

pub const EVL_DEVICES: &str = "/dev/evl";
pub const EVL_CONTROL: &str = "/sys/devices/virtual/evl/control";
pub const EVL_GRAVITY: &str = "/sys/devices/virtual/clock/monotonic/gravity";
pub const EVL_THREADS: &str = "/sys/devices/virtual/thread";
pub(super) const STATE: &str = "/sys/devices/virtual/evl/control/state";
pub(super) const EVL_FOLDER: &str = "/sys/devices/virtual/evl";
pub(super) const PARAMETERS: &str = "/sys/module/evl/parameters";
/// The oldest revision of the interface, which the reader of the live machine asks the core's device for.
const ABI_BASE: &str = "punctual:/evl/abi_base";
const PREFIXES: [&str; 5] = ["/usr", "/usr/local", "/usr/evl", "/opt/evl", "/opt/libevl"];
/// Versions of libevl whose sources were read, each with the revision of the interface that it needs.
const NEEDS: [(&str, u32); 2] = [("0.47", 32), ("0.49", 36)];
/// The most threads that are read. A kernel may be built for 4096.
const MOST_READ: usize = 512;

impl Evl {
    pub(super) fn read(tree: &dyn Tree, config: &Config) -> Self {
        let own = |name: &str| text(tree, &format!("{EVL_CONTROL}/{name}"));
        let gravity = |text: String| {
            gravity(&text).map_or_else(|| Fact::Garbled(format!("'{text}' is no gravity of EVL")), Fact::Known)
        };
        Self {
            abi: number(tree, &format!("{EVL_CONTROL}/abi")),
            abi_base: number(tree, ABI_BASE),
            state: state(tree, text(tree, STATE)),
            cpus: own("cpus")
                .and_then(|list| CpuSet::parse_list(&list).map_or_else(|e| Fact::Garbled(e.to_string()), Fact::Known)),
            gravity: text(tree, EVL_GRAVITY).and_then(gravity),
            heap_kib: number(tree, &format!("{PARAMETERS}/sysheap_size"))
                .and_then(|kib| if kib == 0 { Fact::Absent } else { Fact::Known(kib) })
                .or_else(|| configured(config, "EVL_COREMEM_SIZE")),
            most_threads: configured(config, "EVL_NR_THREADS"),
            threads: threads(tree),
            devices: tree.list(EVL_DEVICES),
            messages: messages(tree, "EVL: "),
            libraries: find(tree, "libevl", &PREFIXES).into_iter().map(|found| library(tree, found)).collect(),
        }
    }

    /// The core serves every revision from its oldest to its newest.
    pub(super) fn fits(&self, library: &Library) -> Fit {
        let (Fact::Known(needed), Fact::Known(newest)) = (&library.abi, &self.abi) else { return Fit::Untold };
        let oldest = self.abi_base.known();
        if needed > newest || oldest.is_some_and(|oldest| needed < oldest) {
            Fit::Refused
        } else if needed == newest || oldest.is_some() {
            Fit::Fits
        } else {
            Fit::Untold
        }
    }
}

fn state(tree: &dyn Tree, shown: Fact<String>) -> Fact<CoreState> {
    let named = |name: String| {
        CoreState::named(&name).map_or_else(|| Fact::Garbled(format!("'{name}' is no known state")), Fact::Known)
    };
    match shown {
        Fact::Absent => text(tree, &format!("{PARAMETERS}/state")).map(|asked| CoreState::without_files(&asked)),
        shown => shown.and_then(named),
    }
}

/// Parses `0i 3000k 3000u`.
fn gravity(text: &str) -> Option<Gravity> {
    let mut parts = text.split_whitespace();
    let mut of = |unit| parts.next()?.strip_suffix(unit)?.parse().ok();
    Some(Gravity { irq_ns: of('i')?, kernel_ns: of('k')?, user_ns: of('u')? })
}

/// The core's threads. Entries that are no threads, and threads that end meanwhile, are left out.
fn threads(tree: &dyn Tree) -> Fact<Vec<CoreThread>> {
    tree.list(EVL_THREADS).and_then(|names| {
        let mut threads = Vec::new();
        for name in names.iter().take(MOST_READ) {
            let files = ["pid", "sched", "stats"].map(|file| text(tree, &format!("{EVL_THREADS}/{name}/{file}")));
            if files.contains(&Fact::Denied) {
                return Fact::Denied;
            }
            if let [Fact::Known(pid), Fact::Known(sched), Fact::Known(stats)] = files {
                threads.extend(thread(name, &pid, &sched, &stats));
            }
        }
        Fact::Known(threads)
    })
}

/// Parses a thread: its process, `CPU BASE-PRIORITY PRIORITY CLASS`, and its counts of switches to Linux, of context
/// switches and of others.
fn thread(name: &str, pid: &str, sched: &str, stats: &str) -> Option<CoreThread> {
    let mut counts = stats.split_whitespace().map(str::parse);
    let mut count = || counts.next()?.ok();
    Some(CoreThread {
        name: name.to_owned(),
        pid: pid.trim().parse().ok()?,
        cpu: sched.split_whitespace().next()?.parse().ok()?,
        in_band_switches: count()?,
        context_switches: count()?,
    })
}

fn library(tree: &dyn Tree, found: Found) -> Library {
    let version = field(tree, &format!("{}/pkgconfig/evl.pc", found.folder), "Version:");
    let header = field(tree, &format!("{}/include/evl/evl.h", found.prefix), "#define EVL_ABI_PREREQ");
    let abi = header.and_then(|text| {
        text.parse().map_or_else(|_| Fact::Garbled(format!("EVL_ABI_PREREQ is '{text}'")), Fact::Known)
    });
    let by_version = || {
        version.as_ref().and_then(|version| {
            let known = NEEDS.iter().find(|(known, _)| known == version);
            known.map_or(Fact::Absent, |(_, abi)| Fact::Known(*abi))
        })
    };
    Library { path: found.path, abi: abi.or_else(by_version), version }
}
