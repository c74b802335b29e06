//! Tests of `punctual torture`: short, in either scheduling class, whatever else the machine does.

use crate::run::{Run, Said, assert_fits, machine};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The lowest real-time priority, so that tests of other programs beside these are not held up.
const GENTLE: [&str; 2] = ["--priority", "1"];

fn said(run: &Run, words: &[&str]) -> (Said, Value) {
    let said = run.punctual(&[&["torture"], words, &["--json"]].concat());
    let document = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_fits("torture-1", &document, "torture");
    (said, document)
}

fn sum(document: &Value, rows: &str, member: &str) -> u64 {
    let rows = document["findings"][rows].as_array().unwrap();
    rows.iter().map(|row| row[member].as_u64().unwrap()).sum()
}

/// Ends the busy threads when it is dropped, even if the test fails.
struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Without the right to real-time threads the result is inconclusive; with it, it is held.
fn expected(document: &Value) -> (i32, &'static str) {
    if document["real_time_refused"].is_null() { (0, "held") } else { (3, "inconclusive") }
}

#[test]
fn no_register_changes_on_a_busy_machine() {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _busy = Busy(&over);
        for _ in 0..2 {
            scope.spawn(|| {
                let mut sum = 1.0_f64;
                while !over.load(Relaxed) {
                    sum = std::hint::black_box(sum * 1.000_1).min(1e9);
                }
            });
        }
        for test in ["switches", "fpu"] {
            let (said, document) = said(&Run::new(), &[&[test, "--duration", "1s"], &GENTLE[..]].concat());
            assert_eq!((said.code, document["verdict"].as_str().unwrap()), expected(&document), "{said:?}");
            assert_eq!(sum(&document, "cpus", "corruptions"), 0);
            assert!(sum(&document, "cpus", "checks") > 0, "{document}");
            let known = !document["findings"]["units"].as_array().unwrap().is_empty();
            assert!(known || cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))));
        }
    });
}

#[test]
fn a_planted_corruption_is_caught_and_named() {
    for test in ["switches", "fpu"] {
        let run = Run::new();
        let (said, document) = said(&run, &[&[test, "--plant", "--duration", "500ms"], &GENTLE[..]].concat());
        assert_eq!((said.code, document["verdict"].as_str()), (2, Some("broken")), "{document}");
        let findings = &document["findings"];
        assert_eq!(findings["plant"]["caught"], true);
        assert_eq!(sum(&document, "cpus", "corruptions"), 1, "{document}");
        let [corruption] = findings["corruptions"].as_array().unwrap().as_slice() else { panic!("{document}") };
        assert_eq!(corruption["register"], findings["plant"]["register"]);
        assert_eq!(corruption["cpu"], findings["plant"]["cpu"]);
        assert_ne!(corruption["expected"], corruption["found"]);
        assert!(corruption["written_by"]["thread"] == 0, "{corruption}");
    }
}

#[test]
fn timers_are_never_early_and_never_lost() {
    let (said, document) =
        said(&Run::new(), &[&["timers", "--duration", "1s", "--threads", "8"], &GENTLE[..]].concat());
    assert_eq!((said.code, document["verdict"].as_str().unwrap()), expected(&document), "{said:?}");
    assert_eq!([sum(&document, "rows", "early"), sum(&document, "rows", "lost")], [0, 0], "{document}");
    let rows = document["findings"]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["expiries"].as_u64() > Some(100)), "{document}");
    let kinds = ["timerfd", "posix", "sleep"].map(|kind| rows.iter().filter(|row| row["timer"] == kind).count());
    assert!(kinds[0] > 0 && kinds == [kinds[0]; 3], "{document}");
}

#[test]
fn allocation_is_tried_under_pressure() {
    let (said, document) = said(&Run::new(), &[&["heap", "--duration", "1s"], &GENTLE[..]].concat());
    let findings = &document["findings"];
    if findings["locked"] == true && document["real_time_refused"].is_null() {
        assert_eq!((said.code, document["verdict"].as_str()), (0, Some("held")), "{said:?}");
    } else {
        assert_eq!(said.code, 3, "{said:?}");
    }
    assert!(sum(&document, "rows", "allocations") > 10 && findings["touched_mib"].as_u64() > Some(0), "{document}");
}

#[test]
#[ignore = "needs root"]
fn inheritance_is_seen_to_prevent_what_plain_locks_do() {
    let _machine = machine();
    let (said, document) = said(&Run::new(), &["mutex", "--duration", "2s"]);
    assert_eq!((said.code, document["verdict"].as_str()), (0, Some("held")), "{said:?}");
    let chains = document["findings"]["chains"].as_array().unwrap();
    for chain in chains {
        let [rounds, inversions] = ["rounds", "inversions"].map(|name| chain[name].as_u64().unwrap());
        assert!(rounds > 0, "{chain}");
        assert_eq!(inversions, if chain["inheritance"] == true { 0 } else { rounds }, "{chain}");
    }
    let lengths: Vec<u64> =
        chains.iter().filter(|one| one["inheritance"] == true).filter_map(|c| c["locks"].as_u64()).collect();
    assert!(lengths.starts_with(&[2, 3, 4, 5, 6, 7, 8]), "{lengths:?}");
}

#[test]
fn a_signal_ends_the_test_and_the_result_is_told() {
    let run = Run::new();
    let words = [&["torture", "switches", "--duration", "1h", "--json"], &GENTLE[..]].concat();
    let child = run.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let said = Said::of(child.wait_with_output().unwrap());
    // On a very busy machine the signal may come before the program listens, which ends it at once.
    if said.code != -1 {
        let document: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(document["end"], "interrupted");
    }
}

#[test]
fn wrong_words_are_refused_by_name() {
    let run = Run::new();
    let refused = |words: &[&str], parts: &[&str]| run.punctual(&[&["torture"], words].concat()).refused(parts);
    refused(&["switch"], &["switch", "switches", "timers"]);
    refused(&["switches", "--threads", "0"], &["0 threads", "2"]);
    refused(&["switches", "--threads", "1"], &["1 threads", "2"]);
    refused(&["timers", "--threads", "1001"], &["1001", "1000"]);
    refused(&["switches", "--cpus", "0,4000"], &["4000", "online"]);
    refused(&["switches", "--priority", "96"], &["96", "95"]);
    refused(&["fpu", "--priority", "0"], &["priority 0", "95"]);
    refused(&["mutex", "--priority", "9"], &["priority 9", "10"]);
    refused(&["fpu", "--duration", "0s"], &["no time"]);
    refused(&["mutex", "--threads", "4"], &["--threads"]);
    refused(&["heap", "--plant"], &["--plant"]);
}

#[test]
fn suites_of_a_second_kernel_are_run_where_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let run = Run::new();
    let suite = "#!/bin/sh\necho 'clock: OK'\necho '** fault: BROKEN'\necho 'tp: no kernel support'\n";
    std::fs::write(run.path("evl"), suite).unwrap();
    std::fs::set_permissions(run.path("evl"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let words = ["torture", "switches", "--duration", "200ms", "--own-tests", "--priority", "1"];
    let path = format!("{}:{}", run.dir.path().display(), std::env::var("PATH").unwrap());
    let said = Said::of(run.command(&words).env("PATH", path).output().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
    let told = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("1 ok, 1 broken (fault), 1 without kernel support"), "{told}");
    assert!(told.contains("smokey (Xenomai 3): not installed"), "{told}");
    let said = run.punctual(&words);
    assert!(said.out.contains("evl test (Xenomai 4): not installed"), "{said:?}");
    assert!(said.out.lines().count() <= 24, "{said:?}");
}
