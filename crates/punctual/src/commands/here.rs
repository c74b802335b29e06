//! The machine that the program runs on, with what the commands derive from it.

use super::source::Source;
use crate::render::words::command::Command;
use crate::render::words::next::Reader;
use punctual_facts::cpus::Cpus;
use punctual_facts::finding::Finding;
use punctual_facts::machine::{MachineLine, container};
use punctual_facts::profile::Need;
use punctual_facts::tree::Tree;
use punctual_linux::live::LiveTree;
use punctual_linux::measure::{Pace, Setting};
use punctual_tuning::audit::audit;
use std::path::PathBuf;

/// Describes the reader of the output: privileges and container. Reads only the three small files that show whether
/// this is a container.
pub fn reader() -> Reader {
    reader_in(&LiveTree::here())
}

fn reader_in(tree: &dyn Tree) -> Reader {
    Reader { is_root: rustix::process::geteuid().is_root(), container: container(tree), typed: None }
}

pub fn typed() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())
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

    /// Describes the reader of the output, with the command line that was typed.
    pub fn reader(&self) -> Reader {
        Reader { typed: Some(Command::new(typed())), ..reader_in(self.source.tree()) }
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
            pace: Pace::default(),
            endpoint: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_facts::fact::Fact;
    use std::cell::RefCell;

    /// A machine without files, which records the path of each file that is read.
    #[derive(Debug, Default)]
    struct Nothing(RefCell<Vec<String>>);

    impl Nothing {
        fn absent<T>(&self, path: &str) -> Fact<T> {
            self.0.borrow_mut().push(path.to_owned());
            Fact::Absent
        }
    }

    impl Tree for Nothing {
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
        let tree = Nothing::default();
        assert_eq!(reader_in(&tree).container, None);
        let asked = tree.0.into_inner();
        let of_container = ["/run/systemd/container", "/run", "/.dockerenv"];
        assert!(asked.iter().all(|path| of_container.contains(&path.as_str())) && asked.len() >= 3, "{asked:?}");
    }
}
