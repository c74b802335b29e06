//! `punctual audit` as a user runs it, on captured machines and on this one.

use crate::run::{Run, Said, assert_fits, captured};
use serde_json::Value;

fn audit(words: &[&str], name: Option<&str>) -> Said {
    let file = name.map(captured);
    let of: Vec<&str> = file.iter().flat_map(|path| ["--machine", path.as_str()]).collect();
    Run::new().punctual(&[&["audit"], words, &of[..]].concat())
}

#[test]
fn worst_comes_first_with_evidence_and_fix() {
    let output = audit(&["--cpus", "6-7"], Some("arm64-board"));
    let text = &output.out;
    assert_eq!(output.code, 0, "{}", output.err);
    let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("no '{needle}' in\n{text}"));
    assert!(at("FATAL") < at("HIGH") && at("HIGH") < at("MEDIUM") && at("MEDIUM") < at("UNKNOWN"));
    assert!(at("UNKNOWN") < at("GOOD") && at("GOOD") < at("NOT APPLICABLE"));
    assert!(!text.contains("there is one CPU") && audit(&["--all"], Some("one-cpu")).out.contains("there is one CPU"));
    let line = text.lines().find(|line| line.contains("wq.unbound")).unwrap();
    assert!(line.contains("/sys/devices/virtual/workqueue/cpumask = ff -> echo 3f > "), "{line}");
    assert!(!text.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn exit_code_follows_what_counts_as_failure() {
    assert_eq!(audit(&[], Some("one-cpu")).code, 0);
    assert_eq!(audit(&["--fail-on", "fail"], Some("one-cpu")).code, 2);
    assert_eq!(audit(&["--fail-on", "warn"], Some("one-cpu")).code, 2);
    // Nothing is bad, and unknown states do not count for --fail-on.
    assert_eq!(audit(&["--fail-on", "warn", "--cpus", "2-3"], Some("rt-tuned")).code, 0);
    // On a captured machine without files nothing can be checked, and with --fail-on that must not pass.
    assert_eq!(audit(&["--fail-on", "fail"], Some("empty")).code, 3);
    let blind = audit(&[], Some("empty"));
    assert_eq!(blind.code, 3);
    assert!(blind.out.contains("NOT AUDITED almost nothing could be read here"), "{}", blind.out);
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
    for name in MACHINES {
        for profile in ["periodic", "poll", "audio"] {
            let output = audit(&["--json", "--profile", profile], Some(name));
            let document: Value = serde_json::from_str(&output.out).unwrap();
            assert_fits("audit-3", &document, &format!("{name}, {profile}"));
            let findings = document["findings"].as_array().unwrap().len() as u64;
            let totals = document["totals"].as_object().unwrap().values();
            assert!(findings >= 34 && totals.map(|count| count.as_u64().unwrap()).sum::<u64>() == findings);
        }
    }
}

#[test]
fn every_form_keeps_the_exit_code_and_they_exclude_each_other() {
    for form in [&[][..], &["--all"], &["--json"], &["--markdown"], &["--sarif"], &["--junit"]] {
        let with = |more: &[&str]| audit(&[form, more].concat(), Some("one-cpu"));
        assert_eq!(with(&[]).code, 0, "{form:?}");
        let failed = with(&["--fail-on", "fail"]);
        assert_eq!(failed.code, 2, "{form:?}");
        assert!(failed.out.contains("kconf.flavour"), "{form:?}");
    }
    for args in [["--json", "--markdown"], ["--sarif", "--junit"], ["--json", "--sarif"]] {
        assert_eq!(audit(&args, Some("one-cpu")).code, 1, "{args:?}");
    }
    assert_eq!(audit(&["--explain", "mem.swap", "--junit"], Some("one-cpu")).code, 1);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    use std::process::Stdio;
    for form in ["--all", "--json", "--sarif"] {
        let run = Run::new();
        let mut command = run.command(&["audit", form, "--machine", &captured("arm64-board")]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = Said::of(child.wait_with_output().unwrap());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{form}");
    }
}

fn difference(words: &[&str], from: &str, to: &str) -> Said {
    audit(&[words, &["--diff", &captured(from), &captured(to)]].concat(), None)
}

#[test]
fn two_machines_are_compared() {
    for name in MACHINES {
        let same = difference(&["--fail-on", "warn"], name, name);
        assert_eq!((same.code, same.out.as_str()), (0, ""), "{name}");
    }
    let (stock, rt) = ("debian-12-stock-plain", "debian-12-rt-isolated");
    let better = difference(&[], stock, rt);
    let text = &better.out;
    for part in ["PREEMPT_RT", "+ isolcpus=managed_irq,domain,2-3", "Better in the second audit", "kconf.flavour"] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
    assert_eq!(better.code, 0);
    let stock = "debian-12-stock-isolated";
    assert_eq!(difference(&["--fail-on", "fail"], stock, rt).code, 0, "what is better fails nothing");
    assert_eq!(difference(&[], rt, stock).code, 0, "what is worse fails only where that is asked for");
    assert_eq!(difference(&["--fail-on", "fail"], rt, stock).code, 2);
    assert!(difference(&["--markdown"], rt, stock).out.contains("| `kconf.flavour` |"));
    assert_eq!(difference(&["--junit"], rt, stock).code, 1);
}

#[test]
fn differences_fit_their_schema() {
    for (from, to) in MACHINES.iter().zip(MACHINES.iter().skip(1)).chain([(&"empty", &"empty")]) {
        let document: Value = serde_json::from_str(&difference(&["--json"], from, to).out).unwrap();
        assert_fits("audit-diff-2", &document, &format!("{from} to {to}"));
    }
}

#[test]
fn one_knob_is_explained() {
    let output = audit(&["--explain", "irq.affinity", "--cpus", "6-7"], Some("arm64-board"));
    let text = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["bad", "80 (dw-mci) on 7", "why", "undo", "blast radius", "disturbing", "kernel/irq/proc.c"] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
}

#[test]
fn one_knob_is_explained_where_nothing_can_be_read() {
    let output = audit(&["--explain", "irq.affinity"], Some("empty"));
    let text = &output.out;
    for part in ["unknown", "in general", "smp_affinity_list", "a kernel of unknown version"] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
}

#[test]
fn mistakes_are_told_with_a_remedy() {
    for (args, name, parts) in [
        (&["--explain", "irq.afinity"][..], Some("empty"), &["irq.afinity", "irq.affinity"][..]),
        (&["--cpus", "9"], Some("rt-tuned"), &["CPU 9", "0-3"]),
        (&["--cpus", ""], Some("rt-tuned"), &["names no CPU"]),
        (&["--cpus", "3-1"], Some("rt-tuned"), &["backwards"]),
        (&["--machine", "/does/not/exist"], None, &["/does/not/exist", "is the path right"]),
        (&["--machine", "/dev/null"], None, &["/dev/null", "is not a regular file"]),
        (&["--machine", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], None, &["punctual-machine 1"]),
        (&["--profile", "fast"], None, &["periodic"]),
    ] {
        let output = audit(args, name);
        assert_eq!(output.code, 1, "{args:?}");
        for part in parts {
            assert!(output.err.contains(part), "no '{part}' in {}", output.err);
        }
    }
}

#[test]
fn a_system_in_a_folder_is_judged_by_what_it_holds() {
    let run = Run::new();
    let cpus = "processor\t: 0\n\nprocessor\t: 1\n\nprocessor\t: 2\n\nprocessor\t: 3\n";
    for (path, content) in [
        (
            "proc/version",
            "Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org) #1 SMP PREEMPT_DYNAMIC Debian\n",
        ),
        ("proc/cmdline", "ro quiet isolcpus=2-3 nohz_ful=2-3\n"),
        ("proc/cpuinfo", cpus),
        (
            "sos_commands/kernel/sysctl_-a",
            "kernel.arch = x86_64\nvm.compact_unevictable_allowed = 1\nvm.compaction_proactiveness = 20\n",
        ),
    ] {
        let place = run.path("system").join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }
    let said = run.punctual(&["audit", "--root", "system", "--cpus", "2-3", "--all", "--json"]);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_fits("audit-3", &document, "a system in a folder");
    let state = |id: &str| {
        let finding = document["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id);
        finding.unwrap_or_else(|| panic!("no {id}"))["state"].as_str().unwrap().to_owned()
    };
    assert_eq!([state("mem.compact"), state("irq.affinity"), state("trace.latencytop")], ["bad", "unknown", "unknown"]);
    let said = run.punctual(&["lint", "--root", "system"]);
    assert!(said.out.contains("nohz_ful=") && said.out.contains("nohz_full"), "{}", said.out);
    std::fs::create_dir(run.path("empty")).unwrap();
    run.punctual(&["audit", "--root", "empty"]).refused(&["--root empty", "not the root of an unpacked system"]);
    run.punctual(&["audit", "--root", "none"]).refused(&["--root none", "No such file"]);
    run.punctual(&["audit", "--root", "system", "--machine", "x"]).refused(&["--machine", "cannot be used with"]);
}

#[test]
fn this_machine_gets_an_answer() {
    let output = audit(&[], None);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("kconf.flavour"));
}

/// The output is pasted into bug reports, so it must not hold passwords from the command line.
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
        let text = &output.out;
        assert!(text.contains("cmdline.unknown") && !text.contains("hunter2"), "{form}: {text}");
    }
}
