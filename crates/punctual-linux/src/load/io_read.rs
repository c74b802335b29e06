//! Reads that reach the device.

use super::room::MIB;
use super::scratch::{Scratch, block, survive};
use super::worker::{Load, Worker};

pub(super) const LOAD: Load = Load {
    name: "io-read",
    stresses: "Reading files: the device, the block layer and the page cache, dropped before every read.",
    unit: "MiB read",
    needs_dir: true,
    run,
};

fn run(worker: &Worker) -> std::io::Result<()> {
    let mut file = Scratch::create(worker, 1)?;
    let (content, mut read) = (block(), block());
    file.write_next(&content)?;
    worker.begun();
    // The file grows between two passes, so that a slow device is read from the start.
    while worker.wanted() {
        for offset in (0..file.size()).step_by(MIB) {
            file.read(&mut read, offset)?;
            worker.count(1);
            if !worker.wanted() {
                return Ok(());
            }
        }
        if !file.full() {
            let step = file.write_next(&content);
            survive(worker, step, &mut [&mut file])?;
        }
    }
    Ok(())
}
