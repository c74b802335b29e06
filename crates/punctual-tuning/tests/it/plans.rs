//! Tests the plan for every captured machine: `fixtures/plans/NAME.plan` holds the expected text for
//! `fixtures/machines/NAME.machine`. Also tests rules that every plan must follow.

use crate::machines::need;
use crate::{check, repository};
use punctual_facts::cmdline::same_dashes;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::lint::{Target, Testimony, WordVerdict, lint};
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::MemTree;
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::remedies::Preferences;
use punctual_tuning::plan::{Change, Keep, Lasts, Plan, Reading, Reason, Step, Wishes, is_given, lasting, plan};
use std::collections::BTreeSet;
use std::fmt::Write as _;

fn wishes(need: Need) -> Wishes {
    Wishes {
        need,
        only: Vec::new(),
        except: Vec::new(),
        blast: Blast::Disturbing,
        preferences: Preferences { for_good: true, ..Preferences::default() },
        lasting: true,
        holds: false,
        standing: Vec::new(),
        exe: Ok("/usr/bin/punctual".to_owned()),
    }
}

/// Parses a machine. An emulated machine without a boot loader gets systemd, and a boot loader that can keep words.
fn with_loader(text: &str) -> MemTree {
    let mut tree = MemTree::parse(text).unwrap();
    let machine = Machine::read(&tree);
    let is_bare = machine.boot.loaders.is_empty() && machine.boot.container.is_none();
    if let (true, Some(booted)) = (is_bare, machine.cmdline.known()) {
        let label = format!("    LABEL a\n      APPEND {}\n", booted.for_the_kernel());
        tree.overlay(&format!("/run/systemd/system/\n/boot/extlinux/extlinux.conf =\n{label}"), 1).unwrap();
    }
    tree
}

fn captured(name: &str) -> MemTree {
    let path = repository(&format!("fixtures/machines/{name}.machine"));
    with_loader(&std::fs::read_to_string(path).unwrap())
}

fn on_cpus(list: &str) -> Need {
    Need { cpus: CpuSet::parse_list(list).unwrap(), ..Need::default() }
}

fn of_change(out: &mut String, change: &Change) {
    let Change { id, before, after, takes, blast, lasts, .. } = change;
    writeln!(out, "\n{id}: {before} -> {after}\n    {takes:?}, {blast:?}, {lasts:?}").unwrap();
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
    writeln!(out, " {}", if choice.offline.is_empty() { "none".to_owned() } else { choice.offline.to_string() })
        .unwrap();
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
    let machines = fixtures::files("machines", "machine");
    assert!(machines.len() >= 12, "only {} machines", machines.len());
    for path in &machines {
        look(path, &std::fs::read_to_string(path).unwrap());
    }
}

#[test]
fn every_captured_machine_gets_the_expected_plan() {
    each_machine(|path, text| {
        let tree = with_loader(text);
        let shown = match plan(&tree, &Machine::read(&tree), &wishes(need(text))) {
            Ok(plan) => shown(&plan),
            Err(refusal) => format!("refused: {refusal}\n"),
        };
        let name = path.with_extension("plan");
        check(&repository("fixtures/plans").join(name.file_name().unwrap()), &shown);
    });
}

/// The names of the words that a plan adds or removes, in the form in which the kernel compares them. Two words with
/// the same name would undo each other.
fn words(plan: &Plan) -> Vec<String> {
    let words = plan.wanted.words.iter().chain(&plan.wanted.no_words);
    words.map(|word| same_dashes(word.split('=').next().unwrap_or(word))).collect()
}

#[test]
fn every_plan_changes_something_says_nothing_twice_and_is_understood_by_the_kernel() {
    each_machine(|path, text| {
        let tree = with_loader(text);
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

/// Checks that no word has a worse verdict on the plan's command line than on this boot's line.
fn understood(told: &str, machine: &Machine, plan: &Plan) {
    let (Some(booted), Some(target)) = (machine.cmdline.known(), Target::of(machine)) else { return };
    let booted = booted.for_the_kernel();
    let line = lasting::merge(&booted, &plan.wanted).unwrap();
    let bad = |line: &str| -> BTreeSet<String> {
        let is_bad =
            |verdict| matches!(verdict, WordVerdict::Unknown | WordVerdict::RejectedValue | WordVerdict::Harmful);
        let judged = lint(line.as_bytes(), &target, &Testimony::none());
        judged.into_iter().filter(|word| is_bad(word.verdict)).map(|word| format!("{word:?}")).collect()
    };
    assert!(bad(&line).is_subset(&bad(&booted)), "{told}: {line}: {:?}", bad(&line));
    for keep in plan.changes.iter().flat_map(|change| &change.keeps) {
        let Keep::Word(word) = keep else { continue };
        assert!(!booted.split(' ').any(|there| there == word), "{told}: {word} stands there already");
    }
}

fn planned(tree: &MemTree, wishes: &Wishes) -> Plan {
    plan(tree, &Machine::read(tree), wishes).unwrap()
}

fn known(text: &str) -> Fact<Vec<u8>> {
    Fact::Known(text.as_bytes().to_vec())
}

/// A machine on which CPUs 2 and 3 are threads of one core.
fn with_siblings() -> MemTree {
    let mut tree = captured("debian-13-rt-plain");
    for (cpu, siblings) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        tree.file(&format!("{folder}/thread_siblings_list"), known(siblings));
        tree.file(&format!("{folder}/core_cpus_list"), known(siblings));
    }
    tree
}

#[test]
fn nothing_is_sent_to_a_sibling_that_goes_off_line() {
    let plan = planned(&with_siblings(), &wishes(on_cpus("3")));
    assert_eq!(plan.choice.offline.to_string(), "2");
    assert!(plan.changes.iter().any(|change| change.id == "agree.siblings"));
    assert!(!plan.left.iter().any(|left| left.id == "agree.siblings"), "{:?}", plan.left);
    assert!(plan.wanted.words.iter().any(|word| word == "irqaffinity=0-1"), "{:?}", plan.wanted.words);
    let keeps_off = |cpus: &CpuSet| !cpus.contains(2) || cpus.contains(3);
    for step in plan.changes.iter().flat_map(|change| &change.steps) {
        match step {
            Step::Affinity { cpus, task } => assert!(keeps_off(cpus), "{} to {cpus}", task.comm),
            Step::Write { path, value, expected } if expected.reading == Reading::CpuMask => {
                assert!(keeps_off(&CpuSet::parse_mask(value).unwrap()), "{path} = {value}");
            }
            Step::Write { path, value, expected } if expected.reading == Reading::CpuList => {
                assert!(keeps_off(&CpuSet::parse_list(value).unwrap()), "{path} = {value}");
            }
            _ => {}
        }
    }
    // A sibling that stays online is a housekeeping CPU.
    let except = Wishes { except: vec!["agree.siblings".to_owned()], ..wishes(on_cpus("3")) };
    assert!(planned(&with_siblings(), &except).wanted.words.iter().any(|word| word == "irqaffinity=0-2"));
}

#[test]
fn what_the_user_put_on_the_line_stays_unless_it_is_asked_for() {
    let tree = captured("debian-13-rt-isolated");
    let plan_of = |wishes: &Wishes| planned(&tree, wishes);
    let plan = plan_of(&wishes(on_cpus("2-3")));
    assert!(plan.wanted.no_words.is_empty(), "{:?}", plan.wanted.no_words);
    let is_unasked =
        |left: &punctual_tuning::plan::Left| left.id == "iso.nohz_full" && matches!(left.reason, Reason::Unasked(_));
    assert!(plan.left.iter().any(is_unasked));
    let named = Wishes { only: vec!["iso.nohz_full".to_owned()], ..wishes(on_cpus("2-3")) };
    assert_eq!(plan_of(&named).wanted.no_words, ["nohz_full"]);
}

#[test]
fn flags_of_the_user_are_kept_and_the_word_counts_as_given() {
    let keep = [Keep::Word("isolcpus=managed_irq,domain,2-3".to_owned())];
    assert!(is_given("quiet isolcpus=managed_irq,domain,nohz,2-3", &keep));
    assert!(is_given("isolcpus=nohz,domain,managed_irq,2,3 quiet", &keep));
    assert!(!is_given("isolcpus=nohz,2-3", &keep));
    assert!(!is_given("isolcpus=managed_irq,domain,2", &keep));
    assert!(!is_given("quiet", &keep));
    let without = [Keep::NoWord("nohz_full".to_owned()), Keep::Anew];
    assert!(is_given("quiet", &without) && !is_given("quiet nohz-full=2", &without));
}

#[test]
fn a_kernel_whose_threads_ignore_isolation_gets_no_word_for_them() {
    for (name, expected) in [("debian-13-rt-plain", false), ("debian-13-rt-7.3-plain", true)] {
        let only = Wishes { only: vec!["kthr.affinity".to_owned()], ..wishes(on_cpus("2-3")) };
        let plan = planned(&captured(name), &only);
        assert_eq!(plan.wanted.words.iter().any(|word| word.starts_with("isolcpus=")), expected, "{name}");
    }
}

#[test]
fn a_value_that_would_not_count_is_lost_alone() {
    let mut tree = captured("debian-13-rt-plain");
    let of = |plan: &Plan, id: &str| plan.changes.iter().find(|change| change.id == id).map(|change| change.lasts);
    let sysctls = |plan: &Plan| {
        let keeps =
            plan.changes.iter().flat_map(|change| change.keeps.iter().map(|keep| (change.id.clone(), keep.clone())));
        let sysctl = |(id, keep)| if let Keep::Sysctl { name, .. } = keep { Some((id, name)) } else { None };
        keeps.filter_map(sysctl).collect::<Vec<_>>()
    };
    let before = planned(&tree, &wishes(on_cpus("2-3")));
    let all = sysctls(&before);
    let (id, name) = all.first().unwrap();
    assert_eq!(of(&before, id), Some(Lasts::ForGood));
    tree.file("/etc/sysctl.d/99-zzz.conf", known(&format!("{name} = 4711\n")));
    let after = planned(&tree, &wishes(on_cpus("2-3")));
    assert_eq!(sysctls(&after).len(), all.len() - 1);
    assert_eq!(of(&after, id), Some(Lasts::Reboot));
    assert!(
        after.limits.iter().any(|limit| limit.contains(name) && limit.contains("99-zzz.conf")),
        "{:?}",
        after.limits
    );
    assert!(after.changes.iter().any(|change| change.id == "boot.files"));
}

#[test]
fn machines_of_hundreds_of_cpus_get_a_plan() {
    for (name, text) in crate::choice::big() {
        let tree = MemTree::parse(&text).unwrap();
        let plan = planned(&tree, &Wishes { blast: Blast::Breaking, ..wishes(Need::default()) });
        assert!(!plan.choice.cpus.is_empty() && !plan.choice.housekeeping.is_empty(), "{name}");
    }
}

#[test]
fn rules_limits_and_the_cpus_of_systemd_are_kept() {
    let mut tree = captured("debian-13-rt-plain");
    tree.file("/sys/devices/virtual/workqueue/writeback/cpumask", known("f"));
    let plan = planned(&tree, &wishes(on_cpus("2-3")));
    let rule = "ACTION==\"add\", SUBSYSTEM==\"workqueue\", ATTR{cpumask}=\"3\"";
    assert_eq!(plan.wanted.udev, [rule]);
    assert_eq!(plan.wanted.manager_cpus, CpuSet::parse_list("0-1").ok());
    assert!(!plan.wanted.words.iter().any(|word| word.starts_with("systemd.")));
    assert!(plan.wanted.limits.is_empty(), "a right of users is granted by name only");
    let files = plan.changes.iter().find(|change| change.id == "boot.files").unwrap();
    for part in ["/etc/udev/rules.d/99-zz-punctual.rules", "/etc/systemd/system.conf.d/99-zz-punctual.conf"] {
        assert!(files.after.contains(part), "{}", files.after);
    }
    let only = Wishes { only: vec!["lim.rtprio".to_owned()], ..wishes(on_cpus("2-3")) };
    assert_eq!(
        planned(&captured("arm64-board"), &Wishes { need: on_cpus("6-7"), ..only }).wanted.limits,
        ["@realtime - rtprio 95"]
    );
}
