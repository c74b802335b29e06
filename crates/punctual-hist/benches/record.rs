//! Measures the time that recording one value takes. Run with `cargo bench -p punctual-hist`.

use punctual_hist::{Histogram, Nanos};
use std::hint::black_box;
use std::time::Instant;

const VALUES: u32 = 20_000_000;

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let (mut writer, reader) = Histogram::new();
    // Latencies between 8 and 72 us in random order.
    let mut state = 1u64;
    let started = Instant::now();
    for _ in 0..VALUES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writer.record(black_box(Nanos::from_ns(8_000 + (state >> 48))));
    }
    let each = started.elapsed().as_secs_f64() * 1e9 / f64::from(VALUES);
    assert_eq!(reader.snapshot().count(), u64::from(VALUES));
    println!("histogram record: {each:.2} ns (limit 10)");
}
