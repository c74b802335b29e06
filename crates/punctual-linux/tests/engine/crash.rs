//! Ends the program before, during and after every single operation of applying and of reverting, and lets every single
//! operation fail. After a revert, the machine must be byte for byte as at the start.

use crate::bench::{Bench, Fault, Faulty, Picture, TheEnd, booted_again, plan, tune};
use punctual_linux::apply::{EngineError, Extent, Hand, revert};
use std::panic::{AssertUnwindSafe, catch_unwind};

const ENDS: [Fault; 3] = [Fault::Before, Fault::Within, Fault::After];

/// Runs `work`; `None` if it was cut short by the simulated end of the program.
fn survive<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(end) if end.is::<TheEnd>() => None,
        Err(other) => std::panic::resume_unwind(other),
    }
}

fn put_back(bench: &Bench, start: &Picture, what: &str) {
    let back = revert(bench, Extent::All, false).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(back.closed && back.trouble.is_empty(), "{what}: {back:#?}");
    let now = bench.picture();
    for (path, there) in start {
        assert_eq!(now.get(path), Some(there), "{what}: {path}");
    }
    assert_eq!(now.keys().collect::<Vec<_>>(), start.keys().collect::<Vec<_>>(), "{what}");
}

/// Number of operations in a complete run of `work`.
fn operations(prepare: fn(&Bench), work: fn(&dyn Hand, &Bench)) -> usize {
    let (_folder, bench) = Bench::new();
    prepare(&bench);
    let faulty = Faulty::new(&bench, usize::MAX, Fault::Before);
    work(&faulty, &bench);
    faulty.operations()
}

fn apply(hand: &dyn Hand, bench: &Bench) {
    let _ = tune(hand, &plan(bench));
}

fn undo(hand: &dyn Hand, _: &Bench) {
    let _ = revert(hand, Extent::All, false);
}

fn applied(bench: &Bench) {
    apply(bench, bench);
}

fn untouched(_: &Bench) {}

/// Runs `work` with every fault at every operation. Returns the number of runs.
fn everywhere(
    prepare: fn(&Bench),
    work: fn(&dyn Hand, &Bench),
    faults: &[Fault],
    then: fn(&Bench, &Picture, &str),
) -> usize {
    let count = operations(prepare, work);
    for at in 0..count {
        for fault in faults {
            let (_folder, bench) = Bench::new();
            let start = bench.picture();
            prepare(&bench);
            survive(|| work(&Faulty::new(&bench, at, *fault), &bench));
            then(&bench, &start, &format!("operation {at} of {count}, {fault:?}"));
        }
    }
    count * faults.len()
}

#[test]
fn ended_at_any_operation_of_applying_the_start_is_restored() {
    let runs = everywhere(untouched, apply, &ENDS, put_back);
    println!("{runs} runs");
    assert!(runs > 300, "{runs}");
}

#[test]
fn ended_at_any_operation_of_reverting_the_start_is_restored() {
    let runs = everywhere(applied, undo, &ENDS, put_back);
    println!("{runs} runs");
    assert!(runs > 200, "{runs}");
}

#[test]
fn ended_again_and_again_the_start_is_restored() {
    // The program ends while applying. After that, every revert is ended as well, each a few operations later than the
    // one before.
    let runs = everywhere(untouched, apply, &[Fault::After], |bench, start, what| {
        for at in (0..120).step_by(19) {
            let fault = ENDS[at % 3];
            survive(|| undo(&Faulty::new(bench, at, fault), bench));
        }
        put_back(bench, start, what);
    });
    println!("{runs} runs");
}

#[test]
fn ended_and_started_anew_the_start_is_restored() {
    let runs = everywhere(untouched, apply, &ENDS, |bench, start, what| {
        bench.reboot();
        let mut start = start.clone();
        booted_again(&mut start);
        put_back(bench, &start, what);
    });
    println!("{runs} runs");
}

#[test]
fn whatever_single_operation_fails_the_start_is_restored() {
    let faults = [libc::EIO, libc::ENOSPC, libc::EPERM].map(Fault::Fails);
    let runs = everywhere(untouched, apply, &faults, put_back) + everywhere(applied, undo, &faults, put_back);
    println!("{runs} runs");
}

#[test]
fn on_a_disk_that_is_full_from_any_operation_on_nothing_stays_that_could_not_be_written_down() {
    let count = operations(untouched, apply);
    for at in 0..count {
        let (_folder, bench) = Bench::new();
        let start = bench.picture();
        let what = format!("full from operation {at} of {count} on");
        let faulty = Faulty::new(&bench, at, Fault::DiskFull);
        match tune(&faulty, &plan(&bench)) {
            Err(EngineError::Journal(_)) => assert_eq!(bench.picture(), start, "{what}"),
            Err(EngineError::RolledBack { left, .. }) if left.is_empty() => {
                assert_eq!(bench.picture(), start, "{what}");
            }
            Err(EngineError::RolledBack { .. }) | Ok(_) => {}
            Err(other) => panic!("{what}: {other}"),
        }
        // The first attempt still finds the disk full, and undoes only the steps that need no room.
        let _ = revert(&Faulty::new(&bench, 0, Fault::DiskFull), Extent::All, false);
        put_back(&bench, &start, &what);
    }
}
