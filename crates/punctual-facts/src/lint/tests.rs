//! What holds for any line, and what a live machine's testimony changes.

use super::WordVerdict::{Accepted, Inert, RejectedValue, Unknown};
use super::*;
use crate::tree::MemTree;
use proptest::prelude::*;

fn live(snapshot: &str, line: &str) -> Vec<(WordVerdict, String)> {
    let tree = MemTree::parse(&format!(
        "punctual-machine 1\n/proc/sys/kernel/arch = x86_64\n/proc/sys/kernel/osrelease = 6.12.1\n\
         /proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC\n/sys/devices/system/cpu/possible = 0-3\n{snapshot}"
    ))
    .unwrap();
    let machine = Machine::read(&tree);
    let target = Target::of(&machine).unwrap();
    lint(line.as_bytes(), &target, &Testimony::live(&tree, &machine)).into_iter().map(|w| (w.verdict, w.why)).collect()
}

#[test]
fn a_live_machine_says_what_becomes_of_words() {
    let text = std::fs::read_to_string(fixtures::repository("fixtures/cmdlines/live.cases")).unwrap();
    let mut seen = 0;
    for block in text.split("\n\n") {
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        let (said, shown): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("> "));
        let shown = format!("{}\n", shown.join("\n"));
        for line in said {
            let [words, verdicts, part] = line[2..].splitn(3, '|').map(str::trim).collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let found = live(&shown, words);
            let names: Vec<&str> = found.iter().map(|(verdict, _)| verdict.name()).collect();
            let why = &found.last().unwrap().1;
            assert!(names.join(" ") == verdicts && why.contains(part), "{line}: {names:?}, {why}\n{shown}");
            seen += 1;
        }
    }
    assert!(seen >= 50, "only {seen}");
}

#[test]
fn words_of_an_image_are_judged_without_a_machine() {
    let list = "complete\nsetup init=\nearly kthread_cpus\nparam xenomai.supported_cpus 0444\n";
    let image = Image::parse(list).unwrap();
    let banner = "Linux version 6.12.1-x (a@b) (gcc) #1 SMP PREEMPT_RT Debian";
    let target = Target::of_image(banner, Arch::Arm64, &image).unwrap();
    assert_eq!((target.version, target.flavour), (Version::new(6, 12), Flavour::Cobalt));
    assert_eq!(Target::of_image("Linux version x", Arch::Arm64, &image), None);
    let evidence = Testimony::image(image);
    let verdicts: Vec<WordVerdict> =
        lint(b"kthread_cpus=0 isolcpus=1", &target, &evidence).into_iter().map(|word| word.verdict).collect();
    assert_eq!(verdicts, [Accepted, Unknown]);
}

#[test]
fn what_does_not_fit_is_lost() {
    let long = format!("{} quiet", "a=1 ".repeat(511).trim_end());
    let words = lint(long.as_bytes(), &Target::x86(6, 12, Flavour::Dynamic), &Testimony::none());
    let last = words.last().unwrap();
    assert_eq!(last.verdict, Unknown);
    assert!(last.why.contains("2047"), "{}", last.why);
    assert_eq!(words.len(), 512);
    let (verdict, why) = live("", &long).pop().unwrap();
    assert_eq!(verdict, Accepted, "what a kernel shows, it kept: {why}");
}

#[test]
fn where_no_module_is_shown_none_is_told_of() {
    let untold = |snapshot: &str, word: &str| {
        let (verdict, why) = live(snapshot, word).remove(0);
        assert_eq!(verdict, Unknown, "{word}: {why}");
        why.contains("not told")
    };
    assert!(untold("", "vendor_module.enable=1"));
    assert!(untold("/sys/module ! denied\n", "vendor_module.enable=1"));
    assert!(untold("/sys/module/\n", "kvm.nobody_has_this=1"));
    assert!(!untold("/sys/module/kernel/\n", "vendor_module.enable=1"));
    assert!(!untold("", "processor_idle.max_cstate=0"), "what is known of a word needs no machine");
    assert!(!untold("", "vendor_word=1"));
}

fn targets() -> impl Strategy<Value = Target> {
    let flavours =
        prop::sample::select(vec![Flavour::Stock, Flavour::Dynamic, Flavour::Rt, Flavour::Cobalt, Flavour::Evl]);
    let archs = prop::sample::select(vec![Arch::X86, Arch::Arm64, Arch::Other]);
    let possible = prop::option::of(prop::collection::btree_set(0u32..9000, 0..3));
    (0u32..12, 0u32..30, flavours, archs, possible).prop_map(|(major, minor, flavour, arch, possible)| Target {
        version: Version::new(major, minor),
        flavour,
        arch,
        possible: possible.map(|cpus| cpus.into_iter().collect()),
    })
}

const PIECES: &str = " |=|\"|--|-|.|,|isolcpus|nohz_full|rcu_nocbs|irqaffinity|N|all|0-31:2/4|99999|idle=poll|i915|\
    processor.max_cstate|xenomai.supported_cpus=|preempt=|pcie_asmp|\u{e9}|\t|quiet|mce|tsc|kvm.|sysctl.|mitigations=off";

proptest! {
    #[test]
    fn every_word_gets_a_verdict_whatever_the_bytes(line in prop::collection::vec(any::<u8>(), 0..200), target in targets()) {
        prop_assert_eq!(lint(&line, &target, &Testimony::none()).len(), words(&line).len());
    }

    #[test]
    fn every_word_gets_a_verdict_whatever_the_words(
        pieces in prop::collection::vec(prop::sample::select(PIECES.split('|').collect::<Vec<_>>()), 0..30),
        target in targets(),
    ) {
        let line = pieces.concat();
        let judged = lint(line.as_bytes(), &target, &Testimony::none());
        prop_assert_eq!(judged.len(), words(line.as_bytes()).len());
        for word in judged {
            prop_assert!(!word.why.is_empty() && !word.sources.is_empty(), "{:?}", word);
        }
    }
}

#[test]
fn words_of_cobalt_are_judged_where_cobalt_is() {
    let target = Target::x86(6, 1, Flavour::Cobalt);
    let verdicts = |line: &str| -> Vec<WordVerdict> {
        lint(line.as_bytes(), &target, &Testimony::none()).into_iter().map(|word| word.verdict).collect()
    };
    assert_eq!(verdicts("xenomai.supported_cpus=0x0d"), [Accepted]);
    assert_eq!(verdicts("xenomai.supported_cpus=0x06"), [RejectedValue]);
    assert_eq!(verdicts("xenomai.smi=detect xenomai.smi_mask=1"), [Inert, Inert]);
    assert_eq!(verdicts("xenomai.smi=enabled xenomai.smi_mask=1"), [Accepted, Accepted]);
    assert_eq!(verdicts("xenomai.allowed_group=1234"), [Accepted]);
}
