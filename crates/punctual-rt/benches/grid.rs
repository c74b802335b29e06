//! Steps a grid through a thousand million cycles, each steered, some late and some missed. Checks that the final
//! release is exact to the nanosecond, and prints the cost of a step. Run with `cargo xtask bench grid`.

use punctual_rt::{Delta, Grid, MonoTime, Nanos, now};

const CYCLES: u64 = 1_000_000_000;
const PERIOD: Nanos = Nanos::from_ns(999_983);
const FIRST: u64 = 1_000_000_007;

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let began = now();
    let mut grid = Grid::new(MonoTime::from_ns(FIRST), PERIOD);
    let (mut state, mut steered, mut missed, mut run) = (1u64, 0i64, 0u64, 0u64);
    while run < CYCLES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let noise = state >> 40;
        // Late by up to 16 us; in one of 65536 cycles by up to 255 additional periods.
        let outage = if noise.trailing_zeros() >= 16 { PERIOD * (noise >> 16) } else { Nanos::ZERO };
        let woke = grid.release() + Nanos::from_ns(noise & 0x3FFF) + outage;
        missed += grid.advance(woke).missed;
        let by = i64::from(u32::try_from(noise % 10_001).unwrap_or(0)) - 5_000;
        steered += grid.steer(Delta::from_ns(by), woke).as_ns();
        run += 1;
    }
    let took = now() - began;
    assert_eq!(grid.index(), run + missed);
    let whole = u128::from(PERIOD.as_ns()) * u128::from(run + missed) + u128::from(FIRST);
    let exact = whole.checked_add_signed(i128::from(steered));
    assert_eq!(Some(u128::from(grid.release().as_ns())), exact, "the grid drifted");
    println!(
        "grid: {run} cycles and {missed} missed releases, each cycle steered, exact to the nanosecond; {:.1} ns each",
        // A thousand million steps: the total in seconds is the time of one step in nanoseconds.
        took.as_secs_f64()
    );
}
