//! What the numbers in a window are called. Knows no rule of blame.

use crate::trace::{Address, Names, Tid, Vector};

/// Softirqs by number, as the kernel names them.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// A softirq by its number.
pub fn softirq(vector: u32) -> String {
    let known = usize::try_from(vector).ok().and_then(|vector| SOFTIRQS.get(vector));
    known.map_or_else(|| format!("softirq {vector}"), |name| (*name).to_owned())
}

/// An interrupt that is no device's, in the words of `/proc/interrupts` as far as those are words.
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

/// Whether a line is that of the CPU's own timer, which on some architectures comes in like a device's: arm and RISC-V.
pub(super) fn is_clock(action: &str) -> bool {
    ["arch_timer", "kvm guest vtimer", "riscv-timer", "twd"].contains(&action)
}

/// Whether a timer with that function is one that threads arm by a call: for a sleep, or to be told. One without a name may
/// be.
pub(super) fn is_of_threads(function: &str) -> bool {
    let nameless = function.is_empty() || function.starts_with("0x");
    nameless || ["hrtimer_wakeup", "timerfd_tmrproc", "posix_timer_fn", "it_real_fn"].contains(&function)
}

impl Names {
    /// A task's name, or its number where no record told it.
    pub fn task(&self, tid: Tid) -> String {
        match self.tasks.get(&tid).filter(|name| !name.is_empty()) {
            Some(name) => name.clone(),
            None if tid == 0 => "idle".to_owned(),
            None => format!("task {tid}"),
        }
    }

    /// A function's name, or its address; empty where not even that is known.
    pub fn function(&self, address: Address) -> String {
        match self.functions.get(&address).filter(|name| !name.is_empty()) {
            // `name+0x12/0x40`, `name [module]`: where in it makes no difference to who it is.
            Some(name) => name.split(['+', ' ']).next().unwrap_or(name).to_owned(),
            None if address.0 == 0 => String::new(),
            None => format!("{:#x}", address.0),
        }
    }

    /// A device's line: `nvme0q3 (irq 131)`.
    pub fn line(&self, irq: u32) -> String {
        match self.irqs.get(&irq).map(|line| line.action.as_str()).filter(|action| !action.is_empty()) {
            Some(action) => format!("{action} (irq {irq})"),
            None => format!("irq {irq}"),
        }
    }
}
