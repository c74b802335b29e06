//! Threads made of records, with one thing in them that the report must name.

use super::pacing::Pacing;
use super::*;
use crate::trace::{Address, Context, FLAG_HARDIRQ, Tid};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

mod stream;
mod waits;

const US: u64 = 1_000;
const PERIOD: u64 = 1_000 * US;
const START: u64 = 1_000_000 * US;
/// From the release to the return of the wait, and from there to the next wait.
const LATENCY: u64 = 10 * US;
const BODY: u64 = 100 * US;
const TID: Tid = 77;
const HOLDER: Tid = 78;

const SLEEP: u32 = 230;
const READ: u32 = 0;
const WRITE: u32 = 1;
const MMAP: u32 = 9;
const FUTEX: u32 = 202;
const POLL: u32 = 232;
const EXECVE: u32 = 59;

fn calls() -> Vec<Call> {
    let call = |number, name, kind| Call { number, name, kind };
    vec![
        call(SLEEP, "clock_nanosleep", CallKind::ClockSleep),
        call(READ, "read", CallKind::Read),
        call(WRITE, "write", CallKind::Write),
        call(MMAP, "mmap", CallKind::Memory),
        call(FUTEX, "futex", CallKind::Futex),
        call(POLL, "epoll_wait", CallKind::Epoll),
        call(EXECVE, "execve", CallKind::Program),
    ]
}

/// Writes the records of a thread.
#[derive(Default)]
struct Script {
    records: Vec<Record>,
}

impl Script {
    fn add(&mut self, at: u64, tid: Tid, seen: Seen) {
        self.on(0, at, tid, seen);
    }

    fn on(&mut self, cpu: u32, at: u64, tid: Tid, seen: Seen) {
        self.records.push(Record { at: MonoTime::from_ns(at), cpu, tid, context: Context::default(), seen });
    }

    fn interrupt(&mut self, at: u64, seen: Seen) {
        let context = Context { flags: FLAG_HARDIRQ, preempt: 0 };
        self.records.push(Record { at: MonoTime::from_ns(at), cpu: 0, tid: 0, context, seen });
    }

    fn stack(&mut self, at: u64, of: StackOf, addresses: &[u64]) {
        let addresses = addresses.iter().copied().map(Address).collect();
        self.add(at, TID, Seen::Stack { of, addresses });
    }

    fn enter(&mut self, at: u64, number: u32, arguments: [u64; 2]) {
        self.add(at, TID, Seen::Enter { number, arguments });
    }

    fn exit(&mut self, at: u64, number: u32, result: i64) {
        self.add(at, TID, Seen::Exit { number, result });
    }

    fn armed(&mut self, at: u64, expires: u64) {
        self.add(at, TID, Seen::Armed { expires: i64::try_from(expires).unwrap() });
    }

    fn leaves(&mut self, at: u64, prev_state: u32) {
        self.add(at, TID, Seen::Switch { prev: TID, prev_state, next: 0, next_prio: 120 });
    }

    fn returns(&mut self, at: u64, cpu: u32) {
        self.on(cpu, at, 0, Seen::Switch { prev: 0, prev_state: 0, next: TID, next_prio: 49 });
    }

    /// Sleeps from `from` until the release, and returns from the wait after the latency.
    fn sleeps(&mut self, from: u64, release: u64, arguments: [u64; 2], latency: u64) {
        self.enter(from, SLEEP, arguments);
        self.armed(from + 100, release);
        self.leaves(from + 200, 1);
        self.interrupt(release + 500, Seen::Waking { tid: TID });
        self.returns(release + latency - 1_000, 0);
        self.exit(release + latency, SLEEP, 0);
    }

    /// A loop on a grid; `inside` adds what else is in the cycle of this number, which begins at this time.
    fn grid(cycles: u64, inside: impl Fn(&mut Self, u64, u64)) -> Self {
        let mut script = Self::default();
        let mut free = START - 500 * US;
        for cycle in 0..=cycles {
            let release = START + cycle * PERIOD;
            script.sleeps(free.min(release - 10 * US), release, [1, 1], LATENCY);
            inside(&mut script, cycle, release + LATENCY);
            free = release + LATENCY + BODY;
        }
        script
    }

    fn report(&self) -> ThreadReport {
        self.report_of(None)
    }

    fn report_of(&self, limit: Option<Nanos>) -> ThreadReport {
        self.report_until(limit, None)
    }

    fn report_until(&self, limit: Option<Nanos>, inside_until: Option<MonoTime>) -> ThreadReport {
        let mut records: Vec<&Record> = self.records.iter().collect();
        records.sort_by_key(|record| record.at);
        let people = BTreeMap::from([(HOLDER, ("holder".to_owned(), Some(120)))]);
        let locate = |stack: &[Address]| {
            let code = |Address(at): &Address| Code {
                module: "plant".to_owned(),
                symbol: Some("step".to_owned()),
                offset: *at,
                file: None,
                line: Some(7),
            };
            stack.iter().map(code).collect()
        };
        let offsets = Offsets { realtime: 7_000_000_000_000, ..Offsets::default() };
        let order = Order { calls: &calls(), people: &people, locate: &locate, is_of_probes: &|_| false };
        let mut digest = Digest::new(Rules { calls: calls(), offsets, limit, inside_until });
        digest.know(TID);
        digest.take(records);
        digest.settle();
        digest.report((77, TID), "loop".to_owned(), None, &order)
    }
}

fn inside(report: &ThreadReport) -> Vec<(Intruder, u64)> {
    report.cycles.as_ref().unwrap().in_the_way.iter().map(|row| (row.intruder, row.count)).collect()
}

/// What a program does as it starts is in no cycle, and what it does not do meanwhile was not due.
#[test]
fn a_loop_that_starts_another_program_ends_there() {
    let started = |result| {
        Script::grid(200, |script, cycle, at| {
            if cycle == 100 {
                script.enter(at + US, EXECVE, [0, 0]);
                script.exit(at + 2 * US, EXECVE, result);
                script.enter(at + 3 * US, MMAP, [0, 0]);
                script.exit(at + 4 * US, MMAP, 0);
            }
        })
        .report()
    };
    let report = started(0);
    let cycles = report.cycles.as_ref().unwrap();
    assert_eq!((cycles.count, cycles.skipped, inside(&report)), (199, 0, Vec::new()));
    let failed = started(-2);
    assert_eq!(failed.cycles.as_ref().unwrap().count, 200);
    assert_eq!(inside(&failed).len(), 2, "a program that could not be started");
}

#[test]
fn a_clean_loop_has_its_period_and_latency_and_nothing_inside() {
    let report = Script::grid(200, |_, _, _| ()).report();
    let cycles = report.cycles.as_ref().unwrap();
    let call = "clock_nanosleep".to_owned();
    assert_eq!(report.pace, Pace::Sleep { call, absolute: true, clock: Clock::Monotonic });
    assert_eq!((cycles.count, cycles.skipped, cycles.overruns), (200, 0, 0));
    assert_eq!(cycles.period, Some(Nanos::from_ms(1)));
    assert_eq!(cycles.latency.max, Some(Nanos::from_ns(LATENCY)));
    assert_eq!(cycles.latency.p99, Some(Nanos::from_ns(LATENCY)));
    assert_eq!(cycles.latency.p999, None, "200 cycles show no 99.9th percentile");
    assert_eq!(cycles.times.execution.p50, Some(Nanos::from_ns(BODY)));
    assert_eq!(cycles.times.response.p50, Some(Nanos::from_ns(LATENCY + BODY)));
    assert_eq!(inside(&report), []);
    assert_eq!(report.findings, []);
}

/// Every 50 ms, Linux's fair server arms a timer of its own while a thread goes to sleep.
#[test]
fn a_timer_that_the_kernel_arms_in_the_sleep_is_not_the_release() {
    let mut script = Script::default();
    for cycle in 1..=100 {
        let release = START + cycle * PERIOD;
        script.sleeps(release - PERIOD / 2, release, [1, 1], LATENCY);
        if cycle % 50 == 0 {
            script.armed(release - PERIOD / 2 + 150, release + 950 * PERIOD);
        }
    }
    let report = script.report();
    let cycles = report.cycles.unwrap();
    assert_eq!((cycles.count, cycles.skipped), (99, 0));
    assert_eq!((cycles.latency.max, cycles.period), (Some(Nanos::from_ns(LATENCY)), Some(Nanos::from_ns(PERIOD))));
    assert_eq!(cycles.latency_due.max, Some(Nanos::from_ns(LATENCY)));
}

#[test]
fn wake_ups_have_their_release_and_the_cpu_that_the_thread_returned_on() {
    let mut script = Script::grid(20, |_, _, _| ());
    let moved = MonoTime::from_ns(START + 7 * PERIOD + LATENCY);
    script.records.iter_mut().filter(|record| record.at == moved).for_each(|record| record.cpu = 1);
    script.records.sort_by_key(|record| record.at);
    let mut digest = Digest::new(Rules { calls: calls(), ..Rules::default() });
    digest.keep_cycles();
    digest.know(HOLDER);
    digest.take(&script.records);
    digest.go_on();
    assert_eq!(digest.with_cycles(1).collect::<Vec<_>>(), [TID], "the other one does not wait for a timer");
    let told: Vec<WakeUp> = digest.ended().iter().filter_map(|(_, cycle)| WakeUp::of(cycle)).collect();
    assert_eq!(told.len(), 20, "the last cycle has not ended");
    for (cycle, wake_up) in (0..).zip(&told) {
        assert_eq!(wake_up.release.as_ns(), START + cycle * PERIOD);
        assert_eq!((wake_up.latency(), wake_up.cpu), (Nanos::from_ns(LATENCY), u32::from(cycle == 7)));
    }
}

#[test]
fn records_go_to_all_threads_that_they_are_about() {
    let mut script = Script::default();
    script.on(0, 10, TID, Seen::Switch { prev: TID, prev_state: 0, next: HOLDER, next_prio: 120 });
    script.on(0, 20, HOLDER, Seen::Waking { tid: TID });
    script.on(0, 30, 0, Seen::Switch { prev: HOLDER, prev_state: 0, next: TID, next_prio: 49 });
    script.add(40, 0, Seen::Lost);
    script.on(0, 50, 99, Seen::Waking { tid: 98 });
    let mut digest = Digest::new(Rules { calls: calls(), ..Rules::default() });
    digest.know(TID);
    digest.know(HOLDER);
    digest.take(&script.records);
    // One was pre-empted and the other one too, and records are missing for both.
    assert_eq!((digest.pending(), digest.records()), (3, 5));
}

#[test]
fn each_thing_inside_is_counted_with_its_place() {
    let report = Script::grid(200, |script, cycle, woke| {
        if cycle % 10 == 0 {
            script.stack(woke + 10 * US, StackOf::Call, &[0x40, 0x80]);
            script.enter(woke + 10 * US + 100, MMAP, [0, 0]);
            script.exit(woke + 12 * US, MMAP, 0);
            // The stack of a fault may be written before the fault or after it.
            let first = u64::from(cycle % 20 == 0);
            script.stack(woke + 20 * US + 1 - first, StackOf::Fault, &[0x44, 0x80]);
            script.add(woke + 20 * US + first, TID, Seen::Fault { ip: Address(0x44) });
        }
        if cycle % 20 == 0 {
            script.enter(woke + 30 * US, WRITE, [1, 0]);
            script.exit(woke + 33 * US, WRITE, 6);
            script.add(woke + 40 * US, TID, Seen::Signal);
        }
    })
    .report();
    // Cycle 200 has no end, so that 20 of the cycles 0, 10, ..., 190 are complete.
    let rows = &report.cycles.as_ref().unwrap().in_the_way;
    assert_eq!(
        inside(&report),
        [(Intruder::Memory, 20), (Intruder::Fault, 20), (Intruder::Write, 10), (Intruder::Signal, 10)]
    );
    assert_eq!(rows[0].code.as_ref().unwrap().offset, 0x40);
    assert_eq!(rows[0].longest, Nanos::from_ns(2 * US - 100));
    assert_eq!(rows[1].code.as_ref().unwrap().offset, 0x44);
    assert!(rows[..2].iter().all(|row| row.callers.len() == 1 && row.callers[0].offset == 0x80), "{rows:?}");
    assert_eq!(rows[2].code, None, "no stack was recorded for this call");
    assert_eq!(rows[2].call.as_deref(), Some("write"));
}

#[test]
fn a_lock_that_a_lower_thread_held_names_it_and_makes_its_cycles_slow() {
    let report = Script::grid(300, |script, cycle, woke| {
        if cycle % 100 == 50 {
            script.enter(woke + 10 * US, FUTEX, [0, 0]);
            script.leaves(woke + 11 * US, 1);
            script.on(1, woke + 60 * US, HOLDER, Seen::Waking { tid: TID });
            script.returns(woke + 65 * US, 1);
            script.exit(woke + 66 * US, FUTEX, 0);
        }
    })
    .report_of(Some(Nanos::from_us(5)));
    let cycles = report.cycles.as_ref().unwrap();
    assert_eq!(inside(&report), [(Intruder::Lock, 3), (Intruder::Migration, 3)]);
    let waker = cycles.in_the_way[0].waker.clone().unwrap();
    assert_eq!((waker.name.as_deref(), waker.is_lower), (Some("holder"), true));
    assert_eq!(cycles.times.blocked, Nanos::from_us(3 * 49));
    assert_eq!(cycles.times.waiting, Nanos::from_us(3 * 5));
    assert_eq!(cycles.over_limit, Some(300), "every latency is above 5 us");
}

#[test]
fn a_thread_runs_where_it_acts_although_no_switch_to_it_was_recorded() {
    let report = Script::grid(200, |script, cycle, woke| {
        if cycle % 10 == 5 {
            script.enter(woke + 10 * US, FUTEX, [0, 0]);
            script.leaves(woke + 11 * US, 2);
            script.on(0, woke + 12 * US, HOLDER, Seen::Waking { tid: TID });
            script.on(1, woke + 20 * US, TID, Seen::Exit { number: FUTEX, result: 0 });
        }
    })
    .report();
    assert_eq!(inside(&report), [(Intruder::Lock, 20), (Intruder::Migration, 20)]);
}

#[test]
fn a_skipped_release_counts_until_the_thread_ran_next() {
    let mut script = Script::grid(100, |_, _, _| ());
    // The thread plans two releases ahead, so that two pass without a cycle.
    let release = START + 103 * PERIOD;
    script.sleeps(START + 100 * PERIOD + LATENCY + BODY, release, [1, 1], LATENCY);
    script.sleeps(release + LATENCY + BODY, release + PERIOD, [1, 1], LATENCY);
    let report = script.report();
    let cycles = report.cycles.unwrap();
    assert_eq!((cycles.count, cycles.skipped), (102, 2));
    assert_eq!(cycles.latency.max, Some(Nanos::from_ns(LATENCY)));
    assert_eq!(cycles.latency_due.max, Some(Nanos::from_ns(2 * PERIOD + LATENCY)));
}

#[test]
fn an_overrun_is_seen_by_the_release_that_had_passed() {
    let mut late = Script::default();
    for cycle in 0..100_u64 {
        let release = START + cycle * PERIOD;
        let from = if cycle == 50 { release + 200 * US } else { release - 500 * US };
        let latency = if cycle == 50 { 203 * US } else { LATENCY };
        late.enter(from, SLEEP, [1, 1]);
        late.armed(from + 100, release);
        late.exit(release + latency, SLEEP, 0);
    }
    let cycles = late.report().cycles.unwrap();
    assert_eq!((cycles.overruns, cycles.worst[0].number), (1, 49));
}

#[test]
fn a_time_long_past_is_no_release_and_a_loop_that_catches_up_keeps_its_own() {
    let mut script = Script::default();
    let past = |script: &mut Script, at: u64| {
        script.enter(at, SLEEP, [1, 1]);
        script.armed(at + 100, 1);
        script.exit(at + US, SLEEP, 0);
    };
    past(&mut script, START - 5 * PERIOD);
    // The cycle that begins at release 50 takes 3.5 periods, so that three releases have passed when it is over.
    let mut free = START - 500 * US;
    for cycle in 0..=100_u64 {
        let release = START + cycle * PERIOD;
        let woke = if free > release { free + LATENCY } else { release + LATENCY };
        script.enter(free, SLEEP, [1, 1]);
        script.armed(free + 100, release);
        script.exit(woke, SLEEP, 0);
        free = woke + if cycle == 50 { 3 * PERIOD + 500 * US } else { BODY };
        if cycle == 80 {
            past(&mut script, free);
            free += BODY;
        }
    }
    let cycles = script.report().cycles.unwrap();
    assert_eq!((cycles.count, cycles.skipped), (102, 0), "both sleeps into the past begin cycles of their own");
    assert_eq!(cycles.latency.max, Some(Nanos::from_ns(2 * PERIOD + 500 * US + 2 * LATENCY)));
    assert_eq!(cycles.latency.max, cycles.latency_due.max);
    assert_eq!(cycles.overruns, 3);
}

#[test]
fn a_gap_of_very_many_periods_is_a_pause() {
    for (periods, skipped) in [(1_000_000, 999_999), (1_000_001, 0), (1 << 40, 0)] {
        let mut script = Script::grid(100, |_, _, _| ());
        let release = START + (100 + periods) * PERIOD;
        script.sleeps(release - 500 * US, release, [1, 1], LATENCY);
        script.sleeps(release + LATENCY + BODY, release + PERIOD, [1, 1], LATENCY);
        assert_eq!(script.report().cycles.unwrap().skipped, skipped, "{periods} periods");
    }
}

#[test]
fn relative_sleeps_drift_and_other_clocks_are_converted() {
    let mut script = Script::default();
    let mut now = START;
    for _ in 0..100 {
        script.sleeps(now, now + PERIOD, [0, 0], LATENCY);
        now += PERIOD + LATENCY + BODY;
    }
    let report = script.report();
    assert_eq!(report.findings, [Finding::RelativeSleep]);
    let cycles = report.cycles.unwrap();
    assert_eq!(cycles.period, Some(Nanos::from_ns(PERIOD + LATENCY + BODY)));
    assert_eq!(cycles.latency.max, Some(Nanos::from_ns(LATENCY)), "relative sleeps expire on the monotonic clock");

    let mut script = Script::default();
    for cycle in 0..100_u64 {
        let release = START + cycle * PERIOD;
        script.enter(release - 500 * US, SLEEP, [0, 1]);
        script.armed(release - 499 * US, release + 7_000_000_000_000);
        script.exit(release + LATENCY, SLEEP, 0);
    }
    let report = script.report();
    assert_eq!(report.findings, [Finding::RealtimeClock]);
    assert_eq!(report.cycles.unwrap().latency.max, Some(Nanos::from_ns(LATENCY)));
}

#[test]
fn a_timer_that_is_read_from_paces_also_behind_a_poll() {
    for polled in [false, true] {
        let mut script = Script::default();
        for cycle in 0..100_u64 {
            let (release, woke) = (START + cycle * PERIOD, START + cycle * PERIOD + LATENCY);
            let wait = if polled { POLL } else { READ };
            script.enter(release - 500 * US, wait, [5, 0]);
            script.leaves(release - 499 * US, 1);
            script.interrupt(release + 500, Seen::Waking { tid: TID });
            script.returns(woke - 1_000, 0);
            if polled {
                script.exit(woke, POLL, 1);
                script.enter(woke + 100, READ, [5, 0]);
            }
            script.armed(woke - 500 + if polled { 700 } else { 0 }, release + PERIOD);
            script.exit(woke + if polled { 1_000 } else { 0 }, READ, 8);
        }
        let report = script.report();
        let call = if polled { "epoll_wait" } else { "read" }.to_owned();
        assert_eq!(report.pace, Pace::Timerfd { call });
        assert_eq!(inside(&report), [], "reading from the timer is part of waiting for it");
        let cycles = report.cycles.unwrap();
        assert_eq!((cycles.period, cycles.latency.max), (Some(Nanos::from_ms(1)), Some(Nanos::from_ns(LATENCY))));
    }
}

#[test]
fn a_thread_that_others_wake_says_who_and_one_that_never_waits_says_so() {
    let mut script = Script::default();
    for turn in 0..50_u64 {
        let at = START + turn * 700 * US;
        script.enter(at, POLL, [5, 0]);
        script.leaves(at + 100, 1);
        if turn % 5 == 0 {
            script.interrupt(at + 300 * US, Seen::Waking { tid: TID });
        } else {
            script.add(at + 300 * US, HOLDER, Seen::Waking { tid: TID });
        }
        script.returns(at + 301 * US, 0);
        script.exit(at + 302 * US, POLL, 1);
    }
    let report = script.report();
    let Pace::Woken { call, wakes, by } = &report.pace else { panic!("{:?}", report.pace) };
    assert_eq!((call.as_str(), *wakes), ("epoll_wait", 50));
    let by: Vec<_> = by.iter().map(|waker| (waker.name.as_deref(), waker.count, waker.is_lower)).collect();
    assert_eq!(by, [(Some("holder"), 40, true), (None, 10, false)]);
    assert_eq!(report.cycles.unwrap().count, 49, "it is real-time, so that each wake-up begins a cycle");

    let mut script = Script::default();
    script.leaves(START, 0);
    script.returns(START + PERIOD, 0);
    assert_eq!(script.report().pace, Pace::NeverWaits);
    script.enter(START + 2 * PERIOD, FUTEX, [0, 0]);
    script.leaves(START + 2 * PERIOD + US, 1);
    assert_eq!(script.report().pace, Pace::StillWaits { call: "futex".to_owned() });
    assert_eq!(Script::default().report().pace, Pace::Idle);
}

#[test]
fn cycles_with_lost_records_are_left_out() {
    let report = Script::grid(100, |script, cycle, woke| {
        if cycle == 30 {
            script.add(woke + 50 * US, 0, Seen::Lost);
        }
    })
    .report();
    let cycles = report.cycles.unwrap();
    assert_eq!((cycles.count, cycles.skipped), (99, 0));
}

#[test]
fn independent_latencies_show_a_grid_and_kept_errors_do_not() {
    // Latencies of a fixed pseudo-random sequence.
    let latency = |cycle: u64| LATENCY + (cycle * 7_919 % 101) * 200;
    let mut script = Script::default();
    for cycle in 0..400_u64 {
        let release = START + cycle * PERIOD;
        script.sleeps(release - 500 * US, release, [1, 1], latency(cycle * cycle % 997));
    }
    let errors = script.report().cycles.unwrap().period_errors.unwrap();
    assert_eq!(errors.shows, PeriodErrorsShow::Grid, "{errors:?}");
    let mut script = Script::default();
    let mut now = START;
    for cycle in 0..400_u64 {
        let late = latency(cycle * cycle % 997);
        script.sleeps(now, now + PERIOD, [1, 0], late);
        now += PERIOD + late + BODY;
    }
    let errors = script.report().cycles.unwrap().period_errors.unwrap();
    assert_eq!(errors.shows, PeriodErrorsShow::Accumulation, "{errors:?}");
}

fn good() -> Setup {
    Setup {
        policy: Some(Policy::Fifo),
        priority: 80,
        cpus: CpuSet::parse_list("3").unwrap(),
        locked_bytes: Some(4 << 20),
        resident_bytes: Some(4 << 20),
        timer_slack: Some(Nanos::from_us(50)),
        cpu_max: None,
        uclamp_max: Some(1024),
        rtprio_limit: None,
        memlock_limit: None,
    }
}

#[test]
fn each_wrong_setting_is_one_finding_and_good_ones_are_none() {
    let pacing = Some(Pacing::Sleep { number: SLEEP, absolute: true, clock: Clock::Monotonic });
    let found = |setup: Setup| findings(Some(&setup), pacing);
    assert_eq!(found(good()), []);
    let ordinary = Setup { policy: Some(Policy::Other), priority: 0, ..good() };
    assert_eq!(found(ordinary.clone()), [Finding::NotRealTime, Finding::TimerSlack(Nanos::from_us(50))]);
    assert_eq!(findings(Some(&ordinary), None), [], "an ordinary thread without a timer is no concern");
    assert_eq!(found(Setup { priority: 99, ..good() }), [Finding::PriorityTooHigh(99)]);
    assert_eq!(found(Setup { locked_bytes: Some(0), ..good() }), [Finding::MemoryNotLocked]);
    assert_eq!(found(Setup { locked_bytes: None, ..good() }), [], "what is not known is no finding");
    let two = CpuSet::parse_list("2-3").unwrap();
    assert_eq!(found(Setup { cpus: two.clone(), ..good() }), [Finding::NotPinned(two)]);
    let limit = CpuMax { quota: Nanos::from_ms(50), period: Nanos::from_ms(100) };
    assert_eq!(found(Setup { cpu_max: Some(limit), ..good() }), [Finding::CpuMax(limit)]);
    assert_eq!(found(Setup { uclamp_max: Some(512), ..good() }), [Finding::UclampMax(512)]);
}

#[test]
fn what_is_in_the_cycles_is_told_of_those_in_which_it_was_recorded() {
    let script = Script::grid(100, |script, cycle, woke| {
        if cycle % 10 == 5 {
            script.enter(woke + 10 * US, MMAP, [0, 0]);
            script.exit(woke + 12 * US, MMAP, 0);
        }
    });
    let rows = |until: Option<u64>| {
        let until = until.map(|cycle| MonoTime::from_ns(START + cycle * PERIOD));
        let report = script.report_until(None, until);
        assert_eq!(report.cycles.as_ref().map(|cycles| cycles.count), Some(100));
        report.cycles.unwrap().in_the_way.iter().map(|row| (row.count, row.among)).collect::<Vec<_>>()
    };
    assert_eq!(rows(None), [(10, 100)]);
    assert_eq!(rows(Some(40)), [(4, 40)]);
    assert_eq!(rows(Some(3)), [], "the first cycle with a call is the sixth");
}

#[test]
fn the_calls_that_pace_threads_are_named() {
    let named = |script: &Script| {
        let mut digest = Digest::new(Rules { calls: calls(), ..Rules::default() });
        digest.take(&script.records);
        digest.settle();
        digest.pacing_calls().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(named(&Script::grid(100, |_, _, _| ())), [SLEEP]);
    assert_eq!(named(&Script::default()), [0; 0]);
}

#[test]
fn a_gate_passes_only_what_was_seen() {
    let thread = |every: u64| {
        Script::grid(100, |script, cycle, woke| {
            if cycle % every == every - 1 {
                script.enter(woke + 10 * US, MMAP, [0, 0]);
                script.exit(woke + 12 * US, MMAP, 0);
            }
        })
        .report()
    };
    let inspection = |threads: Vec<ThreadReport>| Inspection {
        program: Program { pid: 1, name: String::new(), threads: 1 },
        children: Vec::new(),
        engine: Engine::Tracefs,
        refused: Vec::new(),
        blind: Vec::new(),
        observed: Nanos::from_secs(1),
        end: End::Duration,
        records: 1,
        lost: 0,
        probed_allocations: 0,
        own_cpu: Nanos::default(),
        cost: None,
        start_up: None,
        threads,
        marks: None,
    };
    let dirty = inspection(vec![thread(10)]);
    let clean = inspection(vec![thread(1_000)]);
    for kind in [FailOn::Alloc, FailOn::Syscall] {
        assert_eq!((gate(&dirty, &[kind]), gate(&clean, &[kind])), (Gate::Failed, Gate::Passed));
    }
    for kind in [FailOn::Fault, FailOn::Lock, FailOn::Late(Nanos::from_us(50))] {
        assert_eq!(gate(&dirty, &[kind]), Gate::Passed, "{kind:?}");
    }
    assert_eq!(gate(&clean, &[FailOn::Late(Nanos::from_us(5))]), Gate::Failed);
    assert_eq!(gate(&Inspection { lost: 1, ..clean.clone() }, &[FailOn::Alloc]), Gate::Unknown);
    assert_eq!(gate(&Inspection { lost: 1, ..dirty.clone() }, &[FailOn::Alloc]), Gate::Failed);
    assert_eq!(gate(&inspection(Vec::new()), &[FailOn::Alloc]), Gate::Unknown);
    assert_eq!(gate(&inspection(Vec::new()), &[]), Gate::Passed);
    let given_up = |what| {
        let given_up = vec![GivenUp { what, after: Nanos::from_secs(3) }];
        Inspection { cost: Some(Cost { given_up, ..Cost::default() }), ..clean.clone() }
    };
    for kind in [FailOn::Alloc, FailOn::Fault, FailOn::Syscall, FailOn::Lock] {
        assert_eq!(gate(&given_up(Saved::Inside), &[kind]), Gate::Unknown, "{kind:?}");
        assert_eq!(gate(&given_up(Saved::Causes), &[kind]), Gate::Passed, "{kind:?}");
    }
    let blind = vec![Blind::Event("exceptions:page_fault_user".to_owned())];
    assert_eq!(gate(&Inspection { blind, ..clean.clone() }, &[FailOn::Fault]), Gate::Unknown);
    let unprobed = |why| Inspection { blind: vec![Blind::SmallAllocations(why)], ..clean.clone() };
    assert_eq!(gate(&unprobed(Unprobed::NoAllocator), &[FailOn::Alloc]), Gate::Unknown);
    assert_eq!(gate(&unprobed(Unprobed::After(Nanos::from_secs(1))), &[FailOn::Alloc]), Gate::Passed);
    assert_eq!(Answer::of(&dirty), Answer::Disturbed);
    assert_eq!(Answer::of(&clean), Answer::Clean);
    assert_eq!(Answer::of(&inspection(Vec::new())), Answer::NoTimer);
    assert_eq!(Answer::of(&Inspection { engine: Engine::Counters, ..dirty }), Answer::NotSeen);
}
