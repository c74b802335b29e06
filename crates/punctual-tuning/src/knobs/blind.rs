//! Tests that no file which cannot be read leads to a verdict of good, bad or not applicable. Each file and folder of
//! captured machines is refused in turn. Machines whose CPUs are not known are tested with every knob.

use super::find;
use super::tests::{examples, fixtures};
use crate::audit::{audit, begun, examine};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::finding::State;
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{MemTree, Tree};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::{Discriminant, discriminant};

/// The file or folder that the machine of a test refuses to an unprivileged caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Refused {
    Nothing,
    File(String),
    Folder(String),
}

/// A machine that refuses one file or folder, and records which files and folders were read or listed.
struct Refusing<'a> {
    tree: &'a MemTree,
    refused: Refused,
    asked: RefCell<BTreeSet<Refused>>,
}

impl Refusing<'_> {
    fn answer<T>(&self, what: Refused, answer: impl FnOnce() -> Fact<T>) -> Fact<T> {
        if what == self.refused {
            return Fact::Denied;
        }
        let answer = answer();
        if self.refused == Refused::Nothing && answer.known().is_some() {
            self.asked.borrow_mut().insert(what);
        }
        answer
    }
}

impl Tree for Refusing<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.answer(Refused::File(path.to_owned()), || self.tree.read(path))
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.answer(Refused::Folder(path.to_owned()), || self.tree.list(path))
    }
    fn link(&self, path: &str) -> Fact<String> {
        self.tree.link(path)
    }
}

fn machine(name: &str) -> MemTree {
    MemTree::parse(&std::fs::read_to_string(fixtures().join("machines").join(name)).unwrap()).unwrap()
}

fn states(tree: &dyn Tree, need: &Need) -> BTreeMap<String, State> {
    audit(tree, &Machine::read(tree), need).into_iter().map(|finding| (finding.id, finding.state)).collect()
}

fn state_of(id: &str, tree: &dyn Tree, need: &Need) -> BTreeMap<String, State> {
    let machine = Machine::read(tree);
    let state = examine(find(id).unwrap(), &begun(tree, &machine, need)).state;
    [(id.to_owned(), state)].into()
}

fn kind_of(state: &State) -> Discriminant<State> {
    discriminant(state)
}

/// Describes every verdict that turned into another one when a file or folder was refused, other than into unknown.
fn turned(name: &str, tree: &MemTree, look: impl Fn(&dyn Tree) -> BTreeMap<String, State>) -> Vec<String> {
    let open = Refusing { tree, refused: Refused::Nothing, asked: RefCell::default() };
    let told = look(&open);
    let mut turned = Vec::new();
    for refused in open.asked.into_inner() {
        for (id, state) in look(&Refusing { tree, refused: refused.clone(), asked: RefCell::default() }) {
            // An advice makes no claim about the machine.
            if !matches!(state, State::Unknown(_) | State::Advice(_)) && kind_of(&state) != kind_of(&told[&id]) {
                turned.push(format!("{name} without {refused:?}: {id} was {:?}, is {state:?}", told[&id]));
            }
        }
    }
    turned
}

#[test]
fn what_a_machine_refuses_turns_no_verdict_into_another() {
    let second = Need { cpus: CpuSet::parse_list("1").unwrap(), ..Need::default() };
    let mut wrong = Vec::new();
    for (name, need) in [
        ("guest-2cpu.machine", second),
        ("rt-tuned.machine", Need::default()),
        ("arm64-board.machine", Need::default()),
    ] {
        wrong.extend(turned(name, &machine(name), |tree| states(tree, &need)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_refused_in_a_case_turns_its_verdict_into_no_other() {
    let mut wrong = Vec::new();
    for example in examples() {
        let look = |tree: &dyn Tree| state_of(&example.id, tree, &example.need);
        wrong.extend(turned(&example.place, &example.tree, look));
    }
    assert!(wrong.is_empty(), "{}\n{} in all", wrong.join("\n"), wrong.len());
}

/// Whether a knob's verdict depends on the real-time CPUs: it differs between the states found for different choices.
fn is_about_cpus(id: &str, choices: &[BTreeMap<String, State>]) -> bool {
    choices.iter().any(|states| kind_of(&states[id]) != kind_of(&choices[0][id]))
}

#[test]
fn nothing_is_said_of_cpus_nobody_knows() {
    let (mut said, mut about_cpus) = (Vec::new(), BTreeSet::new());
    for (name, lists) in [("guest-2cpu.machine", ["0", "1", "0-1"]), ("rt-tuned.machine", ["0", "2-3", "0-3"])] {
        let seeing = machine(name);
        let mut blind = seeing.clone();
        for file in ["/proc/cpuinfo", "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/isolated"] {
            blind.file(file, Fact::Absent);
        }
        for kind in Kind::ALL {
            let of = |list| Need { kind, cpus: CpuSet::parse_list(list).unwrap(), ..Need::default() };
            let choices = lists.map(|list| states(&seeing, &of(list)));
            for (id, state) in states(&blind, &of("")) {
                if is_about_cpus(&id, &choices) {
                    if matches!(state, State::Good | State::Bad) {
                        said.push(format!("{name}: {id} is {state:?}"));
                    }
                    about_cpus.insert(id);
                }
            }
        }
    }
    assert!(said.is_empty(), "{}", said.join("\n"));
    assert!(about_cpus.len() > 20, "of these, only {about_cpus:?} concern CPUs");
}
