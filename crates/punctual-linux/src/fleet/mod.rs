//! Runs a command of this program on many hosts over the user's OpenSSH client, and fetches what it wrote.
//!
//! ```text
//! hosts -> folder (earlier results) -> client: ask, run -> fetched: unpack -> folder: finish -> HostResult
//! ```
//! Hosts need a POSIX shell and tar, and nothing of ours stays on them. A host that fails does not keep others from their
//! turn. What hosts send is not trusted.

mod client;
mod far;
mod fetched;
mod folder;
mod hosts;
mod program;
mod session;

use punctual_hist::Nanos;
use serde::{Deserialize, Deserializer, Serialize};
use session::Session;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use thiserror::Error;

pub use folder::{Folder, FolderError, MESSAGES as MESSAGES_FILE};
pub use hosts::{Host, HostError, HostsError, hosts};
pub use program::{Program, ProgramError};

/// What the command printed on a host.
pub const OUTPUT_FILE: &str = "output.txt";
/// What is to be run, and how.
#[derive(Clone, Debug)]
pub struct Order {
    /// The words after `punctual`.
    pub words: Vec<String>,
    /// Name or path of `punctual` on the hosts.
    pub program: String,
    /// Programs of this machine to be run in its place, one for each architecture.
    pub bring: Vec<Program>,
    pub sudo: bool,
    /// Configuration of the client in place of the user's.
    pub config: Option<PathBuf>,
    /// Longest time for making a connection.
    pub connect: Nanos,
    /// Longest time for the command on one host.
    pub limit: Option<Nanos>,
    pub at_once: usize,
    /// No further host is started once this many have failed.
    pub most_failures: Option<usize>,
}

/// What became of the command on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It ended, and its files are here.
    Ended {
        /// The exit code of the command.
        code: u8,
    },
    /// No connection was made, or the host refused it.
    Unreachable {
        /// The last message of ssh.
        why: String,
    },
    /// The program could not be started there.
    NoProgram {
        /// The last message of the host.
        why: String,
    },
    /// None of the programs brought along is for this machine.
    OtherMachine,
    /// It took longer than it may.
    TooLong,
    /// The connection was lost, or what came back is not whole.
    Lost {
        /// The last message of ssh, or what is wrong with the result.
        why: String,
    },
    /// This program was interrupted meanwhile.
    Interrupted,
    /// It was not tried, because this program was interrupted, or too many hosts had failed.
    NotStarted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostResult {
    /// The host, as it is listed.
    pub host: Host,
    /// The machine's name as the host's kernel has it, such as `aarch64`.
    pub machine: Option<String>,
    /// The version that the host's program told.
    pub version: Option<String>,
    /// What became of the command.
    pub outcome: Outcome,
    /// From the first connection to the last byte that came back, in nanoseconds.
    #[serde(rename = "took_ns", deserialize_with = "nanos")]
    pub took: Nanos,
    /// Files that came back, by their paths in the host's folder.
    pub files: Vec<PathBuf>,
}

fn nanos<'a, D: Deserializer<'a>>(from: D) -> Result<Nanos, D::Error> {
    u64::deserialize(from).map(Nanos::from_ns)
}

impl HostResult {
    fn not_started(host: &Host) -> Self {
        let (machine, version, files) = (None, None, Vec::new());
        Self { host: host.clone(), machine, version, outcome: Outcome::NotStarted, took: Nanos::ZERO, files }
    }

    /// Whether the command ran there to its end and did what it should, whatever it found.
    pub fn is_success(&self) -> bool {
        matches!(self.outcome, Outcome::Ended { code } if code != 1)
    }
}

#[derive(Debug, Error)]
pub enum FleetError {
    #[error("there is no OpenSSH client `ssh` on this machine; on Debian: sudo apt install openssh-client")]
    NoClient,
    #[error("make a folder for the sockets of ssh in /tmp: {0}")]
    Sockets(io::Error),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("{host}: {reason}")]
    Host { host: Host, reason: io::Error },
}

/// What a run tells while it goes on.
pub enum Event<'a> {
    Started(&'a Host),
    Ended(&'a HostResult),
}

/// What a worker tells the thread that collects the results.
enum News<'a> {
    Started(&'a Host),
    Ended(usize, Result<HostResult, FleetError>),
}

/// Runs the command on all hosts that have no result in the folder yet. Returns a result for each host, in their order.
pub fn run(
    order: &Order,
    hosts: &[Host],
    folder: &Folder,
    interrupted: &AtomicBool,
    mut tell: impl FnMut(Event<'_>),
) -> Result<Vec<HostResult>, FleetError> {
    if !client::is_installed() {
        return Err(FleetError::NoClient);
    }
    let session = Session::new(order, folder, interrupted).map_err(FleetError::Sockets)?;
    let mut results: Vec<Option<HostResult>> = hosts.iter().map(|host| folder.earlier(host)).collect();
    let open: Vec<(usize, &Host)> =
        hosts.iter().enumerate().zip(&results).filter(|(_, result)| result.is_none()).map(|(host, _)| host).collect();
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut failure = None;
    std::thread::scope(|scope| {
        let (news, collected) = mpsc::channel();
        for _ in 0..order.at_once.clamp(1, open.len().max(1)) {
            let (news, session, open, next, is_over) = (news.clone(), &session, &open, &next, &is_over);
            scope.spawn(move || work(session, open, next, is_over, &news));
        }
        drop(news);
        let mut failures = 0;
        for news in collected {
            match news {
                News::Started(host) => tell(Event::Started(host)),
                News::Ended(_, Err(error)) => failure = failure.take().or(Some(error)),
                News::Ended(at, Ok(result)) => {
                    tell(Event::Ended(&result));
                    failures += usize::from(!result.is_success());
                    results.splice(at..=at, [Some(result)]);
                }
            }
            let too_many = order.most_failures.is_some_and(|most| failures >= most);
            is_over.store(too_many || failure.is_some() || interrupted.load(Relaxed), Relaxed);
        }
    });
    let whole = |(host, result): (&Host, Option<HostResult>)| result.unwrap_or_else(|| HostResult::not_started(host));
    failure.map_or_else(|| Ok(hosts.iter().zip(results).map(whole).collect()), Err)
}

/// Takes one host after the other until none is left or the run is over.
fn work<'a>(
    session: &Session<'_>,
    open: &[(usize, &'a Host)],
    next: &AtomicUsize,
    is_over: &AtomicBool,
    news: &mpsc::Sender<News<'a>>,
) {
    while !is_over.load(Relaxed) && !session.interrupted.load(Relaxed) {
        let Some((at, host)) = open.get(next.fetch_add(1, Relaxed)).copied() else { return };
        // Nobody receives if the collecting thread has panicked; then this thread may end too.
        if news.send(News::Started(host)).is_err() || news.send(News::Ended(at, session.host((at, host)))).is_err() {
            return;
        }
    }
}
