//! Tests the differences between machines of the fixtures.

use crate::repository;
use punctual_facts::finding::Finding;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;
use punctual_tuning::audit::{audit, worst};
use punctual_tuning::diff::{AuditDifference, AuditSide, Trend};
use punctual_tuning::knobs::Case;

struct Judged {
    machine: Machine,
    case_cpus: punctual_facts::cpu_set::CpuSet,
    findings: Vec<Finding>,
}

impl Judged {
    fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(repository(&format!("fixtures/machines/{name}.machine"))).unwrap();
        let tree = MemTree::parse(&text).unwrap();
        let machine = Machine::read(&tree);
        let need = Need::default();
        let findings = audit(&tree, &machine, &need);
        let case_cpus = Case::new(&tree, &machine, &need).rt().clone();
        Self { machine, case_cpus, findings }
    }

    fn side(&self) -> AuditSide<'_> {
        AuditSide { machine: &self.machine, cpus: &self.case_cpus, findings: &self.findings }
    }
}

#[test]
fn a_machine_does_not_differ_from_itself() {
    for name in [
        "empty",
        "container-without-sys",
        "rt-tuned",
        "arm64-board",
        "guest-2cpu",
        "debian-12-stock-plain",
        "debian-13-rt-isolated",
    ] {
        let (a, b) = (Judged::read(name), Judged::read(name));
        assert!(AuditDifference::between(&a.side(), &b.side()).is_empty(), "{name}");
    }
}

#[test]
fn what_tells_a_stock_kernel_from_a_real_time_one() {
    let (stock, rt) = (Judged::read("debian-12-stock-plain"), Judged::read("debian-12-rt-isolated"));
    let there = AuditDifference::between(&stock.side(), &rt.side());
    let trend = |id: &str| there.knobs.iter().find(|turn| turn.id == id).map(|turn| turn.trend);
    assert_eq!(trend("kconf.flavour"), Some(Trend::Better), "{:#?}", there.knobs);
    assert!(
        there.facts.iter().any(|fact| fact.name == "kernel" && fact.to.contains("PREEMPT_RT")),
        "{:?}",
        there.facts
    );

    let back = AuditDifference::between(&rt.side(), &stock.side());
    assert_eq!(back.words_added, there.words_removed);
    assert_eq!(back.words_removed, there.words_added);
    assert_eq!(back.knobs.len(), there.knobs.len());
    assert_eq!(back.with(Trend::Worse).count(), there.with(Trend::Better).count());
    assert_eq!(back.worst(), worst(&stock.findings), "the kernel is the worst there is about it");
}

#[test]
fn against_a_machine_that_tells_nothing_all_that_is_known_differs() {
    let (empty, tuned) = (Judged::read("empty"), Judged::read("rt-tuned"));
    let difference = AuditDifference::between(&empty.side(), &tuned.side());
    assert!(difference.facts.iter().any(|fact| fact.name == "command line" && fact.from.starts_with("unknown")));
    assert!(!difference.options.is_empty());
    let worse: Vec<&str> = difference.with(Trend::Worse).map(|turn| turn.id.as_str()).collect();
    assert_eq!(worse, ["kconf.drm"], "what nobody could see is worse only where it is seen to be bad");
}
