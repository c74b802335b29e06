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
    assert!(
        !text.contains("there is one CPU") && stdout(&audit(&["--all"], Some("one-cpu"))).contains("there is one CPU")
    );
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
    // Nobody could look: a gate must not open for that.
    assert_eq!(code(&audit(&["--fail-on", "fail"], Some("empty"))), 3);
    assert_eq!(code(&audit(&[], Some("empty"))), 0);
}

fn schema(name: &str) -> serde_json::Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.schema.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn assert_fits(schema: &serde_json::Value, document: &str, what: &str) {
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    let validator = jsonschema::validator_for(schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(wrong.is_empty(), "{what}: {}", wrong.join("; "));
}

const MACHINES: [&str; 8] = [
    "empty",
    "container-without-sys",
    "rt-tuned",
    "arm64-board",
    "guest-2cpu",
    "one-cpu",
    "debian-12-stock-plain",
    "debian-13-rt-isolated",
];

#[test]
fn json_fits_its_schema() {
    let schema = schema("audit-1");
    for name in MACHINES {
        for profile in ["periodic", "poll", "audio"] {
            let output = audit(&["--json", "--profile", profile], Some(name));
            assert_fits(&schema, &stdout(&output), &format!("{name}, {profile}"));
            let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
            let findings = document["findings"].as_array().unwrap().len() as u64;
            let totals = document["totals"].as_object().unwrap().values();
            assert!(findings >= 34 && totals.map(|count| count.as_u64().unwrap()).sum::<u64>() == findings);
        }
    }
}

/// Calls `see` for every object that describes properties.
fn every_property(schema: &serde_json::Value, path: &str, see: &mut dyn FnMut(&str, &serde_json::Value)) {
    let Some(object) = schema.as_object() else {
        return schema.as_array().into_iter().flatten().for_each(|item| every_property(item, path, see));
    };
    for (key, value) in object {
        let is_condition = matches!(key.as_str(), "if" | "then" | "else");
        if key == "properties" {
            value.as_object().unwrap().iter().for_each(|(name, property)| see(&format!("{path}/{name}"), property));
        }
        if !is_condition {
            every_property(value, &format!("{path}/{key}"), see);
        }
    }
}

#[test]
fn every_field_is_described() {
    for name in ["audit-1", "audit-diff-1"] {
        let mut seen = 0;
        every_property(&schema(name), name, &mut |path, property| {
            assert!(property["description"].as_str().is_some_and(|text| text.len() > 5), "{path}");
            seen += 1;
        });
        assert!(seen > 10, "{name}: {seen}");
    }
}

#[test]
fn every_form_keeps_the_exit_code_and_they_exclude_each_other() {
    for form in [&[][..], &["--all"], &["--json"], &["--markdown"], &["--sarif"], &["--junit"]] {
        let with = |more: &[&str]| audit(&[form, more].concat(), Some("one-cpu"));
        assert_eq!(code(&with(&[])), 0, "{form:?}");
        let failed = with(&["--fail-on", "fail"]);
        assert_eq!(code(&failed), 2, "{form:?}");
        assert!(stdout(&failed).contains("kconf.flavour"), "{form:?}");
    }
    for args in [["--json", "--markdown"], ["--sarif", "--junit"], ["--json", "--sarif"]] {
        assert_eq!(code(&audit(&args, Some("one-cpu"))), 1, "{args:?}");
    }
    assert_eq!(code(&audit(&["--explain", "mem.swap", "--junit"], Some("one-cpu"))), 1);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    use std::process::Stdio;
    for form in ["--all", "--json", "--sarif"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["audit", form, "--machine"]).arg(machine("arm64-board"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{form}");
    }
}

fn difference(args: &[&str], from: &str, to: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.arg("audit").args(args).arg("--diff").args([machine(from), machine(to)]).output().unwrap()
}

#[test]
fn two_machines_are_compared() {
    for name in MACHINES {
        let same = difference(&["--fail-on", "warn"], name, name);
        assert_eq!((code(&same), stdout(&same).as_str()), (0, ""), "{name}");
    }
    let (stock, rt) = ("debian-12-stock-plain", "debian-12-rt-isolated");
    let better = difference(&[], stock, rt);
    let text = stdout(&better);
    for part in ["PREEMPT_RT", "+ isolcpus=managed_irq,domain,2-3", "Better on the second", "kconf.flavour"] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
    assert_eq!(code(&better), 0);
    let stock = "debian-12-stock-isolated";
    assert_eq!(code(&difference(&["--fail-on", "fail"], stock, rt)), 0, "what is better fails nothing");
    assert_eq!(code(&difference(&[], rt, stock)), 0, "what is worse fails only where that is asked for");
    assert_eq!(code(&difference(&["--fail-on", "fail"], rt, stock)), 2);
    assert!(stdout(&difference(&["--markdown"], rt, stock)).contains("| `kconf.flavour` |"));
    assert_eq!(code(&difference(&["--junit"], rt, stock)), 1);
}

#[test]
fn differences_fit_their_schema() {
    let schema = schema("audit-diff-1");
    for (from, to) in MACHINES.iter().zip(MACHINES.iter().skip(1)).chain([(&"empty", &"empty")]) {
        let output = difference(&["--json"], from, to);
        assert_fits(&schema, &stdout(&output), &format!("{from} to {to}"));
    }
}

#[test]
fn one_knob_is_explained() {
    let output = audit(&["--explain", "irq.affinity", "--cpus", "6-7"], Some("arm64-board"));
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["bad", "80 (dw-mci) on 7", "why", "undo", "blast radius", "disturbing", "kernel/irq/proc.c"] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
}

#[test]
fn one_knob_is_explained_where_nothing_can_be_read() {
    let output = audit(&["--explain", "irq.affinity"], Some("empty"));
    let text = stdout(&output);
    for part in ["unknown", "in general", "smp_affinity_list", "a kernel of unknown version"] {
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
        (&["--machine", "/dev/null"], None, &["/dev/null", "is not a regular file"]),
        (&["--machine", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], None, &["punctual-machine 1"]),
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

/// What people paste into issues holds no password of the machine's owner.
#[test]
fn private_values_of_the_command_line_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.machine");
    let words = "quiet isolcpus=1 token=hunter2 rd.iscsi.password=hunter2 systemd.set_credential=a:hunter2 -- hunter2";
    let text = format!(
        "punctual-machine 1\n/proc/cmdline = {words}\n/proc/sys/kernel/osrelease = 6.12.1\n/proc/sys/kernel/arch = \
         x86_64\n/proc/sys/kernel/version = #1 SMP PREEMPT_RT\n/sys/devices/system/cpu/online = 0-1\n"
    );
    std::fs::write(&path, text).unwrap();
    for form in ["--all", "--json", "--markdown", "--sarif", "--junit", "--explain=cmdline.unknown"] {
        let output = audit(&[form, "--machine", path.to_str().unwrap()], None);
        let text = stdout(&output);
        assert!(text.contains("cmdline.unknown") && !text.contains("hunter2"), "{form}: {text}");
    }
}
