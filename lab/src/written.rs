//! What a campaign file asks for, and whether the result of the campaign has it.
//!
//! The file is read here without the product, and the result is what the product wrote: its JSON document and its page.
//! All functions get texts and return complaints, so that tests can show that each of them fails.

use anyhow::{Context, Result};
use serde_json::Value;

/// A campaign file, as far as its result depends on it.
#[derive(Clone, Debug)]
pub struct Asked {
    pub repetitions: usize,
    pub cells: Vec<Cell>,
    /// The comparisons: first cell, second cell, question.
    pairs: Vec<[String; 3]>,
}

#[derive(Clone, Debug)]
pub struct Cell {
    pub name: String,
    /// Words of the kernel's command line, as the file has them.
    pub boot: Vec<String>,
    published: Vec<Figure>,
}

#[derive(Clone, Debug)]
struct Figure {
    of: String,
    what: String,
    cpu: Option<u64>,
    value_ns: f64,
}

/// A cell that need not be measured, and a part of the reason that must stand on the page.
pub type LeftOut = (&'static str, &'static str);

impl Asked {
    pub fn of(text: &str) -> Result<Self> {
        let file: Value = toml::from_str(text).context("read the campaign file")?;
        let repetitions = file.get("repetitions").and_then(Value::as_u64).unwrap_or(1);
        let pair = |pair: &Value| Ok([word(pair, "first")?, word(pair, "second")?, word(pair, "question")?]);
        Ok(Self {
            repetitions: usize::try_from(repetitions)?,
            cells: list(&file, "cell").iter().map(cell).collect::<Result<_>>()?,
            pairs: list(&file, "compare").iter().map(pair).collect::<Result<_>>()?,
        })
    }

    /// Complaints about a result that lacks what the file asks for. `json` is the product's document, `page` its page.
    pub fn complaints(&self, json: &str, page: &str, left_out: &[LeftOut]) -> Vec<String> {
        let Ok(result) = serde_json::from_str::<Value>(json) else {
            return vec![format!("the result is no JSON: {json}")];
        };
        let mut found = Vec::new();
        if result.get("is_home") != Some(&Value::Bool(true)) || !result.get("gave_up").is_some_and(Value::is_null) {
            found.push(format!("is_home: {:?}, gave_up: {:?}", result.get("is_home"), result.get("gave_up")));
        }
        let cells = list(&result, "cells");
        if !cells.iter().map(|cell| text_of(cell, "name")).eq(self.cells.iter().map(|cell| cell.name.as_str())) {
            found.push("the result has other cells than the file".to_owned());
        }
        let reason = |name: &str| left_out.iter().find(|(cell, _)| *cell == name).map(|(_, reason)| *reason);
        for (cell, asked) in cells.iter().zip(&self.cells) {
            match reason(&asked.name) {
                Some(reason) => found.extend(not_measured(cell, reason)),
                None => found.extend(self.measured(cell)),
            }
            found.extend(beside(cell, asked));
        }
        found.extend(self.compared(list(&result, "comparisons"), |name| reason(name).is_some()));
        found.extend(self.shown(page, left_out));
        found
    }

    /// Complaints about a cell that was not measured as often as the file says, whose words for the kernel still have
    /// `<cpus>` in place of numbers, or whose releases are not all accounted for.
    fn measured(&self, cell: &Value) -> Vec<String> {
        let name = text_of(cell, "name");
        let mut found = Vec::new();
        let runs = cell.get("runs").and_then(Value::as_u64);
        if runs != u64::try_from(self.repetitions).ok() || !cell.get("refused").is_some_and(Value::is_null) {
            found.push(format!("{name}: {runs:?} runs of {}, refused: {:?}", self.repetitions, cell.get("refused")));
        }
        let boot = list(cell, "boot").iter().filter_map(Value::as_str);
        found.extend(boot.filter(|word| word.contains('<')).map(|word| format!("{name}: booted with {word}")));
        let rows = cell.get("whole").into_iter().chain(list(cell, "cpus"));
        let unaccounted = rows.filter(|row| {
            let number = |key: &str| row.get(key).and_then(Value::as_u64);
            let (due, ran, skipped) = (number("due"), number("ran"), number("skipped"));
            due.is_none_or(|due| due == 0) || due != ran.zip(skipped).map(|(ran, skipped)| ran + skipped)
        });
        found.extend(unaccounted.map(|row| format!("{name}: releases are missing in {row}")));
        found
    }

    fn compared(&self, pairs: &[Value], is_left_out: impl Fn(&str) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        if pairs.len() != self.pairs.len() {
            found.push(format!("{} comparisons of {}", pairs.len(), self.pairs.len()));
        }
        for (pair, [first, second, question]) in pairs.iter().zip(&self.pairs) {
            let said = [text_of(pair, "first"), text_of(pair, "second"), text_of(pair, "question")];
            if said != [first, second, question] {
                found.push(format!("{question}: the result has {said:?}"));
            }
            let is_answered = pair.get("repetitions").and_then(Value::as_u64) == u64::try_from(self.repetitions).ok()
                && !text_of(pair, "verdict").starts_with("not compared");
            if is_answered == (is_left_out(first) || is_left_out(second)) {
                found.push(format!("{question}: {pair}"));
            }
        }
        found
    }

    /// Complaints about what does not stand on the page.
    fn shown(&self, page: &str, left_out: &[LeftOut]) -> Vec<String> {
        // The page has these characters as references.
        let page = page.replace("&#x2f;", "/").replace("&#x27;", "'").replace("&quot;", "\"");
        let names = self.cells.iter().map(|cell| cell.name.as_str());
        let questions = self.pairs.iter().map(|[.., question]| question.as_str());
        let machines = self.cells.iter().flat_map(|cell| &cell.published).map(|figure| figure.of.as_str());
        let reasons = left_out.iter().map(|(_, reason)| *reason);
        let wanted = names.chain(questions).chain(machines).chain(reasons).chain(["<svg"]);
        wanted.filter(|part| !page.contains(part)).map(|part| format!("the page lacks '{part}'")).collect()
    }
}

/// Complaints about a cell that was to be left out.
fn not_measured(cell: &Value, reason: &str) -> Vec<String> {
    let is_told = cell.get("refused").and_then(Value::as_str).is_some_and(|told| told.contains(reason));
    let is_measured = cell.get("runs").and_then(Value::as_u64) != Some(0);
    (!is_told || is_measured).then(|| format!("not left out because '{reason}': {cell}")).into_iter().collect()
}

/// Complaints about published figures of a cell that are missing, or beside which another figure stands than the one in
/// the row of that CPU.
fn beside(cell: &Value, asked: &Cell) -> Vec<String> {
    let (name, figures) = (text_of(cell, "name"), list(cell, "published"));
    let mut found = Vec::new();
    if figures.len() != asked.published.len() {
        found.push(format!("{name}: {} published figures of {}", figures.len(), asked.published.len()));
    }
    for (figure, Figure { of, what, cpu, value_ns }) in figures.iter().zip(&asked.published) {
        let number = |key: &str| figure.get(key).and_then(Value::as_u64);
        let value = figure.get("published_ns").and_then(Value::as_f64);
        let is_same = [text_of(figure, "of"), text_of(figure, "what")] == [of, what]
            && number("cpu") == *cpu
            && value.is_some_and(|value| (value - value_ns).abs() < 0.5);
        let row = match cpu {
            Some(_) => list(cell, "cpus").iter().find(|row| row.get("cpu").and_then(Value::as_u64) == *cpu),
            None => cell.get("whole"),
        };
        // A percentile is not there if too little was measured for it.
        let measured = row.and_then(|row| row.get("latency_ns")?.get(what.replace('.', "_"))?.as_u64());
        if !is_same || number("here_ns") != measured {
            found.push(format!(
                "{name}: {of} {what} {cpu:?} {value_ns}, measured {measured:?}: the result has {figure}"
            ));
        }
    }
    found
}

fn cell(table: &Value) -> Result<Cell> {
    let boot = list(table, "boot").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let published = list(table, "published").iter().map(figure).collect::<Result<_>>()?;
    Ok(Cell { name: word(table, "name")?, boot, published })
}

fn figure(table: &Value) -> Result<Figure> {
    let value = word(table, "value")?;
    let digits = value.trim_end_matches(char::is_alphabetic);
    let unit = match value.get(digits.len()..) {
        Some("ns") => 1.0,
        Some("us") => 1e3,
        Some("ms") => 1e6,
        _ => anyhow::bail!("'{value}' has no unit that the lab knows"),
    };
    let value_ns = digits.parse::<f64>().with_context(|| format!("read '{value}'"))? * unit;
    Ok(Figure {
        of: word(table, "of")?,
        what: word(table, "what")?,
        cpu: table.get("cpu").and_then(Value::as_u64),
        value_ns,
    })
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn word(table: &Value, key: &str) -> Result<String> {
    table.get(key).and_then(Value::as_str).map(str::to_owned).with_context(|| format!("no `{key}` in {table}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FILE: &str = r#"repetitions = 2
[[cell]]
name = "plain"
published = [
    { of = "a PC", what = "max", value = "40us" },
    { of = "a PC", what = "mean", cpu = 7, value = "1078ns" },
    { of = "a PC", what = "p99.9", value = "2us" },
]
[[cell]]
name = "tick"
boot = ["nohz_full=<cpus>"]
[[cell]]
name = "lost"
[[compare]]
first = "plain"
second = "tick"
question = "What does /proc cost?"
[[compare]]
first = "plain"
second = "lost"
question = "And this?"
"#;
    const PAGE: &str = "plain tick lost a PC What does &#x2f;proc cost? And this? <svg no cpufreq";
    const LEFT_OUT: &[LeftOut] = &[("lost", "no cpufreq")];

    fn result() -> Value {
        let row = json!({ "due": 10, "ran": 9, "skipped": 1, "latency_ns": { "max": 7, "p99_9": null } });
        let cpu = json!({ "cpu": 1, "due": 10, "ran": 9, "skipped": 1, "latency_ns": { "max": 7 } });
        let cell = |name: &str, published: Value| json!({ "name": name, "boot": ["nohz_full=1"], "runs": 2, "refused": null, "whole": row, "cpus": [cpu], "published": published });
        let figures = json!([
            { "of": "a PC", "what": "max", "cpu": null, "published_ns": 40_000, "here_ns": 7 },
            { "of": "a PC", "what": "mean", "cpu": 7, "published_ns": 1_078, "here_ns": null },
            { "of": "a PC", "what": "p99.9", "cpu": null, "published_ns": 2_000, "here_ns": null },
        ]);
        let pair = |second: &str, question: &str, repetitions: u64, verdict: &str| json!({ "first": "plain", "second": second, "question": question, "repetitions": repetitions, "verdict": verdict });
        json!({
            "is_home": true, "gave_up": null,
            "cells": [
                cell("plain", figures), cell("tick", json!([])),
                { "name": "lost", "runs": 0, "refused": "there is no cpufreq", "whole": null, "cpus": [], "published": [] },
            ],
            "comparisons": [
                pair("tick", "What does /proc cost?", 2, "no difference"),
                pair("lost", "And this?", 0, "not compared: one of them was not measured"),
            ],
        })
    }

    fn complaints(result: &Value) -> Vec<String> {
        Asked::of(FILE).unwrap().complaints(&result.to_string(), PAGE, LEFT_OUT)
    }

    #[test]
    fn a_result_with_all_that_was_asked_for_is_not_complained_of() {
        assert_eq!(complaints(&result()), Vec::<String>::new());
    }

    #[test]
    fn whatever_is_missing_in_the_document_is_complained_of() {
        let changes = [
            ("/is_home", json!(false)),
            ("/gave_up", json!("too many boots")),
            ("/cells/1/name", json!("tock")),
            ("/cells/1/runs", json!(1)),
            ("/cells/1/refused", json!("why")),
            ("/cells/1/boot/0", json!("nohz_full=<cpus>")),
            ("/cells/1/whole", json!(null)),
            ("/cells/1/whole/ran", json!(8)),
            ("/cells/1/cpus/0/due", json!(11)),
            ("/cells/2/refused", json!("the kernel panicked")),
            ("/cells/2/runs", json!(1)),
            ("/cells/0/published", json!([])),
            ("/cells/0/published/0/of", json!("a Mac")),
            ("/cells/0/published/0/published_ns", json!(41_000)),
            ("/cells/0/published/0/here_ns", json!(null)),
            ("/cells/0/published/0/here_ns", json!(8)),
            ("/cells/0/published/1/here_ns", json!(5)),
            ("/cells/0/published/2/here_ns", json!(5)),
            ("/cells/0/published/1/cpu", json!(6)),
            ("/comparisons", json!([])),
            ("/comparisons/0/second", json!("lost")),
            ("/comparisons/0/question", json!("What?")),
            ("/comparisons/0/repetitions", json!(1)),
            ("/comparisons/0/verdict", json!("not compared: another period")),
            ("/comparisons/1/repetitions", json!(2)),
        ];
        for (place, value) in changes {
            let mut bad = result();
            *bad.pointer_mut(place).unwrap() = value;
            if place == "/comparisons/1/repetitions" {
                *bad.pointer_mut("/comparisons/1/verdict").unwrap() = json!("better");
            }
            assert!(!complaints(&bad).is_empty(), "{place}");
        }
        assert_eq!(Asked::of(FILE).unwrap().complaints("", PAGE, LEFT_OUT).len(), 1);
    }

    #[test]
    fn whatever_is_missing_on_the_page_is_complained_of() {
        for part in ["tick", "a PC", "&#x2f;proc", "And this?", "<svg", "no cpufreq"] {
            assert!(PAGE.contains(part), "{part}");
            let page = PAGE.replace(part, "");
            let found = Asked::of(FILE).unwrap().complaints(&result().to_string(), &page, LEFT_OUT);
            assert!(
                !found.is_empty() && found.iter().all(|why| why.starts_with("the page lacks")),
                "{part}: {found:?}"
            );
        }
    }

    #[test]
    fn a_file_that_is_no_campaign_is_an_error() {
        assert!(Asked::of("cell = 1 1").is_err() && Asked::of("[[cell]]\nabout = \"x\"").is_err());
        let figure = |value: &str| {
            format!("[[cell]]\nname = \"a\"\npublished = [{{ of = \"x\", what = \"max\", value = \"{value}\" }}]")
        };
        assert!(
            Asked::of(&figure("4us")).is_ok() && Asked::of(&figure("4")).is_err() && Asked::of(&figure("us")).is_err()
        );
    }
}
