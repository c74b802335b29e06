//! Everything of a machine that a later audit may ask for, as a machine of its own.
//!
//! What to keep is not written down anywhere: all that can be asked is asked, for every kind of work and for CPUs near
//! and far, and the answers are kept. So a new knob is in the next snapshot without anybody thinking of it.

use crate::audit::{audit, lasting};
use crate::knobs::{self, Case};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{MemTree, Transcript, Tree};

/// Files that no finding rests on: what a reader wants to know, and what tells masking whom to hide.
const BESIDE: [&str; 6] = [
    "/proc/version",
    "/proc/sys/kernel/hostname",
    "/etc/os-release",
    "/proc/uptime",
    "punctual:/kernel/log",
    "punctual:/kernel/words",
];

/// Read one right after the other: what came in between is judged, and an audit does not wait long either.
const TWICE: [&str; 2] = ["/proc/interrupts", "punctual:/later/proc/interrupts"];

/// Asks everything, and returns what was answered.
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
    for kind in Kind::ALL {
        for cpus in choices(&machine) {
            let need = Need { kind, cpus, ..Need::default() };
            audit(&transcript, &machine, &need);
            let case = Case::new(&transcript, &machine, &need);
            for knob in knobs::ALL {
                lasting(knob, &case);
            }
        }
    }
    let mut captured = transcript.into_tree();
    if let Some(part) = machine.config.part() {
        captured.file(&machine.config.source, Fact::Known(part.into_bytes()));
    }
    captured
}

/// CPUs somebody may ask about: those the machine itself suggests, all, all but the first, and the first. Probes look
/// no further once they know enough, so that each choice shows them other files.
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
    use std::path::Path;

    /// Keeps what it was asked for, in order.
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
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines");
        let mut seen = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "machine") {
                continue;
            }
            seen += 1;
            let machine = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let captured = MemTree::parse(&capture(&machine).to_string()).unwrap();
            for kind in Kind::ALL {
                for cpus in ["", "0", "1", "1-3", "2-3", "6-7"] {
                    let need = Need { kind, cpus: CpuSet::parse_list(cpus).unwrap(), ..Need::default() };
                    // Others are refused before anything is audited.
                    let online = Machine::read(&machine).topology.online;
                    if online.known().is_some_and(|online| !need.cpus.is_subset(online)) {
                        continue;
                    }
                    let of = |tree: &dyn Tree| audit(tree, &Machine::read(tree), &need);
                    assert_eq!(of(&machine), of(&captured), "{} {kind:?} {cpus}", path.display());
                }
            }
        }
        assert!(seen >= 6, "only {seen} machines");
    }
}
