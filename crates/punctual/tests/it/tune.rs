//! Tests of `punctual tune` on captured machines, up to its question, and of what it refuses.

use crate::run::{Run, Said, assert_fits, repository};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Every captured machine below `fixtures/` that a plan can be asked for.
fn machines() -> Vec<PathBuf> {
    let folders = ["fixtures/machines", "fixtures/boot", "fixtures/plans"].map(repository);
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let mut machines: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "machine")).collect();
    machines.sort();
    assert!(machines.len() > 50, "{}", machines.len());
    machines
}

fn plan(machine: &Path, words: &[&str]) -> Said {
    let machine = machine.to_str().unwrap();
    Run::new().punctual(&[&["tune", "--dry-run", "--machine", machine], words].concat())
}

fn plan_of(name: &str, words: &[&str]) -> Said {
    plan(&repository(&format!("fixtures/machines/{name}.machine")), words)
}

fn json_of(name: &str, words: &[&str]) -> Value {
    let said = plan_of(name, &[&["--json"], words].concat());
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    document["plan"].clone()
}

fn ids(document: &Value, part: &str) -> Vec<String> {
    document[part].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_captured_machine_gets_a_plan_or_a_reason() {
    let (mut planned, mut with_changes) = (0, 0);
    for machine in machines() {
        for profile in ["periodic", "poll"] {
            let said = plan(&machine, &["--json", "--profile", profile, "--blast", "any"]);
            let what = format!("{}, {profile}", machine.display());
            assert!(!said.err.contains("panicked"), "{what}: {said:?}");
            if said.code == 1 {
                said.refused(&["no plan for these CPUs: "]);
                continue;
            }
            assert_eq!(said.code, 0, "{what}: {said:?}");
            let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_fits("tune-2", &document, &what);
            planned += 1;
            with_changes += usize::from(!document["plan"]["changes"].as_array().unwrap().is_empty());
        }
    }
    assert!(planned > 80 && with_changes > 30, "{planned} plans, {with_changes} of them with changes");
}

/// Compares a text with a committed file. `BLESS=1 cargo test` rewrites the file.
#[track_caller]
fn assert_golden(name: &str, text: &str) {
    fixtures::check(&repository(&format!("crates/punctual/tests/golden/{name}")), text);
}

#[test]
fn a_plan_as_a_terminal_shows_it() {
    for (name, machine, words) in [
        ("rt-guest.tune.txt", "machines/debian-13-rt-plain", &["--until-reboot"][..]),
        ("board.tune.txt", "machines/arm64-board", &["--cpus", "6-7", "--until-reboot", "--blast", "any"]),
    ] {
        let said = plan(&repository(&format!("fixtures/{machine}.machine")), words);
        assert_eq!(said.code, 0, "{name}: {said:?}");
        assert!(said.out.lines().all(|line| line.chars().count() <= 80), "{name}: wider than a terminal");
        assert_golden(name, &said.out);
    }
}

#[test]
fn the_same_machine_gets_the_same_plan() {
    assert_eq!(plan_of("debian-12-stock-plain", &[]).out, plan_of("debian-12-stock-plain", &[]).out);
}

#[test]
fn cpus_that_cannot_be() {
    plan_of("guest-2cpu", &["--cpus", "40"]).refused(&["CPU 40 does not exist", "0-1"]);
    plan_of("guest-2cpu", &["--cpus", "0-1"]).refused(&["all the CPUs there are", "Leave out"]);
    plan_of("one-cpu", &[]).refused(&["one CPU"]);
    plan_of("empty", &[]).refused(&["not known"]);
    plan_of("guest-2cpu", &["--cpus", ""]).refused(&["names no CPU"]);
    plan_of("guest-2cpu", &["--cpus", "1-0"]).refused(&["backwards"]);
}

/// No machine has the CPUs of both, so a program that looked at the one that it runs on would be wrong about one of them.
#[test]
fn what_is_printed_for_another_machine_is_about_its_cpus() {
    let words = |flavour| ["--print", "cmdline", "--cpus", "6-7", "--flavour", flavour];
    for (flavour, expected) in
        [("rt", "irqaffinity=0-5"), ("cobalt", "xenomai.supported_cpus=0xc1"), ("evl", "evl.oobcpus=6-7")]
    {
        let said = plan_of("arm64-board", &words(flavour));
        assert!(said.code == 0 && said.out.contains(expected), "{flavour}: {said:?}");
        plan_of("guest-2cpu", &words(flavour)).refused(&["CPUs 6-7 do not exist", "0-1"]);
    }
}

#[test]
fn words_that_make_no_sense_are_refused_by_name() {
    plan_of("guest-2cpu", &["--only", "mem.stat_intervl"])
        .refused(&["mem.stat_intervl", "did you mean mem.stat_interval"]);
    plan_of("guest-2cpu", &["--except", "irq.afinity"]).refused(&["irq.afinity", "irq.affinity"]);
    let said = plan_of("guest-2cpu", &["--only", "no-such-thing-at-all"]);
    said.refused(&["no-such-thing-at-all", "audit --all"]);
    plan_of("guest-2cpu", &["--blast", "everything"]).refused(&["everything", "harmless", "disturbing", "any"]);
    plan_of("guest-2cpu", &["--print", "lilo"]).refused(&["lilo", "extlinux"]);
    let run = Run::new();
    run.punctual(&["tune", "--machine", "missing.machine"]).refused(&["missing.machine"]);
    run.punctual(&["tune", "--dry-run", "--for", "true"]).refused(&["--dry-run", "--for"]);
    run.punctual(&["tune", "--dry-run", "--confirm-within", "5m"]).refused(&["--confirm-within"]);
    run.punctual(&["tune", "--confirm-within", "5"]).refused(&["unit"]);
    run.punctual(&["revert", "--to", "last"]).refused(&["last"]);
}

#[test]
fn only_and_except_choose_knobs() {
    let all = ids(&json_of("debian-13-rt-plain", &[]), "changes");
    assert!(all.contains(&"irq.affinity".to_owned()) && all.contains(&"wq.unbound".to_owned()), "{all:?}");
    assert_eq!(ids(&json_of("debian-13-rt-plain", &["--only", "wq.unbound"]), "changes"), ["wq.unbound"]);
    let without = ids(&json_of("debian-13-rt-plain", &["--except", "wq.unbound,irq.affinity"]), "changes");
    assert!(!without.is_empty() && without.iter().all(|id| id != "wq.unbound" && id != "irq.affinity"), "{without:?}");
    // A knob that the user names is changed even if it would otherwise be left alone.
    let named = json_of("debian-13-rt-plain", &["--only", "mem.stat_interval"]);
    assert_eq!(ids(&named, "changes"), ["mem.stat_interval"]);
    assert!(!all.contains(&"mem.stat_interval".to_owned()));
}

#[test]
fn a_change_above_the_allowed_blast_is_listed_and_left() {
    let radii = ["harmless", "disturbing", "breaking"];
    let mut before = 0;
    for (allowed, blast) in ["harmless", "disturbing", "any"].into_iter().enumerate() {
        let document = json_of("arm64-board", &["--blast", blast, "--until-reboot"]);
        let changes = document["changes"].as_array().unwrap();
        for change in changes {
            let radius = radii.iter().position(|radius| change["blast"] == *radius).unwrap();
            assert!(radius <= allowed, "{blast}: {change}");
        }
        assert!(changes.len() > before, "{blast} allows no more than the one before");
        before = changes.len();
        let left = document["left"].as_array().unwrap().iter();
        let left_for_blast = left.filter(|left| left["reason"]["code"] == "blast").count();
        assert_eq!(left_for_blast == 0, blast == "any", "{blast}");
    }
}

#[test]
fn what_is_asked_until_the_next_boot_touches_no_file_and_no_boot_loader() {
    let document = json_of("debian-13-rt-plain", &["--until-reboot"]);
    for change in document["changes"].as_array().unwrap() {
        assert_ne!(change["lasts"], "for-good", "{change}");
        for step in change["steps"].as_array().unwrap() {
            assert!(!matches!(step["kind"].as_str().unwrap(), "own" | "edit" | "remove"), "{step}");
        }
    }
    assert_eq!(document["starts"]["how"], "not-needed");
}

#[test]
fn without_a_boot_loader_no_word_is_said_to_be_changed() {
    let document = json_of("debian-13-rt-plain", &[]);
    let limits = document["limits"].to_string();
    assert!(limits.contains("no boot loader was found"), "{limits}");
    let left = document["left"].as_array().unwrap();
    let isolation = left.iter().find(|left| left["id"] == "iso.domain").unwrap();
    assert!(isolation["reason"]["because"].as_str().unwrap().contains("command line stays as it is"), "{isolation}");
    assert!(!ids(&document, "changes").contains(&"iso.domain".to_owned()));
    assert!(document["changes"].as_array().unwrap().iter().all(|change| change["lasts"] != "for-good"));
}
