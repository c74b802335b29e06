//! The events of the kernel's trace that are understood, and the fields of them that are read.
//!
//! The list holds only names: sizes and offsets come from the running kernel's `format` files. The code that enables
//! events uses this list, too.

use super::decode_fields::{Fields, took};
use super::{NoiseKind, Rung, TraceEvent, Vector};

/// An event worth recording, which tracefs has as the folder `events/GROUP/NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub group: &'static str,
    pub name: &'static str,
    /// Whether every kernel from 4.19 on should have the event, on any architecture. If it is missing, some causes
    /// cannot be seen.
    pub everywhere: bool,
    /// [`Rung::Tracefs`] marks events that are always recorded; [`Rung::Timerlat`] marks events of the tracer
    /// `timerlat`, which are recorded in addition if that tracer runs.
    pub rung: Rung,
    /// The event of the same group that marks the other end of a span: both must be enabled, or none.
    pub pair: Option<&'static str>,
    /// Whether the event has a file `enable`. Events that a tracer writes by itself have none.
    pub switchable: bool,
    /// Whether the first text is a mask of CPUs, each of which gives a record of its own.
    pub(super) is_for_each_cpu: bool,
    pub(super) numbers: &'static [&'static str],
    pub(super) texts: &'static [&'static str],
    /// Makes the record from the values of the fields `numbers` and `texts`, which it takes by their positions in those
    /// lists.
    pub(super) what: fn(&mut Fields<'_>) -> TraceEvent,
}

impl Wanted {
    /// The event as the file `set_event` expects it: `group:name`.
    pub fn path(&self) -> String {
        format!("{}:{}", self.group, self.name)
    }
}

const fn event(
    group: &'static str,
    name: &'static str,
    numbers: &'static [&'static str],
    what: fn(&mut Fields<'_>) -> TraceEvent,
) -> Wanted {
    let (rung, pair, texts) = (Rung::Tracefs, None, &[]);
    Wanted { group, name, everywhere: true, rung, pair, switchable: true, is_for_each_cpu: false, numbers, texts, what }
}

impl Wanted {
    const fn texts(self, texts: &'static [&'static str]) -> Self {
        Self { texts, ..self }
    }

    const fn not_everywhere(self) -> Self {
        Self { everywhere: false, ..self }
    }

    const fn pair(self, other: &'static str) -> Self {
        Self { pair: Some(other), ..self }
    }

    const fn for_each_cpu(self, mask: &'static [&'static str]) -> Self {
        Self { is_for_each_cpu: true, everywhere: false, texts: mask, ..self }
    }

    const fn of_timerlat(self) -> Self {
        Self { rung: Rung::Timerlat, everywhere: false, ..self }
    }

    const fn unswitchable(self) -> Self {
        Self { switchable: false, ..self }
    }
}

/// The entry and the exit event of an interrupt that no device raised.
macro_rules! vector {
    ($group:literal, $name:literal, $vector:ident) => {{
        const ENTRY: &str = concat!($name, "_entry");
        const EXIT: &str = concat!($name, "_exit");
        [
            event($group, ENTRY, &[], |_| TraceEvent::VectorEntry { vector: Vector::$vector })
                .pair(EXIT)
                .not_everywhere(),
            event($group, EXIT, &[], |_| TraceEvent::VectorExit { vector: Vector::$vector })
                .pair(ENTRY)
                .not_everywhere(),
        ]
    }};
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
    vector!("irq_vectors", "local_timer", LocalTimer),
    vector!("irq_vectors", "reschedule", Reschedule),
    vector!("irq_vectors", "call_function", CallFunction),
    vector!("irq_vectors", "call_function_single", CallFunctionSingle),
    vector!("irq_vectors", "irq_work", IrqWork),
    vector!("irq_vectors", "thermal_apic", Thermal),
    vector!("irq_vectors", "threshold_apic", MachineCheck),
    vector!("irq_vectors", "deferred_error_apic", MachineCheck),
    vector!("irq_vectors", "x86_platform_ipi", Platform),
    vector!("irq_vectors", "error_apic", Error),
    vector!("irq_vectors", "spurious_apic", Error),
    vector!("ipi", "ipi", Ipi),
];

/// Mask of the states in `prev_state`. From kernel 4.15 on, the bit above the mask means that the task was pre-empted.
const STATES: u32 = 0xff;
/// Value of the state in the event `cpu_idle` when the CPU wakes.
const WOKE: u32 = u32::MAX;

const PLAIN: &[Wanted] = &[
    event("sched", "sched_switch", &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"], |of| {
        let prev_state = Some(of.small(2)).filter(|state| *state <= STATES).unwrap_or(0);
        TraceEvent::Switch {
            prev: of.task(0, 0),
            prev_prio: of.int(1),
            prev_state,
            next: of.task(3, 1),
            next_prio: of.int(4),
        }
    })
    .texts(&["prev_comm", "next_comm"]),
    event("sched", "sched_waking", &["pid", "prio", "target_cpu"], |of| TraceEvent::Waking {
        tid: of.task(0, 0),
        prio: of.int(1),
        target: of.small(2),
    })
    .texts(&["comm"]),
    event("sched", "sched_migrate_task", &["pid", "orig_cpu", "dest_cpu"], |of| TraceEvent::Migrate {
        tid: of.task(0, 0),
        from_cpu: of.small(1),
        to_cpu: of.small(2),
    })
    .texts(&["comm"]),
    event("sched", "sched_pi_setprio", &["pid", "oldprio", "newprio"], |of| TraceEvent::Boost {
        tid: of.task(0, 0),
        from: of.int(1),
        prio: of.int(2),
    })
    .texts(&["comm"])
    .not_everywhere(),
    event("irq", "irq_handler_entry", &["irq"], |of| TraceEvent::IrqEntry { irq: of.line(0, 0) })
        .texts(&["name"])
        .pair("irq_handler_exit"),
    event("irq", "irq_handler_exit", &["irq"], |of| TraceEvent::IrqExit { irq: of.small(0) }).pair("irq_handler_entry"),
    event("irq", "softirq_entry", &["vec"], |of| TraceEvent::SoftirqEntry { vector: of.small(0) }).pair("softirq_exit"),
    event("irq", "softirq_exit", &["vec"], |of| TraceEvent::SoftirqExit { vector: of.small(0) }).pair("softirq_entry"),
    event("irq", "softirq_raise", &["vec"], |of| TraceEvent::SoftirqRaise { vector: of.small(0) }),
    event("timer", "hrtimer_start", &["hrtimer", "function", "expires"], |of| TraceEvent::HrtimerStart {
        timer: of.address(0),
        function: of.address(1),
        expires: of.signed(2),
    }),
    event("timer", "hrtimer_expire_entry", &["hrtimer", "function"], |of| TraceEvent::HrtimerEntry {
        timer: of.address(0),
        function: of.address(1),
    })
    .pair("hrtimer_expire_exit"),
    event("timer", "hrtimer_expire_exit", &["hrtimer"], |of| TraceEvent::HrtimerExit { timer: of.address(0) })
        .pair("hrtimer_expire_entry"),
    event("timer", "timer_expire_entry", &["timer", "function"], |of| TraceEvent::TimerEntry {
        timer: of.address(0),
        function: of.address(1),
    })
    .pair("timer_expire_exit"),
    event("timer", "timer_expire_exit", &["timer"], |of| TraceEvent::TimerExit { timer: of.address(0) })
        .pair("timer_expire_entry"),
    event("nmi", "nmi_handler", &["handler", "delta_ns"], |of| TraceEvent::Nmi {
        handler: of.address(0),
        took: took(of.number(1)),
    })
    .not_everywhere(),
    event("workqueue", "workqueue_execute_start", &["function"], |of| TraceEvent::WorkStart {
        function: of.address(0),
    })
    .pair("workqueue_execute_end"),
    event("workqueue", "workqueue_execute_end", &[], |_| TraceEvent::WorkEnd).pair("workqueue_execute_start"),
    event("csd", "csd_function_entry", &["func"], |of| TraceEvent::CallEntry { function: of.address(0) })
        .pair("csd_function_exit")
        .not_everywhere(),
    event("csd", "csd_function_exit", &[], |_| TraceEvent::CallExit).pair("csd_function_entry").not_everywhere(),
    event("csd", "csd_queue_cpu", &["callsite", "func", "cpu"], |of| of.ipi(of.small(2))).not_everywhere(),
    event("ipi", "ipi_send_cpu", &["callsite", "callback", "cpu"], |of| of.ipi(of.small(2))).not_everywhere(),
    event("ipi", "ipi_send_cpumask", &["callsite", "callback"], |of| of.ipi(of.cpu)).for_each_cpu(&["cpumask"]),
    event("ipi", "ipi_raise", &[], |of| of.ipi(of.cpu)).for_each_cpu(&["target_cpus"]),
    event("power", "cpu_idle", &["state"], |of| TraceEvent::Idle {
        state: Some(of.small(0)).filter(|state| *state != WOKE),
    }),
    event("power", "cpu_frequency", &["state", "cpu_id"], |of| TraceEvent::Frequency {
        cpu: of.small(1),
        khz: of.small(0),
    }),
    event("exceptions", "page_fault_user", &["address", "ip"], |of| of.fault(true)).not_everywhere(),
    event("exceptions", "page_fault_kernel", &["address", "ip"], |of| of.fault(false)).not_everywhere(),
    event("osnoise", "nmi_noise", &["duration"], |of| of.noise(NoiseKind::Nmi)).of_timerlat(),
    event("osnoise", "irq_noise", &["duration", "vector"], |of| of.noise(NoiseKind::Irq)).of_timerlat(),
    event("osnoise", "softirq_noise", &["duration", "vector"], |of| of.noise(NoiseKind::Softirq)).of_timerlat(),
    event("osnoise", "thread_noise", &["duration", "pid"], |of| {
        of.task(1, 0);
        of.noise(NoiseKind::Thread)
    })
    .texts(&["comm"])
    .of_timerlat(),
    event("osnoise", "timerlat_sample", &["context", "timer_latency"], |of| of.timerlat()).of_timerlat(),
    event("ftrace", "timerlat", &["context", "timer_latency"], |of| of.timerlat()).of_timerlat().unswitchable(),
];
