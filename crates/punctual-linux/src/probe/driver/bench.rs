//! Cobalt's driver `timerbench`: the thread that waits for each second also begins and ends the measurement.

use super::{Ask, Cells, Listener, Second};
use crate::sys::core_driver::{BenchResult, BenchSecond, BenchSetup, CoreDevice};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::scenario::CoreContext;
use punctual_rt::now;

/// Cells of the histogram: up to 2 ms, in memory that the kernel has in one piece (240 kB).
const CELLS: usize = 20_000;
const CELL: Nanos = Nanos::from_ns(100);
const SECOND: Nanos = Nanos::from_secs(1);

pub(super) trait Calls {
    fn start(&self, setup: &BenchSetup) -> Result<(), i32>;
    /// The CPU on which tasks of the driver run, if one of them does not run on this one.
    fn runs_elsewhere(&self, cpu: u32) -> Option<u32>;
    /// Waits for the end of the present second.
    fn second(&self) -> Result<BenchSecond, i32>;
    /// The histogram, which has this number of cells.
    fn stop(&self, cells: usize) -> Result<(BenchResult, Vec<u32>), i32>;
}

/// Measures whole seconds, the last of which ends at `end` or shortly after.
pub(super) fn measure(
    driver: &impl Calls,
    ask: &Ask,
    end: MonoTime,
    listener: &mut dyn Listener,
) -> Result<(Cells, Second), Failed> {
    let number = |n: usize| i32::try_from(n).map_err(|_| libc::EINVAL);
    driver.start(&BenchSetup {
        mode: i32::from(ask.context == CoreContext::Irq),
        priority: ask.priority.into(),
        period_ns: ask.period.as_ns(),
        warm_up_seconds: 1,
        cells: number(CELLS)?,
        cell_ns: i32::try_from(CELL.as_ns()).map_err(|_| libc::EINVAL)?,
        freeze_max: 0,
    })?;
    if ask.context == CoreContext::Kernel {
        if let Some(runs_on) = driver.runs_elsewhere(ask.cpu) {
            let _ = driver.stop(CELLS);
            return Err(Failed::OtherCpu { runs_on });
        }
    }
    let mut told = Told { per_second: SECOND.whole(ask.period).max(1), ..Told::default() };
    let waited = loop {
        match driver.second() {
            Ok(second) => {
                let second = told.next(&second);
                listener.second(now(), &second);
            }
            Err(libc::EINTR) => {}
            Err(errno) => break Err(Failed::Refused(errno)),
        }
        // A second of the driver never ends at the very instant, so half of one decides.
        if now().plus(Nanos::from_ms(500)) >= end || listener.stops() {
            break Ok(());
        }
    };
    let stopped = driver.stop(CELLS);
    waited?;
    let cells = Cells { width: CELL, counts: stopped?.1 };
    let whole = told.all.with_rest(&cells);
    Ok((cells, whole))
}

/// Why the driver did not measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// It refused; with the `errno`.
    Refused(i32),
    OtherCpu {
        runs_on: u32,
    },
}

impl From<i32> for Failed {
    fn from(errno: i32) -> Self {
        Self::Refused(errno)
    }
}

/// The CPU of a task of the driver that is not on `cpu`, by the core's table of threads.
fn elsewhere(threads: &str, cpu: u32) -> Option<u32> {
    let of_driver = threads.lines().filter(|line| line.split_whitespace().last() == Some("timerbench"));
    let mut cpus = of_driver.filter_map(|line| line.split_whitespace().next()?.parse().ok());
    cpus.find(|runs_on| *runs_on != cpu)
}

/// What was told so far.
#[derive(Default)]
struct Told {
    per_second: u64,
    last: BenchResult,
    all: Second,
}

impl Told {
    /// The seconds since the last one that was told: usually one. `overall` has the sum of the means of all seconds.
    fn next(&mut self, told: &BenchSecond) -> Second {
        let former = std::mem::replace(&mut self.last, told.overall);
        // Counting begins at 1, and each second adds 1 after it was told.
        let grown = |now: i32, then: i32| u64::try_from(i64::from(now) - i64::from(then)).unwrap_or(0);
        let seconds = grown(told.overall.seconds, former.seconds.max(1)).max(1);
        let is_one = seconds == 1;
        let means = i64::from(told.overall.mean) - i64::from(former.mean);
        let second = Second {
            samples: seconds.saturating_mul(self.per_second),
            sum: means.saturating_mul(i64::try_from(self.per_second).unwrap_or(i64::MAX)),
            min: if is_one { told.last.min } else { told.overall.min }.into(),
            max: if is_one { told.last.max } else { told.overall.max }.into(),
            overruns: grown(told.overall.overruns, former.overruns),
        };
        self.all = self.all.with(second);
        second
    }
}

impl Second {
    /// With the latencies in the histogram that are none of a whole second. They count with the mean of the others.
    fn with_rest(self, cells: &Cells) -> Self {
        let counted: u64 = cells.counts.iter().map(|n| u64::from(*n)).sum();
        let (Some(mean), Some(top)) =
            (self.sum.checked_div(i64::try_from(self.samples).unwrap_or(0)), cells.counts.iter().rposition(|n| *n > 0))
        else {
            return self;
        };
        let at_least = i64::try_from(cells.width.times(top as u64).as_ns()).unwrap_or(i64::MAX);
        let sum = mean.saturating_mul(i64::try_from(counted).unwrap_or(i64::MAX));
        let max = if self.min < 0 { self.max } else { self.max.max(at_least) };
        Self { samples: counted, sum, max, ..self }
    }
}

/// The kernel's own driver.
pub(super) struct System<'a>(&'a CoreDevice);

impl<'a> System<'a> {
    pub(super) const fn new(device: &'a CoreDevice) -> Self {
        Self(device)
    }
}

impl Calls for System<'_> {
    fn start(&self, setup: &BenchSetup) -> Result<(), i32> {
        self.0.bench_start(setup)
    }

    fn runs_elsewhere(&self, cpu: u32) -> Option<u32> {
        elsewhere(&std::fs::read_to_string("/proc/xenomai/sched/threads").ok()?, cpu)
    }

    fn second(&self) -> Result<BenchSecond, i32> {
        self.0.bench_second()
    }

    fn stop(&self, cells: usize) -> Result<(BenchResult, Vec<u32>), i32> {
        self.0.bench_stop(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::scenario::Core;
    use std::cell::{Cell, RefCell};

    /// A driver that tells these seconds, and then refuses.
    struct Stub {
        seconds: RefCell<Vec<Result<BenchSecond, i32>>>,
        rest: u32,
        runs_elsewhere: Option<u32>,
        stopped: Cell<bool>,
    }

    impl Stub {
        fn telling(seconds: &[Result<BenchSecond, i32>]) -> Self {
            let seconds = RefCell::new(seconds.iter().rev().copied().collect());
            Self { seconds, rest: 3, runs_elsewhere: None, stopped: Cell::new(false) }
        }
    }

    impl Calls for Stub {
        fn start(&self, setup: &BenchSetup) -> Result<(), i32> {
            assert_eq!((setup.period_ns, setup.priority, setup.warm_up_seconds), (1_000_000, 85, 1));
            Ok(())
        }

        fn runs_elsewhere(&self, _: u32) -> Option<u32> {
            self.runs_elsewhere
        }

        fn second(&self) -> Result<BenchSecond, i32> {
            self.seconds.borrow_mut().pop().unwrap_or(Err(libc::EIDRM))
        }

        fn stop(&self, cells: usize) -> Result<(BenchResult, Vec<u32>), i32> {
            self.stopped.set(true);
            let mut counts = vec![0; cells];
            (counts[118], counts[178]) = (2_997 + self.rest, 3);
            Ok((BenchResult::default(), counts))
        }
    }

    struct Heard(Vec<Second>);

    impl Listener for Heard {
        fn second(&mut self, _: MonoTime, second: &Second) {
            self.0.push(*second);
        }

        fn stops(&self) -> bool {
            self.0.iter().map(|second| second.samples).sum::<u64>() >= 3000
        }
    }

    const ASK: Ask =
        Ask { core: Core::Cobalt, context: CoreContext::Kernel, cpu: 2, period: Nanos::from_ms(1), priority: 85 };

    /// The seconds that a driver tells: each with a mean of 11.8 us. `seconds` is how many ended so far.
    fn told(seconds: i32, max: i32) -> BenchSecond {
        let last = BenchResult { mean: 11_800, min: 11_700, max, overruns: 0, seconds: 0 };
        BenchSecond { last, overall: BenchResult { mean: 11_800 * seconds, min: 11_650, seconds: seconds + 1, ..last } }
    }

    fn measured(stub: &Stub) -> (Result<(Cells, Second), Failed>, Vec<Second>) {
        let mut heard = Heard(Vec::new());
        let measured = measure(stub, &ASK, now().plus(Nanos::from_secs(3600)), &mut heard);
        (measured, heard.0)
    }

    #[test]
    fn seconds_add_up_and_a_missed_one_is_made_up_for() {
        let stub = Stub::telling(&[Ok(told(1, 11_900)), Err(libc::EINTR), Ok(told(3, 17_800))]);
        let (measured, heard) = measured(&stub);
        let (cells, whole) = measured.unwrap();
        assert_eq!(heard.iter().map(|second| second.samples).collect::<Vec<_>>(), [1000, 2000]);
        assert_eq!(whole, Second { samples: 3003, sum: 3003 * 11_800, min: 11_650, max: 17_800, overruns: 0 });
        let counts = cells.latencies(&whole);
        assert_eq!(
            (counts.count(), counts.mean(), counts.max()),
            (3003, Some(Nanos::from_ns(11_800)), Some(Nanos::from_ns(17_800)))
        );
    }

    #[test]
    fn a_core_that_is_stopped_ends_the_measurement() {
        let stub = Stub::telling(&[Ok(told(1, 11_900))]);
        assert_eq!(measured(&stub).0, Err(Failed::Refused(libc::EIDRM)));
        assert!(stub.stopped.get());
    }

    #[test]
    fn a_task_on_another_cpu_is_not_measured() {
        let stub = Stub { runs_elsewhere: Some(0), ..Stub::telling(&[]) };
        assert_eq!(measured(&stub).0, Err(Failed::OtherCpu { runs_on: 0 }));
        let threads = "CPU  PID    CLASS  TYPE      PRI   TIMEOUT       STAT       NAME\n  0  0      idle   core       -1   -             \
                       R          [ROOT/0]\n  3  71     rt     core       90   0s998ms       W          timerbench\n";
        assert_eq!((elsewhere(threads, 3), elsewhere(threads, 2), elsewhere("", 2)), (None, Some(3), None));
    }
}
