//! How each kind is planted beside a measurement: as one line of a guest's shell.
//!
//! The emulator runs the CPUs in turns, and the first one comes first: that one is measured. It must not know what is made
//! of what was measured.

use super::luggage;

/// How a kind is planted.
#[derive(Clone, Copy, Debug)]
pub enum Planter {
    /// By the program, with threads of that priority.
    Program(u32),
    /// By the module, beside a measurement of that priority.
    Module(u32),
    /// By the program, with what the kernel does by itself.
    Throttling,
    /// By the program, that takes pages of the measurement away.
    PagesTaken,
}

/// Kinds, in the order of the claims.
pub const KINDS: [(&str, Planter); 11] = [
    ("irqoff", Planter::Module(90)),
    ("preemptoff", Planter::Module(90)),
    ("irq", Planter::Module(90)),
    ("ipi", Planter::Module(90)),
    ("stopper", Planter::Module(90)),
    // The module gives its worker priority 50.
    ("kworker", Planter::Module(40)),
    // The thread that runs softirqs of timers has priority 1.
    ("softirq", Planter::Module(1)),
    ("hog", Planter::Program(95)),
    ("rr", Planter::Program(90)),
    ("fault", Planter::PagesTaken),
    // The last one: not every kernel lets its server for ordinary threads be set back.
    ("throttle", Planter::Throttling),
];
/// Seconds of measurement for each kind, which yield 200 sections that nothing disturbed.
const SECONDS: u32 = 5;
/// Seconds that a measurement may take longer than planned, as guests are slow. The planter is ended after them.
const SPARE: u32 = 90;
/// These come less often.
const SECONDS_MORE: u32 = 9;
/// Beside whatever is measured: without it a guest idles at times, and its time is then the host's.
pub const TURNS: &str = "causes turns --cpu 1 --for 200 & turns=$!";
/// The same where the measured CPU is never idle: what others do then, they do in turns with it.
const TURNS_FIRST: &str = "causes turns --first --cpu 1 --for 200 & turns=$!";
/// A disk that takes a millisecond for everything, to swap to; one page at a time.
const DISK: &str = "/dev/nullb0";
const SWAP: &str = "modprobe null_blk memory_backed=1 irqmode=2 completion_nsec=1000000 gb=1 submit_queues=1; \
                    mkswap /dev/nullb0 >/dev/null && swapon /dev/nullb0; echo 0 >/proc/sys/vm/page-cluster";

impl Planter {
    /// Whether every section has the length that was asked for.
    pub fn has_length(self) -> bool {
        matches!(self, Self::Program(_) | Self::Module(_))
    }

    /// How long a kind is measured, for 200 late activations.
    pub fn seconds(self) -> u32 {
        if self.has_length() { SECONDS } else { SECONDS_MORE }
    }

    /// Measures and plants for this number of seconds.
    pub fn command(self, kind: &str, seconds: u32) -> String {
        let plant = |every: u32, more: &str| {
            format!(
                "causes plant {kind} --cpu 0 --for {} --burst-us 2000 --every-us {every} --name lab-{kind} --out /tmp/truth {more}",
                seconds + SPARE
            )
        };
        let measure = |priority: u32, period: &str, seconds: u32| {
            format!(
                "punctual measure --quiet --explain --windows 1200 --explain-threshold 900us --warm-up 100ms --cpus 0 \
                 --priority {priority} --period {period} --duration {seconds}s --out /tmp/recording"
            )
        };
        let beside = |plant: String| {
            format!(
                "{plant} & planter=$!; sleep 0.2; {}; kill $turns $planter; wait $planter",
                measure(90, "997us", seconds)
            )
        };
        let planted = match self {
            Self::Program(priority) => beside(plant(12_000, &format!("--priority {priority}"))),
            Self::Throttling => beside(plant(12_000, "")),
            Self::Module(priority) => format!(
                "insmod {} kind={kind} cpu=0 length_us=2000 every_us=10000 count=1800; {}; kill $turns; \
                 cat /sys/kernel/debug/lab_plant >/tmp/truth; rmmod lab_plant",
                luggage::MODULE,
                measure(priority, "997us", seconds)
            ),
            // Its pages are taken while it sleeps, which takes a few milliseconds.
            Self::PagesTaken => format!(
                "{SWAP}; causes unlocked {} & victim=$!; sleep 1; {}; wait $victim; kill $turns; swapoff {DISK}",
                measure(90, "9997us", seconds + 22),
                plant(20_000, "--victim $victim"),
            ),
        };
        let turns = if matches!(self, Self::Throttling) { TURNS_FIRST } else { TURNS };
        format!("rm -f /tmp/recording /tmp/truth; {turns}; {planted}")
    }
}
