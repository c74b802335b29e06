//! Tests of causes that the kernel's trace finds during a measurement. They need root.

use crate::run::{Run, Said, kill_guard_of, machine, until};
use punctual_hist::Nanos;
use punctual_numbers::recording::Recording;
use punctual_numbers::trace::{Kept, RefusedRung, Rung, TraceEvent};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;

/// A mount of tracefs for one test, which is removed with the value.
pub struct Tracefs(tempfile::TempDir);

impl Tracefs {
    /// Mounts tracefs; `None` if the kernel has none.
    pub fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        mount("none", dir.path(), "tracefs", MountFlags::empty(), None).ok()?;
        Some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The settings of the top trace instance, which all processes share.
    fn top(&self) -> BTreeMap<&'static str, String> {
        let files = ["tracing_on", "trace_clock", "set_event", "buffer_size_kb", "tracing_cpumask", "current_tracer"];
        files.into_iter().map(|file| (file, std::fs::read_to_string(self.path().join(file)).unwrap())).collect()
    }

    /// Names of the trace instances that begin like this.
    pub fn left(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("instances")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|instance| instance.starts_with(name)).collect()
    }

    /// Trace instances of the process with this number.
    fn instances(&self, pid: u32) -> Vec<PathBuf> {
        let name = format!("punctual-{pid}");
        let entries = std::fs::read_dir(self.path().join("instances")).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&name)).collect()
    }
}

impl Drop for Tracefs {
    fn drop(&mut self) {
        let _ = unmount(self.path(), UnmountFlags::DETACH);
    }
}

fn read(run: &Run, name: &str) -> Recording {
    punctual_numbers::recording::read(std::fs::read(run.path(name)).unwrap().as_slice()).unwrap()
}

const EXPLAIN: [&str; 8] = ["measure", "--explain", "--cpus", "0", "--out", "e.punctual", "-q", "--duration"];

#[test]
#[ignore = "needs root"]
fn windows_around_late_and_ordinary_activations_are_kept() {
    let _machine = machine();
    let run = Run::new();
    let said = run.punctual(&[EXPLAIN.as_slice(), &["3s"]].concat());
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    let recording = read(&run, "e.punctual");
    let causes = &recording.causes;
    let tracing = causes.tracing.as_ref().unwrap();
    if Tracefs::new().is_none() {
        assert!(tracing.rung >= Rung::Deltas && !tracing.refused.is_empty(), "{tracing:?}");
        return;
    }
    assert_eq!((tracing.rung, tracing.clock.as_str(), &tracing.phases), (Rung::Tracefs, "mono", &vec![0]));
    assert!(tracing.events.iter().any(|event| event == "sched:sched_switch"), "{tracing:?}");
    assert_eq!(tracing.self_test.iter().map(|test| (test.cpu, test.timers)).collect::<Vec<_>>(), [(0, 20)]);
    let late = causes.late_totals[&0];
    assert_eq!(late.count, causes.late.len() as u64);
    let windows = || causes.windows.iter();
    let kept_late = windows().filter(|window| window.kept != Kept::Ordinary).count() as u64;
    assert_eq!(kept_late + late.passed_over, late.count, "there is room for all of them");
    assert!(windows().any(|window| window.kept == Kept::Ordinary));
    let anchored = |window: &punctual_numbers::trace::Window| {
        let span = window.release..=window.woke;
        let switched = |what: &TraceEvent| matches!(what, TraceEvent::Switch { next, .. } if *next == window.tid);
        window.records.iter().any(|record| span.contains(&record.at) && switched(&record.what))
    };
    let whole = windows().filter(|window| window.incomplete.is_none()).count();
    assert!(windows().filter(|window| window.incomplete.is_none()).filter(anchored).count() * 10 >= whole * 9);
    assert!(windows().all(|window| window.records.windows(2).all(|pair| pair[0].at <= pair[1].at)));
    assert!(causes.totals.iter().any(|total| total.cpu == 0 && total.records > 3_000), "{:?}", causes.totals);
}

#[test]
#[ignore = "needs root"]
fn what_is_later_than_the_threshold_is_late_and_nothing_else() {
    let _machine = machine();
    let run = Run::new();
    let said = run.punctual(&[EXPLAIN.as_slice(), &["2s", "--explain-threshold", "1ns", "--windows", "100"]].concat());
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    let recording = read(&run, "e.punctual");
    let late = recording.causes.late_totals[&0];
    assert_eq!((late.threshold, late.count), (Nanos::from_ns(1), recording.cpus[&0].ran.count()));
    let windows = &recording.causes.windows;
    let kept = windows.iter().count();
    assert!((50..=100).contains(&kept), "{kept}");
}

#[test]
#[ignore = "needs root"]
fn a_check_looks_for_causes_only_in_phases_of_their_own_after_the_others() {
    let _machine = machine();
    if Tracefs::new().is_none() {
        return;
    }
    let run = Run::new();
    let words = ["check", "--duration", "4s", "--load", "idle,cpu", "--cpus", "0", "--out", "c.punctual", "--json"];
    let said = run.punctual(&words);
    assert!(said.code != 1, "{said:?}");
    let recording = read(&run, "c.punctual");
    let tracing = recording.causes.tracing.as_ref().unwrap();
    assert_eq!((tracing.rung, &tracing.phases), (Rung::Tracefs, &vec![2, 3]));
    let windows = || recording.causes.windows.iter();
    assert!(windows().count() > 0 && windows().all(|window| window.phase >= 2), "none of the untraced phases");
    assert!(windows().any(|window| !window.records.is_empty()), "events are on again after they were off");
    let addresses = windows().flat_map(|window| window.names.functions.into_keys());
    assert!(addresses.into_iter().all(|address| address.0 < 1 << 40), "no address of the kernel is told");
}

#[test]
#[ignore = "needs root"]
fn nobody_elses_tracing_is_touched_and_ours_is_gone_at_every_end() {
    let _machine = machine();
    let Some(tracefs) = Tracefs::new() else { return };
    let (run, before) = (Run::new(), tracefs.top());
    for signal in [None, Some(rustix::process::Signal::TERM), Some(rustix::process::Signal::INT)] {
        let length = if signal.is_none() { "1s" } else { "30s" };
        let name = format!("{signal:?}.punctual");
        let mut child = begun(&run, &name, length);
        let pid = child.id();
        assert_eq!(tracefs.top(), before, "while it runs");
        if let Some(signal) = signal {
            assert!(!tracefs.instances(pid).is_empty(), "it has one");
            rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        }
        child.wait().unwrap();
        assert!(tracefs.instances(pid).is_empty(), "{signal:?}");
    }
    assert_eq!(tracefs.top(), before);
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_measurement_left_the_next_one_removes() {
    let _machine = machine();
    let Some(tracefs) = Tracefs::new() else { return };
    let run = Run::new();
    let pid = kill_one(&run, "killed.punctual");
    assert!(!tracefs.instances(pid).is_empty(), "nobody was left to remove it");
    let others = tracefs.path().join("instances").join(format!("other-{pid}"));
    std::fs::create_dir(&others).unwrap();
    let said = run.punctual(&[EXPLAIN.as_slice(), &["300ms"]].concat());
    let stays = others.exists();
    std::fs::remove_dir(&others).unwrap();
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    assert!(stays, "another's instance is not ours to remove");
    assert!(tracefs.instances(pid).is_empty());
}

#[test]
#[ignore = "needs root"]
fn a_recording_with_causes_goes_on_with_causes() {
    let _machine = machine();
    let run = Run::new();
    let said = run.punctual(&[EXPLAIN.as_slice(), &["1s"]].concat());
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    let before = read(&run, "e.punctual").causes;
    let said = run.punctual(&["measure", "--resume", "e.punctual", "--duration", "1s", "-q"]);
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    let recording = read(&run, "e.punctual");
    let (runs, causes) = (&recording.runs, &recording.causes);
    assert_eq!((runs.len(), runs[0].ran + runs[0].skipped, runs[1].ran + runs[1].skipped), (2, 1000, 1000));
    let (then, now) = (before.tracing.unwrap(), causes.tracing.as_ref().unwrap());
    assert_eq!((then.rung, then.windows_max, &then.phases), (now.rung, now.windows_max, &now.phases));
    // The recording holds all late activations of the first run, and windows of the second run as well.
    let second = recording.header.epoch.plus(runs[1].at.since_epoch());
    let of_first = causes.late.iter().filter(|late| late.release < second).count();
    assert!(of_first == before.late.len() && causes.late.len() >= of_first, "{of_first}");
    assert!(causes.windows.iter().any(|window| window.release >= second), "the second run has windows of its own");
    let explained = run.punctual(&["explain", "e.punctual"]);
    assert!(explained.code != 1 && !explained.out.is_empty(), "{explained:?}");
}

/// Starts a measurement that looks for causes, and returns when it has begun.
fn begun(run: &Run, name: &str, length: &str) -> Child {
    let words = ["measure", "--explain", "--cpus", "0", "-q", "--duration", length, "--out", name];
    let child = run.command(&words).stdout(std::process::Stdio::null()).spawn().unwrap();
    let path = run.path(name);
    until("the measurement began", || std::fs::metadata(&path).is_ok_and(|file| file.len() > 1_000));
    child
}

/// Starts a measurement that looks for causes, kills it and its guard once it has begun, and returns its process id.
fn kill_one(run: &Run, name: &str) -> u32 {
    let mut child = begun(run, name, "30s");
    kill_guard_of(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_measurement_left_its_guard_removes() {
    let _machine = machine();
    let Some(tracefs) = Tracefs::new() else { return println!("NOT RUN: no tracefs") };
    let run = Run::new();
    let mut child = begun(&run, "guarded.punctual", "30s");
    assert!(!tracefs.instances(child.id()).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    until("the guard removes the instances", || tracefs.instances(child.id()).is_empty());
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_measurement_left_is_told_and_goes_with_revert_or_any_measurement() {
    let _machine = machine();
    let Some(tracefs) = Tracefs::new() else { return };
    let run = Run::new();
    let pid = kill_one(&run, "told.punctual");
    let said = run.punctual(&["status"]);
    assert!(said.out.contains(&format!("punctual-{pid}-")) && !tracefs.instances(pid).is_empty(), "{said:?}");
    let said = run.punctual(&["revert"]);
    assert!(said.out.contains(&format!("punctual-{pid}-")) && tracefs.instances(pid).is_empty(), "{said:?}");
    let pid = kill_one(&run, "plain.punctual");
    run.punctual(&["measure", "--cpus", "0", "-q", "--duration", "300ms"]);
    assert!(tracefs.instances(pid).is_empty(), "one that does not look for causes removes it, too");
}

#[test]
#[ignore = "needs root"]
fn an_instance_in_use_cannot_be_removed_and_two_measure_side_by_side() {
    let _machine = machine();
    let Some(tracefs) = Tracefs::new() else { return };
    let run = Run::new();
    let words = ["measure", "--explain", "--cpus", "0", "-q", "--duration", "10s", "--out", "one.punctual"];
    let mut child = run.command(&words).stdout(std::process::Stdio::null()).spawn().unwrap();
    until("it has an instance in use", || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
        let mut opened = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        opened.any(|file| file.to_string_lossy().contains(&format!("/instances/punctual-{}", child.id())))
    });
    for instance in tracefs.instances(child.id()) {
        assert!(std::fs::remove_dir(&instance).is_err(), "{}", instance.display());
    }
    // The first process still measures. In another PID namespace its id belongs to no process.
    let other = ["unshare", "-pf", env!("CARGO_BIN_EXE_punctual")];
    let said = std::process::Command::new("timeout")
        .args(["--signal=KILL", "120"])
        .args(other)
        .args(["measure", "--explain", "--cpus", "1", "-q", "--duration", "300ms", "--out", "other.punctual"])
        .current_dir(run.dir.path())
        .output()
        .unwrap();
    child.wait().unwrap();
    assert_eq!(read(&run, "one.punctual").causes.tracing.unwrap().rung, Rung::Tracefs);
    if run.path("other.punctual").exists() {
        let tracing = read(&run, "other.punctual").causes.tracing.unwrap();
        assert_eq!(tracing.rung, Rung::Deltas, "its threads have other numbers in the trace");
        let why = |refused: &RefusedRung| refused.rung == Rung::Tracefs && refused.why.contains("--pid=host");
        assert!(tracing.refused.iter().any(why), "{tracing:?}; {said:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn with_few_files_it_is_measured_all_the_same() {
    let _machine = machine();
    for files in ["16", "20", "40"] {
        let run = Run::new();
        let script = format!("ulimit -n {files}; exec \"$@\"");
        let output = std::process::Command::new("bash")
            .args(["-c", &script, "bash", env!("CARGO_BIN_EXE_punctual")])
            .args(EXPLAIN)
            .arg("1s")
            .current_dir(run.dir.path())
            .output();
        let said = Said::of(output.unwrap());
        assert!(said.code == 0 || said.code == 3, "{files}: {said:?}");
        let tracing = read(&run, "e.punctual").causes.tracing.unwrap();
        let why = |refused: &RefusedRung| refused.why.contains("ulimit -n");
        assert!(tracing.rung == Rung::Tracefs || tracing.refused.iter().any(why), "{files}: {tracing:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn the_activation_that_ended_the_run_has_a_window() {
    let _machine = machine();
    let run = Run::new();
    let said = run.punctual(&[EXPLAIN.as_slice(), &["5s", "--limit", "1ns"]].concat());
    assert_eq!(said.code, 2, "{said:?}");
    let causes = read(&run, "e.punctual").causes;
    assert!(causes.late.iter().any(|late| late.cpu == 0), "{causes:?}");
    assert!(causes.windows.iter().any(|window| window.kept != Kept::Ordinary));
}

#[test]
#[ignore = "needs root"]
fn a_trace_buffer_that_takes_the_memory_of_the_machine_is_refused() {
    let _machine = machine();
    let run = Run::new();
    let said = run.punctual(&[EXPLAIN.as_slice(), &["1s", "--trace-buffer", "1024G"]].concat());
    assert!(said.code == 1 && said.err.contains("at most"), "{said:?}");
    assert!(!run.path("e.punctual").exists());
}

#[test]
#[ignore = "needs root"]
fn without_a_tracefs_it_is_measured_all_the_same_and_said_why() {
    let _machine = machine();
    let run = Run::new();
    let words =
        [&["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", env!("CARGO_BIN_EXE_punctual")], EXPLAIN.as_slice()];
    let output =
        std::process::Command::new("setpriv").args(words.concat()).arg("1s").current_dir(run.dir.path()).output();
    let said = Said::of(output.unwrap());
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    let recording = read(&run, "e.punctual");
    let tracing = recording.causes.tracing.as_ref().unwrap();
    if tracing.rung != Rung::Tracefs {
        assert!(
            tracing
                .refused
                .iter()
                .any(|refused| refused.rung == Rung::Tracefs && refused.why.contains("CAP_SYS_ADMIN")),
            "{tracing:?}"
        );
        assert!(recording.causes.windows.iter().next().is_some());
    }
}
