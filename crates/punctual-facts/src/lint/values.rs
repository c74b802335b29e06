//! Checks the form of values, and says what the kernel does with a wrong value.
//!
//! This module covers only words whose handlers were read in the kernel's source. The machine's testimony and other
//! words of the line are not considered here.

use super::Target;
use super::WordVerdict::{Clamped, Inert, RejectedValue};
use super::choices::{self, Wrong, integer};
use super::second;
use crate::cmdline::Token;
use crate::cpu_set::CpuSet;
use crate::machine::{Arch, Flavour, Version};

/// Checks a word's value. `kind` is the type of the parameter as a letter of the tables, or `-` if its type is not in
/// the tables.
pub(super) fn check(token: &Token, target: &Target, kind: char) -> Option<Wrong> {
    let value = token.value.as_deref();
    if let Some(wrong) = second::check(token, target) {
        return Some(wrong);
    }
    match (token.name.as_str(), value) {
        ("isolcpus", Some(value)) => isolcpus(value, target),
        ("nohz_full", Some(value)) => set_apart(value, target).or_else(|| with_boot_cpu(value, target)),
        ("rcu_nocbs", Some(value)) => list(value, target).err().map(|e| {
            Wrong::rejected(
                format!("{e}; the kernel then offloads the RCU callbacks of all CPUs"),
                "kernel/rcu/tree_nocb.h",
            )
        }),
        ("irqaffinity", Some(value)) => list(value, target).err().map(|e| {
            let then = "the kernel then keeps only the CPUs that it had read before that and the boot CPU, without a \
                message";
            Wrong::rejected(format!("{e}; {then}"), "kernel/irq/irqdesc.c")
        }),
        ("preempt", Some(value)) => preempt(value, target),
        ("idle", Some(value)) => idle(value, target),
        ("amd_pstate", Some(value)) => amd_pstate(value, target),
        ("clocksource", Some(value)) => clocksource(value, target),
        (name, Some(value)) => choices::check(name, value, target).or_else(|| typed(value, kind)),
        (_, None) => (!matches!(kind, 'b' | 'd' | 'n' | '-' | 'x')).then(|| {
            Wrong::rejected("this parameter needs a value; without one the kernel calls it invalid", "kernel/params.c")
        }),
    }
}

fn list(value: &str, target: &Target) -> Result<CpuSet, String> {
    if let Some(why) = written_for_later(value, target) {
        return Err(why);
    }
    CpuSet::parse_kernel(value, target.cpus().unwrap_or(u32::MAX)).map_err(|e| e.to_string())
}

/// Checks the value of `isolcpus=`: flags that are followed by a list, as in `managed_irq,domain,2-3`. A flag ends at
/// its comma, and the kernel skips flags that it does not know.
fn isolcpus(value: &str, target: &Target) -> Option<Wrong> {
    const SOURCE: &str = "kernel/sched/isolation.c";
    if let Some(wrong) = flag_of_later(value, target) {
        return Some(wrong);
    }
    let mut rest = value;
    let mut skipped = Vec::new();
    while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let (flag, after) = rest.split_once(',').unwrap_or((rest, ""));
        let is_last = !rest.contains(',');
        if !matches!(flag, "nohz" | "domain" | "managed_irq") || is_last {
            if !flag.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') {
                let why =
                    format!("'{flag}' is in the place of a flag but is not a flag; the kernel drops the whole word");
                return Some(Wrong { instead: plain(value, target), ..Wrong::rejected(why, SOURCE) });
            }
            skipped.push(flag);
        }
        rest = after;
    }
    let apart = set_apart(rest, target);
    if apart.is_some() && skipped.is_empty() {
        return apart;
    }
    if !skipped.is_empty() {
        let skipped = skipped.join(", ");
        let why = if rest.is_empty() {
            format!("the kernel takes '{skipped}' for a flag and skips it, and no CPU is named after it")
        } else {
            format!("the kernel does not know the flag '{skipped}' and skips it")
        };
        let verdict = if apart.is_some() { RejectedValue } else { Clamped };
        return Some(Wrong { verdict, instead: plain(value, target), ..Wrong::rejected(why, SOURCE) });
    }
    None
}

/// Checks for the flag `managed_irq`, which kernels before 5.6 do not know. For an unknown flag, kernels before 5.8
/// drop the whole word; later kernels skip the flag.
fn flag_of_later(value: &str, target: &Target) -> Option<Wrong> {
    let is_old = target.version < Version::new(5, 6);
    let FlagsAndCpus { flags, cpus: list } = cpu_list(value);
    (is_old && flags.contains(&"managed_irq")).then(|| Wrong {
        instead: Some(format!("isolcpus=domain,{list}")),
        ..Wrong::rejected(
            "kernels know the flag managed_irq from 5.6 on; this one drops the whole word",
            "kernel commits 11ea68f553e2 (5.6), 3662daf02350 (5.8)",
        )
    })
}

/// The error of a list in a notation that only later kernels know: `N` came with 5.13, `all` with 5.14.
fn written_for_later(value: &str, target: &Target) -> Option<String> {
    let is_word = |wanted: &str| value.split([',', '-', ':', '/']).any(|part| part == wanted);
    let (what, since) = match () {
        () if is_word("N") => ("N", Version::new(5, 13)),
        () if is_word("all") => ("all", Version::new(5, 14)),
        () => return None,
    };
    (target.version < since).then(|| format!("kernels know {what} in a list from {since} on"))
}

/// The flags in the value of `isolcpus=`, and the list of CPUs after them.
pub(super) struct FlagsAndCpus<'a> {
    pub(super) flags: Vec<&'a str>,
    pub(super) cpus: &'a str,
}

/// Separates the flags from the list of CPUs as the kernel does.
pub(super) fn cpu_list(value: &str) -> FlagsAndCpus<'_> {
    let mut flags = Vec::new();
    let mut rest = value;
    while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let (flag, after) = rest.split_once(',').unwrap_or((rest, ""));
        flags.push(flag);
        rest = after;
    }
    FlagsAndCpus { flags, cpus: rest }
}

/// Checks a list of CPUs to isolate. It must name at least one CPU, and not all of them.
fn set_apart(value: &str, target: &Target) -> Option<Wrong> {
    const SOURCE: &str = "kernel/sched/isolation.c";
    match list(value, target) {
        Err(e) => Some(Wrong::rejected(format!("{e}; the kernel drops the whole word"), SOURCE)),
        Ok(set) if set.is_empty() => Some(Wrong::rejected("it names no CPU; the kernel drops the whole word", SOURCE)),
        Ok(set) if target.possible.as_ref().is_some_and(|possible| possible.is_subset(&set)) => Some(Wrong {
            verdict: Clamped,
            ..Wrong::rejected("it names every CPU; the kernel removes the boot CPU again", SOURCE)
        }),
        Ok(_) => None,
    }
}

fn with_boot_cpu(value: &str, target: &Target) -> Option<Wrong> {
    let has_boot_cpu = list(value, target).is_ok_and(|set| set.contains(0));
    has_boot_cpu.then(|| Wrong {
        verdict: Clamped,
        ..Wrong::rejected(
            "it contains CPU 0; if that is the boot CPU, kernels that can suspend remove it again",
            "kernel/time/tick-sched.c: tick_nohz_init",
        )
    })
}

/// The word `isolcpus=` with the CPUs as numbers. At a place where a flag may stand, the kernel takes `N` and `all` for
/// flags.
fn plain(value: &str, target: &Target) -> Option<String> {
    target.cpus()?;
    let set = list(value, target).ok()?;
    (!set.is_empty()).then(|| format!("isolcpus=managed_irq,domain,{set}"))
}

fn preempt(value: &str, target: &Target) -> Option<Wrong> {
    const SOURCE: &str = "kernel/sched/core.c: sched_dynamic_mode";
    let refused =
        |why: &str, instead: &str| Some(Wrong { instead: Some(instead.to_owned()), ..Wrong::rejected(why, SOURCE) });
    match value {
        "full" => None,
        // With PREEMPT_RT, lazy preemption exists already in 6.12, by a patch.
        "lazy" if target.version >= Version::new(6, if target.flavour == Flavour::Rt { 12 } else { 13 }) => None,
        "lazy" => refused("kernels before 6.13 have no lazy preemption", "preempt=full"),
        "none" | "voluntary" if target.version < Version::new(7, 0) && target.flavour != Flavour::Rt => None,
        "none" | "voluntary" if target.flavour == Flavour::Rt => refused("PREEMPT_RT refuses it", "preempt=full"),
        "none" | "voluntary" => refused("kernels with lazy preemption refuse it from 7.0 on", "preempt=full"),
        _ => refused("there is no such mode; the kernel warns and ignores it", "preempt=full"),
    }
}

fn idle(value: &str, target: &Target) -> Option<Wrong> {
    let known: &[&str] = match target.arch {
        Arch::X86 => &["poll", "halt", "nomwait"],
        Arch::Arm64 => &["wfi", "yield", "nop"],
        Arch::Arm | Arch::Riscv64 | Arch::Other => return None,
    };
    (!known.contains(&value)).then(|| {
        let why = format!("one of {} is expected; the kernel calls it a malformed option", known.join(", "));
        Wrong::rejected(why, "kernel arch/x86/kernel/process.c, 7.3 arch/arm64/kernel/idle.c")
    })
}

/// Checks the mode of `amd_pstate`. The modes in which the chip itself chooses the frequency exist since 6.3.
fn amd_pstate(value: &str, target: &Target) -> Option<Wrong> {
    // The driver came with 5.17; a rule says so.
    if target.version < Version::new(5, 17) {
        return None;
    }
    let known: &[&str] = if target.version < Version::new(6, 3) {
        &["disable", "passive"]
    } else {
        &["disable", "passive", "active", "guided"]
    };
    (!known.contains(&value)).then(|| {
        let why = format!("this kernel knows {}; the word is ignored", known.join(", "));
        Wrong::rejected(why, "kernel 6.1, 6.12, 7.3 drivers/cpufreq/amd-pstate.c: amd_pstate_param")
    })
}

fn clocksource(value: &str, target: &Target) -> Option<Wrong> {
    let is_wrong = value == "tsc" && target.arch == Arch::Arm64;
    is_wrong.then(|| Wrong {
        verdict: Inert,
        why: "no arm64 machine has a clock source of that name; the kernel uses its own choice".to_owned(),
        instead: Some("clocksource=arch_sys_counter".to_owned()),
        source: "kernel drivers/clocksource/arm_arch_timer.c, kernel/time/clocksource.c",
    })
}

/// Checks a value by the type of its parameter, as `kernel/params.c` does.
fn typed(value: &str, kind: char) -> Option<Wrong> {
    const SOURCE: &str = "kernel/params.c, lib/kstrtox.c";
    let is_within = |(low, high): (i128, i128)| integer(value).is_some_and(|n| (low..=high).contains(&n));
    let is_right = match kind {
        'b' | 'd' | 'n' => is_bool(value),
        'i' => is_within((i32::MIN.into(), i32::MAX.into())),
        'u' => is_within((0, u32::MAX.into())),
        'h' => is_within((i16::MIN.into(), i16::MAX.into())),
        'H' => is_within((0, u16::MAX.into())),
        'y' => is_within((0, u8::MAX.into())),
        'l' => is_within((i64::MIN.into(), i64::MAX.into())),
        'L' | 'q' => is_within((0, u64::MAX.into())),
        _ => true,
    };
    let expected = match kind {
        'b' | 'd' | 'n' => "y, n, 1, 0, on or off is expected",
        'u' | 'H' | 'y' | 'L' | 'q' => "a whole number of at least 0, within its range, is expected",
        _ => "a whole number within its range is expected",
    };
    (!is_right)
        .then(|| Wrong::rejected(format!("{expected}; the kernel calls the value invalid and keeps its own"), SOURCE))
}

/// Whether `kstrtobool` accepts the value: the first letter decides, and after `o` the second one.
fn is_bool(value: &str) -> bool {
    let mut letters = value.bytes().map(|b| b.to_ascii_lowercase());
    match letters.next() {
        Some(b'e' | b'y' | b't' | b'1' | b'd' | b'n' | b'f' | b'0') => true,
        Some(b'o') => matches!(letters.next(), Some(b'n' | b'f')),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::WordVerdict;
    use super::*;
    use crate::cmdline::words;

    fn wrong(word: &str, kind: char, minor: u32) -> Option<WordVerdict> {
        check(&words(word.as_bytes())[0], &Target::x86(6, minor, Flavour::Dynamic), kind).map(|w| w.verdict)
    }

    #[test]
    fn types_as_the_kernel_takes_them() {
        for (word, kind, is_fine) in [
            ("a=1", 'b', true),
            ("a=on", 'b', true),
            ("a=ouch", 'b', false),
            ("a", 'b', true),
            ("a", 'i', false),
            ("a=0x10", 'i', true),
            ("a=09", 'i', false),
            ("a=-1", 'i', true),
            ("a=-1", 'u', false),
            ("a=4294967296", 'u', false),
            ("a=", 'i', false),
            ("a=x", 's', true),
            ("a=256", 'y', false),
        ] {
            assert_eq!(wrong(word, kind, 12).is_none(), is_fine, "{word} {kind}");
        }
        assert_eq!(wrong("preempt=none", '-', 12), None);
        assert_eq!(wrong("preempt=lazy", '-', 12), Some(RejectedValue));
        assert_eq!(wrong("preempt=lazy", '-', 13), None);
        assert_eq!(wrong("idle=pol", '-', 1), Some(RejectedValue));
        assert_eq!(wrong("mce=30000,1", '-', 1), None);
    }
}
