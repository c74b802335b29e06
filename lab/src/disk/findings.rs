//! The audit's findings in the guest, reduced to their ids and states, so that two audits can be compared.

use super::bench::PROGRAM;
use super::machine::Machine;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

pub type Findings = BTreeMap<String, String>;

/// Ids of findings that change by themselves, each with the reason.
const RESTLESS: [(&str, &str); 0] = [];

pub fn in_guest(machine: &mut Machine) -> Result<Findings> {
    let command = format!("{PROGRAM} audit --json");
    let output = machine.run(&command, Duration::from_secs(180))?;
    from_json(&output.out).with_context(|| format!("`{command}` ended with {}: {}", output.code, output.err.trim()))
}

fn from_json(text: &str) -> Result<Findings> {
    let said: Value = serde_json::from_str(text).context("read the audit as JSON")?;
    let all = said.get("findings").and_then(Value::as_array).context("the audit has no findings")?;
    let word = |finding: &Value, name: &str| {
        let word = finding.get(name).and_then(Value::as_str).map(str::to_owned);
        word.with_context(|| format!("a finding has no {name}"))
    };
    all.iter().map(|finding| Ok((word(finding, "id")?, word(finding, "state")?))).collect()
}

/// The findings that differ between two audits, except those that change by themselves.
pub fn differences(before: &Findings, after: &Findings) -> Vec<String> {
    let ids: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let none = || "not there";
    ids.into_iter()
        .filter(|id| !RESTLESS.iter().any(|(restless, _)| restless == id))
        .filter_map(|id| {
            let (old, new) = (before.get(id), after.get(id));
            let shown = |state: Option<&String>| state.map_or_else(|| none().to_owned(), Clone::clone);
            (old != new).then(|| format!("{id}: {} -> {}", shown(old), shown(new)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_new_and_a_lost_finding_are_told() {
        let before = from_json(r#"{"findings":[{"id":"a","state":"bad"},{"id":"b","state":"good"}]}"#).unwrap();
        let after = from_json(r#"{"findings":[{"id":"a","state":"good"},{"id":"c","state":"good"}]}"#).unwrap();
        assert_eq!(differences(&before, &after), ["a: bad -> good", "b: good -> not there", "c: not there -> good"]);
        assert!(differences(&before, &before).is_empty());
        assert!(from_json("{}").is_err() && from_json(r#"{"findings":[{"id":"a"}]}"#).is_err());
    }
}
