//! Documents as a whole, and text that must be escaped in them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;

fn rule() -> Rule {
    Rule {
        id: "cmdline.unknown".to_owned(),
        short: "Words the kernel knows".to_owned(),
        full: "A word the kernel does not know does nothing.".to_owned(),
        help: "Take it out.".to_owned(),
        level: Level::Warning,
        tags: vec!["command line".to_owned()],
    }
}

fn one(message: &str, kind: ResultKind, places: Vec<Place>) -> Value {
    let checked = Checked { rule: "cmdline.unknown".to_owned(), kind, message: message.to_owned(), places };
    let facts = [("kernel", "6.12").into()];
    let log: Value = serde_json::from_str(&document(&[rule()], &[checked], &facts)).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["properties"]["kernel"], "6.12");
    log["runs"][0]["results"][0].clone()
}

#[test]
fn a_word_of_a_file_has_its_place() {
    let region = Some(Region { line: 3, columns: Some((8, 17)) });
    let place = Place::File { path: "image/boot args/cmdline ä.txt".into(), region };
    let result =
        one("no such word", ResultKind::Fail(Level::Error), vec![place, Place::Named("/proc/cmdline".to_owned())]);
    assert_eq!((&result["ruleIndex"], &result["kind"], &result["level"]), (&0.into(), &"fail".into(), &"error".into()));
    let location = &result["locations"][0];
    let physical = &location["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "image/boot%20args/cmdline%20%C3%A4.txt");
    assert_eq!(physical["region"]["startLine"], 3);
    assert_eq!((&physical["region"]["startColumn"], &physical["region"]["endColumn"]), (&8.into(), &17.into()));
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "/proc/cmdline");
    assert_eq!(uri(Path::new("/a b")), "file:///a%20b");
}

#[test]
fn only_a_fault_has_a_level() {
    for (outcome, kind) in [
        (ResultKind::Pass, "pass"),
        (ResultKind::Open, "open"),
        (ResultKind::Review, "review"),
        (ResultKind::NotApplicable, "notApplicable"),
    ] {
        let result = one("", outcome, Vec::new());
        assert_eq!((&result["kind"], &result["level"]), (&kind.into(), &"none".into()));
        assert_eq!(result["locations"], Value::Array(Vec::new()));
    }
}

#[test]
fn a_message_is_neither_link_nor_pattern() {
    let result = one("[here](http://x) {0}", ResultKind::Fail(Level::Note), Vec::new());
    assert_eq!(result["message"]["text"], "[here] (http://x) {{0}}");
}
