//! Prints the outcome as text for people and as JSON for programs.

use crate::figures::{Details, Figures};
use crate::machine::Machine;
use crate::verdict::{Table, Verdict};
use crate::{Conditions, strategy::ALL};
use anyhow::{Context, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// All results of a run.
#[derive(Debug)]
pub struct Outcome {
    pub machine: Machine,
    pub conditions: Conditions,
    /// The figures of each strategy that was run.
    pub table: Table,
    /// Strategies that could not be run, each with the reason.
    pub not_run: BTreeMap<&'static str, String>,
    /// Whether the figures confirm each claim.
    pub verdicts: Vec<Verdict>,
}

#[derive(Serialize)]
struct Json<'a> {
    bench: &'static str,
    machine: &'a Machine,
    conditions: &'a Conditions,
    strategies: BTreeMap<&'static str, Figures>,
    details: BTreeMap<&'static str, Details>,
    not_run: &'a BTreeMap<&'static str, String>,
    verdicts: &'a [Verdict],
}

impl Outcome {
    pub fn json(&self) -> Result<String> {
        let json = Json {
            bench: "waits",
            machine: &self.machine,
            conditions: &self.conditions,
            strategies: self.table.iter().map(|(name, (figures, _))| (*name, *figures)).collect(),
            details: self.table.iter().map(|(name, (_, details))| (*name, *details)).collect(),
            not_run: &self.not_run,
            verdicts: &self.verdicts,
        };
        serde_json::to_string_pretty(&json).context("write JSON")
    }

    /// The outcome as text. Its tables are Markdown, so that they can be pasted into a page.
    pub fn text(&self) -> String {
        let mut text = self.heading();
        text.push_str(
            "\n| strategy | p50 us | p99 us | max us | off > 10 us | polled | CPU | missed | p99 of rounds us |\n",
        );
        text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        for strategy in ALL {
            if let Some((figures, details)) = self.table.get(strategy.name) {
                text.push_str(&row(strategy.name, figures, details));
            }
        }
        text.push('\n');
        for strategy in ALL.iter().filter(|strategy| self.table.contains_key(strategy.name)) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- `{}`: {}", strategy.name, strategy.about);
        }
        for (name, why) in &self.not_run {
            let _ = writeln!(text, "- `{name}` not run: {why}");
        }
        if self.verdicts.is_empty() {
            return text;
        }
        text.push_str("\n| claim | found | at most | figures | |\n|---|--:|--:|---|---|\n");
        for Verdict { claim, value, limit, reached, figures } in &self.verdicts {
            let found = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
            let word = match reached {
                Some(true) => "reached",
                Some(false) => "**missed**",
                None => "unknown",
            };
            let _ = writeln!(text, "| {claim} | {found} | {limit} | {figures} | {word} |");
        }
        text
    }

    fn heading(&self) -> String {
        let Machine { cpu_model, cpus, kernel, clocksource, virtualised, load_average } = &self.machine;
        let Conditions { period_ns, seconds, rounds, settling, cpu, policy, offset_ns, tick_offset_ns, .. } =
            &self.conditions;
        let or_unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        let below = match virtualised {
            Some(true) => "virtual machine",
            Some(false) => "no hypervisor seen",
            None => "hypervisor or not: unknown",
        };
        let tick = tick_offset_ns.map_or_else(|| "not found".to_owned(), |ns| format!("at {} us", ns / 1_000));
        format!(
            "- machine: {}, {cpus} CPUs, {below}; Linux {}; clock {}; load average {}\n\
             - conditions: period {} us, CPU {cpu}, {policy}; {seconds} s each in {rounds} rounds, one after the other, \
             {settling} releases before each round not counted; releases {} us after a whole period, tick {tick}\n",
            or_unknown(cpu_model),
            or_unknown(kernel),
            or_unknown(clocksource),
            or_unknown(load_average),
            period_ns / 1_000,
            offset_ns / 1_000,
        )
    }
}

fn row(name: &str, figures: &Figures, details: &Details) -> String {
    let us = |ns: u64| format!("{}.{:02}", ns / 1_000, ns % 1_000 / 10);
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let Figures { p50_ns, p99_ns, max_ns, off_by_10us_share, spin_share, .. } = figures;
    let Details { cpu_share, missed, p99_of_rounds_ns: [lowest, highest], .. } = details;
    format!(
        "| `{name}` | {} | {} | {} | {} | {} | {} | {missed} | {}-{} |\n",
        us(*p50_ns),
        us(*p99_ns),
        us(*max_ns),
        percent(*off_by_10us_share),
        percent(*spin_share),
        percent(*cpu_share),
        us(*lowest),
        us(*highest),
    )
}
