//! One event of one CPU, whatever engine saw it.

use punctual_hist::{MonoTime, Nanos};

/// Task id of the kernel; 0 is the idle task of whichever CPU.
pub type Tid = i32;

/// An address in the kernel or in a program: it identifies a timer or a function, or a place in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub at: MonoTime,
    /// The task that was current when the record was written.
    pub tid: Tid,
    pub context: Context,
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

pub const FLAG_IRQS_OFF: u8 = 0x01;
pub const FLAG_NEED_RESCHED: u8 = 0x04;
pub const FLAG_HARDIRQ: u8 = 0x08;
pub const FLAG_SOFTIRQ: u8 = 0x10;
pub const FLAG_NMI: u8 = 0x40;

/// What happened. An `Entry` and its `Exit` stand on both sides of one handler. `timer` is the address of the timer
/// itself, `function` that of the code it calls. Priorities are the kernel's own: below 100 is real time, a lower number
/// goes first, 100 and above are ordinary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    // One task gave the CPU to another. `prev_state` is 0 where the task could go on running, so that it was pre-empted,
    // and otherwise the state in which it waits.
    Switch { prev: Tid, prev_prio: i32, prev_state: u32, next: Tid, next_prio: i32 },
    // A task is about to be woken; `target` is the CPU it is to run on.
    Waking { tid: Tid, prio: i32, target: u32 },
    IrqEntry { irq: u32 },
    IrqExit { irq: u32 },
    SoftirqEntry { vector: u32 },
    SoftirqExit { vector: u32 },
    SoftirqRaise { vector: u32 },
    // An interrupt that no device raised: local timer, function call, reschedule, thermal.
    VectorEntry { vector: Vector },
    VectorExit { vector: Vector },
    // A high-resolution timer was armed; it expires at this instant of its own clock, in nanoseconds.
    HrtimerStart { timer: Address, function: Address, expires: i64 },
    HrtimerEntry { timer: Address, function: Address },
    HrtimerExit { timer: Address },
    // The function of a timer of the wheel is called.
    TimerEntry { timer: Address, function: Address },
    TimerExit { timer: Address },
    // A non-maskable interrupt was handled; the record is written when it is over.
    Nmi { handler: Address, took: Nanos },
    WorkStart { function: Address },
    WorkEnd,
    // A function runs here because another CPU asked for it. Its address is 0 where the kernel does not tell it.
    CallEntry { function: Address },
    CallExit,
    // This CPU asked the CPU `target` for an interrupt, to run `callback` there.
    IpiSend { target: u32, callsite: Address, callback: Address },
    // The CPU enters the idle state with this number, or wakes (`None`).
    Idle { state: Option<u32> },
    // Code at `ip` touched `address`, which had no page.
    Fault { address: Address, ip: Address, user: bool },
    // The frequency of `cpu` changes; the record may be written on another CPU.
    Frequency { cpu: u32, khz: u32 },
    Migrate { tid: Tid, from_cpu: u32, to_cpu: u32 },
    // A task gets another priority because of a lock: that of the task that waits for the lock, or its own back.
    Boost { tid: Tid, from: i32, prio: i32 },
    // Noise as the kernel's own tracer accounts for it, without the time of what interrupted it. `id` is an interrupt, a
    // softirq or a task. `start` is the latest instant at which it can have begun: the kernel tells the beginning by
    // another clock.
    Noise { kind: NoiseKind, id: i32, start: MonoTime, took: Nanos },
    // A sample of the kernel's timer latency tracer; `context` is 0 in the interrupt, 1 in the thread, 2 back in user
    // space.
    Timerlat { context: u8, latency: Nanos },
    // Where in the kernel the CPU was when it was found that the measuring thread is kept waiting, innermost address
    // first: in the interrupt of its timer, or where another task gives the CPU to it.
    Stack { addresses: Vec<Address> },
    // Records are missing between here and the next record; `None` where the kernel does not tell how many.
    Lost { count: Option<u64> },
}

/// An interrupt that no device raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vector {
    LocalTimer,
    /// Another CPU wants this one to look for a better task.
    Reschedule,
    /// Another CPU wants a function called on all of a set.
    CallFunction,
    /// Another CPU wants a function called here.
    CallFunctionSingle,
    /// Work that was put off from a context that could not do it.
    IrqWork,
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
    Nmi,
    Irq,
    Softirq,
    Thread,
}
