//! Knobs about security features that cost time.

use crate::knobs::prelude::*;

const KNOB: Knob = Knob::of(Family::Security);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "sec.audit",
        title: "No auditing of system calls",
        check: Check::Probe(auditing),
        why: "While auditing is on, every system call of every task does extra work at entry and exit.",
        fix: Fix::command("auditctl -e 0"),
        persist: &[Lasting::word("audit=0")],
        undo: Fix::prose("auditctl -e 1; remove the word; unmask the service."),
        cost: "Compliance, where it is demanded.",
        confidence: Confidence::Medium,
        sources: &["kernel-parameters.txt: audit=", "auditctl(8)"],
        ..KNOB
    },
    Knob {
        id: "sec.mitigations",
        title: "Mitigations of CPU bugs left on",
        applies: mitigations,
        check: Check::advice(
            "cannot be judged by software: each mitigation costs time at every entry into the kernel, and each closes \
            a known attack. Leave them on; only on a machine that runs no foreign code, and if a measurement shows the \
            gain, turn off single ones by their own words",
        ),
        why: "Flushes and barriers at kernel entry and exit cost up to some microseconds on older CPUs, and guests pay \
            twice.",
        persist: &[Lasting::other(
            "mitigations=off turns all of them off; single words are in kernel-parameters.txt (retbleed=, mds=, nopti ...)",
        )],
        cost: "Anybody who runs code on the machine may read its memory.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &[
            "kernel-parameters.txt: mitigations=",
            "kernel ABI testing/sysfs-devices-system-cpu: vulnerabilities",
        ],
        ..KNOB
    },
    Knob {
        id: "sec.split_lock",
        excused: traps_split_locks,
        title: "A split lock does not put its program to sleep",
        check: Check::sysctl(
            "kernel.split_lock_mitigate",
            Want::ZERO,
            CannotBe("this kernel does not slow split locks"),
        ),
        why: "A locked access across two cache lines stalls all CPUs; by default the kernel then also makes the \
            program that made the access sleep and wait its turn.",
        fix: Fix::prose("Correct the program. Until then: sysctl kernel.split_lock_mitigate=0"),
        cost: "A hostile program can slow the machine.",
        sources: &[
            "kernel admin-guide/sysctl/kernel.rst: split_lock_mitigate",
            "kernel 6.1, 6.12 arch/x86/kernel/cpu/intel.c, 7.3 bus_lock.c",
        ],
        ..KNOB
    },
    Knob {
        id: "sec.smap",
        title: "Access protection (SMAP) not taken away",
        check: Check::Probe(smap),
        why: "Old guides switch SMAP off for speed, but SMAP costs next to nothing, the kernel no longer knows the \
            word nosmap, and clearcpuid= marks the kernel tainted.",
        persist: &[Lasting::NoWord("clearcpuid"), Lasting::NoWord("nosmap")],
        cost: "None.",
        sources: &["kernel 6.1, 7.3 kernel-parameters.txt: nosmap is for powerpc only"],
        ..KNOB
    },
    Knob {
        id: "sec.kvm_nx",
        title: "KVM does not split up huge pages of guests",
        check: Check::Any(&[
            Check::seen(
                "/sys/module/kvm/parameters/nx_huge_pages",
                Want::Word { good: &["N", "never"], bad: &["Y"] },
                CannotBe("this machine is no x86 host of guests (no module kvm)"),
            ),
            Check::seen(
                "/sys/module/kvm/parameters/nx_huge_pages_recovery_ratio",
                Want::ZERO,
                TellsNothing("not shown"),
            ),
        ]),
        why: "To protect against a CPU bug, the host splits executable huge pages of its guests into small pages, and \
            a thread discards these small pages at regular intervals.",
        fix: Fix::prose("echo off > /sys/module/kvm/parameters/nx_huge_pages, where all guests are trusted."),
        persist: &[Lasting::module("kvm nx_huge_pages=off")],
        cost: "A guest can stop a CPU that has the bug.",
        blast: Blast::Disturbing,
        sources: &["kernel 6.1, 6.12, 7.3 arch/x86/kvm/mmu/mmu.c", "tuned profile realtime-virtual-host"],
        ..KNOB
    },
    Knob {
        id: "sec.stackleak",
        title: "The kernel's stack is not wiped at each system call",
        check: Check::sysctl("kernel.stack_erasing", Want::ZERO, CannotBe("this kernel does not wipe its stack")),
        why: "Wiping the stack takes time at the end of every system call, the more the deeper the call went.",
        cost: "Leaks of data from kernel memory become more likely.",
        sources: &[
            "kernel admin-guide/sysctl/kernel.rst: stack_erasing",
            "kernel 6.1, 6.12 kernel/stackleak.c, 7.3 kernel/kstack_erase.c",
        ],
        ..KNOB
    },
    Knob {
        id: "sec.seccomp",
        title: "The application's system calls are not filtered",
        applies: |case| {
            let has_no_filters = case.config("SECCOMP").is_ok_and(|value| value == "n");
            Doubt::not_applicable_if(has_no_filters, "this kernel filters no system calls")?;
            case.take_evidence();
            Ok(())
        },
        check: Check::advice(
            "cannot be seen before the application runs: Seccomp in /proc/PID/status should be 0; 2 means that filters look at \
                each of its system calls",
        ),
        why: "Every system call runs through every filter that was inherited: those of a container, of a unit, of a \
            sandbox.",
        fix: Fix::prose(
            "Start the application without filters: docker run --security-opt seccomp=unconfined, or without \
            SystemCallFilter= in the unit.",
        ),
        persist: &[
            Lasting::unit("SystemCallFilter="),
            Lasting::other("In the container's definition: a seccomp profile of Unconfined"),
        ],
        cost: "One protection less around the program.",
        confidence: Confidence::Medium,
        sources: &["proc_pid_status(5): Seccomp", "kernel 6.12 fs/proc/array.c"],
        ..KNOB
    },
    Knob {
        id: "sec.ssbd",
        title: "Programs started from this shell may read memory ahead of earlier writes",
        check: Check::Probe(|case| match case.status("Speculation_Store_Bypass")?.as_str() {
            "thread force mitigated" | "thread mitigated" | "globally mitigated" => Ok(false),
            "thread vulnerable" | "vulnerable" | "not vulnerable" => Ok(true),
            other => Doubt::unknown(format!("/proc/self/status Speculation_Store_Bypass says '{other}'")),
        }),
        why: "With speculative store bypass disabled for a task, every load waits for earlier stores; kernels \
            before 5.16 did that to whatever had a seccomp filter.",
        fix: Fix::NotAtRunTime(
            "a task for which speculative store bypass was disabled for good cannot enable it again.",
        ),
        persist: &[Lasting::boot(
            "Kernel command line: spec_store_bypass_disable=prctl (the default from 5.16), not seccomp or on",
        )],
        cost: "Speculative store bypass can be exploited.",
        sources: &[
            "kernel 6.12 fs/proc/array.c: Speculation_Store_Bypass",
            "kernel admin-guide/hw-vuln: spec_store_bypass_disable",
        ],
        ..KNOB
    },
];

/// Good if auditing is off. Only netlink shows this for certain. In some cases, the kernel's audit thread or the daemon
/// proves it.
fn auditing(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.flavour()? == Flavour::Evl, "out-of-band threads make no in-band system calls")?;
    if !case.running("sec.audit")?.is_empty() {
        return Ok(false);
    }
    // Kernels before 5.0 start the thread only when it is needed, so its absence proves nothing there.
    let is_old = case.version()? < Version::new(5, 0);
    Doubt::unknown_if(is_old, "only netlink tells whether this kernel audits (auditctl -s)")?;
    if case.tasks(|task| task.is_kernel && task.name == "kauditd")?.is_empty() {
        case.note("kernel thread kauditd", "none");
        return Ok(true);
    }
    Doubt::unknown("the kernel can audit, and only netlink tells whether it does (auditctl -s)")
}

fn mitigations(case: &Case<'_>) -> Result<(), Doubt> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = case.names(folder, CannotBe("this kernel knows of no CPU bugs"))?;
    let mut mitigated = Vec::new();
    for name in names {
        let path = format!("{folder}/{name}");
        let text = case.content(&path, TellsNothing("a bug's state is not shown"))?;
        mitigated.extend(text.starts_with("Mitigation").then_some(name));
    }
    Doubt::not_applicable_if(mitigated.is_empty(), "this CPU needs no mitigation, or all are off")?;
    case.note(folder, format!("mitigated: {}", mitigated.join(", ")));
    Ok(())
}

/// Not applicable on a CPU that does not trap split locks, since only a trapped access is slowed down. Every x86
/// machine has the setting, even without that ability.
fn traps_split_locks(case: &Case<'_>) -> Result<(), Doubt> {
    if case.has_flag("split_lock_detect")? {
        return Ok(());
    }
    case.note("/proc/cpuinfo flags", "no split_lock_detect");
    Doubt::not_applicable("this CPU does not trap split locks")
}

fn smap(case: &Case<'_>) -> Judged {
    case.only_on(Arch::X86, "only x86 has SMAP")?;
    let has_it = case.has_flag("smap")?;
    case.note("/proc/cpuinfo flags", if has_it { "smap" } else { "no smap" });
    Doubt::not_applicable_if(!has_it && !case.requested("clearcpuid"), "this CPU has no SMAP")?;
    Ok(has_it)
}
