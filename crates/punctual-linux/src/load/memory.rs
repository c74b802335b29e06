//! Copies between buffers far larger than the caches.

use super::room::{MIB, memory_bytes};
use super::worker::{Load, Worker};
use std::hint::black_box;

pub(super) const LOAD: Load = Load {
    name: "memory",
    stresses: "Memory bandwidth: copies between buffers far larger than the caches.",
    unit: "MiB copied",
    needs_dir: false,
    run,
};

#[allow(clippy::unnecessary_wraps, reason = "all loads have one shape")]
fn run(worker: &Worker) -> std::io::Result<()> {
    let mut buffer = vec![0_u8; memory_bytes(worker.workers())];
    buffer.fill(1); // so that every page is there before the work begins
    worker.begun();
    while worker.wanted() {
        let middle = buffer.len() / 2;
        let (from, to) = buffer.split_at_mut(middle);
        for (from, to) in from.chunks_exact(MIB).zip(to.chunks_exact_mut(MIB)) {
            to.copy_from_slice(from);
            worker.count(1);
            if !worker.wanted() {
                break;
            }
        }
        black_box(&mut buffer);
    }
    Ok(())
}
