//! Every interleaving, and every order in which a weak memory may show the stores, of the two protocols by which a
//! reader copies what the loop writes: a copy that is accepted belongs together.

#![allow(missing_docs, reason = "a test")]

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}
#[path = "../src/stats/sequence.rs"]
mod sequence;
#[path = "../src/stats/slot.rs"]
mod slot;

use atomics::{AtomicU64, Ordering::Relaxed};
use loom::sync::Arc;
use sequence::Sequence;
use slot::Slot;

#[derive(Default)]
struct Guarded {
    sequence: Sequence,
    one: AtomicU64,
    other: AtomicU64,
}

#[test]
fn two_words_guarded_by_a_sequence_are_never_of_different_ages() {
    loom::model(|| {
        let guarded = Arc::new(Guarded::default());
        let writers = Arc::clone(&guarded);
        let writer = loom::thread::spawn(move || {
            for age in 1..=2 {
                writers.sequence.begin();
                writers.one.store(age, Relaxed);
                writers.other.store(age, Relaxed);
                writers.sequence.end();
            }
        });
        if let Some(seen) = guarded.sequence.resting() {
            let copy = (guarded.one.load(Relaxed), guarded.other.load(Relaxed));
            if guarded.sequence.unchanged_since(seen) {
                assert_eq!(copy, (seen / 2, seen / 2));
            }
        }
        writer.join().unwrap();
        assert_eq!(guarded.sequence.resting(), Some(4));
    });
}

#[test]
fn a_record_is_read_whole_and_with_its_own_number() {
    loom::model(|| {
        let slot = Arc::new(Slot::<2>::default());
        let writers = Arc::clone(&slot);
        let writer = loom::thread::spawn(move || {
            writers.write(5, &[50, 0]);
            writers.amend(1, 51);
            writers.write(9, &[90, 0]);
            writers.amend(1, 91);
        });
        match slot.read() {
            None | Some((5, [50, 0 | 51]) | (9, [90, 0 | 91])) => {}
            torn => panic!("{torn:?}"),
        }
        writer.join().unwrap();
        assert_eq!(slot.read(), Some((9, [90, 91])));
    });
}
