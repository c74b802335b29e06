//! Two threads on one CPU that wake each other.

use super::worker::{Load, Worker};
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io::{self, Read, Write};

pub(super) const LOAD: Load = Load {
    name: "switch",
    stresses: "The scheduler: two threads on each CPU that wake each other through pipes.",
    unit: "round trips",
    needs_dir: false,
    run,
};

fn run(worker: &Worker) -> io::Result<()> {
    let ((mut there_out, mut there), (mut back_out, mut back)) = (pipe()?, pipe()?);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = worker.pin();
            let mut ball = [0_u8; 1];
            while there_out.read_exact(&mut ball).is_ok() && back.write_all(&ball).is_ok() {}
        });
        worker.begun();
        let mut ball = [0_u8; 1];
        while worker.wanted() {
            there.write_all(&ball)?;
            back_out.read_exact(&mut ball)?;
            worker.count(1);
        }
        drop(there); // the partner's pipe ends, and so does the partner
        Ok(())
    })
}

/// The two ends of a pipe: what is written to the second is read from the first.
fn pipe() -> io::Result<(File, File)> {
    let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((out.into(), into.into()))
}
