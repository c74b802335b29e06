//! Tests that a process reads the statistics of another process, even after that process was killed, and that nothing
//! is left behind.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a test that talks to its other half")]

use punctual_rt::stats::task_names;
use punctual_rt::{MonoTime, Nanos, PageError, Stats, StatsConfig, StatsReader, Wake};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const MARK: &str = "PUNCTUAL_RT_ATTACH_CHILD";
const ME: &str = "a_killed_process_leaves_its_numbers_to_who_is_attached_and_nothing_else";

#[test]
fn a_killed_process_leaves_its_numbers_to_who_is_attached_and_nothing_else() {
    if std::env::var_os(MARK).is_some() {
        return child();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", ME, "--nocapture"])
        .env(MARK, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ready")));

    assert_eq!(task_names(child.id()).unwrap(), ["slow", "the fast one"]);
    assert_eq!(StatsReader::attach(child.id(), "none").err(), Some(PageError::NoSuchTask));
    let attached = StatsReader::attach(child.id(), "the fast one").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();

    let snapshot = attached.snapshot();
    assert_eq!((snapshot.counters.activations, snapshot.pid), (100, child.id()));
    assert_eq!((snapshot.name.as_str(), snapshot.latency.max()), ("the fast one", Some(Nanos::from_ns(99))));
    assert_eq!(snapshot.recent.len(), 100);
    assert!(matches!(StatsReader::attach(child.id(), "slow"), Err(PageError::Open(_))));
}

/// The loop of the child process, which ends together with the process that started it.
fn child() {
    let create = |name: &str| Stats::create(&StatsConfig::new(name, Nanos::from_ms(1))).unwrap();
    let (mut writer, _fast) = create("the fast one");
    let _slow = create("slow");
    for index in 0..100 {
        let release = MonoTime::from_ns(1_000_000 * (index + 1));
        writer.woke(&Wake { index, release, woke: release + Nanos::from_ns(index), ..Wake::default() });
    }
    println!("ready");
    let _ = std::io::stdin().read_line(&mut String::new());
}
