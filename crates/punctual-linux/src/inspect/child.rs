//! Starts the program that is to be inspected, and ends it.

use super::InspectError;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time for the program to end after SIGTERM, before SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

pub struct Program {
    child: Child,
}

impl Program {
    /// Starts the program from a thread of its own, whose number is given to `before`: what the trace is told of this
    /// thread, the program inherits from its first instruction on. Its standard output goes where our messages go.
    pub fn start(words: &[OsString], before: impl FnOnce(u32)) -> Result<Self, InspectError> {
        let program = words.first().cloned().unwrap_or_default();
        let failed = |error| InspectError::Start { program: program.to_string_lossy().into_owned(), error };
        let output = std::io::stderr().as_fd().try_clone_to_owned().map_err(&failed)?;
        let mut command = Command::new(&program);
        command.args(words.get(1..).unwrap_or_default()).stdout(Stdio::from(output));
        let (send_id, id) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let spawner = thread::spawn(move || {
            let _ = send_id.send(rustix::thread::gettid().as_raw_nonzero().get());
            let _ = wait.recv();
            command.spawn()
        });
        if let Ok(tid) = id.recv() {
            before(u32::try_from(tid).unwrap_or_default());
        }
        drop(go);
        let child = spawner.join().unwrap_or_else(|_| Err(std::io::Error::other("the starting thread failed")));
        Ok(Self { child: child.map_err(failed)? })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Program {
    /// Ends the program if it still runs, first by SIGTERM.
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        if let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if self.has_ended() {
                return;
            }
            thread::sleep(POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
