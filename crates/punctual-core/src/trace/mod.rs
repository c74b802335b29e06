//! What the kernel says it did: records of its trace, and the windows around late activations that a recording keeps.
//!
//! Values only. A [`Record`] is one event of one CPU, whatever engine saw it; a [`Window`] is all that is known of one
//! late activation and can be explained without anything else, on any machine. Who was to blame is decided in
//! [`explain`](crate::explain), how records are got is known to `punctual-linux` alone.
//! Instants are those of `CLOCK_MONOTONIC`.

mod decode;
mod decode_events;
mod decode_fields;
mod format;
pub mod keep;
pub mod ledger;
mod page;
pub mod pulses;
pub mod tables;

pub use decode::Decoder;
pub use decode_events::{EVENTS, Wanted};
pub use format::{FormatError, FormatFault};
pub use page::{Events, Missed, Page, PageError, PageLayout, RawEvent};

use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// Task id of the kernel; 0 is the idle task of whichever CPU.
pub type Tid = i32;

/// An address in the kernel, or in a program: who something is, or where in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

/// One event on one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When.
    pub at: MonoTime,
    /// The task that was current.
    pub tid: Tid,
    /// In which context it was written.
    pub context: Context,
    /// What happened.
    pub what: What,
}

/// The context in which a record was written, as the kernel's common fields tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// `common_flags`: bit 0 interrupts off, 1 (lazily) and 2 reschedule wanted, 3 hard interrupt, 4 softirq, 6 NMI.
    pub flags: u8,
    /// `common_preempt_count`: the low four bits count sections that forbid pre-emption, the high ones those that forbid
    /// migration.
    pub preempt: u8,
}

/// Interrupts were off.
pub const FLAG_IRQS_OFF: u8 = 0x01;
/// The current task was asked to give way.
pub const FLAG_NEED_RESCHED: u8 = 0x04;
/// Within a hard interrupt.
pub const FLAG_HARDIRQ: u8 = 0x08;
/// Within a softirq.
pub const FLAG_SOFTIRQ: u8 = 0x10;
/// Within a non-maskable interrupt.
pub const FLAG_NMI: u8 = 0x40;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// One task gave the CPU to another.
    Switch {
        /// Who had it.
        prev: Tid,
        /// Its priority as the kernel counts: 0 is the highest real-time one but one, 100 and above are ordinary.
        prev_prio: i32,
        /// 0: it could go on running, it was pre-empted; else the state it waits in.
        prev_state: u32,
        /// Who gets it.
        next: Tid,
        /// Its priority.
        next_prio: i32,
    },
    /// A task is about to be woken.
    Waking {
        /// Which.
        tid: Tid,
        /// Its priority.
        prio: i32,
        /// Where it is to run.
        target: u32,
    },
    /// A device's interrupt is handled.
    IrqEntry {
        /// Number of the line.
        irq: u32,
    },
    /// ... and is done.
    IrqExit {
        /// Number of the line.
        irq: u32,
    },
    /// A softirq is handled.
    SoftirqEntry {
        /// Its number.
        vector: u32,
    },
    /// ... and is done.
    SoftirqExit {
        /// Its number.
        vector: u32,
    },
    /// A softirq was asked for.
    SoftirqRaise {
        /// Its number.
        vector: u32,
    },
    /// An interrupt that is no device's: local timer, function call, reschedule, thermal ...
    VectorEntry {
        /// Which.
        vector: Vector,
    },
    /// ... and is done.
    VectorExit {
        /// Which.
        vector: Vector,
    },
    /// A high-resolution timer was armed.
    HrtimerStart {
        /// Its address: who it is.
        timer: Address,
        /// Address of its function.
        function: Address,
        /// When it is due, on its own clock.
        expires: i64,
    },
    /// The function of a high-resolution timer is called.
    HrtimerEntry {
        /// Its address.
        timer: Address,
        /// Address of its function.
        function: Address,
    },
    /// ... and is done.
    HrtimerExit {
        /// Its address.
        timer: Address,
    },
    /// The function of a timer of the wheel is called.
    TimerEntry {
        /// Its address.
        timer: Address,
        /// Address of its function.
        function: Address,
    },
    /// ... and is done.
    TimerExit {
        /// Its address.
        timer: Address,
    },
    /// A non-maskable interrupt was handled; the record is written when it is over.
    Nmi {
        /// Address of the handler.
        handler: Address,
        /// How long it took.
        took: Nanos,
    },
    /// A worker begins a piece of work.
    WorkStart {
        /// Address of the function.
        function: Address,
    },
    /// ... and is done.
    WorkEnd,
    /// Something is done for another CPU: the handler of a function call, or of an inter-processor interrupt.
    CallEntry {
        /// Address of the function; 0 where it is not said.
        function: Address,
    },
    /// ... and is done.
    CallExit,
    /// This CPU asked another for an interrupt.
    IpiSend {
        /// The other.
        target: u32,
        /// From where in the kernel.
        callsite: Address,
        /// What is to be done there.
        callback: Address,
    },
    /// The CPU goes to sleep, or wakes.
    Idle {
        /// Number of the idle state; `None`: it woke.
        state: Option<u32>,
    },
    /// A page fault.
    Fault {
        /// The address that was touched.
        address: Address,
        /// By code at this address.
        ip: Address,
        /// In user mode.
        user: bool,
    },
    /// A CPU's frequency changes, as another CPU may have decided.
    Frequency {
        /// Whose.
        cpu: u32,
        /// To so many kHz.
        khz: u32,
    },
    /// A task is moved to another CPU.
    Migrate {
        /// Which.
        tid: Tid,
        /// From.
        from_cpu: u32,
        /// To.
        to_cpu: u32,
    },
    /// What the kernel's own noise tracer accounts for: net of what interrupted it.
    Noise {
        /// What it was.
        kind: NoiseKind,
        /// Interrupt number, softirq number or task.
        id: i32,
        /// When it began at the latest: the record is written when it is over, and the kernel says its beginning by another
        /// clock.
        start: MonoTime,
        /// How long it took.
        took: Nanos,
    },
    /// A sample of the kernel's timer latency tracer.
    Timerlat {
        /// 0 in the interrupt, 1 in the thread, 2 back in user space.
        context: u8,
        /// The latency it saw.
        latency: Nanos,
    },
    /// Where in the kernel the CPU was when it was found that the measuring thread is kept waiting: in the interrupt of
    /// its timer, or where another task gives the CPU to it.
    Stack {
        /// Addresses, the innermost first.
        addresses: Vec<Address>,
    },
    /// Records are missing between here and the next record: so many, or `None` where nobody says how many.
    Lost {
        /// How many.
        count: Option<u64>,
    },
}

/// An interrupt that is no device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vector {
    /// The timer of this CPU.
    LocalTimer,
    /// Another CPU wants this one to look for a better task.
    Reschedule,
    /// Another CPU wants a function called on all of a set.
    CallFunction,
    /// Another CPU wants a function called here.
    CallFunctionSingle,
    /// Work that was put off from a context that could not do it.
    IrqWork,
    /// The thermal sensor.
    Thermal,
    /// A machine-check threshold, or a deferred error.
    MachineCheck,
    /// An interrupt of the platform (UV, posted interrupts and the like).
    Platform,
    /// A spurious or erroneous interrupt of the local APIC.
    Error,
    /// An inter-processor interrupt of arm or RISC-V, for whatever reason.
    Ipi,
}

/// What the kernel's noise tracer tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    /// Non-maskable interrupt.
    Nmi,
    /// Interrupt.
    Irq,
    /// Softirq.
    Softirq,
    /// Thread.
    Thread,
}

/// Names for the numbers in a window's records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Tasks.
    pub tasks: BTreeMap<Tid, String>,
    /// Those of them that are threads of the kernel, which are never in user mode; as far as that is known.
    pub kernel_threads: Vec<Tid>,
    /// Device interrupts, by line: what `/proc/interrupts` calls them.
    pub irqs: BTreeMap<u32, Line>,
    /// Kernel functions, by address.
    pub functions: BTreeMap<Address, String>,
}

/// A line that interrupts come in on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Names of its handlers.
    pub action: String,
    /// CPUs it may interrupt, as a list; empty where not known.
    pub affinity: String,
    /// The kernel alone decides where it goes.
    pub managed: bool,
}

/// Why a window was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// It is among the worst of its CPU.
    Worst,
    /// It was drawn at random from all late activations of its CPU, each as likely as any other.
    Sampled,
    /// It is an ordinary activation, to compare with.
    Ordinary,
}

/// All that is known of one activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its place in the recording: a later window in the same slot replaces this one.
    pub slot: u32,
    /// Why it was kept.
    pub kept: Kept,
    /// The measured CPU.
    pub cpu: u32,
    /// The measuring thread.
    pub tid: Tid,
    /// When it was due.
    pub release: MonoTime,
    /// When its body ran.
    pub woke: MonoTime,
    /// Load phase.
    pub phase: u16,
    /// Records of this CPU in order, from some time before the release to the wake-up and a little beyond.
    pub records: Vec<Record>,
    /// What other CPUs did to this one meanwhile: (CPU, record), in order.
    pub elsewhere: Vec<(u32, Record)>,
    /// Names of what occurs in it.
    pub names: Names,
    /// Records were lost in it, or the trace does not reach over all of it.
    pub incomplete: Option<Incomplete>,
    /// What counters say of the time around it.
    pub around: Option<Around>,
}

/// Why a window does not tell all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Incomplete {
    /// The kernel lost records in it.
    Lost,
    /// The trace begins after the release: what was before had been overwritten.
    Late,
    /// The trace of this CPU was not read up to the wake-up.
    Short,
    /// Clocks do not fit together.
    Warped,
    /// It had more records than are kept of one activation.
    TooLong,
    /// This engine keeps no records.
    NoTrace,
    /// Records are missing in it, or of this CPU, that nobody reported as lost.
    Holes,
}

/// Counters around an activation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Read before.
    pub from: MonoTime,
    /// Read after.
    pub to: MonoTime,
    /// What changed between, of this CPU where it is by CPU. What could be read and did not change is here with 0,
    /// but for lines of devices that never interrupted this CPU in the run so far.
    pub changes: Vec<Change>,
    /// The longest time that surely nothing of ours ran on any CPU, within the activation.
    pub standstill: Option<Nanos>,
}

/// How much a counter grew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub counter: Counter,
    /// By how much; nanoseconds where it counts time.
    pub by: u64,
    /// How much it grows in as long a time elsewhere in the run; `None` where that is not known yet.
    pub usually: Option<u64>,
}

/// Something that is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// An interrupt of this CPU, as `/proc/interrupts` names it: (line, what it is).
    Interrupt(String, String),
    /// A softirq of this CPU.
    Softirq(String),
    /// Time this CPU's tasks waited to run: also those that the measuring thread kept waiting.
    RunDelay,
    /// Entries into an idle state, by its name.
    IdleState(String),
    /// Time the hypervisor ran others.
    Steal,
    /// System management interrupts.
    Smi,
    /// Times this CPU, or its package, was throttled for heat.
    Throttled,
    /// Cycles at the actual and at the nominal frequency, as a ratio in thousandths.
    FrequencyRatio,
    /// Page faults of the measuring thread served from memory.
    MinorFaults,
    /// Page faults of the measuring thread served from disk.
    MajorFaults,
    /// The measuring thread was pre-empted.
    InvoluntarySwitches,
    /// The measuring thread waited.
    VoluntarySwitches,
    /// The measuring thread changed CPU.
    Migrations,
    /// The control group of the thread, or real time as a whole, was throttled.
    RtThrottled,
    /// Time the measuring thread could have run and waited to.
    OwnRunDelay,
}

/// An activation that was late, whether or not a window was kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// The measured CPU.
    pub cpu: u32,
    /// When it was due.
    pub release: MonoTime,
    /// By how much it was late.
    pub lateness: Nanos,
}

/// Late activations of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LateList {
    /// One by one, in order for each CPU; not all where there were too many.
    pub late: Vec<Late>,
    /// By CPU: how many there were since the last list, their sum, and the threshold that was in force at the end.
    pub totals: Vec<LateTotal>,
}

/// Late activations of one CPU in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateTotal {
    /// The measured CPU.
    pub cpu: u32,
    /// How many.
    pub count: u64,
    /// The sum of their latenesses.
    pub lateness: Nanos,
    /// Later than this was late.
    pub threshold: Nanos,
    /// Of these no window could be cut, or was drawn and not kept: windows came faster than they could be cut, or took
    /// more room than they may.
    pub passed_over: u64,
}

/// How was looked on, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// The kernel's trace and the events of its own latency tracers.
    Timerlat,
    /// The kernel's trace.
    Tracefs,
    /// A program in the kernel.
    Bpf,
    /// Counters before and after.
    Deltas,
    /// Only what the process knows of itself.
    InProcess,
}

/// What a recording says of how causes were looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// The engine used.
    pub rung: Rung,
    /// Better ones, and why they were not used.
    pub refused: Vec<(Rung, String)>,
    /// Load phases that were traced: numbers of the others are not disturbed by it.
    pub phases: Vec<u16>,
    /// Events that were recorded, `group:name`.
    pub events: Vec<String>,
    /// What this engine cannot see on this kernel.
    pub blind: Vec<Blind>,
    /// The clock of the records.
    pub clock: String,
    /// Bytes of the kernel's buffer for each measured CPU.
    pub buffer_bytes: u64,
    /// Later than this is late; `None`: than the 99.9 % of the run so far.
    pub threshold: Option<Nanos>,
    /// At most so many windows are kept.
    pub windows_max: u32,
    /// What known timers came to, by CPU.
    pub self_test: Vec<SelfTest>,
}

/// What a self-test of the trace came to on one CPU: each number should be that of the timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfTest {
    /// The CPU.
    pub cpu: u32,
    /// Timers fired.
    pub timers: u32,
    /// Expiries seen.
    pub expiries: u32,
    /// Wakings seen.
    pub wakings: u32,
    /// Switches to the thread seen.
    pub switches: u32,
    /// Largest difference between a record's clock and the thread's own reading that contradicts their order.
    pub warp: Nanos,
}

impl SelfTest {
    /// Whether nothing was missing and the clocks fit together.
    pub fn passed(&self) -> bool {
        !self.has_holes() && !self.is_warped()
    }

    /// Whether something of its timers was not seen.
    pub fn has_holes(&self) -> bool {
        [self.expiries, self.wakings, self.switches].iter().any(|seen| *seen < self.timers)
    }

    /// Whether the clocks do not fit together.
    pub fn is_warped(&self) -> bool {
        self.warp >= Nanos::from_us(1)
    }
}

/// Something that cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blind {
    /// No records at all: only counters.
    Records,
    /// An event the kernel does not have or does not give: `group:name`.
    Event(String),
    /// Sections with interrupts or pre-emption off are seen only by what they delay.
    CriticalSections,
    /// What ran in a gap without records, where nothing counts interruptions by firmware.
    Firmware,
    /// The host.
    Hypervisor,
    /// Records of this CPU have holes that nobody reported: the self-test found them, or windows that lack a switch.
    Holes(u32),
    /// A witness that cannot be had: what it is and of which CPUs, and why.
    Witness(String, String),
}

/// What the trace of one CPU came to, at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceTotal {
    /// The CPU.
    pub cpu: u32,
    /// Records read.
    pub records: u64,
    /// Records the kernel lost, and pages of them that could not be read, one each.
    pub lost: u64,
    /// Bytes read.
    pub bytes: u64,
}
