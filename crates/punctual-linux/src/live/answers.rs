//! Answers questions about a machine: from its files, and below `punctual:/` from other sources.

use super::files::{Files, MOST_BYTES, bounded, line};
use super::modinfo::Modules;
use super::{clock, ethtool, evl, image, irq, kernel_log, links, modules, smi, tasks};
use punctual_facts::fact::Fact;
use punctual_facts::tree::Tree;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

#[derive(Debug)]
pub(super) struct Answers {
    files: Files,
    modules: Modules,
    words: OnceLock<Fact<Vec<u8>>>,
}

impl Answers {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { files: Files::new(root), modules: Modules::default(), words: OnceLock::new() }
    }

    fn config(&self) -> Fact<Vec<u8>> {
        self.files.file("/proc/config.gz").and_then(|packed| {
            let unpacked = bounded(flate2::read::GzDecoder::new(packed.as_slice()), MOST_BYTES);
            unpacked.map_or_else(|e| Fact::Garbled(format!("/proc/config.gz: {e}")), Fact::Known)
        })
    }

    /// Answers a question below `punctual:/` from the kernel or the hardware of this machine, which no file holds.
    fn only_here(&self, question: &str) -> Fact<Vec<u8>> {
        match question {
            "/irq/fixed" => irq::fixed(Path::new("/proc/irq")),
            "/evl/abi_base" => evl::abi_base(Path::new("/dev/evl/control")),
            "/tasks" => tasks::read(&self.files),
            "/clock/resolution_ns" => Fact::Known(line(clock::resolution_ns())),
            "/clock/read_cost_ns" => Fact::Known(line(clock::read_cost_ns())),
            // Reading CPU 0 is enough, because the firmware stops all CPUs at once.
            "/msr/34" => smi::count(Path::new("/dev/cpu/0/msr")),
            "/pci/links" => {
                self.files.list(links::FOLDER).and_then(|devices| links::told(links::FOLDER.as_ref(), &devices))
            }
            other => other.strip_prefix("/ethtool/").map_or(Fact::Absent, ethtool::read),
        }
    }
}

impl Tree for Answers {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        match path.strip_prefix("punctual:") {
            None => self.files.file(path),
            Some("/kernel/config") => self.config(),
            Some("/kernel/log") => kernel_log::read(&self.files),
            Some("/kernel/words") => self.words.get_or_init(|| image::read(&self.files)).clone(),
            Some("/dmi/memory") => {
                self.files.file("/sys/firmware/dmi/tables/DMI").and_then(|table| modules::described(&table))
            }
            Some(other) => match other.strip_prefix("/modinfo/") {
                Some(name) => self.modules.info(&self.files, name),
                None if self.files.are_of_this_machine() => self.only_here(other),
                None => Fact::Absent,
            },
        }
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        if path.starts_with("punctual:") { Fact::Absent } else { self.files.list(path) }
    }

    fn link(&self, path: &str) -> Fact<String> {
        self.files.link(path)
    }
}
