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
fn json_fits_its_schema() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/audit-1.schema.json");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for name in ["empty", "container-without-sys", "rt-tuned", "arm64-board", "guest-2cpu", "one-cpu"] {
        for profile in ["periodic", "poll", "audio"] {
            let output = audit(&["--json", "--profile", profile], Some(name));
            let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
            let wrong: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
            assert!(wrong.is_empty(), "{name}, {profile}: {}", wrong.join("; "));
            assert!(document["findings"].as_array().unwrap().len() >= 34);
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
        (&["--cpus", ""], Some("rt-tuned"), &["names no CPU"]),
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
