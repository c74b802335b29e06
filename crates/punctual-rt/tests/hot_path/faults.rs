//! Tests that a running loop causes no page faults.

use crate::sys::{self, touch_fresh_page};
use crate::ways::{self, Prepare, endless};
use punctual_rt::kernel::thread_usage;
use punctual_rt::prefault_stack;
use std::sync::Arc;

/// Page faults of a loop after its first turns, on a thread of its own.
fn faults(prepare: Prepare) -> u64 {
    let counted = std::thread::spawn(move || {
        prefault_stack(64 * 1024).unwrap();
        let mut turns = 0;
        ways::summed(&prepare, 0..1_200, |turn| {
            turns += 1;
            let before = thread_usage().faults;
            turn();
            if turns < 200 { 0 } else { thread_usage().faults - before }
        })
    });
    counted.join().unwrap()
}

#[test]
pub fn no_page_faults_after_the_first_turns() {
    if !sys::is_child() {
        // Runs in a process of its own, because a thread that starts a program marks the pages of its process as
        // copy-on-write.
        return sys::in_child("faults::no_page_faults_after_the_first_turns").succeeded();
    }
    for way in ways::all() {
        // The loop does not lock memory, so pages that other programs displaced fault in again. A fault that the loop
        // itself causes would occur in each of the three runs.
        let least = (0..3).map(|_| faults(Arc::clone(&way.prepare))).find(|faults| *faults == 0);
        assert_eq!(least, Some(0), "{} faulted in each of three runs", way.name);
    }
}

#[test]
fn a_body_that_touches_new_memory_is_seen() {
    let touches = || {
        endless(|index| {
            if index % 100 == 0 {
                touch_fresh_page();
            }
        })
    };
    assert!(faults(Arc::new(touches)) >= 10);
}
