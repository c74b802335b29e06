//! Names for the numbers in a window.

use crate::trace::{Address, Names, Tid, Vector};

/// Softirqs by number, as the kernel names them.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

pub fn softirq(vector: u32) -> String {
    let known = usize::try_from(vector).ok().and_then(|vector| SOFTIRQS.get(vector));
    known.map_or_else(|| format!("softirq {vector}"), |name| (*name).to_owned())
}

/// The name of an interrupt that is not a device's: the words of `/proc/interrupts`, or words of punctual's own if the
/// file has only an acronym.
pub fn vector(vector: Vector) -> &'static str {
    match vector {
        Vector::LocalTimer => "local timer",
        Vector::Reschedule => "reschedule",
        Vector::CallFunction => "function call to many",
        Vector::CallFunctionSingle => "function call",
        Vector::IrqWork => "IRQ work",
        Vector::Thermal => "thermal",
        Vector::MachineCheck => "machine check",
        Vector::Platform => "platform",
        Vector::Error => "APIC error",
        Vector::Ipi => "inter-processor",
    }
}

/// Whether an interrupt line is that of the CPU's own timer, which Arm and RISC-V list among the lines of devices.
pub(super) fn is_clock(action: &str) -> bool {
    ["arch_timer", "kvm guest vtimer", "riscv-timer", "twd"].contains(&action)
}

/// Whether a timer with this function is armed by a system call of a thread, to sleep or to get a signal. A function
/// without a name may belong to a timer of a thread as well.
pub(super) fn is_of_threads(function: &str) -> bool {
    let nameless = function.is_empty() || function.starts_with("0x");
    nameless || ["hrtimer_wakeup", "timerfd_tmrproc", "posix_timer_fn", "it_real_fn"].contains(&function)
}

impl Names {
    /// A task's name, or its number if no record has the name.
    pub fn task(&self, tid: Tid) -> String {
        match self.tasks.get(&tid).filter(|name| !name.is_empty()) {
            Some(name) => name.clone(),
            None if tid == 0 => "idle".to_owned(),
            None => format!("task {tid}"),
        }
    }

    /// The name of a function, or its address if the name is unknown; empty if the address is unknown too.
    pub fn function(&self, address: Address) -> String {
        match self.functions.get(&address).filter(|name| !name.is_empty()) {
            // Cuts off the offset and module of `name+0x12/0x40 [module]`.
            Some(name) => name.split(['+', ' ']).next().unwrap_or(name).to_owned(),
            None if address.0 == 0 => String::new(),
            None => format!("{:#x}", address.0),
        }
    }

    /// The name of a device's interrupt line, such as `nvme0q3 (irq 131)`.
    pub fn line(&self, irq: u32) -> String {
        match self.irqs.get(&irq).map(|line| line.action.as_str()).filter(|action| !action.is_empty()) {
            Some(action) => format!("{action} (irq {irq})"),
            None => format!("irq {irq}"),
        }
    }
}
