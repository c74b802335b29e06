//! Judges any bytes as a kernel command line, for any kernel and with any log of the machine. Every word must get a
//! verdict, and positions in a file must lie within its lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_facts::cmdline::words;
use punctual_facts::lint::{Target, Testimony, lint, lint_file};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::{Arch, Flavour, Machine, Version};
use punctual_facts::tree::MemTree;
use std::ops::Range;

fuzz_target!(|bytes: &[u8]| {
    let Some(([major, minor, kind, cpus], rest)) = bytes.split_first_chunk::<4>() else { return };
    let target = Target {
        version: Version::new(u32::from(*major) % 10, u32::from(*minor)),
        flavour: [Flavour::Stock, Flavour::Dynamic, Flavour::Rt, Flavour::Cobalt][usize::from(kind & 3)],
        arch: [Arch::X86, Arch::Arm64, Arch::Other][usize::from(kind >> 2) % 3],
        possible: (*cpus > 0).then(|| (0..u32::from(*cpus)).collect::<CpuSet>()),
    };
    let half = if kind & 64 == 0 { rest.len() } else { rest.len() / 2 };
    let (line, log) = rest.split_at(half);
    let judged = lint(line, &target, &Testimony::none());
    assert_eq!(judged.len(), words(line).len());
    let mut tree = MemTree::new();
    tree.file("/proc/cmdline", Fact::Known(line.to_vec()));
    tree.file("punctual:/kernel/log", Fact::Known(log.to_vec()));
    let machine = Machine::read(&tree);
    assert_eq!(lint(line, &target, &Testimony::live(&tree, &machine)).len(), judged.len());
    if let Ok(text) = std::str::from_utf8(rest) {
        for placed in lint_file(text, &target, &Testimony::none()).words {
            let line = text.lines().nth(placed.line - 1).unwrap_or_default();
            let Range { start: first, end } = placed.columns;
            assert!(first >= 1 && first < end && end <= line.chars().count() + 1);
        }
    }
});
