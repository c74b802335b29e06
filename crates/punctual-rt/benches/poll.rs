//! What polling for a release costs and how exactly it ends: a reading, and waits of 50 us each with what the CPU has
//! and with plain polling, in turns. Run with `cargo bench -p punctual-rt --bench poll`.

use punctual_rt::{Nanos, Poller, Watch, now};

const WAITS: usize = 5_000;
const ROUNDS: usize = 5;
const LENGTH: Nanos = Nanos::from_us(50);

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    println!("one reading of the clock: {:.1} ns", each(|| _ = now()));
    let mut watch = Watch::of_current_thread(false);
    let watching = each(|| {
        watch.begin();
        _ = watch.end(false);
    });
    println!("mark set, read and removed: {watching:.1} ns (there are marks: {})", watch.has_marks());
    for round in 0..ROUNDS {
        for mut poller in [Poller::detect(), Poller::plain()] {
            println!("round {round}: {}", waits(&mut poller));
        }
    }
}

/// Nanoseconds per call.
fn each(mut call: impl FnMut()) -> f64 {
    const CALLS: u32 = 2_000_000;
    let begun = now();
    for _ in 0..CALLS {
        call();
    }
    now().since(begun).as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn waits(poller: &mut Poller) -> String {
    let (mut errors, mut readings, mut time) = (Vec::with_capacity(WAITS), 0, Nanos::ZERO);
    let mut hits = 0;
    for _ in 0..WAITS {
        let release = now().plus(LENGTH);
        let wait = poller.poll_until(release);
        errors.push(wait.at.minus_instant(release).as_ns());
        readings += wait.iterations;
        time = time.plus(wait.polled);
        hits += u32::from(wait.longest > Nanos::from_us(1));
    }
    errors.sort_unstable();
    let at = |percent| errors[WAITS * percent / 100];
    let reading = time.whole(Nanos::from_ns(readings.max(1)));
    format!(
        "{:6} late by {} ns (p50), {} ns (p90), {} ns (p99), least {} ns; a turn {reading} ns; {hits} of {WAITS} hit for > 1 us",
        poller.name(),
        at(50),
        at(90),
        at(99),
        errors[0]
    )
}
