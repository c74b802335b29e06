//! Tests remedies on small machines made for them, as text, and rules that remedies must follow on every machine.

use super::{check, repository};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::MemTree;
use punctual_hist::Nanos;
use punctual_tuning::knobs::{self, Case};
use punctual_tuning::plan::remedies::{HugePages, KnobRemedy, Notes, Preferences, REMEDIES, Site, remedy};
use punctual_tuning::plan::{Expected, Invocation, SchedPolicy, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

#[test]
fn each_remedy_is_of_a_knob_and_only_one() {
    let mut ids = BTreeSet::new();
    for id in REMEDIES.iter().map(|remedy| remedy.knob) {
        assert!(knobs::find(id).is_some(), "there is no knob {id}");
        assert!(ids.insert(id), "{id} has two remedies");
    }
}

fn expected(expected: &Expected) -> String {
    let mut text = format!("{:?}", expected.reading);
    if let Some(path) = &expected.settles_at {
        let _ = write!(text, ", seen at {path}");
    }
    if expected.or_fewer {
        text.push_str(", or fewer");
    }
    text
}

fn called(call: Option<&Invocation>) -> String {
    call.map_or("-".to_owned(), |call| format!("{} {}", call.program, call.arguments.join(" ")))
}

fn line(step: &Step) -> String {
    match step {
        Step::Write { path, value, expected: seen } => format!("write {path} = {value} [{}]", expected(seen)),
        Step::Own { path, content, mode } => {
            format!("own {path} {mode:o}: {}", content.trim_end().replace('\n', " / "))
        }
        Step::Folder { path } => format!("folder {path}"),
        Step::Affinity { task, cpus } => {
            format!("move {} ({}, started {}) to {cpus}", task.comm, task.pid, task.started)
        }
        Step::Policy { task, policy } => {
            format!("rank {} ({}, started {}) {policy:?}", task.comm, task.pid, task.started)
        }
        Step::Nic { device, settings } => {
            let settings: Vec<(&str, u32)> = settings.iter().map(|of| (of.name.as_str(), of.value)).collect();
            format!("set {device} {settings:?}")
        }
        Step::Silence { unit, lasting } => format!("silence {unit}{}", if *lasting { " for good" } else { "" }),
        Step::Run { doing, undoing } => format!("run {} | undo {}", called(doing.as_ref()), called(undoing.as_ref())),
        other => format!("{other:?}"),
    }
}

fn shown(found: &KnobRemedy) -> String {
    let notes = |notes: &Notes| {
        let reach = notes.blast.map(|blast| format!("; {}", blast.name())).unwrap_or_default();
        let apart = if notes.apart { "; each by itself" } else { "" };
        format!("    before: {}\n    after: {}{reach}{apart}\n", notes.before, notes.after)
    };
    match found {
        KnobRemedy::Steps(steps, told) => {
            steps.iter().fold(notes(told), |text, step| format!("{text}    {}\n", line(step)))
        }
        KnobRemedy::Hold(us, told) => format!("{}    hold {us} us\n", notes(told)),
        KnobRemedy::NotHere(because) => format!("    not here: {because}\n"),
        KnobRemedy::ByHand(what) => format!("    by hand: {what}\n"),
    }
}

/// Parses one word of a case, such as `cpus=2-3`, `devices=eth1` or `partition`.
fn wish(need: &mut Need, preferences: &mut Preferences, word: &str) {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let list = || value.split('+').map(str::to_owned).collect();
    match name {
        "cpus" => need.cpus = CpuSet::parse_list(value).unwrap(),
        "budget" => need.budget = Some(Nanos::from_us(value.parse().unwrap())),
        "devices" => preferences.devices = list(),
        "keep" => preferences.keep_irqs = list(),
        "priority" => preferences.priority = value.parse().ok(),
        "partition" => preferences.partition = true,
        "for-good" => preferences.for_good = true,
        "pages" => preferences.huge_pages.push(HugePages { size_kb: 2048, count: value.parse().unwrap(), node: None }),
        kind => need.kind = *Kind::ALL.iter().find(|known| known.name() == kind).unwrap_or_else(|| panic!("{kind}?")),
    }
}

#[test]
fn remedies_on_machines_made_for_them() {
    let base = std::fs::read_to_string(repository("fixtures/knobs/base.machine")).unwrap();
    let base = MemTree::parse(&base).unwrap();
    let mut covered = BTreeSet::new();
    for path in fixtures::files("remedies", "cases") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut out = String::new();
        for part in text.split("\n[").map(|part| part.trim_start_matches('[')).filter(|part| !part.starts_with('#')) {
            let (head, body) = part.split_once('\n').unwrap_or((part, ""));
            let mut words = head.trim().trim_end_matches(']').split_whitespace();
            let id = words.next().unwrap();
            let (mut need, mut preferences) =
                (Need { cpus: CpuSet::parse_list("2-3").unwrap(), ..Need::default() }, Preferences::default());
            words.for_each(|word| wish(&mut need, &mut preferences, word));
            let mut tree = base.clone();
            tree.overlay(&format!("{body}\n"), 1).unwrap_or_else(|e| panic!("{} {head}: {e}", path.display()));
            let machine = Machine::read(&tree);
            let case = Case::new(&tree, &machine, &need);
            let site = Site::new(&case, &preferences);
            let found = remedy(&site, id).unwrap_or_else(|| panic!("no remedy for {id}"));
            sound(&format!("{} {head}", path.display()), [(id, &found)], &need.cpus);
            if matches!(found, KnobRemedy::Steps(..) | KnobRemedy::Hold(..)) {
                covered.insert(id.to_owned());
            }
            let _ = write!(out, "[{head}\n{}\n", shown(&found));
        }
        check(&path.with_extension("steps"), out.trim_end());
    }
    // The remedies of these knobs never have steps, since a person has to make the change.
    let never = ["irq.managed", "pm.rapl", "iso.cpuset", "sched.features"];
    let all = REMEDIES.iter().map(|remedy| remedy.knob);
    let lacking: Vec<&str> = all.filter(|id| !covered.contains(*id) && !never.contains(id)).collect();
    assert!(lacking.is_empty(), "no case with steps for: {}", lacking.join(", "));
}

/// Checks rules for every remedy. Values are a single line for a file of the kernel, and no file gets two values. No
/// thread is moved to real-time CPUs, or gets a higher priority than the kernel's own helpers allow.
fn sound<'a>(place: &str, found: impl IntoIterator<Item = (&'a str, &'a KnobRemedy)>, rt: &CpuSet) {
    let mut written: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for (id, remedy) in found {
        let KnobRemedy::Steps(steps, notes) = remedy else { continue };
        for text in [&notes.before, &notes.after, &notes.risk, &notes.proof] {
            assert!(!text.is_empty() && !text.contains(char::is_control), "{place} {id}: {text:?}");
        }
        for step in steps {
            match step {
                Step::Write { path, value, .. } => {
                    let is_kernels = path.starts_with("/proc/") || path.starts_with("/sys/");
                    assert!(is_kernels && !path.contains("..") && !path.contains("//"), "{place} {id}: {path}");
                    assert!(!value.is_empty() && !value.contains(char::is_control), "{place} {id}: {path} = {value:?}");
                    let (first, by) = *written.entry(path).or_insert((value, id));
                    assert_eq!(first, value, "{place}: {path} is set by {by} and {id}");
                }
                Step::Affinity { task, cpus } => {
                    assert!(!cpus.is_empty() && cpus.intersection(rt).is_empty(), "{place} {id}: {task:?} to {cpus}");
                }
                Step::Policy { policy: SchedPolicy::Fifo(n) | SchedPolicy::Rr(n), .. } => {
                    assert!((1..=95).contains(n), "{place} {id}: {n}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn remedies_on_every_machine_are_sound() {
    let mut out = String::new();
    for path in [fixtures::files("machines", "machine"), fixtures::files("boot", "machine")].concat() {
        let tree = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let machine = Machine::read(&tree);
        let all = machine.topology.online.known().cloned().unwrap_or_default();
        let last: CpuSet = all.iter().skip(all.len() / 2).collect();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        for (cpus, preferences) in [
            (last.clone(), Preferences::default()),
            (
                last,
                Preferences {
                    partition: true,
                    devices: vec!["eth0".to_owned()],
                    for_good: true,
                    ..Preferences::default()
                },
            ),
            (all, Preferences::default()),
            (CpuSet::new(), Preferences::default()),
            (CpuSet::parse_list("7").unwrap(), Preferences::default()),
        ] {
            let need = Need { cpus: cpus.clone(), ..Need::default() };
            let case = Case::new(&tree, &machine, &need);
            let site = Site::new(&case, &preferences);
            let found: Vec<(&str, KnobRemedy)> =
                REMEDIES.iter().filter_map(|of| Some((of.knob, remedy(&site, of.knob)?))).collect();
            assert_eq!(found.len(), REMEDIES.len());
            sound(&name, found.iter().map(|(id, found)| (*id, found)), case.rt());
            if preferences.partition {
                let _ = writeln!(out, "{name}, CPUs {cpus}");
                for (id, found) in
                    found.iter().filter(|(_, found)| matches!(found, KnobRemedy::Steps(..) | KnobRemedy::Hold(..)))
                {
                    let _ = write!(out, "  {id}\n{}", shown(found));
                }
            }
        }
    }
    check(&repository("fixtures/remedies/machines.steps"), out.trim_end());
}
