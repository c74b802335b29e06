//! The OpenSSH client of the user, with the user's configuration, keys and known hosts.
//!
//! Nothing is asked: a host that needs a password or has an unknown key is a host without an answer. One connection
//! serves all commands of a host.

use super::hosts::Host;
use punctual_hist::Nanos;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How often a running client is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a client that is told to end may take before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// Options of every connection. Nothing is forwarded, because hosts need not trust one another. A host that is silent for
/// 20 s counts as gone.
const OPTIONS: [&str; 11] = [
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ControlMaster=auto",
    "ControlPersist=10",
    "EscapeChar=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "ServerAliveCountMax=4",
    "ServerAliveInterval=5",
];

pub struct Client {
    config: Option<PathBuf>,
    /// Time for making a connection, in whole seconds.
    connect_secs: u64,
    /// The folder of the connections' sockets. Its path is short, because that of a socket may have 107 bytes.
    sockets: TempDir,
}

/// A host with its number in the list.
pub type Listed<'a> = (usize, &'a Host);

/// What a command gets and where its output goes.
pub struct Ends<'a> {
    /// A file that the command reads first. Its standard input then stays open until the command ends.
    pub input: Option<&'a Path>,
    pub output: &'a Path,
    pub messages: &'a Path,
}

/// When a command is ended before it ends by itself.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    pub limit: Option<Nanos>,
    /// Largest size of the output, in bytes.
    pub most_bytes: u64,
    pub interrupted: &'a AtomicBool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(ExitStatus),
    TooLong,
    TooLarge,
    Interrupted,
}

impl Client {
    pub fn new(config: Option<&Path>, connect: Nanos) -> io::Result<Self> {
        // A relative path of a configuration would be looked for in ~/.ssh.
        let config = config.map(std::path::absolute).transpose()?;
        let private = Permissions::from_mode(0o700);
        let sockets = tempfile::Builder::new().prefix("punctual-ssh.").permissions(private).tempdir_in("/tmp")?;
        Ok(Self { config, connect_secs: connect.whole(Nanos::from_secs(1)).max(1), sockets })
    }

    /// The client for one of the listed hosts. Each has a connection of its own, even if two names lead to one machine.
    fn command(&self, (number, host): Listed<'_>, options: &[&str]) -> Command {
        let mut ssh = Command::new("ssh");
        if let Some(config) = &self.config {
            ssh.arg("-F").arg(config);
        }
        ssh.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        ssh.args(["-o", &format!("ConnectTimeout={}", self.connect_secs)]);
        ssh.args(["-o", &format!("ControlPath={}/{number}", self.sockets.path().display())]);
        ssh.args(options).args(["--", host.as_str()]);
        ssh
    }

    /// Runs a command for a shell of the host and waits until it ends.
    pub fn run(&self, host: Listed<'_>, far: &str, ends: &Ends<'_>, until: Until<'_>) -> io::Result<Ending> {
        let mut ssh = self.command(host, &["-T"]);
        let input = ends.input.map(File::open).transpose()?;
        ssh.arg(far).stdin(Stdio::piped()).stdout(File::create(ends.output)?);
        // Messages of the commands of one host stand in one file.
        ssh.stderr(File::options().create(true).append(true).open(ends.messages)?);
        // Ctrl-C of a terminal reaches this program alone, which then ends its clients in order.
        let mut child = ssh.process_group(0).spawn()?;
        let stdin = child.stdin.take();
        std::thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            scope.spawn(move || {
                let mut stdin = stdin;
                if let (Some(mut file), Some(stdin)) = (input, stdin.as_mut()) {
                    // The host's end of the pipe is closed if the command has ended; it then tells why itself.
                    let _ = io::copy(&mut file, stdin);
                }
                // Waits for the other end to be dropped.
                let _ = is_done.recv();
            });
            let ending = wait(&mut child, ends.output, until);
            drop(done);
            ending
        })
    }

    /// Ends the connection that a host's commands shared. It would end by itself a few seconds later.
    pub fn close(&self, host: Listed<'_>) {
        let mut ssh = self.command(host, &["-O", "exit"]);
        let _ = ssh.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn wait(child: &mut Child, output: &Path, until: Until<'_>) -> io::Result<Ending> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ending::Exited(status));
        }
        let ending = if until.interrupted.load(Relaxed) {
            Ending::Interrupted
        } else if until.limit.is_some_and(|limit| start.elapsed() > limit.into()) {
            Ending::TooLong
        } else if fs::metadata(output).is_ok_and(|found| found.len() > until.most_bytes) {
            Ending::TooLarge
        } else {
            std::thread::sleep(LOOK);
            continue;
        };
        end(child)?;
        return Ok(ending);
    }
}

/// Closes what the command reads, which tells the host to end it, then ends the client.
fn end(child: &mut Child) -> io::Result<()> {
    let pid = rustix::process::Pid::from_child(child);
    // The client may have ended meanwhile.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait().map(drop)
}

/// Whether there is an OpenSSH client.
pub fn is_installed() -> bool {
    let tried = Command::new("ssh").arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    !tried.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}
