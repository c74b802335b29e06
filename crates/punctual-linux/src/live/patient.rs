//! A tree that is read through a helper process or thread, so that a file that never answers costs a moment and not the
//! audit.
//!
//! A read that hangs in the kernel cannot be cancelled: a file system in user space may be stuck, or a driver may wait
//! for its hardware. The helper that hangs is abandoned, and the next question goes to another helper. [`Patience`]
//! decides how long to wait: generously at first, because a busy machine is slow, and less after every file that hung,
//! because a stuck file system has many files. This module does not know what the files mean.
//!
//! The helper is a process if possible. A program with a stuck thread cannot end and keeps its pipes open; a stuck
//! child process does not have this effect.

use super::reader::{Question, Reader};
use punctual_facts::fact::Fact;
use punctual_facts::tree::Tree;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest time to wait for the answer to one question.
const MOST_FOR_ONE: Duration = Duration::from_millis(500);
/// Total time for questions that hang. Each of them waits a quarter of what is left, but at least `LEAST`, within which
/// even a busy machine answers most questions.
const MOST_FOR_ALL: Duration = Duration::from_secs(2);
const LEAST: Duration = Duration::from_millis(20);
/// After this number of files of a folder hung, its other files are not read.
const MOST_OF_FOLDER: u32 = 2;
/// After this number of files hung, nothing more is read, because each has left a stuck helper behind.
const MOST_HUNG: u32 = 32;
/// Factor on the wait for questions that need computing (`punctual:/...`).
const COMPUTING: u32 = 4;
/// Factor on the wait for unpacking a kernel, which takes a second, and longer if all CPUs are busy.
const UNPACKING: (&str, u32) = ("punctual:/kernel/words", 12);

/// How long to wait for a file, depending on the files that hung before.
#[derive(Debug)]
struct Patience {
    left: Duration,
    /// Number of files that hung in each folder. Digits in folder names are ignored, so that the same file of every CPU
    /// counts as one place.
    hung: BTreeMap<String, u32>,
}

impl Patience {
    fn new() -> Self {
        Self { left: MOST_FOR_ALL, hung: BTreeMap::new() }
    }

    /// How long to wait for `path`, or the reason why it is not read.
    fn limit(&self, path: &str) -> Result<Duration, String> {
        if self.hung.values().sum::<u32>() >= MOST_HUNG {
            return Err(format!("not asked, because {MOST_HUNG} other files did not answer"));
        }
        if self.hung.get(&folder(path)).is_some_and(|count| *count >= MOST_OF_FOLDER) {
            return Err("not asked, because other files of its folder did not answer".to_owned());
        }
        let limit = (self.left / 4).clamp(LEAST, MOST_FOR_ONE);
        Ok(match path {
            _ if path == UNPACKING.0 => limit * UNPACKING.1,
            _ if path.starts_with("punctual:") => limit * COMPUTING,
            _ => limit,
        })
    }

    /// Notes that `path` did not answer within `waited`.
    fn lose(&mut self, path: &str, waited: Duration) {
        self.left = self.left.saturating_sub(waited);
        *self.hung.entry(folder(path)).or_default() += 1;
    }
}

/// The folder of a path, with every number in it replaced by `#`.
fn folder(path: &str) -> String {
    let folder = path.trim_end_matches('/').rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut squashed = String::with_capacity(folder.len());
    for c in folder.chars() {
        match c {
            '0'..='9' if squashed.ends_with('#') => {}
            '0'..='9' => squashed.push('#'),
            c => squashed.push(c),
        }
    }
    squashed
}

#[derive(Debug)]
pub(super) struct Patient<T> {
    tree: Arc<T>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    reader: Option<Reader>,
    /// The argument that makes this program a reader; `None` after starting it has failed.
    word: Option<&'static str>,
    patience: Patience,
}

impl State {
    fn reader<T: Tree + Send + Sync + 'static>(&mut self, tree: &Arc<T>) -> Option<&mut Reader> {
        if self.reader.is_none() {
            self.reader = self.word.and_then(|word| Reader::process(word).ok());
            if self.reader.is_none() {
                self.word = None;
                self.reader = Reader::thread(Arc::clone(tree)).ok();
            }
        }
        self.reader.as_mut()
    }
}

impl<T: Tree + Send + Sync + 'static> Patient<T> {
    /// Reads in child processes, which are started with the argument `word` and must answer from the same tree. Without
    /// a word, reads in threads.
    pub(super) fn new(tree: T, word: Option<&'static str>) -> Self {
        let state = State { reader: None, word, patience: Patience::new() };
        Self { tree: Arc::new(tree), state: Mutex::new(state) }
    }

    fn ask(&self, question: Question, path: &str) -> Fact<Vec<u8>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = match state.patience.limit(path) {
            Ok(limit) => limit,
            Err(why) => return Fact::Garbled(why),
        };
        let Some(reader) = state.reader(&self.tree) else {
            // Neither a process nor a thread can be started, for example because of a limit on tasks. Reading without a
            // time limit is better than no answer.
            return question.of(&*self.tree, path);
        };
        let start = Instant::now();
        let failure = match reader.ask(question, path, limit) {
            Ok(fact) => return fact,
            Err(failure) => failure.kind(),
        };
        state.reader = None;
        if matches!(failure, ErrorKind::TimedOut | ErrorKind::WouldBlock) {
            state.patience.lose(path, start.elapsed().min(limit));
            Fact::Garbled(format!("did not answer within {} ms", limit.as_millis()))
        } else {
            Fact::Garbled("reading it failed; please report this".to_owned())
        }
    }
}

impl<T: Tree + Send + Sync + 'static> Tree for Patient<T> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.ask(Question::Read, path)
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        let names = text(self.ask(Question::List, path));
        names.map(|names| names.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    fn link(&self, path: &str) -> Fact<String> {
        text(self.ask(Question::Link, path))
    }
}

/// Converts bytes to text. Nothing is lost, because names were UTF-8 before they were sent.
fn text(fact: Fact<Vec<u8>>) -> Fact<String> {
    fact.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Condvar;

    /// A tree in which files below a folder `stuck` do not answer until they are released.
    #[derive(Default)]
    struct Sticky {
        let_go: Mutex<bool>,
        changed: Condvar,
    }

    #[derive(Clone, Default)]
    struct Shared(Arc<Sticky>);

    impl Tree for Shared {
        fn read(&self, path: &str) -> Fact<Vec<u8>> {
            if path.contains("stuck") {
                let guard = self.0.let_go.lock().unwrap();
                let _free = self.0.changed.wait_while(guard, |let_go| !*let_go).unwrap();
            }
            assert!(!path.contains("broken"), "a fault of ours");
            Fact::Known(path.as_bytes().to_vec())
        }
        fn list(&self, path: &str) -> Fact<Vec<String>> {
            self.read(path).map(|_| Vec::new())
        }
        fn link(&self, path: &str) -> Fact<String> {
            self.read(path).map(|_| String::new())
        }
    }

    #[test]
    fn what_hangs_is_left_behind_and_patience_runs_out() {
        let sticky = Shared::default();
        let tree = Patient::new(sticky.clone(), None);
        assert_eq!(tree.read("/stuck/0/a"), Fact::Garbled("did not answer within 500 ms".to_owned()));
        assert_eq!(tree.read("/good"), Fact::Known(b"/good".to_vec()));
        let second = tree.list("/stuck/1/b").trouble().unwrap();
        let limit = second.strip_prefix("did not answer within ").and_then(|rest| rest.strip_suffix(" ms"));
        assert!(limit.unwrap().parse::<u32>().unwrap() < 500, "the second gets less: {second}");
        let one_more = Instant::now();
        for cpu in 2..1000 {
            let fact = tree.read(&format!("/stuck/{cpu}/c"));
            assert_eq!(fact, Fact::Garbled("not asked, because other files of its folder did not answer".to_owned()));
        }
        assert!(one_more.elapsed() < Duration::from_secs(2), "those beside it are not waited for");
        for name in ["a", "b", "c", "d", "e", "f"] {
            assert!(matches!(tree.link(&format!("/stuck-{name}/x")), Fact::Garbled(_)));
        }
        // By now only short waits are left, and a busy machine may exceed one or two of them.
        let mut others = ["a", "b", "c", "d", "e"].iter().map(|name| tree.read(&format!("/good-{name}/x")));
        assert!(others.any(|fact| fact.known().is_some()), "what is good is still answered");
        *sticky.0.let_go.lock().unwrap() = true;
        sticky.0.changed.notify_all();
    }

    #[test]
    fn a_fault_while_reading_is_one_unknown_and_no_more() {
        let tree = Patient::new(Shared::default(), None);
        assert!(matches!(tree.read("/broken"), Fact::Garbled(_)));
        assert_eq!(tree.read("/good"), Fact::Known(b"/good".to_vec()));
    }

    #[test]
    fn all_that_hangs_together_takes_a_bounded_time() {
        let mut patience = Patience::new();
        let mut waited = Duration::ZERO;
        let mut asked = 0;
        for n in 0..10_000 {
            let path = format!("/{}/file", "x".repeat(1 + n % 97));
            if let Ok(limit) = patience.limit(&path) {
                patience.lose(&path, limit);
                waited += limit;
                asked += 1;
            }
        }
        assert_eq!(asked, MOST_HUNG);
        assert!(waited < Duration::from_millis(2_400), "{waited:?}");
        assert!(patience.limit("/elsewhere").is_err());
    }

    #[test]
    fn numbers_do_not_make_another_folder() {
        assert_eq!(folder("/sys/devices/system/cpu/cpu17/cpufreq/x"), "/sys/devices/system/cpu/cpu#/cpufreq");
        assert_eq!(folder("/sys/class/net/"), "/sys/class");
        assert_eq!(folder("name"), "");
    }
}
