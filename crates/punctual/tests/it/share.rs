//! `punctual share`: what is written, what is masked, and what is refused.

use crate::run::{Run, captured, repository};
use serde_json::Value;
use std::fs;

#[test]
fn a_recording_is_shared_with_a_masked_snapshot_and_passes_its_own_check() {
    let run = Run::new();
    run.recording("300ms");
    let machine = captured("guest-2cpu");
    let words = ["share", "r.punctual", "--machine", &machine, "-o", "shared.json"];
    let unasked = run.punctual(&words);
    assert!(unasked.code == 1 && unasked.err.contains("use --yes to continue without being asked"), "{unasked:?}");
    assert!(!run.path("shared.json").exists(), "nothing is written without consent");
    let said = run.punctual(&[words.as_slice(), &["--yes"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("shared.json will hold") && said.out.contains("sent nowhere"), "{said:?}");
    let text = fs::read_to_string(run.path("shared.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "punctual/atlas/1");
    assert!(document["snapshot"].as_str().unwrap().starts_with("punctual-machine 1"));
    assert_eq!(run.punctual(&["share", "--check", "shared.json"]).code, 0);
    let again = run.punctual(&[words.as_slice(), &["--yes", "-q"]].concat());
    again.refused(&["shared.json"]);
}

#[test]
fn a_result_of_another_program_needs_its_load_and_what_is_private_is_masked() {
    let run = Run::new();
    let file = repository("fixtures/foreign/latmus-rk3588-2h.txt").display().to_string();
    run.punctual(&["share", &file, "--yes"]).refused(&["--load", "what load the machine had"]);
    let facts = ["--load", "idle", "--fact", "model=box of 192.168.7.33", "--title", "a board"];
    let said = run.punctual(&[&["share", &file, "--yes", "-o", "s.json"], facts.as_slice()].concat());
    assert_eq!(said.code, 0, "{said:?}");
    let text = fs::read_to_string(run.path("s.json")).unwrap();
    assert!(!text.contains("192.168.7.33") && text.contains("box of "), "{text}");
    // The same by hand, which the check finds.
    fs::write(run.path("private.json"), text.replace("a board", "reach me at 192.168.7.33")).unwrap();
    fs::write(run.path("cut.json"), &text[..text.len() / 2]).unwrap();
    let said = run.punctual(&["share", "--check", "s.json", "private.json", "cut.json"]);
    assert_eq!(said.code, 2, "{said:?}");
    for line in ["s.json is sound", "private.json it contains something private", "cut.json it is no JSON"] {
        assert!(said.out.contains(line), "{line}: {said:?}");
    }
}

/// Entries of the repository hold nothing private.
#[test]
fn entries_of_the_atlas_pass_the_check() {
    let run = Run::new();
    let entries = fs::read_dir(repository("atlas/entries")).unwrap().map(|entry| entry.unwrap().path());
    let entries: Vec<String> = entries.map(|path| path.display().to_string()).collect();
    let mut words = vec!["share", "--check"];
    words.extend(entries.iter().map(String::as_str));
    let said = run.punctual(&words);
    assert_eq!(said.code, 0, "{said:?}");
}
