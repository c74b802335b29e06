//! The record of one event on one CPU, in a form that does not depend on the engine that saw it.

use punctual_hist::{MonoTime, Nanos};

/// Task id of the kernel; 0 is the idle task of any CPU.
pub type Tid = i32;

/// An address in the kernel or in a program: it identifies a timer or a function, or a place in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    pub at: MonoTime,
    /// The task that was current when the record was written.
    pub tid: Tid,
    pub context: Context,
    pub what: TraceEvent,
}

/// A record with the CPU that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteRecord {
    pub cpu: u32,
    pub record: TraceRecord,
}

/// The context in which a record was written, from the kernel's common fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The field `common_flags`. Bit 0: interrupts are off. Bits 1 (lazily) and 2: a reschedule is wanted. Bit 3: in a
    /// hard interrupt. Bit 4: in a softirq. Bit 6: in an NMI.
    pub flags: u8,
    /// The field `common_preempt_count`. The low four bits count open sections that forbid pre-emption; the high four
    /// bits count open sections that forbid migration.
    pub preempt: u8,
}

pub const FLAG_IRQS_OFF: u8 = 0x01;
pub const FLAG_NEED_RESCHED: u8 = 0x04;
pub const FLAG_HARDIRQ: u8 = 0x08;
pub const FLAG_SOFTIRQ: u8 = 0x10;
pub const FLAG_NMI: u8 = 0x40;

/// The kinds of events, with their fields. An `Entry` and an `Exit` mark the beginning and the end of one handler.
/// `timer` is the address of the timer itself, and `function` the address of the code that it calls. Priorities are the
/// kernel's own: a lower number goes first, and numbers below 100 are real time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    // The task `prev` gave the CPU to the task `next`. `prev_state` is 0 if `prev` was still runnable and so was
    // pre-empted; otherwise it is the state in which `prev` waits.
    Switch { prev: Tid, prev_prio: i32, prev_state: u32, next: Tid, next_prio: i32 },
    // A task is about to be woken and will run on the CPU `target`.
    Waking { tid: Tid, prio: i32, target: u32 },
    IrqEntry { irq: u32 },
    IrqExit { irq: u32 },
    SoftirqEntry { vector: u32 },
    SoftirqExit { vector: u32 },
    SoftirqRaise { vector: u32 },
    // An interrupt that no device raised: local timer, function call, reschedule, thermal.
    VectorEntry { vector: Vector },
    VectorExit { vector: Vector },
    // A high-resolution timer was armed. `expires` is in nanoseconds of the timer's own clock.
    HrtimerStart { timer: Address, function: Address, expires: i64 },
    HrtimerEntry { timer: Address, function: Address },
    HrtimerExit { timer: Address },
    // The kernel calls the function of a low-resolution timer (of the timer wheel).
    TimerEntry { timer: Address, function: Address },
    TimerExit { timer: Address },
    // A non-maskable interrupt was handled; the record is written when it is over.
    Nmi { handler: Address, took: Nanos },
    WorkStart { function: Address },
    WorkEnd,
    // A function runs on this CPU because another CPU asked for it. The address is 0 if the kernel does not record it.
    CallEntry { function: Address },
    CallExit,
    // This CPU sent an interrupt to the CPU `target`, so that `callback` runs there.
    IpiSend { target: u32, callsite: Address, callback: Address },
    // The CPU enters the idle state with this number, or wakes (`None`).
    Idle { state: Option<u32> },
    // Code at `ip` caused a page fault at `address`.
    Fault { address: Address, ip: Address, user: bool },
    // The frequency of `cpu` changes; the record may be written on another CPU.
    Frequency { cpu: u32, khz: u32 },
    Migrate { tid: Tid, from_cpu: u32, to_cpu: u32 },
    // The priority of a task changes because of a lock: it inherits the priority of a task that waits for the lock, or
    // gets its own priority back.
    Boost { tid: Tid, from: i32, prio: i32 },
    // Noise as the kernel's own tracer accounts for it; the time of interruptions by other noise is not included. `id`
    // is the number of an interrupt, a softirq or a task. `start` is the latest possible beginning, because the kernel
    // records the beginning by another clock than that of the trace.
    Noise { kind: NoiseKind, id: i32, start: MonoTime, took: Nanos },
    // A sample of the kernel's timer latency tracer; `context` is 0 in the interrupt, 1 in the thread, 2 back in user
    // space.
    Timerlat { context: u8, latency: Nanos },
    // The kernel's call stack, innermost address first, taken in the interrupt of the measuring thread's timer, or at
    // the switch from another task to the measuring thread, if the thread was kept waiting.
    Stack { addresses: Vec<Address> },
    // Records are missing before the next record; `None` if the kernel does not state how many.
    Lost { count: Option<u64> },
}

/// An interrupt that no device raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vector {
    LocalTimer,
    /// Another CPU asks this one to reschedule.
    Reschedule,
    /// Another CPU asks a set of CPUs, this one included, to call a function.
    CallFunction,
    /// Another CPU asks this CPU alone to call a function.
    CallFunctionSingle,
    /// Deferred work of a context that could not do it, such as an NMI.
    IrqWork,
    Thermal,
    /// A machine-check threshold was reached, or a deferred error was found.
    MachineCheck,
    /// An interrupt of the platform (UV, posted interrupts and the like).
    Platform,
    /// A spurious or erroneous interrupt of the local APIC.
    Error,
    /// An inter-processor interrupt of arm or RISC-V, of any kind.
    Ipi,
}

impl Vector {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    Nmi,
    Irq,
    Softirq,
    Thread,
}
