//! What our bookkeeping costs between two waits: from the clock reading after the wake-up to the next sleep call.
//! Run with `cargo bench -p punctual-rt`.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says why")]

use punctual_rt::{Grid, Mechanism, MonoTime, Nanos, Recorder, Waiter, now};

const FAR: MonoTime = MonoTime::from_ns(u64::MAX);

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let spinning = median(Mechanism::Spin, Nanos::from_us(5), 200_000);
    let sleeping = median(Mechanism::Absolute, Nanos::from_ms(1), 3_000);
    println!("bookkeeping, caches warm (spin, 5 us): median {} ns (limit 150)", spinning.as_ns());
    println!("bookkeeping, after a real sleep (1 ms): median {} ns (limit 150)", sleeping.as_ns());
}

/// The same steps as the probe's loop. The last clock reading is the one a sleep makes before it enters the kernel.
fn median(mechanism: Mechanism, period: Nanos, activations: usize) -> Nanos {
    let mut waiter = Waiter::new(mechanism).expect("a timer");
    let from = now().plus(period);
    let mut grid = Grid::new(from, period);
    let (mut recorder, reader) = Recorder::new(from, period, Some(Nanos::from_us(50)));
    let mut costs = Vec::with_capacity(activations);
    for _ in 0..activations {
        let woke = waiter.wait_until(grid.release());
        let step = grid.advance(woke, FAR);
        recorder.record(step, woke);
        costs.push(now().since(woke));
    }
    assert_eq!(reader.activations(), activations as u64);
    costs.sort_unstable();
    costs[activations / 2]
}
