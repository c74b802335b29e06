//! What can be planted: each kind, how a right answer to it reads, and how exact the truth about it is.
//!
//! It must not know how things are planted, nor how answers are counted.

use clap::ValueEnum;

/// A kind of delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A FIFO thread of a higher priority, with a known name
    Hog,
    /// A round-robin thread of the measuring thread's own priority
    Rr,
    /// Time burnt in the callback of a high-resolution timer, in hard interrupt
    Irq,
    /// Time burnt in a timer of the wheel, in softirq
    Softirq,
    /// Time burnt where packets are received, in softirq; packets on a loopback of our own
    Rx,
    /// Time burnt where block requests complete, in softirq; reads of our own program
    Block,
    /// Time burnt in the interrupt of the disk; reads of our own program
    Disk,
    /// Time burnt with interrupts off, by a thread with a known name that queues work
    Irqoff,
    /// Time burnt with pre-emption off, by a thread with a known name in a system call
    Preemptoff,
    /// Time burnt within the scheduler, between two threads
    Switch,
    /// Time burnt in a kernel worker
    Kworker,
    /// Time burnt in the thread that stops CPUs, while it moves a thread away
    Stopper,
    /// Time burnt in a function that another CPU calls here, while static keys are toggled
    Ipi,
    /// Hundreds of timers that expire at once; nothing but the kernel's own work
    Storm,
    /// Packets sent from another CPU and received on this one; nothing but the kernel's own work
    Flood,
    /// Pages of the measuring program taken away
    Fault,
    /// Real-time threads throttled, by a lower limit and a thread that uses it up
    Throttle,
}

/// How well the planter knows when a plant began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// To a microsecond or two: times are held against it.
    Exact,
    /// The same, but the culprit does other things before and after: only what is blamed on it within the plant is
    /// held against it.
    Part,
    /// Only that it lies within: names are held against it, times are not.
    Within,
}

impl Kind {
    /// The name on the command line and in the truth.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// How exact the truth is.
    pub fn truth(self) -> Truth {
        match self {
            Self::Storm | Self::Flood | Self::Fault => Truth::Within,
            Self::Hog | Self::Rr | Self::Irq | Self::Softirq | Self::Throttle => Truth::Exact,
            _ => Truth::Part,
        }
    }

    /// Whether naming this class and this name is right, where `planted` is what the planter calls it.
    pub fn is_right(self, class: &str, name: &str, planted: &str) -> bool {
        let class = plain(class);
        let has = |wanted: &str| plain(name).contains(&plain(wanted));
        match self {
            Self::Hog => class == "higherpriority" && has(planted),
            Self::Rr => class == "samepriority" && has(planted),
            // The tick is such a callback, and has a name of its own.
            Self::Irq if planted.starts_with("tick_") => class == "timerinterrupt",
            Self::Irq => matches!(class.as_str(), "timercallback" | "softirq") && has(planted),
            Self::Storm => matches!(class.as_str(), "timercallback" | "timerinterrupt"),
            Self::Softirq => is_softirq(&class, name, "TIMER"),
            Self::Rx | Self::Flood => is_softirq(&class, name, "NET_RX"),
            Self::Block => is_softirq(&class, name, "BLOCK"),
            // On a real-time kernel it is a thread, with the number of the line in its name.
            Self::Disk => class == "hardirq" && (has(planted) || has("irq/")),
            // Nothing tells interrupts that are held off from a host that runs others, but for kernel threads, and on
            // machines of their own: elsewhere who was current is named, and not accused.
            Self::Irqoff => matches!(class.as_str(), "irqoff" | "unexplained") && has(planted),
            Self::Preemptoff => class == "preemptoff" && has(planted),
            Self::Switch => matches!(class.as_str(), "wakeup" | "irqoff" | "ownpath" | "preemptoff"),
            Self::Kworker => class == "worker" && has(planted),
            // It has interrupts off in places.
            Self::Stopper => class == "stopmachine" || (class == "irqoff" && has("migration/")),
            Self::Ipi => class == "ipi",
            Self::Fault => class == "pagefault",
            Self::Throttle => class == "throttled",
        }
    }
}

/// On a real-time kernel softirqs run in threads, which are then rightly named.
fn is_softirq(class: &str, name: &str, vector: &str) -> bool {
    let name = plain(name);
    class == "softirq" && [&plain(vector), "ksoftirqd", "ktimers"].iter().any(|known| name.contains(known))
}

/// A word without case and separators: `higher-priority` and `HigherPriority` are the same.
fn plain(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_and_name_must_both_be_right() {
        assert!(Kind::Hog.is_right("higher-priority", "hog99", "hog99"));
        assert!(!Kind::Hog.is_right("higher-priority", "another", "hog99"));
        assert!(!Kind::Hog.is_right("softirq", "hog99", "hog99"));
        assert!(Kind::Rx.is_right("Softirq", "NET_RX", "-"));
        assert!(!Kind::Rx.is_right("Softirq", "TIMER", "-"));
    }
}
