//! The kinds of delays that can be planted: what a right explanation names, and how exact the truth about each kind is.
//!
//! This module knows neither how delays are planted nor how explanations are counted.

use clap::ValueEnum;

/// A kind of delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A FIFO thread of a higher priority, with a known name
    #[default]
    Hog,
    /// A round-robin thread of the measuring thread's own priority
    Rr,
    /// Time burnt in the callback of a high-resolution timer, in hard interrupt
    Irq,
    /// Time burnt in a timer of the wheel, in softirq
    Softirq,
    /// Time burnt where packets are received, in softirq; the packets are our own, on a private loopback
    Rx,
    /// Time burnt where block requests complete, in softirq; the requests are reads by our own program
    Block,
    /// Time burnt in the interrupt of the disk, caused by reads of our own program
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
    /// Hundreds of timers that expire at once, so that the kernel's own work takes time
    Storm,
    /// Dozens of packets sent at once from another CPU and received on this one, so that the kernel's own work takes
    /// time
    Flood,
    /// Page faults of the measuring program, whose pages are taken away
    Fault,
    /// Throttling of real-time threads, by a lower limit and a thread that uses it up
    Throttle,
}

/// How exactly the planter knows when a plant began and ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// The planter knows the times to a microsecond or two, and explained times are compared with them.
    Exact,
    /// The planter knows the times exactly, but the culprit also works before and after the plant. So only the time
    /// that is attributed to the culprit within the plant is compared.
    Part,
    /// The planter knows only that the delay lies within the plant. Names are compared, times are not.
    Within,
}

/// How much of a planted delay the product can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// The product can see all of it: a kernel thread plants, or the machine is not virtual.
    #[default]
    Whole,
    /// An ordinary thread of a virtual machine plants. While this thread has interrupts off, nothing shows whether the
    /// host ran other machines meanwhile. So the product has to name the thread as the current one, but need not blame
    /// it.
    Guest,
}

impl Sight {
    /// How much can be seen on this machine if a program plants.
    pub fn here() -> Self {
        let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let mut flags = told.lines().filter(|line| line.starts_with("flags")).flat_map(str::split_whitespace);
        if flags.any(|flag| flag == "hypervisor") { Self::Guest } else { Self::Whole }
    }
}

impl Kind {
    /// The kind's name on the command line and in the truth.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// How exact the truth about this kind is.
    pub fn truth(self) -> Truth {
        match self {
            Self::Storm | Self::Flood | Self::Fault => Truth::Within,
            Self::Hog | Self::Rr | Self::Irq | Self::Softirq | Self::Throttle => Truth::Exact,
            _ => Truth::Part,
        }
    }

    /// Whether nothing shows whether this kind or the hypervisor has the CPU.
    pub fn hides_hypervisor(self, sight: Sight) -> bool {
        self == Self::Irqoff && sight == Sight::Guest
    }

    /// Whether an explanation is right if it names this class and name, as in the product's JSON. `planted` is the
    /// planter's name of the culprit.
    pub fn is_right(self, sight: Sight, class: &str, name: &str, planted: &str) -> bool {
        // If the planter does not know the culprit, only the class can be compared.
        let known = !matches!(planted, "" | "-");
        let name = name.replace(char::is_whitespace, "_");
        let is = |wanted: &str| known && name == wanted;
        match self {
            Self::Hog => class == "higher-priority" && is(planted),
            Self::Rr => class == "same-priority" && is(planted),
            // The tick is also a timer callback, but has a class and name of its own.
            Self::Irq if planted.starts_with("tick_") => class == "timer-interrupt" && name == "tick",
            // Some timers expire in a softirq.
            Self::Irq => {
                (class == "timer-callback" && is(planted))
                    || (class == "softirq" && is_within(&name, "HRTIMER", planted))
            }
            Self::Storm => class == "timer-callback" && is(planted),
            Self::Softirq => {
                class == "softirq"
                    && (is_within(&name, "TIMER", planted) || is_thread(&name, &["ktimers/", "ksoftirqd/"]))
            }
            Self::Rx | Self::Flood => class == "softirq" && (name == "NET_RX" || is_thread(&name, &["ksoftirqd/"])),
            Self::Block => class == "softirq" && (name == "BLOCK" || is_thread(&name, &["ksoftirqd/"])),
            Self::Disk => class == "hard-irq" && known && is_line(&name, planted),
            Self::Irqoff => {
                (class == "irq-off" && is(planted))
                    || (self.hides_hypervisor(sight)
                        && class == "unexplained"
                        && known
                        && name.strip_prefix("under_") == Some(planted))
            }
            Self::Preemptoff => class == "preempt-off" && is(planted),
            // Interrupts are off during a switch. It works for two threads, of which the truth knows one. If the switch
            // is to the measuring thread, its time counts as wake-up or as the time after the switch's record.
            Self::Switch => matches!(class, "wake-up" | "irq-off") || (class == "own-path" && name.is_empty()),
            Self::Kworker => class == "worker" && known && name.strip_prefix("kworker:_") == Some(planted),
            Self::Stopper => class == "stop-machine" && is(planted),
            // Not every kernel reports which function it is.
            Self::Ipi => class == "ipi" && (name.starts_with("function_call") || is(planted)),
            Self::Fault => class == "page-fault",
            // If a limit throttles, the truth names no culprit.
            Self::Throttle => class == "throttled" && (!known || is(planted)),
        }
    }
}

/// Whether a name is `VECTOR: function`, with underscores for spaces.
fn is_within(name: &str, vector: &str, function: &str) -> bool {
    let inner = name.strip_prefix(vector).and_then(|rest| rest.strip_prefix(":_"));
    !matches!(function, "" | "-") && inner == Some(function)
}

/// Whether a name is that of one of these per-CPU threads, such as `ktimers/1`. On a real-time kernel softirqs run in
/// threads, so naming the thread is right.
fn is_thread(name: &str, threads: &[&str]) -> bool {
    threads.iter().any(|thread| {
        let number = name.strip_prefix(thread);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Whether a name is that of an interrupt line, such as `line (irq 25)`. On a real-time kernel it is a thread, such as
/// `irq/25-line`, whose name may be cut off.
fn is_line(name: &str, line: &str) -> bool {
    let handler = name.strip_suffix(')').and_then(|name| name.rsplit_once("_(irq_")).map(|(line, _)| line);
    let thread = name.strip_prefix("irq/").and_then(|rest| rest.split_once('-')).map(|(_, line)| line);
    handler == Some(line) || thread.is_some_and(|begin| !begin.is_empty() && line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each kind: the name of what was planted, right answers, and wrong answers. An answer is a class and a name.
    type Answers =
        (Kind, &'static str, &'static [(&'static str, &'static str)], &'static [(&'static str, &'static str)]);

    const ANSWERS: &[Answers] = &[
        (
            Kind::Hog,
            "hog99",
            &[("higher-priority", "hog99")],
            &[
                ("higher-priority", "another"),
                ("higher-priority", "hog999"),
                ("softirq", "hog99"),
                ("same-priority", "hog99"),
            ],
        ),
        (
            Kind::Rr,
            "planted-rr",
            &[("same-priority", "planted-rr")],
            &[("same-priority", "planted"), ("higher-priority", "planted-rr"), ("preempt-off", "planted-rr")],
        ),
        (
            Kind::Irq,
            "hrtimer_wakeup",
            &[("timer-callback", "hrtimer_wakeup"), ("softirq", "HRTIMER: hrtimer_wakeup")],
            &[
                ("timer-callback", "it_real_fn"),
                ("timer-interrupt", ""),
                ("softirq", "TIMER: hrtimer_wakeup"),
                ("softirq", "HRTIMER"),
            ],
        ),
        (
            Kind::Irq,
            "tick_nohz_handler",
            &[("timer-interrupt", "tick")],
            &[("timer-interrupt", ""), ("timer-callback", "hrtimer_wakeup"), ("irq-off", "tick")],
        ),
        (
            Kind::Softirq,
            "process_timeout",
            &[("softirq", "TIMER: process_timeout"), ("softirq", "ktimers/1"), ("softirq", "ksoftirqd/1")],
            &[
                ("softirq", "TIMER"),
                ("softirq", "TIMER: delayed_work"),
                ("softirq", "NET_RX"),
                ("timer-callback", "process_timeout"),
            ],
        ),
        (
            Kind::Rx,
            "NET_RX",
            &[("softirq", "NET_RX"), ("softirq", "ksoftirqd/0")],
            &[("softirq", "NET_TX"), ("softirq", "ktimers/0"), ("softirq", "TIMER: x"), ("hard-irq", "NET_RX")],
        ),
        (
            Kind::Flood,
            "NET_RX",
            &[("softirq", "NET_RX")],
            &[("softirq", "RCU"), ("own-path", ""), ("softirq", "ksoftirqd/")],
        ),
        (
            Kind::Block,
            "BLOCK",
            &[("softirq", "BLOCK")],
            &[("softirq", "IRQ_POLL"), ("hard-irq", "BLOCK"), ("softirq", "")],
        ),
        (
            Kind::Disk,
            "virtio0-req.0",
            &[("hard-irq", "virtio0-req.0 (irq 25)"), ("hard-irq", "irq/25-virtio0-")],
            &[
                ("hard-irq", "irq 25"),
                ("hard-irq", "irq/25-"),
                ("hard-irq", "eth0 (irq 26)"),
                ("softirq", "virtio0-req.0 (irq 25)"),
            ],
        ),
        (Kind::Disk, "", &[], &[("hard-irq", "eth0 (irq 26)"), ("hard-irq", ""), ("hard-irq", "irq/25-eth0")]),
        (
            Kind::Irqoff,
            "lab-irqoff",
            &[("irq-off", "lab-irqoff")],
            &[
                ("unexplained", "under lab-irqoff"),
                ("unexplained", "lab-irqoff"),
                ("irq-off", "another"),
                ("irq-off", ""),
                ("preempt-off", "lab-irqoff"),
            ],
        ),
        (
            Kind::Preemptoff,
            "lab-preemptoff",
            &[("preempt-off", "lab-preemptoff")],
            &[("preempt-off", "lab-preempt"), ("unexplained", "under lab-preemptoff"), ("irq-off", "lab-preemptoff")],
        ),
        (
            Kind::Switch,
            "rustc",
            &[("wake-up", ""), ("irq-off", "rustc"), ("own-path", "")],
            &[
                ("preempt-off", "rustc"),
                ("own-path", "waiting"),
                ("unexplained", "under rustc"),
                ("higher-priority", "rustc"),
            ],
        ),
        (
            Kind::Kworker,
            "lab_plant_work",
            &[("worker", "kworker: lab_plant_work")],
            &[("worker", "kworker"), ("worker", "kworker: vmstat_update"), ("irq-off", "kworker: lab_plant_work")],
        ),
        (
            Kind::Stopper,
            "migration/0",
            &[("stop-machine", "migration/0")],
            &[
                ("irq-off", "migration/0"),
                ("stop-machine", "migration/01"),
                ("stop-machine", ""),
                ("higher-priority", "migration/0"),
            ],
        ),
        (
            Kind::Ipi,
            "lab_plant_call",
            &[("ipi", "lab_plant_call"), ("ipi", "function call"), ("ipi", "function call to many")],
            &[("ipi", "reschedule"), ("ipi", "IRQ work"), ("ipi", "other_function"), ("vector", "function call")],
        ),
        (
            Kind::Storm,
            "timerfd_tmrproc",
            &[("timer-callback", "timerfd_tmrproc")],
            &[("timer-interrupt", ""), ("timer-callback", "x")],
        ),
        (
            Kind::Fault,
            "-",
            &[("page-fault", ""), ("page-fault", "from disk")],
            &[("own-path", ""), ("unexplained", "under x")],
        ),
        (
            Kind::Throttle,
            "lab-throttle",
            &[("throttled", "lab-throttle")],
            &[("throttled", "another"), ("throttled", ""), ("preempt-off", "lab-throttle")],
        ),
        (
            Kind::Throttle,
            "-",
            &[("throttled", ""), ("throttled", "rustc")],
            &[("preempt-off", "planted"), ("idle-exit", ""), ("unexplained", "under idle")],
        ),
    ];

    #[test]
    fn of_every_kind_class_and_name_must_both_be_right() {
        for kind in Kind::value_variants() {
            let mine = || ANSWERS.iter().filter(|(of, ..)| of == kind);
            assert!(mine().any(|(_, _, right, wrong)| !right.is_empty() && !wrong.is_empty()), "{kind:?} is not tried");
        }
        for (kind, planted, right, wrong) in ANSWERS {
            for (class, name) in *right {
                assert!(
                    kind.is_right(Sight::Whole, class, name, planted),
                    "{kind:?} {planted}: {class} `{name}` is right"
                );
                assert!(
                    kind.is_right(Sight::Guest, class, name, planted),
                    "{kind:?} {planted}: {class} `{name}` is right"
                );
                assert!(!kind.is_right(Sight::Whole, "another", name, planted), "{kind:?}: the class must be right");
            }
            for (class, name) in *wrong {
                assert!(
                    !kind.is_right(Sight::Whole, class, name, planted),
                    "{kind:?} {planted}: {class} `{name}` is wrong"
                );
            }
        }
    }

    #[test]
    fn only_in_a_guest_may_who_holds_interrupts_off_stay_unaccused_and_must_be_named_even_so() {
        let said = |name: &str| Kind::Irqoff.is_right(Sight::Guest, "unexplained", name, "planted-irqoff");
        assert!(said("under planted-irqoff"));
        assert!(!said("under another") && !said("planted-irqoff") && !said(""));
        for kind in Kind::value_variants().iter().filter(|kind| **kind != Kind::Irqoff) {
            assert!(!kind.is_right(Sight::Guest, "unexplained", "under planted", "planted"), "{kind:?}");
        }
    }

    #[test]
    fn who_does_not_know_whom_he_planted_is_not_agreed_with() {
        let by_name =
            [Kind::Hog, Kind::Rr, Kind::Irq, Kind::Storm, Kind::Disk, Kind::Irqoff, Kind::Preemptoff, Kind::Stopper];
        for kind in by_name {
            let class = [
                "higher-priority",
                "same-priority",
                "timer-callback",
                "hard-irq",
                "irq-off",
                "preempt-off",
                "stop-machine",
            ];
            for (planted, class) in class.iter().flat_map(|class| [("", class), ("-", class)]) {
                assert!(!kind.is_right(Sight::Whole, class, planted, planted), "{kind:?} {class}");
            }
        }
    }
}
