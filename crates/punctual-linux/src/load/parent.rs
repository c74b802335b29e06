//! The communication between a worker process and its parent.
//!
//! The worker ends when its parent closes the pipe or ends, when a signal comes, or when its time is up. It writes
//! `ready` to its parent when all threads work. At the end it writes `ops N ns T` (`ops - ns T` if operations are not
//! counted), and `error TEXT` if something went wrong.

use punctual_hist::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Upper limit of the run time of a worker process.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

pub(super) struct StopRequest {
    signals: UnixStream,
    deadline: Instant,
}

impl StopRequest {
    pub(super) fn listen(limit: Nanos) -> io::Result<Self> {
        let (signals, write) = UnixStream::pair()?;
        for signal in [SIGTERM, SIGINT] {
            signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Self { signals, deadline: Instant::now() + Duration::from_nanos(limit.as_ns()).min(LONGEST) })
    }

    /// Waits at most for this time. Returns whether the process must end.
    pub(super) fn within(&self, wait: Duration) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(wait.min(left)) else { return true };
        let stdin = io::stdin();
        let mut ends = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        if poll(&mut ends, Some(&timeout)).is_err() {
            return false; // interrupted; the signal that did it is heard on the next call
        }
        let closed = !ends[0].revents().is_empty() && at_end(&stdin);
        closed || !ends[1].revents().is_empty() || Instant::now() >= self.deadline
    }
}

/// Whether the parent closed its end of the pipe. The parent never writes, so bytes are dropped.
fn at_end(stdin: &io::Stdin) -> bool {
    let mut dropped = [0_u8; 512];
    match rustix::io::read(stdin, &mut dropped) {
        Ok(bytes) => bytes == 0,
        Err(error) => !matches!(error, rustix::io::Errno::INTR | rustix::io::Errno::AGAIN),
    }
}

pub(super) fn say_end(operations: Option<u64>, time: Duration, trouble: Option<&str>) {
    let operations = operations.map_or_else(|| "-".to_owned(), |n| n.to_string());
    if let Some(trouble) = trouble {
        say(&format!("error {trouble}"));
    }
    say(&format!("ops {operations} ns {}", time.as_nanos()));
}

/// Writes a line for the parent. Errors are ignored: the parent may have ended.
pub(super) fn say(line: &str) {
    let line = format!("{}\n", line.replace(['\n', '\r'], " "));
    let _ = io::stdout().lock().write_all(line.as_bytes());
    let _ = io::stdout().lock().flush();
}
