//! Tests that each remedy gives steps or a reason, whatever the files of a machine hold, and that its steps write only
//! sensible values.

use super::{HugePages, KnobRemedy, Preferences, REMEDIES, Site, remedy};
use crate::knobs::Case;
use crate::knobs::tests::{Always, Noise};
use crate::plan::Step;
use proptest::prelude::*;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::Tree;

fn preferences() -> Preferences {
    Preferences {
        devices: vec!["eth0".to_owned(), "0000:00:1c.0".to_owned()],
        keep_irqs: vec!["1".to_owned()],
        priority: Some(u32::MAX),
        partition: true,
        huge_pages: vec![HugePages { size_kb: 2048, count: 1, node: Some(0) }],
        ..Preferences::default()
    }
}

/// The results of all remedies on a machine, for each kind of choice of CPUs.
fn all(tree: &dyn Tree) -> Vec<(&'static str, KnobRemedy)> {
    let machine = Machine::read(tree);
    let mut found = Vec::new();
    for cpus in ["", "0", "1-3", "2-3,8000"] {
        let need = Need { cpus: CpuSet::parse_list(cpus).unwrap(), ..Need::default() };
        for preferences in [preferences(), Preferences::default()] {
            let case = Case::new(tree, &machine, &need);
            let site = Site::new(&case, &preferences);
            found.extend(REMEDIES.iter().map(|of| (of.knob, remedy(&site, of.knob).unwrap())));
        }
    }
    found
}

#[test]
fn a_machine_that_says_nothing_is_not_changed() {
    for answer in [Fact::Absent, Fact::Garbled("input/output error".to_owned())] {
        for (id, found) in all(&Always(answer.clone())) {
            assert!(!matches!(found, KnobRemedy::Steps(..)), "{answer:?}: {id} {found:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_machine_makes_a_remedy_panic_or_write_nonsense(seed in any::<u64>()) {
        for (id, found) in all(&Noise(seed)) {
            let (KnobRemedy::Steps(_, notes) | KnobRemedy::Hold(_, notes)) = &found else { continue };
            for text in [&notes.before, &notes.after, &notes.risk, &notes.proof] {
                prop_assert!(!text.contains(char::is_control) && !text.is_empty(), "{id}: {text:?}");
            }
            let KnobRemedy::Steps(steps, _) = &found else { continue };
            for step in steps {
                if let Step::Write { path, value, .. } = step {
                    prop_assert!(path.starts_with("/proc/") || path.starts_with("/sys/"), "{id}: {path}");
                    prop_assert!(!value.is_empty() && !value.contains(char::is_control), "{id}: {path} = {value:?}");
                }
            }
        }
    }
}
