//! The guard: a small process that removes our tracing instances if this process is killed. They would record for ever
//! otherwise, until the next punctual starts.
//!
//! Everything else that we attach to the kernel or to a program is a file of this process (events of perf, BPF programs,
//! probes), which the kernel closes with the process. The guard waits on a pipe whose other end this process holds, and
//! needs no CPU until then. A guard that is killed as well leaves its work to the next start, which calls
//! [`super::sweep`].

use crate::apply::guard::{hold_out, left_alone};
use crate::apply::{is_alive, this_process};
use crate::journal::Owner;
use crate::sys::process::close_inherited;
use rustix::process::setsid;
use rustix::thread::set_name;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

const THIS_PROGRAM: &str = "/proc/self/exe";
/// Name of the process. It does not contain the name of the program, so that `pkill -9 punctual` leaves the guard alone.
const NAME: &std::ffi::CStr = c"trace-guard";
/// How long the guard waits for the process to be gone after its pipe was closed, and for instances that others read.
const PATIENCE: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(20);

/// The argument that makes this program a guard.
static WORD: OnceLock<&str> = OnceLock::new();
/// The pipe to the guard, which is closed when this process ends. A process has one guard for all its instances.
static PIPE: OnceLock<Option<ChildStdin>> = OnceLock::new();

/// From now on instances of this process are guarded. This program has to begin with a call of
/// [`run_if_asked`] with the same word.
pub fn guarded_by(word: &'static str) {
    let _ = WORD.set(word);
}

/// Starts the guard of this process, if it has none yet. Without a guard the trace is as good, so that a failure does not
/// matter.
pub(super) fn start() {
    PIPE.get_or_init(|| WORD.get().and_then(|word| spawn(word).ok().flatten()));
}

fn spawn(word: &str) -> io::Result<Option<ChildStdin>> {
    let Owner { pid, started } = this_process()?;
    let mut command = Command::new(THIS_PROGRAM);
    // Who lists processes is to see whose guard it is.
    command.arg0("punctual").args([word, &pid.to_string(), &started.to_string()]).current_dir("/").env_clear();
    let guard = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    // The guard ends after this process, and init reaps it.
    Ok(guard.stdin)
}

/// Does the work of a guard, if the arguments of this process begin with the word. Returns whether they do. `remove_all`
/// removes what a process left, and says whether nothing of it is there any more.
pub fn run_if_asked(word: &str, remove_all: impl Fn(Owner) -> bool) -> bool {
    let mut words = std::env::args_os().skip(1);
    let is_asked = words.next().is_some_and(|first| first == word);
    let mut number = || words.next()?.to_str()?.parse().ok();
    if let Some((pid, started)) = is_asked.then(|| number().zip(number())).flatten() {
        run(Owner { pid: u32::try_from(pid).unwrap_or_default(), started }, remove_all);
    }
    is_asked
}

/// The pipe of the guarded process is the standard input.
fn run(owner: Owner, remove_all: impl Fn(Owner) -> bool) {
    close_inherited();
    // Fails if the guard already leads a session, which is just as good.
    let _ = setsid();
    let _ = set_name(NAME);
    hold_out();
    left_alone(&mut io::stdin().lock());
    let until = Instant::now() + PATIENCE;
    while (is_alive(owner) || !remove_all(owner)) && Instant::now() < until {
        sleep(LOOK);
    }
}
