//! Knobs about clock event devices: the timers of the hardware that wake a CPU.

use crate::knobs::prelude::*;
use crate::knobs::seen::idle::deep_on_first;
use punctual_facts::machine::CoreState;

const DEVICE: &str = "/sys/devices/system/clockevents/clockevent{cpu}/current_device";
const UNSHOWN: Missing = TellsNothing("which timer (clock event device) a CPU uses is not shown");

const KNOB: Knob = Knob { cost: "None.", ..Knob::of(Family::Clocks) };

/// Timers inside the CPU.
const LOCAL: &[&str] =
    &["lapic", "lapic-deadline", "arch_sys_timer", "xen", "Hyper-V clockevent", "riscv_timer_clockevent"];

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "clk.event",
        title: "A timer of its own for every real-time CPU",
        severity: Weight::all(High),
        applies: is_of_linux,
        check: Check::seen(
            "/sys/devices/system/clockevents/clockevent<I>/current_device",
            Want::Word { good: LOCAL, bad: &["hpet*", "pit", "bc_hrtimer", "arch_mem_timer"] },
            UNSHOWN,
        ),
        why: "A timer inside the CPU is set in nanoseconds and interrupts that CPU alone. Without one, timers expire \
            by a message from another CPU, or by a device on a slow bus.",
        persist: &[Lasting::NoWord("nolapic_timer"), Lasting::NoWord("nolapic"), Lasting::NoWord("noapic")],
        confidence: Confidence::Medium,
        sources: &[
            "kernel 7.3 kernel/time/clockevents.c: current_device",
            "kernel 7.3 arch/x86/kernel/apic/apic.c, drivers/clocksource/arm_arch_timer.c: names",
        ],
        ..KNOB
    },
    Knob {
        id: "clk.tsc_deadline",
        title: "Local timers in TSC deadline mode",
        check: Check::Probe(tsc_deadline),
        why: "In deadline mode the local timer compares with the TSC: it is exact to the cycle and set by one register \
            write. The older mode counts down a slow bus clock, and needs calibration.",
        persist: &[
            Lasting::NoWord("lapic"),
            Lasting::Firmware("a firmware update that contains the microcode with the fix for the timer"),
        ],
        sources: &["kernel 7.3 arch/x86/kernel/apic/apic.c: lapic-deadline, deadline_match"],
        ..KNOB
    },
    Knob {
        id: "clk.arat",
        title: "Timers keep running while the CPU sleeps",
        check: Check::Probe(arat),
        why: "If the local timer stops in deep sleep, another CPU or the HPET has to wake this CPU, which adds a \
            message between CPUs to every activation.",
        fix: Fix::prose(
            "Limit the idle states of CPUs <I> as pm.idle_state says; in the first idle state the timer keeps running.",
        ),
        persist: &[Lasting::write("/sys/devices/system/cpu/cpu<I>/power/pm_qos_resume_latency_us", "2")],
        cost: "Power.",
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 arch/x86/include/asm/cpufeatures.h: arat", "kernel 7.3 kernel/time/tick-broadcast.c"],
        ..KNOB
    },
    Knob {
        id: "clk.cpu_bugs",
        title: "No CPU bug that touches timers or wake-ups",
        severity: Weight::all(Medium),
        check: Check::Probe(bugs),
        why: "Errata that stop the local timer in C1E (apic_c1e) or lose the wake-up of a sleeping CPU (monitor, \
            clflush_monitor) make the kernel use slower methods: broadcast timers, messages between CPUs, flushes.",
        fix: Fix::prose("If the erratum concerns C1E, turn C1E off in the firmware."),
        persist: &[Lasting::Firmware("Enhanced halt state (C1E) off, usually under Advanced, CPU configuration")],
        cost: "Power.",
        blast: Blast::Breaking,
        sources: &[
            "kernel 7.3 arch/x86/include/asm/cpufeatures.h: X86_BUG",
            "kernel 7.3 arch/x86/kernel/process.c: select_idle_routine",
        ],
        ..KNOB
    },
];

/// Fails while a second kernel runs. It drives the timers of its CPUs, which it takes only where they are inside the CPU,
/// and gives Linux a proxy for each.
fn is_of_linux(case: &Case<'_>) -> Result<(), Doubt> {
    if case.second_kernel().is_err() {
        return Ok(());
    }
    let is_proxied = case.core_state()? == CoreState::Running;
    Doubt::not_applicable_if(is_proxied, "a second kernel drives the timers, and it takes only those inside the CPU")
}

fn tsc_deadline(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only timers of x86 CPUs have the deadline mode")?;
    Doubt::not_applicable_if(
        !case.cpu_flag("tsc_deadline_timer")?,
        "this CPU, or the host, does not offer the deadline mode",
    )?;
    let mut is_exact = true;
    for OfCpus { value: device, .. } in case.per_cpu(DEVICE, case.rt(), UNSHOWN)? {
        is_exact &= match device.as_str() {
            "lapic-deadline" => true,
            "lapic" | "hpet" | "pit" => false,
            other => {
                return Doubt::not_applicable(format!(
                    "the timer is {other}, which the host offers instead of the CPU's own timer"
                ));
            }
        };
    }
    Ok(is_exact)
}

fn arat(case: &Case<'_>) -> Judged {
    case.only_on(
        Arch::X86,
        "only x86 CPUs have a flag (arat) that says whether the timer keeps running in deep sleep",
    )?;
    case.not_a_guest()?;
    if case.cpu_flag("arat")? {
        return Ok(true);
    }
    Ok(deep_on_first(case)?.is_none())
}

fn bugs(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 lists the bugs of its CPUs")?;
    case.not_a_guest()?;
    let bugs = case.cpu_field("bugs")?;
    let relevant = ["apic_c1e", "monitor", "clflush_monitor"];
    let found: Vec<&str> = bugs.split_whitespace().filter(|bug| relevant.contains(bug)).collect();
    case.none_found("/proc/cpuinfo bugs", found.join(" "), format!("none of {}", relevant.join(", ")))
}
