//! What would be done about every captured machine, as text: `fixtures/plans/NAME.plan` for
//! `fixtures/machines/NAME.machine`; and what must hold of every plan.

use crate::machines::need;
use crate::{check, repository};
use punctual_core::cmdline::{Evidence, Target, Verdict, lint, same_dashes};
use punctual_core::cpu_set::CpuSet;
use punctual_core::knobs::Blast;
use punctual_core::machine::Machine;
use punctual_core::plan::remedies::Needs;
use punctual_core::plan::{Change, Keep, Plan, Reason, Wishes, lasting, plan};
use punctual_core::profile::{Kind, Need};
use punctual_core::tree::MemTree;
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub fn wishes(need: Need) -> Wishes {
    Wishes {
        need,
        only: Vec::new(),
        except: Vec::new(),
        blast: Blast::Disturbing,
        needs: Needs { for_good: true, ..Needs::default() },
        lasting: true,
        holds: false,
        exe: "/usr/bin/punctual".to_owned(),
    }
}

pub fn captured(name: &str) -> MemTree {
    let path = repository(&format!("fixtures/machines/{name}.machine"));
    MemTree::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn on_cpus(list: &str) -> Need {
    Need { cpus: CpuSet::parse_list(list).unwrap(), ..Need::default() }
}

fn of_change(out: &mut String, change: &Change) {
    let Change { id, before, after, takes, blast, lasts, .. } = change;
    writeln!(out, "\n{id}: {before} -> {after}\n    {takes:?}, {blast:?}, {}", lasts.name()).unwrap();
    for keep in &change.keeps {
        writeln!(out, "    keeps {keep:?}").unwrap();
    }
    if !change.also.is_empty() {
        writeln!(out, "    also {}", change.also.join(" ")).unwrap();
    }
}

fn shown(plan: &Plan) -> String {
    let choice = &plan.choice;
    let mut out = format!("CPUs {}, housekeeping {}, off line", choice.cpus, choice.housekeeping);
    writeln!(out, " {}", if choice.offline.is_empty() { "none".to_owned() } else { choice.offline.to_string() }).unwrap();
    plan.changes.iter().for_each(|change| of_change(&mut out, change));
    out.push('\n');
    for left in &plan.left {
        let why = match &left.reason {
            Reason::Excepted => "excepted".to_owned(),
            Reason::Unasked(why) => format!("unasked: {why}"),
            Reason::Blast(blast) => format!("blast: {blast:?}"),
            Reason::ByHand(how) => format!("by hand: {how}"),
            Reason::NotHere(why) => format!("not here: {why}"),
            Reason::Decided { by } => format!("decided by {by}"),
        };
        writeln!(out, "left {:?} {}: {why}", left.severity, left.id).unwrap();
    }
    plan.limits.iter().for_each(|limit| writeln!(out, "limit: {limit}").unwrap());
    out.lines().map(str::trim_end).fold(String::new(), |text, line| text + line + "\n")
}

fn each_machine(mut look: impl FnMut(&std::path::Path, &str)) {
    let mut seen = 0;
    for entry in std::fs::read_dir(repository("fixtures/machines")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ext| ext == "machine") {
            look(&path, &std::fs::read_to_string(&path).unwrap());
            seen += 1;
        }
    }
    assert!(seen >= 12, "only {seen} machines");
}

#[test]
fn every_captured_machine_gets_the_expected_plan() {
    each_machine(|path, text| {
        let tree = MemTree::parse(text).unwrap();
        let shown = match plan(&tree, &Machine::read(&tree), &wishes(need(text))) {
            Ok(plan) => shown(&plan),
            Err(refusal) => format!("refused: {refusal}\n"),
        };
        let name = path.with_extension("plan");
        check(&repository("fixtures/plans").join(name.file_name().unwrap()), &shown);
    });
}

/// The words of a plan, by the names the kernel compares; words of the same name would undo each other.
fn words(plan: &Plan) -> Vec<String> {
    let words = plan.wanted.words.iter().chain(&plan.wanted.no_words);
    words.map(|word| same_dashes(word.split('=').next().unwrap_or(word))).collect()
}

#[test]
fn every_plan_changes_something_says_nothing_twice_and_is_understood_by_the_kernel() {
    each_machine(|path, text| {
        let tree = MemTree::parse(text).unwrap();
        let machine = Machine::read(&tree);
        for kind in Kind::ALL {
            let wishes = Wishes { blast: Blast::Breaking, ..wishes(Need { kind, ..need(text) }) };
            let Ok(plan) = plan(&tree, &machine, &wishes) else { continue };
            let told = format!("{} {}", path.display(), kind.name());
            for change in &plan.changes {
                assert_ne!(change.before, change.after, "{told}: {}", change.id);
                assert!(!change.steps.is_empty() || !change.keeps.is_empty(), "{told}: {} is empty", change.id);
            }
            let words = words(&plan);
            let once: BTreeSet<&String> = words.iter().collect();
            assert_eq!(once.len(), words.len(), "{told}: {words:?}");
            understood(&told, &machine, &plan);
        }
    });
}

/// What a plan makes of the command line gets no worse verdict than what was there.
fn understood(told: &str, machine: &Machine, plan: &Plan) {
    let (Some(booted), Some(target)) = (machine.cmdline.known(), Target::of(machine)) else { return };
    let booted = booted.words().collect::<Vec<_>>().join(" ");
    let line = lasting::merge(&booted, &plan.wanted).unwrap();
    let bad = |line: &str| -> BTreeSet<String> {
        let is_bad =
            |verdict| matches!(verdict, Verdict::Unknown | Verdict::RejectedValue | Verdict::Harmful);
        let judged = lint(line.as_bytes(), &target, &Evidence::none());
        judged.into_iter().filter(|word| is_bad(word.verdict)).map(|word| format!("{word:?}")).collect()
    };
    assert!(bad(&line).is_subset(&bad(&booted)), "{told}: {line}: {:?}", bad(&line));
    for keep in plan.changes.iter().flat_map(|change| &change.keeps) {
        let Keep::Word(word) = keep else { continue };
        assert!(!booted.split(' ').any(|there| there == word), "{told}: {word} stands there already");
    }
}
