//! The kernel's trace beside a measurement, as only root can have it.

use crate::run::Run;
use punctual_core::recording::Recording;
use punctual_core::trace::{Kept, Rung, What};
use punctual_hist::Nanos;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A tracefs of the test's own to look into; gone with it.
struct Tracefs(tempfile::TempDir);

impl Tracefs {
    /// `None` where the kernel has none.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        mount("none", dir.path(), "tracefs", MountFlags::empty(), None).ok()?;
        Some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// What the instance that everybody shares is set to.
    fn top(&self) -> BTreeMap<&'static str, String> {
        let files = ["tracing_on", "trace_clock", "set_event", "buffer_size_kb", "tracing_cpumask", "current_tracer"];
        files.into_iter().map(|file| (file, std::fs::read_to_string(self.path().join(file)).unwrap())).collect()
    }

    /// Instances of the process with this number.
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
    punctual_core::recording::read(std::fs::read(run.path(name)).unwrap().as_slice()).unwrap()
}

const EXPLAIN: [&str; 8] = ["measure", "--explain", "--cpus", "0", "--out", "e.punctual", "-q", "--duration"];

fn wait_for(what: &str, until: impl Fn() -> bool) {
    let begun = Instant::now();
    while !until() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "needs root"]
fn windows_around_late_and_ordinary_activations_are_kept() {
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
    let anchored = |window: &punctual_core::trace::Window| {
        let span = window.release..=window.woke;
        let switched = |what: &What| matches!(what, What::Switch { next, .. } if *next == window.tid);
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
    let run = Run::new();
    let said = run.punctual(&[EXPLAIN.as_slice(), &["2s", "--explain-threshold", "1ns", "--windows", "100"]].concat());
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    let recording = read(&run, "e.punctual");
    let late = recording.causes.late_totals[&0];
    assert_eq!((late.threshold, late.count), (Nanos::from_ns(1), recording.cpus[&0].ran.count()));
    let windows = &recording.causes.windows;
    assert!(windows.len() <= 100 && windows.len() >= 50, "{}", windows.len());
}

#[test]
#[ignore = "needs root"]
fn a_check_looks_for_causes_only_in_phases_of_their_own_after_the_others() {
    if Tracefs::new().is_none() {
        return;
    }
    let run = Run::new();
    let words = ["check", "--duration", "4s", "--load", "idle,cpu", "--cpus", "0", "--out", "c.punctual", "--json"];
    let said = run.punctual(&words);
    assert!(said.code != 2, "{said:?}");
    let recording = read(&run, "c.punctual");
    let tracing = recording.causes.tracing.as_ref().unwrap();
    assert_eq!((tracing.rung, &tracing.phases), (Rung::Tracefs, &vec![2, 3]));
    let windows = || recording.causes.windows.values();
    assert!(windows().count() > 0 && windows().all(|window| window.phase >= 2), "none of the untraced phases");
    assert!(windows().any(|window| !window.records.is_empty()), "events are on again after they were off");
    let addresses = windows().flat_map(|window| window.names.functions.keys());
    assert!(addresses.copied().all(|address| address.0 < 1 << 40), "no address of the kernel is told");
}

#[test]
#[ignore = "needs root"]
fn nobody_elses_tracing_is_touched_and_ours_is_gone_at_every_end() {
    let Some(tracefs) = Tracefs::new() else { return };
    let (run, before) = (Run::new(), tracefs.top());
    for signal in [None, Some(rustix::process::Signal::TERM), Some(rustix::process::Signal::INT)] {
        let length = if signal.is_none() { "1s" } else { "30s" };
        let name = format!("{signal:?}.punctual");
        let words = ["measure", "--explain", "--cpus", "0", "-q", "--duration", length, "--out", &name];
        let mut child = run.command(&words).stdout(std::process::Stdio::null()).spawn().unwrap();
        let (pid, path) = (child.id(), run.path(&name));
        wait_for("the measurement began", || std::fs::metadata(&path).is_ok_and(|file| file.len() > 1_000));
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
    let Some(tracefs) = Tracefs::new() else { return };
    let run = Run::new();
    let words = ["measure", "--explain", "--cpus", "0", "-q", "--duration", "30s", "--out", "killed.punctual"];
    let mut child = run.command(&words).stdout(std::process::Stdio::null()).spawn().unwrap();
    let pid = child.id();
    let path = run.path("killed.punctual");
    wait_for("the measurement began", || std::fs::metadata(&path).is_ok_and(|file| file.len() > 1_000));
    child.kill().unwrap();
    child.wait().unwrap();
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
fn without_a_tracefs_it_is_measured_all_the_same_and_said_why() {
    let run = Run::new();
    let words =
        [&["--bounding-set=-sys_admin", "--inh-caps=-sys_admin", env!("CARGO_BIN_EXE_punctual")], EXPLAIN.as_slice()];
    let output =
        std::process::Command::new("setpriv").args(words.concat()).arg("1s").current_dir(run.dir.path()).output();
    let said = crate::run::Said::of(output.unwrap());
    assert!(said.code == 0 || said.code == 3, "{said:?}");
    let recording = read(&run, "e.punctual");
    let tracing = recording.causes.tracing.as_ref().unwrap();
    if tracing.rung != Rung::Tracefs {
        assert!(
            tracing.refused.iter().any(|(rung, why)| *rung == Rung::Tracefs && why.contains("CAP_SYS_ADMIN")),
            "{tracing:?}"
        );
        assert!(!recording.causes.windows.is_empty());
    }
}
