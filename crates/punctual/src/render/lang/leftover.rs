//! Finds the English that is left where people read Chinese: in the audits and plans of every captured machine, in what the
//! linter says of every command line of the fixtures, and in the samples of results that other tests show to it.
//!
//! Names, options, paths, commands and what a machine itself says stay as they are. So a line counts if it has three plain
//! English words in a row.

use crate::render::audit::{self, Audit};
use crate::render::lang::{self, in_chinese};
use crate::render::sheet::Style;
use crate::render::{lint, tune};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::lint::{Target, Testimony};
use punctual_facts::machine::{Arch, Flavour, Machine, Version};
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::MemTree;
use punctual_tuning::knobs::{Blast, Case};
use punctual_tuning::plan::remedies::Preferences;
use punctual_tuning::plan::{Wishes, plan};
use std::collections::BTreeSet;
use std::fs;

/// Plain English words in a row that no name of a thing has.
const IN_A_ROW: usize = 3;
/// The beginnings of what stays English, and why.
const ALLOWED: [(&str, &str); 13] = [
    ("for file in", "a loop of the shell, to be pasted"),
    ("fi done for", "two loops of the shell, to be pasted"),
    ("fdt resize fdt", "commands of U-Boot"),
    ("bpftool prog list", "a command"),
    ("bpftool link list", "a command"),
    ("none voluntary full", "modes of pre-emption, as the kernel's file has them"),
    ("timerlat osnoise hwlat", "names of tracers, as the kernel's file has them"),
    ("wakeup function nop", "names of tracers, as the kernel's file has them"),
    ("sudo punctual", "a command"),
    ("not permitted os", "an error of the C library"),
    ("core cannot pace", "an error of the library punctual-rt, which speaks English"),
    ("recorded on the", "a note of the user, kept in a recording"),
    ("ro quiet irqpoll", "words of a machine's command line"),
];

/// The rows of plain English words in the line that are long enough. A comma ends a row, because lists of names have one
/// behind each name.
fn english(line: &str) -> Vec<String> {
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase());
    let mut rows: Vec<Vec<&str>> = vec![Vec::new()];
    for part in line.split([' ', '，', '。', '：', '；', '（', '）']) {
        let word = part.trim_start_matches('(').trim_end_matches([',', '.', ':', ';', ')']);
        match rows.last_mut() {
            Some(row) if is_word(word) => row.push(word),
            _ => rows.push(Vec::new()),
        }
        if part.ends_with(',') {
            rows.push(Vec::new());
        }
    }
    rows.iter().filter(|row| row.len() >= IN_A_ROW).map(|row| row.join(" ")).collect()
}

/// The English that is left in the text, without what may stay.
fn left(text: &str) -> BTreeSet<String> {
    let rows = text.lines().flat_map(|line| english(line).into_iter().map(move |row| (row, line)));
    rows.filter(|(row, _)| !ALLOWED.iter().any(|(allowed, _)| row.starts_with(allowed)))
        .map(|(row, line)| format!("{row} | {line}"))
        .collect()
}

/// The text of a page, without its tags, its style and its script.
fn visible(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, tagged)) = rest.split_once('<') {
        text += before;
        text.push('\n');
        let end =
            ["style", "script"].into_iter().find(|name| tagged.starts_with(name)).map(|name| format!("</{name}>"));
        let end = end.as_deref().unwrap_or(">");
        rest = tagged.split_once(end).map_or("", |(_, rest)| rest);
    }
    text + rest
}

/// Fails if a text that is made in Chinese has English left.
pub(in crate::render) fn assert_chinese(name: &str, show: impl FnOnce() -> String) {
    let left = left(&in_chinese(|| lang::for_people(show)));
    assert!(left.is_empty(), "{name}: {left:#?}");
}

/// Fails if a page that is made in Chinese has English left.
pub(in crate::render) fn assert_chinese_page(name: &str, show: impl FnOnce() -> String) {
    assert_chinese(name, || visible(&show()));
}

fn of_machine(tree: &MemTree, kind: Kind) -> String {
    let machine = Machine::read(tree);
    let cpus = CpuSet::from_iter([1]);
    let named = Need { kind, cpus: cpus.clone(), ..Need::default() };
    let chosen = Need { kind, ..Need::default() };
    let case = Case::new(tree, &machine, &named);
    let findings = punctual_tuning::audit::audit(tree, &machine, &named);
    let mut text = lang::for_people(|| audit::list(&Audit { case: &case, findings: &findings }, None, true));
    for need in [named.clone(), chosen] {
        let wishes = Wishes {
            need,
            only: Vec::new(),
            except: Vec::new(),
            blast: Blast::Breaking,
            preferences: Preferences { for_good: true, ..Preferences::default() },
            lasting: true,
            holds: false,
            standing: Vec::new(),
            exe: Ok("/usr/bin/punctual".to_owned()),
        };
        let wide = Style { width: 10_000, colour: false };
        let planned = match plan(tree, &machine, &wishes) {
            Ok(plan) => lang::for_people(|| tune::plan(&plan, &wishes, wide)),
            Err(refusal) => lang::for_people(|| lang::said(&format!("{refusal}. {}", refusal.remedy())).into_owned()),
        };
        text += &planned;
    }
    text
}

fn of_command_line(line: &str, target: &Target) -> String {
    let words = punctual_facts::lint::lint(line.as_bytes(), target, &Testimony::none());
    lang::for_people(|| lint::text(target, &words))
}

#[test]
fn audits_and_plans_of_every_captured_machine_are_chinese() {
    let mut all = BTreeSet::new();
    for path in fixtures::files("machines", "machine") {
        let tree = MemTree::parse(&fs::read_to_string(&path).unwrap()).unwrap();
        for kind in [Kind::Periodic, Kind::Poll, Kind::Audio] {
            all.extend(left(&in_chinese(|| of_machine(&tree, kind))));
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn verdicts_on_every_command_line_are_chinese() {
    let mut all = BTreeSet::new();
    let lines = fixtures::files("cmdlines/distributions", "txt").into_iter();
    let lines =
        lines.chain(["words", "guide-2025"].map(|name| fixtures::repository(&format!("fixtures/cmdlines/{name}.txt"))));
    for path in lines {
        let text = fs::read_to_string(&path).unwrap();
        let line: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        for ((major, minor), arch, flavour) in [
            ((4, 19), Arch::X86, Flavour::Stock),
            ((6, 12), Arch::X86, Flavour::Rt),
            ((7, 3), Arch::Arm64, Flavour::Stock),
        ] {
            let possible = CpuSet::parse_list("0-3").ok();
            let target = Target { version: Version { major, minor }, flavour, arch, possible };
            all.extend(left(&in_chinese(|| of_command_line(&line.join(" "), &target))));
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn english_is_recognised_among_names_and_commands() {
    assert_eq!(english("  - CPUs 2-3 were asked for."), ["were asked for"]);
    assert_eq!(english("之前 ff（unbound work of all）"), ["ff unbound work of all"]);
    assert_eq!(english("sudo punctual check 2，but there is more"), ["sudo punctual check", "but there is more"]);
    for chinese in ["指定了 CPU 2-3。", "echo full > /sys/kernel/debug/sched/preempt", "读取 /proc/stat 被拒绝"]
    {
        assert_eq!(english(chinese), Vec::<String>::new(), "{chinese}");
    }
}

#[test]
fn a_page_is_read_without_its_tags() {
    let page = "<style>p { color: red }</style><p title=\"not to be read\">there is <b>more to read</b></p><script>let x;</script>";
    assert_eq!(visible(page).split_whitespace().collect::<Vec<_>>().join(" "), "there is more to read");
    assert_eq!(left(&visible(page)).len(), 1);
}
