//! Runs one round: a loop with one way to wait, for a limited time. The result is plain numbers, so that the same code
//! judges loops in another language or of another user.

use crate::pace::{self, Pace};
use crate::strategy::{Setting, Strategy};
use anyhow::{Context, Result, anyhow, ensure};
use punctual_rt::setup::{LatencyRequest, pin_current, quiet_current, set_policy};
use punctual_rt::{MonoTime, Nanos, Policy, kernel, now, prefault_stack};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;

/// Shortest time between the set-up and the first release.
const LEAD: Nanos = Nanos::from_ms(5);

/// The parameters of a round: where, when and for how long its loop runs.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The CPU that the loop is bound to.
    pub cpu: u32,
    /// The `SCHED_FIFO` priority; `None` if the kernel refuses real-time policies.
    pub priority: Option<u8>,
    pub period: Nanos,
    /// Phase of the releases within the period.
    pub offset: Nanos,
    /// Number of releases at the start that are not counted, so that waits which adapt have settled.
    pub settling: u64,
    pub cycles: u64,
}

/// The result of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Time of waking minus release, in nanoseconds, for each counted activation.
    pub errors: Vec<i64>,
    /// Number of releases that passed and were not run.
    pub missed: u64,
    /// Time spent polling; `None` if only the CPU time is known.
    pub polled: Option<Nanos>,
    /// CPU time that the thread used.
    pub cpu: Nanos,
    pub elapsed: Nanos,
}

impl Plan {
    /// Chooses the first release of a loop that is set up now.
    fn first(&self) -> MonoTime {
        let step = (self.period * 2).max(Nanos::from_ms(20));
        let whole = (now() + LEAD - MonoTime::default()).whole(step).saturating_add(1);
        MonoTime::default() + step * whole + self.offset
    }
}

/// Runs a round on a new thread.
pub fn on_thread(plan: Plan, strategy: &Strategy) -> Result<Taken> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| here(&plan, strategy));
        thread.join().map_err(|_| anyhow!("the thread of {} panicked", strategy.name))?
    })
}

/// Runs a round on the calling thread, whose affinity and policy are not restored afterwards.
pub fn here(plan: &Plan, strategy: &Strategy) -> Result<Taken> {
    pin_current(&[plan.cpu])?;
    prefault_stack(64 * 1024)?;
    if strategy.setting == Setting::Ordinary {
        kernel::block_signals();
    } else {
        quiet_current();
    }
    let is_ordinary = matches!(strategy.setting, Setting::Ordinary | Setting::OrdinaryExact);
    if let Some(priority) = plan.priority.filter(|_| !is_ordinary) {
        set_policy(Policy::Fifo(priority))?;
    }
    let request = (strategy.setting == Setting::NoIdle).then(|| LatencyRequest::global(Nanos::ZERO)).transpose()?;
    let pace = pace::start(strategy, plan.first(), plan)?;
    let taken = take(plan, pace);
    drop(request);
    Ok(taken)
}

/// Runs the measured loop, whose body stores the error of each activation.
fn take(plan: &Plan, mut pace: Box<dyn Pace>) -> Taken {
    // The values are not zero, so that the pages are touched before the loop.
    let mut errors = vec![-1i64; usize::try_from(plan.cycles).unwrap_or(0)];
    let mut due = 0;
    while due < plan.settling {
        due += 1 + pace.pace().missed;
    }
    let (began, cpu_before) = (now(), cpu_time());
    let (mut missed, mut polled) = (0, Some(Nanos::ZERO));
    let mut ran = 0usize;
    while (ran as u64).saturating_add(missed) < plan.cycles {
        let paced = pace.pace();
        if let Some(error) = errors.get_mut(ran) {
            *error = paced.error.as_ns();
        }
        ran += 1;
        missed += paced.missed;
        polled = polled.zip(paced.polled).map(|(sum, more)| sum + more);
    }
    let cpu = cpu_time() - cpu_before;
    let elapsed = now() - began;
    errors.truncate(ran);
    Taken { errors, missed, polled, cpu, elapsed }
}

/// CPU time that this thread has used.
fn cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Nanos::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds + Nanos::from_ns(u64::try_from(time.tv_nsec).unwrap_or(0))
}

impl Taken {
    /// The result as text, for another process. The first line holds CPU time, elapsed time, missed releases and the
    /// time polled (-1 if unknown). Each further line holds the error of one activation.
    pub fn to_lines(&self) -> String {
        let polled = self.polled.map_or_else(|| "-1".to_owned(), |polled| polled.as_ns().to_string());
        let mut lines = format!("{} {} {} {polled}\n", self.cpu.as_ns(), self.elapsed.as_ns(), self.missed);
        for error in &self.errors {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{error}");
        }
        lines
    }

    /// Reads the result of another process from its [`to_lines`](Self::to_lines) text.
    pub fn from_lines(text: &str) -> Result<Self> {
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
        let [cpu, elapsed, missed, polled] = head.as_slice() else {
            return Err(anyhow!("the first line of a round holds {} words, not 4", head.len()));
        };
        let number = |word: &str| word.parse::<u64>().with_context(|| format!("read `{word}` as a number"));
        let errors = lines.map(|line| line.parse().with_context(|| format!("read `{line}` as an error")));
        let errors = errors.collect::<Result<Vec<i64>>>()?;
        ensure!(!errors.is_empty(), "a round without an activation");
        Ok(Self {
            errors,
            missed: number(missed)?,
            polled: if *polled == "-1" { None } else { Some(Nanos::from_ns(number(polled)?)) },
            cpu: Nanos::from_ns(number(cpu)?),
            elapsed: Nanos::from_ns(number(elapsed)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::{ALL, Way};

    #[test]
    fn lines_hold_all_of_a_round() {
        for polled in [None, Some(Nanos::from_us(3))] {
            let (cpu, elapsed) = (Nanos::from_us(7), Nanos::from_ms(2));
            let taken = Taken { errors: vec![12, -3], missed: 1, polled, cpu, elapsed };
            assert_eq!(Taken::from_lines(&taken.to_lines()).unwrap(), taken);
        }
    }

    #[test]
    fn what_is_not_a_round_is_refused() {
        for text in ["", "1 2 3\n4\n", "1 2 3 4\n", "1 2 3 4\nx\n", "a 2 3 4\n1\n"] {
            assert!(Taken::from_lines(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn each_way_accounts_for_each_release() {
        let cpu = punctual_rt::setup::granted().unwrap().cpus[0];
        let period = Nanos::from_ms(1);
        let plan = Plan { cpu, priority: None, period, offset: Nanos::from_us(400), settling: 2, cycles: 100 };
        for strategy in ALL.iter().filter(|it| it.way != Way::Cpp && it.setting != Setting::NoIdle) {
            let taken = on_thread(plan, strategy).unwrap();
            let due = taken.errors.len() as u64 + taken.missed;
            assert!(due >= 100 && !taken.errors.is_empty(), "{}: {taken:?}", strategy.name);
            assert!(taken.cpu <= taken.elapsed, "{}: {taken:?}", strategy.name);
        }
    }
}
