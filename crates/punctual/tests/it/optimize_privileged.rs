//! Campaigns on the machine that runs the tests. These tests need root and are ignored by default. They change harmless
//! values for a second at a time, and put them back.

use crate::run::{Run, Said, machine, until};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};

/// Two harmless settings: how often the kernel folds its memory statistics, in seconds, and how readily it compacts
/// memory.
const VALUES: [&str; 2] = ["/proc/sys/vm/stat_interval", "/proc/sys/vm/compaction_proactiveness"];
const KNOBS: &str = "mem.stat_interval,mem.compact";
pub const JOURNAL: &str = "/var/lib/punctual";

pub fn last_cpu() -> u32 {
    u32::try_from(std::thread::available_parallelism().map_or(0, |n| n.get() - 1)).unwrap()
}

/// Locks this machine for one test and makes sure that it is not tuned.
pub fn untuned() -> File {
    let machine = machine();
    assert!(!Path::new(JOURNAL).exists(), "this machine is tuned; `punctual revert` first");
    machine
}

pub fn values() -> Vec<String> {
    VALUES.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Whether no process changes this machine: the lock of the journal is free, or there is none. A folder without a lock is
/// what remains of a command that was killed while it made or removed the journal.
fn nobody_changes_it() -> bool {
    match File::open(Path::new(JOURNAL).join("lock")) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockShared).is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// A campaign of short runs, on the last CPU.
fn begun(run: &Run) -> Child {
    let cpu = last_cpu().to_string();
    let words =
        ["optimize", "--cpus", &cpu, "--knobs", KNOBS, "--time", "90s", "--period", "200us", "--run", "400ms", "--yes"];
    let mut command = run.command(&[words.as_slice(), &["--seed", "1", "--out", "campaign"]].concat());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn runs(run: &Run) -> usize {
    let text = fs::read_to_string(run.path("campaign/campaign.json")).unwrap_or_default();
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    document["runs"].as_array().map_or(0, Vec::len)
}

#[test]
#[ignore = "needs root, and changes values of this machine for a moment"]
fn killed_at_any_moment_a_campaign_is_put_back_and_goes_on() {
    let _machine = untuned();
    let (run, before) = (Run::new(), values());
    let mut child = begun(&run);
    for kill in 0..4 {
        until("it measures a knob", || runs(&run) > 3 * kill && Path::new(JOURNAL).exists());
        child.kill().unwrap();
        child.wait().unwrap();
        // The guard restores the values by itself. If the campaign was killed before the guard existed, nothing had
        // been changed; the next command removes the rest of the journal.
        until("the guard puts it back", || values() == before && nobody_changes_it());
        let measured = runs(&run);
        let words = ["optimize", "--resume", "campaign", "--json"];
        let mut command = run.command(&words);
        child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        until("it goes on", || runs(&run) > measured);
    }
    let said = Said::of(child.wait_with_output().unwrap());
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!(document["finished"], true, "{said:?}");
    assert_eq!((document["seed"].as_u64(), document["runs"].as_u64()), (Some(1), Some(runs(&run) as u64)));
    assert!(document["rounds"].as_u64().unwrap() >= 6, "{said:?}");
    assert_eq!(values(), before);
    assert!(!Path::new(JOURNAL).exists(), "no trace of us");
}

/// A campaign that is interrupted puts everything back, says so and can be resumed.
#[test]
#[ignore = "needs root, and changes values of this machine for a moment"]
fn ended_in_order_a_campaign_is_put_back_and_can_go_on() {
    let _machine = untuned();
    let (run, before) = (Run::new(), values());
    let child = begun(&run);
    until("it measures a knob", || runs(&run) > 2 && Path::new(JOURNAL).exists());
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 3, "{said:?}");
    assert_eq!(values(), before);
    assert!(!Path::new(JOURNAL).exists(), "no trace of us");
    let measured = runs(&run);
    let words = ["optimize", "--resume", "campaign", "--json"];
    let document: Value = serde_json::from_str(&run.punctual(&words).out).unwrap();
    assert_eq!(document["finished"], true, "{document}");
    assert!(runs(&run) > measured);
}

/// While a campaign measures, commands that would disturb it are refused, with a remedy that works.
#[test]
#[ignore = "needs root, and changes values of this machine for a moment"]
fn beside_a_campaign_nothing_else_is_measured() {
    let _machine = untuned();
    let (run, other, before) = (Run::new(), Run::new(), values());
    let mut child = begun(&run);
    until("it measures", || runs(&run) > 1);
    let measure = ["measure", "--cpus", "0", "--policy", "other", "--duration", "100ms", "--out", "r.punctual", "-q"];
    let check = ["check", "--cpus", "0", "--duration", "1s", "--budget", "500us"];
    let optimize = ["optimize", "--cpus", "0", "--knobs", KNOBS, "--yes"];
    for words in [measure.as_slice(), &check, &optimize] {
        other.punctual(words).refused(&[
            "a campaign of punctual optimize, campaign or compare measures",
            "kill -INT",
            "--resume",
        ]);
    }
    assert_eq!(fs::read_dir(other.dir.path()).unwrap().count(), 0, "nothing was begun");
    assert!(child.try_wait().unwrap().is_none(), "the campaign went on meanwhile");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    let said = other.punctual(&measure);
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    assert_eq!(values(), before);
}
