//! Checks for every CPU whether the trace can be trusted: lets timers expire at known times, and looks for them in the
//! trace.
//!
//! On real machines, records were missing although no counter of lost records reported it.

use super::TraceError;
use super::engine::{Engine, Span};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::{Address, SelfTest, Tid, TraceEvent, TraceRecord};
use punctual_rt::{Policy, kernel, now, setup};
use std::collections::BTreeSet;

const TIMERS: u32 = 20;
const APART: Nanos = Nanos::from_ms(1);
/// The kernel may delay a timer of an ordinary thread by up to this time.
const SLACK: Nanos = Nanos::from_us(100);

#[derive(Clone, Copy, Debug)]
struct Sleep {
    before: MonoTime,
    release: MonoTime,
    after: MonoTime,
}

struct Slept {
    tid: Tid,
    sleeps: Vec<Sleep>,
}

/// Lets known timers expire on every CPU, and counts what the trace shows of them. Failed tests are repeated.
pub fn repeated(engine: &mut dyn Engine) -> Result<Vec<SelfTest>, TraceError> {
    engine.begin()?;
    let mut results = run(&engine.cpus(), engine);
    for _ in 0..TRIES {
        // A busy machine may have kept a thread from sleeping. Also, some kernels recorded no switch at all until the
        // event was switched off and on again.
        let failed: Vec<u32> = results.iter().filter(|test| !test.passed()).map(|test| test.cpu).collect();
        if failed.is_empty() {
            break;
        }
        engine.end();
        engine.disable();
        engine.enable();
        engine.begin()?;
        for again in run(&failed, engine) {
            results.iter_mut().filter(|test| test.cpu == again.cpu && again.passed()).for_each(|test| *test = again);
        }
    }
    engine.end();
    Ok(results)
}

const TRIES: usize = 3;

/// Tests these CPUs. Recording must have begun.
fn run(cpus: &[u32], engine: &mut dyn Engine) -> Vec<SelfTest> {
    let start = |cpu: u32| std::thread::Builder::new().name(format!("self-test/{cpu}")).spawn(move || sleeps_on(cpu));
    let started: Vec<_> = cpus.iter().map(|cpu| (*cpu, start(*cpu).ok())).collect();
    let slept: Vec<(u32, Option<Slept>)> = started
        .into_iter()
        .map(|(cpu, thread)| (cpu, thread.and_then(|thread| thread.join().ok()).flatten()))
        .collect();
    kernel::sleep_for(APART);
    engine.drain();
    let judged = |(cpu, slept)| {
        let Some(Slept { tid, sleeps }) = slept else { return SelfTest { cpu, timers: TIMERS, ..SelfTest::default() } };
        let from = sleeps.first().map(|sleep: &Sleep| sleep.before).unwrap_or_default();
        let (records, _) = engine.records(cpu, Span { from, to: now() });
        judge(cpu, tid, &sleeps, &records)
    };
    slept.into_iter().map(judged).collect()
}

/// Refuses a trace that shows nothing on any CPU.
pub fn believed(tests: Vec<SelfTest>) -> Result<Vec<SelfTest>, TraceError> {
    let is_blank = |test: &SelfTest| test.expiries + test.wakings + test.switches == 0;
    if tests.iter().all(is_blank) { Err(TraceError::SawNothing(TIMERS)) } else { Ok(tests) }
}

/// Sleeps on the CPU for known times; `None` if the thread cannot be pinned to it.
fn sleeps_on(cpu: u32) -> Option<Slept> {
    setup::pin_current(&[cpu]).ok()?;
    // If the kernel refuses the policy, the thread wakes later, which does not matter here.
    let _ = setup::set_policy(Policy::Fifo(50));
    setup::quiet_current();
    let tid = Tid::try_from(setup::granted().ok()?.tid).ok()?;
    let sleep = |_| {
        let before = now();
        let release = before.plus(APART);
        kernel::sleep_until(release);
        Sleep { before, release, after: now() }
    };
    Some(Slept { tid, sleeps: (0..TIMERS).map(sleep).collect() })
}

fn judge(cpu: u32, tid: Tid, sleeps: &[Sleep], records: &[TraceRecord]) -> SelfTest {
    let armed =
        |expires: MonoTime| sleeps.iter().any(|s| expires.plus(SLACK) >= s.release && expires <= s.release.plus(SLACK));
    let timers: BTreeSet<Address> = records
        .iter()
        .filter(|record| record.tid == tid)
        .filter_map(|record| match record.what {
            TraceEvent::HrtimerStart { timer, expires, .. } => {
                armed(MonoTime::from_ns(u64::try_from(expires).unwrap_or_default())).then_some(timer)
            }
            _ => None,
        })
        .collect();
    let expired = |record: &&TraceRecord| matches!(record.what, TraceEvent::HrtimerEntry { timer, .. } if timers.contains(&timer));
    let woken = |record: &&TraceRecord| matches!(record.what, TraceEvent::Waking { tid: woken, .. } if woken == tid);
    let switched = |record: &&TraceRecord| matches!(record.what, TraceEvent::Switch { next, .. } if next == tid);
    let seen = |kind: &dyn Fn(&&TraceRecord) -> bool| {
        let seen_at: Vec<MonoTime> = records.iter().filter(|record| kind(record)).map(|record| record.at).collect();
        let within = |sleep: &&Sleep| seen_at.iter().any(|at| (sleep.before..=sleep.after).contains(at));
        u32::try_from(sleeps.iter().filter(within).count()).unwrap_or(u32::MAX)
    };
    let outside = |at: MonoTime| sleeps.iter().map(|s| s.release.since(at).max(at.since(s.after))).min();
    let warp = records.iter().filter(expired).filter_map(|record| outside(record.at)).max().unwrap_or_default();
    SelfTest { cpu, timers: TIMERS, expiries: seen(&expired), wakings: seen(&woken), switches: seen(&switched), warp }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::trace::Context;

    fn us(n: u64) -> MonoTime {
        MonoTime::from_ns(n * 1_000)
    }

    /// The trace of thread 77 with these sleeps. Timers expire 2 us after the release.
    fn trace(sleeps: &[Sleep]) -> Vec<TraceRecord> {
        let record = |at, tid, what| TraceRecord { at, tid, context: Context::default(), what };
        let timer = Address(0xabc);
        let of = |s: &Sleep| {
            let expires = i64::try_from(s.release.as_ns()).unwrap();
            let at = s.release.plus(Nanos::from_us(2));
            [
                record(s.before, 77, TraceEvent::HrtimerStart { timer, function: Address(1), expires }),
                record(at, 0, TraceEvent::HrtimerEntry { timer, function: Address(1) }),
                record(at, 0, TraceEvent::Waking { tid: 77, prio: 49, target: 1 }),
                record(at, 0, TraceEvent::Switch { prev: 0, prev_prio: 120, prev_state: 0, next: 77, next_prio: 49 }),
            ]
        };
        sleeps.iter().flat_map(of).collect()
    }

    fn sleeps() -> Vec<Sleep> {
        let sleep = |n: u64| Sleep {
            before: us(n * 2_000 + 500),
            release: us(n * 2_000 + 1_500),
            after: us(n * 2_000 + 1_550),
        };
        (0..u64::from(TIMERS)).map(sleep).collect()
    }

    #[test]
    fn a_whole_trace_passes() {
        let test = judge(1, 77, &sleeps(), &trace(&sleeps()));
        assert!(test.passed(), "{test:?}");
    }

    #[test]
    fn a_hole_is_found() {
        let mut records = trace(&sleeps());
        let hole = records.iter().rposition(|r| matches!(r.what, TraceEvent::Switch { .. })).unwrap();
        records.remove(hole);
        let test = judge(1, 77, &sleeps(), &records);
        assert_eq!((test.expiries, test.wakings, test.switches), (20, 20, 19));
        assert!(!test.passed());
        assert!(!judge(1, 77, &sleeps(), &[]).passed());
    }

    #[test]
    fn a_trace_that_shows_nothing_is_refused() {
        let (blind, seeing) = (judge(0, 78, &sleeps(), &trace(&sleeps())), judge(1, 77, &sleeps(), &trace(&sleeps())));
        assert!(believed(vec![blind, seeing]).is_ok(), "one CPU without a trace is no reason to do without the others");
        assert!(believed(vec![blind]).is_err_and(|error| error.to_string().contains("saw nothing")));
    }

    #[test]
    fn a_clock_that_is_behind_is_found() {
        let mut records = trace(&sleeps());
        for record in &mut records {
            record.at = record.at.minus(Nanos::from_us(12));
        }
        let test = judge(1, 77, &sleeps(), &records);
        assert_eq!((test.warp, test.passed()), (Nanos::from_us(10), false));
    }
}
