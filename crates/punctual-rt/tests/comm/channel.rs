//! Tests of the queue: bounded, in order, and every lost value is counted.

use proptest::prelude::*;
use punctual_rt::spsc;
use std::collections::VecDeque;
use std::rc::Rc;

proptest! {
    #[test]
    fn it_is_a_bounded_queue(capacity in 0usize..6, pushes in prop::collection::vec(any::<bool>(), 0..60)) {
        let (mut sender, mut receiver) = spsc(capacity);
        let (mut model, mut refused) = (VecDeque::new(), 0);
        for (n, push) in pushes.into_iter().enumerate() {
            if push {
                let fits = model.len() < capacity;
                prop_assert_eq!(sender.push(n), if fits { Ok(()) } else { Err(n) });
                if fits { model.push_back(n) } else { refused += 1 }
            } else {
                prop_assert_eq!(receiver.pop(), model.pop_front());
            }
            prop_assert_eq!((receiver.len(), receiver.is_empty()), (model.len(), model.is_empty()));
            prop_assert_eq!(sender.room(), capacity - model.len());
            prop_assert_eq!((sender.refused(), receiver.refused()), (refused, refused));
        }
    }
}

#[test]
fn every_value_arrives_in_order_or_is_counted() {
    let values = if cfg!(miri) { 300 } else { 200_000u64 };
    let (mut sender, mut receiver) = spsc(64);
    let thread = std::thread::spawn(move || (0..values).filter(|n| sender.push(*n).is_err()).count() as u64);
    let (mut arrived, mut last) = (0, None);
    while !receiver.is_abandoned() || !receiver.is_empty() {
        let Some(n) = receiver.pop() else {
            std::thread::yield_now();
            continue;
        };
        assert!(last.is_none_or(|last| n > last));
        (arrived, last) = (arrived + 1, Some(n));
    }
    let refused = thread.join().unwrap();
    assert_eq!((arrived + refused, receiver.refused()), (values, refused));
}

#[test]
fn what_was_not_taken_is_dropped_once() {
    let value = Rc::new(());
    let (mut sender, mut receiver) = spsc(3);
    sender.push(Rc::clone(&value)).unwrap();
    sender.push(Rc::clone(&value)).unwrap();
    drop(receiver.pop());
    assert_eq!(Rc::strong_count(&value), 2);
    drop(receiver);
    assert!(sender.is_abandoned());
    drop(sender);
    assert_eq!(Rc::strong_count(&value), 1);
}
