//! What holds for any line, and what a live machine's testimony changes.

use super::WordVerdict::{
    Accepted, Clamped, Effective, ForUserSpace, Harmful, Inert, ModuleNotLoaded, RejectedValue, Undecided, Unknown,
};
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
fn the_log_knows_which_words_were_not_taken() {
    let log = format!(
        "{LOG}    [    0.1] Unknown kernel command line parameters \"noht nohz_full=2-3 splash a-b=\"x y\"\", will be passed to user space.\n"
    );
    says(&log, "noht", Unknown, "2.4");
    says(&log, "nohz_full=2-3", RejectedValue, "log lists it");
    says(&log, "splash", ForUserSpace, "systemd");
    says(&log, "quiet", Accepted, "does not list");
    // A vendor's kernel may have words that others have not.
    says(LOG, "vendor_word=1", Accepted, "sources do not have it");
    says("", "vendor_word=1", Unknown, "no kernel parameter");
    // A log that has wrapped around says nothing of words.
    says("punctual:/kernel/log = [ 99.0] eth0: link up\n", "vendor_word=1", Unknown, "no kernel parameter");
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

const IMAGE: &str = "punctual:/kernel/words =\n    complete\n    early quiet\n    early kthread_cpus\n    setup init=\n    \
    setup isolcpus=\n    setup ro\n    setup nohz_full=\n    param panic 0644\n    param rcutree.kthread_prio 0444\n    \
    param hidden.one 0000\n";

#[test]
fn the_image_knows_every_word_of_its_kernel() {
    // What no table has may be there, and what tables have may not.
    says(IMAGE, "kthread-cpus=0", Accepted, "image reads it early");
    says(IMAGE, "hidden.one=1", Accepted, "no file shows");
    says(IMAGE, "irqaffinity=0", Unknown, "image does not know it");
    says(IMAGE, "vendor_word=1", Unknown, "image does not know it");
    says(IMAGE, "rcutree.kthread_prios=1", Unknown, "image does not know it");
    // No module in a file is called so either.
    says(IMAGE, "vendor.word=1", Unknown, "image does not know it");
    // Not on its list are words of modules, of parts that look for them themselves, and those that are not for it.
    let module = format!("{IMAGE}punctual:/modinfo/i915 =\n    file /lib/modules/i915.ko\n    parm enable_dc int\n");
    says(&module, "i915.enable_dc=0", Accepted, "the module i915 has it");
    says(IMAGE, "nopti", Accepted, "kernel parameter");
    says(IMAGE, "splash", ForUserSpace, "systemd");
    says(IMAGE, "root=/dev/sda", Accepted, "kernel parameter");
    let none = "punctual:/kernel/words =\n    undetermined: packed with lz4\n";
    says(none, "vendor_word=1", Unknown, "no kernel parameter");
}

#[test]
fn the_image_tells_a_refused_value_from_a_word_that_is_not_there() {
    let log = format!(
        "{IMAGE}{LOG}    [    0.1] Unknown kernel command line parameters \"nohz_full=x irqaffinity=0\", will be passed to user space.\n"
    );
    says(&log, "nohz_full=x", RejectedValue, "log lists it");
    says(&log, "irqaffinity=0", Unknown, "image does not know it; the kernel's log lists it");
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
fn an_old_kernel_lists_no_unknown_words() {
    let snapshot = format!("{LOG}/proc/sys/kernel/osrelease = 4.18.0\n");
    says(&snapshot, "vendor_word=1", Unknown, "of 6.1 for x86-64, stock (PREEMPT_DYNAMIC), the nearest to 4.18");
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
fn the_log_knows_what_became_of_values() {
    let with = |line: &str| format!("{LOG}    <4>[    0.2] {line}\n");
    let is = |line: &str, word: &str, verdict| says(&with(line), word, verdict, "log: ");
    is("Malformed early option 'mem'", "mem=x", RejectedValue);
    is("Booting kernel: `maybe' invalid for parameter `printk.time'", "printk.time=maybe", RejectedValue);
    is("NO_HZ: Clearing 0 from nohz_full range for timekeeping", "nohz_full=0-3", Clamped);
    is("rcu_nocbs= bad CPU range, all CPUs set", "rcu_nocbs=x", RejectedValue);
    is("isolcpus: Skipped unknown flag nope", "isolcpus=nope,2", Clamped);
    is("Dynamic Preempt: unsupported mode: x", "preempt=x", RejectedValue);
    is("Unsupported mitigations=none, system may still be vulnerable", "mitigations=none", RejectedValue);
    is("i915: unknown parameter 'enable_foo' ignored", "i915.enable_foo=0", Unknown);
    says(&with("Malformed early option 'mem'"), "memtest=1", Accepted, "");
}

#[test]
fn parameters_and_modules_of_the_machine_are_asked() {
    says("/sys/module/zfs/parameters/zfs_arc_max = 5\n", "zfs.zfs_arc_max=5", Accepted, "= 5");
    says("/sys/module/own/parameters/a-b = 5\n/sys/module/own/parameters/x = 1\n", "own.x=1", Accepted, "own sources");
    let module = |state: &str, loaded: &str| {
        format!("/sys/module/{loaded}/\npunctual:/modinfo/own =\n    {state}\n    parm x int\n")
    };
    says(&module("file /lib/modules/own.ko", "other"), "own.x=1", ModuleNotLoaded, "not loaded");
    says(&module("file /lib/modules/own.ko", "own"), "own.x=1", Accepted, "has it");
    says(&module("file /lib/modules/own.ko", "own"), "own.y=1", Unknown, "no such parameter");
    says(&module("built-in", "own"), "own.x=1", Accepted, "has it");
    says("/sys/module/own/parameters/x = 5\n", "own.x=11", Clamped, "= 5");
    says("/sys/module/printk/parameters/time = Y\n", "printk.time=1", Accepted, "= Y");
    says("/sys/module/printk/parameters/time = N\n", "printk.time=1", Clamped, "= N");
    says("", "e1000.debug=1", ModuleNotLoaded, "nothing on this machine");
    says("", "rcutree.kthread_prio=1", Accepted, "kernel parameter");
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

#[test]
fn options_that_are_off_explain_a_dead_word() {
    let config = "punctual:/kernel/config =\n    CONFIG_64BIT=y\n    CONFIG_PCIEASPM=y\n";
    says(config, "numa_balancing=disable", Unknown, "CONFIG_NUMA_BALANCING");
    // What is in force was compiled in, whatever the file says.
    let isolated = format!("{config}/sys/devices/system/cpu/isolated = 2\n");
    says(&isolated, "isolcpus=2", Effective, "isolated = 2");
    says("punctual:/kernel/config = CONFIG_HZ=250\n", "numa_balancing=disable", Accepted, "needs CONFIG_NUMA");
    says(config, "pcie_aspm=force", Accepted, "");
}

#[test]
fn what_is_in_force_is_the_last_word() {
    let isolated = |list: &str| format!("/sys/devices/system/cpu/isolated = {list}\n");
    says(&isolated("2-3"), "isolcpus=managed_irq,domain,2-N", Effective, "isolated = 2-3");
    says(&isolated("2-3"), "isolcpus=2", Clamped, "not what it asks for");
    // The file tells of domains only.
    says("/sys/devices/system/cpu/isolated =\n", "isolcpus=nohz,2-3", Accepted, "");
    says("/sys/devices/system/cpu/isolated =\n", "isolcpus=nohz,domain,2-3", Clamped, "not what it asks for");
    says("/sys/devices/system/cpu/isolated =\n", "isolcpus=2", Clamped, "not what it asks for");
    // As seen on 6.1 and 7.3: the first was refused, and the log names no value.
    let log = "Housekeeping: nohz_full= or isolcpus= incorrect CPU range";
    let twice = format!(
        "{LOG}    [    0.1] {log}\n    [    0.1] Unknown kernel command line parameters \"isolcpus=managed_irq,2-9\", \
         will be passed to user space.\n{}",
        isolated("2-3")
    );
    let [(first, _), (second, why)] = &live(&twice, "isolcpus=managed_irq,2-9 isolcpus=2-3")[..] else { panic!() };
    assert_eq!((*first, *second), (RejectedValue, Effective), "{why}");
    says("/proc/sys/kernel/nmi_watchdog = 0\n", "nmi_watchdog=0", Effective, "nmi_watchdog = 0");
    says("/proc/sys/kernel/nmi_watchdog = 1\n", "nmi_watchdog=0", Accepted, "");
}

/// The log names no word, what is in force does.
#[test]
fn of_two_words_that_do_not_agree_the_second_is_refused() {
    let log = format!("{LOG}    <4>[    0.2] Housekeeping: nohz_full= must match isolcpus=\n");
    let verdicts = |snapshot: &str, line: &str| live(snapshot, line).into_iter().map(|(v, _)| v).collect::<Vec<_>>();
    let with = |file: &str| format!("{log}/sys/devices/system/cpu/{file}\n");
    assert_eq!(verdicts(&with("nohz_full = 2"), "nohz_full=2 nohz_full=3"), [Effective, RejectedValue]);
    assert_eq!(verdicts(&with("isolated = 2"), "isolcpus=2 isolcpus=3"), [Effective, RejectedValue]);
    let log = "punctual:/kernel/log =\n    Housekeeping: must include one present CPU neither in nohz_full= nor in \
        isolcpus=domain, ignoring setting 2-3\n/sys/devices/system/cpu/nohz_full = 0-1\n\
        /proc/sys/kernel/osrelease = 7.3.1\n";
    assert_eq!(verdicts(log, "nohz_full=0-1 isolcpus=2-3"), [Clamped, RejectedValue]);
    let missing = "/sys/devices/system/cpu/isolated =\n";
    assert_eq!(verdicts(missing, "isolcpus=2 isolcpus=3"), [Clamped, RejectedValue]);
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
