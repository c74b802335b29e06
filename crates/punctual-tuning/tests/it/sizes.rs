//! Tests that the audit gives sensible findings on machines of every size and kernel version.

use crate::generated::Shape;
use proptest::prelude::*;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Finding, State};
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{MemTree, Tree, masked};
use punctual_tuning::audit::audit;
use punctual_tuning::capture::capture;

const RELEASES: [&str; 14] = [
    "3.10.0-1160.el7.x86_64",
    "3.18.140",
    "4.4.302",
    "4.14.336-rt159",
    "4.19.0-27-rt-amd64",
    "5.4.0-1080-raspi",
    "5.10.0-35-rt-amd64",
    "5.15.0.1",
    "6.1.0-43-rt-amd64",
    "6.6.31-rt31",
    "6.12.107+deb13-rt-amd64",
    "6.18.1",
    "7.0.0-rc1",
    "7.3.2-next",
];

fn shapes() -> impl Strategy<Value = Shape> {
    let cpus = prop_oneof![Just(1_u32), Just(2), Just(8), 3..40_u32];
    let sizes = (0..3_u32, 0..3_u32, 0..40_u32, 0..4_u32, 0..30_u32);
    (cpus, any::<u64>(), any::<u64>(), 0..20_u32, sizes, 0..RELEASES.len(), any::<bool>(), any::<bool>()).prop_map(
        |(possible, offline, isolated, smt_cores, sizes, release, is_rt, is_arm)| {
            let (nodes, memory_nodes, interrupts, queues, tasks) = sizes;
            // The boot CPU is always online. Other CPUs may be offline, so that the numbers have gaps.
            let online: CpuSet = (0..possible).filter(|cpu| *cpu == 0 || offline >> (cpu % 64) & 3 != 0).collect();
            let isolated = online.iter().filter(|cpu| (isolated >> (cpu % 64)) % 8 == 0).collect();
            let release = RELEASES[release].to_owned();
            Shape {
                possible,
                online,
                isolated,
                smt_cores,
                nodes,
                memory_nodes,
                interrupts,
                queues,
                tasks,
                release,
                is_rt,
                is_arm,
            }
        },
    )
}

fn findings(tree: &MemTree, need: &Need) -> Vec<Finding> {
    let machine = Machine::read(tree);
    assert_eq!(machine.fingerprint().len(), 5);
    audit(tree, &machine, need)
}

/// The knob whose fix names words that were requested without effect, although the fix moves no work.
const NAMES_WORDS: &str = "agree.requested";

/// Describes a finding that makes no sense on this machine; `None` if the finding is sensible.
fn absurd(shape: &Shape, finding: &Finding) -> Option<String> {
    let is_verdict = matches!(finding.state, State::Good | State::Bad);
    if is_verdict && finding.evidence.is_empty() {
        return Some("a verdict without evidence".to_owned());
    }
    if finding.state != State::Bad {
        return None;
    }
    let open = ["<I>", "<H>", "<H mask>"].into_iter().find(|open| finding.fix.contains(open));
    if let Some(open) = open {
        return Some(format!("'{open}' is left in: {}", finding.fix));
    }
    // A fix must not isolate all CPUs, because then none is left for other work.
    let all = shape.online.to_string();
    let all_apart = ["isolcpus=managed_irq,domain,", "nohz_full=", "echo "].into_iter().find(|word| {
        let is_apart = *word != "echo " || finding.fix.contains("cpuset.cpus");
        is_apart && finding.fix.contains(&format!("{word}{all}"))
    });
    if shape.isolated.is_empty() && all_apart.is_some() {
        return Some(format!("all CPUs are to be set apart: {}", finding.fix));
    }
    // On a machine with one CPU, a fix must not move work to other CPUs.
    let moves = ["irqaffinity", "isolcpus", "OTHER-CPUS"];
    let is_move =
        shape.online.len() == 1 && finding.id != NAMES_WORDS && moves.iter().any(|word| finding.fix.contains(word));
    is_move.then(|| format!("a machine with one CPU is told: {}", finding.fix))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn machines_of_any_shape_get_an_answer_that_makes_sense(shape in shapes(), kind in 0..3_usize) {
        let tree = shape.machine();
        let need = Need { kind: Kind::ALL[kind], ..Need::default() };
        let first = findings(&tree, &need);
        for finding in &first {
            let absurd = absurd(&shape, finding);
            prop_assert!(absurd.is_none(), "{}: {} ({shape:?})", finding.id, absurd.unwrap_or_default());
        }
        prop_assert_eq!(&findings(&capture(&tree), &need), &first);
        let verdicts = |findings: &[Finding]| {
            findings.iter().map(|f| (f.id.clone(), f.severity, std::mem::discriminant(&f.state))).collect::<Vec<_>>()
        };
        prop_assert_eq!(verdicts(&findings(&masked(&tree), &need)), verdicts(&first));
    }
}

#[test]
fn a_thousand_cpus_are_told_apart() {
    let online: CpuSet = (0..1024).filter(|cpu| cpu % 100 != 7).collect();
    let shape = Shape {
        possible: 1024,
        online,
        isolated: (512..1024).filter(|cpu| cpu % 100 != 7).collect(),
        smt_cores: 300,
        memory_nodes: 2,
        interrupts: 1000,
        ..Shape::large()
    };
    let tree = shape.machine();
    assert!(tree.read("/proc/cpuinfo").known().unwrap().len() > 1 << 20);
    for kind in Kind::ALL {
        let findings = findings(&tree, &Need { kind, ..Need::default() });
        assert!(findings.iter().all(|finding| absurd(&shape, finding).is_none()));
        assert!(findings.iter().any(|finding| finding.id == "irq.affinity" && finding.state == State::Bad));
    }
}
