//! Captures every file that a later audit may read, as a snapshot that can be audited in place of the machine.
//!
//! There is no list of what to keep: the capture asks all knobs, for every kind of work and for several choices of
//! CPUs, and keeps the answers. So the snapshot also holds the files that a knob added later reads, without a change of
//! this module.

use crate::audit::{audit, lasting};
use crate::knobs::{self, Case};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{MemTree, Transcript, Tree};

/// Files that no finding needs. Some of these files inform the reader of a snapshot; the others contain names that the
/// masking has to hide.
const BESIDE: [&str; 6] = [
    "/proc/version",
    "/proc/sys/kernel/hostname",
    "/etc/os-release",
    "/proc/uptime",
    "punctual:/kernel/log",
    "punctual:/kernel/words",
];

/// The two readings of the interrupt counts. The capture reads them directly one after the other, because knobs judge
/// how much the counts rose in between.
const TWICE: [&str; 2] = ["/proc/interrupts", "punctual:/later/proc/interrupts"];

pub fn capture(tree: &dyn Tree) -> MemTree {
    let transcript = Transcript::new(tree);
    for path in TWICE {
        transcript.read(path);
    }
    let machine = Machine::read(&transcript);
    Cpus::read(&transcript, &machine);
    for path in BESIDE {
        transcript.read(path);
    }
    // A probe that reads the file of the first real-time CPU alone would miss it for CPUs that are not among the choices.
    for cpu in machine.topology.online.known().iter().flat_map(|online| online.iter()).take(MOST_NAMES) {
        transcript.read(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_driver"));
    }
    for kind in Kind::ALL {
        for cpus in choices(&machine) {
            let need = Need { kind, cpus, ..Need::default() };
            audit(&transcript, &machine, &need);
            let case = Case::new(&transcript, &machine, &need);
            for knob in knobs::ALL.iter() {
                lasting(knob, &case);
            }
        }
    }
    if matches!(machine.second_kernel, Fact::Known(Some(_))) {
        for folder in OF_A_SECOND_KERNEL {
            keep(&transcript, folder, DEPTH);
        }
    }
    let mut captured = transcript.into_tree();
    if let Some(part) = machine.config.part() {
        captured.file(&machine.config.source, Fact::Known(part.into_bytes()));
    }
    captured
}

/// Folders with all that a second kernel tells about itself.
const OF_A_SECOND_KERNEL: [&str; 7] = [
    "/proc/xenomai",
    "/sys/devices/virtual/evl",
    "/sys/devices/virtual/clock",
    "/sys/devices/virtual/thread",
    "/sys/module/evl/parameters",
    "/sys/module/xenomai/parameters",
    "/dev/evl",
];
/// How deep files lie below these folders.
const DEPTH: u32 = 3;
/// The most names of one folder that are followed.
const MOST_NAMES: usize = 600;

/// Reads all files below a folder. Folders that devices have in common say nothing about the core, and one of them leads
/// in circles.
fn keep(tree: &dyn Tree, path: &str, depth: u32) {
    const COMMON: [&str; 5] = ["subsystem", "power", "device", "driver", "uevent"];
    let Fact::Known(names) = tree.list(path) else {
        tree.read(path);
        return;
    };
    let Some(depth) = depth.checked_sub(1) else { return };
    for name in names.iter().filter(|name| !COMMON.contains(&name.as_str())).take(MOST_NAMES) {
        keep(tree, &format!("{path}/{name}"), depth);
    }
}

/// The choices of CPUs that a user may ask about: those that the machine suggests, all, all but the first, and the
/// first. A probe stops reading once it knows enough, so each choice of CPUs leads it to other files.
fn choices(machine: &Machine) -> Vec<CpuSet> {
    let online = machine.topology.online.known().cloned().unwrap_or_default();
    let first: CpuSet = online.first().into_iter().collect();
    let mut choices = vec![CpuSet::new(), online.clone(), online.difference(&first), first];
    choices.dedup();
    choices
}

#[cfg(test)]
mod tests {
    use super::{TWICE, capture};
    use crate::audit::audit;
    use punctual_facts::cpu_set::CpuSet;
    use punctual_facts::fact::Fact;
    use punctual_facts::machine::Machine;
    use punctual_facts::profile::{Kind, Need};
    use punctual_facts::tree::{MemTree, Tree};
    use std::cell::RefCell;

    /// Records the paths that were read, in order.
    #[derive(Default)]
    struct PathLog(RefCell<Vec<String>>);

    impl Tree for PathLog {
        fn read(&self, path: &str) -> Fact<Vec<u8>> {
            self.0.borrow_mut().push(path.to_owned());
            Fact::Absent
        }
        fn list(&self, path: &str) -> Fact<Vec<String>> {
            self.read(path).map(|_| Vec::new())
        }
        fn link(&self, path: &str) -> Fact<String> {
            self.read(path).map(|_| String::new())
        }
    }

    #[test]
    fn nothing_is_asked_between_the_two_looks_at_the_interrupts() {
        let asked = PathLog::default();
        capture(&asked);
        let asked = asked.0.into_inner();
        let first = asked.iter().position(|path| path == TWICE[0]).unwrap();
        assert_eq!(asked[first..first + 2], TWICE);
        assert!(asked[..first].iter().all(|path| path != TWICE[1]));
    }

    #[test]
    fn a_capture_gives_the_findings_of_the_machine() {
        for path in fixtures::files("machines", "machine") {
            let machine = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let captured = MemTree::parse(&capture(&machine).to_string()).unwrap();
            for kind in Kind::ALL {
                for cpus in ["", "0", "1", "1-3", "2-3", "6-7"] {
                    let need = Need { kind, cpus: CpuSet::parse_list(cpus).unwrap(), ..Need::default() };
                    // An audit refuses offline CPUs, so there is nothing to capture for them.
                    let online = Machine::read(&machine).topology.online;
                    if online.known().is_some_and(|online| !need.cpus.is_subset(online)) {
                        continue;
                    }
                    let of = |tree: &dyn Tree| audit(tree, &Machine::read(tree), &need);
                    assert_eq!(of(&machine), of(&captured), "{} {kind:?} {cpus}", path.display());
                }
            }
        }
    }

    /// Nothing in the catalogue reads these files.
    #[test]
    fn a_capture_holds_what_a_second_kernel_tells_of_itself() {
        const EVL: [&str; 4] = [
            "/sys/devices/virtual/evl/control/quota",
            "/sys/devices/virtual/clock/realtime/gravity",
            "/sys/devices/virtual/thread/control-loop:812/wchan",
            "/sys/module/evl/parameters/oobcpus",
        ];
        const COBALT: [&str; 4] = [
            "/proc/xenomai/affinity",
            "/proc/xenomai/sched/threads",
            "/proc/xenomai/latency",
            "/sys/module/xenomai/parameters/sysheap_size",
        ];
        for (name, paths) in [("evl-5.10", EVL), ("cobalt-3.2.7", COBALT)] {
            let place = fixtures::repository(&format!("fixtures/machines/{name}.machine"));
            let machine = MemTree::parse(&std::fs::read_to_string(place).unwrap()).unwrap();
            let captured = MemTree::parse(&capture(&machine).to_string()).unwrap();
            for path in paths {
                assert!(captured.read(path).known().is_some(), "{path}");
                assert_eq!(captured.read(path), machine.read(path));
            }
            assert_eq!(captured.list("/dev/evl"), machine.list("/dev/evl"));
        }
    }
}
