//! Captured machines and what the audit says of them: `fixtures/machines/NAME.machine` and `NAME.findings`.

use crate::{check, repository};
use punctual_core::audit::audit;
use punctual_core::cpu_set::CpuSet;
use punctual_core::finding::State;
use punctual_core::knobs::{ALL, Case, Lasting};
use punctual_core::machine::Machine;
use punctual_core::profile::{Kind, Need};
use punctual_core::trace::tables::Table;
use punctual_core::tree::{MemTree, Tree as _};
use std::fmt::Write as _;

/// A remark `# need: KIND cpus=LIST` in the snapshot says what is asked of the machine.
pub fn need(text: &str) -> Need {
    need_of(text.lines().find_map(|line| line.strip_prefix("# need:")).unwrap_or_default())
}

/// What the words of such a remark ask for.
pub fn need_of(words: &str) -> Need {
    let mut need = Need::default();
    for word in words.split_whitespace() {
        match word.strip_prefix("cpus=") {
            Some(list) => need.cpus = CpuSet::parse_list(list).unwrap(),
            None => need.kind = *Kind::ALL.iter().find(|kind| kind.name() == word).unwrap(),
        }
    }
    need
}

fn shown(text: &str) -> String {
    let tree = MemTree::parse(text).unwrap();
    let machine = Machine::read(&tree);
    let mut out = String::new();
    for (name, value) in machine.fingerprint() {
        writeln!(out, "{name}: {value}").unwrap();
    }
    for finding in audit(&tree, &machine, &need(text)) {
        let (state, because) = match &finding.state {
            State::Good => ("good", ""),
            State::Bad => ("bad", ""),
            State::Unknown(because) => ("unknown", because.as_str()),
            State::Advice(because) => ("advice", because.as_str()),
            State::NotApplicable(because) => ("not applicable", because.as_str()),
        };
        writeln!(out, "\n{state} {:?} {} {because}", finding.severity, finding.id).unwrap();
        for evidence in &finding.evidence {
            writeln!(out, "    {} = {}", evidence.source, evidence.value).unwrap();
        }
        if finding.state == State::Bad {
            writeln!(out, "    -> {}", finding.fix).unwrap();
        }
    }
    out.lines().map(str::trim_end).fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn captured_machines_get_the_expected_findings() {
    let mut seen = 0;
    for entry in std::fs::read_dir(repository("fixtures/machines")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ext| ext == "machine") {
            check(&path.with_extension("findings"), &shown(&std::fs::read_to_string(&path).unwrap()));
            seen += 1;
        }
    }
    assert!(seen >= 6, "only {seen} machines");
}

/// Who was booted with a word that did not help is not told to add it, and not to take it off afterwards.
#[test]
fn a_word_of_this_boot_is_not_added_again() {
    let mut seen = 0;
    for name in ["debian-12-rt-isolated", "debian-13-rt-isolated", "debian-12-rt-arm64-isolated"] {
        let text = std::fs::read_to_string(repository(&format!("fixtures/machines/{name}.machine"))).unwrap();
        let tree = MemTree::parse(&text).unwrap();
        let (machine, need) = (Machine::read(&tree), Need::default());
        let case = Case::new(&tree, &machine, &need);
        for place in ALL.iter().flat_map(|knob| knob.persist) {
            let Lasting::Word(word) = place else { continue };
            if machine.cmdline.known().unwrap().words().any(|booted| booted == case.fill(word)) {
                assert!(place.here(&case).ends_with("is on this boot's command line already"), "{}", place.here(&case));
                assert_eq!(place.undo_here(&case), None);
                seen += 1;
            }
        }
    }
    assert!(seen >= 9, "only {seen}");
}

#[test]
fn every_captured_table_of_interrupts_is_read_to_its_last_row() {
    let mut names = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(repository("fixtures/machines")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "machine") {
            continue;
        }
        let tree = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let read = tree.read("/proc/interrupts");
        let Some(text) = read.known() else { continue };
        let heading = text.split(|b| *b == b'\n').next().unwrap_or_default();
        let cpus = String::from_utf8_lossy(heading).split_whitespace().count();
        let mut table = Table::new(&(0..64).collect());
        let mut told = 0;
        table.read(text, |_, _, _| told += 1);
        let of_a_cpu =
            |line: &str| line.contains(':') && !["ERR:", "MIS:", "Err:"].iter().any(|name| line.contains(name));
        let rows = String::from_utf8_lossy(text).lines().skip(1).filter(|line| of_a_cpu(line)).count();
        assert_eq!((table.rows().len(), told), (rows, rows * cpus), "{}", path.display());
        names.extend(table.rows().iter().map(|row| format!("{}: {}", row.label(), row.meaning())));
    }
    for name in
        ["LOC: Local timer interrupts", "11: arch_timer", "22: virtio0-req.1", "IPI5: IRQ work interrupts", "1: i8042"]
    {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
}
