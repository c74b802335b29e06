//! `punctual audit` as a user runs it, on captured machines and on this one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn machine(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/machines/{name}.machine"))
}

fn audit(args: &[&str], captured: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.arg("audit").args(args);
    if let Some(name) = captured {
        command.arg("--machine").arg(machine(name));
    }
    command.output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn worst_comes_first_with_evidence_and_fix() {
    let output = audit(&["--cpus", "6-7"], Some("arm64-board"));
    let text = stdout(&output);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("no '{needle}' in\n{text}"));
    assert!(at("FATAL") < at("HIGH") && at("HIGH") < at("MEDIUM") && at("MEDIUM") < at("UNKNOWN"));
    assert!(at("UNKNOWN") < at("GOOD") && at("GOOD") < at("NOT APPLICABLE"));
    let line = text.lines().find(|line| line.contains("wq.unbound")).unwrap();
    assert!(line.contains("/sys/devices/virtual/workqueue/cpumask = ff -> echo 3f > "), "{line}");
    assert!(!text.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn exit_code_follows_what_counts_as_failure() {
    assert_eq!(code(&audit(&[], Some("one-cpu"))), 0);
    assert_eq!(code(&audit(&["--fail-on", "fail"], Some("one-cpu"))), 2);
    assert_eq!(code(&audit(&["--fail-on", "warn"], Some("one-cpu"))), 2);
    // Nothing bad is left there; what is unknown is no finding.
    assert_eq!(code(&audit(&["--fail-on", "warn", "--cpus", "2-3"], Some("rt-tuned"))), 0);
    assert_eq!(code(&audit(&["--fail-on", "fail"], Some("empty"))), 0);
}

#[test]
fn json_holds_every_field_and_null_where_there_is_nothing() {
    for name in ["empty", "container-without-sys", "rt-tuned", "arm64-board", "guest-2cpu", "one-cpu"] {
        let output = audit(&["--json"], Some(name));
        let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(document["schema"], "punctual/audit/1");
        assert_eq!(document["machine"].as_array().unwrap().len(), 6);
        let findings = document["findings"].as_array().unwrap();
        assert!(findings.len() >= 34);
        for finding in findings {
            for field in ["id", "title", "family", "severity", "why", "fix", "persist", "undo", "cost", "confidence"] {
                assert!(finding[field].as_str().is_some_and(|text| !text.is_empty()), "{name}: {field} of {finding}");
            }
            assert!(!finding["sources"].as_array().unwrap().is_empty());
            let has_reason = !finding["because"].is_null();
            match finding["state"].as_str().unwrap() {
                "good" | "bad" => assert!(!has_reason && !finding["evidence"].as_array().unwrap().is_empty()),
                "unknown" | "not-applicable" => assert!(has_reason),
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn one_knob_is_explained() {
    let output = audit(&["--explain", "irq.affinity", "--cpus", "6-7"], Some("arm64-board"));
    let text = stdout(&output);
    for part in ["bad", "80 (dw-mci) on 7", "why", "undo", "blast radius", "disturbing", "kernel/irq/proc.c"] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
}

#[test]
fn mistakes_are_told_with_a_remedy() {
    for (args, captured, parts) in [
        (&["--explain", "irq.afinity"][..], Some("empty"), &["irq.afinity", "irq.affinity"][..]),
        (&["--cpus", "9"], Some("rt-tuned"), &["CPU 9", "0-3"]),
        (&["--cpus", ""], Some("rt-tuned"), &["empty"]),
        (&["--cpus", "3-1"], Some("rt-tuned"), &["backwards"]),
        (&["--machine", "/does/not/exist"], None, &["/does/not/exist", "is the path right"]),
        (&["--machine", "/dev/null"], None, &["/dev/null", "punctual-machine 1"]),
        (&["--profile", "fast"], None, &["periodic"]),
    ] {
        let output = audit(args, captured);
        assert_eq!(code(&output), 1, "{args:?}");
        for part in parts {
            assert!(stderr(&output).contains(part), "no '{part}' in {}", stderr(&output));
        }
    }
}

#[test]
fn this_machine_gets_an_answer() {
    let output = audit(&[], None);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("kconf.flavour"));
}
