//! Random changes all over the last-level cache.

use super::room::{last_cache_bytes, memory_bytes};
use super::worker::{Load, Worker};
use std::hint::black_box;

pub(super) const LOAD: Load = Load {
    name: "cache",
    stresses: "The last-level cache: random changes over about its whole size, so that others find their lines gone.",
    unit: "cache lines changed",
    needs_dir: false,
    run,
};

/// Bytes in a line; where lines are longer, some changes hit a line twice.
const LINE: usize = 64;

#[allow(clippy::unnecessary_wraps, reason = "all loads have one shape")]
fn run(worker: &Worker) -> std::io::Result<()> {
    let bytes = last_cache_bytes(worker.cpu()).min(memory_bytes(worker.workers())).max(LINE);
    let mut buffer = vec![0_u8; bytes];
    buffer.fill(1); // so that every page is there before the work begins
    let lines = (bytes / LINE) as u64;
    let mut random = u64::from(worker.cpu()) + 1;
    worker.begun();
    while worker.wanted() {
        for _ in 0..1024 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let line = usize::try_from(random % lines).unwrap_or(0);
            buffer[line * LINE] = buffer[line * LINE].wrapping_add(1);
        }
        black_box(&mut buffer);
        worker.count(1024);
    }
    Ok(())
}
