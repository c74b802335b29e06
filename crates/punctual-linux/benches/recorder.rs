//! Measures the bookkeeping between two waits: from the clock reading after the wake-up to the next sleep call. Run
//! with `cargo bench -p punctual-linux`.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says why")]

use punctual_linux::probe::Recorder;
use punctual_rt::{Grid, Nanos, Pacer, Sleeper, Wait, now};

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let spinning = median(&Wait::Spin, Nanos::from_us(5), 200_000);
    let sleeping = median(&Wait::Sleep, Nanos::from_ms(1), 3_000);
    println!("bookkeeping, caches warm (spin, 5 us): median {} ns (limit 150)", spinning.as_ns());
    println!("bookkeeping, after a real sleep (1 ms): median {} ns (limit 150)", sleeping.as_ns());
}

/// Takes the same steps as the loop of the probe. The last clock reading is the one that a sleep makes before it enters
/// the kernel.
fn median(wait: &Wait, period: Nanos, activations: usize) -> Nanos {
    let from = now().plus(period);
    let mut pacer = Pacer::new(Grid::new(from, period), wait, Sleeper::Absolute).expect("a timer");
    let (mut recorder, reader) = Recorder::new(from, period, Some(Nanos::from_us(50)));
    let mut costs = Vec::with_capacity(activations);
    for _ in 0..activations {
        let wake = pacer.wait();
        recorder.record(&wake);
        costs.push(now().since(wake.woke));
    }
    assert_eq!(reader.activations(), activations as u64);
    costs.sort_unstable();
    costs[activations / 2]
}
