//! The kernel is entered to wait, and for nothing else.
//!
//! The loop's thread runs under a filter that lets nothing but the wait pass. It is never left: what ends a thread would
//! need to pass, too. So the thread tells how far it got, and then sleeps until the process ends.

use crate::sys::{self, ALWAYS_ALLOWED, Came};
use crate::ways::{self, Turn};
use punctual_rt::{Control, Nanos, Phase, Task, TaskConfig};
use std::hint::black_box;
use std::time::Duration;

/// 2000 turns of a loop under a filter that allows the wait, and `waits_by`.
fn filtered(prepare: impl FnOnce() -> Turn + Send + 'static, waits_by: &'static [libc::c_long]) -> Came {
    let report = sys::Report::leaked();
    std::thread::spawn(move || {
        let mut turn = prepare();
        for index in 0..10 {
            turn(index);
        }
        let allowed: Vec<_> = ALWAYS_ALLOWED.iter().chain(waits_by).copied().collect();
        report.filter_this_thread(&allowed);
        for index in 10..2_010 {
            turn(index);
        }
        report.through();
        sys::sleep_for_ever();
    });
    waited_for(report)
}

fn waited_for(report: &sys::Report) -> Came {
    loop {
        if let Some(came) = report.said() {
            return came;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
pub fn the_kernel_is_entered_only_to_wait() {
    for way in ways::all() {
        assert_eq!(filtered(way.prepare, way.waits_by), Came::Through, "{}", way.name);
    }
}

#[test]
fn nor_does_a_task_from_its_second_activation_on() {
    let report = sys::Report::leaked();
    let config = TaskConfig::periodic(Nanos::from_us(100)).phase(Phase::Offset(Nanos::ZERO));
    let mut runs = 0;
    let task = Task::spawn(&config, move |_| {
        if runs == 0 {
            report.filter_this_thread(&ALWAYS_ALLOWED);
        }
        runs += 1;
        if runs == 1_000 {
            report.through();
            sys::sleep_for_ever();
        }
        Control::Continue
    });
    // It never ends, so nobody waits for it.
    std::mem::forget(task.unwrap());
    assert_eq!(waited_for(report), Came::Through);
}

#[test]
fn a_way_to_wait_needs_the_calls_it_is_allowed() {
    for way in ways::all().into_iter().filter(|way| !way.waits_by.is_empty()) {
        assert_eq!(filtered(way.prepare, &[]), Came::Caught(way.waits_by[0]), "{}", way.name);
    }
}

#[test]
fn a_body_that_enters_the_kernel_is_caught() {
    let asks = || -> Turn {
        Box::new(|index| {
            if index == 1_000 {
                sys::get_process_id();
            }
        })
    };
    assert_eq!(filtered(asks, &[]), Came::Caught(libc::SYS_getpid));
    let allocates = || -> Turn { Box::new(|index| drop(black_box((index == 1_000).then(|| vec![1u8; 1 << 20])))) };
    assert_eq!(filtered(allocates, &[]), Came::Caught(libc::SYS_mmap));
    let yields = || -> Turn {
        Box::new(|index| {
            if index == 1_000 {
                std::thread::yield_now();
            }
        })
    };
    assert_eq!(filtered(yields, &[]), Came::Caught(libc::SYS_sched_yield));
}
