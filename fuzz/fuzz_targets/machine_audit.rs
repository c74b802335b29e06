//! Audits a machine with any files. The audit must not panic, and every verdict must have evidence. The fuzzer's files
//! are the whole machine, or they replace files of a real machine, so that probes get beyond the first file they read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_tuning::audit::audit;
use punctual_tuning::capture::capture;
use punctual_facts::finding::State;
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::MemTree;
use std::sync::OnceLock;

fuzz_target!(|bytes: &[u8]| {
    let Some((way, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let mut tree = if way & 1 == 0 { MemTree::new() } else { real().clone() };
    // The files before the first invalid line are used.
    let _rest = tree.overlay(text, 1);
    let machine = Machine::read(&tree);
    let need = Need { kind: Kind::ALL[usize::from(way >> 1) % 3], ..Need::default() };
    let findings = audit(&tree, &machine, &need);
    for finding in &findings {
        let is_verdict = matches!(finding.state, State::Good | State::Bad);
        assert!(!is_verdict || !finding.evidence.is_empty(), "{} has no evidence", finding.id);
    }
    if way & 128 != 0 {
        let captured = capture(&tree);
        let again = audit(&captured, &Machine::read(&captured), &need);
        assert_eq!(again.len(), findings.len());
    }
});

fn real() -> &'static MemTree {
    static REAL: OnceLock<MemTree> = OnceLock::new();
    REAL.get_or_init(|| {
        MemTree::parse(include_str!("../../fixtures/machines/rt-tuned.machine")).expect("the fixture is one")
    })
}
