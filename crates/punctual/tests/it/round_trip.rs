//! Tests of `measure --mechanism rpmsg|shm`, with a thread of the test as the other side: behind a terminal, as the
//! driver `rpmsg_tty` offers one, and behind a file that both map.

use crate::run::Run;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::Value;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{scope, yield_now};

const BASE: [&str; 8] = ["measure", "--policy", "other", "--cpus", "0", "--period", "2ms", "--json"];

/// A terminal whose other end is the returned one.
fn terminal() -> (OwnedFd, OwnedFd, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    (master, slave, name.into_string().unwrap())
}

/// Sends back what comes, up to this number of messages of 8 bytes; then swallows the rest.
fn answer(master: &OwnedFd, messages: usize) {
    let (mut bytes, mut left) = ([0; 64], messages * 8);
    // The read fails when the terminal is closed on the other side.
    while let Ok(length @ 1..) = rustix::io::read(master, &mut bytes) {
        let back = length.min(left);
        left -= back;
        if back > 0 {
            assert_eq!(rustix::io::write(master, &bytes[..back]).unwrap(), back);
        }
    }
}

fn whole(report: &Value) {
    let number = |name: &str| report["cpus"][0][name].as_u64().unwrap();
    assert_eq!((number("due"), number("ran") + number("skipped")), (50, 50), "{report}");
    assert!(number("ran") > 0 && report["cpus"][0]["latency_ns"]["min"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["end"], "completed");
}

#[test]
fn a_message_goes_to_the_other_side_and_back() {
    let run = Run::new();
    let (master, slave, name) = terminal();
    let report = scope(|scope| {
        scope.spawn(|| answer(&master, usize::MAX / 8));
        let words = ["--mechanism", "rpmsg", "--endpoint", &name, "--activations", "50", "--out", "r.punctual"];
        let report = run.json(&[&BASE[..], &words].concat());
        assert!(tcgetattr(&slave).unwrap().local_modes.contains(LocalModes::ICANON), "the terminal is as it was");
        drop(slave);
        report
    });
    whole(&report);
    assert_eq!(report["scenario"]["mechanism"]["round-trip"], "rpmsg");
    assert!(report["notes"].to_string().contains(&format!("the messages went to {name}")), "{}", report["notes"]);
    let text = run.punctual(&["report", "r.punctual", "--full"]).out;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("a message through rpmsg at each release"), "{text}");
}

#[test]
fn a_side_that_falls_silent_ends_the_run_and_what_was_measured_is_kept() {
    let run = Run::new();
    let (master, slave, name) = terminal();
    let said = scope(|scope| {
        scope.spawn(|| answer(&master, 30));
        let words = ["--warm-up", "2", "--mechanism", "rpmsg", "--endpoint", &name, "--duration", "1h"];
        let said = run.punctual(&[&BASE[..], &words, &["--out", "r.punctual"]].concat());
        drop(slave);
        said
    });
    assert_eq!(said.code, 3, "{said:?}");
    let report = run.json(&["report", "r.punctual", "--json"]);
    let again = run.punctual(&["measure", "--resume", "r.punctual"]);
    again.refused(&["a round trip needs an endpoint", "--endpoint /dev/rpmsg0"]);
    assert_eq!(report["end"], "source-lost");
    assert!(report["cpus"][0]["ran"].as_u64().unwrap() <= 30, "{report}");
    assert!(
        report["notes"].to_string().contains("does not answer: nothing came back within a second"),
        "{}",
        report["notes"]
    );
}

#[test]
fn a_number_goes_through_memory_and_back() {
    let run = Run::new();
    let file = File::options().read(true).write(true).create_new(true).open(run.path("memory")).unwrap();
    file.set_len(4096).unwrap();
    let over = AtomicBool::new(false);
    let report = scope(|scope| {
        scope.spawn(|| {
            while !over.load(Relaxed) {
                let mut word = [0; 8];
                file.read_exact_at(&mut word, 1024).unwrap();
                file.write_all_at(&word, 1024 + 64).unwrap();
                yield_now();
            }
        });
        let words = ["--mechanism", "shm", "--endpoint", "memory@0x400", "--activations", "50"];
        let report = run.json(&[&BASE[..], &words].concat());
        over.store(true, Relaxed);
        report
    });
    whole(&report);
    assert_eq!(report["scenario"]["mechanism"]["round-trip"], "shared-memory");
}
