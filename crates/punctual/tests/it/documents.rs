//! Tests of generated files and of machine-readable output.

use crate::run::Run;
use std::fs;

#[test]
fn man_pages_and_completions_come_from_the_commands() {
    let run = Run::new();
    for (command, name) in [("__man", "punctual-check.1"), ("__completions", "punctual.bash")] {
        fs::create_dir(run.path(command)).unwrap();
        assert_eq!(run.punctual(&[command, command]).code, 0);
        let text = fs::read_to_string(run.path(command).join(name)).unwrap();
        assert!(text.contains("punctual"), "{name}");
        assert!(!text.contains("__load"), "internal commands stay internal: {name}");
    }
}

#[test]
fn the_json_of_a_check_fits_its_schema() {
    let run = Run::new();
    let report = run.json(&["check", "--duration", "600ms", "--load", "none", "--json"]);
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../schemas/report-3.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(report["schema"], "punctual/report/3");
    assert_eq!(report["need"]["period_ns"], 1_000_000);
}

#[test]
fn an_audit_in_json_names_the_machine_and_its_findings() {
    let report = Run::new().json(&["audit", "--json"]);
    assert_eq!(report["schema"], "punctual/audit/3");
    assert!(report["findings"].as_array().unwrap().len() >= 30);
}
