//! Writes that reach the device.

use super::scratch::{Scratch, block, survive};
use super::worker::{Load, Worker};

pub(super) const LOAD: Load = Load {
    name: "io-write",
    stresses: "Writing files: the file system, the block layer and the device, synced after every MiB.",
    unit: "MiB written and synced",
    needs_dir: true,
    run,
};

fn run(worker: &Worker) -> std::io::Result<()> {
    let mut file = Scratch::create(worker, 1)?;
    let block = block();
    worker.begun();
    while worker.wanted() {
        let step = file.write_next(&block);
        if survive(worker, step, &mut [&mut file])? {
            worker.count(1);
        }
    }
    Ok(())
}
