//! Which process is meant.

use super::InspectError;
use super::process;
use std::ffi::OsString;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Process(u32),
    Named(String),
    /// A program to start, with its arguments.
    Command(Vec<OsString>),
}

/// Threads of one number, or of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadFilter {
    Id(u32),
    Name(String),
}

impl ThreadFilter {
    pub fn has(&self, tid: u32, name: &str) -> bool {
        match self {
            Self::Id(wanted) => *wanted == tid,
            Self::Name(wanted) => wanted == name,
        }
    }
}

impl std::fmt::Display for ThreadFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// The number of the process; `None` if it has to be started first.
pub fn find(target: &Target, thread: Option<&ThreadFilter>) -> Result<Option<u32>, InspectError> {
    let pid = match target {
        Target::Command(_) => return Ok(None),
        Target::Process(id) => process::process_of(*id).filter(|_| process::is_running(*id)),
        Target::Named(name) => Some(one_named(name)?),
    };
    let pid = match (pid, target) {
        (Some(pid), _) => pid,
        (None, Target::Process(id)) => return Err(InspectError::NoProcess(*id)),
        (None, _) => return Ok(None),
    };
    if process::is_kernel_thread(pid) {
        return Err(InspectError::Kernel(pid));
    }
    let is_wanted = |filter: &ThreadFilter| {
        let name = |tid: &u32| process::name(*tid).is_some_and(|name| filter.has(*tid, &name));
        process::thread_ids(pid).iter().any(name)
    };
    match thread.filter(|filter| !is_wanted(filter)) {
        Some(missing) => Err(InspectError::NoThread { pid, wanted: missing.to_string() }),
        None => Ok(Some(pid)),
    }
}

fn one_named(name: &str) -> Result<u32, InspectError> {
    let mut pids = process::processes_named(name);
    pids.sort_unstable();
    match pids.as_slice() {
        [] => Err(InspectError::NoName(name.to_owned())),
        [pid] => Ok(*pid),
        _ => Err(InspectError::Several { name: name.to_owned(), pids }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_said_not_to() {
        let find = |target: Target, thread: Option<ThreadFilter>| find(&target, thread.as_ref());
        assert!(matches!(find(Target::Process(4_194_304), None), Err(InspectError::NoProcess(4_194_304))));
        let name = "no program has this name";
        assert!(matches!(find(Target::Named(name.to_owned()), None), Err(InspectError::NoName(_))));
        let here = std::process::id();
        assert_eq!(find(Target::Process(here), None).unwrap(), Some(here));
        assert_eq!(find(Target::Process(here), Some(ThreadFilter::Id(here))).unwrap(), Some(here));
        let other = Some(ThreadFilter::Name("no thread has it".to_owned()));
        assert!(matches!(find(Target::Process(here), other), Err(InspectError::NoThread { .. })));
        assert_eq!(find(Target::Command(vec!["true".into()]), None).unwrap(), None);
    }
}
