//! Tests the audit's findings on captured machines: `fixtures/machines/NAME.findings` holds the expectation for
//! `NAME.machine`.

use crate::{check, repository};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::State;
use punctual_facts::machine::{Machine, MachineLine};
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::MemTree;
use punctual_tuning::audit::audit;
use punctual_tuning::knobs::{ALL, Case, Knob, Lasting};
use std::fmt::Write as _;

/// The need that a remark `# need: KIND cpus=LIST` in the snapshot states.
pub fn need(text: &str) -> Need {
    need_of(text.lines().find_map(|line| line.strip_prefix("# need:")).unwrap_or_default())
}

/// The need that the words of a remark `# need:` state.
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
    for MachineLine { name, value } in machine.fingerprint() {
        writeln!(out, "{name}: {value}").unwrap();
    }
    for finding in audit(&tree, &machine, &need(text)) {
        let state = match &finding.state {
            State::Good => "good",
            State::Bad => "bad",
            State::Unknown(_) => "unknown",
            State::Advice(_) => "advice",
            State::NotApplicable(_) => "not applicable",
        };
        let because = finding.state.because().unwrap_or_default();
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
    let machines = fixtures::files("machines", "machine");
    assert!(machines.len() >= 6, "only {} machines", machines.len());
    for path in machines {
        check(&path.with_extension("findings"), &shown(&std::fs::read_to_string(&path).unwrap()));
    }
}

/// If a word on this boot's command line had no effect, nobody is told to add it again, or to remove it as an undo.
#[test]
fn a_word_of_this_boot_is_not_added_again() {
    let mut seen = 0;
    for name in
        ["debian-12-rt-isolated", "debian-13-rt-isolated", "debian-12-rt-arm64-isolated", "debian-13-rt-arm64-isolated"]
    {
        let text = std::fs::read_to_string(repository(&format!("fixtures/machines/{name}.machine"))).unwrap();
        let tree = MemTree::parse(&text).unwrap();
        let (machine, need) = (Machine::read(&tree), Need::default());
        let case = Case::new(&tree, &machine, &need);
        for place in ALL.iter().flat_map(Knob::places) {
            let Lasting::Word(word) = place else { continue };
            if machine.cmdline.known().unwrap().words().any(|booted| booted == case.fill(word)) {
                assert!(place.here(&case).ends_with("is on this boot's command line already"), "{}", place.here(&case));
                assert_eq!(place.undo_here(&case), None);
                seen += 1;
            }
        }
    }
    assert!(seen >= 12, "only {seen}");
}
