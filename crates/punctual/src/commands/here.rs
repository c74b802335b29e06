//! The machine the program runs on, as the commands need it.

use super::source::Source;
use crate::render::words::command::Command;
use crate::render::words::next::Reader;
use punctual_facts::cpus::Cpus;
use punctual_facts::finding::Finding;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_linux::measure::Setting;
use punctual_tuning::audit::audit;
use std::path::PathBuf;

/// Who reads what this program prints, wherever the numbers were measured.
pub fn reader() -> Reader {
    reader_in(&Source::here().machine)
}

fn reader_in(machine: &Machine) -> Reader {
    let container = machine.virtualisation.known().and_then(|found| found.container.clone());
    Reader { is_root: rustix::process::geteuid().is_root(), container, typed: None }
}

fn typed() -> Command {
    Command::new(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

pub struct Here {
    source: Source,
    /// Its CPUs, as far as placing threads is concerned.
    pub cpus: Cpus,
}

impl Here {
    pub fn read() -> Self {
        let source = Source::here();
        Self { cpus: Cpus::read(source.tree(), &source.machine), source }
    }

    /// What stands between it and `need`.
    pub fn audit(&self, need: &Need) -> Vec<Finding> {
        audit(self.source.tree(), &self.source.machine, need)
    }

    /// Who reads what this program prints here, and typed this command line to get it.
    pub fn reader(&self) -> Reader {
        Reader { typed: Some(typed()), ..reader_in(&self.source.machine) }
    }

    /// What the machine is: name and value.
    pub fn machine(&self) -> Vec<(String, String)> {
        self.source.machine.recorded()
    }

    /// What a measurement must be told.
    pub fn setting(&self, load_dir: PathBuf, findings: Vec<Finding>, ordinary_if_refused: bool) -> Setting {
        Setting {
            cpus: self.cpus.clone(),
            machine: self.source.machine.recorded(),
            clock_source: self.source.machine.clocksource.known().cloned(),
            findings,
            load_dir,
            notes: Vec::new(),
            ordinary_if_refused,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            explain: None,
        }
    }
}
