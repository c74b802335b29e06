//! What recording takes of a thread that is recorded, measured on a thread of our own.

use punctual_hist::Nanos;
use punctual_rt::now;

/// The time of a batch is the smallest of this number of batches, of [`BATCH`] operations each, so that what interrupts a
/// batch does not count.
const BATCHES: u32 = 100;
const BATCH: u32 = 50;

/// The time that a batch of operations takes in each of several states, which are entered in turn.
pub fn batches<const STATES: usize, E>(
    mut enter: impl FnMut(usize) -> Result<(), E>,
    mut operation: impl FnMut() -> Result<(), E>,
) -> Result<[Nanos; STATES], E> {
    let mut fastest = [Nanos::MAX; STATES];
    for _ in 0..BATCHES {
        for (state, fastest) in fastest.iter_mut().enumerate() {
            enter(state)?;
            let from = now();
            (0..BATCH).try_for_each(|_| operation())?;
            *fastest = now().since(from).min(*fastest);
        }
    }
    Ok(fastest)
}

/// By how much longer one operation takes, from the times of two batches.
pub fn more(with: Nanos, without: Nanos) -> Nanos {
    with.minus(without).divided_by(u64::from(BATCH))
}
