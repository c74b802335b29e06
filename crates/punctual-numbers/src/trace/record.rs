//! One event of one CPU, whatever engine saw it.

use punctual_hist::{MonoTime, Nanos};

/// Task id of the kernel; 0 is the idle task of whichever CPU.
pub type Tid = i32;

/// An address in the kernel, or in a program: who something is, or where in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

/// One event on one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
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
    VectorEntry { vector: Vector },
    /// ... and is done.
    VectorExit { vector: Vector },
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
        tid: Tid,
        /// From.
        from_cpu: u32,
        /// To.
        to_cpu: u32,
    },
    /// A task gets another priority because of a lock: that of who waits for it, or its own back.
    Boost {
        tid: Tid,
        /// The one it had, as the kernel counts.
        from: i32,
        /// The new one.
        prio: i32,
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
    Lost { count: Option<u64> },
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

impl Vector {
    /// Every one of them, in the order of their declaration.
    pub const ALL: [Self; 10] = [
        Self::LocalTimer,
        Self::Reschedule,
        Self::CallFunction,
        Self::CallFunctionSingle,
        Self::IrqWork,
        Self::Thermal,
        Self::MachineCheck,
        Self::Platform,
        Self::Error,
        Self::Ipi,
    ];
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
