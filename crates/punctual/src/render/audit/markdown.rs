//! The audit as Markdown for an issue or a merge request: the machine, the totals, and one table for each severity. All
//! other findings stand in sections that a reader unfolds.

use super::{Advice, Audit, Totals, WORST_FIRST, found};
use crate::render::markdown::{cell, code, prose};
use crate::render::words;
use punctual_facts::finding::{Finding, State};
use punctual_facts::machine::MachineLine;
use punctual_tuning::knobs::{self, Case};
use std::fmt::{self, Write as _};

pub fn document(audit: &Audit<'_>) -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(out, "# Audit for {}\n", prose(&audit.need()))?;
    writeln!(out, "| machine | |\n|---|---|")?;
    for MachineLine { name, value } in audit.case.machine.fingerprint() {
        writeln!(out, "| {} | {} |", cell(&prose(&name)), cell(&code(&value)))?;
    }
    writeln!(out, "\n{}.", Totals::of(audit.findings))?;
    for severity in WORST_FIRST {
        let bad: Vec<&Finding> = audit.bad(severity).collect();
        if bad.is_empty() {
            continue;
        }
        let word = words::severity(severity);
        let (first, rest) = word.split_at(1);
        writeln!(out, "\n## {}{rest}: {}\n", first.to_uppercase(), words::severity_meaning(severity))?;
        writeln!(out, "| knob | wanted | found | change |\n|---|---|---|---|")?;
        for finding in &bad {
            writeln!(
                out,
                "| {} | {} | {} | {} |",
                code(&finding.id),
                cell(&prose(&finding.title)),
                evidence(finding),
                cell(&code(&finding.fix))
            )?;
        }
        writeln!(out)?;
        bad.iter().try_for_each(|finding| details(&mut out, audit.case, finding))?;
    }
    folded(&mut out, audit)?;
    writeln!(out, "\npunctual {}", env!("CARGO_PKG_VERSION"))?;
    Ok(out)
}

fn evidence(finding: &Finding) -> String {
    let all: Vec<String> =
        finding.evidence.iter().map(|e| cell(&code(&format!("{} = {}", e.source, e.value)))).collect();
    all.join("<br>")
}

fn details(out: &mut String, case: &Case<'_>, finding: &Finding) -> fmt::Result {
    let Some(knob) = knobs::find(&finding.id) else { return Ok(()) };
    let advice = Advice::of(knob, case);
    writeln!(out, "<details><summary>{}: {}</summary>\n", html(&finding.id), html(&finding.title))?;
    for (name, text) in [
        ("why", finding.why.clone()),
        ("lasting", advice.persist),
        ("undo", advice.undo),
        ("undo lasting", advice.undo_persist.unwrap_or_default()),
        ("cost", finding.cost.clone()),
        ("blast radius", format!("{}: {}", knob.blast.name(), words::blast_meaning(knob.blast))),
        ("confidence", words::confidence(finding.confidence).to_owned()),
        ("sources", knob.sources.join("; ")),
    ] {
        if !text.is_empty() {
            writeln!(out, "- **{name}**: {}", prose(&text))?;
        }
    }
    writeln!(out, "\n</details>\n")
}

/// Writes the findings that need no action or could not be judged, as sections that a reader unfolds.
fn folded(out: &mut String, audit: &Audit<'_>) -> fmt::Result {
    type IsOne = fn(&State) -> bool;
    let groups: [(&str, IsOne); 4] = [
        ("Unknown", |state| matches!(state, State::Unknown(_))),
        ("Advice: software cannot see these", |state| matches!(state, State::Advice(_))),
        ("Good", |state| *state == State::Good),
        ("Not applicable", |state| matches!(state, State::NotApplicable(_))),
    ];
    for (heading, is_one) in groups {
        let findings: Vec<&Finding> = audit.findings.iter().filter(|finding| is_one(&finding.state)).collect();
        if findings.is_empty() {
            continue;
        }
        writeln!(out, "\n<details><summary>{heading} ({})</summary>\n", findings.len())?;
        writeln!(out, "| knob | wanted | |\n|---|---|---|")?;
        for finding in findings {
            let found = if finding.state == State::Good { evidence(finding) } else { cell(&prose(&found(finding))) };
            writeln!(out, "| {} | {} | {found} |", code(&finding.id), cell(&prose(&finding.title)))?;
        }
        writeln!(out, "\n</details>")?;
    }
    Ok(())
}

/// Escapes text that stands inside an HTML tag, where Markdown is not interpreted.
fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
