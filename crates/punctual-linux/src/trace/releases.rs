//! Records when threads of a program are released and when they get a CPU: two records a cycle, which the kernel chooses by
//! thread, so that it can go on for months.
//!
//! No other program leaves a record. What one record costs the thread that it is about is measured on this machine.

use super::instance::RELEASES;
use super::place::tracefs;
use super::program::Watch;
use super::{TraceError, price};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{PROGRAM_EVENTS, Record, ReleasedBy};
use punctual_numbers::trace::PageLayout;
use punctual_rt::now;
use rustix::io::Errno;
use rustix::thread::gettid;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;

/// Buffer of each CPU, in bytes: 60,000 records of 70 bytes.
const BUFFER_BYTES: u64 = 4 << 20;
const TIMER: &str = "timer:hrtimer_start";
const SWITCH: &str = "sched:sched_switch";
const WAKING: &str = "sched:sched_waking";
/// A filter that nothing passes: no task has this number.
const NOTHING: &str = "common_pid==-1";
/// Longest filter that is written; the kernel reads one page. There is room for more than a hundred threads.
const FILTER_MAX: usize = 4000;

/// A thread that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    pub tid: u32,
    pub by: ReleasedBy,
}

/// The trace of such threads. Its instance is removed when the value is dropped.
pub struct ReleaseTrace {
    watch: Watch,
    /// Records that were read before those of other CPUs that are older.
    early: Vec<Record>,
}

impl ReleaseTrace {
    /// Opens the instance. Nothing is recorded yet.
    pub fn open(cpus: &CpuSet) -> Result<Self, TraceError> {
        let tracefs = tracefs()?;
        let header = tracefs.read("events/header_page")?;
        let layout = PageLayout::parse(&header).map_err(|error| TraceError::NotUnderstood(error.to_string()))?;
        let mut blind = Vec::new();
        let none = |_: &str| false;
        let mut watch = Watch::open(&tracefs, RELEASES, layout, cpus, BUFFER_BYTES, &none, &mut blind)?;
        let folder = watch.instance.folder();
        let mut missing = None;
        for event in PROGRAM_EVENTS.iter().filter(|event| [TIMER, SWITCH, WAKING].contains(&event.path().as_str())) {
            let path = event.path();
            folder.write(&format!("events/{}/filter", slashed(&path)), NOTHING)?;
            let format = tracefs.read(&format!("events/{}/format", slashed(&path)))?;
            missing = missing.or(watch.decoder.learn(event, &format).err());
        }
        match missing {
            Some(error) => Err(TraceError::NotUnderstood(error.to_string())),
            None => Ok(Self { watch, early: Vec::new() }),
        }
    }

    /// Records these threads and no others.
    pub fn follow(&self, threads: &[Followed]) -> Result<(), TraceError> {
        let tids = |wanted: &dyn Fn(ReleasedBy) -> bool, field: &str| {
            let chosen = threads.iter().filter(|thread| wanted(thread.by));
            chosen.map(|thread| format!("{field}=={}", thread.tid)).collect::<Vec<_>>()
        };
        self.record(WAKING, &tids(&|by| by == ReleasedBy::Waking, "pid"))?;
        self.record(SWITCH, &tids(&|_| true, "next_pid"))?;
        let kinds = [ReleasedBy::SleepUntil, ReleasedBy::Sleep, ReleasedBy::Timerfd, ReleasedBy::PosixTimer];
        let by_kind = kinds.map(|kind| (kind, tids(&|by| by == kind, "common_pid")));
        let by_name = |function: &str| Some(format!("function.function=={function}"));
        let filters = |of: &dyn Fn(&str) -> Option<String>| -> Option<Vec<String>> {
            let one = |(kind, tids): &(ReleasedBy, Vec<String>)| {
                let (function, more) = timer_of(*kind);
                Some(format!("({}&&{}{more})", any(tids), of(function)?))
            };
            by_kind.iter().filter(|(_, tids)| !tids.is_empty()).map(one).collect()
        };
        if self.record(TIMER, &filters(&by_name).unwrap_or_default()).is_ok() {
            return Ok(());
        }
        // Kernels before 6.5 know no functions by name in filters.
        let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let by_address = |function: &str| Some(format!("function=={}", address(&symbols, function)?));
        let why = "the addresses of its timer functions are hidden (kernel.kptr_restrict is 2)";
        let filters = filters(&by_address).ok_or_else(|| TraceError::NotUnderstood(why.to_owned()))?;
        self.record(TIMER, &filters)
    }

    /// Records this event where any of these conditions holds; not at all if there is none.
    fn record(&self, event: &str, conditions: &[String]) -> Result<(), TraceError> {
        let (folder, path) = (self.watch.instance.folder(), slashed(event));
        if conditions.is_empty() {
            return folder.write(&format!("events/{path}/enable"), "0");
        }
        let filter = any(conditions);
        if filter.len() > FILTER_MAX {
            return Err(TraceError::NotUnderstood(format!("{} threads are too many for a filter", conditions.len())));
        }
        folder.write(&format!("events/{path}/filter"), &filter)?;
        folder.write(&format!("events/{path}/enable"), "1")
    }

    pub fn switch(&self, on: bool) -> Result<(), TraceError> {
        self.watch.instance.switch(on)
    }

    /// Replaces `records` by those written up to now that were not returned before, in order of time. Returns their number.
    pub fn drain(&mut self, records: &mut Vec<Record>) -> u64 {
        let until = now();
        records.clear();
        self.watch.drain(records, |_| true);
        in_order(records, &mut self.early, until);
        records.len() as u64
    }

    /// Records that the kernel lost so far.
    pub fn lost(&self) -> u64 {
        self.watch.lost()
    }

    /// The time that one record takes the thread that it is about, measured on a thread of our own that arms a timer, with
    /// and without a record.
    pub fn cost(&mut self) -> Result<Nanos, TraceError> {
        let no_timer =
            |errno| TraceError::NotUnderstood(format!("what a record costs cannot be measured: timerfd: {errno}"));
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).map_err(no_timer)?;
        let own = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or_default();
        self.record(TIMER, &[format!("common_pid=={own}")])?;
        let [without, with] = price::batches(|state| self.switch(state == 1), || arm(&timer).map_err(no_timer))?;
        self.switch(false)?;
        self.record(TIMER, &[])?;
        self.drain(&mut Vec::new());
        Ok(price::more(with, without))
    }
}

/// Sorts records of several CPUs, which are read one after the other from `until` on. Those that are younger are kept in
/// `early` for the next time: a thread that moves between CPUs may have left older records on a CPU that was read first.
fn in_order(records: &mut Vec<Record>, early: &mut Vec<Record>, until: MonoTime) {
    records.append(early);
    records.sort_by_key(|record| record.at);
    let whole = records.partition_point(|record| record.at <= until);
    early.extend(records.drain(whole..));
}

/// Arms a timer that nobody waits for. Its expiry is far away.
fn arm(timer: &OwnedFd) -> Result<(), Errno> {
    let far = Timespec { tv_sec: 3600, tv_nsec: 0 };
    let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: far };
    timerfd_settime(timer, TimerfdTimerFlags::empty(), &spec).map(|_| ())
}

/// The function of the timer that releases a thread, and what else its record must show. The lowest bit of the mode is set
/// for a length of time.
fn timer_of(by: ReleasedBy) -> (&'static str, &'static str) {
    match by {
        ReleasedBy::SleepUntil => ("hrtimer_wakeup", "&&!(mode&1)"),
        ReleasedBy::Timerfd => ("timerfd_tmrproc", ""),
        ReleasedBy::PosixTimer => ("posix_timer_fn", ""),
        ReleasedBy::Sleep | ReleasedBy::Waking => ("hrtimer_wakeup", ""),
    }
}

fn any(conditions: &[String]) -> String {
    format!("({})", conditions.join("||"))
}

fn slashed(event: &str) -> String {
    event.replace(':', "/")
}

/// The address of a function of the kernel, as a number in hexadecimal digits.
fn address(symbols: &str, function: &str) -> Option<String> {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let (address, _, name) = (words.next()?, words.next()?, words.next()?);
        (name == function && address.bytes().any(|digit| digit != b'0')).then(|| format!("0x{address}"))
    };
    symbols.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::inspect::Seen;
    use punctual_numbers::trace::Context;

    #[test]
    fn a_thread_that_moves_while_its_cpus_are_read_is_followed_in_order() {
        let record = |ns, cpu| Record {
            at: MonoTime::from_ns(ns),
            cpu,
            tid: 7,
            context: Context::default(),
            seen: Seen::Armed { expires: 0 },
        };
        let order = |records: &[Record]| records.iter().map(|record| record.at.as_ns()).collect::<Vec<_>>();
        let mut early = Vec::new();
        // CPU 0 was read at 102, and CPU 1 at 110, when the thread had gone there and come back.
        let mut records = vec![record(90, 0), record(101, 0), record(95, 1), record(107, 1)];
        in_order(&mut records, &mut early, MonoTime::from_ns(100));
        assert_eq!(order(&records), [90, 95]);
        let mut records = vec![record(105, 0), record(109, 0)];
        in_order(&mut records, &mut early, MonoTime::from_ns(200));
        assert_eq!((order(&records), early.len()), (vec![101, 105, 107, 109], 0));
    }

    #[test]
    fn hidden_addresses_are_none() {
        let symbols = "ffffffff8141e4b0 t hrtimer_wakeup\n0000000000000000 t timerfd_tmrproc\n";
        assert_eq!(address(symbols, "hrtimer_wakeup").as_deref(), Some("0xffffffff8141e4b0"));
        assert_eq!(address(symbols, "timerfd_tmrproc"), None);
        assert_eq!(address(symbols, "hrtimer"), None);
    }
}
