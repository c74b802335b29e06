//! The guard: a separate process that undoes a transaction if nobody else is left to do so.
//!
//! There are two kinds. One is tied to a supervisor by a pipe, and acts if the supervisor ends without a farewell. The
//! other waits for the confirmation of a transaction, and acts when the time is up. Both are this program, started with
//! internal arguments in a session of their own, so that neither a closed terminal nor a key pressed there ends them.

use super::error::EngineError;
use super::machine::now;
use super::revert::{Extent, Reverted, revert, revert_orphan, revert_pending};
use super::undo::SYSTEMD;
use crate::hand::Hand;
use crate::journal::{self, Begun, Contents, SessionStage};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long a guard waits for another process that is changing the machine.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(200);
const TIED: &str = "tied";
const DEADLINE: &str = "deadline";
/// The byte that a supervisor sends to its guard before it ends normally.
const FAREWELL: u8 = b'.';

/// The command line of a guard: the path of this program, and the arguments that make it a guard.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub words: Vec<OsString>,
}

impl Program {
    /// Starts this program again as a guard: the first argument `word` has to make it call [`run`].
    pub fn this(word: &str) -> io::Result<Self> {
        Ok(Self { path: std::env::current_exe()?, words: vec![word.into()] })
    }

    fn command(&self, kind: &str, transaction: u32) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.words).arg(kind).arg(transaction.to_string());
        command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn failed(&self, remedy: &'static str) -> impl FnOnce(io::Error) -> EngineError {
        let program = self.path.display().to_string();
        move |reason| EngineError::Start { program, reason, remedy }
    }
}

#[derive(Debug)]
pub struct Tied {
    guard: Child,
}

impl Tied {
    /// Starts the guard. Call this before anything is changed.
    pub fn start(program: &Program, transaction: u32) -> Result<Self, EngineError> {
        let start = program.command(TIED, transaction).stdin(Stdio::piped()).spawn();
        let mut guard = start.map_err(program.failed("Without its guard nothing is changed"))?;
        // Without a pipe the guard would never notice that this process ended. Because the guard also ignores signals,
        // it is killed here.
        if guard.stdin.is_none() {
            let _ = guard.kill();
            let _ = guard.wait();
        }
        Ok(Self { guard })
    }

    pub fn dismiss(mut self) {
        if let Some(mut pipe) = self.guard.stdin.take() {
            // Fails if the guard has ended, which then needs no farewell.
            let _ = pipe.write_all(&[FAREWELL]);
        }
        let _ = self.guard.wait();
    }
}

/// Starts a guard that undoes the transaction when its time is up, unless it is confirmed. The guard outlives this
/// process, its terminal and its user's session.
pub fn watch_deadline(program: &Program, transaction: u32) -> Result<(), EngineError> {
    let remedy = "Without its guard nothing is changed";
    if Path::new(SYSTEMD).is_dir() && under_systemd(program, transaction) {
        return Ok(());
    }
    let start = program.command(DEADLINE, transaction).stdin(Stdio::null()).spawn();
    // The guard starts a session of its own, and init reaps it after this process has ended.
    start.map(drop).map_err(program.failed(remedy))
}

/// Starts the guard as a systemd unit, because the end of a user's session ends every process that was started in it.
/// Returns whether the guard was started.
fn under_systemd(program: &Program, transaction: u32) -> bool {
    let Some(path) = program.path.to_str() else { return false };
    let mut command = Command::new("/usr/bin/systemd-run");
    command.args(["--quiet", "--collect", "--no-ask-password", "--property=KillMode=process"]);
    command.arg(format!("--unit=punctual-guard-{transaction}-{}", std::process::id())).arg("--").arg(path);
    command.args(&program.words).args([DEADLINE, &transaction.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Does the work of a guard if `words` are the arguments of one. `None` if they are not, or if nothing was left to
/// undo.
pub fn run(hand: &dyn Hand, words: &[String]) -> Result<Option<Reverted>, EngineError> {
    let [kind, transaction] = words else { return Ok(None) };
    let Ok(transaction) = transaction.parse() else { return Ok(None) };
    // Fails if the guard already leads a session, which is just as good.
    let _ = rustix::process::setsid();
    hold_out();
    let Some(begun) = beginning(hand, transaction) else { return Ok(None) };
    match kind.as_str() {
        TIED if left_alone(&mut io::stdin().lock()) => insist(|| revert_orphan(hand, &begun)),
        DEADLINE if time_is_up(hand, &begun) => insist(|| revert_pending(hand, &begun)),
        _ => Ok(None),
    }
}

/// The begin record of the transaction to be guarded. It identifies the transaction, because numbers are reused. `None`
/// if the transaction is over, or if the journal could not be read within [`PATIENCE`].
fn beginning(hand: &dyn Hand, transaction: u32) -> Option<Begun> {
    let contents = retried(|| journal::read(hand), |_| true).ok()?;
    let sessions = contents.into_iter().flat_map(|contents| contents.sessions);
    let mut guarded = sessions.filter(|session| session.transaction == transaction);
    guarded.find(|session| session.stage != SessionStage::Reverted)?.begun
}

/// Catches and ignores the signals that end a process by default.
pub(crate) fn hold_out() {
    use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    for signal in [SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2] {
        // If a handler cannot be installed, the next `status` still shows from the journal what was not finished.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// Waits until the pipe is closed. Returns whether it was closed without a farewell.
pub(crate) fn left_alone(pipe: &mut dyn Read) -> bool {
    let mut word = [0];
    loop {
        match pipe.read(&mut word) {
            Ok(0) => return true,
            Ok(_) => return word != [FAREWELL],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return true,
        }
    }
}

/// Waits until a transaction's time is up; `false` if it was confirmed or undone before. If the journal cannot be read,
/// it is read again after [`LOOK`]; the deadline applies in any case.
fn time_is_up(hand: &dyn Hand, begun: &Begun) -> bool {
    let Some(by) = begun.confirm_by_ns else { return false };
    loop {
        if let Ok(contents) = journal::read(hand) {
            let mut standing = contents.iter().flat_map(Contents::standing);
            let Some(session) = standing.find(|session| session.begun.as_ref() == Some(begun)) else { return false };
            if session.confirmed {
                return false;
            }
        }
        if now(hand).is_ok_and(|present| present.boottime_ns >= by) {
            return true;
        }
        std::thread::sleep(LOOK);
    }
}

/// Repeats an undo for [`PATIENCE`] whatever its error is, because no other process will do it.
fn insist<T>(put_back: impl Fn() -> Result<T, EngineError>) -> Result<T, EngineError> {
    retried(put_back, |_| true)
}

/// Repeats an attempt for at most [`PATIENCE`], as long as it fails with an error for which `may_pass` returns true.
fn retried<T, E>(attempt: impl Fn() -> Result<T, E>, may_pass: fn(&E) -> bool) -> Result<T, E> {
    let until = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(error) if may_pass(&error) && Instant::now() < until => std::thread::sleep(LOOK),
            done => return done,
        }
    }
}

/// Undoes `extent`. While another process is changing the machine, waits for at most ten minutes.
pub fn revert_patiently(hand: &dyn Hand, extent: Extent) -> Result<Reverted, EngineError> {
    patiently(|| revert(hand, extent, false))
}

/// Undoes the transaction that began with `begun` without a request from the user, once no other process changes the
/// machine. `None` if it no longer has to be undone.
pub fn revert_pending_patiently(hand: &dyn Hand, begun: &Begun) -> Result<Option<Reverted>, EngineError> {
    patiently(|| revert_pending(hand, begun))
}

fn patiently<T>(put_back: impl Fn() -> Result<T, EngineError>) -> Result<T, EngineError> {
    retried(put_back, |error| matches!(error, EngineError::Locked { .. }))
}
