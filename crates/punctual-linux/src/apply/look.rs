//! Inspects the machine before a step. The result is one of three: the state to keep for undoing the step, that the
//! step is not needed, or why it is impossible.
//!
//! Nothing is changed here.

use super::replace::missing_folders;
use crate::hand::{FileKind, Hand};
use punctual_tuning::plan::{Before, Expected, SchedPolicy, Step, TaskName};
use std::io;

/// The highest real-time priority that a plan may set: watchdog threads of the kernel run above it.
const HIGHEST_PRIORITY: u32 = 95;

pub enum Look {
    Already,
    Gone(String),
    Ready {
        /// The state to keep for undoing. For a file, the name of the copy is not set yet.
        before: Before,
        bytes: Option<Vec<u8>>,
    },
}

impl Look {
    fn ready(before: Before) -> Self {
        Self::Ready { before, bytes: None }
    }
}

/// Inspects the subject of a step. An error says why the step cannot be done.
pub fn look(hand: &dyn Hand, step: &Step) -> Result<Look, String> {
    match step {
        Step::Write { path, value, expected } => value_of(hand, path, value, expected),
        Step::Own { path, content, mode } => own(hand, path, content.as_bytes(), *mode),
        Step::Edit { path, seen, content, .. } => edit(hand, path, seen, content),
        Step::Remove { path } => match hand.stat(path).map_err(|e| told(path, "look at", &e))? {
            None => Ok(Look::Already),
            Some(_) => file(hand, path),
        },
        Step::Folder { path } => match hand.stat(path).map_err(|e| told(path, "look at", &e))? {
            None => Ok(Look::ready(Before::Nothing { folders_made: Vec::new() })),
            Some(meta) if meta.kind == FileKind::Folder => Ok(Look::Already),
            Some(meta) => Err(format!("{path}: it is a {}", meta.kind.name())),
        },
        Step::Affinity { task, cpus } => match hand.affinity(task) {
            Ok(now) if now.is_subset(cpus) => Ok(Look::Already),
            Ok(_) if cpus.is_empty() => Err(format!("{}: no CPU is given", thread(task))),
            Ok(now) => Ok(Look::ready(Before::Cpus(now))),
            Err(error) => gone_or(&thread(task), "ask for its CPUs", &error),
        },
        Step::Policy { task, policy } => match hand.policy(task) {
            Ok(now) if now == *policy => Ok(Look::Already),
            Ok(now) => sane(*policy).map(|()| Look::ready(Before::Policy(now))),
            Err(error) => gone_or(&thread(task), "ask for its policy", &error),
        },
        Step::Nic { device, settings } => {
            let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
            match hand.nic(device, &names) {
                Ok(now) if now == *settings => Ok(Look::Already),
                Ok(now) => Ok(Look::ready(Before::Nic(now))),
                Err(error) => gone_or(device, "ask for its settings", &error),
            }
        }
        Step::Silence { unit, lasting } => match hand.unit(unit).map_err(|e| told(unit, "ask systemd", &e))? {
            None => Ok(Look::Gone(format!("{unit}: there is no such unit"))),
            Some(state) => {
                let was_masked = if *lasting { state.masked_for_good } else { state.masked };
                let before = Before::Unit { was_active: state.active, was_masked };
                Ok(if was_masked && !state.active { Look::Already } else { Look::ready(before) })
            }
        },
        Step::Run { .. } => Ok(Look::ready(Before::Program)),
    }
}

fn value_of(hand: &dyn Hand, path: &str, value: &str, expected: &Expected) -> Result<Look, String> {
    if value.len() > 4000 || value.chars().any(|c| c.is_control() && c != '\n') {
        return Err(format!("{path}: '{}' is no value for a file of the kernel", value.escape_debug()));
    }
    let now = match read_value(hand, path, value, expected) {
        Ok(now) => now,
        Err(error) if is_gone(&error) => return Ok(Look::Gone(format!("{path} is not there"))),
        Err(error) => return Err(told(path, "read what is there", &error)),
    };
    let settled = || match &expected.settles_at {
        None => true,
        Some(other) => read_value(hand, other, value, expected).is_ok_and(|seen| expected.met(value, &seen)),
    };
    Ok(if expected.met(value, &now) && settled() { Look::Already } else { Look::ready(Before::Value(now)) })
}

/// Reads a value in the form in which undoing would write it back.
pub fn read_value(hand: &dyn Hand, path: &str, about: &str, expected: &Expected) -> io::Result<String> {
    let bytes = hand.read(path)?;
    let text = String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"))?;
    Ok(expected.reading.value(&text, about))
}

fn own(hand: &dyn Hand, path: &str, content: &[u8], mode: u32) -> Result<Look, String> {
    let Some(meta) = hand.stat(path).map_err(|e| told(path, "look at", &e))? else {
        let folders_made = missing_folders(hand, path).map_err(|e| told(path, "look at the folders above", &e))?;
        return Ok(Look::ready(Before::Nothing { folders_made }));
    };
    match file(hand, path)? {
        Look::Ready { bytes: Some(bytes), .. } if bytes == content && meta.mode == mode => Ok(Look::Already),
        ready => Ok(ready),
    }
}

fn edit(hand: &dyn Hand, path: &str, seen: &[u8], content: &[u8]) -> Result<Look, String> {
    match file(hand, path)? {
        Look::Ready { bytes: Some(bytes), .. } if bytes == content => Ok(Look::Already),
        Look::Ready { bytes: Some(bytes), .. } if bytes != seen => {
            Err(format!("{path}: it was changed since this was planned. Plan again"))
        }
        ready => Ok(ready),
    }
}

fn file(hand: &dyn Hand, path: &str) -> Result<Look, String> {
    let meta = hand.stat(path).map_err(|e| told(path, "look at", &e))?;
    let Some(meta) = meta else { return Err(format!("{path}: it is not there")) };
    if meta.kind != FileKind::Regular {
        return Err(format!("{path}: it is a {}, and only regular files are changed", meta.kind.name()));
    }
    let bytes = hand.read(path).map_err(|e| told(path, "read", &e))?;
    let sum = crc32fast::hash(&bytes);
    let before = Before::File { copy: String::new(), mode: meta.mode, uid: meta.uid, gid: meta.gid, sum };
    Ok(Look::Ready { before, bytes: Some(bytes) })
}

fn sane(policy: SchedPolicy) -> Result<(), String> {
    match policy {
        SchedPolicy::Fifo(priority) | SchedPolicy::Rr(priority) if !(1..=HIGHEST_PRIORITY).contains(&priority) => {
            Err(format!("real-time priority {priority}: only 1 to {HIGHEST_PRIORITY} are given"))
        }
        SchedPolicy::Other(nice) if !(-20..=19).contains(&nice) => {
            Err(format!("nice value {nice}: there is none such"))
        }
        _ => Ok(()),
    }
}

pub fn thread(task: &TaskName) -> String {
    format!("thread {} ({})", task.pid, task.comm)
}

fn gone_or(what: &str, operation: &str, error: &io::Error) -> Result<Look, String> {
    if is_gone(error) { Ok(Look::Gone(format!("{what} is gone"))) } else { Err(told(what, operation, error)) }
}

/// Whether an error means that the subject of a step (file, thread, device or CPU) no longer exists.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENODEV | libc::ENXIO))
}

/// The message for a refused operation: the subject, the operation, the error, and what to do about it.
pub fn told(what: &str, operation: &str, error: &io::Error) -> String {
    let remedy = match error.raw_os_error() {
        Some(libc::EPERM) => {
            ": the kernel allows it to nobody here (locked down under Secure Boot, a thread that belongs to its CPU) or \
             a capability is missing"
        }
        Some(libc::EACCES) => ": only the superuser may, or the file cannot be written at all",
        Some(libc::EIO) => ": the kernel manages this itself and lets nobody change it",
        Some(libc::EINVAL) => ": this kernel does not take that value here",
        Some(libc::EBUSY) => ": it is in use",
        Some(libc::EOPNOTSUPP) => ": the driver does not offer it",
        Some(libc::ENOSPC) => ": make room on that disk",
        Some(libc::EROFS) => ": make it writable (mount -o remount,rw), or make this part of the image",
        _ => "",
    };
    format!("{what}: {operation}: {error}{remedy}")
}
