//! Writes down everything that is read through it, so that the same reading can be repeated elsewhere.

use super::{MemTree, Tree};
use crate::fact::Fact;
use std::cell::RefCell;

/// A tree that passes every question on and keeps the answers.
pub struct Transcript<'a> {
    source: &'a dyn Tree,
    answers: RefCell<MemTree>,
}

impl<'a> Transcript<'a> {
    /// Listens to `source`.
    pub fn new(source: &'a dyn Tree) -> Self {
        Self { source, answers: RefCell::default() }
    }

    /// Everything that was answered so far, as a machine of its own.
    pub fn into_tree(self) -> MemTree {
        self.answers.into_inner()
    }
}

impl Tree for Transcript<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        let content = self.source.read(path);
        if content != Fact::Absent {
            self.answers.borrow_mut().file(path, content.clone());
        }
        content
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        let names = self.source.list(path);
        let mut answers = self.answers.borrow_mut();
        match &names {
            Fact::Known(names) => {
                answers.folder(path, Fact::Known(()));
                for name in names {
                    let below = format!("{}/{name}", path.trim_end_matches('/'));
                    // An entry that was never read is kept by name: as a folder, which claims nothing of content.
                    if answers.read(&below) == Fact::Absent && answers.list(&below) == Fact::Absent {
                        answers.folder(&below, Fact::Known(()));
                    }
                }
            }
            Fact::Absent => {}
            Fact::Denied => answers.folder(path, Fact::Denied),
            Fact::Garbled(why) => answers.folder(path, Fact::Garbled(why.clone())),
        }
        names
    }

    fn link(&self, path: &str) -> Fact<String> {
        let target = self.source.link(path);
        if let Fact::Known(target) = &target {
            self.answers.borrow_mut().symlink(path, target);
        }
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_answer_the_same() {
        let source =
            MemTree::parse("punctual-machine 1\n/a/x = 1\n/a/y = 2\n/b/ ! denied\n/c ! garbled odd\n/l -> x\n")
                .unwrap();
        let ask = |tree: &dyn Tree| {
            (
                tree.list("/a"),
                tree.read("/a/x"),
                tree.list("/b"),
                tree.read("/c"),
                tree.link("/l"),
                tree.read("/none"),
                tree.list("/none"),
            )
        };
        let transcript = Transcript::new(&source);
        let first = ask(&transcript);
        assert_eq!(ask(&transcript.into_tree()), first);
    }
}
