//! The document against its schema: what is written validates, what is wrong does not.

use super::*;
use crate::render::sample;
use serde_json::{Value, json};

const SCHEMA_TEXT: &str = include_str!("../../../../../schemas/check-1.schema.json");

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(SCHEMA_TEXT).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn document(report: &Report) -> Value {
    serde_json::from_str(&check(report, Some(Path::new("run.punctual")))).unwrap()
}

#[test]
fn every_sample_is_valid() {
    let validator = validator();
    for (name, report) in sample::all() {
        let document = document(&report);
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

#[test]
fn a_wrong_document_is_refused() {
    let validator = validator();
    let right = document(&sample::two_cpus());
    assert!(validator.is_valid(&right));
    let wrongs: [(&str, Value); 9] = [
        ("/schema", json!("punctual/check/2")),
        ("/verdict", json!("maybe")),
        ("/need/period_ns", json!(-1)),
        ("/need/budget_ns", json!("50us")),
        ("/cpus/0/latency_ns/p99", json!(12.5)),
        ("/cpus/0/due", Value::Null),
        ("/trust/ok", json!("yes")),
        ("/findings/0/state", json!("red")),
        ("/miss_probability_upper_95", json!(1.5)),
    ];
    for (place, wrong) in wrongs {
        let mut document = right.clone();
        *document.pointer_mut(place).unwrap() = wrong;
        assert!(!validator.is_valid(&document), "{place}");
    }
}

#[test]
fn what_is_missing_or_unknown_is_refused() {
    let validator = validator();
    let right = document(&sample::two_cpus());
    for name in right.as_object().unwrap().keys() {
        let mut document = right.clone();
        document.as_object_mut().unwrap().remove(name);
        assert!(!validator.is_valid(&document), "without {name}");
    }
    for place in ["", "/need", "/cpus/0", "/cpus/0/latency_ns", "/trust", "/findings/0"] {
        let mut document = right.clone();
        document.pointer_mut(place).unwrap().as_object_mut().unwrap().insert("surprise".to_owned(), json!(1));
        assert!(!validator.is_valid(&document), "surprise in '{place}'");
    }
}

#[test]
fn absent_numbers_are_null() {
    let empty = document(&sample::empty());
    for point in ["min", "mean", "p50", "p99", "p99_9", "p99_99", "max"] {
        for view in ["latency_ns", "latency_due_ns"] {
            assert_eq!(empty.pointer(&format!("/cpus/0/{view}/{point}")), Some(&Value::Null), "{view} {point}");
        }
    }
    assert_eq!(empty["miss_probability_upper_95"], Value::Null);
    assert_eq!(document(&sample::no_budget())["need"]["budget_ns"], Value::Null);
    assert_eq!(document(&sample::cut_off())["end"], Value::Null);
    let nowhere: Value = serde_json::from_str(&check(&sample::two_cpus(), None)).unwrap();
    assert_eq!(nowhere["recording"], Value::Null);
}

#[test]
fn the_numbers_are_those_of_the_report() {
    let report = sample::skipped();
    let document = document(&report);
    assert_eq!(document["verdict"], "not-held");
    assert_eq!(document["cpus"][0]["skipped"], report.cpus[0].row.skipped);
    assert_eq!(document["cpus"][0]["latency_due_ns"]["p99"], report.cpus[0].row.latency_due.p99.unwrap().as_ns());
    assert_eq!(document["trust"]["ok"], true);
    assert_eq!(document["started"], "2025-11-21T09:41:17Z");
    assert_eq!(document["recording"], "run.punctual");
    assert_eq!(document["next"][0]["code"], "look-at-skips");
}

#[test]
fn a_bound_at_another_confidence_is_not_passed_off_as_95() {
    let mut report = sample::two_cpus();
    report.verdict.confidence = 0.99;
    assert_eq!(document(&report)["miss_probability_upper_95"], Value::Null);
}

#[test]
fn every_reason_to_doubt_has_a_code_of_its_own_and_validates() {
    let mut report = sample::two_cpus();
    report.trust.reasons = sample::every_distrust();
    let document = document(&report);
    assert!(validator().is_valid(&document));
    let codes: std::collections::BTreeSet<&str> =
        document["trust"]["reasons"].as_array().unwrap().iter().map(|r| r["code"].as_str().unwrap()).collect();
    assert_eq!(codes.len(), report.trust.reasons.len() - 1, "only the two reasons for too few share one");
    assert_eq!(document["trust"]["ok"], false);
}
