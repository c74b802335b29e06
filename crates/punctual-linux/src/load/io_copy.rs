//! Copies from file to file by way of the device.

use super::room::MIB;
use super::scratch::{Scratch, block, survive};
use super::worker::{Load, Worker};

pub(super) const LOAD: Load = Load {
    name: "io-copy",
    stresses: "Copying files: reads that miss the page cache and writes that are synced, in turn.",
    unit: "MiB copied and synced",
    needs_dir: true,
    run,
};

fn run(worker: &Worker) -> std::io::Result<()> {
    let (mut from, mut to) = (Scratch::create(worker, 2)?, Scratch::create(worker, 2)?);
    let (content, mut copy) = (block(), block());
    from.write_next(&content)?;
    worker.begun();
    while worker.wanted() {
        for offset in (0..from.size()).step_by(MIB) {
            from.read(&mut copy, offset)?;
            let step = to.write_next(&copy);
            if !survive(worker, step, &mut [&mut from, &mut to])? {
                break;
            }
            worker.count(1);
            if !worker.wanted() {
                return Ok(());
            }
        }
        if !from.full() {
            let step = from.write_next(&content);
            survive(worker, step, &mut [&mut from, &mut to])?;
        }
    }
    Ok(())
}
