//! Tests the document against its schema: a printed document fits, and a changed one does not.

use super::*;
use crate::render::document::schema::{assert_valid, validator};
use crate::render::golden::{of, root};
use crate::render::sample;
use punctual_numbers::claims::Sign;
use punctual_numbers::explain::Rhythm;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

fn document(report: &Report) -> Value {
    assert_valid(&Document::of(of(report, &root(), Some(Path::new("run.punctual")))))
}

#[test]
fn every_sample_is_valid() {
    for (name, report) in sample::all() {
        assert_eq!(document(&report)["cpus"].as_array().map(Vec::len), Some(report.cpus.len()), "{name}");
    }
}

#[test]
fn a_wrong_document_is_refused() {
    let validator = validator::<Document<'_>>();
    let right = document(&sample::two_cpus());
    let wrongs: [(&str, Value); 9] = [
        ("/schema", json!("punctual/check/1")),
        ("/verdict", json!("maybe")),
        ("/need/period_ns", json!(-1)),
        ("/need/budget_ns", json!("50us")),
        ("/cpus/0/latency_ns/p99", json!(12.5)),
        ("/cpus/0/due", Value::Null),
        ("/trust/ok", json!("yes")),
        ("/findings/0/state", json!("red")),
        ("/need/cpus", json!([0, 1])),
    ];
    for (place, wrong) in wrongs {
        let mut document = right.clone();
        *document.pointer_mut(place).unwrap() = wrong;
        assert!(!validator.is_valid(&document), "{place}");
    }
    for place in ["", "/need", "/cpus/0", "/cpus/0/latency_ns", "/trust", "/findings/0"] {
        let mut document = right.clone();
        document.pointer_mut(place).unwrap()["surprise"] = json!(1);
        assert!(!validator.is_valid(&document), "surprise in '{place}'");
    }
}

/// The book has a row for the code of each refusal and sign, with the code in the row's first cell.
#[test]
fn the_codes_are_those_of_the_book() {
    let rhythm = Rhythm { period: punctual_hist::Nanos::from_secs(1), chance: 1e-9, fitting: (30, 32) };
    let signs = [
        Sign::Rhythm { cpu: 0, rhythm, activations: None, ticks: None },
        Sign::EveryNth { cpu: 0, activations: 4 },
        Sign::Modes { cpu: 0, hills: Vec::new() },
    ];
    let refusals = words::claims::examples();
    let values = refusals.iter().map(|one| json!(one)).chain(signs.iter().map(|one| json!(one)));
    let codes: BTreeSet<String> = values.map(|value: Value| value["code"].as_str().unwrap().to_owned()).collect();
    let book = include_str!("../../../../../book/src/claims.md");
    let first_cells = book.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let told: BTreeSet<String> = first_cells.flat_map(|cell| cell.split('`').step_by(2)).map(str::to_owned).collect();
    assert_eq!(told, codes);
}

#[test]
fn absent_numbers_are_null() {
    let empty = document(&sample::empty());
    for point in ["min", "mean", "p50", "p99", "p99_9", "p99_99", "max"] {
        for view in ["latency_ns", "latency_due_ns"] {
            assert_eq!(empty.pointer(&format!("/cpus/0/{view}/{point}")), Some(&Value::Null), "{view} {point}");
        }
    }
    assert_eq!(empty["miss_probability_upper"], Value::Null);
    assert_eq!(document(&sample::no_budget())["need"]["budget_ns"], Value::Null);
    assert_eq!(document(&sample::cut_off())["end"], Value::Null);
    let nowhere: Value = serde_json::from_str(&check(of(&sample::two_cpus(), &root(), None)).unwrap()).unwrap();
    assert_eq!(nowhere["recording"], Value::Null);
}

#[test]
fn the_numbers_are_those_of_the_report() {
    let report = sample::skipped();
    let document = document(&report);
    assert_eq!(document["verdict"], "not-held");
    assert_eq!(document["cpus"][0]["skipped"], report.cpus[0].row.skipped);
    assert_eq!(document["cpus"][0]["latency_due_ns"]["p99"], report.cpus[0].row.latency_due.p99.unwrap().as_ns());
    assert_eq!(document["trust"]["ok"], false, "a load did not run");
    assert_eq!(document["started"], "2025-11-21T09:41:17Z");
    assert_eq!(document["recording"], "run.punctual");
    let look = json!({
        "code": "look-for-causes",
        "text": "Find the cause first, in a run that looks for it:",
        "command": "punctual check --period 1ms --budget 50us --cpus 0-1 --duration 10s",
    });
    let change = json!({
        "code": "change",
        "ids": ["dyn.preempt"],
        "text": "Change 1 setting that the audit calls bad (the plan is shown first; the changes can be undone): Then measure again.",
        "command": "punctual tune --cpus 0-1 --only dyn.preempt",
    });
    assert_eq!([&document["next"][0], &document["next"][1]], [&look, &change]);
    let codes = document["next"].as_array().unwrap().iter().map(|step| step["code"].as_str().unwrap());
    assert_eq!(codes.collect::<Vec<_>>(), ["look-for-causes", "change", "repeat", "look-at-skips", "audit-as-root"]);
    let machine = &document["machine"];
    assert_eq!((&machine["online_cpus"], &machine["isolated_cpus"]), (&json!("0-7"), &json!("2-3")));
    assert_eq!((&machine["smt"], &machine["is_guest"]), (&json!(false), &json!(false)));
    assert_eq!(machine["idle_states"][1], json!({ "name": "cpu-sleep", "exit_ns": 133_000 }));
    assert_eq!(machine["others"], json!({ "bench": "left, lid closed" }));
}

#[test]
fn every_reason_to_doubt_has_a_code_of_its_own_and_validates() {
    let mut report = sample::two_cpus();
    report.trust.reasons = sample::every_distrust();
    let document = document(&report);
    let codes: BTreeSet<&str> =
        document["trust"]["reasons"].as_array().unwrap().iter().map(|r| r["code"].as_str().unwrap()).collect();
    assert_eq!(codes.len(), report.trust.reasons.len() - 1, "only the two reasons for too few share one");
    assert_eq!(document["trust"]["ok"], false);
}
