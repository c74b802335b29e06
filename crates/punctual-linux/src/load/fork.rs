//! Processes that are born and die.

use super::worker::{Load, Worker};
use crate::sys::process::fork_and_wait;

pub(super) const LOAD: Load = Load {
    name: "fork",
    stresses: "Creating and ending processes: page tables, the process list, and TLB flushes.",
    unit: "processes",
    needs_dir: false,
    run,
};

#[allow(clippy::unnecessary_wraps, reason = "all loads have one shape")]
fn run(worker: &Worker) -> std::io::Result<()> {
    worker.begun();
    while worker.wanted() {
        match fork_and_wait() {
            Ok(()) => worker.count(1),
            Err(error) => {
                worker
                    .report(|| format!("cannot create a process: {error} (see ulimit -u, and pids.max of the cgroup)"));
                worker.pause();
            }
        }
    }
    Ok(())
}
