//! Runs the commands of the CI examples, and of the test definition for LAVA.

use crate::run::{Run, Said};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// The commands of `run:` lines that call this program, without `sudo`.
fn steps() -> Vec<Vec<String>> {
    let text = fs::read_to_string(fixtures::repository("examples/ci/github-actions.yml")).unwrap();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("run: "));
    lines
        .map(|line| line.trim_start_matches("sudo ").split(" > ").next().unwrap())
        .map(|line| line.split_whitespace().skip(1).map(str::to_owned).collect())
        .collect()
}

#[test]
fn gitlab_runs_the_same_commands() {
    let text = fs::read_to_string(fixtures::repository("examples/ci/gitlab-ci.yml")).unwrap();
    for words in steps() {
        let command = format!("punctual {}", words.join(" "));
        assert!(text.contains(&command), "{command}");
    }
}

#[test]
fn every_step_of_the_example_runs_and_leaves_what_it_uploads() {
    let run = Run::new();
    fs::write(
        run.path("punctual.toml"),
        "period = \"1s\"\nbudget = \"900ms\"\nduration = \"1s\"\nload = \"none\"\ncpus = \"0\"\n",
    )
    .unwrap();
    fs::write(run.path("my_loop"), "#!/bin/sh\nsleep 0.2\n").unwrap();
    fs::set_permissions(run.path("my_loop"), fs::Permissions::from_mode(0o755)).unwrap();
    let steps = steps();
    assert_eq!(
        steps.iter().map(|words| words[0].as_str()).collect::<Vec<_>>(),
        ["audit", "check", "inspect", "compare"]
    );
    for words in &steps {
        if words[0] == "compare" {
            fs::copy(run.path("latency.punctual"), run.path("baseline.punctual")).unwrap();
        }
        // Machines that run tests are never quiet, so the test shortens the time to wait for that.
        let words: Vec<&str> = words.iter().map(|word| if word == "60s" { "1ms" } else { word.as_str() }).collect();
        let said = run.punctual(&words);
        assert!([0, 2, 3].contains(&said.code), "{words:?}: {said:?}");
    }
    for file in ["latency.punctual", "latency.html", "latency.xml", "loop.xml", "loop.sarif"] {
        assert!(run.path(file).exists(), "{file}");
    }
    assert!(fs::read_to_string(run.path("latency.xml")).unwrap().contains("<testsuite"));
    let again = ["check", "--cpus", "0", "--duration", "1s", "--junit", "latency.xml"];
    run.punctual(&again).refused(&["latency.xml is there already", "another --junit"]);
    let newest = run.punctual(&["report", "--brief"]);
    assert!(newest.err.contains("taking the newest of this folder: ") && newest.out.lines().count() == 1, "{newest:?}");
}

/// The steps run in one shell that ends at the first error, as LAVA runs them.
#[test]
fn every_step_of_the_lava_definition_runs_and_each_test_case_has_a_result() {
    let run = Run::new();
    let text = fs::read_to_string(fixtures::repository("contrib/lava/punctual.yaml")).unwrap();
    let (_, steps) = text.split_once("  steps:\n").unwrap();
    let steps = steps.lines().map(|line| line.strip_prefix("    - ").unwrap()).collect::<Vec<_>>().join("\n");
    let params = "PERIOD=1s BUDGET=900ms DURATION=2s\nlava-test-case() { echo \"case: $*\"; }\n";
    let program = format!("punctual() {{ {} \"$@\"; }}\n", env!("CARGO_BIN_EXE_punctual"));
    let mut shell = Command::new("bash");
    shell.args(["-ec", &format!("{params}{program}{steps}")]).current_dir(run.path(".")).env("LC_ALL", "C");
    let said = Said::of(shell.output().unwrap());
    let cases =
        |name: &str| said.out.lines().filter(|line| line.starts_with(&format!("case: {name} --result "))).count();
    assert_eq!((said.code, cases("punctual-check"), cases("punctual-audit")), (0, 1, 1), "{said:?}");
    assert!(said.out.contains("<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=") && said.out.contains("UNITS=us"), "{said:?}");
}
