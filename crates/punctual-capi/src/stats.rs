//! The statistics of a loop for C, as a structure and as a page of text.

use crate::error::{Failure, cold, done};
use crate::handle;
use crate::text;
use crate::time::ns;
use crate::versioned::{Versioned, give_or_tell, init, zeroed};
use punctual_rt::stats::{Report, Snapshot, idle_states};
use punctual_rt::{Counts, Error, Nanos, StatsReader};
use std::ffi::{c_char, c_int};

/// The distribution of a quantity. A member is -1 if it is unknown: there were no values, or too few for the
/// percentile.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_summary {
    /// Number of values.
    pub count: u64,
    /// The smallest value.
    pub min_ns: i64,
    /// The mean, rounded down.
    pub mean_ns: i64,
    /// Half of the values are at most this.
    pub p50_ns: i64,
    /// 90 % of the values are at most this.
    pub p90_ns: i64,
    /// 99 % of the values are at most this.
    pub p99_ns: i64,
    /// 99.9 % of the values are at most this.
    pub p999_ns: i64,
    /// 99.99 % of the values are at most this.
    pub p9999_ns: i64,
    /// The largest value seen, which is not the largest possible.
    pub max_ns: i64,
}

impl prt_summary {
    fn of(counts: &Counts) -> Self {
        let or_none = |value: Option<Nanos>| value.map_or(-1, |value| ns(value.as_ns()));
        let percentile = |ppm| or_none(counts.percentile_ppm(ppm));
        Self {
            count: counts.count(),
            min_ns: or_none(counts.min()),
            mean_ns: or_none(counts.mean()),
            p50_ns: percentile(500_000),
            p90_ns: percentile(900_000),
            p99_ns: percentile(990_000),
            p999_ns: percentile(999_000),
            p9999_ns: percentile(999_900),
            max_ns: or_none(counts.max()),
        }
    }
}

/// The statistics of a loop at one moment.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_stats {
    /// Set by `prt_stats_init`.
    pub size: u32,
    /// Set by `prt_stats_init`.
    pub version: u32,
    /// Process id of the process that runs the loop.
    pub pid: u32,
    /// The CPU that the loop is bound to; -1 if it is not bound to one.
    pub cpu: i32,
    /// 1 if all members were copied between two writes of the loop, or 0 if the loop wrote during every attempt.
    pub coherent: u32,
    /// Reserved; always 0.
    pub reserved: u32,
    /// Nominal period of the loop.
    pub period_ns: i64,
    /// When the statistics of the loop were created.
    pub started_ns: i64,
    /// When this copy was made.
    pub taken_ns: i64,
    /// How long the machine was suspended between `started_ns` and `taken_ns`.
    pub suspended_ns: i64,
    /// When the first activation woke.
    pub first_woke_ns: i64,
    /// When the last activation woke; it shows whether the loop is still running.
    pub last_woke_ns: i64,
    /// Activations that ran.
    pub activations: u64,
    /// Releases missed outside of outages.
    pub missed: u64,
    /// Stalls of 100 ms or more, each counted once.
    pub outages: u64,
    /// Releases missed during outages.
    pub lost_in_outages: u64,
    /// Activations with a latency larger than the budget.
    pub over_budget: u64,
    /// Activations whose body finished after the deadline.
    pub deadline_misses: u64,
    /// Number of activations of each class; the index is one of `PRT_CLASS_...`.
    pub classes: [u64; 8],
    /// Wake-up latency: woke minus release; zero if early.
    pub latency: prt_summary,
    /// Release minus woke, of the activations that woke early.
    pub early: prt_summary,
    /// By how much longer than requested the kernel's sleeps took.
    pub overshoot: prt_summary,
    /// Time spent polling per activation.
    pub polled: prt_summary,
    /// Difference between the distance of two successive wake-ups and that of their releases, without sign.
    pub period_error: prt_summary,
    /// Time from waking to the end of the work.
    pub execution: prt_summary,
    /// Time from the release to the end of the work.
    pub response: prt_summary,
    /// Correlation of successive period errors: -0.5 if latencies are independent, towards -1 if a compensation
    /// oscillates. NaN while it is unknown.
    pub period_autocorrelation: f64,
}

// SAFETY: repr(C), size and version first, no padding, numbers only.
unsafe impl Versioned for prt_stats {
    const NAME: &'static str = "prt_stats";

    fn usual() -> Self {
        let none = prt_summary::of(&Counts::new());
        Self {
            cpu: -1,
            latency: none,
            early: none,
            overshoot: none,
            polled: none,
            period_error: none,
            execution: none,
            response: none,
            period_autocorrelation: f64::NAN,
            ..zeroed()
        }
    }
}

impl prt_stats {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let counters = &snapshot.counters;
        Self {
            pid: snapshot.pid,
            cpu: snapshot.cpu.and_then(|cpu| i32::try_from(cpu).ok()).unwrap_or(-1),
            coherent: u32::from(snapshot.coherent),
            period_ns: ns(snapshot.period.as_ns()),
            started_ns: ns(snapshot.started.as_ns()),
            taken_ns: ns(snapshot.taken.as_ns()),
            suspended_ns: ns(snapshot.suspended.as_ns()),
            first_woke_ns: ns(counters.first_woke.as_ns()),
            last_woke_ns: ns(counters.last_woke.as_ns()),
            activations: counters.activations,
            missed: counters.missed,
            outages: counters.outages,
            lost_in_outages: counters.lost_in_outages,
            over_budget: counters.over_budget,
            deadline_misses: counters.deadline_misses,
            classes: counters.classes,
            latency: prt_summary::of(&snapshot.latency),
            early: prt_summary::of(&snapshot.early),
            overshoot: prt_summary::of(&snapshot.overshoot),
            polled: prt_summary::of(&snapshot.polled),
            period_error: prt_summary::of(&snapshot.period_error),
            execution: prt_summary::of(&snapshot.execution),
            response: prt_summary::of(&snapshot.response),
            period_autocorrelation: snapshot.periods.and_then(|p| p.autocorrelation()).unwrap_or(f64::NAN),
            ..zeroed()
        }
    }
}

/// Copies the statistics of a loop into a structure of the C caller.
///
/// # Safety
/// `to` is null or points to a structure as large as it says.
pub(crate) unsafe fn copy(stats: &StatsReader, to: *mut prt_stats) -> Result<(), Failure> {
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { give_or_tell(to, &prt_stats::of(&stats.snapshot())) }
}

/// Writes the report of a loop into a buffer of the C caller.
///
/// # Safety
/// `buffer` is null, or `size` bytes can be written there.
pub(crate) unsafe fn report(stats: &StatsReader, buffer: *mut c_char, size: usize) -> Result<c_int, Failure> {
    let snapshot = stats.snapshot();
    let idle = snapshot.cpu.map(idle_states).unwrap_or_default();
    let report = Report::new(&snapshot).with_idle_states(&idle).to_string();
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { text::copy(&report, buffer, size) }
}

/// Prepares a structure of `size` bytes (`sizeof *stats`) to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_init(stats: *mut prt_stats, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a structure of `size` bytes.
    cold(|| unsafe { init(stats, size) })
}

/// A reader for the statistics of a task, of another process or of this one. Opaque.
pub struct prt_stats_reader([u8; 0]);

handled!(prt_stats_reader, 7: StatsReader);

/// Attaches to the statistics of task `name` of process `pid`, read-only. They stay readable after that process has
/// ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_open(pid: u32, name: *const c_char, reader: *mut *mut prt_stats_reader) -> c_int {
    done(|| {
        // SAFETY: the C caller promises NULL or a text that ends with NUL.
        let name = unsafe { text::required(name, 255, "name") }?;
        let attached = StatsReader::attach(pid, name).map_err(Error::from)?;
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(reader, || Ok(handle::open(attached)?)) }
    })
}

/// Copies the statistics; the loop is not disturbed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_snapshot(reader: *const prt_stats_reader, stats: *mut prt_stats) -> c_int {
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    done(|| unsafe { copy(&*handle::shared(reader)?, stats) })
}

/// Writes the statistics as a page of text. Returns the length of the whole text; `buffer` receives as much as fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_report(reader: *const prt_stats_reader, buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a buffer of `size` bytes.
    cold(|| unsafe { report(&*handle::shared(reader)?, buffer, size) })
}

/// Detaches from the statistics and frees the reader.
#[unsafe(no_mangle)]
pub extern "C" fn prt_stats_close(reader: *mut prt_stats_reader) -> c_int {
    done(|| handle::free(reader))
}
