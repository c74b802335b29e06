//! Kills real processes while they apply, revert or supervise a command. If no other process is left, guards undo the
//! changes.

use crate::bench::{Bench, Fault, Faulty, Picture, change, folder, own, plan, request, tune, write};
use punctual_linux::apply::guard::{Program, run, watch_deadline};
use punctual_linux::apply::supervise::supervise;
use punctual_linux::apply::{Extent, Request, Transaction, confirm, revert};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::{Change, Reading};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ROOT: &str = "PUNCTUAL_TEST_ROOT";
const AT: &str = "PUNCTUAL_TEST_AT";
const LONG: Duration = Duration::from_secs(300);

fn child(name: &str, root: &Path, at: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("kill::{name}"), "--exact", "--nocapture"]).env(ROOT, root).env(AT, at);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The machine and the argument of a child process of these tests; `None` in an ordinary run.
fn told() -> Option<(Bench, String)> {
    let root = PathBuf::from(std::env::var_os(ROOT)?);
    Some((Bench::at(&root), std::env::var(AT).ok()?))
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn put_back(bench: &Bench, start: &Picture, what: &str) {
    let back = revert(bench, Extent::All, false).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(back.closed && back.trouble.is_empty(), "{what}: {back:#?}");
    let now = bench.picture();
    let paths = start.keys().chain(now.keys());
    let other: BTreeSet<&String> = paths.filter(|path| start.get(*path) != now.get(*path)).collect();
    assert!(other.is_empty(), "{what}: not as at the start: {other:?}");
}

#[test]
fn child_applies() {
    if let Some((bench, at)) = told() {
        let at = at.parse().unwrap_or(usize::MAX);
        let _ = tune(&Faulty::new(&bench, at, Fault::Kill), &plan(&bench));
    }
}

#[test]
fn child_reverts() {
    if let Some((bench, at)) = told() {
        let at = at.parse().unwrap_or(usize::MAX);
        let _ = revert(&Faulty::new(&bench, at, Fault::Kill), Extent::All, false);
    }
}

#[test]
fn killed_at_any_operation_the_start_is_restored() {
    let mut killed = 0;
    for (name, prepare) in [("child_applies", false), ("child_reverts", true)] {
        for at in 0.. {
            let folder = folder();
            let bench = Bench::make(folder.path());
            let start = bench.picture();
            if prepare {
                tune(&bench, &plan(&bench)).unwrap();
            }
            let status = child(name, folder.path(), &at.to_string()).wait().unwrap();
            put_back(&bench, &start, &format!("{name} {at}"));
            if status.signal() != Some(9) {
                assert!(status.success(), "{name} {at}: {status}");
                break;
            }
            killed += 1;
        }
    }
    println!("killed {killed} times");
    assert!(killed > 100, "{killed}");
}

#[test]
fn killed_at_any_moment_the_start_is_restored() {
    let mut within = 0;
    for (name, prepare) in [("child_applies", false), ("child_reverts", true)] {
        let mut wholes = Vec::new();
        for number in 0..=40 {
            let folder = folder();
            let bench = Bench::make(folder.path());
            let start = bench.picture();
            if prepare {
                tune(&bench, &plan(&bench)).unwrap();
            }
            let before = bench.picture();
            let begun = Instant::now();
            let mut child = child(name, folder.path(), "");
            // Three runs that are not killed show how long a run takes.
            if let [_, whole, _] = wholes.as_slice() {
                std::thread::sleep(*whole * number / 40);
                let _kernel = bench.whole();
                child.kill().unwrap();
                let killed = child.wait().unwrap().signal() == Some(9);
                within += u32::from(killed && bench.picture() != before);
            } else {
                child.wait().unwrap();
                wholes.push(begun.elapsed());
                wholes.sort();
            }
            put_back(&bench, &start, &format!("{name} {number}"));
        }
    }
    println!("killed {within} times between beginning and end");
    assert!(within > 10, "{within}");
}

/// The guard in these tests: this program, with the machine's folder before the guard's own arguments.
fn guard(root: &Path) -> Program {
    let words = ["kill::child_guard", "--exact", "--nocapture"].map(Into::into).into_iter();
    Program { path: std::env::current_exe().unwrap(), words: words.chain([root.into()]).collect() }
}

#[test]
fn child_guard() {
    let words: Vec<String> = std::env::args().collect();
    if let [.., root, kind, transaction] = words.as_slice() {
        if matches!(kind.as_str(), "tied" | "deadline") {
            run(&Bench::at(Path::new(root)), &[kind.clone(), transaction.clone()]).unwrap();
        }
    }
}

const VALUE: &str = "/proc/sys/kernel/numa_balancing";

fn small() -> Vec<Change> {
    vec![change("x", vec![write(VALUE, "0", Reading::Plain), own("/etc/tmpfiles.d/punctual.conf", "x\n")])]
}

#[test]
fn child_supervises() {
    let Some((bench, seconds)) = told() else { return };
    let script = format!("cat {} > {}; exec sleep {seconds}", bench.file(VALUE).display(), seen(&bench.root).display());
    let command = ["sh", "-c", script.as_str()].map(Into::into);
    let guard = guard(&bench.root);
    let done = supervise(&bench, &guard, &request(), (&small(), Blast::Harmless), &command, &mut |_| true).unwrap();
    assert!(done.reverted.closed);
    let status = done.status.unwrap();
    std::process::exit(status.code().unwrap_or_else(|| 200 + status.signal().unwrap()));
}

/// The file into which the command writes the value that it saw. The file lies beside the machine's folder, so that it is
/// not part of the machine.
fn seen(root: &Path) -> PathBuf {
    root.join("..").join(format!("{}.seen", root.file_name().unwrap().to_str().unwrap()))
}

fn supervised(seconds: &str, signal: Option<Signal>) -> (Option<i32>, bool) {
    let folder = folder();
    let bench = Bench::make(folder.path());
    let start = bench.picture();
    let mut supervisor = child("child_supervises", folder.path(), seconds);
    let seen = seen(folder.path());
    wait_for("the command", || std::fs::read_to_string(&seen).is_ok_and(|text| text == "0\n"));
    std::fs::remove_file(&seen).unwrap();
    if let Some(signal) = signal {
        kill_process(Pid::from_child(&supervisor), signal).unwrap();
    }
    let status = supervisor.wait().unwrap();
    let at_once = bench.is_as(&start);
    wait_for("the guard", || bench.is_as(&start));
    (status.code(), at_once)
}

#[test]
fn a_command_runs_on_a_tuned_machine_and_then_everything_goes_back() {
    assert_eq!(supervised("0.1", None), (Some(0), true));
}

#[test]
fn what_stops_the_supervisor_stops_the_command_and_everything_goes_back() {
    assert_eq!(supervised("30", Some(Signal::TERM)), (Some(215), true));
    assert_eq!(supervised("30", Some(Signal::HUP)), (Some(201), true));
}

#[test]
fn when_the_supervisor_is_killed_its_guard_puts_everything_back() {
    assert_eq!(supervised("2", Some(Signal::KILL)).0, None);
}

fn tuned_until(bench: &Bench, time: Duration) {
    let request = Request { confirm_within: Some(time), ..request() };
    let transaction = Transaction::begin(bench, &request).unwrap();
    watch_deadline(&guard(&bench.root), transaction.number()).unwrap();
    assert!(transaction.apply(&small(), Blast::Harmless).unwrap().stands);
}

#[test]
fn what_is_not_confirmed_in_time_goes_back_by_itself() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    tuned_until(&bench, Duration::from_secs(10));
    assert_eq!(bench.text(VALUE), "0\n");
    wait_for("the guard", || bench.is_as(&start));
}

#[test]
fn a_journal_that_cannot_be_read_for_a_while_does_not_stop_the_guard() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    tuned_until(&bench, Duration::from_secs(10));
    let journal = bench.file(punctual_linux::journal::store::FILE);
    let others = |mode| std::fs::set_permissions(&journal, Permissions::from_mode(mode)).unwrap();
    others(0o666);
    // Waits until the deadline of the transaction has passed.
    std::thread::sleep(Duration::from_secs(12));
    assert_eq!(bench.text(VALUE), "0\n");
    others(0o600);
    wait_for("the guard", || bench.is_as(&start));
}

#[test]
fn what_is_confirmed_stays() {
    let (_folder, bench) = Bench::new();
    tuned_until(&bench, Duration::from_secs(10));
    confirm(&bench, None).unwrap();
    std::thread::sleep(Duration::from_secs(12));
    assert_eq!(bench.text(VALUE), "0\n");
    assert!(revert(&bench, Extent::All, false).unwrap().closed);
}
