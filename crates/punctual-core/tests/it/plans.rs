//! Whole plans, and how what was asked for stands: what the user allowed and what the machine shows decide, nothing else.

use crate::choice::big;
use crate::repository;
use punctual_core::cpu_set::CpuSet;
use punctual_core::fact::Fact;
use punctual_core::knobs::Blast;
use punctual_core::machine::Machine;
use punctual_core::plan::remedies::Needs;
use punctual_core::plan::{
    Asked, Change, Expected, Plan, Reading, Reason, Standing, Step, Takes, Wishes, plan, standing,
};
use punctual_core::profile::{Kind, Need};
use punctual_core::tree::{MemTree, Tree};
use std::time::{Duration, Instant};

fn wishes(blast: Blast) -> Wishes {
    Wishes {
        need: Need::default(),
        only: Vec::new(),
        except: Vec::new(),
        blast,
        needs: Needs { for_good: true, ..Needs::default() },
        holds: false,
        lasting: true,
        exe: "/usr/bin/punctual".to_owned(),
    }
}

fn captured(name: &str) -> MemTree {
    let path = repository(&format!("fixtures/machines/{name}.machine"));
    MemTree::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn planned(tree: &dyn Tree, wishes: &Wishes) -> Plan {
    plan(tree, &Machine::read(tree), wishes).unwrap()
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.changes.iter().map(|change| change.id.as_str()).collect()
}

fn reason<'a>(plan: &'a Plan, id: &str) -> Option<&'a Reason> {
    plan.left.iter().find(|left| left.id == id).map(|left| &left.reason)
}

#[test]
fn only_what_is_wanted_is_planned() {
    let tree = captured("debian-12-stock-plain");
    let all = planned(&tree, &wishes(Blast::Breaking));
    assert!(ids(&all).contains(&"irq.affinity") && ids(&all).contains(&"iso.domain"), "{:?}", ids(&all));
    let except = Wishes { except: vec!["irq.affinity".to_owned(), "iso.domain".to_owned()], ..wishes(Blast::Breaking) };
    let without = planned(&tree, &except);
    assert!(!ids(&without).contains(&"irq.affinity") && !ids(&without).contains(&"iso.domain"), "{:?}", ids(&without));
    assert_eq!(reason(&without, "irq.affinity"), Some(&Reason::Excepted));
    assert!(!without.wanted.words.iter().any(|word| word.starts_with("isolcpus")), "{:?}", without.wanted.words);
    let only = planned(&tree, &Wishes { only: vec!["irq.default".to_owned()], ..wishes(Blast::Breaking) });
    assert_eq!(ids(&only), ["irq.default"]);
    let unasked = |change: &&Change| ["sec.", "ras.", "clk.", "lim."].iter().any(|prefix| change.id.starts_with(prefix));
    assert_eq!(all.changes.iter().find(unasked), None);
}

#[test]
fn no_change_can_do_more_than_is_allowed() {
    for name in ["debian-12-stock-plain", "debian-13-rt-plain", "arm64-board", "guest-2cpu"] {
        let tree = captured(name);
        for blast in [Blast::Harmless, Blast::Disturbing, Blast::Breaking] {
            let plan = planned(&tree, &wishes(blast));
            assert!(plan.changes.iter().all(|change| change.blast <= blast), "{name}: {blast:?}");
        }
        let harmless = planned(&tree, &wishes(Blast::Harmless));
        assert_eq!(reason(&harmless, "wq.unbound"), Some(&Reason::Blast(Blast::Disturbing)), "{name}");
    }
}

#[test]
fn what_counts_from_the_next_boot_on_comes_last() {
    let tree = captured("debian-12-stock-plain");
    let plan = planned(&tree, &wishes(Blast::Breaking));
    let takes: Vec<Takes> = plan.changes.iter().map(|change| change.takes).collect();
    assert!(takes.is_sorted() && takes.contains(&Takes::NextBoot), "{takes:?}");
}

#[test]
fn plans_for_big_machines_are_made_in_time() {
    for (name, text) in big() {
        let tree = MemTree::parse(&text).unwrap();
        let start = Instant::now();
        let plan = planned(&tree, &wishes(Blast::Breaking));
        let took = start.elapsed();
        assert!(!plan.choice.cpus.is_empty());
        // What counts is the release build; this only catches what grows with the square of the CPUs.
        assert!(took < Duration::from_secs(4), "{name}: {took:?}");
    }
}

/// A machine with one thing told otherwise.
struct Otherwise<'a>(&'a MemTree, &'a str, Fact<&'a str>);

impl Tree for Otherwise<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        if path == self.1 { self.2.clone().map(|text| text.as_bytes().to_vec()) } else { self.0.read(path) }
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.0.list(path)
    }
    fn link(&self, path: &str) -> Fact<String> {
        self.0.link(path)
    }
}

fn stands(tree: &dyn Tree, asked: Asked) -> Standing {
    let need = Need { kind: Kind::Poll, cpus: CpuSet::parse_list("2-3").unwrap(), ..Need::default() };
    standing(tree, &Machine::read(tree), &need, &[asked]).remove(0).standing
}

#[test]
fn a_word_counts_when_the_kernel_shows_it_and_not_before() {
    let tree = captured("debian-13-rt-isolated");
    let word = |word: &str| Asked::Word { id: "iso.domain".to_owned(), word: word.to_owned() };
    let booted = || word("isolcpus=managed_irq,domain,2-3");
    assert_eq!(stands(&tree, booted()), Standing::InForce);
    assert_eq!(stands(&tree, word("isolcpus=managed_irq,domain,3")), Standing::WaitsForBoot);
    let plain = captured("debian-13-rt-plain");
    assert_eq!(stands(&plain, booted()), Standing::WaitsForBoot);
    let none = Otherwise(&tree, "/sys/devices/system/cpu/isolated", Fact::Known("\n"));
    let stands = stands(&none, booted());
    assert!(matches!(&stands, Standing::NotHonoured(why) if !why.is_empty()), "{stands:?}");
}

#[test]
fn a_value_counts_when_it_is_in_force_and_who_changed_it_is_noticed() {
    const ASKED: &str = "/proc/irq/1/smp_affinity_list";
    const EFFECT: &str = "/proc/irq/1/effective_affinity_list";
    let tree = MemTree::parse(&format!("punctual-machine 1\n{ASKED} = 0-1\n{EFFECT} = 0\n")).unwrap();
    let expected =
        Expected { reading: Reading::CpuList, settles_at: Some(EFFECT.to_owned()), or_fewer: true };
    let asked = |is_this_boot| Asked::Done {
        id: "irq.affinity".to_owned(),
        step: Step::Write { path: ASKED.to_owned(), value: "0-1".to_owned(), expected: expected.clone() },
        is_this_boot,
    };
    let with = |path, text| Otherwise(&tree, path, text);
    assert_eq!(stands(&tree, asked(true)), Standing::InForce);
    assert_eq!(stands(&with(EFFECT, Fact::Known("3")), asked(true)), Standing::Accepted);
    let both = MemTree::parse(&format!("punctual-machine 1\n{ASKED} = 0-3\n{EFFECT} = 3\n")).unwrap();
    assert_eq!(stands(&both, asked(true)), Standing::Drifted);
    assert_eq!(stands(&both, asked(false)), Standing::WaitsForBoot);
    assert_eq!(stands(&with(EFFECT, Fact::Absent), asked(true)), Standing::Gone);
    assert!(matches!(stands(&with(EFFECT, Fact::Denied), asked(true)), Standing::Unknown(_)));
}
