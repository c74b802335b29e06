//! Loads that write, read and copy files through the device.

use super::room::MIB;
use super::scratch::{Scratch, block, survive};
use super::worker::Worker;
use std::io::Result;

pub(super) fn write(worker: &Worker) -> Result<()> {
    let mut file = Scratch::create(worker, 1)?;
    let block = block();
    worker.work(|| {
        let step = file.write_next(&block);
        survive(worker, step, &mut [&mut file]).map(u64::from)
    })
}

/// Reads a file again and again. It grows by a block after each pass, so that reading begins at once even on a slow
/// device.
pub(super) fn read(worker: &Worker) -> Result<()> {
    let mut file = Scratch::create(worker, 1)?;
    let (content, mut read, mut offset) = (block(), block(), 0);
    file.write_next(&content)?;
    worker.work(|| {
        if offset < file.size() {
            file.read(&mut read, offset)?;
            offset += MIB as u64;
            return Ok(1);
        }
        offset = 0;
        let step = file.grow(&content);
        survive(worker, step, &mut [&mut file]).map(|_| 0)
    })
}

/// Copies a file again and again. The source file grows as in [`read`].
pub(super) fn copy(worker: &Worker) -> Result<()> {
    let (mut from, mut to) = (Scratch::create(worker, 2)?, Scratch::create(worker, 2)?);
    let (content, mut copy, mut offset) = (block(), block(), 0);
    from.write_next(&content)?;
    worker.work(|| {
        if offset < from.size() {
            from.read(&mut copy, offset)?;
            offset += MIB as u64;
            let step = to.write_next(&copy);
            return survive(worker, step, &mut [&mut from, &mut to]).map(u64::from);
        }
        offset = 0;
        let step = from.grow(&content);
        survive(worker, step, &mut [&mut from, &mut to]).map(|_| 0)
    })
}
