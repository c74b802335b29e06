//! Arithmetic that stays in the registers.

use super::worker::{Load, Worker};
use std::hint::black_box;

pub(super) const LOAD: Load = Load {
    name: "cpu",
    stresses: "Integer and floating-point arithmetic: heat, turbo budget, and an SMT sibling's execution units.",
    unit: "rounds of 10000 steps",
    needs_dir: false,
    run,
};

#[allow(clippy::unnecessary_wraps, reason = "all loads have one shape")]
fn run(worker: &Worker) -> std::io::Result<()> {
    let mut whole = u64::from(worker.cpu()) + 1;
    let mut real = 1.0_f64;
    worker.begun();
    while worker.wanted() {
        for _ in 0..10_000 {
            whole = whole.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            real = (real * 0.999 + f64::from((whole >> 48) as u16)).sqrt();
        }
        whole ^= black_box(real).to_bits() & 1;
        worker.count(1);
    }
    Ok(())
}
