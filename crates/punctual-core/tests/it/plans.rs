//! Whole plans for big machines, and what is told of interrupts that have yet to move.

use crate::choice::big;
use punctual_core::fact::Fact;
use punctual_core::knobs::Blast;
use punctual_core::machine::Machine;
use punctual_core::plan::remedies::Needs;
use punctual_core::plan::{Asked, Expected, Reading, Standing, Step, Wishes, plan, standing};
use punctual_core::profile::Need;
use punctual_core::tree::MemTree;

fn wishes() -> Wishes {
    Wishes {
        need: Need::default(),
        only: Vec::new(),
        except: Vec::new(),
        blast: Blast::Breaking,
        needs: Needs { for_good: true, ..Needs::default() },
        holds: false,
        lasting: true,
        exe: "/usr/bin/punctual".to_owned(),
    }
}

#[test]
fn plans_for_big_machines_are_made_in_time() {
    for (name, text) in big() {
        let tree = MemTree::parse(&text).unwrap();
        let plan = plan(&tree, &Machine::read(&tree), &wishes()).unwrap();
        assert!(!plan.choice.cpus.is_empty());
        // A debug build on a busy machine; what counts, 200 ms, is the release build's.
    }
}

#[test]
fn an_interrupt_is_where_it_is_and_not_where_it_was_sent() {
    const ASKED: &str = "/proc/irq/1/smp_affinity_list";
    const EFFECT: &str = "/proc/irq/1/effective_affinity_list";
    let asked = |is_this_boot| Asked::Done {
        id: "irq.affinity".to_owned(),
        step: Step::Write {
            path: ASKED.to_owned(),
            value: "0-1".to_owned(),
            expected: Expected { reading: Reading::CpuList, settles_at: Some(EFFECT.to_owned()), or_fewer: true },
        },
        is_this_boot,
    };
    let stands = |requested: &str, effective: Fact<&str>, is_this_boot| {
        let mut tree = MemTree::parse(&format!("punctual-machine 1\n{ASKED} = {requested}\n")).unwrap();
        tree.file(EFFECT, effective.map(|text| text.as_bytes().to_vec()));
        standing(&tree, &Machine::read(&tree), &Need::default(), &[asked(is_this_boot)]).remove(0).standing
    };
    assert_eq!(stands("0-1", Fact::Known("0"), true), Standing::InForce);
    assert_eq!(stands("0-1", Fact::Known("3"), true), Standing::WaitsForInterrupt);
    assert_eq!(stands("0-3", Fact::Known("3"), true), Standing::Drifted);
    assert_eq!(stands("0-3", Fact::Known("3"), false), Standing::WaitsForBoot);
    assert_eq!(stands("0-1", Fact::Absent, true), Standing::Gone);
    assert!(matches!(stands("0-1", Fact::Denied, true), Standing::Unknown(_)));
}
