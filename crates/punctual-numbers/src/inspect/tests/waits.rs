//! Threads that something else than a sleep paces.

use super::*;

const SIGNAL: u32 = 128;
const SET: u32 = 286;
/// The operations `FUTEX_WAIT_BITSET`, `FUTEX_WAIT` and `FUTEX_LOCK_PI`, for one process.
const WAIT_BITSET: u64 = 9 | 128;
const WAIT: u64 = 128;
const LOCK_PI: u64 = 6 | 128;

fn all_calls() -> Vec<Call> {
    let mut calls = calls();
    calls.push(Call { number: SIGNAL, name: "rt_sigtimedwait", kind: CallKind::SignalWait });
    calls.push(Call { number: SET, name: "timerfd_settime", kind: CallKind::TimerSet });
    calls
}

impl Script {
    /// Waits in this call until the thread `by` wakes it; 0 is an interrupt.
    fn waits(&mut self, from: u64, [woken, back]: [u64; 2], number: u32, arguments: [u64; 2], by: Tid, result: i64) {
        self.enter(from, number, arguments);
        self.leaves(from + 100, 1);
        if by == 0 {
            self.interrupt(woken, Seen::Waking { tid: TID });
        } else {
            self.on(1, woken, by, Seen::Waking { tid: TID });
        }
        self.returns(back - 1_000, 0);
        self.exit(back, number, result);
    }

    fn of(&self, setup: Option<Setup>) -> ThreadReport {
        let mut records: Vec<&Record> = self.records.iter().collect();
        records.sort_by_key(|record| record.at);
        let people = BTreeMap::from([(HOLDER, ("server".to_owned(), Some(79)))]);
        let locate = |_: &[Address]| Vec::new();
        // Allocations are looked for in the second half of the loops with 100 cycles.
        let half = Probed { from: MonoTime::from_ns(START + 50 * PERIOD), to: None };
        let probed = BTreeMap::from([(TID, half)]);
        let order = Order { calls: &all_calls(), people: &people, locate: &locate, is_of_probes: &|_| false };
        let mut digest = Digest::new(Rules { calls: all_calls(), ..Rules::default() });
        digest.probed(&probed);
        digest.know(TID);
        digest.take(records);
        digest.settle();
        digest.report((7, TID), "loop".to_owned(), setup, &order)
    }
}

/// A thread that is woken about every millisecond, at irregular distances if so asked, at one of two places in turn.
fn woken_loop(regular: bool, by: Tid) -> Script {
    let mut script = Script::default();
    let mut free = START - 500 * US;
    for cycle in 0..100_u64 {
        let woken = START + cycle * PERIOD + if regular { 0 } else { cycle * cycle * 7_919 % 400 * US };
        let condition = 0x7000 + cycle % 2 * 4;
        script.waits(free, [woken, woken + LATENCY], FUTEX, [condition, WAIT_BITSET], by, 0);
        script.enter(woken + LATENCY + US, WRITE, [1, 0]);
        script.exit(woken + LATENCY + 3 * US, WRITE, 6);
        free = woken + LATENCY + BODY;
    }
    script
}

#[test]
fn a_real_time_thread_that_others_wake_has_cycles_from_its_wake_up_on() {
    let report = woken_loop(false, HOLDER).of(Some(good()));
    let Pace::Woken { call, wakes, by } = &report.pace else { panic!("{:?}", report.pace) };
    assert_eq!((call.as_str(), *wakes, by.len()), ("futex", 100, 1));
    assert_eq!((by[0].is_lower, by[0].priority), (true, Some(79)));
    assert_eq!(report.findings, [Finding::WokenByLower("server".to_owned())]);
    let cycles = report.cycles.as_ref().unwrap();
    assert_eq!((cycles.count, cycles.period, cycles.skipped, cycles.overruns), (99, None, 0, 0));
    assert_eq!(cycles.latency.max, Some(Nanos::from_ns(LATENCY)));
    assert_eq!(inside(&report), [(Intruder::Write, 99)]);
}

#[test]
fn an_ordinary_thread_that_others_wake_has_cycles_only_at_regular_distances() {
    let ordinary = || Some(Setup { policy: Some(Policy::Other), priority: 0, ..good() });
    let as_ordinary = |mut script: Script| {
        for record in &mut script.records {
            if let Seen::Switch { next_prio, .. } = &mut record.seen {
                *next_prio = 120;
            }
        }
        script.of(ordinary())
    };
    assert_eq!(as_ordinary(woken_loop(false, 0)).cycles, None);
    let report = as_ordinary(woken_loop(true, 0));
    let cycles = report.cycles.unwrap();
    assert_eq!((cycles.period, cycles.drift), (Some(Nanos::from_ms(1)), None));
    assert!(!report.findings.contains(&Finding::WokenByLower("server".to_owned())));
}

#[test]
fn of_several_waits_the_one_that_takes_most_time_paces() {
    let mut script = Script::default();
    for cycle in 0..50_u64 {
        let woken = START + cycle * PERIOD;
        let asked = woken + LATENCY + 10 * US;
        script.waits(woken - 500 * US, [woken, woken + LATENCY], READ, [5, 0], 0, 64);
        script.waits(asked, [asked + 30 * US, asked + 40 * US], READ, [6, 0], HOLDER, 64);
    }
    let report = script.of(Some(good()));
    assert_eq!(inside(&report), [(Intruder::BlockingCall, 49)]);
    let waker = report.cycles.unwrap().in_the_way[0].waker.clone().unwrap();
    assert_eq!((waker.name.as_deref(), waker.is_lower), (Some("server"), true), "it outranks its server");
}

#[test]
fn a_lock_with_priority_inheritance_is_told_from_one_without() {
    let report = Script::grid(100, |script, cycle, woke| {
        let operation = if cycle % 2 == 0 { LOCK_PI } else { WAIT };
        script.waits(woke + US, [woke + 5 * US, woke + 9 * US], FUTEX, [0x8000, operation], HOLDER, 0);
    })
    .of(Some(good()));
    assert_eq!(inside(&report), [(Intruder::Lock, 50), (Intruder::PiLock, 50)]);
}

#[test]
fn a_timerfd_that_is_set_anew_in_each_cycle_paces() {
    let mut script = Script::default();
    for cycle in 0..100_u64 {
        let (release, woke) = (START + cycle * PERIOD, START + cycle * PERIOD + LATENCY);
        script.waits(release - 500 * US, [release + 500, woke], POLL, [4, 0], 0, 1);
        script.enter(woke + 100, READ, [5, 0]);
        script.exit(woke + US, READ, 8);
        script.enter(woke + 10 * US, SET, [5, 1]);
        script.armed(woke + 11 * US, release + PERIOD);
        script.exit(woke + 12 * US, SET, 0);
    }
    let report = script.of(Some(good()));
    assert_eq!(report.pace, Pace::Timerfd { call: "epoll_wait".to_owned() });
    assert_eq!(inside(&report), []);
    let cycles = report.cycles.unwrap();
    assert_eq!((cycles.period, cycles.latency.max), (Some(Nanos::from_ms(1)), Some(Nanos::from_ns(LATENCY))));
}

#[test]
fn the_signal_of_a_timer_paces() {
    let mut script = Script::default();
    for cycle in 0..100_u64 {
        let release = START + cycle * PERIOD;
        script.waits(release - 500 * US, [release + 500, release + LATENCY], SIGNAL, [0, 0], 0, 14);
        script.armed(release + LATENCY - 500, release + PERIOD);
    }
    let report = script.of(Some(good()));
    assert_eq!(report.pace, Pace::PosixTimer { call: "rt_sigtimedwait".to_owned() });
    assert_eq!(report.cycles.unwrap().latency.max, Some(Nanos::from_ns(LATENCY)));
}

#[test]
fn a_time_limit_that_seldom_passes_paces_nothing() {
    let mut script = Script::default();
    for cycle in 0..100_u64 {
        let woken = START + cycle * PERIOD;
        let ran_out = cycle % 5 == 0;
        script.waits(woken - 500 * US, [woken, woken + LATENCY], POLL, [4, 0], 0, i64::from(!ran_out));
        script.armed(woken - 500 * US + 50, woken);
    }
    assert!(matches!(script.of(Some(good())).pace, Pace::Woken { wakes: 100, .. }));
}

#[test]
fn a_relative_sleep_that_is_computed_anew_keeps_its_period() {
    let mut script = Script::default();
    let mut now = START;
    for cycle in 0..400_u64 {
        let release = START + (cycle + 1) * PERIOD;
        script.sleeps(now, release, [1, 0], LATENCY + cycle * cycle % 997 * 7_919 % 101 * 200);
        now = release + 100 * US;
    }
    let report = script.of(Some(good()));
    assert_eq!(report.findings, [Finding::CorrectedSleep], "{:?}", report.cycles);
    assert_eq!(report.cycles.unwrap().drift, None);
}

#[test]
fn an_allocation_is_counted_among_the_cycles_in_which_it_was_looked_for() {
    let report = Script::grid(100, |script, cycle, woke| {
        if cycle % 10 == 5 && cycle > 50 {
            let allocated = Seen::Allocated { function: "malloc", stack: [Address(0x40), Address(0x80)].into() };
            script.on(1, woke + 20 * US, TID, allocated);
        }
    })
    .of(Some(good()));
    assert_eq!(inside(&report), [(Intruder::Allocation, 5)], "a sample tells no CPU, so it shows no migration");
    let row = &report.cycles.as_ref().unwrap().in_the_way[0];
    assert_eq!((row.among, row.function.as_deref(), row.call.as_deref()), (50, Some("malloc"), None));
    assert!(FailOn::Alloc.fits(row) && !FailOn::Syscall.fits(row));
}
