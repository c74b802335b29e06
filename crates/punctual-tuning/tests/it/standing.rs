//! Tests the status of requests on machines whose kernels had the words on their command line, and on others.

use crate::repository;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;
use punctual_tuning::plan::{Expected, Keep, Reading, Requested, Standing, Step, standing};

fn machine(name: &str) -> MemTree {
    let path = repository(&format!("fixtures/machines/{name}.machine"));
    MemTree::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn stands(tree: &MemTree, asked: Requested) -> Standing {
    let need = Need { cpus: CpuSet::parse_list("2-3").unwrap(), ..Need::default() };
    standing(tree, &Machine::read(tree), &need, &[asked]).pop().unwrap().standing
}

fn isolcpus() -> Requested {
    Requested::of_word("iso.domain", &Keep::Word("isolcpus=managed_irq,domain,2-3".to_owned())).unwrap()
}

fn written(value: &str, is_this_boot: bool) -> Requested {
    let step = Step::Write {
        path: "/sys/devices/virtual/workqueue/writeback/cpumask".to_owned(),
        value: value.to_owned(),
        expected: Expected::same(Reading::CpuMask),
    };
    Requested::Done { id: "wq.named".to_owned(), step, is_this_boot }
}

#[test]
fn what_was_asked_for_is_good_only_by_its_effect() {
    assert_eq!(stands(&machine("debian-13-rt-isolated"), isolcpus()), Standing::InForce);
    assert_eq!(stands(&machine("debian-13-rt-plain"), isolcpus()), Standing::WaitsForBoot);
    // The word is on this boot's command line, but the kernel did not honour it.
    let mut tree = machine("debian-13-rt-isolated");
    tree.file("/sys/devices/system/cpu/isolated", Fact::Known(b"\n".to_vec()));
    tree.file("/sys/fs/cgroup/cpuset.cpus.isolated", Fact::Known(b"\n".to_vec()));
    assert!(matches!(stands(&tree, isolcpus()), Standing::NotHonoured(_)));
    // The word is on this boot's command line, and no file shows whether the kernel honoured it.
    tree.file("/sys/devices/system/cpu/isolated", Fact::Denied);
    tree.file("/sys/fs/cgroup/cpuset.cpus.isolated", Fact::Denied);
    assert!(matches!(stands(&tree, isolcpus()), Standing::Unknown(_)));
}

#[test]
fn what_was_written_is_in_force_drifted_gone_or_waits() {
    let tree = machine("debian-13-rt-isolated");
    assert_eq!(stands(&tree, written("f", true)), Standing::InForce);
    assert_eq!(stands(&tree, written("3", true)), Standing::Drifted);
    assert_eq!(stands(&tree, written("3", false)), Standing::WaitsForBoot, "another boot, another value");
    let mut tree = tree;
    tree.file("/sys/devices/virtual/workqueue/writeback/cpumask", Fact::Absent);
    assert_eq!(stands(&tree, written("3", true)), Standing::Gone);
    tree.file("/sys/devices/virtual/workqueue/writeback/cpumask", Fact::Denied);
    assert!(matches!(stands(&tree, written("3", true)), Standing::Unknown(_)));
}

#[test]
fn what_was_asked_for_again_stands_as_it_was_asked_for_last() {
    let tree = machine("debian-13-rt-isolated");
    let need = Need { cpus: CpuSet::parse_list("2-3").unwrap(), ..Need::default() };
    let word = |text: &str| Requested::of_word("iso.domain", &Keep::Word(text.to_owned())).unwrap();
    let asked =
        [word("isolcpus=domain,1"), written("3", true), word("isolcpus=managed_irq,domain,2-3"), written("f", true)];
    let rows = standing(&tree, &Machine::read(&tree), &need, &asked);
    assert_eq!(rows.iter().map(|row| row.standing.clone()).collect::<Vec<_>>(), [Standing::InForce, Standing::InForce]);
    let no_word = Requested::of_word("iso.nohz_full", &Keep::NoWord("nohz_full".to_owned())).unwrap();
    let again = Requested::of_word("iso.nohz_full", &Keep::Word("nohz-full=2-3".to_owned())).unwrap();
    assert_eq!(standing(&tree, &Machine::read(&tree), &need, &[no_word, again]).len(), 1);
}

/// A knob that looks at more than one word does not decide the status of a word.
#[test]
fn a_word_stands_by_its_own_effect() {
    let of = |id: &str, word: &str| Requested::of_word(id, &Keep::Word(word.to_owned())).unwrap();
    let mut tree = machine("debian-12-rt-isolated");
    // Kernel threads may still run on the isolated CPUs, so kthr.affinity is bad on this machine.
    assert_eq!(stands(&tree, of("kthr.affinity", "isolcpus=managed_irq,domain,2-3")), Standing::InForce);
    assert_eq!(stands(&tree, of("irq.affinity", "irqaffinity=0-1")), Standing::InForce);
    assert_eq!(stands(&tree, of("iso.rcu_nocbs", "rcu_nocbs=2-3")), Standing::InForce);
    assert_eq!(stands(&tree, of("iso.nohz_full", "nohz_full=2-3")), Standing::InForce);
    tree.file("/sys/devices/system/cpu/nohz_full", Fact::Known(b"3\n".to_vec()));
    assert!(matches!(stands(&tree, of("iso.nohz_full", "nohz_full=2-3")), Standing::NotHonoured(_)));
    tree.file("/proc/irq/default_smp_affinity", Fact::Known(b"f\n".to_vec()));
    assert!(matches!(stands(&tree, of("irq.affinity", "irqaffinity=0-1")), Standing::NotHonoured(_)));
}
