//! Tests that nothing is allocated or freed between two waits.

use crate::sys;
use crate::ways::{self, Prepare, endless};
use punctual_rt::{Control, Ended, Nanos, Phase, Task, TaskConfig};
use std::hint::black_box;
use std::sync::Arc;

/// Number of allocator calls during the turns of a loop, on a thread of its own. Making the loop does not count, nor
/// does the first turn, in which a task chooses its first release.
fn allocations(prepare: Prepare) -> u64 {
    let counted = std::thread::spawn(move || {
        ways::summed(&prepare, 0..1_000, |turn| {
            let before = sys::allocations_of_this_thread();
            turn();
            sys::allocations_of_this_thread() - before
        })
    });
    counted.join().unwrap()
}

#[test]
pub fn nothing_is_allocated_or_freed_between_two_waits() {
    for way in ways::all() {
        assert_eq!(allocations(way.prepare), 0, "{}", way.name);
    }
}

#[test]
fn a_task_allocates_nothing_from_its_second_activation_on() {
    let (tell, told) = std::sync::mpsc::channel();
    let mut before = None;
    let config = TaskConfig::periodic(Nanos::from_us(100)).phase(Phase::Offset(Nanos::ZERO));
    let task = Task::spawn(&config, move |cycle| {
        let allocations = sys::allocations_of_this_thread();
        if cycle.wake.index < 1_000 {
            before.get_or_insert(allocations);
            return Control::Continue;
        }
        tell.send(before.map(|before| allocations - before)).unwrap();
        Control::Stop
    });
    assert_eq!(told.recv().unwrap(), Some(0));
    assert_eq!(task.unwrap().join(), Ended::Stopped);
}

#[test]
fn a_body_that_allocates_once_is_counted() {
    let once = || endless(|index| drop(black_box((index == 500).then(|| vec![1u8; 64]))));
    assert_eq!(allocations(Arc::new(once)), 2, "one allocated, one freed");
    let grows = || {
        let mut kept = Vec::with_capacity(999);
        endless(move |index| kept.push(index))
    };
    assert_eq!(allocations(Arc::new(grows)), 1, "the thousandth has no room");
}
