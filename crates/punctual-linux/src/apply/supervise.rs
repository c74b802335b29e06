//! Tunes the machine while a command runs: begins a transaction, starts a guard, applies the changes, runs the command,
//! and undoes the changes.
//!
//! Signals that stop the command or this process are passed on to the command. If this process is killed, the guard
//! undoes the changes.

use super::error::EngineError;
use super::guard::{Program, Tied, revert_patiently};
use super::revert::{Extent, Reverted};
use super::signals::Held;
use super::transaction::{Applied, Request, Transaction};
use crate::hand::Hand;
use crate::journal::Purpose;
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::Change;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

const PASSED_ON: [i32; 7] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];
/// Interval of checks for the end of the command, in case the signal that reports it is lost.
const LOOK: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct Supervised {
    pub applied: Applied,
    pub status: io::Result<ExitStatus>,
    pub reverted: Reverted,
}

/// Tunes, runs the command, and undoes everything. `ready` is called before the command starts, and may refuse to start
/// it.
pub fn supervise(
    hand: &dyn Hand,
    guard: &Program,
    request: &Request,
    (changes, allowed): (&[Change], Blast),
    command: &[OsString],
    ready: &mut dyn FnMut(&Applied) -> bool,
) -> Result<Supervised, EngineError> {
    let words = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let request = Request { kind: Purpose::ForCommand { command: words }, ..request.clone() };
    let signals = PASSED_ON.iter().copied().chain([libc::SIGCHLD]).collect::<Vec<_>>();
    // From here on, signals are queued. A signal that arrives while changes are made is passed on later, or ends this
    // process once the changes are undone.
    let mut held = Held::new(&signals).map_err(|reason| EngineError::Unknown { what: "signals", reason })?;
    let transaction = Transaction::begin(hand, &request)?;
    let number = transaction.number();
    let tied = match Tied::start(guard, number) {
        Ok(tied) => tied,
        Err(error) => {
            transaction.cancel()?;
            return Err(error);
        }
    };
    // Steps that rolling back could not undo are left to the guard, which tries again after this process has ended.
    let applied = transaction.apply(changes, allowed)?;
    let wanted = ready(&applied) && !told_to_end(&mut held);
    let status = if wanted { run(command, &mut held) } else { Err(io::ErrorKind::Interrupted.into()) };
    let reverted = revert_patiently(hand, Extent::Only(number))?;
    tied.dismiss();
    Ok(Supervised { applied, status, reverted })
}

/// Whether a queued signal requests the end of this process.
fn told_to_end(held: &mut Held) -> bool {
    let ends = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];
    std::iter::from_fn(|| held.next(Duration::ZERO)).any(|arrived| ends.contains(&arrived.signal))
}

fn run(command: &[OsString], held: &mut Held) -> io::Result<ExitStatus> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(program).args(arguments).spawn()?;
    let status = wait(&mut child, held);
    if status.is_err() {
        // A child that cannot be waited for cannot be supervised, so it is killed.
        let _ = child.kill();
    }
    status
}

fn wait(child: &mut Child, held: &mut Held) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let Some(arrived) = held.next(LOOK) else { continue };
        // The kernel sends the signals of a terminal to the command as well, so they are not passed on.
        if arrived.signal == libc::SIGCHLD || !arrived.by_a_process {
            continue;
        }
        if let Some(signal) = Signal::from_named_raw(arrived.signal) {
            // Fails if the command has just ended.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }
}
