//! Runs programs, and controls systemd units with `systemctl`. No shell is involved: a program is searched in the
//! system's folders, and gets its arguments unchanged and a fixed environment. It is killed if it takes too long.

use crate::hand::{Ran, UnitState, UnitVerb};
use punctual_tuning::plan::Invocation;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// Longest run time of a program: boot loader tools inspect every disk, and packing an initial RAM disk takes minutes.
const PATIENCE: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(20);
/// Number of bytes kept of a program's output, from the end.
const KEPT: u64 = 2000;

fn wrong(what: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("'{}': {why}", what.escape_debug()))
}

/// Finds a program in the system's folders, to which only the superuser can write.
fn find(name: &str) -> io::Result<PathBuf> {
    let sound = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-');
    if name.is_empty() || name.starts_with(['-', '.']) || !name.bytes().all(sound) {
        return Err(wrong(name, "not the name of a program"));
    }
    let usable = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0 && meta.mode() & 0o022 == 0 && meta.uid() == 0)
    };
    let found = FOLDERS.iter().map(|folder| PathBuf::from(folder).join(name)).find(usable);
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("there is no program '{name}' in {PATH}")))
}

/// Runs a program. It and its children keep `kept_open` open as their standard input.
pub fn run(invocation: &Invocation, kept_open: Option<File>) -> io::Result<Ran> {
    run_within(invocation, kept_open, PATIENCE)
}

fn run_within(invocation: &Invocation, kept_open: Option<File>, patience: Duration) -> io::Result<Ran> {
    let said = File::from(memfd_create("said", MemfdFlags::CLOEXEC)?);
    let mut command = Command::new(find(&invocation.program)?);
    command.args(&invocation.arguments).env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8").current_dir("/");
    command.stdin(kept_open.map_or_else(Stdio::null, Stdio::from)).stdout(said.try_clone()?).stderr(said.try_clone()?);
    // The program runs in a process group of its own, so that Ctrl-C does not interrupt it while it writes a boot
    // loader.
    command.process_group(0);
    let status = wait(command.spawn()?, patience)?;
    Ok(Ran {
        well: status.is_some_and(|status| status.success()),
        code: status.and_then(|status| status.code()),
        how: status.map_or_else(|| format!("it was ended after {} s", patience.as_secs()), |status| status.to_string()),
        said: end_of(said)?,
    })
}

/// Waits for the end of a program; `None` if it took too long and was killed.
fn wait(mut child: Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            // Fails if the program has just ended. Its process id is still valid, because it has not been waited for.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

fn end_of(mut said: File) -> io::Result<String> {
    let length = said.seek(SeekFrom::End(0))?;
    said.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
    let mut bytes = Vec::new();
    said.take(KEPT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn systemctl(arguments: &[&str], unit: &str) -> io::Result<Ran> {
    let sound = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b':' | b'_' | b'.' | b'\\' | b'@' | b'-');
    if unit.is_empty() || unit.starts_with('-') || !unit.bytes().all(sound) {
        return Err(wrong(unit, "not the name of a unit"));
    }
    let arguments = arguments.iter().copied().chain([unit]).map(str::to_owned).collect();
    run(&Invocation::from_words("systemctl".to_owned(), arguments), None)
}

pub fn unit(unit: &str) -> io::Result<Option<UnitState>> {
    let ran = systemctl(&["show", "--property=LoadState,ActiveState,UnitFileState", "--"], unit)?;
    if !ran.well {
        return Err(io::Error::other(format!("systemctl: {}: {}", ran.how, ran.said)));
    }
    Ok(unit_state(&ran.said))
}

fn unit_state(said: &str) -> Option<UnitState> {
    let property = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let file = property("UnitFileState").unwrap_or_default();
    let load = property("LoadState").unwrap_or_default();
    if matches!(load, "not-found" | "") {
        return None;
    }
    let active = matches!(property("ActiveState"), Some("active" | "activating" | "reloading" | "refreshing"));
    let masked = load == "masked" || file.starts_with("masked");
    Some(UnitState { active, masked, masked_for_good: masked && file != "masked-runtime" })
}

pub fn do_unit(unit: &str, verb: UnitVerb) -> io::Result<Ran> {
    systemctl(arguments(verb, verb == UnitVerb::Start && is_starting()), unit)
}

/// Whether the machine is still booting. Services that start later wait for ours, so waiting for them would never end.
fn is_starting() -> bool {
    let state = Invocation::new("systemctl", ["is-system-running"]);
    // The exit code is of no use, because `is-system-running` fails in other states as well.
    run(&state, None).is_ok_and(|ran| matches!(ran.said.as_str(), "initializing" | "starting"))
}

/// Arguments for `systemctl`. Only starting a unit must not wait while the machine is starting: systemd stops units
/// before it starts others, so stopping never waits for us.
fn arguments(verb: UnitVerb, is_starting: bool) -> &'static [&'static str] {
    match verb {
        UnitVerb::Stop => &["stop", "--"],
        UnitVerb::Start if is_starting => &["start", "--no-block", "--"],
        UnitVerb::Start => &["start", "--"],
        UnitVerb::Mask { lasting: true } => &["mask", "--"],
        UnitVerb::Mask { lasting: false } => &["mask", "--runtime", "--"],
        UnitVerb::Unmask { lasting: true } => &["unmask", "--"],
        UnitVerb::Unmask { lasting: false } => &["unmask", "--runtime", "--"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_their_arguments_as_they_are() {
        let ran = run(&Invocation::new("printf", ["%s|", "a b", "$(id)", "`x`"]), None).unwrap();
        assert_eq!((ran.well, ran.said.as_str()), (true, "a b|$(id)|`x`|"));
        let ran = run(&Invocation::new("env", []), None).unwrap();
        assert!(ran.said.lines().all(|line| line.starts_with("PATH=") || line.starts_with("LC_ALL=")), "{}", ran.said);
        assert!(!run(&Invocation::new("false", []), None).unwrap().well);
        for name in ["", "/bin/sh", "../bin/sh", "-x", "a b", "no-such-program-here"] {
            assert!(run(&Invocation::new(name, []), None).is_err(), "{name}");
        }
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let ran = run_within(&Invocation::new("sleep", ["60"]), None, Duration::from_millis(50)).unwrap();
        assert!(!ran.well && ran.how.contains("ended after"), "{ran:?}");
    }

    #[test]
    fn nobody_waits_for_a_service_that_waits_for_ours() {
        let starts = |is_starting| arguments(UnitVerb::Start, is_starting).contains(&"--no-block");
        assert!(starts(true) && !starts(false));
        assert!(!arguments(UnitVerb::Stop, true).contains(&"--no-block"));
    }

    #[test]
    fn units_are_told_by_what_systemd_says() {
        let state = |active, masked, masked_for_good| Some(UnitState { active, masked, masked_for_good });
        let said = |load: &str, active: &str, file: &str| {
            unit_state(&format!("LoadState={load}\nActiveState={active}\nUnitFileState={file}"))
        };
        assert_eq!(said("loaded", "active", "enabled"), state(true, false, false));
        assert_eq!(said("loaded", "inactive", "disabled"), state(false, false, false));
        assert_eq!(said("masked", "inactive", "masked"), state(false, true, true));
        assert_eq!(said("masked", "active", "masked-runtime"), state(true, true, false));
        assert_eq!(said("not-found", "inactive", ""), None);
        assert_eq!(unit_state(""), None);
        for unit in ["", "-x.service", "a b.service", "x;y.service"] {
            assert!(systemctl(&["show"], unit).is_err(), "{unit}");
        }
    }

    #[test]
    fn who_outlives_us_keeps_the_lock() {
        use rustix::fs::{FlockOperation, flock};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let ours = File::create(&path).unwrap();
        flock(&ours, FlockOperation::NonBlockingLockExclusive).unwrap();
        let kept = ours.try_clone().unwrap();
        let program = std::thread::spawn(move || run(&Invocation::new("sleep", ["5"]), Some(kept)).unwrap().well);
        // Dropping the file closes it without unlocking, as when the process is killed.
        drop(ours);
        let theirs = File::open(&path).unwrap();
        assert!(flock(&theirs, FlockOperation::NonBlockingLockExclusive).is_err());
        assert!(program.join().unwrap());
        flock(&theirs, FlockOperation::LockExclusive).unwrap();
    }
}
