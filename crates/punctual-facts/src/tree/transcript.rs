//! A tree that records all answers of another tree, so that the same files can be read again elsewhere.
//!
//! Each file is read from the other tree once, and later from the record. Conclusions at the time of recording and
//! conclusions from the record therefore rest on the same facts.

use super::{MemTree, Tree};
use crate::fact::Fact;
use std::cell::RefCell;
use std::collections::BTreeMap;

pub struct Transcript<'a> {
    source: &'a dyn Tree,
    files: RefCell<Answers<Vec<u8>>>,
    folders: RefCell<Answers<Vec<String>>>,
    links: RefCell<Answers<String>>,
}

type Answers<T> = BTreeMap<String, Fact<T>>;

impl<'a> Transcript<'a> {
    pub fn new(source: &'a dyn Tree) -> Self {
        Self { source, files: RefCell::default(), folders: RefCell::default(), links: RefCell::default() }
    }

    pub fn into_tree(self) -> MemTree {
        let (files, folders) = (self.files.into_inner(), self.folders.into_inner());
        let mut tree = MemTree::new();
        for (folder, names) in folders.iter().filter(|(_, names)| **names != Fact::Absent) {
            tree.folder(folder, names.as_ref().map(|_| ()));
            for name in names.known().into_iter().flatten() {
                let path = format!("{}/{name}", folder.trim_end_matches('/'));
                keep_name(&mut tree, &path, &files, &folders);
            }
        }
        for (path, content) in files {
            // A file entry would hide the folder with the same path.
            let is_folder = matches!(folders.get(&path), Some(Fact::Known(_)));
            if content != Fact::Absent && !is_folder {
                tree.file(&path, content);
            }
        }
        for (path, target) in self.links.into_inner() {
            if let Fact::Known(target) = target {
                tree.symlink(&path, &target);
            }
        }
        tree
    }
}

/// Adds a path of which only the name was recorded. The path becomes a folder, which claims no content. If it is known
/// not to be a folder, it becomes an unread file.
fn keep_name(tree: &mut MemTree, path: &str, files: &Answers<Vec<u8>>, folders: &Answers<Vec<String>>) {
    let is_kept = |fact: Option<&Fact<()>>| fact.is_some_and(|fact| *fact != Fact::Absent);
    let content = files.get(path).map(|fact| fact.as_ref().map(|_| ()));
    let names = folders.get(path).map(|fact| fact.as_ref().map(|_| ()));
    if is_kept(content.as_ref()) || is_kept(names.as_ref()) {
        return;
    }
    if names.is_some() && content.is_none() {
        tree.file(path, Fact::Garbled("was not read when this was captured".to_owned()));
    } else {
        tree.folder(path, Fact::Known(()));
    }
}

/// The recorded answer or, if there is none, the source's answer, which is then recorded.
fn ask<T: Clone>(answers: &RefCell<Answers<T>>, path: &str, source: impl FnOnce() -> Fact<T>) -> Fact<T> {
    if let Some(answer) = answers.borrow().get(path) {
        return answer.clone();
    }
    let answer = source();
    answers.borrow_mut().insert(path.to_owned(), answer.clone());
    answer
}

impl Tree for Transcript<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        ask(&self.files, path, || self.source.read(path))
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        let folder = if path == "/" { path } else { path.trim_end_matches('/') };
        ask(&self.folders, folder, || self.source.list(folder))
    }

    fn link(&self, path: &str) -> Fact<String> {
        ask(&self.links, path, || self.source.link(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn source() -> MemTree {
        MemTree::parse(
            "punctual-machine 1\n/a/x = 1\n/a/y = 2\n/a/z = 3\n/b/ ! denied\n/c ! garbled odd\n/l -> x\n/d/e/f = 4\n",
        )
        .unwrap()
    }

    fn ask_all(tree: &dyn Tree) -> impl PartialEq + std::fmt::Debug + use<> {
        (
            [
                tree.list("/a"),
                tree.list("/b"),
                tree.list("/none"),
                tree.list("/a/z"),
                tree.list("/d/"),
                tree.list("/d"),
            ],
            [tree.read("/a/x"), tree.read("/c"), tree.read("/none"), tree.read("/d/e")],
            tree.link("/l"),
        )
    }

    #[test]
    fn the_answers_answer_the_same() {
        let source = source();
        let transcript = Transcript::new(&source);
        let first = ask_all(&transcript);
        let captured = transcript.into_tree();
        assert_eq!(ask_all(&captured), first);
        assert_eq!(ask_all(&MemTree::parse(&captured.to_string()).unwrap()), first);
    }

    /// A machine that gives another answer each time it is read.
    #[derive(Default)]
    struct Fickle(Cell<u8>);

    impl Tree for Fickle {
        fn read(&self, _: &str) -> Fact<Vec<u8>> {
            self.0.set(self.0.get() + 1);
            Fact::Known(vec![b'0' + self.0.get()])
        }
        fn list(&self, path: &str) -> Fact<Vec<String>> {
            self.read(path).map(|_| vec![self.0.get().to_string()])
        }
        fn link(&self, path: &str) -> Fact<String> {
            self.read(path).map(|_| self.0.get().to_string())
        }
    }

    #[test]
    fn what_was_answered_once_is_not_asked_again() {
        let fickle = Fickle::default();
        let transcript = Transcript::new(&fickle);
        let first = (transcript.read("/x"), transcript.list("/f"), transcript.link("/l"));
        assert_eq!((transcript.read("/x"), transcript.list("/f/"), transcript.link("/l")), first);
        let captured = transcript.into_tree();
        assert_eq!((captured.read("/x"), captured.list("/f"), captured.link("/l")), first);
    }
}
