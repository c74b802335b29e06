//! Knobs about virtual machines: the effects of a host on its guests, and of guests on their host.

use crate::knobs::prelude::*;
use crate::programs;

const KNOB: Knob = Knob { blast: Blast::Breaking, confidence: Confidence::Medium, ..Knob::of(Family::Guests) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "virt.steal",
        title: "The host takes no time away",
        severity: Weight::all(High),
        check: Check::Probe(steal),
        why: "Stolen time is time in which this machine wanted to run and the host ran something else. Judged bad: \
            more than one part in ten thousand since boot.",
        fix: Fix::prose("On the host: pin each vCPU to a CPU of its own, with SCHED_FIFO, where nothing else runs."),
        persist: &[Lasting::other("On the host: <vcpupin> and <vcpusched> in the guest's definition")],
        cost: "CPUs of the host.",
        confidence: Confidence::High,
        sources: &["proc_stat(5): steal", "kernel 7.3 core-api/real-time/hardware.rst"],
        ..KNOB
    },
    Knob {
        id: "virt.hints",
        title: "The host says that the CPUs are dedicated",
        applies: hints,
        check: Check::advice(
            "no file inside the guest shows whether the host says that the CPUs are dedicated: without this hint (KVM: \
            kvm-hint-dedicated) the guest uses paravirtual locks and time; look in the host's definition of the guest, \
            or in leaf 0x40000001 of CPUID",
        ),
        why: "Without the hint that its CPUs are dedicated, a KVM guest halts a CPU that waits for a lock, and has the \
            host wake it. With the hint, the CPU spins, as on a real machine.",
        fix: Fix::prose(
            "On the host: <kvm><hint-dedicated state=\"on\"/></kvm> in the guest's features, with vCPUs pinned.",
        ),
        persist: &[Lasting::other("On the host: the same in the guest's definition")],
        cost: "None with pinned vCPUs.",
        sources: &["kernel 6.12 arch/x86/kernel/kvm.c: KVM_HINTS_REALTIME", "unverified: the effect on a given host"],
        ..KNOB
    },
    Knob {
        id: "virt.guest_load",
        title: "No guests run here",
        check: Check::Service,
        why: "The threads of guests run where the scheduler puts them, exit to the kernel often, and share caches \
            and memory bandwidth.",
        fix: Fix::prose(
            "Stop the guests, or keep them on CPUs <H>: systemctl set-property machine.slice AllowedCPUs=<H>",
        ),
        persist: &[Lasting::other(
            "systemctl set-property without --runtime lasts; or <vcpupin> and <emulatorpin> in each guest's definition",
        )],
        undo: Fix::command("systemctl revert machine.slice"),
        cost: "Guests.",
        blast: Blast::Disturbing,
        sources: &["kernel 7.3 core-api/real-time/hardware.rst"],
        ..KNOB
    },
    Knob {
        id: "virt.vcpu",
        title: "vCPUs that must be punctual are pinned and run as SCHED_FIFO",
        applies: |case| Doubt::not_applicable_if(case.running("virt.vcpu")?.is_empty(), "no guest runs here"),
        check: Check::advice(
            "this program cannot tell which guest does the real-time work. The vCPU threads of that guest (CPU N/KVM) \
            should be SCHED_FIFO on CPUs of their own, its emulator and I/O threads should run elsewhere, and its \
            memory should be locked",
        ),
        why: "A guest is never more punctual than the host threads that run its vCPUs.",
        fix: Fix::prose(
            "<vcpupin>, <vcpusched scheduler=\"fifo\" priority=\"1\">, <emulatorpin>, <memoryBacking><locked/> in \
            the guest's definition.",
        ),
        persist: &[Lasting::other("The guest's definition persists; nothing else is needed")],
        cost: "CPUs of the host; with idle=poll in the guest, its FIFO threads starve the host's own work on these \
            CPUs.",
        sources: &["kernel 7.3 core-api/real-time/hardware.rst", "libvirt domain format: CPU tuning"],
        ..KNOB
    },
    Knob {
        id: "virt.halt_poll",
        title: "The host does not spin for idle guests",
        applies: runs_guests,
        check: Check::parameter("kvm", "halt_poll_ns", Want::ZERO, NO_PARAMETER),
        why: "With halt polling, a vCPU that goes idle keeps its host CPU busy for a while; a dedicated CPU gains \
            nothing from it, and on a shared CPU it takes time from others.",
        persist: &[Lasting::module("kvm halt_poll_ns=0")],
        cost: "Slower wake-ups of guests that share CPUs.",
        blast: Blast::Harmless,
        sources: &[
            "kernel virt/kvm/halt-polling.rst",
            "kernel 6.1, 6.12, 7.3 virt/kvm/kvm_main.c",
            "seapath/ansible: tuned profile",
        ],
        ..KNOB
    },
    Knob {
        id: "virt.ple_gap",
        title: "A guest that spins is not forced to exit",
        applies: runs_guests,
        check: Check::All(&[
            Check::seen("/sys/module/kvm_intel/parameters/ple_gap", Want::ZERO, NO_PARAMETER),
            Check::seen("/sys/module/kvm_amd/parameters/pause_filter_count", Want::ZERO, NO_PARAMETER),
        ]),
        why: "Pause-loop exiting forces a vCPU that spins on a lock out of the guest: this helps if vCPUs share host \
            CPUs, but is a useless exit if each has a CPU of its own.",
        persist: &[Lasting::module("kvm_intel ple_gap=0"), Lasting::module("kvm_amd pause_filter_count=0")],
        cost: "Guests with more vCPUs than CPUs spin in vain.",
        sources: &["kernel 6.1, 6.12, 7.3 arch/x86/kvm/vmx/vmx.c", "tuned profile realtime-virtual-host"],
        ..KNOB
    },
    Knob {
        id: "virt.timer_advance",
        title: "Timers of guests are fired ahead of time",
        applies: runs_guests,
        check: Check::All(&[
            Check::seen("/sys/module/kvm/parameters/lapic_timer_advance", Want::YES, NO_PARAMETER),
            Check::seen(
                "/sys/module/kvm/parameters/lapic_timer_advance_ns",
                Want::Not { bad: 0, write: -1 },
                NO_PARAMETER,
            ),
        ]),
        why: "The host can fire a guest's timer early by the time that entering the guest takes, so that the guest \
            sees the timer on time.",
        persist: &[Lasting::other(
            "/etc/modprobe.d: no option lapic_timer_advance=0 (lapic_timer_advance_ns=0 before 6.12) for kvm",
        )],
        cost: "A short spin before each timer.",
        sources: &["kernel 6.1 arch/x86/kvm/x86.c", "kernel 6.12, 7.3 arch/x86/kvm/lapic.c"],
        ..KNOB
    },
    Knob {
        id: "virt.kvmclock_sync",
        title: "Clocks of guests are not synchronised every five minutes",
        applies: runs_guests,
        check: Check::seen("/sys/module/kvm/parameters/kvmclock_periodic_sync", Want::NO, NO_PARAMETER),
        why: "The host updates the clock of all vCPUs at a fixed interval, which forces each vCPU out of the guest.",
        persist: &[Lasting::module("kvm kvmclock_periodic_sync=0")],
        cost: "kvm-clock drifts against the host's clock.",
        confidence: Confidence::High,
        sources: &["kernel 6.1, 6.12 arch/x86/kvm/x86.c (gone in 7.3)", "tuned profile realtime-virtual-host"],
        ..KNOB
    },
    Knob {
        id: "virt.apicv",
        title: "Interrupts reach guests without an exit",
        applies: runs_guests,
        check: Check::All(&[
            Check::seen("/sys/module/kvm_intel/parameters/enable_apicv", Want::YES, NO_PARAMETER),
            Check::seen(
                "/sys/module/kvm_amd/parameters/avic",
                Want::Word { good: &["Y", "1"], bad: &["N", "0"] },
                NO_PARAMETER,
            ),
        ]),
        why: "Without hardware support for the interrupt controller, the guest exits at every interrupt and again at \
            the end of each interrupt.",
        persist: &[Lasting::module("kvm_intel enable_apicv=1"), Lasting::module("kvm_amd avic=1")],
        cost: "On AMD, nested guests lose this support.",
        sources: &["kernel 6.12 arch/x86/kvm/vmx/vmx.c, svm/svm.c"],
        ..KNOB
    },
];

fn is_guest(case: &Case<'_>) -> Result<(), Doubt> {
    Doubt::not_applicable_if(case.known_virtualisation()?.hypervisor.is_none(), "this is no guest")
}

fn steal(case: &Case<'_>) -> Judged {
    is_guest(case)?;
    let path = "/proc/stat";
    let stat = case.content(path, TellsNothing("/proc/stat is not there"))?;
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // The sum of all ticks leaves out guest time, because user and nice time contain it already.
    let (Some(stolen), true) = (ticks.get(7), line.starts_with("cpu ")) else {
        return Doubt::unknown(format!("{path} begins with '{line}', which is not understood"));
    };
    let all: u64 = ticks.iter().take(8).fold(0, |sum, ticks| sum.saturating_add(*ticks));
    case.note(format!("{path} steal"), format!("{stolen} ticks stolen, of {all} since boot"));
    Ok(*stolen <= all / 10_000)
}

fn hints(case: &Case<'_>) -> Result<(), Doubt> {
    is_guest(case)?;
    Doubt::not_applicable_if(case.arch() != Some(&Arch::X86), "only x86 hosts give the hint that CPUs are dedicated")?;
    let path = "/sys/devices/system/cpu/cpuidle/current_driver";
    if case.peek(path) == Fact::Known("haltpoll".to_owned()) {
        case.note(path, "haltpoll");
        return Doubt::not_applicable(
            "the idle driver haltpoll shows that the host gives the hint that the CPUs are dedicated",
        );
    }
    Ok(())
}

const NO_PARAMETER: Missing = CannotBe("this kernel's KVM does not have the parameter that this knob checks");

/// Not applicable if no guest runs here.
fn runs_guests(case: &Case<'_>) -> Result<(), Doubt> {
    Doubt::not_applicable_if(!case.has_module("kvm")?, "this machine runs no guests (no module kvm)")?;
    let modules = "/sys/module";
    let users = ["kvm_intel", "kvm_amd"].map(|vendor| case.peek(&format!("{modules}/{vendor}/refcnt")));
    Doubt::not_applicable_if(users.contains(&Fact::Known("0".to_owned())), "no guest runs here (no process uses KVM)")?;
    // KVM that is built into the kernel counts no users. A guest is then recognised by a kernel thread `kvm-*`, or by
    // the process of a known program.
    let monitors = programs::processes("virt.guest_load");
    let is_guest = |task: &Task| {
        if task.is_kernel { task.name.starts_with("kvm-") } else { monitors.contains(&task.name.as_str()) }
    };
    let has_no_guest = users.iter().all(|users| *users == Fact::Absent) && case.tasks(is_guest)?.is_empty();
    Doubt::not_applicable_if(has_no_guest, "no guest is seen to run here")
}
