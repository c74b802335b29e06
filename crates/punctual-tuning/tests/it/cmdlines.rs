//! Tests the linter on whole lines: a table of verdicts by version, flavour and architecture, and the lines that
//! distributions ship, which must all be accepted.

use crate::{check, repository};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::lint::{Target, Testimony, Word, WordVerdict, lint};
use punctual_facts::machine::{Arch, Flavour, Version};
use std::fmt::Write;

const VERSIONS: [(u32, u32); 8] = [(4, 19), (5, 4), (5, 10), (5, 15), (6, 1), (6, 6), (6, 12), (7, 3)];
const KERNELS: [(Arch, Flavour); 8] = [
    (Arch::X86, Flavour::Dynamic),
    (Arch::X86, Flavour::Rt),
    (Arch::Arm64, Flavour::Dynamic),
    (Arch::Arm64, Flavour::Rt),
    (Arch::Arm, Flavour::Stock),
    (Arch::Arm, Flavour::Rt),
    (Arch::Riscv64, Flavour::Stock),
    (Arch::Riscv64, Flavour::Rt),
];

fn target(version: (u32, u32), (arch, flavour): (Arch, Flavour)) -> Target {
    let version = Version::new(version.0, version.1);
    Target { version, flavour, arch, possible: CpuSet::parse_list("0-3").ok() }
}

fn judged(line: &str, target: &Target) -> Vec<Word> {
    lint(line.as_bytes(), target, &Testimony::none())
}

fn letter(word: &Word) -> char {
    match word.verdict {
        WordVerdict::Harmful => 'H',
        WordVerdict::Unknown => '?',
        WordVerdict::RejectedValue => 'R',
        WordVerdict::Inert => 'I',
        WordVerdict::Clamped => 'C',
        WordVerdict::Undecided => 'P',
        WordVerdict::ModuleNotLoaded => 'M',
        WordVerdict::ForUserSpace => 'U',
        WordVerdict::Accepted if word.is_trap => 'T',
        WordVerdict::Accepted => 'a',
        WordVerdict::Effective => 'E',
    }
}

fn table(line: &str, out: &mut String) {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut told: Vec<Word> = Vec::new();
    for version in VERSIONS {
        for kernel in KERNELS {
            let words = judged(line, &target(version, kernel));
            rows.resize(words.len(), (String::new(), String::new()));
            for (row, word) in rows.iter_mut().zip(&words) {
                row.0 = word.word.clone();
                row.1.push(letter(word));
            }
            if version == (6, 12) && kernel == KERNELS[0] {
                told = words;
            }
        }
        for row in &mut rows {
            row.1.push(' ');
        }
    }
    for ((word, verdicts), told) in rows.iter().zip(&told) {
        let instead = told.instead.as_ref().map(|i| format!(" -> {i}")).unwrap_or_default();
        writeln!(out, "{word:<42} {verdicts} {}{instead}", told.why).unwrap();
    }
}

#[test]
fn the_truth_table_is_what_the_linter_says() {
    let read = |name: &str| std::fs::read_to_string(repository(&format!("fixtures/cmdlines/{name}"))).unwrap();
    let mut out = String::from(
        "# Verdicts for 4.19, 5.4, 5.10, 5.15, 6.1, 6.6, 6.12 and 7.3; each: x86-64, arm64, arm and riscv64, of these stock and\n\
         # then PREEMPT_RT; four CPUs.\n\
         # a accepted, T accepted and a trap, C clamped, I inert, H harmful, R rejected value, ? unknown, P perhaps,\n\
         # M module not loaded (or not the kernel's), U for user space. The text is that of 6.12 on x86-64, stock.\n\n\
         # A published line, as one line:\n",
    );
    table(&read("guide-2025.txt"), &mut out);
    out.push_str("\n# Words of other guides and tools, each line by itself:\n");
    for line in read("words.txt").lines().filter(|line| !line.starts_with('#')) {
        table(line, &mut out);
    }
    check(&repository("fixtures/cmdlines/truth-table.txt"), &out);
}

/// What a kernel did not take is unknown, refused, for user space, or has no effect; what it took is none of these.
#[test]
fn booted_kernels_agree() {
    let text = std::fs::read_to_string(repository("fixtures/cmdlines/booted.txt")).unwrap();
    let said = |block: &str, what: &str| -> Vec<String> {
        let line = block.lines().find_map(|line| line.strip_prefix(what));
        line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let beginning = said(&text, "beginning: ");
    let (mut pairs, mut wrong) = (0, Vec::new());
    for block in text.split("\n\n").filter(|block| block.starts_with("kernel: ")) {
        let target = parse_kernel(&said(block, "kernel: ").join(" "));
        let [unknown, searched, without] = ["unknown: ", "searched: ", "without: "].map(|what| said(block, what));
        for word in said(&text, "words: ") {
            let told = &judged(&word, &target)[0];
            let verdict = told.verdict;
            if beginning.contains(&word) && verdict == WordVerdict::Unknown {
                assert!(told.why.contains("only compares the beginning"), "{word}: {}", told.why);
                continue;
            }
            let is_listed = unknown.contains(&word) && !searched.contains(&word) && !without.contains(&word);
            let agrees = match verdict {
                WordVerdict::Unknown | WordVerdict::RejectedValue | WordVerdict::ForUserSpace => is_listed,
                WordVerdict::Inert => true,
                _ => !is_listed,
            };
            if !agrees {
                wrong.push(format!("{word} is {} on {target:?}", verdict.name()));
            }
            pairs += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(pairs >= 800, "only {pairs} pairs");
}

/// Each file has `# kernel: 6.12 stock x86_64` in its header; every other line is a whole command line.
#[test]
fn lines_that_distributions_ship_raise_no_alarm() {
    let folder = repository("fixtures/cmdlines/distributions");
    let mut alarms = Vec::new();
    let mut lines = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut kernel = None;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(words) = line.strip_prefix("# kernel: ") {
                kernel = Some(parse_kernel(words));
            }
            if line.starts_with('#') {
                continue;
            }
            lines += 1;
            let target = kernel.clone().unwrap_or_else(|| panic!("{} names no kernel", path.display()));
            for word in judged(line, &target) {
                let is_alarm = word.is_trap
                    || matches!(
                        word.verdict,
                        WordVerdict::Unknown | WordVerdict::RejectedValue | WordVerdict::Inert | WordVerdict::Harmful
                    );
                if is_alarm {
                    alarms.push(format!("{}: {} is {}: {}", path.display(), word.word, word.verdict.name(), word.why));
                }
            }
        }
    }
    assert!(alarms.is_empty(), "\n{}", alarms.join("\n"));
    assert!(lines >= 20, "only {lines} lines");
}

fn parse_kernel(words: &str) -> Target {
    let words: Vec<&str> = words.split_whitespace().collect();
    let (major, minor) = words[0].split_once('.').unwrap();
    let arch = match words[2] {
        "x86_64" => Arch::X86,
        "aarch64" => Arch::Arm64,
        "arm" => Arch::Arm,
        "riscv64" => Arch::Riscv64,
        _ => Arch::Other,
    };
    let flavour = if words[1] == "rt" { Flavour::Rt } else { Flavour::Stock };
    Target { possible: None, ..target((major.parse().unwrap(), minor.parse().unwrap()), (arch, flavour)) }
}
