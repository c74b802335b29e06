//! Rules about single words, as data: under which conditions a word does harm, does nothing, or has another effect than
//! most people believe.
//!
//! The first rule that matches applies. A rule applies only if the kernel takes the word at all, unless `is_always` is
//! set.

use super::WordVerdict::{self, Clamped, Harmful, Inert, RejectedValue, Unknown};
use super::choices::integer;
use super::values::cpu_list;
use super::{Target, words};
use crate::cmdline::Token;
use crate::machine::{Arch, Flavour, Version};

/// A condition on a word, on the kernel, or on the other words of the line.
#[derive(Clone, Copy, Debug)]
pub(super) enum If {
    Is(&'static [&'static str]),
    /// The word has a value, but none of the listed values.
    IsNot(&'static [&'static str]),
    NoValue,
    HasValue,
    /// Flags stand before the list of CPUs.
    HasFlags,
    LacksFlags,
    /// This flag is not among the flags before the list of CPUs.
    LacksFlag(&'static str),
    /// The value is a number in which this bit is 0.
    BitClear(u32),
    Rt,
    NotRt,
    Cobalt,
    Evl,
    X86,
    Arm64,
    /// The kernel has at least this version.
    From(u32, u32),
    /// The kernel is older than this version.
    Before(u32, u32),
    /// The line also has this word with this value.
    Beside(&'static str),
    /// The line has no word of this name.
    Without(&'static str),
}

/// A rule about one word, which applies if all its conditions hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    word: &'static str,
    when: &'static [If],
    /// The verdict; `None` leaves the verdict to the tables and the evidence.
    pub(super) verdict: Option<WordVerdict>,
    pub(super) is_trap: bool,
    /// Whether the rule applies even if the tables say that the kernel does not take the word.
    pub(super) is_always: bool,
    pub(super) why: &'static str,
    pub(super) instead: Option<&'static str>,
    pub(super) sources: &'static [&'static str],
}

const fn rule(word: &'static str, when: &'static [If], verdict: WordVerdict, why: &'static str) -> Rule {
    let verdict = Some(verdict);
    // A rule that calls a word unknown has to apply although the kernel does not take the word.
    let is_always = matches!(verdict, Some(Unknown));
    Rule { word, when, verdict, is_trap: false, is_always, why, instead: None, sources: &[] }
}

const fn note(word: &'static str, when: &'static [If], why: &'static str) -> Rule {
    Rule { word, when, verdict: None, is_trap: false, is_always: false, why, instead: None, sources: &[] }
}

const fn trap(word: &'static str, when: &'static [If], why: &'static str) -> Rule {
    Rule { is_trap: true, ..note(word, when, why) }
}

impl Rule {
    const fn always(self) -> Self {
        Self { is_always: true, ..self }
    }

    const fn instead(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }

    const fn from(self, sources: &'static [&'static str]) -> Self {
        Self { sources, ..self }
    }

    fn fits(&self, token: &Token, target: &Target, line: &[Token]) -> bool {
        self.word == token.name && self.when.iter().all(|condition| condition.holds(token, target, line))
    }
}

impl If {
    fn holds(self, token: &Token, target: &Target, line: &[Token]) -> bool {
        let value = token.value.as_deref();
        let others = || line.iter().filter(|other| !other.is_for_init);
        match self {
            Self::Is(values) => value.is_some_and(|v| values.contains(&v)),
            Self::IsNot(values) => value.is_some_and(|v| !values.contains(&v)),
            Self::NoValue => value.is_none(),
            Self::HasValue => value.is_some(),
            Self::HasFlags => value.is_some_and(|v| !cpu_list(v).flags.is_empty()),
            Self::LacksFlags => value.is_some_and(|v| cpu_list(v).flags.is_empty()),
            Self::LacksFlag(flag) => value.is_some_and(|v| !cpu_list(v).flags.contains(&flag)),
            Self::BitClear(bit) => value.and_then(integer).is_some_and(|n| n & (1 << bit) == 0),
            Self::Rt => target.flavour == Flavour::Rt,
            Self::NotRt => target.flavour != Flavour::Rt,
            Self::Cobalt => target.flavour == Flavour::Cobalt,
            Self::Evl => target.flavour == Flavour::Evl,
            Self::X86 => target.arch == Arch::X86,
            Self::Arm64 => target.arch == Arch::Arm64,
            Self::From(major, minor) => target.version >= Version::new(major, minor),
            Self::Before(major, minor) => target.version < Version::new(major, minor),
            Self::Beside(word) => {
                let wanted = words(word.as_bytes());
                wanted.iter().all(|w| others().any(|o| o.name == w.name && o.value == w.value))
            }
            Self::Without(name) => !others().any(|other| other.name == name),
        }
    }
}

pub(super) fn find(token: &Token, target: &Target, line: &[Token], is_taken: bool) -> Option<&'static Rule> {
    RULES.iter().find(|rule| (is_taken || rule.is_always) && rule.fits(token, target, line))
}

#[rustfmt::skip]
const RULES: &[Rule] = &[
    // Words that isolate CPUs.
    trap("isolcpus", &[If::HasFlags, If::LacksFlag("domain")],
        "without the flag domain, the scheduler still moves tasks to these CPUs, unless a cpuset partition prevents it")
        .instead("isolcpus=managed_irq,domain,LIST").from(&["kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c: housekeeping_isolcpus_setup"]),
    note("isolcpus", &[If::LacksFlags, If::Before(7, 0), If::Without("nohz_full")],
        "managed interrupts still go to these CPUs, and up to 6.12 only nohz_full= keeps unbound kernel threads off \
        these CPUs")
        .instead("isolcpus=managed_irq,domain,LIST").from(&["kernel 6.1, 6.12 kernel/sched/isolation.c, kernel/kthread.c"]),
    note("isolcpus", &[If::LacksFlags], "managed interrupts still go to these CPUs; a cpuset partition isolates CPUs in the same way at run time")
        .instead("isolcpus=managed_irq,domain,LIST").from(&["kernel 7.3 kernel/sched/isolation.c", "kernel 7.3 admin-guide/cpu-isolation.rst"]),
    note("isolcpus", &[If::Before(7, 0), If::Without("nohz_full")],
        "up to 6.12 only nohz_full= keeps unbound kernel threads off these CPUs")
        .from(&["kernel 6.1, 6.12 kernel/sched/isolation.c, kernel/kthread.c"]),
    note("isolcpus", &[], "a cpuset partition does at run time what the flag domain does")
        .from(&["kernel 7.3 admin-guide/cpu-isolation.rst"]),
    trap("nohz_full", &[If::From(7, 0), If::Without("isolcpus")],
        "from 7.x on, this word alone no longer keeps kernel threads and work queues off its CPUs, only domain \
        isolation does; and for periodic work, the kernel's guide advises against nohz_full=")
        .instead("isolcpus=managed_irq,domain,LIST, or a cpuset partition")
        .from(&["kernel 7.3 kernel/sched/isolation.c", "kernel 7.3 core-api/real-time/kernel-configuration.rst"]),
    trap("nohz_full", &[If::Beside("nohz=off")],
        "nohz=off keeps every tick, so these CPUs keep ticking, but still pay for context tracking at each entry into \
        the kernel")
        .instead("nohz_full= or nohz=off, not both").from(&["kernel 6.1, 6.12, 7.3 kernel/time/tick-sched.c"]),
    note("nohz_full", &[], "for periodic work the kernel's guide advises against it")
        .from(&["kernel 7.3 core-api/real-time/kernel-configuration.rst"]),
    note("rcu_nocbs", &[If::HasValue], "nohz_full= does the same for its CPUs; if the list is malformed, the kernel offloads the RCU callbacks of all CPUs")
        .from(&["kernel 7.3 kernel/rcu/tree_nocb.h"]),
    trap("rcu_nocb_poll", &[If::HasValue],
        "it takes no value: with 0 too, the threads that run RCU callbacks poll all the time, which costs energy")
        .instead("rcu_nocb_poll, or rather nothing").from(&["kernel 6.1, 6.12, 7.3 kernel/rcu/tree_nocb.h"]),
    note("rcu_nocb_poll", &[], "the threads that run RCU callbacks then poll all the time; all it saves is a wake-up by the real-time CPU")
        .from(&["kernel 6.1, 6.12, 7.3 kernel/rcu/tree_nocb.h"]),
    note("rcupdate.rcu_cpu_stall_suppress", &[If::Is(&["1"])], "it hides reports of stalls; leave them on while you \
        bring a machine up")
        .from(&["kernel 7.3 kernel/rcu/tree_stall.h"]),
    rule("rcupdate.rcu_expedited", &[If::Is(&["1"])], Harmful,
        "expedited grace periods interrupt every busy CPU; the kernel's own documentation says they degrade real-time latency")
        .instead("rcupdate.rcu_normal_after_boot=1").from(&["kernel kernel-parameters.txt: rcupdate.rcu_expedited"]),
    note("irqaffinity", &[], "the boot CPU is always included; managed interrupts do not follow this list")
        .from(&["kernel/irq/irqdesc.c"]),
    rule("kthread_cpus", &[], Unknown, "a patch of vendors; kernels from kernel.org never had it")
        .instead("isolcpus=managed_irq,domain,LIST and nohz_full=LIST").from(&["kernel 6.1, 6.12, 7.3: no such name"]),
    rule("workqueue.cpumask", &[If::From(6, 12)], Unknown, "there is no such parameter, and the kernel does not report \
        it because the name has a dot")
        .instead("workqueue.unbound_cpus=LIST").from(&["kernel 6.12, 7.3 kernel/workqueue.c"]),
    rule("workqueue.cpumask", &[], Unknown, "there is no such parameter, and the kernel does not report it because the \
        name has a dot")
        .instead("write the mask to /sys/devices/virtual/workqueue/cpumask").from(&["kernel 6.1 kernel/workqueue.c"]),

    // Words about interrupts.
    rule("irqpoll", &[If::Rt], Inert, "PREEMPT_RT refuses it, with a warning in the log")
        .instead("nothing; find the device whose interrupt gets lost").from(&["kernel 6.1, 6.12, 7.3 kernel/irq/spurious.c"]),
    rule("irqfixup", &[If::Rt], Inert, "PREEMPT_RT refuses it, with a warning in the log")
        .instead("nothing; find the device whose interrupt gets lost").from(&["kernel 6.1, 6.12, 7.3 kernel/irq/spurious.c"]),
    rule("irqpoll", &[], Harmful, "every interrupt handler is called at every tick, and on every interrupt that no \
        handler claims")
        .instead("find the device whose interrupt gets lost").from(&["kernel/irq/spurious.c"]),
    rule("threadirqs", &[If::Rt], Inert, "PREEMPT_RT forces threaded interrupts and does not even know the word")
        .always().instead("nothing").from(&["kernel 6.1, 6.12, 7.3 kernel/irq/manage.c"]),
    rule("acpi_irq_nobalance", &[], Inert,
        "it only says how PCI interrupts are routed to the lines of old interrupt controllers (PIC), and is the \
        default there")
        .instead("nothing; stop and disable the service irqbalance").from(&["kernel drivers/acpi/pci_link.c"]),
    rule("noirqbalance", &[], Unknown, "the balancer that it switched off was removed from the kernel many years ago")
        .instead("nothing; stop and disable the service irqbalance").from(&["kernel 6.1, 6.12, 7.3: no such name"]),

    // Words about SMT and features of the CPU.
    rule("nosmt", &[If::Arm64, If::Before(6, 13)], Unknown, "kernels for arm64 cannot switch SMT off at boot up to 6.12; 7.3 can")
        .instead("echo 0 > /sys/devices/system/cpu/cpuN/online for the second thread of each core, on chips with SMT")
        .from(&["kernel 6.1, 6.12, 7.3 arch/arm64/Kconfig: HOTPLUG_SMT"]),
    rule("noht", &[], Unknown, "a parameter of kernels 2.4 and early 2.6").instead("nosmt").from(&["kernel 6.1, 6.12, 7.3: no such name"]),
    rule("nohalt", &[], Unknown, "a word of Itanium, whose support was removed").instead("nothing").from(&["kernel 6.1, 6.12, 7.3: no such name"]),
    rule("nosmap", &[If::X86], Unknown, "removed from x86 in 2022; it was a security hole in any case")
        .instead("nothing").from(&["kernel 6.1, 6.12, 7.3 arch/x86: no such name"]),
    rule("mitigations", &[If::Is(&["off"])], Harmful,
        "it opens the machine to attacks by any program, and seldom improves the worst case")
        .instead("mitigations=auto").from(&["kernel admin-guide/hw-vuln"]),

    trap("nosmt", &[If::IsNot(&["force"])],
        "any value switches SMT off, 0 as well; only force means something else")
        .instead("nosmt, or without the word").from(&["kernel kernel/cpu.c: smt_cmdline_disable"]),

    // Words that take no value: the kernel ignores any value they have.
    trap("threadirqs", &[If::HasValue], "it takes no value: with 0 or off too, interrupts become threads")
        .instead("threadirqs, or without the word").from(&["kernel kernel/irq/manage.c: setup_forced_irqthreads"]),
    trap("nosoftlockup", &[If::HasValue], "it takes no value: with 0 too, the watchdog of soft lockups is off")
        .instead("nosoftlockup, or without the word").from(&["kernel kernel/watchdog.c: nosoftlockup_setup"]),
    trap("nowatchdog", &[If::HasValue], "it takes no value: with 0 too, all watchdogs are off")
        .instead("nowatchdog, or without the word").from(&["kernel kernel/watchdog.c: nowatchdog_setup"]),

    // Words that remove what real-time work needs.
    rule("highres", &[If::Is(&["off", "0", "n", "no"])], Harmful,
        "without high-resolution timers a sleep ends at the next tick: up to 10 ms late")
        .instead("nothing").from(&["kernel kernel/time/hrtimer.c: setup_hrtimer_hres"]),
    rule("notsc", &[If::X86], Harmful,
        "the kernel then treats the time-stamp counter as unstable, and each reading of the clock accesses a device, \
        which takes about a microsecond")
        .instead("nothing, or tsc=nowatchdog if the kernel doubts the counter \
            wrongly").from(&["kernel arch/x86/kernel/tsc.c: notsc_setup"]),
    rule("acpi", &[If::X86, If::Is(&["off", "ht"])], Harmful,
        "without ACPI the kernel does not know the routing of interrupts, idle states and frequencies, and often finds \
        only one CPU")
        .instead("nothing").from(&["kernel arch/x86/kernel/acpi/boot.c: parse_acpi"]),
    rule("noapic", &[If::X86], Harmful,
        "without the I/O APIC all devices share the 16 lines of the old controller, and all interrupts go to CPU 0")
        .instead("nothing").from(&["kernel arch/x86/kernel/apic/io_apic.c: parse_noapic"]),
    rule("nolapic", &[If::X86], Harmful,
        "without local APICs the kernel uses one CPU only, and that CPU has no timer of its own")
        .instead("nothing").from(&["kernel arch/x86/kernel/apic/apic.c: setup_nolapic"]),
    rule("nolapic_timer", &[If::X86], Harmful,
        "without a timer in each CPU, one timer serves all CPUs by interrupts between them, and timers expire late")
        .instead("nothing").from(&["kernel arch/x86/kernel/apic/apic.c: parse_nolapic_timer"]),
    rule("elevator", &[If::From(5, 0)], Inert,
        "the I/O scheduler is no longer chosen at boot; the kernel ignores the word, and newer kernels report this")
        .instead("a udev rule that writes to /sys/block/DEVICE/queue/scheduler").from(&["kernel block/elevator.c: elevator_setup"]),

    // Words that only kernels from a certain version on have.
    rule("preempt", &[If::Before(5, 12)], Unknown, "kernels choose their preemption at boot from 5.12 on")
        .instead("a kernel that is built with the preemption mode that you \
            want").from(&["kernel commit 826bfeb37bb4 (5.12)"]),
    rule("amd_pstate", &[If::Before(5, 17)], Unknown, "the driver amd-pstate came with 5.17")
        .instead("the performance governor of acpi-cpufreq").from(&["kernel commit ec437d71db77 (5.17)"]),
    rule("rcu_nocbs", &[If::NoValue, If::Before(5, 17)], Unknown, "this kernel needs a list of CPUs after it")
        .instead("rcu_nocbs=LIST").from(&["kernel 5.10, 5.15 kernel/rcu/tree_plugin.h: rcu_nocb_setup"]),

    // Words about machine checks.
    rule("mce", &[If::Is(&["off"])], Harmful, "an uncorrectable error of the memory or a CPU is then not handled at all")
        .instead("write 0 to /sys/devices/system/machinecheck/machinecheck0/check_interval").from(&["kernel arch/x86/kernel/cpu/mce/core.c"]),
    note("mce", &[If::Is(&["ignore_ce"])], "it hides corrected errors; check_interval=0 in sysfs only stops the polling")
        .from(&["kernel arch/x86/kernel/cpu/mce/core.c"]),

    // Words of second kernels (Cobalt and EVL).
    rule("xenomai.supported_cpus", &[If::Cobalt, If::BitClear(0)], RejectedValue, "Cobalt switches itself off if CPU 0 is missing (from 3.2)")
        .instead("a mask with bit 0 set: CPUs 0, 2 and 3 are 0x0d").from(&["Xenomai 3.2, 3.3 kernel/cobalt/init.c"]),
    note("xenomai.supported_cpus", &[If::Cobalt], "a mask, not a list: 0x0d is CPUs 0, 2 and 3").from(&["Xenomai 3.3 kernel/cobalt/init.c"]),
    rule("xenomai.smi_mask", &[If::Cobalt, If::Without("xenomai.smi")], Inert, "the mask is used with xenomai.smi=enabled only")
        .instead("nothing").from(&["Xenomai 3.3 kernel/cobalt/arch/x86/smi.c"]),
    rule("xenomai.smi_mask", &[If::Cobalt, If::Beside("xenomai.smi=detect")], Inert, "the mask is used with xenomai.smi=enabled only")
        .instead("nothing").from(&["Xenomai 3.3 kernel/cobalt/arch/x86/smi.c"]),
    rule("xenomai.smi", &[If::Cobalt, If::Is(&["detect"])], Inert, "detect is the default, and only warns")
        .instead("nothing").from(&["Xenomai 3.3 kernel/cobalt/arch/x86/smi.c"]),
    note("xenomai.allowed_group", &[If::Cobalt], "a group with this number (GID) must exist").from(&["Xenomai 3.3 kernel/cobalt/posix/process.c"]),
    rule("xenomai.state", &[If::Cobalt, If::Is(&["disabled", "stopped"])], Harmful, NOT_STARTED)
        .instead("xenomai.state=enabled, or without the word").from(&["Xenomai 3.3 kernel/cobalt/init.c"]),
    rule("evl.state", &[If::Evl, If::Is(&["disabled", "stopped"])], Harmful, NOT_STARTED)
        .instead("evl.state=enabled, or without the word").from(&["EVL 6.10 kernel/evl/init.c"]),
    rule("evl.oob_cpus", &[], Unknown, "the parameter is called evl.oobcpus in the code").instead("evl.oobcpus=LIST").from(&["EVL 6.10 kernel/evl"]),

    // Words about graphics.
    rule("i915.enable_rc6", &[], Unknown, "removed from i915 in about 4.16; the driver reports this when it is loaded")
        .instead("pin the frequency: equal gt_min_freq_mhz and gt_max_freq_mhz in sysfs").from(&["kernel commit fb6db0f5bf1d"]),
    rule("i915.enable_execlists", &[], Unknown, "removed from i915; it was for the ring buffers of Gen8").instead("nothing").from(&["kernel 6.1, 6.12, 7.3 drivers/gpu/drm/i915/i915_params.c"]),
    rule("i915.powersave", &[], Unknown, "removed from i915").instead("nothing").from(&["kernel 6.1, 6.12, 7.3 drivers/gpu/drm/i915/i915_params.c"]),
    note("i915.disable_power_well", &[If::Is(&["0"])], "0 keeps the power wells on").from(&["kernel i915_params.c"]),
    note("i915.enable_dc", &[], "the kernel calls it unsafe and taints itself").from(&["kernel i915_params.c"]),

    // Words about the CPU frequency.
    trap("cpufreq.off", &[If::Is(&["1"])],
        "the CPU then keeps the frequency that the firmware set; if the hardware chooses the frequency, it continues \
        to do so")
        .instead("the performance governor").from(&["kernel drivers/cpufreq/cpufreq.c", "kernel 7.3 core-api/real-time/kernel-configuration.rst"]),
    rule("intel_pstate", &[If::Is(&["disable"]), If::Beside("cpufreq.off=1")], Inert, "with cpufreq.off=1, no driver \
        is used in any case")
        .instead("one of the two").from(&["kernel drivers/cpufreq/intel_pstate.c, cpufreq.c"]),

    // Words about idle states.
    rule("intel_idle.max_cstate", &[If::X86, If::Beside("idle=poll")], Inert, "with idle=poll, no idle state is \
        entered")
        .instead("nothing").from(&["kernel arch/x86/kernel/process.c"]),
    trap("intel_idle.max_cstate", &[If::Is(&["0"]), If::Without("processor.max_cstate")],
        "0 keeps intel_idle from loading, and acpi_idle takes over, which may sleep deeper")
        .instead("intel_idle.max_cstate=1 processor.max_cstate=1, or the latency limit of PM QoS at run time").from(&["kernel drivers/idle/intel_idle.c", "kernel admin-guide/pm/intel_idle.rst"]),
    rule("processor.max_cstate", &[If::X86, If::Beside("idle=poll")], Inert, "with idle=poll, no idle state is entered")
        .instead("nothing").from(&["kernel arch/x86/kernel/process.c"]),
    rule("processor.max_cstate", &[If::Arm64], Inert, "on arm64, ACPI describes idle states in another way (_LPI), \
        which this word does not limit")
        .instead("the latency limit of PM QoS at run time").from(&["kernel 6.1, 6.12, 7.3 drivers/acpi/processor_idle.c: acpi_processor_setup_lpi_states"]),
    rule("processor.max_cstate", &[If::Is(&["0"])], Clamped, "the driver changes 0 to 1")
        .instead("processor.max_cstate=1").from(&["kernel drivers/acpi/processor_idle.c"]),
    rule("processor_idle.max_cstate", &[], Unknown, "processor_idle is the name of a file; the module is called processor")
        .instead("processor.max_cstate=1").from(&["kernel drivers/acpi/Makefile"]),
    rule("intel.max_cstate", &[], Unknown, "there never was a module of that name").instead("intel_idle.max_cstate=1").from(&["kernel 6.1, 6.12, 7.3: no such module"]),
    rule("idle", &[If::X86, If::Is(&["halt", "nomwait"]), If::Beside("idle=poll")], Inert,
        "it does not undo idle=poll, wherever that is on the line, and with idle=poll no idle state is entered")
        .instead("one of the two").from(&["kernel 6.1, 6.12, 7.3 arch/x86/kernel/process.c: idle_setup"]),
    note("idle", &[If::X86, If::Is(&["poll"])], "no CPU ever sleeps, which causes heat, prevents turbo, and keeps the \
        sibling threads of cores busy")
        .from(&["kernel admin-guide/pm/cpuidle.rst"]),

    // Words about clocks.
    note("tsc", &[If::Is(&["reliable"])], "only right if the TSC is invariant; real-time work needs tsc=nowatchdog")
        .from(&["kernel arch/x86/kernel/tsc.c"]),
    note("hpet", &[If::Is(&["disable"])], "it removes the reference clock against which the TSC is checked").from(&["kernel arch/x86/kernel/hpet.c"]),
    trap("clocksource", &[If::X86, If::Is(&["hpet", "acpi_pm"])],
        "each reading of the clock then needs a system call and accesses a device outside the CPU, which takes about a \
        microsecond, and longer if several CPUs do so")
        .instead("nothing; clocksource=tsc if the TSC is good but the kernel doubts it").from(&["kernel drivers/clocksource/acpi_pm.c, arch/x86/kernel/hpet.c"]),
    note("clocksource", &[If::Is(&["tsc"])], "the default if the TSC is good").from(&["kernel arch/x86/kernel/tsc.c"]),

    // Words about the scheduler.
    trap("sysctl.kernel.sched_rt_runtime_us", &[If::From(6, 12), If::Is(&["-1"])],
        "from 6.12 on, -1 no longer keeps ordinary tasks from taking time away from real-time tasks: the fair server \
        reserves time for ordinary tasks")
        .instead("0 in /sys/kernel/debug/sched/fair_server/cpuN/runtime, with care").from(&["kernel 6.12, 7.3 kernel/sched/deadline.c, debug.c"]),

    // Words about watchdogs.
    note("nosoftlockup", &[], "the sysctl kernel.watchdog_cpumask can keep the watchdogs off the real-time CPUs").from(&["kernel/watchdog.c"]),
    note("nmi_watchdog", &[If::Is(&["0"])], "the sysctl kernel.watchdog_cpumask can keep the watchdogs off the real-time CPUs").from(&["kernel/watchdog.c"]),

    // Words about PCI links and memory.
    trap("pcie_aspm", &[If::Is(&["off"])], "it only stops Linux from touching link power states: what the firmware enabled stays enabled")
        .instead("pcie_aspm.policy=performance").from(&["kernel drivers/pci/pcie/aspm.c: pcie_no_aspm"]),
    note("numa_balancing", &[If::NotRt], "matters only with more than one memory node").from(&["kernel mm/mempolicy.c"]),
    note("hugepages", &[], "huge pages are of use only to programs that ask for them").from(&["kernel admin-guide/mm/hugetlbpage.rst"]),
    note("audit", &[If::Is(&["0"])], "it switches auditing off, which company rules may require").from(&["kernel/audit.c"]),
];

const NOT_STARTED: &str = "the core then does not run after boot, and nothing that needs it starts";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_says_why_and_where_from() {
        for rule in RULES {
            assert!(!rule.why.is_empty() && !rule.sources.is_empty(), "{}", rule.word);
            assert_eq!(rule.word, rule.word.replace('-', "_"));
            assert!(!rule.why.contains("  "), "{}", rule.why);
            let is_good =
                !matches!(rule.verdict, Some(Harmful | Unknown | RejectedValue | Inert | Clamped)) && !rule.is_trap;
            assert!(is_good || rule.instead.is_some(), "{} has nothing better", rule.word);
        }
    }
}
