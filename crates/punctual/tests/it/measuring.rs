//! Tests of a measurement and of the files that it leaves.

use crate::run::Run;
use serde_json::Value;

#[test]
fn every_release_due_is_accounted_for() {
    let run = Run::new();
    let words = ["measure", "--policy", "other", "--cpus", "0", "--period", "1ms", "--duration", "700ms", "--json"];
    let report = run.json(&words);
    let number = |name: &str| report["cpus"][0][name].as_u64().unwrap();
    assert_eq!(number("due"), 700);
    assert_eq!(number("ran") + number("skipped"), 700);
}

#[test]
fn every_mechanism_and_phase_measures() {
    for mechanism in ["absolute", "relative", "timerfd", "futex", "hybrid", "spin", "nanosleep"] {
        for phase in ["auto", "aligned", "staggered", "random"] {
            let run = Run::new();
            let base =
                ["measure", "--policy", "other", "--cpus", "0", "--period", "2ms", "--activations", "20", "--json"];
            let report =
                run.json(&[&base[..], &["--warm-up", "2", "--mechanism", mechanism, "--phase", phase]].concat());
            assert_eq!(report["cpus"][0]["due"], 20, "{mechanism} {phase}");
            assert!(report["cpus"][0]["latency_ns"]["min"].is_u64(), "{mechanism} {phase}");
        }
    }
}

#[test]
fn releases_may_lie_on_another_clock() {
    for clock in ["monotonic", "realtime", "tai"] {
        let run = Run::new();
        let words = ["measure", "--policy", "other", "--cpus", "0", "--period", "2ms", "--activations", "50", "--json"];
        let report = run.json(&[&words[..], &["--warm-up", "2", "--clock", clock, "--out", "r.punctual"]].concat());
        let number = |name: &str| report["cpus"][0][name].as_u64().unwrap();
        assert_eq!((number("due"), number("ran") + number("skipped")), (50, 50), "{clock}");
        assert!(report["cpus"][0]["latency_ns"]["min"].is_u64(), "{clock}");
        assert_eq!(run.json(&["report", "r.punctual", "--json"])["scenario"], report["scenario"], "{clock}");
    }
}

#[test]
fn a_recording_renders_again_as_the_run_did() {
    let run = Run::new();
    let words = ["measure", "--policy", "other", "--cpus", "0", "--duration", "500ms", "--out", "r.punctual", "--json"];
    let live = run.json(&words);
    let again = run.json(&["report", "r.punctual", "--json"]);
    assert_eq!(live, again);
    let text = run.punctual(&["report", "r.punctual", "--full"]);
    assert_eq!(text.code, 0);
    assert!(text.out.contains("Latencies \\ Core"), "{}", text.out);
    assert_eq!(run.punctual(&["report", "r.punctual", "--html", "r.html"]).code, 0);
    let page = std::fs::read_to_string(run.path("r.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    assert!(!page.contains("http://") || !page.contains("src="), "no outside resource");
}

#[test]
fn phases_of_load_each_have_their_own_numbers() {
    let run = Run::new();
    let base = ["measure", "--policy", "other", "--cpus", "0", "--duration", "900ms", "--json"];
    let report = run.json(&[&base[..], &["--load", "idle:1,cpu+syscall:2"]].concat());
    let phases: Vec<&str> = report["phases"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(phases, ["idle", "cpu+syscall"]);
    let done: Vec<&Value> = report["loads"].as_array().unwrap().iter().collect();
    assert_eq!(done.len(), 2);
    assert!(done.iter().all(|load| load["operations"].as_u64().unwrap() > 0), "{done:?}");
}

#[test]
fn a_limit_stops_the_run_and_exits_with_2() {
    let run = Run::new();
    // No ordinary task wakes within a nanosecond of its release.
    let said = run.punctual(&["measure", "--policy", "other", "--duration", "1h", "--limit", "1ns", "-q"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn a_load_that_ends_by_itself_spoils_the_trust_and_the_run_goes_on() {
    let run = Run::new();
    let base = ["measure", "--policy", "other", "--cpus", "0", "--duration", "1200ms", "--json"];
    let report = run.json(&[&base[..], &["--load", "cmd:false"]].concat());
    assert_eq!(report["cpus"][0]["due"], 1200);
    let reasons = report["trust"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["code"] == "load-missing"), "{reasons:?}");
}

#[test]
fn a_load_that_cannot_be_had_is_refused_before_anything_is_measured() {
    let run = Run::new();
    for verb in ["check", "measure"] {
        for (load, part) in [("cmd:no-such-program", "no-such-program"), ("bogus", "bogus")] {
            run.punctual(&[verb, "--duration", "2s", "--load", load]).refused(&[part]);
        }
    }
    let words = ["measure", "--duration", "2s", "--load", "io-write", "--load-dir", "/nonexistent"];
    run.punctual(&words).refused(&["/nonexistent", "--load-dir"]);
}

#[test]
fn the_loads_are_listed_with_what_they_stress() {
    let said = Run::new().punctual(&["measure", "--list-loads"]);
    assert_eq!(said.code, 0);
    for load in [
        "cpu", "memory", "cache", "io-write", "io-read", "io-copy", "proc", "switch", "fork", "timers", "net",
        "syscall", "cmd:",
    ] {
        assert!(said.out.contains(load), "no {load} in {}", said.out);
    }
}

#[test]
fn check_prints_everything_it_promises() {
    let run = Run::new();
    let said =
        run.punctual(&["check", "--duration", "1s", "--load", "idle,cpu", "--budget", "900us", "--out", "c.punctual"]);
    for part in ["stands in the way", "p99.9", "how sure", "trust", "next", "c.punctual", "c.html"] {
        assert!(said.out.to_lowercase().contains(part), "no {part} in {said:?}");
    }
    assert!(!said.out.to_lowercase().contains("worst case") && said.out.lines().count() <= 60, "{said:?}");
    assert!(run.path("c.html").exists());
    let brief = run.punctual(&["report", "c.punctual", "--brief"]).out;
    assert!(brief.trim().lines().count() == 1 && brief.contains("budget=900us missed="), "{brief}");
}

#[test]
fn runs_begun_in_the_same_second_keep_their_results() {
    let run = Run::new();
    for _ in 0..3 {
        let said =
            run.punctual(&["measure", "--policy", "other", "--cpus", "0", "--duration", "20ms", "--warm-up", "1ms"]);
        assert_eq!(said.code, 0, "without a budget nothing was asked: {said:?}");
    }
    assert_eq!(std::fs::read_dir(run.dir.path()).unwrap().count(), 3);
}

#[test]
fn runs_that_begin_together_in_one_folder_all_keep_their_recording() {
    let run = Run::new();
    let words = ["measure", "--policy", "other", "--cpus", "0", "--duration", "20ms", "--warm-up", "2", "-q"];
    let begin = |_| run.command(&words).stdout(std::process::Stdio::null()).spawn().unwrap();
    let running: Vec<_> = (0..6).map(begin).collect();
    for mut child in running {
        let status = child.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 3)), "{status:?}");
    }
    let files = std::fs::read_dir(run.dir.path()).unwrap().map(|file| file.unwrap().path());
    assert_eq!(files.filter(|file| file.extension().is_some_and(|ending| ending == "punctual")).count(), 6);
}
