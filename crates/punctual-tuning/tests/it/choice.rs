//! Tests which CPUs are chosen on many machines: `NAME.choice` in `fixtures/plans` holds the expectation for
//! `NAME.machine`. Machines too large to be committed are made here. A machine may have several lines `# need: KIND
//! cpus=LIST`, each with a need to test.

use crate::machines::need_of;
use crate::{check, repository};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::{MemTree, Tree};
use punctual_tuning::plan::choice::{Choice, ChoiceRefusal, choose};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn none(cpus: &CpuSet) -> String {
    if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() }
}

fn shown(choice: &Result<Choice, ChoiceRefusal>) -> String {
    let mut out = String::new();
    match choice {
        Err(refusal) => writeln!(out, "refused: {refusal}\n    -> {}", refusal.remedy()).unwrap(),
        Ok(choice) => {
            let Choice { cpus, housekeeping, offline, reasons, warnings } = choice;
            writeln!(out, "{}, housekeeping {}, to be offline {}", none(cpus), none(housekeeping), none(offline))
                .unwrap();
            for reason in reasons {
                writeln!(out, "  - {reason}").unwrap();
            }
            for warning in warnings {
                writeln!(out, "  ! {warning}\n    -> {}", warning.remedy()).unwrap();
            }
        }
    }
    out
}

fn choices(text: &str) -> String {
    let tree = MemTree::parse(text).unwrap();
    let machine = Machine::read(&tree);
    let mut out = String::new();
    for words in text.lines().filter_map(|line| line.strip_prefix("# need:")) {
        let choice = choose(&tree, &machine, &need_of(words));
        if let Ok(choice) = &choice {
            holds(&machine, choice);
        }
        writeln!(out, "need:{words}\n{}", shown(&choice)).unwrap();
    }
    out
}

/// Checks the rules that hold for every choice on every machine.
fn holds(machine: &Machine, choice: &Choice) {
    let online = machine.topology.online.known().unwrap();
    assert!(!choice.cpus.is_empty() && !choice.housekeeping.is_empty());
    assert!(choice.cpus.is_subset(online) && choice.housekeeping.is_subset(online) && choice.offline.is_subset(online));
    assert!(choice.cpus.intersection(&choice.housekeeping).is_empty());
    assert!(choice.offline.intersection(&choice.housekeeping.union(&choice.cpus)).is_empty());
    assert!(!choice.reasons.is_empty());
}

#[test]
fn every_machine_gets_the_expected_choice() {
    let mut seen = 0;
    for path in fixtures::files("plans", "machine") {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("\n# need:") {
            check(&path.with_extension("choice"), &choices(&text));
            seen += 1;
        }
    }
    assert!(seen >= 20, "only {seen} machines");
    for (name, text) in big() {
        check(&repository(&format!("fixtures/plans/{name}.choice")), &choices(&text));
    }
}

/// On captured machines, CPUs are chosen or the choice is refused with a remedy, whatever files are missing.
#[test]
fn captured_machines_are_chosen_on_or_refused_with_a_remedy() {
    for path in fixtures::files("machines", "machine") {
        let tree = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let machine = Machine::read(&tree);
        match choose(&tree, &machine, &Need::default()) {
            Ok(choice) => holds(&machine, &choice),
            Err(refusal) => assert!(!refusal.remedy().is_empty() && !refusal.to_string().is_empty()),
        }
    }
}

/// A machine with `cpus` CPUs. The functions `core`, `l2`, `l3` and `node` give the number of the group that a CPU
/// belongs to.
fn big_machine(
    cpus: u32,
    needs: &[&str],
    core: fn(u32) -> u32,
    l2: fn(u32) -> u32,
    l3: fn(u32) -> u32,
    node: fn(u32) -> u32,
) -> String {
    let groups = |of: fn(u32) -> u32| -> BTreeMap<u32, CpuSet> {
        let mut groups: BTreeMap<u32, CpuSet> = BTreeMap::new();
        (0..cpus).for_each(|cpu| groups.entry(of(cpu)).or_default().insert(cpu));
        groups
    };
    let (cores, l2s, l3s) = (groups(core), groups(l2), groups(l3));
    let mut text = String::from("punctual-machine 1\n");
    for need in needs {
        writeln!(text, "# need: {need}").unwrap();
    }
    writeln!(text, "/proc/sys/kernel/arch = x86_64\n/sys/devices/system/cpu/online = 0-{}", cpus - 1).unwrap();
    writeln!(text, "/sys/devices/system/cpu/present = 0-{}", cpus - 1).unwrap();
    for cpu in 0..cpus {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        writeln!(text, "{folder}/topology/thread_siblings_list = {}", cores[&core(cpu)]).unwrap();
        for (index, list) in [(2, &l2s[&l2(cpu)]), (3, &l3s[&l3(cpu)])] {
            writeln!(text, "{folder}/cache/index{index}/level = {index}").unwrap();
            writeln!(text, "{folder}/cache/index{index}/shared_cpu_list = {list}").unwrap();
        }
    }
    for (number, list) in groups(node) {
        writeln!(text, "/sys/devices/system/node/node{number}/cpulist = {list}").unwrap();
    }
    text
}

pub fn big() -> Vec<(&'static str, String)> {
    let eight = big_machine(
        256,
        &["periodic", "poll", "audio", "periodic cpus=16-31,144-159", "periodic cpus=1,200", "periodic cpus=0-255"],
        |cpu| cpu % 128,
        |cpu| cpu % 128,
        |cpu| cpu % 128 / 4,
        |cpu| cpu % 128 / 16,
    );
    let two = big_machine(
        80,
        &["periodic", "periodic cpus=1-39,41-79", "periodic cpus=20-39,60-79"],
        |cpu| cpu % 40,
        |cpu| cpu % 40,
        |cpu| cpu % 40 / 20,
        |cpu| cpu % 40 / 20,
    );
    // CPUs with even numbers are on one socket and those with odd numbers on the other, as some firmware numbers them.
    let interleaved = big_machine(
        48,
        &["periodic", "periodic cpus=24-27"],
        |cpu| cpu % 24,
        |cpu| cpu % 24,
        |cpu| cpu % 2,
        |cpu| cpu % 2,
    );
    let single = big_machine(64, &["periodic", "periodic cpus=60-63"], |cpu| cpu, |cpu| cpu / 4, |_| 0, |_| 0);
    vec![
        ("generated-256-cpus-8-nodes", eight),
        ("generated-80-cpus-2-sockets", two),
        ("generated-48-cpus-interleaved", interleaved),
        ("generated-64-efficient-cores", single),
    ]
}

/// A machine that counts how often each file is read.
struct Counted {
    tree: MemTree,
    reads: RefCell<BTreeMap<String, usize>>,
}

impl Tree for Counted {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        *self.reads.borrow_mut().entry(path.to_owned()).or_default() += 1;
        self.tree.read(path)
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.tree.list(path)
    }
    fn link(&self, path: &str) -> Fact<String> {
        self.tree.link(path)
    }
}

#[test]
fn big_machines_are_read_sparingly() {
    for (name, text) in big() {
        let tree = Counted { tree: MemTree::parse(&text).unwrap(), reads: RefCell::default() };
        let machine = Machine::read(&tree);
        choose(&tree, &machine, &Need::default()).unwrap();
        let reads = tree.reads.borrow();
        let each_cpu = || reads.iter().filter(|(path, _)| path.contains("/cpu/cpu"));
        assert!(each_cpu().all(|(_, times)| *times == 1), "{name}: {:?}", each_cpu().find(|(_, times)| **times > 1));
        assert!(each_cpu().count() <= 600, "{name}: {} files", each_cpu().count());
    }
}

/// The rules for every choice that the user did not make: whole cores of one kind, not the boot CPU, and one core left
/// on every node.
mod any_machine {
    use super::*;
    use proptest::prelude::*;

    const CPU: &str = "/sys/devices/system/cpu";

    /// A machine with one core for each tuple (threads, l2, l3, node, kind). The numbers are small, so that cores share
    /// caches and nodes. The two threads of a core have distant CPU numbers.
    fn machine(cores: &[(bool, u8, u8, u8, bool)]) -> (MemTree, Vec<CpuSet>) {
        let count = u32::try_from(cores.len()).unwrap();
        let threads: Vec<CpuSet> = cores
            .iter()
            .zip(0..)
            .map(|((two, ..), n)| if *two { [n, n + count].into_iter().collect() } else { [n].into_iter().collect() })
            .collect();
        let join = |same: &dyn Fn(usize) -> bool| {
            (0..cores.len()).filter(|n| same(*n)).fold(CpuSet::new(), |all, n| all.union(&threads[n]))
        };
        let mut text =
            format!("punctual-machine 1\n/proc/sys/kernel/arch = x86_64\n{CPU}/online = {}\n", join(&|_| true));
        for (n, core) in cores.iter().enumerate() {
            for cpu in threads[n].iter() {
                writeln!(text, "{CPU}/cpu{cpu}/topology/thread_siblings_list = {}", threads[n]).unwrap();
                let shares = [
                    (2, join(&|m| (cores[m].1, cores[m].2) == (core.1, core.2))),
                    (3, join(&|m| cores[m].2 == core.2)),
                ];
                for (index, list) in shares {
                    writeln!(text, "{CPU}/cpu{cpu}/cache/index{index}/level = {index}").unwrap();
                    writeln!(text, "{CPU}/cpu{cpu}/cache/index{index}/shared_cpu_list = {list}").unwrap();
                }
            }
        }
        for node in 0..3 {
            writeln!(text, "/sys/devices/system/node/node{node}/cpulist = {}", join(&|m| cores[m].3 == node)).unwrap();
        }
        writeln!(text, "/sys/devices/cpu_core/cpus = {}", join(&|m| cores[m].4)).unwrap();
        writeln!(text, "/sys/devices/cpu_atom/cpus = {}", join(&|m| !cores[m].4)).unwrap();
        (MemTree::parse(&text.replace(" = \n", " = \\e\n")).unwrap(), threads)
    }

    proptest! {
        #[test]
        fn choices_keep_the_rules(cores in prop::collection::vec((any::<bool>(), 0u8..3, 0u8..3, 0u8..3, any::<bool>()), 2..24)) {
            let (tree, threads) = machine(&cores);
            let facts = Machine::read(&tree);
            let choice = choose(&tree, &facts, &Need::default()).unwrap();
            holds(&facts, &choice);
            prop_assert!(!choice.cpus.contains(0));
            let taken: Vec<usize> = (0..cores.len()).filter(|n| threads[*n].is_subset(&choice.cpus)).collect();
            let whole = taken.iter().fold(CpuSet::new(), |all, n| all.union(&threads[*n]));
            prop_assert_eq!(&whole, &choice.cpus);
            prop_assert!(taken.len() <= 4 && taken.len() <= (cores.len() / 2).max(1));
            prop_assert!(taken.iter().all(|n| cores[*n].4 == cores[taken[0]].4));
            let on_node = |node: u8| (0..cores.len()).filter(|n| cores[*n].3 == node).collect::<Vec<_>>();
            prop_assert!(taken.iter().all(|n| cores[*n].3 == cores[taken[0]].3), "several nodes");
            if (0..3).map(on_node).any(|all| !all.is_empty() && all.iter().all(|n| taken.contains(n))) {
                // A node may be left without a core only if every core that could be chosen is the only one on its
                // node.
                let mut candidates = (1..cores.len()).filter(|n| cores[*n].4 == cores[taken[0]].4);
                let is_only_way = candidates.all(|n| on_node(cores[n].3).len() == 1);
                prop_assert!(is_only_way && !choice.warnings.is_empty());
            }
        }
    }
}
