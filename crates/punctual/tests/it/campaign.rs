//! Campaigns: short ones to their end, interrupted ones, and files with mistakes.

use crate::run::{Run, repository, until};

/// The text with plain blanks in place of the narrow ones between numbers and nouns.
fn plain(text: &str) -> String {
    text.replace('\u{202f}', " ")
}

const SHORT: &str = r#"title = "Two waits"
repetitions = 2
[need]
period = "1ms"
duration = "300ms"
cpus = "0"
[[cell]]
name = "sleep"
published = [{ of = "a PC", what = "max", value = "40us" }, { of = "a PC", what = "max", cpu = 99, value = "40us" }]
[[cell]]
name = "hybrid"
mechanism = "hybrid"
[[compare]]
first = "sleep"
second = "hybrid"
question = "Does polling help?"
"#;

#[test]
fn a_campaign_runs_to_its_end_and_its_result_can_be_shown_again() {
    let run = Run::new();
    std::fs::write(run.path("two.toml"), SHORT).unwrap();
    let plan = run.punctual(&["campaign", "two.toml", "--dry-run"]);
    assert!(plain(&plan.out).contains("2 cells, each 2 times") && !run.path("c").exists(), "{}", plan.out);
    let said = run.beside_others(&["campaign", "two.toml", "--out", "c"]);
    for part in ["Two waits", "Does polling help? hybrid against sleep", "a PC", "Each cell was to be measured 2 times"]
    {
        assert!(plain(&said.out).contains(part), "no '{part}' in {}", said.out);
    }
    for name in ["result.html", "result.json", "result.txt", "sleep-0002.punctual", "hybrid-0001.punctual"] {
        assert!(run.path("c").join(name).exists(), "{name}");
    }
    let again = run.beside_others(&["campaign", "--resume", "c", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(document["schema"], "punctual/campaign/1");
    assert!(document["cells"][0]["scenario"].as_str().unwrap().ends_with("Load: idle."), "{}", again.out);
    let cells = document["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["runs"] == 2 && cell["refused"].is_null()), "{}", again.out);
    assert!(cells[0]["published"][0]["here_ns"].is_u64() && cells[0]["published"][1]["here_ns"].is_null());
    // A folder is never used twice.
    run.beside_others(&["campaign", "two.toml", "--out", "c"]).refused(&["make the folder", "--out"]);
}

#[test]
fn whoever_is_interrupted_goes_on_where_it_was() {
    let run = Run::new();
    std::fs::write(run.path("two.toml"), SHORT.replace("300ms", "2s")).unwrap();
    let mut child = run.command_beside_others(&["campaign", "two.toml", "--out", "c"]).spawn().unwrap();
    let state = run.path("c").join("experiment.json");
    let is_saved = || std::fs::read_to_string(&state).is_ok_and(|text| text.contains("\"measured\""));
    until("the first measurement is saved", is_saved);
    child.kill().unwrap();
    child.wait().unwrap();
    let made = |text: &str| text.matches("\"repetition\":").count();
    let before = made(&std::fs::read_to_string(&state).unwrap());
    // The text of the file as it was counts, though the file is gone.
    std::fs::remove_file(run.path("two.toml")).unwrap();
    let text = std::fs::read_to_string(&state).unwrap().replace("duration = \\\"2s\\\"", "duration = \\\"300ms\\\"");
    std::fs::write(&state, text).unwrap();
    let said = run.beside_others(&["campaign", "--resume", "c", "-q"]);
    assert!(plain(&said.out).starts_with("campaign: 2 cells, 0 refused"), "{}{}", said.out, said.err);
    assert_eq!((made(&std::fs::read_to_string(&state).unwrap()), before >= 1), (4, true));
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    let run = Run::new();
    let refused = |text: &str, parts: &[&str]| {
        std::fs::write(run.path("x.toml"), text).unwrap();
        run.punctual(&["campaign", "x.toml", "--dry-run"]).refused(parts);
    };
    refused(&SHORT.replace("duration", "duraton"), &["x.toml, line 5, column 1", "did you mean 'duration'?"]);
    refused(&SHORT.replace("300ms", "300"), &["line 5, column 12", "unit"]);
    refused(&SHORT.replace("cpus = \"0\"", "cpus = \"4000\""), &["cell 'sleep'"]);
    run.punctual(&["campaign", "gone.toml"]).refused(&["read the campaign file gone.toml"]);
    run.punctual(&["campaign", "--resume", "."]).refused(&["no campaign was begun here"]);
    std::fs::write(run.path("experiment.json"), "{\"schema\": \"other\"}").unwrap();
    run.punctual(&["campaign", "--resume", "."]).refused(&["'other'"]);
}

/// The published studies, shortened until only a few activations of each cell are left. The one that changes the machine
/// is only planned.
#[test]
fn the_published_campaigns_run_to_their_end() {
    let run = Run::new();
    let example = |name: &str| repository(&format!("examples/campaigns/{name}.toml")).display().to_string();
    for (name, factor) in [("board-3-days", "1000000"), ("suite-2002", "100"), ("delay-10us", "600")] {
        let said = run.beside_others(&["campaign", &example(name), "--shorten", factor, "--out", name, "-q"]);
        assert!(
            plain(&said.out).starts_with("campaign: ") && said.out.contains(" 0 refused"),
            "{name}: {}{}",
            said.out,
            said.err
        );
        assert!(std::fs::read_to_string(run.path(name).join("result.html")).unwrap().contains("<svg"), "{name}");
    }
    let plan = run.punctual(&["campaign", &example("tuning-guide"), "--dry-run"]);
    assert!(plain(&plan.out).contains("32 measurements") && plan.out.contains("2 cells need a boot"), "{}", plan.out);
}
