//! Parameters of second kernels: `xenomai.*` of Xenomai 3 (Cobalt) and `evl.*` of Xenomai 4 (EVL).
//!
//! Both cores are built into their kernels, so no other kernel has their parameters, and a name that is not listed here
//! is none. The list holds Xenomai 3.0 to 3.3 and EVL for 5.10 to 6.10.

use super::Target;
use super::WordVerdict::{Accepted, Undecided, Unknown};
use super::choices::Wrong;
use super::draft::Draft;
use crate::cmdline::Token;
use crate::cpu_set::CpuSet;
use crate::machine::{Arch, Flavour, Version};

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// A mask of CPUs.
    Mask,
    /// A list of CPUs.
    List,
    /// The state in which the core starts.
    State,
    /// What to do about system management interrupts.
    Smi,
    /// A number of the type that this letter of the tables stands for.
    Number(char),
}

struct Member {
    core: Flavour,
    name: &'static str,
    takes: Takes,
    needs: &'static str,
    /// Only x86 has it.
    is_of_x86: bool,
    /// Only Xenomai 3.0 and 3.1 have it.
    is_old: bool,
}

const fn member(core: Flavour, name: &'static str, takes: Takes, needs: &'static str) -> Member {
    Member { core, name, takes, needs, is_of_x86: false, is_old: false }
}

const MEMBERS: [Member; 13] = [
    member(Flavour::Cobalt, "xenomai.supported_cpus", Takes::Mask, "SMP"),
    member(Flavour::Cobalt, "xenomai.state", Takes::State, "-"),
    member(Flavour::Cobalt, "xenomai.sysheap_size", Takes::Number('L'), "-"),
    member(Flavour::Cobalt, "xenomai.allowed_group", Takes::Number('i'), "-"),
    member(Flavour::Cobalt, "xenomai.watchdog_timeout", Takes::Number('L'), "XENO_OPT_WATCHDOG"),
    Member { is_of_x86: true, ..member(Flavour::Cobalt, "xenomai.smi", Takes::Smi, "-") },
    Member { is_of_x86: true, ..member(Flavour::Cobalt, "xenomai.smi_mask", Takes::Number('i'), "-") },
    Member { is_old: true, ..member(Flavour::Cobalt, "xenomai.timerfreq", Takes::Number('L'), "-") },
    Member { is_old: true, ..member(Flavour::Cobalt, "xenomai.clockfreq", Takes::Number('L'), "-") },
    member(Flavour::Evl, "evl.oobcpus", Takes::List, "-"),
    member(Flavour::Evl, "evl.state", Takes::State, "-"),
    member(Flavour::Evl, "evl.sysheap_size", Takes::Number('L'), "-"),
    member(Flavour::Evl, "evl.watchdog_timeout", Takes::Number('L'), "EVL_WATCHDOG"),
];

/// Kernels from this version on have no I-pipe, without which Xenomai 3.0 and 3.1 cannot be.
const WITHOUT_IPIPE: Version = Version::new(5, 10);

const COBALT: &str = "Xenomai 3.0 to 3.3 kernel/cobalt";
const EVL: &str = "EVL 5.10, 6.10 kernel/evl";

fn core(module: &str) -> Option<(Flavour, &'static str)> {
    match module {
        "xenomai" => Some((Flavour::Cobalt, COBALT)),
        "evl" => Some((Flavour::Evl, EVL)),
        _ => None,
    }
}

/// The verdict on the name of a parameter of a second kernel; `None` for any other word.
pub(super) fn by_name(token: &Token, target: &Target) -> Option<Draft> {
    const SILENT: &str = "the kernel does not report it, because the name has a dot";
    let (module, parameter) = token.name.split_once('.')?;
    let (flavour, source) = core(module)?;
    let name = flavour.name();
    let unknown = |why: String| Some(Draft::new(Unknown, why, source));
    if target.flavour != flavour {
        let why = format!("only kernels with {name} have it; others do not report it, because the name has a dot");
        return Some(Draft {
            sources: vec![source.to_owned(), "kernel init/main.c: words with a dot".to_owned()],
            ..Draft::new(Unknown, why, source)
        });
    }
    if matches!(parameter, "dyndbg" | "async_probe") {
        return Some(Draft::new(Accepted, "every module has it", "kernel lib/dynamic_debug.c, kernel/module"));
    }
    let Some(member) = MEMBERS.iter().find(|member| member.name == token.name) else {
        return unknown(format!("{name} has no parameter {parameter}; {SILENT}"));
    };
    if member.is_of_x86 && target.arch != Arch::X86 {
        return unknown(format!("{name} has it on x86 only; {SILENT}"));
    }
    if member.is_old && target.version >= WITHOUT_IPIPE {
        return unknown(format!(
            "only Xenomai 3.0 and 3.1 have it, which exist for kernels before 5.10 only; {SILENT}"
        ));
    }
    let (verdict, why) = if member.is_old {
        (Undecided, "Xenomai 3.0 and 3.1 have it, 3.2 does not".to_owned())
    } else {
        (Accepted, format!("a parameter of {name}"))
    };
    let kind = if let Takes::Number(kind) = member.takes { kind } else { '-' };
    Some(Draft { kind, needs: member.needs, ..Draft::new(verdict, why, source) })
}

/// Checks the value of a parameter of a second kernel.
pub(super) fn check(token: &Token, target: &Target) -> Option<Wrong> {
    let member = MEMBERS.iter().find(|member| member.name == token.name && member.core == target.flavour)?;
    let Some(value) = token.value.as_deref() else {
        return Some(Wrong::rejected(
            "this parameter needs a value; without one the kernel calls it invalid",
            "kernel/params.c",
        ));
    };
    match member.takes {
        Takes::Mask => mask(member, value),
        Takes::List => list(member, value, target),
        Takes::State => state(member, value),
        Takes::Smi => smi(value),
        Takes::Number(_) => None,
    }
}

fn mask(member: &Member, value: &str) -> Option<Wrong> {
    let is_mask = super::choices::integer(value).is_some_and(|mask| (0..=i128::from(u64::MAX)).contains(&mask));
    if is_mask {
        return None;
    }
    // A list was meant. Its mask has CPU 0, without which Cobalt switches itself off.
    let meant = CpuSet::parse_list(value).ok().filter(|cpus| !cpus.is_empty() && cpus.iter().all(|cpu| cpu < 64));
    let bits = meant.map(|cpus| cpus.iter().fold(1_u64, |bits, cpu| bits | 1 << cpu));
    Some(Wrong {
        instead: bits.map(|bits| format!("{}={bits:#x}, which contains CPU 0", member.name)),
        ..Wrong::rejected(
            "the value has to be a mask of CPUs such as 0x0d, not a list; the kernel calls this one invalid, and \
            Cobalt takes every CPU",
            "Xenomai 3.3 kernel/cobalt/init.c; kernel/params.c",
        )
    })
}

fn list(member: &Member, value: &str, target: &Target) -> Option<Wrong> {
    const SOURCE: &str = "EVL 6.10 kernel/evl/init.c: evl_init";
    if value.is_empty() {
        return Some(Wrong {
            verdict: super::WordVerdict::Inert,
            ..Wrong::rejected("it names no CPU; EVL then takes every CPU that is online", SOURCE)
        });
    }
    let error = CpuSet::parse_kernel(value, target.cpus().unwrap_or(u32::MAX)).err()?;
    let mask =
        value.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()).filter(|mask| *mask != 0);
    let meant: Option<CpuSet> = mask.map(|mask| (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect());
    Some(Wrong {
        instead: meant.map(|cpus| format!("{}={cpus}", member.name)),
        ..Wrong::rejected(
            format!(
                "{error}; the value has to be a list of CPUs such as 2-3, not a mask, and EVL takes every CPU that is online instead"
            ),
            SOURCE,
        )
    })
}

fn state(member: &Member, value: &str) -> Option<Wrong> {
    let is_known = matches!(value, "disabled" | "stopped" | "enabled");
    let source = if member.core == Flavour::Evl { EVL } else { COBALT };
    (!is_known).then(|| Wrong {
        instead: Some(format!("{}=enabled, which is the default", member.name)),
        ..Wrong::rejected("one of disabled, stopped, enabled is expected; the core warns and starts", source)
    })
}

fn smi(value: &str) -> Option<Wrong> {
    let is_number = !value.is_empty() && value.strip_prefix('-').unwrap_or(value).bytes().all(|b| b.is_ascii_digit());
    let is_known = is_number || matches!(value, "disabled" | "detect" | "enabled");
    (!is_known).then(|| {
        let why = "one of disabled, detect, enabled is expected; Cobalt warns and keeps detect";
        Wrong::rejected(why, "Xenomai 3.3 kernel/cobalt/arch/x86/smi.c: setup_smi_state")
    })
}

#[cfg(test)]
mod tests {
    use super::super::WordVerdict::{self, Harmful, Inert, RejectedValue};
    use super::super::{Testimony, lint};
    use super::*;

    fn on(flavour: Flavour, arch: Arch, version: (u32, u32), line: &str) -> Vec<(WordVerdict, Option<String>)> {
        let target = Target { arch, ..Target::x86(version.0, version.1, flavour) };
        lint(line.as_bytes(), &target, &Testimony::none())
            .into_iter()
            .map(|word| (word.verdict, word.instead))
            .collect()
    }

    #[test]
    fn values_are_those_that_the_cores_take() {
        for (flavour, word, expected, instead) in [
            (Flavour::Cobalt, "xenomai.supported_cpus=0x0d", Accepted, ""),
            (Flavour::Cobalt, "xenomai.supported_cpus=2-3", RejectedValue, "xenomai.supported_cpus=0xd"),
            (Flavour::Cobalt, "xenomai.supported_cpus=2,3", RejectedValue, "xenomai.supported_cpus=0xd"),
            (Flavour::Cobalt, "xenomai.supported_cpus=0x6", RejectedValue, "a mask with bit 0"),
            (Flavour::Cobalt, "xenomai.supported_cpus=-1", RejectedValue, ""),
            (Flavour::Cobalt, "xenomai.supported_cpus", RejectedValue, ""),
            (Flavour::Cobalt, "xenomai.state=running", RejectedValue, "xenomai.state=enabled"),
            (Flavour::Cobalt, "xenomai.state=enabled", Accepted, ""),
            (Flavour::Cobalt, "xenomai.state=disabled", Harmful, "without the word"),
            (Flavour::Cobalt, "xenomai.smi=on", RejectedValue, ""),
            (Flavour::Cobalt, "xenomai.smi=-1", Accepted, ""),
            (Flavour::Cobalt, "xenomai.sysheap_size=256", Accepted, ""),
            (Flavour::Cobalt, "xenomai.sysheap_size=256K", RejectedValue, ""),
            (Flavour::Cobalt, "xenomai.allowed_group=users", RejectedValue, ""),
            (Flavour::Cobalt, "xenomai.nosuch=1", Unknown, ""),
            (Flavour::Cobalt, "evl.oobcpus=2", Unknown, ""),
            (Flavour::Evl, "evl.oobcpus=2-3", Accepted, ""),
            (Flavour::Evl, "evl.oobcpus=0x0c", RejectedValue, "evl.oobcpus=2-3"),
            (Flavour::Evl, "evl.oobcpus=2-9", RejectedValue, ""),
            (Flavour::Evl, "evl.oobcpus=", Inert, ""),
            (Flavour::Evl, "evl.state=stopped", Harmful, "without the word"),
            (Flavour::Evl, "evl.state=off", RejectedValue, "evl.state=enabled"),
            (Flavour::Evl, "evl.oob_cpus=2", Unknown, "evl.oobcpus"),
            (Flavour::Evl, "evl.smi=detect", Unknown, ""),
            (Flavour::Evl, "xenomai.state=enabled", Unknown, ""),
            (Flavour::Rt, "evl.state=enabled", Unknown, ""),
            (Flavour::Stock, "xenomai.state=enabled", Unknown, ""),
        ] {
            let (verdict, shown) = on(flavour, Arch::X86, (5, 10), word).remove(0);
            assert_eq!(verdict, expected, "{word}");
            assert!(shown.unwrap_or_default().contains(instead), "{word}");
        }
    }

    #[test]
    fn what_only_some_versions_and_architectures_have_is_told() {
        let verdict = |arch, version, word| on(Flavour::Cobalt, arch, version, word).remove(0).0;
        assert_eq!(verdict(Arch::Arm64, (5, 10), "xenomai.smi=enabled"), Unknown);
        assert_eq!(verdict(Arch::X86, (4, 19), "xenomai.timerfreq=1000000"), Undecided);
        assert_eq!(verdict(Arch::X86, (6, 1), "xenomai.timerfreq=1000000"), Unknown);
        assert_eq!(verdict(Arch::Arm, (6, 1), "xenomai.supported_cpus=3"), Accepted);
    }
}
