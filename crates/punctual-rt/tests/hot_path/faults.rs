//! Once a loop runs, nothing it touches has to be brought into memory first.

use crate::sys::{self, touch_fresh_page};
use crate::ways::{self, Turn};
use punctual_rt::prefault_stack;

/// Page faults of a loop after its first turns, on a thread of its own.
fn faults(prepare: impl FnOnce() -> Turn + Send + 'static) -> u64 {
    let counted = std::thread::spawn(|| {
        let mut turn = prepare();
        prefault_stack(64 * 1024).unwrap();
        for index in 0..200 {
            turn(index);
        }
        let before = punctual_rt::sys::thread_usage().faults;
        for index in 200..1_200 {
            turn(index);
        }
        punctual_rt::sys::thread_usage().faults - before
    });
    counted.join().unwrap()
}

#[test]
pub fn no_page_faults_after_the_first_turns() {
    if !sys::is_child() {
        // A process of its own: when a thread beside the loop starts a program, its pages are marked to be copied.
        return sys::in_child("faults::no_page_faults_after_the_first_turns").succeeded();
    }
    for name in ways::all().into_iter().map(|way| way.name) {
        // What other programs take from this one's memory, a loop that locks none faults in again. A fault of the
        // loop's own making comes each time.
        let prepare = || ways::all().into_iter().find(|way| way.name == name).unwrap().prepare;
        let least = (0..3).map(|_| faults(prepare())).find(|faults| *faults == 0);
        assert_eq!(least, Some(0), "{name} faulted in each of three runs");
    }
}

#[test]
fn a_body_that_touches_new_memory_is_seen() {
    let touches = || -> Turn {
        Box::new(|index| {
            if index % 100 == 0 {
                touch_fresh_page();
            }
        })
    };
    assert!(faults(touches) >= 10);
}
