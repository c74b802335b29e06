//! Knobs about clock sources: the counters from which the kernel reads the time.

use crate::knobs::case::SOUND_TSC;
use crate::knobs::prelude::*;
use punctual_facts::machine::CLOCKSOURCE;

const KNOB: Knob = Knob { cost: "None.", severity: Weight::all(Medium), ..Knob::of(Family::Clocks) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "clk.source",
        title: "Clock source in the CPU",
        severity: Weight::all(High),
        check: Check::seen(CLOCKSOURCE, Want::Word { good: FAST, bad: SLOW }, UNSHOWN),
        why: "A clock in the CPU is read in tens of nanoseconds; HPET and the ACPI timer are reached over a bus, \
            in microseconds, by one CPU at a time.",
        fix: Fix::prose(
            "Where the CPU has constant_tsc and nonstop_tsc: echo tsc > \
            /sys/devices/system/clocksource/clocksource0/current_clocksource, if it is among the available ones; if \
            not, the kernel found it unstable and its log says why. Without these flags leave it, see clk.tsc_check.",
        ),
        persist: &[TSC],
        cost: "None, unless the kernel was right to refuse this clock: then the time itself is wrong.",
        blast: Blast::Disturbing,
        sources: &["kernel timers/timekeeping.rst", "kernel-parameters.txt: clocksource="],
        ..KNOB
    },
    Knob {
        id: "clk.vdso",
        title: "Clock read without entering the kernel",
        check: Check::Probe(vdso),
        why: "Reading the clock by a system call costs several times as much as by the vDSO, and a system call is one \
            more place where a thread can be delayed. Judged bad: a clock source that the vDSO cannot read, or one \
            that takes more than 1000 ns to read.",
        fix: Fix::prose(
            "Use a clock source the vDSO can read: tsc (only with the CPU's flags constant_tsc and nonstop_tsc), \
            arch_sys_counter, kvm-clock, hyperv_clocksource_tsc_page.",
        ),
        persist: &[TSC],
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3: vdso_clock_mode in arch/x86/kernel/{tsc,kvmclock}.c, drivers/clocksource/{arm_arch_timer,\
                hyperv_timer,timer-riscv}.c",
            "measured by this program when it reads the machine",
            "unverified: the threshold of cost",
        ],
        ..KNOB
    },
    Knob {
        id: "clk.tsc_check",
        title: "TSC keeps its pace and does not stop",
        check: Check::Probe(tsc),
        why: "A TSC that changes its pace with the CPU's frequency, or stops when the CPU sleeps, is sooner or later \
            replaced by the kernel with a clock that is slow to read.",
        fix: Fix::prose("None by software; in a guest the host can pass the flags on (invtsc)."),
        persist: &[Lasting::other("Another CPU, or invtsc in the host's definition of the guest.")],
        undo: Fix::prose("Nothing to undo."),
        sources: &["kernel-parameters.txt: tsc=", "kernel arch/x86/kernel/tsc.c"],
        ..KNOB
    },
    Knob {
        id: "clk.watchdog",
        title: "TSC not checked against another clock",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(watchdog),
        why: "If the kernel does not trust the TSC, it compares the TSC twice a second with the slow HPET or ACPI \
            timer. In 6.1 and 6.12 the timer for this moves from CPU to CPU; in 7.3 it interrupts another CPU each \
            time, and both CPUs spin meanwhile. Isolated CPUs take part in either case.",
        persist: &[Lasting::word("tsc=nowatchdog")],
        cost: "A TSC that does drift goes unnoticed; sound only with constant_tsc and nonstop_tsc.",
        sources: &[
            "kernel 6.1, 6.12, 7.3 arch/x86/kernel/tsc.c: check_system_tsc_reliable",
            "kernel 6.1, 6.12, 7.3 kernel/time/clocksource.c: clocksource_watchdog",
            "kernel-parameters.txt: tsc=",
        ],
        ..KNOB
    },
    Knob {
        id: "clk.hpet",
        title: "The HPET is neither the clock source nor switched off",
        severity: Weight::all(Info),
        check: Check::Probe(hpet),
        why: "A HPET that is not used costs nothing. As the clock source it costs a microsecond per reading, one CPU \
            at a time. If it is switched off, the kernel may have nothing left to check the TSC against.",
        persist: &[Lasting::NoWord("hpet"), Lasting::NoWord("nohpet")],
        confidence: Confidence::Medium,
        sources: &["kernel 6.1, 7.3 arch/x86/kernel/hpet.c: hpet=, nohpet", "kernel 7.3 kernel/time/clocksource.c"],
        ..KNOB
    },
    Knob {
        id: "clk.arm_erratum",
        title: "ARM timer without an erratum",
        check: Check::Probe(arm_erratum),
        why: "Some ARM timers return wrong values now and then. The kernel then reads them several times, in a loop, \
            and may keep user space from reading them without a system call.",
        fix: Fix::prose("None by software: the erratum is in the chip."),
        persist: &[Lasting::other("Another chip.")],
        undo: Fix::prose("Nothing to undo."),
        sources: &["kernel 7.3 drivers/clocksource/arm_arch_timer.c: ool_workarounds"],
        ..KNOB
    },
];

/// The lasting change asks for the TSC on the command line only where the TSC is sound.
const TSC: Lasting = Lasting::Either {
    when: When::TscIsSound,
    then: &Lasting::word("clocksource=tsc"),
    otherwise: &Lasting::other(
        "This CPU is not known to have constant_tsc and nonstop_tsc, without which the TSC must not be forced as the \
        clock source; see clk.tsc_check.",
    ),
};

const UNSHOWN: Missing = TellsNothing("the clock source is not shown");
/// Clock sources in the CPU, or in memory that the host shares.
const FAST: &[&str] = &["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"];
/// Clock sources that are slow, whether read by the vDSO or by the kernel.
const SLOW: &[&str] = &["tsc-early", "hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "hyperv_clocksource_msr"];

/// The reason why another knob about a slow clock source does not apply: `clk.source` reports it already.
const TOLD_BY_SOURCE: &str = "the clock source in use is slow however it is read; see clk.source";

fn vdso(case: &Case<'_>) -> Judged {
    let name = case.text(CLOCKSOURCE, UNSHOWN)?;
    Doubt::not_applicable_if(SLOW.contains(&name.as_str()), TOLD_BY_SOURCE)?;
    let missing = TellsNothing("the cost of reading the clock was not measured");
    let cost_ns = case.number("punctual:/clock/read_cost_ns", missing)?;
    if !FAST.contains(&name.as_str()) && name != "riscv_clocksource" {
        return match name.as_str() {
            "xen" | "arch_mem_counter" => Ok(false),
            other => Doubt::unknown(format!("whether the vDSO can read '{other}' is not known to this program")),
        };
    }
    // A slow machine, a debugger or an emulator makes every reading slow, so this range proves nothing. A reading that
    // needs a system call takes longer than 1000 ns.
    match cost_ns {
        ..=300 => Ok(true),
        301..=1000 => Doubt::unknown(format!(
            "the vDSO can read {name}, but {cost_ns} ns is long for such a read: an erratum of the timer, a tracer or \
            a slow machine may be the reason"
        )),
        _ => Ok(false),
    }
}

fn tsc(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 has a TSC")?;
    let flags = case.cpu_field("flags")?;
    let there: Vec<&str> = SOUND_TSC.into_iter().filter(|flag| flags.split_whitespace().any(|f| f == *flag)).collect();
    case.note(
        "/proc/cpuinfo flags",
        if there.is_empty() { format!("none of {}", SOUND_TSC.join(", ")) } else { there.join(" ") },
    );
    Ok(there.len() == SOUND_TSC.len())
}

/// The largest number of CPU packages in a machine whose sound TSC the kernel trusts without a check. Kernel 6.1 counts
/// NUMA nodes instead of packages.
fn trusted_packages(version: Version) -> usize {
    if version < Version::new(6, 12) { 2 } else { 4 }
}

fn watchdog(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only the TSC of x86 is checked against another clock by the kernel")?;
    Doubt::not_applicable_if(case.text(CLOCKSOURCE, UNSHOWN)? != "tsc", "the TSC is not in use")?;
    // If the hypervisor states that the TSC is reliable, the kernel checks it against no other clock, whatever the
    // other flags are.
    let is_vouched_for = case.cpu_flag("tsc_reliable")?;
    Doubt::not_applicable_if(
        !is_vouched_for && !case.has_sound_tsc()?,
        "without constant_tsc and nonstop_tsc the watchdog is needed here, see clk.tsc_check",
    )?;
    match case.word("tsc")?.as_deref() {
        Some("reliable" | "nowatchdog") => return Ok(true),
        Some("watchdog") => return Ok(false),
        _ => {}
    }
    if is_vouched_for {
        return Ok(true);
    }
    let is_adjusted = case.cpu_flag("tsc_adjust")?;
    let trusted = trusted_packages(case.version()?);
    let nodes = "/sys/devices/system/node/online";
    let (what, packages) = if trusted == 2 {
        // A kernel built without NUMA counts one node and has no such file.
        let counted = case.cpu_list(nodes, CannotBe("built without NUMA")).map(|nodes| nodes.len());
        ("NUMA nodes", or_absent(counted, 1)?)
    } else {
        let path = "/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id";
        let online = case.online().cloned().unwrap_or_default();
        // CPUs of one package have the same package number, so the number of groups is the number of packages.
        ("packages", case.per_cpu(path, &online, TellsNothing("which package a CPU is in is not shown"))?.len())
    };
    case.note(what, format!("{packages}; the kernel trusts a TSC in machines with up to {trusted}"));
    Ok(is_adjusted && packages <= trusted)
}

fn hpet(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 has a HPET")?;
    let current = case.text(CLOCKSOURCE, UNSHOWN)?;
    Doubt::not_applicable_if(current == "hpet", TOLD_BY_SOURCE)?;
    let path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let names = case.text(path, TellsNothing("the clock sources are not shown"))?;
    let is_there = names.split_whitespace().any(|name| name == "hpet");
    let switched_off = case.word("hpet")?.as_deref() == Some("disable") || case.word("nohpet")?.is_some();
    Doubt::not_applicable_if(!is_there && !switched_off, "this machine has no HPET, or the kernel does not use it")?;
    // Without an HPET, the kernel can check the TSC just as well against the ACPI timer, if the machine has one.
    Ok(is_there || names.split_whitespace().any(|name| name == "acpi_pm"))
}

fn arm_erratum(case: &Case<'_>) -> Judged {
    case.only_on(Arch::Arm64, "only ARM timers have the errata that this knob looks for")?;
    let folder = "/proc/device-tree/timer";
    let none = TellsNothing("the timer is not described by a device tree here");
    let properties = case.names(folder, none)?;
    let errata = ["fsl,erratum-a008585", "hisilicon,erratum-161010101", "allwinner,erratum-unknown1"];
    let found: Vec<&str> = errata.into_iter().filter(|erratum| properties.iter().any(|p| p == erratum)).collect();
    case.none_found(folder, found.join(", "), "no erratum")
}
