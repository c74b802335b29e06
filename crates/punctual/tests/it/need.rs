//! Tests of the need that a project file states.

use crate::run::Run;
use std::fs;

#[test]
fn a_project_file_is_written_once_and_read_by_every_command() {
    let run = Run::new();
    run.punctual(&["init"]).refused(&["no terminal for questions", "init --profile ethercat"]);
    run.punctual(&["init", "--profile", "ethercta"]).refused(&["ethercat, robotics"]);
    let said = run.punctual(&["init", "--profile", "cnc", "--budget", "900us", "--cpus", "0"]);
    let written = "  preset = \"cnc\"\n  budget = \"900us\"\n  cpus = \"0\"\n\nNext: sudo punctual check\n";
    assert!(said.code == 0 && said.out.starts_with("Wrote punctual.toml:") && said.out.ends_with(written), "{said:?}");
    run.punctual(&["init", "--profile", "plc"]).refused(&["punctual.toml exists already", "--replace"]);
    run.punctual(&["init", "--profile", "plc", "--budget", "4ms", "--replace"])
        .refused(&["not below the period of 4ms"]);
    let report = run.json(&["measure", "--policy", "other", "--duration", "20ms", "--load", "none", "--json"]);
    assert_eq!((&report["need"]["budget_ns"], &report["need"]["cpus"]), (&900_000.into(), &"0".into()));
    let typed = ["measure", "--policy", "other", "--duration", "20ms", "--load", "none", "--budget", "800us", "--json"];
    assert_eq!(run.json(&typed)["need"]["budget_ns"], 800_000, "what is typed counts");
    let audit = run.json(&["audit", "--json"]);
    assert_eq!(audit["need"]["cpus"], "0", "{audit:#}");
    let said = run.punctual(&["init", "--profile", "plc", "--replace"]);
    assert!(said.code == 0 && said.out.starts_with("Replaced punctual.toml:"), "{said:?}");
    let file = fs::read_to_string(run.path("punctual.toml")).unwrap();
    assert!(file.ends_with("\npreset = \"plc\"\n"), "{file}");
}

#[test]
fn without_a_recording_in_the_folder_it_is_said_how_to_make_one() {
    for verb in [&["report"][..], &["explain"], &["compare"], &["report", "--plot"]] {
        Run::new()
            .punctual(verb)
            .refused(&["no readable recording (*.punctual) is in this folder", "sudo punctual check"]);
    }
}

#[test]
fn what_is_wrong_in_a_project_file_is_told_with_its_place() {
    let run = Run::new();
    fs::write(run.path("punctual.toml"), "period = \"1ms\"\nbudgt = \"50us\"\n").unwrap();
    for verb in ["check", "audit", "tune", "measure"] {
        run.punctual(&[verb]).refused(&["punctual.toml", "line 2", "budget"]);
    }
    run.punctual(&["audit", "--config", "other.toml"]).refused(&["other.toml"]);
    run.punctual(&["audit", "--profile", "cnc", "--profile", "plc"]).refused(&["--profile", "multiple times"]);
}

#[test]
fn verbs_print_one_line_for_scripts() {
    let run = Run::new();
    let machine = crate::run::captured("debian-13-rt-plain");
    let (a, b) = (run.recording("100ms").to_owned(), "b.punctual");
    fs::copy(run.path(&a), run.path(b)).unwrap();
    for (words, starts) in [
        (&["audit", "--machine", &machine, "-q"][..], "BAD cpus="),
        (&["audit", "--machine", &machine, "--quiet"], "BAD cpus="),
        (&["tune", "--machine", &machine, "--cpus", "1", "--brief"], "PLAN cpus=1 changes="),
        (&["compare", &a, b, "-q", "--anyway"], "NOT ENOUGH DATA better=0 worse=0 trust="),
    ] {
        let said = run.punctual(words);
        assert!(said.out.starts_with(starts) && said.out.lines().count() == 1, "{words:?}: {said:?}");
    }
    for words in [
        &["audit", "-q", "--json"][..],
        &["compare", "-q", "--full"],
        &["explain", "-q", "--spike", "1"],
        &["revert", "-q", "--json"],
    ] {
        run.punctual(words).refused(&["cannot be used with"]);
    }
}
