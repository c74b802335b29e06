//! Tests of `punctual inspect` that need no privilege: counters of the kernel, and what is refused.

use crate::run::{Run, assert_fits};
use serde_json::Value;

#[test]
fn a_program_is_started_and_counted_without_a_trace() {
    let said = Run::new().punctual(&["inspect", "--no-trace", "--json", "--", "sleep", "0.4"]);
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_fits("inspect-1", &document, "inspect");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!((&document["engine"], &document["answer"]), (&"counters".into(), &"not-seen".into()));
    assert_eq!(document["end"], "program-ended");
    assert_eq!(document["program"]["name"], "sleep");
    assert!(document["threads"][0]["setup"]["policy"].is_string(), "{document}");
}

#[test]
fn a_gate_that_could_see_nothing_is_inconclusive() {
    let words = ["inspect", "--no-trace", "-q", "--fail-on", "alloc,late=50us", "--", "sleep", "0.2"];
    let said = Run::new().punctual(&words);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.out.starts_with("NOT SEEN:"), "{said:?}");
}

#[test]
fn a_gate_writes_junit_and_sarif_and_overwrites_nothing() {
    let run = Run::new();
    let gate = ["inspect", "--no-trace", "-q", "--fail-on", "alloc", "--junit", "loop.xml", "--sarif", "loop.sarif"];
    let words = [&gate[..], &["--", "sleep", "0.2"]].concat();
    assert_eq!(run.punctual(&words).code, 3);
    let junit = std::fs::read_to_string(run.path("loop.xml")).unwrap();
    assert!(junit.contains("errors=\"1\"") && junit.contains("counters of the kernel show no cycles"), "{junit}");
    let sarif: Value = serde_json::from_slice(&std::fs::read(run.path("loop.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"], serde_json::json!([]));
    run.punctual(&words).refused(&["loop.xml", "choose another path"]);
    run.punctual(&["inspect", "--junit", "other.xml", "--", "sleep", "0"]).refused(&["--fail-on"]);
    run.punctual(&["inspect", "--cycles", "loop.xml", "--", "sleep", "0"])
        .refused(&["loop.xml", "choose another path"]);
}

#[test]
fn a_program_that_goes_on_is_ended_when_the_time_is_up() {
    let said = Run::new().punctual(&["inspect", "--no-trace", "--json", "--duration", "200ms", "--", "sleep", "1000"]);
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!(document["end"], "duration");
    let pid = document["program"]["pid"].as_u64().unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} still runs");
}

#[test]
fn a_dry_run_starts_nothing() {
    let run = Run::new();
    let file = run.path("made");
    let said = run.punctual(&["inspect", "--dry-run", "--", "touch", file.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("Would start and observe touch"), "{said:?}");
    assert!(!file.exists());
}

#[test]
fn what_cannot_be_inspected_is_refused_with_the_reason() {
    let run = Run::new();
    let here = std::process::id().to_string();
    for (words, parts) in [
        (vec!["4194304"], ["no process has the id 4194304", "ps -e"]),
        (vec!["no-program-has-this-name"], ["no running program is called", "ps -e"]),
        (vec![here.as_str(), "--thread", "no-such"], ["is called no-such", "ps -T"]),
        (vec!["--", "/no/such/program"], ["start /no/such/program", "No such file"]),
        (vec!["--fail-on", "alloca", "1"], ["alloca", "not one of alloc, fault"]),
        (vec!["--engine", "timerlat", "1"], ["timerlat", "bpf, tracefs"]),
        (vec!["--engine", "tracefs", "--no-trace", "1"], ["--engine", "--no-trace"]),
        (vec![], ["required", "PROGRAM"]),
    ] {
        run.punctual(&[&["inspect", "--duration", "100ms"], words.as_slice()].concat()).refused(&parts);
    }
}

#[cfg(not(feature = "bpf"))]
#[test]
fn an_engine_that_this_build_has_not_is_refused() {
    let here = std::process::id().to_string();
    let said = Run::new().punctual(&["inspect", "--engine", "bpf", &here]);
    said.refused(&["the engine that you asked for cannot be used", "this build of punctual does not contain it"]);
}
