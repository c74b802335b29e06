//! Reasons why the kernel's trace could not be used. They never end a measurement: another engine is used, and the
//! reason reported.

use rustix::io::Errno;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum TraceError {
    #[error("no tracefs: {0}")]
    NoTracefs(String),
    /// The kernel's trace contains other thread ids than this process sees, because the process has a PID namespace of
    /// its own.
    #[error(
        "this process has a PID namespace of its own, and the kernel's trace has the numbers that threads have in the \
         machine: run it in the machine's own namespace (docker run --pid=host)"
    )]
    Namespace,
    #[error("read when this process was started: {0}; mount /proc")]
    NoStart(std::io::Error),
    #[error("its self-test saw nothing: {0} timers on each CPU left neither expiries nor wakings nor switches in it")]
    SawNothing(u32),
    #[error("{operation} {path}: {errno}{}", remedy(*.errno))]
    File { operation: &'static str, path: String, errno: Errno },
    /// A setting was accepted, but reading it back gives another value.
    #[error("{file}: asked for {asked}, got {got}")]
    Otherwise { file: &'static str, asked: String, got: String },
    #[error("{0}")]
    NotUnderstood(String),
    #[error("no BPF program in the kernel: {0}")]
    NoBpf(String),
    #[error("this build of punctual does not contain it")]
    LeftOut,
    #[error("start a thread for the trace: {0}; look at RLIMIT_NPROC and at pids.max of the control group")]
    NoThread(std::io::Error),
}

/// What may help against this refusal, with a semicolon before it; empty if nothing is known.
fn remedy(errno: Errno) -> String {
    let remedy = match errno {
        Errno::PERM => "the kernel may be locked down (lockdown=confidentiality), or root's rights are missing",
        Errno::ACCESS => "run as root",
        Errno::MFILE => "raise the limit on open files (ulimit -n)",
        Errno::NOMEM => "ask for a smaller trace buffer",
        _ => return String::new(),
    };
    format!("; {remedy}")
}
