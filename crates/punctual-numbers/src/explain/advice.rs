//! From a cause to the knobs of the catalogue that bear on it, and back.
//!
//! The most useful knob stands first in each row. The audit decides whether a knob is bad on the machine at hand.

use super::{Cause, CauseName, Class, Why, WhyCount};

#[cfg(test)]
mod tests;

/// The names of causes to which a row of the advice applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// Names that begin with this word of the kernel (for a worker: its function); all names if the word is empty.
    Begins(&'static str),
    /// Causes named after a kernel worker, in a class other than that of workers.
    Worker,
}

impl Called {
    fn fits(self, name: &CauseName) -> bool {
        match self {
            Self::Begins(word) => name.begins_with(word),
            Self::Worker => matches!(name, CauseName::Worker(_)),
        }
    }
}

/// Causes that a row of the advice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advised {
    pub class: Class,
    pub called: Called,
}

impl Advised {
    /// A cause that the row applies to, as an example for texts.
    pub fn example(self) -> Cause {
        let name = match self.called {
            Called::Begins(word) if self.class == Class::Worker && !word.is_empty() => {
                CauseName::Worker(Some(word.to_owned()))
            }
            Called::Begins(word) => word.into(),
            Called::Worker => CauseName::Worker(None),
        };
        Cause { class: self.class, name }
    }
}

/// Knobs that bear on some causes. If several rows apply to a cause, it gets the knobs of all of them.
struct Advice {
    of: Advised,
    /// Ids of knobs in the catalogue, separated by spaces.
    knobs: &'static str,
}

impl Advice {
    fn knobs(&self) -> impl Iterator<Item = &'static str> {
        self.knobs.split_whitespace()
    }
}

const fn row(class: Class, word: &'static str, knobs: &'static str) -> Advice {
    Advice { of: Advised { class, called: Called::Begins(word) }, knobs }
}

/// The advice. Among the rows of a class, the row that applies to any name comes last.
const ROWS: &[Advice] = &[
    row(Class::Nmi, "perf_event", "wd.nmi trace.perf_users"),
    row(Class::Nmi, "nmi_cpu_backtrace", "wd.backtrace"),
    row(Class::Nmi, "ghes", "ras.ghes fw.ecc_threshold"),
    row(Class::Nmi, "", "wd.nmi trace.perf_users wd.backtrace ras.ghes"),
    row(Class::HardIrq, "irq/", "irq.prio irq.affinity irq.managed"),
    row(Class::HardIrq, "", "irq.affinity irq.irqbalance irq.default irq.managed irq.threadirqs irq.shared"),
    row(Class::TimerCallback, "perf_", "trace.perf_users wd.nmi"),
    row(Class::TimerCallback, "watchdog_timer_fn", "wd.soft wd.cpumask"),
    row(Class::TimerCallback, "sched_rt_period_timer", "sched.rt_runtime sched.rt_group"),
    row(Class::TimerCallback, "dl_", "sched.deadline sched.fair_server"),
    row(Class::TimerCallback, "hrtimer_wakeup", "svc.timers leftovers tick.timer_migration iso.cpuset"),
    row(Class::TimerCallback, "", "tick.timer_migration cpu.hotplug_dance leftovers iso.domain"),
    row(Class::TimerInterrupt, "", "iso.nohz_full tick.stopped tick.skew agree.tick clk.tsc_deadline"),
    row(Class::Ipi, "reschedule", "irq.spurious_ipi sched.domains proc.affinity"),
    row(Class::Ipi, "IRQ work", "trace.perf_users trace.active log.console"),
    row(Class::Ipi, "flush_tlb", "irq.spurious_ipi mem.numa mem.ksm mem.compact sched.numa_balancing"),
    row(Class::Ipi, "do_sync_core", "trace.active trace.bpf sched.stats irq.spurious_ipi"),
    row(Class::Ipi, "", "irq.spurious_ipi rcu.normal trace.active ras.mce net.rps"),
    row(Class::Vector, "thermal", "pm.thermal pm.cooling fw.cooling"),
    row(Class::Vector, "machine check", "ras.cmci ras.mce fw.ecc_threshold"),
    row(Class::Vector, "APIC error", "irq.fixup"),
    row(Class::Vector, "", "virt.guest_load irq.spurious_ipi"),
    row(Class::Softirq, "TIMER", "tick.timer_migration cpu.hotplug_dance iso.nohz_full net.eee"),
    row(Class::Softirq, "ktimer", "tick.timer_migration kthr.prio"),
    row(Class::Softirq, "HRTIMER", "leftovers tick.timer_migration"),
    row(Class::Softirq, "NET_", "net.napi_thread irq.affinity net.rps net.queues net.rfs"),
    row(Class::Softirq, "BLOCK", "blk.rq_affinity irq.affinity"),
    row(Class::Softirq, "RCU", "iso.rcu_nocbs rcu.use_softirq agree.rcu kconf.rcu_lazy"),
    row(Class::Softirq, "SCHED", "iso.domain sched.domains iso.nohz_full"),
    row(Class::Softirq, "TASKLET", "irq.affinity irq.threadirqs"),
    row(Class::Softirq, "ksoftirqd", "kthr.prio irq.affinity net.napi_thread"),
    row(Class::Softirq, "", "irq.affinity irq.threadirqs kthr.affinity"),
    row(Class::HigherPriority, "rcu", "rcu.kthread_prio iso.rcu_nocbs"),
    row(Class::HigherPriority, "watchdog", "wd.soft wd.cpumask"),
    row(Class::HigherPriority, "stalld", "sched.stalld"),
    row(
        Class::HigherPriority,
        "",
        "proc.policy proc.affinity sched.deadline lim.rtprio_max kthr.prio svc.priority agree.owners_priorities sched.stalld",
    ),
    row(Class::SamePriority, "", "sched.rr proc.policy proc.affinity leftovers iso.cpuset"),
    row(
        Class::StopMachine,
        "",
        "irq.spurious_ipi wd.soft sched.domains sched.numa_balancing proc.affinity trace.probes",
    ),
    row(Class::Worker, "vmstat", "mem.stat_interval wq.unbound"),
    row(Class::Worker, "flush_to_ldisc", "log.console wq.affinity_scope"),
    row(Class::Worker, "wb_workfn", "wq.unbound mem.dirty wq.named"),
    row(
        Class::Worker,
        "",
        "wq.unbound wq.named wq.power_efficient wq.isolated agree.workqueues kconf.preempt dyn.preempt",
    ),
    row(Class::PreemptOff, "", "dyn.preempt kconf.preempt kconf.flavour leftovers iso.domain iso.cpuset"),
    row(Class::IrqOff, "idle", "pm.idle_driver pm.idle_state"),
    Advice {
        of: Advised { class: Class::IrqOff, called: Called::Worker },
        knobs: "log.console wq.unbound kconf.debug_heavy",
    },
    row(Class::IrqOff, "", "log.console log.nbcon kconf.flavour leftovers iso.domain trace.active kconf.debug_heavy"),
    row(
        Class::IdleExit,
        "",
        "pm.qos_percpu pm.qos_global pm.idle_state pm.haltpoll pm.idle_usage fw.cstates fw.package_cstate fw.c1e",
    ),
    row(
        Class::WakeUp,
        "",
        "sched.psi sched.stats sched.features kconf.debug_preempt kconf.context_tracking trace.active kconf.irqsoff_tracer",
    ),
    row(Class::OwnPath, "", "sec.audit sec.seccomp sec.mitigations sec.stackleak clk.timer_slack cache.l3 cpu.smt"),
    row(
        Class::PageFault,
        "",
        "mem.lock lim.memlock mem.swap mem.thp mem.thp_defrag sched.numa_balancing mem.ksm mem.compact",
    ),
    row(
        Class::Throttled,
        "",
        "sched.rt_runtime sched.fair_server lim.cpu_max sched.rt_group agree.throttling sched.ext_server",
    ),
    // No knob helps: a program is stopped on purpose, by a signal or a debugger.
    row(Class::Stopped, "", ""),
    row(Class::Migration, "", "proc.affinity sched.domains iso.cpuset sched.numa_balancing"),
    row(Class::Frequency, "throttled", "pm.thermal pm.cooling pm.rapl fw.cooling"),
    row(Class::Frequency, "", "pm.governor pm.freq_pin pm.turbo pm.epp_epb pm.rapl pm.limits fw.bios_limit"),
    row(Class::Firmware, "", "fw.smi_count fw.usb_legacy ras.ghes fw.ecc_threshold fw.hwlat fw.tcc fw.secure"),
    row(Class::Hypervisor, "", "virt.steal virt.vcpu virt.hints virt.detect virt.timer_advance pm.haltpoll"),
    row(Class::Paused, "", "virt.detect virt.vcpu pm.sleep_targets"),
    row(Class::Unexplained, "", "fw.hwlat fw.smi_counter kconf.tracers virt.steal"),
];

/// Knobs that bear on a cause, the most useful first. A managed interrupt cannot be moved to another CPU, so options of
/// its driver come first.
pub fn knobs(cause: &Cause, why: &[WhyCount]) -> Vec<&'static str> {
    let managed = why.iter().any(|one| one.why == Why::Managed);
    let first: &[&str] = if managed { &["irq.managed", "net.queues"] } else { &[] };
    let fits = |row: &&Advice| row.of.class == cause.class && row.of.called.fits(&cause.name);
    let mut knobs: Vec<&'static str> = Vec::new();
    for knob in first.iter().copied().chain(ROWS.iter().filter(fits).flat_map(Advice::knobs)) {
        if !knobs.contains(&knob) {
            knobs.push(knob);
        }
    }
    knobs
}

pub fn causes(knob: &str) -> Vec<Advised> {
    ROWS.iter().filter(|row| row.knobs().any(|one| one == knob)).map(|row| row.of).collect()
}
