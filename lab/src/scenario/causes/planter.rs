//! The command that plants delays of each kind during a measurement, as one line of a guest's shell.
//!
//! The emulator runs the CPUs in turn, beginning with the first. That CPU is measured. This module does not know how
//! the measurement is judged.

use super::luggage;

/// The means by which delays of a kind are planted.
#[derive(Clone, Copy, Debug)]
pub enum Planter {
    /// The program, with threads of this real-time priority.
    Program(u32),
    /// The kernel module, during a measurement with this real-time priority.
    Module(u32),
    /// The program, which makes the kernel throttle real-time threads.
    Throttling,
    /// The program, which takes memory pages away from the measuring process.
    PagesTaken,
}

/// All kinds that are planted, in the order of the claims.
pub const KINDS: [(&str, Planter); 11] = [
    ("irqoff", Planter::Module(90)),
    ("preemptoff", Planter::Module(90)),
    ("irq", Planter::Module(90)),
    ("ipi", Planter::Module(90)),
    ("stopper", Planter::Module(90)),
    // The module gives its worker priority 50.
    ("kworker", Planter::Module(40)),
    // The thread that runs softirqs of timers has priority 1, so the measuring thread must not be above it.
    ("softirq", Planter::Module(1)),
    ("hog", Planter::Program(95)),
    ("rr", Planter::Program(90)),
    ("fault", Planter::PagesTaken),
    // Throttling comes last, because not every kernel lets the server for ordinary threads be restored.
    ("throttle", Planter::Throttling),
];
/// Length of a measurement in seconds. It contains 200 sections that nothing disturbed.
const SECONDS: u32 = 5;
/// Seconds by which a measurement may take longer than planned, because guests are slow. The planter ends after this
/// time.
const SPARE: u32 = 90;
/// Length of a measurement for kinds whose delays are less frequent.
const SECONDS_MORE: u32 = 9;
/// Runs during every measurement. Without this program the guest would sometimes be idle, and its time would then be
/// the host's.
pub const TURNS: &str = "causes turns --cpu 1 --for 200 & turns=$!";
/// As [`TURNS`], for a measured CPU that is never idle. The program then also runs before ordinary threads of the other
/// CPU, so that they too get only short turns.
const TURNS_FIRST: &str = "causes turns --first --cpu 1 --for 200 & turns=$!";
/// A simulated disk for swapping, which takes a millisecond for each operation. One page is swapped at a time.
const DISK: &str = "/dev/nullb0";
const SWAP: &str = "modprobe null_blk memory_backed=1 irqmode=2 completion_nsec=1000000 gb=1 submit_queues=1; \
                    mkswap /dev/nullb0 >/dev/null && swapon /dev/nullb0; echo 0 >/proc/sys/vm/page-cluster";

impl Planter {
    /// Whether every planted section has the requested length.
    pub fn has_length(self) -> bool {
        matches!(self, Self::Program(_) | Self::Module(_))
    }

    /// Length of the measurement in seconds, in which about 200 activations are late.
    pub fn seconds(self) -> u32 {
        if self.has_length() { SECONDS } else { SECONDS_MORE }
    }

    /// The command that measures and plants for this number of seconds.
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
            // The period is longer, because pages are taken while the measuring thread sleeps, which takes a few
            // milliseconds.
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
