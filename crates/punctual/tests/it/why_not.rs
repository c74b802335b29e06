//! Tests of `punctual check --why-not`, which tries what this user may do and changes nothing.

use crate::run::{Run, assert_fits};
use serde_json::Value;

#[test]
fn what_works_here_is_told_in_text_and_as_a_document() {
    let run = Run::new();
    let said = run.punctual(&["check", "--why-not", "--json"]);
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_fits("why-not-1", &document, "why-not");
    let of = |name: &str| {
        let mut tried = document["abilities"].as_array().unwrap().iter();
        tried.find(|one| one["ability"] == name).unwrap_or_else(|| panic!("{name} was not tried"))
    };
    let essential = ["real-time-priority", "lock-memory"].map(|name| of(name)["obstacle"].is_null());
    assert_eq!(said.code, if essential == [true, true] { 0 } else { 3 }, "{document}");
    let changes = of("change-settings")["obstacle"].is_null();
    assert_eq!(changes, rustix::process::geteuid().is_root());
    let text = run.punctual(&["check", "--why-not"]);
    assert_eq!(text.code, said.code);
    assert!(text.out.starts_with("Works here") && text.out.contains("punctual check"), "{text:?}");
    run.punctual(&["check", "--why-not", "--budget", "50us"]).refused(&["--why-not", "--budget"]);
}
