//! The numbers of a loop for C: a flat copy, and a page of text.

use crate::error::{Failure, cold, done};
use crate::handle;
use crate::text;
use crate::time::ns;
use crate::versioned::{Versioned, give_or_tell, init, zeroed};
use punctual_rt::stats::{Report, Snapshot, idle_states};
use punctual_rt::{Counts, Error, Nanos, StatsReader};
use std::ffi::{c_char, c_int};

/// The distribution of a quantity. A member is -1 where it cannot be told: there were no values, or too few for that
/// percentile.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_summary {
    /// How many values.
    pub count: u64,
    /// The smallest value.
    pub min_ns: i64,
    /// The mean, rounded down.
    pub mean_ns: i64,
    /// Half of the values are at most this.
    pub p50_ns: i64,
    /// 90 % are at most this.
    pub p90_ns: i64,
    /// 99 % are at most this.
    pub p99_ns: i64,
    /// 99.9 % are at most this.
    pub p999_ns: i64,
    /// 99.99 % are at most this.
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

/// The numbers of a loop, at one moment.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_stats {
    /// Set by `prt_stats_init`.
    pub size: u32,
    /// Set by `prt_stats_init`.
    pub version: u32,
    /// The process.
    pub pid: u32,
    /// The CPU it is bound to; -1 when it is not bound to one.
    pub cpu: i32,
    /// Whether all of this belongs together: 1, or 0 when the loop wrote during every try.
    pub coherent: u32,
    /// Zero.
    pub reserved: u32,
    /// The nominal period.
    pub period_ns: i64,
    /// When the numbers began.
    pub started_ns: i64,
    /// When this copy was made.
    pub taken_ns: i64,
    /// For how long the machine was suspended in between.
    pub suspended_ns: i64,
    /// When the first activation woke.
    pub first_woke_ns: i64,
    /// When the last one woke: proof of life.
    pub last_woke_ns: i64,
    /// Activations that ran.
    pub activations: u64,
    /// Releases that passed without one, outages apart.
    pub missed: u64,
    /// Stalls of 100 ms or more, each counted once.
    pub outages: u64,
    /// Releases missed in them.
    pub lost_in_outages: u64,
    /// Activations later than the budget.
    pub over_budget: u64,
    /// Bodies done later than the deadline.
    pub deadline_misses: u64,
    /// Activations by how they came about; the index is one of `PRT_CLASS_...`.
    pub classes: [u64; 8],
    /// Woke minus release; zero where early.
    pub latency: prt_summary,
    /// Release minus woke, of the early ones.
    pub early: prt_summary,
    /// By how much the kernel's sleep was longer than asked for.
    pub overshoot: prt_summary,
    /// Time spent polling.
    pub polled: prt_summary,
    /// By how much periods were off, without sign.
    pub period_error: prt_summary,
    /// From waking to the end of the work.
    pub execution: prt_summary,
    /// From the release to the end of the work.
    pub response: prt_summary,
    /// How successive period errors depend on each other: -0.5 where latencies are independent, towards -1 where a
    /// compensation oscillates. Not a number while it is not known.
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

/// A copy of a loop's numbers, for a structure of the caller's.
///
/// # Safety
/// `to` is null or points to a structure as large as it says.
pub(crate) unsafe fn copy(stats: &StatsReader, to: *mut prt_stats) -> Result<(), Failure> {
    // SAFETY: as the caller says.
    unsafe { give_or_tell(to, &prt_stats::of(&stats.snapshot())) }
}

/// The report of a loop, for a buffer of the caller's.
///
/// # Safety
/// `buffer` is null, or `size` bytes can be written there.
pub(crate) unsafe fn report(stats: &StatsReader, buffer: *mut c_char, size: usize) -> Result<c_int, Failure> {
    let snapshot = stats.snapshot();
    let idle = snapshot.cpu.map(idle_states).unwrap_or_default();
    let report = Report::new(&snapshot).with_idle_states(&idle).to_string();
    // SAFETY: as the caller says.
    unsafe { text::copy(&report, buffer, size) }
}

/// Prepares a structure of `size` bytes (`sizeof *stats`) to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_init(stats: *mut prt_stats, size: usize) -> c_int {
    // SAFETY: null, or so large, says the caller.
    cold(|| unsafe { init(stats, size) })
}

/// The numbers of a task of another process, or of this one. Opaque.
pub struct prt_stats_reader([u8; 0]);

handled!(prt_stats_reader, 7: StatsReader);

/// Attaches to the task `name` of process `pid`, read-only. Stays readable after that process has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_open(pid: u32, name: *const c_char, reader: *mut *mut prt_stats_reader) -> c_int {
    done(|| {
        // SAFETY: null, or a text that ends, says the caller.
        let name = unsafe { text::required(name, 255, "name") }?;
        let attached = StatsReader::attach(pid, name).map_err(Error::from)?;
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(reader, || Ok(handle::open(attached)?)) }
    })
}

/// A copy of the numbers; the loop does not notice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_snapshot(reader: *const prt_stats_reader, stats: *mut prt_stats) -> c_int {
    // SAFETY: null or valid, says the caller.
    done(|| unsafe { copy(&*handle::shared(reader)?, stats) })
}

/// The numbers as a page of text. Returns the length of the text; what `buffer` has no room for is cut.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stats_report(reader: *const prt_stats_reader, buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: null or so large, says the caller.
    cold(|| unsafe { report(&*handle::shared(reader)?, buffer, size) })
}

/// Detaches.
#[unsafe(no_mangle)]
pub extern "C" fn prt_stats_close(reader: *mut prt_stats_reader) -> c_int {
    done(|| handle::free(reader))
}
