//! Which events of the kernel's trace are understood, and which of their fields are read.
//!
//! Names only: sizes and offsets are the business of a kernel's `format` files. Whoever enables events goes by this list.

use super::{NoiseKind, Rung, Vector};

/// An event worth recording.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its group: the folder below `events`.
    pub group: &'static str,
    /// Its name: the folder below that.
    pub name: &'static str,
    /// Whether every kernel should have it, of any architecture, from 4.19 on. One that lacks it is blind for something.
    pub everywhere: bool,
    /// [`Rung::Tracefs`]: wanted always. [`Rung::Timerlat`]: wanted beside the others where that tracer runs.
    pub rung: Rung,
    /// The other half, of the same group, where it says that something began or ended: both must be enabled, or none.
    pub pair: Option<&'static str>,
    /// Whether it has a file `enable`. What a tracer writes by itself has none.
    pub switchable: bool,
    pub(super) shape: Shape,
    /// Fields that must be numbers, in the order in which the shape takes them.
    pub(super) numbers: &'static [&'static str],
    /// Fields that must be bytes.
    pub(super) texts: &'static [&'static str],
}

impl Wanted {
    /// As `set_event` takes it: `group:name`.
    pub fn path(&self) -> String {
        format!("{}:{}", self.group, self.name)
    }
}

/// How numbers and bytes of an event become a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Switch,
    Waking,
    Migrate,
    Boost,
    IrqEntry,
    IrqExit,
    SoftirqEntry,
    SoftirqExit,
    SoftirqRaise,
    VectorEntry(Vector),
    VectorExit(Vector),
    HrtimerStart,
    HrtimerEntry,
    HrtimerExit,
    TimerEntry,
    TimerExit,
    Nmi,
    WorkStart,
    WorkEnd,
    CallEntry,
    CallExit,
    /// To one CPU: CPU, from where, what for.
    IpiSend,
    /// To a set of CPUs: from where and what for, where it is said.
    IpiSet,
    Idle,
    Frequency,
    /// In user mode or not.
    Fault(bool),
    Noise(NoiseKind),
    Timerlat,
}

const fn event(group: &'static str, name: &'static str, shape: Shape, numbers: &'static [&'static str]) -> Wanted {
    let (rung, switchable) = (Rung::Tracefs, true);
    Wanted { group, name, everywhere: true, rung, pair: None, switchable, shape, numbers, texts: &[] }
}

impl Wanted {
    const fn texts(self, texts: &'static [&'static str]) -> Self {
        Self { texts, ..self }
    }

    /// Not on every kernel.
    const fn maybe(self) -> Self {
        Self { everywhere: false, ..self }
    }

    const fn pair(self, other: &'static str) -> Self {
        Self { pair: Some(other), ..self }
    }

    const fn of_timerlat(self) -> Self {
        Self { rung: Rung::Timerlat, everywhere: false, ..self }
    }

    const fn unswitchable(self) -> Self {
        Self { switchable: false, ..self }
    }
}

const fn vector(entry: &'static str, exit: &'static str, vector: Vector) -> [Wanted; 2] {
    [
        event("irq_vectors", entry, Shape::VectorEntry(vector), &[]).pair(exit).maybe(),
        event("irq_vectors", exit, Shape::VectorExit(vector), &[]).pair(entry).maybe(),
    ]
}

/// All events that are understood.
pub const EVENTS: &[Wanted] = &concatenated();

const COUNT: usize = PLAIN.len() + 2 * VECTORS.len();

const fn concatenated() -> [Wanted; COUNT] {
    let mut all = [PLAIN[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = if at < PLAIN.len() {
            PLAIN[at]
        } else {
            let at = at - PLAIN.len();
            VECTORS[at / 2][at % 2]
        };
        at += 1;
    }
    all
}

const VECTORS: &[[Wanted; 2]] = &[
    vector("local_timer_entry", "local_timer_exit", Vector::LocalTimer),
    vector("reschedule_entry", "reschedule_exit", Vector::Reschedule),
    vector("call_function_entry", "call_function_exit", Vector::CallFunction),
    vector("call_function_single_entry", "call_function_single_exit", Vector::CallFunctionSingle),
    vector("irq_work_entry", "irq_work_exit", Vector::IrqWork),
    vector("thermal_apic_entry", "thermal_apic_exit", Vector::Thermal),
    vector("threshold_apic_entry", "threshold_apic_exit", Vector::MachineCheck),
    vector("deferred_error_apic_entry", "deferred_error_apic_exit", Vector::MachineCheck),
    vector("x86_platform_ipi_entry", "x86_platform_ipi_exit", Vector::Platform),
    vector("error_apic_entry", "error_apic_exit", Vector::Error),
    vector("spurious_apic_entry", "spurious_apic_exit", Vector::Error),
];

const PLAIN: &[Wanted] = &[
    event("sched", "sched_switch", Shape::Switch, &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"])
        .texts(&["prev_comm", "next_comm"]),
    event("sched", "sched_waking", Shape::Waking, &["pid", "prio", "target_cpu"]).texts(&["comm"]),
    event("sched", "sched_migrate_task", Shape::Migrate, &["pid", "orig_cpu", "dest_cpu"]).texts(&["comm"]),
    event("sched", "sched_pi_setprio", Shape::Boost, &["pid", "oldprio", "newprio"]).texts(&["comm"]).maybe(),
    event("irq", "irq_handler_entry", Shape::IrqEntry, &["irq"]).texts(&["name"]).pair("irq_handler_exit"),
    event("irq", "irq_handler_exit", Shape::IrqExit, &["irq"]).pair("irq_handler_entry"),
    event("irq", "softirq_entry", Shape::SoftirqEntry, &["vec"]).pair("softirq_exit"),
    event("irq", "softirq_exit", Shape::SoftirqExit, &["vec"]).pair("softirq_entry"),
    event("irq", "softirq_raise", Shape::SoftirqRaise, &["vec"]),
    event("timer", "hrtimer_start", Shape::HrtimerStart, &["hrtimer", "function", "expires"]),
    event("timer", "hrtimer_expire_entry", Shape::HrtimerEntry, &["hrtimer", "function"]).pair("hrtimer_expire_exit"),
    event("timer", "hrtimer_expire_exit", Shape::HrtimerExit, &["hrtimer"]).pair("hrtimer_expire_entry"),
    event("timer", "timer_expire_entry", Shape::TimerEntry, &["timer", "function"]).pair("timer_expire_exit"),
    event("timer", "timer_expire_exit", Shape::TimerExit, &["timer"]).pair("timer_expire_entry"),
    event("nmi", "nmi_handler", Shape::Nmi, &["handler", "delta_ns"]).maybe(),
    event("workqueue", "workqueue_execute_start", Shape::WorkStart, &["function"]).pair("workqueue_execute_end"),
    event("workqueue", "workqueue_execute_end", Shape::WorkEnd, &[]).pair("workqueue_execute_start"),
    event("csd", "csd_function_entry", Shape::CallEntry, &["func"]).pair("csd_function_exit").maybe(),
    event("csd", "csd_function_exit", Shape::CallExit, &[]).pair("csd_function_entry").maybe(),
    event("csd", "csd_queue_cpu", Shape::IpiSend, &["cpu", "callsite", "func"]).maybe(),
    event("ipi", "ipi_send_cpu", Shape::IpiSend, &["cpu", "callsite", "callback"]).maybe(),
    event("ipi", "ipi_send_cpumask", Shape::IpiSet, &["callsite", "callback"]).texts(&["cpumask"]).maybe(),
    event("ipi", "ipi_raise", Shape::IpiSet, &[]).texts(&["target_cpus"]).maybe(),
    event("ipi", "ipi_entry", Shape::VectorEntry(Vector::Ipi), &[]).pair("ipi_exit").maybe(),
    event("ipi", "ipi_exit", Shape::VectorExit(Vector::Ipi), &[]).pair("ipi_entry").maybe(),
    event("power", "cpu_idle", Shape::Idle, &["state"]),
    event("power", "cpu_frequency", Shape::Frequency, &["state", "cpu_id"]),
    event("exceptions", "page_fault_user", Shape::Fault(true), &["address", "ip"]).maybe(),
    event("exceptions", "page_fault_kernel", Shape::Fault(false), &["address", "ip"]).maybe(),
    event("osnoise", "nmi_noise", Shape::Noise(NoiseKind::Nmi), &["duration"]).of_timerlat(),
    event("osnoise", "irq_noise", Shape::Noise(NoiseKind::Irq), &["duration", "vector"]).of_timerlat(),
    event("osnoise", "softirq_noise", Shape::Noise(NoiseKind::Softirq), &["duration", "vector"]).of_timerlat(),
    event("osnoise", "thread_noise", Shape::Noise(NoiseKind::Thread), &["duration", "pid"])
        .texts(&["comm"])
        .of_timerlat(),
    event("osnoise", "timerlat_sample", Shape::Timerlat, &["context", "timer_latency"]).of_timerlat(),
    event("ftrace", "timerlat", Shape::Timerlat, &["context", "timer_latency"]).of_timerlat().unswitchable(),
];
