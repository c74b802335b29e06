//! Tests rules that hold for any command line, and how a live machine's testimony changes verdicts.

use super::WordVerdict::{Accepted, Harmful, Inert, RejectedValue, Undecided, Unknown};
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

#[track_caller]
fn says(snapshot: &str, word: &str, verdict: WordVerdict, part: &str) {
    let (found, why) = live(snapshot, word).remove(0);
    assert_eq!(found, verdict, "{word}: {why}");
    assert!(why.contains(part), "{word}: {why}");
}

const LOG: &str = "punctual:/kernel/log =\n    [    0.000000] Kernel command line: x\n";

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
fn what_boot_code_looks_for_itself_is_not_judged_by_the_log() {
    let log = format!(
        "{LOG}    [    0.1] Unknown kernel command line parameters \"nokaslr nopti spectre_v2=off no5lvl clearcpuid=smap\", will be passed to user space.\n"
    );
    for word in ["nokaslr", "nopti", "nospectre_v2", "spectre_v2=off", "no5lvl", "clearcpuid=smap", "tsx=off"] {
        let (verdict, why) = live(&log, word).remove(0);
        assert!(matches!(verdict, Accepted), "{word}: {verdict:?} {why}");
        assert!(!why.contains("log"), "{word}: {why}");
    }
}

#[test]
fn what_the_first_program_was_started_with_the_kernel_did_not_know() {
    let log = format!(
        "{LOG}    [    1.0] Run /init as init process\n    [    1.0]   with arguments:\n    [    1.0]     /init\n    [    1.0]     \
         isolate\n    [    1.0]   with environment:\n    [    1.0]     HOME=/\n    [    1.0]     TERM=linux\n    [    1.0]     kthread_cpus=0\n    [    \
         1.0] after\n/proc/sys/kernel/osrelease = 5.10.0\n"
    );
    says(&log, "isolate", Unknown, "log lists it");
    says(&log, "kthread_cpus=0", Unknown, "patch of vendors");
    says(&log, "quiet", Accepted, "does not list");
    says(&log, "vendor_word=1", Accepted, "sources do not have it");
}

#[test]
fn a_sysctl_that_is_not_there_sets_nothing() {
    let tree = "/proc/sys/kernel/sched_rt_runtime_us = -1\n";
    says(tree, "sysctl.kernel.sched_rt_runtime_us=950000", Accepted, "/proc/sys/kernel/sched_rt_runtime_us = -1");
    says(tree, "sysctl.kernel.sched_latency_ns=1", Unknown, "/proc/sys/kernel/sched_latency_ns is not there");
    let target = Target::x86(5, 4, Flavour::Stock);
    let verdict = |line: &str| lint(line.as_bytes(), &target, &Testimony::none()).remove(0).verdict;
    assert_eq!(verdict("sysctl.kernel.panic=1"), Unknown);
}

#[test]
fn old_kernels_lack_what_came_later() {
    let on = |major, minor, word: &str| {
        lint(word.as_bytes(), &Target::x86(major, minor, Flavour::Stock), &Testimony::none()).remove(0).verdict
    };
    for (version, word, expected) in [
        ((5, 4), "isolcpus=managed_irq,domain,2-3", RejectedValue),
        ((5, 6), "isolcpus=managed_irq,domain,2-3", Accepted),
        ((5, 10), "nohz_full=all", RejectedValue),
        ((5, 10), "nohz_full=1-N", RejectedValue),
        ((5, 15), "nohz_full=1-N", Accepted),
        ((5, 10), "preempt=full", Unknown),
        ((5, 10), "rcu_nocbs", Unknown),
        ((5, 15), "amd_pstate=passive", Unknown),
        ((6, 1), "elevator=deadline", Inert),
        ((6, 12), "acpi=off", Harmful),
        ((6, 12), "highres=off", Harmful),
        ((6, 12), "noapic", Harmful),
    ] {
        assert_eq!(on(version.0, version.1, word), expected, "{word} on {version:?}");
    }
}

#[test]
fn where_neighbours_disagree_nothing_is_decided() {
    let target = Target { arch: Arch::Arm64, ..Target::x86(6, 13, Flavour::Stock) };
    let word = lint(b"nosmt", &target, &Testimony::none()).remove(0);
    assert_eq!(word.verdict, Undecided, "{}", word.why);
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
        why.contains("whether this machine's kernel has the parameter is not known")
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
    let archs = prop::sample::select(Arch::ALL.to_vec());
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
