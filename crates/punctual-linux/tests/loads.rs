//! Loads as a measurement uses them: they start, work, end, and leave nothing behind.
//!
//! The worker process is this test program, started again with `worker_entry` as its only test.

#![allow(clippy::unwrap_used, reason = "the functions shared by tests fail as tests do")]

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_hist::Nanos;
use punctual_linux::load::{ALL, Launcher, LoadError, LoadOutcome, RunningLoad, stop_all, worker_main};
use punctual_linux::torture::{self, End, Findings, Order, Test, Verdict};
use rustix::process::{Pid, Signal, kill_process, test_kill_process, test_kill_process_group};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const LIMIT: Nanos = Nanos::from_secs(20);
/// How long a load may take to end. A load that ignores the request is killed after two seconds, and a busy machine
/// takes longer.
const SOON: Duration = Duration::from_secs(10);

/// The worker process. The test runner has already written to standard output, which the parent must ignore.
#[test]
#[ignore = "the worker process of the other tests"]
fn worker_entry() {
    let word = |name| std::env::var(name).unwrap();
    if let Ok(bytes) = std::env::var("LOAD_FILE_BYTES") {
        let most = Some(bytes.parse().unwrap());
        let limit = rustix::process::Rlimit { current: most, maximum: most };
        rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
    }
    println!();
    let on = CpuSet::parse_list(&word("LOAD_ON")).unwrap();
    let limit = Nanos::from_secs(word("LOAD_SECONDS").parse().unwrap());
    let _ = worker_main(&word("LOAD_NAME"), &on, Path::new(&word("LOAD_DIR")), limit);
}

/// Arguments of this program that run one ignored test only.
const ONLY: &str = "--ignored --nocapture --test-threads=2 --exact";

/// Starts workers through a shell that sets the environment and then becomes this program.
fn launcher_with(environment: &str) -> Launcher {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "LOAD_NAME=\"$1\" LOAD_ON=\"$3\" LOAD_DIR=\"$5\" LOAD_SECONDS=\"$7\" {environment} exec \"$0\" {ONLY} worker_entry"
    );
    Launcher { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into(), this.into()] }
}

fn launcher() -> Launcher {
    launcher_with("")
}

/// A launcher whose worker is a shell script.
fn impostor(script: &str) -> Launcher {
    Launcher { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }
}

/// At most two CPUs that this process may use.
fn cpus() -> CpuSet {
    let mask = rustix::thread::sched_getaffinity(None).unwrap();
    (0..1024_u32).filter(|cpu| mask.is_set(*cpu as usize)).take(2).collect()
}

/// No run here is interrupted.
static GOING: AtomicBool = AtomicBool::new(false);

fn start(name: &str, dir: &Path) -> RunningLoad {
    launcher().start(name, &cpus(), dir, LIMIT, &GOING).unwrap()
}

/// Ends a load long before its own limit would, and checks that no process of its group is left.
fn stop(load: RunningLoad) -> LoadOutcome {
    let group = Pid::from_raw(load.id().try_into().unwrap()).unwrap();
    let asked = Instant::now();
    let outcome = load.stop();
    assert!(asked.elapsed() < SOON, "{} took {:?}", outcome.name, asked.elapsed());
    assert_eq!(test_kill_process_group(group), Err(rustix::io::Errno::SRCH), "{} left processes", outcome.name);
    outcome
}

/// Whether the load ended without a failure. A thread that hung while writing does not count, because other programs
/// may use the disk.
fn ended_well(outcome: &LoadOutcome) -> bool {
    outcome.failure.as_ref().is_none_or(|failure| failure.contains("still hung in the kernel"))
}

fn rest(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Waits until a condition holds, for less time than the loads here take to end by themselves.
fn soon(holds: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + SOON;
    while !holds() {
        if Instant::now() > deadline {
            return false;
        }
        rest(5);
    }
    true
}

fn is_gone(pid: u32) -> bool {
    // A zombie has ended as well, and only waits to be reaped.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

/// Number of processes with this text in their command lines.
fn running(text: &str) -> usize {
    let lines =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(text)).count()
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().count() == 0
}

#[test]
fn every_load_works_and_ends() {
    for load in ALL {
        let dir = tempfile::tempdir().unwrap();
        let running = start(load.name, dir.path());
        rest(1_000);
        let outcome = stop(running);
        assert!(ended_well(&outcome), "{outcome:?}");
        assert!(outcome.operations.is_some_and(|n| n > 0), "{outcome:?}");
        assert!(outcome.time >= Nanos::from_ms(250), "{outcome:?}");
        assert_eq!(outcome.unit, load.unit);
        assert!(is_empty(dir.path()), "{} left files", load.name);
    }
}

#[test]
fn loads_run_together_and_end_together() {
    let dir = tempfile::tempdir().unwrap();
    let loads: Vec<_> = ["cpu", "io-write", "switch"].iter().map(|name| start(name, dir.path())).collect();
    rest(1_000);
    let asked = Instant::now();
    let outcomes = stop_all(loads);
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    assert!(outcomes.iter().all(|o| ended_well(o) && o.operations > Some(0)), "{outcomes:?}");
}

#[test]
fn threads_are_ordinary_and_keep_to_their_cpu() {
    let dir = tempfile::tempdir().unwrap();
    let load = start("cpu", dir.path());
    let tasks = std::fs::read_dir(format!("/proc/{}/task", load.id())).unwrap();
    let mut seen = CpuSet::new();
    for task in tasks.flatten() {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap();
        let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().to_owned();
        if field("Name:").starts_with("cpu-") {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap();
            let policy = stat.rsplit_once(") ").unwrap().1.split(' ').nth(38).unwrap();
            assert_eq!(policy, "0", "SCHED_OTHER");
            let allowed = CpuSet::parse_list(&field("Cpus_allowed_list:")).unwrap();
            assert_eq!(format!("cpu-{allowed}"), field("Name:"));
            seen = seen.union(&allowed);
        }
    }
    assert_eq!(seen, cpus());
    stop(load);
}

#[test]
fn a_dropped_load_ends_too() {
    let dir = tempfile::tempdir().unwrap();
    let load = start("cpu", dir.path());
    let pid = load.id();
    drop(load);
    assert!(is_gone(pid));
}

#[test]
fn the_limit_ends_a_load_that_nobody_stops() {
    let dir = tempfile::tempdir().unwrap();
    let load = launcher().start("switch", &cpus(), dir.path(), Nanos::from_ms(600), &GOING).unwrap();
    let pid = load.id();
    assert!(soon(|| is_gone(pid)), "still there after its limit of one second");
    let outcome = stop(load);
    assert_eq!(outcome.failure, None);
    assert!(outcome.operations > Some(0) && u128::from(outcome.time.as_ns()) < SOON.as_nanos(), "{outcome:?}");
}

#[test]
fn sigterm_ends_a_load_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let load = start("io-copy", dir.path());
    rest(100);
    let pid = load.id();
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    assert!(soon(|| is_gone(pid)));
    let outcome = stop(load);
    assert!(ended_well(&outcome), "{outcome:?}");
    assert!(outcome.operations.is_some() && is_empty(dir.path()), "{outcome:?}");
}

#[test]
fn a_killed_load_is_reported_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let load = start("io-write", dir.path());
    kill_process(Pid::from_raw(load.id().try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    let outcome = stop(load);
    assert!(outcome.failure.is_some_and(|text| text.contains("signal: 9")));
    assert_eq!(outcome.operations, None);
    assert!(is_empty(dir.path()));
}

/// A measuring process: starts the requested load, prints its process id, and hangs.
#[test]
#[ignore = "the parent process of another test"]
fn parent_entry() {
    let load = start(&std::env::var("PARENT_LOAD").unwrap(), Path::new(&std::env::var("PARENT_DIR").unwrap()));
    println!("\nworker {}", load.id());
    rest(20_000);
    stop(load);
}

#[test]
fn loads_do_not_outlive_a_killed_parent() {
    // The load `cmd:` starts one process that leaves its process group, and one that stays in it.
    let sleep = format!("sleep 9173.{}", std::process::id());
    let command = format!("cmd:sh -c 'setsid {sleep} & {sleep}'");
    for name in ["io-write", "memory", &command] {
        let dir = tempfile::tempdir().unwrap();
        let mut parent = Command::new(std::env::current_exe().unwrap())
            .args(ONLY.split(' '))
            .arg("parent_entry")
            .env("PARENT_LOAD", name)
            .env("PARENT_DIR", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines().map_while(Result::ok);
        let worker: u32 = lines.find_map(|l| l.strip_prefix("worker ")?.parse().ok()).unwrap();
        rest(100);
        assert!(!is_gone(worker));
        parent.kill().unwrap();
        parent.wait().unwrap();
        assert!(soon(|| is_gone(worker)), "{name} outlived its parent");
        assert!(is_empty(dir.path()), "{name} left files");
        assert!(soon(|| running(&sleep) == 0), "{name} left processes");
    }
}

#[test]
fn an_unknown_load_names_the_known_ones() {
    let error = launcher().start("memmory", &cpus(), Path::new("."), LIMIT, &GOING).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("did you mean 'memory'?") && text.contains("io-write"), "{text}");
}

#[test]
fn a_load_without_cpus_or_on_a_missing_cpu_is_refused() {
    let error = launcher().start("cpu", &CpuSet::new(), Path::new("."), LIMIT, &GOING).unwrap_err();
    assert!(matches!(error, LoadError::NoCpu { .. }));
    for list in ["1000", "5000"] {
        let error =
            launcher().start("cpu", &CpuSet::parse_list(list).unwrap(), Path::new("."), LIMIT, &GOING).unwrap_err();
        assert!(error.to_string().contains(&format!("cannot run on CPUs {list}")), "{error}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    for name in ["io-write", "io-read", "io-copy"] {
        for dir in ["/proc/self", "/no/such/directory"] {
            let text = launcher().start(name, &cpus(), Path::new(dir), LIMIT, &GOING).unwrap_err().to_string();
            assert!(text.contains(&format!("cannot create a file in '{dir}'")), "{text}");
            assert!(text.contains("give a directory"), "{text}");
        }
    }
}

#[test]
fn files_that_may_not_grow_are_reported_and_survived() {
    for name in ["io-write", "io-read", "io-copy"] {
        let dir = tempfile::tempdir().unwrap();
        let launcher = launcher_with("LOAD_FILE_BYTES=2500000");
        let load = launcher.start(name, &cpus(), dir.path(), LIMIT, &GOING).unwrap();
        rest(1_500);
        let outcome = stop(load);
        let failure = outcome.failure.unwrap();
        assert!(failure.contains("went on with less") && failure.contains("File too large"), "{failure}");
        assert!(outcome.operations > Some(2), "{name} did not go on: {:?}", outcome.operations);
        assert!(is_empty(dir.path()));
    }
}

/// Runs the test below in a separate mount namespace, where it can mount a file system that is soon full.
#[test]
fn a_full_disk_is_reported_and_survived() {
    let dir = tempfile::tempdir().unwrap();
    let script =
        format!("mount -t tmpfs -o size=5500k none \"$1\" && FULL_DIR=\"$1\" exec \"$0\" {ONLY} full_disk_entry");
    let run = |flags: &[&str], script: &str| {
        let mut command = Command::new("unshare");
        command.args(flags).args(["sh", "-c", script]).arg(std::env::current_exe().unwrap()).arg(dir.path());
        command.output()
    };
    let possible = |flags: &[&str]| run(flags, "mount -t tmpfs none \"$1\"").is_ok_and(|out| out.status.success());
    let Some(flags) = [&["-m"][..], &["-rm"][..]].into_iter().find(|flags| possible(flags)) else {
        println!("NOT RUN: this system lets nobody mount a small file system (unshare -rm)");
        return;
    };
    let output = run(flags, &script).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "runs inside another test's mount namespace"]
fn full_disk_entry() {
    let dir = std::path::PathBuf::from(std::env::var("FULL_DIR").unwrap());
    // The file leaves too little room for even one block.
    std::fs::write(dir.join("user"), vec![1_u8; 5 << 20]).unwrap();
    let load = launcher().start("io-write", &cpus(), &dir, LIMIT, &GOING).unwrap();
    rest(1_000);
    let failure = stop(load).failure.unwrap();
    assert!(failure.contains("No space left") && failure.contains(dir.to_str().unwrap()), "{failure}");
    let text = launcher().start("io-read", &cpus(), &dir, LIMIT, &GOING).unwrap_err().to_string();
    assert!(text.contains("No space left") && text.contains("with room"), "{text}");
}

#[test]
fn a_worker_that_does_not_listen_is_killed() {
    let load =
        impostor("echo noise; echo ready; exec sleep 30").start("cpu", &cpus(), Path::new("."), LIMIT, &GOING).unwrap();
    let pid = load.id();
    let outcome = stop(load);
    assert!(outcome.failure.unwrap().contains("did not end within 2 s"));
    assert_eq!(test_kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap()), Err(rustix::io::Errno::SRCH));
}

/// Who ends a test of memory while its load still starts gets a result that claims nothing, and no error.
#[test]
fn a_torture_that_is_ended_before_its_load_works_has_a_result() {
    let order = Order {
        test: Test::Heap,
        cpus: None,
        threads: 1,
        length: LIMIT,
        priority: 10,
        plant: false,
        launcher: impostor("exec sleep 30"),
        load_dir: ".".into(),
    };
    let machine = Cpus { online: cpus(), allowed: cpus(), isolated: CpuSet::new(), siblings: BTreeMap::new() };
    let outcome = torture::run(&order, &machine, &AtomicBool::new(true)).unwrap();
    assert_eq!((outcome.end, outcome.verdict), (End::Interrupted, Verdict::Inconclusive));
    let Findings::Heap(heap) = outcome.findings else { panic!("{:?}", outcome.findings) };
    assert_eq!((heap.touched_mib, heap.load_failure), (None, None));
    assert!(heap.rows.iter().all(|row| row.allocations == 0), "{:?}", heap.rows);
}

#[test]
fn a_worker_that_never_works_is_reported() {
    let error = impostor("exit 7").start("cpu", &cpus(), Path::new("."), LIMIT, &GOING).unwrap_err();
    assert!(error.to_string().contains("exit status: 7"), "{error}");
    let error = impostor("exec sleep 30").start("cpu", &cpus(), Path::new("."), LIMIT, &GOING).unwrap_err();
    assert!(error.to_string().contains("not ready within 5 s"), "{error}");
    let ended = AtomicBool::new(true);
    let error = impostor("exec sleep 30").start("cpu", &cpus(), Path::new("."), LIMIT, &ended).unwrap_err();
    assert!(matches!(error, LoadError::Interrupted { .. }) && !error.may_pass(), "{error}");
    let launcher = Launcher { program: "/no/such/program".into(), arguments: Vec::new() };
    let error = launcher.start("cpu", &cpus(), Path::new("."), LIMIT, &GOING).unwrap_err();
    assert!(error.to_string().contains("/no/such/program"), "{error}");
}

#[test]
fn an_outside_program_runs_and_ends_with_all_it_started() {
    let sleep = format!("sleep 8261.{}", std::process::id());
    let name = format!("cmd:sh -c 'setsid {sleep} & {sleep} & trap \"\" TERM; {sleep}; {sleep}'");
    let load = start(&name, Path::new("."));
    assert!(soon(|| running(&sleep) >= 3));
    let outcome = stop(load);
    assert_eq!((outcome.operations, outcome.failure, outcome.unit), (None, None, "not counted"));
    assert!(soon(|| running(&sleep) == 0));
}

#[test]
fn an_outside_program_keeps_to_its_cpus() {
    let only: CpuSet = cpus().iter().take(1).collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("allowed");
    let name = format!("cmd:sh -c 'grep Cpus_allowed_list: /proc/self/status > {}; exec sleep 9'", file.display());
    let load = launcher().start(&name, &only, dir.path(), LIMIT, &GOING).unwrap();
    let said = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(soon(|| said().ends_with('\n')));
    assert_eq!(said().split_whitespace().nth(1).unwrap(), only.to_string());
    stop(load);
}

#[test]
fn an_outside_program_that_ends_by_itself_is_reported() {
    for (name, how) in [("cmd:sh -c 'exit 1'", "exit status 1"), ("cmd:sh -c 'kill -9 $$'", "killed by signal 9")] {
        let load = start(name, Path::new("."));
        assert!(soon(|| is_gone(load.id())));
        let failure = stop(load).failure.unwrap();
        assert!(failure.contains("ended by itself") && failure.contains(how), "{failure}");
    }
}

#[test]
fn an_outside_program_that_is_not_found_is_reported() {
    let error = launcher().start("cmd:no-such-program -x", &cpus(), Path::new("."), LIMIT, &GOING).unwrap_err();
    assert!(error.to_string().contains("'no-such-program'"), "{error}");
    let error = launcher().start("cmd:sh -c 'x", &cpus(), Path::new("."), LIMIT, &GOING).unwrap_err();
    assert!(error.to_string().contains("quotation mark"), "{error}");
}
