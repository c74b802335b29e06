//! Explores every interleaving, and every order in which weak memory may show stores, of the two protocols by which a
//! reader copies what the loop writes. Values in an accepted copy must belong together.

#![allow(dead_code, missing_docs, reason = "a test, of sources that are compiled whole")]

mod atomics {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}
#[path = "../src/page/sequence.rs"]
mod sequence;
#[path = "../../punctual-hist/src/slot.rs"]
mod slot;

use atomics::{AtomicU64, Ordering::Relaxed};
use sequence::Sequence;
use slot::Slot;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Guarded {
    sequence: Sequence,
    one: AtomicU64,
    other: AtomicU64,
}

/// The reader runs in the spawned thread. If the writer did, its own loads of the sequence would be the last accesses
/// before its stores, and the checker would not explore reader loads before them.
#[test]
fn two_words_guarded_by_a_sequence_are_never_of_different_ages() {
    let accepted = Arc::new(Mutex::new(BTreeSet::new()));
    let ages = Arc::clone(&accepted);
    loom::model(move || {
        let guarded = loom::sync::Arc::new(Guarded::default());
        let (readers, ages) = (loom::sync::Arc::clone(&guarded), Arc::clone(&ages));
        let reader = loom::thread::spawn(move || {
            let Some(seen) = readers.sequence.resting() else { return };
            let copy = (readers.one.load(Relaxed), readers.other.load(Relaxed));
            if readers.sequence.unchanged_since(seen) {
                assert_eq!(copy, (seen / 2, seen / 2));
                ages.lock().unwrap().insert(seen / 2);
            }
        });
        for age in 1..=2 {
            guarded.sequence.begin();
            guarded.one.store(age, Relaxed);
            guarded.other.store(age, Relaxed);
            guarded.sequence.end();
        }
        reader.join().unwrap();
    });
    assert_eq!(*accepted.lock().unwrap(), BTreeSet::from([0, 1, 2]), "what the checker came across");
}

#[test]
fn a_record_is_read_whole_and_with_its_own_number() {
    let accepted = Arc::new(Mutex::new(BTreeSet::new()));
    let records = Arc::clone(&accepted);
    loom::model(move || {
        let slot = loom::sync::Arc::new(Slot::<2>::default());
        let (readers, records) = (loom::sync::Arc::clone(&slot), Arc::clone(&records));
        let reader = loom::thread::spawn(move || match readers.read() {
            None => {}
            Some(record @ ((5, [50, 0 | 51]) | (9, [90, 0 | 91]))) => drop(records.lock().unwrap().insert(record)),
            torn => panic!("{torn:?}"),
        });
        slot.write(5, &[50, 0]);
        slot.amend(1, 51);
        slot.write(9, &[90, 0]);
        slot.amend(1, 91);
        reader.join().unwrap();
        assert_eq!(slot.read(), Some((9, [90, 91])));
    });
    assert_eq!(accepted.lock().unwrap().len(), 4, "what the checker came across");
}
