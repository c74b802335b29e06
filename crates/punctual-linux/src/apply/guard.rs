//! A process of its own that puts things back when nobody else is left to do so.
//!
//! Two kinds: one is tied to a supervisor by a pipe and acts when that ends without a word; the other waits until a
//! transaction is confirmed, and acts when the time is up. Both are this program, started with words that no user
//! types, in a session of their own: neither a terminal that goes away nor a key pressed there ends them.

use super::error::EngineError;
use super::machine::now;
use super::revert::{Extent, Reverted, revert, revert_orphan, revert_pending};
use crate::hand::Hand;
use crate::journal::{self, Begun, Contents, Stage};
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
/// The byte that a supervisor sends to its guard when it ends in good order.
const FAREWELL: u8 = b'.';
/// This folder exists while systemd runs the machine.
const SYSTEMD: &str = "run/systemd/system";

/// The program that a guard runs as: this program, and the words that make it a guard.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub words: Vec<OsString>,
}

impl Program {
    /// This program; the first argument `word` makes it call [`run`].
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
        // The guard ignores signals by itself; without a pipe it would never learn that we ended.
        if guard.stdin.is_none() {
            let _ = guard.kill();
            let _ = guard.wait();
        }
        Ok(Self { guard })
    }

    pub fn dismiss(mut self) {
        if let Some(mut pipe) = self.guard.stdin.take() {
            // A guard that has ended needs no farewell.
            let _ = pipe.write_all(&[FAREWELL]);
        }
        let _ = self.guard.wait();
    }
}

/// Starts a guard that puts the transaction back when its time is up, unless it is confirmed. It outlives this process,
/// its terminal and its user's session.
pub fn watch_deadline(program: &Program, transaction: u32) -> Result<(), EngineError> {
    let remedy = "Without its guard nothing is changed";
    if Path::new("/").join(SYSTEMD).is_dir() && under_systemd(program, transaction) {
        return Ok(());
    }
    let start = program.command(DEADLINE, transaction).stdin(Stdio::null()).spawn();
    // The guard makes a session of its own; when we have ended, init waits for it.
    start.map(drop).map_err(program.failed(remedy))
}

/// Starts the guard as a systemd unit: the end of a user's session ends every process that was started in it.
fn under_systemd(program: &Program, transaction: u32) -> bool {
    let Some(path) = program.path.to_str() else { return false };
    let mut command = Command::new("/usr/bin/systemd-run");
    command.args(["--quiet", "--collect", "--no-ask-password", "--property=KillMode=process"]);
    command.arg(format!("--unit=punctual-guard-{transaction}-{}", std::process::id())).arg("--").arg(path);
    command.args(&program.words).args([DEADLINE, &transaction.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Does the work of a guard if these words are those of one; `None` where they are not, or where nothing was left to
/// do.
pub fn run(hand: &dyn Hand, words: &[String]) -> Result<Option<Reverted>, EngineError> {
    let [kind, transaction] = words else { return Ok(None) };
    let Ok(transaction) = transaction.parse() else { return Ok(None) };
    // This fails where the guard leads a session already, which is as good.
    let _ = rustix::process::setsid();
    hold_out();
    let Some(begun) = beginning(hand, transaction) else { return Ok(None) };
    match kind.as_str() {
        TIED if left_alone(&mut io::stdin().lock()) => insist(|| revert_orphan(hand, &begun)),
        DEADLINE if time_is_up(hand, &begun) => insist(|| revert_pending(hand, &begun)),
        _ => Ok(None),
    }
}

/// How the transaction began that is to be guarded: its number may be another's by the time it matters. `None` where it is
/// over already, or where the journal could not be read during all of [`PATIENCE`].
fn beginning(hand: &dyn Hand, transaction: u32) -> Option<Begun> {
    let contents = retried(|| journal::read(hand), |_| true).ok()?;
    let sessions = contents.into_iter().flat_map(|contents| contents.sessions);
    let mut guarded = sessions.filter(|session| session.transaction == transaction);
    guarded.find(|session| session.stage != Stage::Reverted)?.begun
}

/// Signals that would end another process are caught and ignored.
fn hold_out() {
    use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    for signal in [SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2] {
        // Where a handler is refused, the journal still tells the next `status` what was not finished.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// Whether the other end of the pipe went away without a word.
fn left_alone(pipe: &mut dyn Read) -> bool {
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

/// Waits until a transaction's time is up; `false` if it was confirmed or put back before. A journal that cannot be
/// read now is read again at the next look, and the deadline holds in any case.
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

/// Puts back, and tries again for a while, whatever is in the way: nobody else will.
fn insist<T>(put_back: impl Fn() -> Result<T, EngineError>) -> Result<T, EngineError> {
    retried(put_back, |_| true)
}

/// Tries for a while as long as this error may pass.
fn retried<T, E>(attempt: impl Fn() -> Result<T, E>, may_pass: fn(&E) -> bool) -> Result<T, E> {
    let until = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(error) if may_pass(&error) && Instant::now() < until => std::thread::sleep(LOOK),
            done => return done,
        }
    }
}

/// Takes back, and waits for whoever else is changing the machine.
pub fn revert_patiently(hand: &dyn Hand, extent: Extent) -> Result<Reverted, EngineError> {
    patiently(|| revert(hand, extent, false))
}

/// Puts back, without being asked, the transaction that began with `begun`, once no other process changes the machine.
/// `None` where it is not to be put back any more.
pub fn revert_pending_patiently(hand: &dyn Hand, begun: &Begun) -> Result<Option<Reverted>, EngineError> {
    patiently(|| revert_pending(hand, begun))
}

fn patiently<T>(put_back: impl Fn() -> Result<T, EngineError>) -> Result<T, EngineError> {
    retried(put_back, |error| matches!(error, EngineError::Locked { .. }))
}
