//! Tests that a loop enters the kernel only to wait.
//!
//! The thread of the loop runs under a filter that allows only the wait. It can never end, because ending a thread
//! needs other calls. So the thread reports how far it got, and then sleeps until the process ends.

use crate::sys::{self, ALWAYS_ALLOWED, Came};
use crate::ways::{self, Prepare, endless};
use punctual_rt::{Control, Nanos, Phase, Task, TaskConfig};
use std::hint::black_box;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Number of turns under the filter, of one loop or of several.
const TURNS: u64 = 2_000;
/// Number of loops for ways whose loops end; each leaves a thread behind.
const LOOPS: u32 = 10;

/// Runs turns of a loop under a filter that allows the wait and `more`. If the loop ends, another one is made.
fn filtered(prepare: &Prepare, more: &[libc::c_long]) -> Came {
    let mut made = 0;
    for _ in 0..LOOPS {
        match filtered_until_it_ends(prepare, more, made) {
            Came::Through(turns) => made += turns,
            other => return other,
        }
        if made >= TURNS {
            break;
        }
    }
    Came::Through(made)
}

fn filtered_until_it_ends(prepare: &Prepare, more: &[libc::c_long], made: u64) -> Came {
    let report = sys::Report::leaked();
    let allowed: Vec<_> = ALWAYS_ALLOWED.iter().chain(more).copied().collect();
    let (prepare, alive) = (Arc::clone(prepare), Arc::new(()));
    let watched = Arc::downgrade(&alive);
    std::thread::spawn(move || {
        let _ = &alive;
        let mut turn = prepare();
        for index in 0..10 {
            turn(index);
        }
        report.filter_this_thread(&allowed);
        let ended = (made..TURNS).find(|index| !turn(*index));
        report.through(ended.map_or(TURNS, |index| index + 1) - made);
        sys::sleep_for_ever();
    });
    waited_for(report, &watched)
}

/// Waits for the report of the thread. If the thread has ended without one, nobody holds `watched` any more.
fn waited_for(report: &sys::Report, watched: &Weak<()>) -> Came {
    loop {
        let is_gone = watched.strong_count() == 0;
        match report.said() {
            Some(came) => return came,
            None if is_gone => return Came::Lost,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

#[test]
pub fn the_kernel_is_entered_only_to_wait() {
    for way in ways::all() {
        let came = filtered(&way.prepare, &[way.waits_by, way.asks_by].concat());
        assert!(matches!(came, Came::Through(1..)), "{}: {came:?}", way.name);
    }
}

#[test]
fn a_thread_that_ends_without_a_word_is_not_waited_for() {
    let ends = || endless(|_| std::panic::resume_unwind(Box::new("on purpose")));
    assert_eq!(filtered(&(Arc::new(ends) as Prepare), &[]), Came::Lost);
}

#[test]
fn nor_does_a_task_from_its_second_activation_on() {
    let report = sys::Report::leaked();
    let config = TaskConfig::periodic(Nanos::from_us(100)).phase(Phase::Offset(Nanos::ZERO));
    let mut runs = 0;
    let alive = Arc::new(());
    let watched = Arc::downgrade(&alive);
    let task = Task::spawn(&config, move |_| {
        let _ = &alive;
        if runs == 0 {
            report.filter_this_thread(&ALWAYS_ALLOWED);
        }
        runs += 1;
        if runs == 1_000 {
            report.through(runs);
            sys::sleep_for_ever();
        }
        Control::Continue
    });
    // The task never ends, so it is not joined.
    std::mem::forget(task.unwrap());
    assert_eq!(waited_for(report, &watched), Came::Through(1_000));
}

#[test]
fn a_way_to_wait_needs_the_calls_it_is_allowed() {
    for way in ways::all().into_iter().filter(|way| !way.waits_by.is_empty()) {
        assert_eq!(filtered(&way.prepare, &[]), Came::Caught(way.waits_by[0]), "{}", way.name);
    }
}

#[test]
fn a_body_that_enters_the_kernel_is_caught() {
    type Body = fn();
    let bodies: [(Body, libc::c_long); 3] = [
        (sys::get_process_id, libc::SYS_getpid),
        (|| drop(black_box(vec![1u8; 1 << 20])), libc::SYS_mmap),
        (std::thread::yield_now, libc::SYS_sched_yield),
    ];
    for (body, caught) in bodies {
        let prepare = move || {
            endless(move |index| {
                if index == 1_000 {
                    body();
                }
            })
        };
        assert_eq!(filtered(&(Arc::new(prepare) as Prepare), &[]), Came::Caught(caught));
    }
}
