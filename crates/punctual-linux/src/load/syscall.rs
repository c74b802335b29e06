//! Entries into the kernel, as many as possible.

use super::worker::{Load, Worker};
use rustix::fs::{Mode, OFlags};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

pub(super) const LOAD: Load = Load {
    name: "syscall",
    stresses: "Entering and leaving the kernel: the cheapest calls there are, without pause.",
    unit: "system calls",
    needs_dir: false,
    run,
};

fn run(worker: &Worker) -> std::io::Result<()> {
    let zero = rustix::fs::open("/dev/zero", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = [0_u8; 64];
    worker.begun();
    while worker.wanted() {
        for _ in 0..100 {
            black_box(rustix::process::getppid());
            black_box(clock_gettime(ClockId::ThreadCPUTime)); // a clock that only the kernel can read
            rustix::io::read(&zero, &mut bytes)?;
        }
        worker.count(300);
    }
    Ok(())
}
