//! Tests that masking hides private data and changes no finding.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::State;
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{MemTree, Tree as _, masked};
use punctual_tuning::audit::audit;

#[test]
fn masking_does_not_change_how_long_the_line_was() {
    for (bytes, expected) in [(2047, false), (2046, true)] {
        let mut line = "quiet my.key=let-me-in-because-i-am-the-one-who-is-to-be-let-in".to_owned() + " x.y=";
        line.push_str(&"Zaphod-Beeblebrox-".repeat(200));
        line.truncate(bytes);
        let text = format!(
            "punctual-machine 1\n/proc/sys/kernel/osrelease = 6.12.1\n/proc/sys/kernel/arch = x86_64\n/proc/cmdline = {line}\n"
        );
        let raw = MemTree::parse(&text).unwrap();
        let again = MemTree::parse(&masked(&raw).to_string()).unwrap();
        let left = again.read("/proc/cmdline").known().map(Vec::len);
        assert!(left.is_some_and(|left| left < 500), "{left:?}");
        for tree in [&raw, &again, &masked(&again)] {
            let findings = audit(tree, &Machine::read(tree), &Need::default());
            let length = findings.into_iter().find(|finding| finding.id == "cmdline.length").unwrap();
            assert_eq!(matches!(length.state, State::Good), expected, "{bytes}: {length:?}");
        }
    }
}

fn verdicts(tree: &MemTree, need: &Need) -> Vec<String> {
    let machine = Machine::read(tree);
    let state = |text: String| text.split('(').next().unwrap_or_default().to_owned();
    audit(tree, &machine, need)
        .into_iter()
        .map(|f| format!("{} {:?} {} {}", f.id, f.severity, state(format!("{:?}", f.state)), f.evidence.len()))
        .collect()
}

#[test]
fn no_finding_changes_on_any_fixture() {
    let machines = [fixtures::files("machines", "machine"), fixtures::files("knobs", "machine")].concat();
    assert!(machines.len() >= 7, "only {} machines", machines.len());
    for path in machines {
        let raw = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let masked = masked(&raw);
        for kind in Kind::ALL {
            for cpus in ["", "1", "2-3"] {
                let need = Need { kind, cpus: CpuSet::parse_list(cpus).unwrap(), ..Need::default() };
                assert_eq!(verdicts(&raw, &need), verdicts(&masked, &need), "{} {kind:?} {cpus}", path.display());
            }
        }
    }
}
