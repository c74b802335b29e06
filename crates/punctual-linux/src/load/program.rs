//! Outside programs as loads. A worker process starts, watches and ends them, so that all their children end too, even
//! if the measuring process is killed.

use super::LoadError;
use super::parent::{StopRequest, say, say_end};
use crate::sys::process::tie_to_this_thread;
use punctual_facts::stat_line::StatLine;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    wait, waitid,
};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Interval of checks whether the program has ended by itself.
const LOOK: Duration = Duration::from_millis(50);
/// Time from the request to end until the program is killed.
const GRACE: Duration = Duration::from_millis(800);
/// How long killing is repeated while children remain.
const SWEEP: Duration = Duration::from_millis(800);

/// Runs a program until told to stop or until it ends by itself.
pub(super) fn supervise(name: &str, words: &[String], stop: &StopRequest) -> Result<(), LoadError> {
    let failed = |operation: String, source| LoadError::Start { name: name.to_owned(), operation, source };
    let Some((program, arguments)) = words.split_first() else {
        return Err(LoadError::Command { command: String::new(), reason: "no program is named" });
    };
    // Orphans of the program become children of this process, so that they can be found and ended.
    set_child_subreaper(Some(getpid())).map_err(|error| failed("adopt orphans".to_owned(), error.into()))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    tie_to_this_thread(&mut command);
    let child = command.spawn().map_err(|error| failed(format!("start the program '{program}'"), error))?;
    let leader = Pid::from_child(&child);
    say("ready");
    let since = Instant::now();
    let mut ended = how_it_ended(leader);
    while ended.is_none() && !stop.within(LOOK) {
        ended = how_it_ended(leader);
    }
    let time = since.elapsed();
    end(leader);
    let trouble = ended.map(|how| format!("it ended by itself after {} ms: {how}", time.as_millis()));
    say_end(None, time, trouble.as_deref());
    Ok(())
}

/// How the program ended; `None` while it runs. The program is not reaped here, so that the id of its group stays
/// reserved.
fn how_it_ended(leader: Pid) -> Option<String> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(leader), look) {
        Ok(None) | Err(rustix::io::Errno::INTR) => None,
        Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => "in an unknown way".to_owned(),
        }),
        Err(error) => Some(format!("it cannot be waited for: {error}")),
    }
}

/// Ends the program, its group and all remaining children.
fn end(leader: Pid) {
    let _ = kill_process_group(leader, Signal::TERM);
    let deadline = Instant::now() + GRACE;
    while how_it_ended(leader).is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = kill_process_group(leader, Signal::KILL);
    let deadline = Instant::now() + SWEEP;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) if Instant::now() < deadline => {
                for child in children() {
                    let _ = kill_process(child, Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(None) | Err(_) => return, // no child is left, or it hangs in the kernel
        }
    }
}

fn children() -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let number = |name: &std::ffi::OsStr| name.to_str()?.parse::<i32>().ok();
    let pids = processes.flatten().filter_map(|entry| number(&entry.file_name()));
    pids.filter(|pid| parent_of(*pid) == Some(getpid().as_raw_nonzero().get())).filter_map(Pid::from_raw).collect()
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    StatLine::parse(&stat)?.number(4)
}
