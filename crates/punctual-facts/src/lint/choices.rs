//! Checks the values of words, as the kernel's handlers do.
//!
//! This module covers only words whose handlers were read in the kernel's source. Lists of CPUs are not checked here.

use super::Target;
use super::WordVerdict::{self, Clamped, RejectedValue};
use crate::machine::{Arch, Version};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) verdict: WordVerdict,
    pub(super) why: String,
    pub(super) instead: Option<String>,
    pub(super) source: &'static str,
}

impl Wrong {
    pub(super) fn rejected(why: impl Into<String>, source: &'static str) -> Self {
        Self { verdict: RejectedValue, why: why.into(), instead: None, source }
    }
}

/// A word of the command line whose value must be one of a few texts.
struct Choice {
    word: &'static str,
    /// The accepted values, or the beginnings of accepted values, separated by blanks.
    values: &'static str,
    how: How,
    /// What the kernel does with any other value.
    otherwise: &'static str,
    instead: Option<&'static str>,
    source: &'static str,
}

/// How the kernel's handler compares the word's value.
#[derive(Clone, Copy)]
enum How {
    /// The handler compares the whole value, so several values joined by commas match none of the accepted values.
    Whole,
    /// The handler compares the beginning of each part between commas.
    Parts,
}

const WARNS: &str = "the kernel warns and ignores it";
const SILENT: &str = "the kernel ignores it without a message";

const fn choice(
    word: &'static str,
    values: &'static str,
    how: How,
    otherwise: &'static str,
    source: &'static str,
) -> Choice {
    Choice { word, values, how, otherwise, instead: None, source }
}

impl Choice {
    const fn instead(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }

    fn has(&self, value: &str) -> bool {
        let mut known = self.values.split(' ');
        match self.how {
            How::Whole => known.any(|known| known == value),
            How::Parts => value.split(',').all(|part| self.values.split(' ').any(|known| part.starts_with(known))),
        }
    }
}

#[rustfmt::skip]
const CHOICES: [Choice; 9] = [
    choice("numa_balancing", "enable disable", How::Whole, WARNS, "kernel mm/mempolicy.c"),
    choice("transparent_hugepage", "always madvise never", How::Whole, WARNS, "kernel mm/huge_memory.c"),
    choice("mce",
        "off no_cmci no_lmce dont_log_ce print_all ignore_ce bootlog nobootlog bios_cmci_threshold recovery 0 1 2 3",
        How::Whole, "the kernel ignores it", "kernel arch/x86/kernel/cpu/mce/core.c"),
    choice("tsc", "reliable noirqtime unstable nowatchdog recalibrate watchdog", How::Whole, SILENT,
        "kernel arch/x86/kernel/tsc.c"),
    choice("pcie_aspm", "off force", How::Whole, SILENT, "kernel drivers/pci/pcie/aspm.c"),
    choice("pcie_aspm.policy", "default performance powersave powersupersave", How::Whole,
        "the kernel calls it invalid and keeps its default", "kernel drivers/pci/pcie/aspm.c: pcie_aspm_set_policy")
        .instead("pcie_aspm.policy=performance"),
    // The handler compares the whole value, so several values joined by commas match none of these.
    choice("intel_pstate", "disable active passive no_hwp force hwp_only support_acpi_ppc per_cpu_perf_limits no_cas",
        How::Whole, SILENT, "kernel drivers/cpufreq/intel_pstate.c: intel_pstate_setup")
        .instead("one value for each word: intel_pstate=passive intel_pstate=no_hwp; intel_pstate=disable to turn the \
            driver off"),
    choice("amd_iommu",
        "fullflush force_enable off force_isolation pgtbl_v1 pgtbl_v2 irtcachedis nohugepages v2_pgsizes_only",
        How::Parts, SILENT, "kernel drivers/iommu/amd/init.c: parse_amd_iommu_options")
        .instead("nothing: if the machine has an AMD IOMMU, the kernel uses it"),
    choice("nmi_watchdog", "panic nopanic 0 1 r", How::Parts, SILENT,
        "kernel kernel/watchdog.c: hardlockup_panic_setup").instead("nmi_watchdog=0"),
];

/// Checks the value of a word that takes one of a few values, a size, or a number within bounds.
pub(super) fn check(name: &str, value: &str, target: &Target) -> Option<Wrong> {
    match name {
        "mitigations" => mitigations(value, target),
        "hugepagesz" | "default_hugepagesz" => page_size(value, target),
        "hugepages" => pages(value),
        "rcutree.kthread_prio" => priority(value),
        _ => one_of(name, value),
    }
}

fn one_of(name: &str, value: &str) -> Option<Wrong> {
    let choice = CHOICES.iter().find(|choice| choice.word == name)?;
    let is_number = name == "mce" && value.starts_with(|c: char| c.is_ascii_digit());
    let why = || format!("one of {} is expected; {}", choice.values.replace(' ', ", "), choice.otherwise);
    let instead = choice.instead.map(str::to_owned);
    (!is_number && !choice.has(value)).then(|| Wrong { instead, ..Wrong::rejected(why(), choice.source) })
}

/// Checks `mitigations=`. The kernel compares the whole value. From 6.17 on, classes of attacks can follow `auto` after
/// a semicolon.
fn mitigations(value: &str, target: &Target) -> Option<Wrong> {
    let (base, classes) = value.split_once(';').map_or((value, None), |(base, classes)| (base, Some(classes)));
    let has_classes = target.version >= Version::new(6, 17) && target.arch == Arch::X86;
    let is_known = match classes {
        None => matches!(base, "off" | "auto" | "auto,nosmt"),
        Some(_) => has_classes && matches!(base, "auto" | "auto,nosmt"),
    };
    (!is_known).then(|| Wrong {
        instead: Some("mitigations=auto".to_owned()),
        ..Wrong::rejected(
            "one of off, auto and auto,nosmt is expected; the kernel calls the machine possibly vulnerable and keeps its \
             default",
            "kernel kernel/cpu.c: mitigations_parse_cmdline",
        )
    })
}

/// Checks a size of huge pages. On arm64 the possible sizes depend on the size of the base page.
fn page_size(value: &str, target: &Target) -> Option<Wrong> {
    let sizes: &[&str] = match target.arch {
        Arch::X86 => &["2M", "1G"],
        Arch::Arm64 => &["64K", "2M", "32M", "512M", "1G", "16G"],
        Arch::Riscv64 => &["64K", "2M", "1G", "512G"],
        Arch::Arm | Arch::Other => return None,
    };
    let bytes = bytes(value);
    let is_known = bytes.is_some() && sizes.iter().any(|size| self::bytes(size) == bytes);
    (!is_known).then(|| {
        let why = format!(
            "{} only has huge pages of {}; the kernel calls other sizes unsupported",
            target.arch.name(),
            sizes.join(", ")
        );
        Wrong::rejected(why, "kernel mm/hugetlb.c: hugepagesz_setup, default_hugepagesz_setup")
    })
}

/// Parses a number with a letter for its unit, as the kernel's `memparse` does.
fn bytes(text: &str) -> Option<i128> {
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'x' | 'X')) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let shift = match unit {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    integer(number)?.checked_shl(shift)
}

/// Checks a number of pages: one number, or one number for each memory node as in `0:4,1:8`.
fn pages(value: &str) -> Option<Wrong> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let by_node = |part: &str| part.split_once(':').is_some_and(|(node, count)| is_number(node) && is_number(count));
    let is_known = is_number(value) || (!value.is_empty() && value.split(',').all(by_node));
    (!is_known).then(|| {
        let why = "a number of pages is expected, or one for each node as in 0:4,1:8; the kernel calls it invalid";
        Wrong::rejected(why, "kernel mm/hugetlb.c: hugepages_setup")
    })
}

/// Checks the priority of RCU's kernel threads.
fn priority(value: &str) -> Option<Wrong> {
    let wrong = |verdict: WordVerdict, why: &str| {
        let source = "kernel kernel/rcu/tree.c: sanitize_kthread_prio";
        Some(Wrong { verdict, ..Wrong::rejected(why, source) })
    };
    match integer(value)? {
        100.. => wrong(Clamped, "99 is the highest priority; the kernel changes the value to 99"),
        ..0 => wrong(
            Clamped,
            "the kernel changes the value to 0, or to 1 or 2 if it was built to boost RCU readers (CONFIG_RCU_BOOST)",
        ),
        _ => None,
    }
}

/// Parses a number as the kernel's `kstrtoll` with base 0 does: a sign, then `0x`, `0` or decimal digits.
pub(super) fn integer(value: &str) -> Option<i128> {
    let (negative, digits) = match value.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, value.strip_prefix('+').unwrap_or(value)),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, base) = match hex {
        Some(hex) => (hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(digits, base).ok()?;
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Flavour;

    #[test]
    fn values_as_the_handlers_compare_them() {
        let on = |word: &str, minor: u32| {
            let (name, value) = word.split_once('=').unwrap();
            check(name, value, &Target::x86(6, minor, Flavour::Dynamic)).map(|wrong| wrong.verdict)
        };
        for (word, expected) in [
            ("intel_pstate=no_hwp,passive", Some(RejectedValue)),
            ("intel_pstate=off", Some(RejectedValue)),
            ("intel_pstate=passive", None),
            ("mitigations=off,nosmt", Some(RejectedValue)),
            ("mitigations=of", Some(RejectedValue)),
            ("mitigations=auto,nosmt", None),
            ("mitigations=off", None),
            ("mitigations=auto;no_user_kernel", Some(RejectedValue)),
            ("amd_iommu=on", Some(RejectedValue)),
            ("amd_iommu=fullflush,pgtbl_v2", None),
            ("nmi_watchdog=off", Some(RejectedValue)),
            ("nmi_watchdog=panic,1", None),
            ("default_hugepagesz=3M", Some(RejectedValue)),
            ("default_hugepagesz=1G", None),
            ("hugepagesz=2048K", None),
            ("hugepagesz=x", Some(RejectedValue)),
            ("hugepages=x", Some(RejectedValue)),
            ("hugepages=", Some(RejectedValue)),
            ("hugepages=0:4,1:8", None),
            ("pcie_aspm.policy=fast", Some(RejectedValue)),
            ("pcie_aspm.policy=performance", None),
            ("rcutree.kthread_prio=150", Some(Clamped)),
            ("rcutree.kthread_prio=50", None),
            ("mce=30000,1", None),
            ("quiet=x", None),
        ] {
            assert_eq!(on(word, 12), expected, "{word}");
        }
        assert_eq!(on("mitigations=auto;no_user_kernel", 17), None);
    }

    #[test]
    fn arm64_has_the_page_sizes_of_its_base_pages() {
        let target = Target { arch: Arch::Arm64, ..Target::x86(6, 12, Flavour::Rt) };
        let fine = |value: &str| check("hugepagesz", value, &target).is_none();
        assert_eq!(["64K", "32M", "512M", "4M", "3"].map(fine), [true, true, true, false, false]);
    }
}
