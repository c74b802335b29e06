//! What an inspection came to.

use super::cost::{Cost, CycleCost};
use super::findings::{Finding, Setup};
use super::pacing::OPERATION;
use super::record::{CallKind, Clock};
use super::steps::CallMade;
use crate::explain::Explanation;
use crate::trace::Address;
use punctual_hist::{MonoTime, Nanos};
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// The number of the process.
    pub pid: u32,
    /// The name of the process, as the kernel has it.
    pub name: String,
    /// The number of threads of the process that were seen.
    pub threads: u64,
}

/// How the program was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// A program in the kernel, which looks at the threads of the program only.
    Bpf,
    /// The kernel's trace, filtered to the threads of the program.
    Tracefs,
    /// Counters of the kernel, read before and after, and samples of what each thread waits in.
    Counters,
}

/// A better engine that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// The better engine that was tried.
    pub engine: Engine,
    /// Why it was not used.
    pub why: String,
}

/// What the engine cannot see.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Blind {
    /// Allocations that the allocator serves without a system call, for this reason.
    SmallAllocations(Unprobed),
    /// Releases, latencies and cycles.
    Cycles,
    /// What made cycles late, for this reason.
    Causes(String),
    /// Where in the program a system call was made.
    CallSites,
    /// Where in the program this number of calls or faults happened, which came too fast.
    Places(u64),
    /// The trace event with this name is missing or cannot be read.
    Event(String),
    /// The functions of a script: only those of its interpreter are known.
    Script,
    /// Which wait a thread is in, because the kernel does not show it to this user.
    Waits,
    /// Settings of this thread could not be read.
    SettingsOf(u32),
    /// A process that the program started, which is not observed unless that is asked for.
    ChildProcess {
        /// The number of the process.
        pid: u32,
        /// The kernel's name of it.
        name: String,
    },
}

/// Why allocations without a system call are not seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unprobed {
    NotAsked,
    /// No thread was seen whose cycles they could be in.
    NoThread,
    /// The program has no function with the name of one that allocates.
    NoAllocator,
    /// The kernel refused to probe the program, for this reason.
    Refused(String),
    /// They were looked for during this time only, in nanoseconds, so that looking does not cost the program too much.
    After(Nanos),
}

/// When the allocations of a thread were looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    pub from: MonoTime,
    /// `None` if until the end.
    pub to: Option<MonoTime>,
}

impl Probed {
    pub fn holds(&self, at: MonoTime) -> bool {
        at >= self.from && self.to.is_none_or(|to| at <= to)
    }
}

/// Why the observation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The time was up.
    Duration,
    ProgramEnded,
    /// The user interrupted it.
    Interrupted,
}

/// The result of `punctual inspect`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inspection {
    /// The process that was inspected.
    pub program: Program,
    /// Processes that it started and that were observed as well.
    pub children: Vec<Program>,
    /// How the program was observed.
    pub engine: Engine,
    /// Better engines that were not used.
    pub refused: Vec<Refused>,
    /// What the engine cannot see.
    pub blind: Vec<Blind>,
    /// How long the program was observed, in nanoseconds.
    #[serde(rename = "observed_ns")]
    pub observed: Nanos,
    /// Why the observation ended.
    pub end: End,
    /// The number of trace records that were read.
    pub records: u64,
    /// The number of trace records that the kernel lost. Cycles with lost records are left out.
    pub lost: u64,
    /// The number of calls of the allocator that were probed. Each took some microseconds of the program.
    pub probed_allocations: u64,
    /// CPU time that punctual itself used meanwhile, in nanoseconds.
    #[serde(rename = "own_cpu_ns")]
    pub own_cpu: Nanos,
    /// What the observation took and gave up; null without a trace.
    pub cost: Option<Cost>,
    /// What the program did before its first cycle; null if the program was running already.
    pub start_up: Option<StartUp>,
    /// The threads, those paced by a timer first.
    pub threads: Vec<ThreadReport>,
    /// Marks in the program's own code; null if it has none.
    pub marks: Option<MarkReport>,
}

/// The time from the start of the program to the first cycle of any of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartUp {
    /// Its length, in nanoseconds; null if no cycle was seen.
    #[serde(rename = "length_ns")]
    pub length: Option<Nanos>,
    /// The number of page faults.
    pub faults: u64,
    /// The number of system calls that change the address space.
    pub memory_calls: u64,
    /// The number of all system calls.
    pub calls: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadReport {
    /// The number of the process that the thread belongs to.
    pub pid: u32,
    /// The number of the thread.
    pub tid: u32,
    /// The name of the thread, as the kernel has it.
    pub name: String,
    /// How the thread is set up; null if that could not be read.
    pub setup: Option<Setup>,
    /// What wakes the thread.
    pub pace: Pace,
    /// The cycles of the thread; null unless the trace shows what paces it.
    pub cycles: Option<ThreadCycles>,
    /// What made its cycles late; null if that was not looked for.
    pub causes: Option<Explanation>,
    /// Counters of the thread; null if they could not be read.
    pub counters: Option<Counters>,
    /// What the observation took of the thread in each of its cycles; null if it has none.
    pub cost: Option<CycleCost>,
    /// What is wrong with how the thread is set up, and with how it waits.
    pub findings: Vec<Finding>,
}

/// What wakes a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// A timer for which the thread sleeps.
    Sleep {
        /// The system call that the thread sleeps in.
        call: String,
        /// Whether the thread sleeps until an absolute time.
        absolute: bool,
        /// The clock of the timer.
        clock: Clock,
    },
    /// A timer that the thread reads from.
    Timerfd {
        /// The system call in which the thread waits.
        call: String,
    },
    /// The signal of a timer.
    PosixTimer {
        /// The system call in which the thread waits.
        call: String,
    },
    /// The time limit of a wait.
    TimeOut {
        /// The system call in which the thread waits.
        call: String,
    },
    /// No timer: the thread waits for somebody. If it has cycles, a release is the moment in which it was woken.
    Woken {
        /// The system call that paces the thread; without cycles, the one in which it waits most often.
        call: String,
        /// The number of wake-ups from waits that pace the thread; without cycles, from all.
        wakes: u64,
        /// Who wakes it, the most frequent first.
        by: Vec<WokenBy>,
    },
    /// The thread was waiting at the end, in a wait that is the only one that was seen.
    StillWaits {
        /// The system call that the thread is still in.
        call: String,
    },
    /// The thread was seen running, and it never waited.
    NeverWaits,
    /// The thread did not run at all.
    Idle,
    /// This engine does not show it. The system call is the one that the thread was found in most often.
    NotSeen {
        /// The system call, if one was found.
        call: Option<String>,
    },
}

/// Somebody who woke the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WokenBy {
    /// The name of the thread that woke it; null for an interrupt.
    pub name: Option<String>,
    /// How often it woke the thread.
    pub count: u64,
    /// Whether the waker has a lower priority than the thread.
    pub is_lower: bool,
    /// The waker's priority as the kernel counts it: below 100 real-time, where a lower number goes first; null if it is not
    /// known.
    pub priority: Option<i32>,
}

/// Percentiles of a length of time. A percentile is null if there are too few values for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantiles {
    /// The median, in nanoseconds.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Nanos>,
    /// The 99th percentile, in nanoseconds.
    #[serde(rename = "p99_ns")]
    pub p99: Option<Nanos>,
    /// The 99.9th percentile, in nanoseconds.
    #[serde(rename = "p999_ns")]
    pub p999: Option<Nanos>,
    /// The largest value, in nanoseconds.
    #[serde(rename = "max_ns")]
    pub max: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadCycles {
    /// The number of complete cycles.
    pub count: u64,
    /// When the first cycle began, in nanoseconds of the monotonic clock; null if there is none.
    #[serde(rename = "first_ns")]
    pub first: Option<MonoTime>,
    /// Time between releases, in nanoseconds; null if the releases have no regular distance.
    #[serde(rename = "period_ns")]
    pub period: Option<Nanos>,
    /// By how much the mean distance of releases exceeds the shortest usual one, in nanoseconds: the drift of relative
    /// sleeps. Null for timers that keep a grid.
    #[serde(rename = "drift_ns")]
    pub drift: Option<Nanos>,
    /// The number of releases that passed without a cycle.
    pub skipped: u64,
    /// The number of cycles that were still running at the next release.
    pub overruns: u64,
    /// From the release to the return of the wait, for each cycle.
    pub latency: Quantiles,
    /// The same for each release that was due. A skipped release counts with the time until the thread ran next.
    pub latency_due: Quantiles,
    /// The number of cycles with more latency than the limit; null if there is no limit.
    pub over_limit: Option<u64>,
    /// How the period errors depend on each other; null if there are too few cycles.
    pub period_errors: Option<PeriodErrors>,
    /// What the time of the cycles consists of.
    pub times: CycleTimes,
    /// Operations in the cycles besides the wait, the most frequent first.
    pub in_the_way: Vec<InTheWay>,
    /// The cycles with the longest response time.
    pub worst: Vec<WorstCycle>,
}

/// What the autocorrelation of period errors shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PeriodErrorsShow {
    /// Each wake-up errs by itself around a fixed grid: a long distance is followed by a short one.
    Grid,
    /// Errors are kept: each wake-up shifts all later ones.
    Accumulation,
    /// Latency changes slowly, over many cycles.
    Wandering,
}

/// Autocorrelation of the differences between the distance of two wake-ups and the period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodErrors {
    /// The autocorrelation at lag 1.
    pub rho1: f64,
    /// What the autocorrelation shows.
    pub shows: PeriodErrorsShow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CycleTimes {
    /// Time on the CPU in a cycle.
    pub execution: Quantiles,
    /// From the release to the next entry into the wait.
    pub response: Quantiles,
    /// Sum over all cycles, on the CPU, in nanoseconds.
    #[serde(rename = "running_ns")]
    pub running: Nanos,
    /// Sum over all cycles, pre-empted, in nanoseconds.
    #[serde(rename = "preempted_ns")]
    pub preempted: Nanos,
    /// Sum over all cycles, blocked, in nanoseconds.
    #[serde(rename = "blocked_ns")]
    pub blocked: Nanos,
    /// Sum over all cycles, woken and not yet running, in nanoseconds.
    #[serde(rename = "waiting_ns")]
    pub waiting: Nanos,
}

/// Something that should not be in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Intruder {
    /// The address space was changed, as allocators do.
    Memory,
    /// A function of the allocator was called.
    Allocation,
    Fault,
    /// The thread slept besides its pacing wait.
    Sleep,
    /// The thread waited for a lock, or for another thread in the same system call.
    Lock,
    /// The thread waited for a lock with priority inheritance.
    PiLock,
    /// Something was written to a file, a terminal or a socket.
    Write,
    /// A system call in which the thread waited.
    BlockingCall,
    /// A system call of another kind.
    Call,
    /// A signal was delivered.
    Signal,
    /// The thread moved to another CPU.
    Migration,
}

/// The operations `FUTEX_LOCK_PI` and `FUTEX_LOCK_PI2`.
const LOCK_PI: [u64; 2] = [6, 13];

impl Intruder {
    /// What a call is to the cycle that it is in.
    pub fn of(call: &CallMade, kind: CallKind) -> Self {
        let [_, operation] = call.arguments;
        match kind {
            CallKind::Memory => Self::Memory,
            CallKind::ClockSleep | CallKind::Sleep => Self::Sleep,
            CallKind::Futex if call.blocked && LOCK_PI.contains(&(operation & OPERATION)) => Self::PiLock,
            CallKind::Futex if call.blocked => Self::Lock,
            CallKind::Write => Self::Write,
            _ if call.blocked => Self::BlockingCall,
            _ => Self::Call,
        }
    }
}

/// A place in the code of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Code {
    /// The file name of the program or library.
    pub module: String,
    /// The function; null if the module has no symbol there.
    pub symbol: Option<String>,
    /// Distance from the beginning of the function, or without a symbol the address in the module's file. A function that
    /// the compiler put into another one has that one's distance.
    pub offset: u64,
    /// The file of the source; null unless the module was built with lines.
    pub file: Option<String>,
    /// The line of the source; null unless the module was built with lines.
    pub line: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InTheWay {
    /// What happened in the cycle.
    pub intruder: Intruder,
    /// The system call, if it is one.
    pub call: Option<String>,
    /// The function of the allocator, if it is one.
    pub function: Option<String>,
    /// Where in the program; null if that is not known.
    pub code: Option<Code>,
    /// From where that was called, innermost first, as far as it is known.
    pub callers: Vec<Code>,
    /// The number of times it happened.
    pub count: u64,
    /// The number of cycles it happened in.
    pub cycles: u64,
    /// The number of cycles in which it was looked for.
    pub among: u64,
    /// The share of the slowest cycles it happened in, 0 to 1.
    pub slow_share: f64,
    /// The largest time that one of them took, in nanoseconds.
    #[serde(rename = "longest_ns")]
    pub longest: Nanos,
    /// The thread that ended the wait, if it was a wait and a thread did.
    pub waker: Option<WokenBy>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorstCycle {
    /// The number of the cycle, counted from 0.
    pub number: u64,
    /// When the thread returned from its wait, in nanoseconds of the monotonic clock.
    #[serde(rename = "woke_ns")]
    pub woke: MonoTime,
    /// From the release to the return of the wait, in nanoseconds; null if the release is not known.
    #[serde(rename = "latency_ns")]
    pub latency: Option<Nanos>,
    /// From the release to the next entry into the wait, in nanoseconds.
    #[serde(rename = "response_ns")]
    pub response: Nanos,
    /// Pre-empted, in nanoseconds.
    #[serde(rename = "preempted_ns")]
    pub preempted: Nanos,
    /// Time in which the thread was blocked, in nanoseconds.
    #[serde(rename = "blocked_ns")]
    pub blocked: Nanos,
    /// Woken and not yet running, in nanoseconds.
    #[serde(rename = "waiting_ns")]
    pub waiting: Nanos,
    /// What happened in the cycle.
    pub intruders: Vec<Intruder>,
}

/// Growth of a thread's counters while it was observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// How often the thread went to wait by itself.
    pub waits: u64,
    /// How often the thread was pre-empted.
    pub preemptions: u64,
    /// The number of page faults that needed no disk.
    pub minor_faults: u64,
    /// The number of page faults that needed a disk.
    pub major_faults: u64,
    /// Time on the CPU, in nanoseconds; null if the kernel does not count it.
    #[serde(rename = "ran_ns")]
    pub ran: Option<Nanos>,
    /// Time in which the thread was ready and did not run, in nanoseconds; null if the kernel does not count it.
    #[serde(rename = "waited_for_cpu_ns")]
    pub waited_for_cpu: Option<Nanos>,
}

/// The addresses of a call stack are looked up by the reader of the program: the place that it is about, then its callers.
pub type Locate<'a> = &'a dyn Fn(&[Address]) -> Vec<Code>;

/// The marked cycles of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkedCycles {
    /// Number of cycles of which both the beginning and the end were seen.
    pub cycles: u64,
    /// Time from the beginning of a cycle to its end.
    pub length: Quantiles,
    /// Number of cycles of which the beginning and the beginning of the next were seen.
    pub begun_apart: u64,
    /// Time from the beginning of a cycle to the beginning of the next.
    pub apart: Quantiles,
    /// Number of marks without their counterpart: an end without a beginning, or a beginning after a beginning. The
    /// first end is none, if nobody looked when its cycle began.
    pub unpaired: u64,
    /// The stages, in the order in which they were first passed.
    pub stages: Vec<MarkedStage>,
}

/// One stage of marked cycles, which lasts until the next mark of the same thread, or what lies between two USDT probes of
/// another provider.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkedStage {
    /// The name that the program gave it, behind the name of another provider and a colon.
    pub name: String,
    /// How often it was passed.
    pub times: u64,
    /// How long it took.
    pub length: Quantiles,
}

/// What was found of marks in a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkReport {
    /// Number of places in the program's code with a mark that were followed.
    pub places: u64,
    /// Number of further such places, which were too many to be followed.
    pub unfollowed_places: u64,
    /// Threads that were not followed, because there were others of a higher priority.
    pub unfollowed: BTreeSet<u32>,
    /// Why the marks could not be followed; null if they were, or if there are none.
    pub refused: Option<String>,
    /// Number of marks that were passed and not recorded, because they came too fast.
    pub lost: u64,
    /// Marks of other systems in the program.
    pub others: Vec<OtherMarks>,
    /// The marked cycles of each thread that passed marks.
    pub threads: Vec<MarkedThread>,
}

/// Marks of other systems, which are recognised and not read. USDT probes are read if their names say that something begins
/// and ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "system", rename_all = "kebab-case")]
pub enum OtherMarks {
    /// Tracepoints of LTTng-UST, which the kernel sees only where they are USDT probes as well.
    LttngUst,
    /// Tracepoints of ROS 2, without the functions that tell when a callback begins and ends.
    Ros2,
    /// The client library of Perfetto, which writes to a daemon of its own.
    Perfetto,
    /// USDT probes of another provider that say of nothing when it begins and ends, or that are off until their reader
    /// switches them on.
    Usdt {
        /// The name of the provider.
        provider: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MarkedThread {
    /// The number of the thread.
    pub tid: u32,
    #[serde(flatten)]
    pub cycles: MarkedCycles,
}
