//! The machine this program runs on, as a [`Tree`]; and a system's files in a folder, as [`Unpacked`].
//!
//! This is the only module that opens files of `/proc` and `/sys` for the audit. Facts that are not in files have paths
//! below `punctual:/`:
//!
//! | path | what it holds |
//! |---|---|
//! | `clock/read_cost_ns`, `clock/resolution_ns` | a number |
//! | `dmi/memory` | the memory modules, without their serial numbers |
//! | `ethtool/IF/{coalesce,pause,channels,eee}` | settings of a network device |
//! | `evl/abi_base` | the oldest interface that an EVL core serves |
//! | `irq/fixed` | the numbers of interrupts that cannot be moved |
//! | `kernel/config` | the kernel's own copy of its configuration, unpacked |
//! | `kernel/log` | the kernel's messages of this boot, without those of programs |
//! | `kernel/words` | the words that the running kernel was built with, from its image |
//! | `later/PATH` | the file read again, at least 30 ms after it was first read |
//! | `modinfo/NAME` | whether and where the running kernel has a module, and its parameters |
//! | `msr/34` | how often the firmware interrupted all CPUs (SMIs) |
//! | `pci/links` | which PCI links may sleep |
//! | `tasks` | one line for each process |
//!
//! This module does not know what the files mean.

mod affinity;
mod answers;
mod clock;
mod ethtool;
mod evl;
mod files;
pub mod image;
mod inside;
mod irq;
mod kernel_log;
mod links;
mod modinfo;
mod modules;
mod patient;
mod reader;
mod smi;
mod tasks;
mod unpacked;

pub use unpacked::Unpacked;

use answers::Answers;
use patient::Patient;
use punctual_facts::fact::Fact;
use punctual_facts::tree::Tree;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between the two readings of a file: three ticks at 100 Hz, the slowest tick rate of kernels.
const LATER: Duration = Duration::from_millis(30);
const ROOT: &str = "/";
const LATER_PREFIX: &str = "punctual:/later";

/// Answers the questions of a [`LiveTree::apart`] in another process, until that process closes the stream.
pub fn answer() -> io::Result<()> {
    reader::answer(&Answers::new(ROOT.into()))
}

#[derive(Debug)]
pub struct LiveTree {
    files: Patient<Answers>,
    first_read: Mutex<BTreeMap<String, Instant>>,
}

impl LiveTree {
    /// A tree that reads this machine in child processes of this program. They are started with the first argument
    /// `word`, which has to lead to a call of [`answer`]. So a file that hangs does not keep this process from ending.
    pub fn apart(word: &'static str) -> Self {
        Self { files: Patient::new(Answers::new(ROOT.into()), Some(word)), first_read: Mutex::default() }
    }

    /// A tree that reads this machine in threads of this process.
    pub fn here() -> Self {
        Self { files: Patient::new(Answers::new(ROOT.into()), None), first_read: Mutex::default() }
    }

    fn first(&self, path: &str) -> Fact<Vec<u8>> {
        let fact = self.files.read(path);
        let mut first_read = self.first_read.lock().unwrap_or_else(PoisonError::into_inner);
        if !first_read.contains_key(path) {
            first_read.insert(path.to_owned(), Instant::now());
        }
        fact
    }

    fn later(&self, path: &str) -> Fact<Vec<u8>> {
        let when = || self.first_read.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied();
        let first = when().or_else(|| {
            self.first(path);
            when()
        });
        if let Some(rest) = first.and_then(|first| LATER.checked_sub(first.elapsed())) {
            thread::sleep(rest);
        }
        self.files.read(path)
    }
}

impl Tree for LiveTree {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        match path.strip_prefix(LATER_PREFIX) {
            Some(path) if path.starts_with('/') => self.later(path),
            _ => self.first(path),
        }
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.files.list(path)
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.files.link(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_facts::finding::Finding;
    use punctual_facts::machine::Machine;
    use punctual_facts::profile::Kind;
    use punctual_facts::profile::Need;
    use punctual_facts::tree::{MemTree, masked};
    use punctual_tuning::audit::audit;
    use punctual_tuning::capture::capture;

    #[test]
    fn later_is_later() {
        let live = LiveTree::here();
        let start = Instant::now();
        let uptime = |fact: Fact<Vec<u8>>| {
            String::from_utf8(fact.known().unwrap().clone()).unwrap().split(' ').next().unwrap().parse::<f64>().unwrap()
        };
        let (first, second) = (uptime(live.read("/proc/uptime")), uptime(live.read("punctual:/later/proc/uptime")));
        assert!(second - first >= 0.02 && start.elapsed() >= LATER, "{first} {second}");
        assert_eq!(live.read("punctual:/later/nothing/here"), Fact::Absent);
        assert_eq!(live.read("punctual:/later"), Fact::Absent);
    }

    #[test]
    fn a_captured_machine_gives_the_findings_of_the_live_one() {
        let live = LiveTree::here();
        let captured = capture(&live);
        let text = captured.to_string();
        assert!(text.len() < 4 << 20, "a snapshot of {} bytes", text.len());
        let again = MemTree::parse(&text).unwrap();
        let masked = masked(&captured);
        for kind in Kind::ALL {
            let need = Need { kind, ..Need::default() };
            let of = |tree: &MemTree| audit(tree, &Machine::read(tree), &need);
            let first = of(&captured);
            assert_eq!(first, of(&again));
            for (raw, masked) in first.iter().zip(of(&masked)) {
                let verdict =
                    |f: &Finding| (f.id.clone(), f.severity, std::mem::discriminant(&f.state), f.evidence.len());
                assert_eq!(verdict(raw), verdict(&masked));
            }
        }
    }
}
