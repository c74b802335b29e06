//! Once a loop runs, nothing it touches has to be brought into memory first.

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
        // A process of its own: when a thread beside the loop starts a program, its pages are marked to be copied.
        return sys::in_child("faults::no_page_faults_after_the_first_turns").succeeded();
    }
    for way in ways::all() {
        // What other programs take from this one's memory, a loop that locks none faults in again. A fault of the
        // loop's own making comes each time.
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
