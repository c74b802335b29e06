//! The machine the program runs on, as the commands need it.

use super::source::Source;
use crate::render::words::command::Command;
use crate::render::words::next::Reader;
use punctual_facts::cpus::Cpus;
use punctual_facts::finding::Finding;
use punctual_facts::machine::{MachineLine, container};
use punctual_facts::profile::Need;
use punctual_facts::tree::Tree;
use punctual_linux::live::LiveTree;
use punctual_linux::measure::Setting;
use punctual_tuning::audit::audit;
use std::path::PathBuf;

/// Who reads what this program prints, wherever the numbers were measured. Of the machine only what tells a container is
/// read: three small files.
pub fn reader() -> Reader {
    reader_in(&LiveTree::here())
}

fn reader_in(tree: &dyn Tree) -> Reader {
    Reader { is_root: rustix::process::geteuid().is_root(), container: container(tree), typed: None }
}

fn typed() -> Command {
    Command::new(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()))
}

pub struct Here {
    source: Source,
    pub cpus: Cpus,
}

impl Here {
    pub fn read() -> Self {
        let source = Source::here();
        Self { cpus: Cpus::read(source.tree(), &source.machine), source }
    }

    pub fn audit(&self, need: &Need) -> Vec<Finding> {
        audit(self.source.tree(), &self.source.machine, need)
    }

    /// Who reads what this program prints here, and typed this command line to get it.
    pub fn reader(&self) -> Reader {
        Reader { typed: Some(typed()), ..reader_in(self.source.tree()) }
    }

    pub fn machine(&self) -> Vec<MachineLine> {
        self.source.machine.recorded()
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_facts::fact::Fact;
    use std::cell::RefCell;

    /// A machine on which nothing is there; it notes what is asked for.
    #[derive(Debug, Default)]
    struct Asked(RefCell<Vec<String>>);

    impl Asked {
        fn absent<T>(&self, path: &str) -> Fact<T> {
            self.0.borrow_mut().push(path.to_owned());
            Fact::Absent
        }
    }

    impl Tree for Asked {
        fn read(&self, path: &str) -> Fact<Vec<u8>> {
            self.absent(path)
        }

        fn list(&self, path: &str) -> Fact<Vec<String>> {
            self.absent(path)
        }

        fn link(&self, path: &str) -> Fact<String> {
            self.absent(path)
        }
    }

    #[test]
    fn for_the_reader_no_more_is_read_than_what_tells_a_container() {
        let tree = Asked::default();
        assert_eq!(reader_in(&tree).container, None);
        let asked = tree.0.into_inner();
        let of_container = ["/run/systemd/container", "/run", "/.dockerenv"];
        assert!(asked.iter().all(|path| of_container.contains(&path.as_str())) && asked.len() >= 3, "{asked:?}");
    }
}
