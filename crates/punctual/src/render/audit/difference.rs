//! The difference between two audits, as text, Markdown and JSON. The text is empty if nothing differs.

use super::found;
use crate::render::document::Published;
use crate::render::lang::tr;
use crate::render::markdown::{cell, code, prose};
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::words;
use punctual_facts::finding::{Finding, State};
use punctual_tuning::diff::{AuditDifference, Changed, Trend, Turn};
use serde::Serialize;
use std::fmt::{self, Write as _};

/// Names under which the two machines are shown.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Names<'a> {
    pub from: &'a str,
    pub to: &'a str,
}

fn heading(trend: Trend) -> &'static str {
    match trend {
        Trend::Worse => tr!("Worse in the second audit"),
        Trend::Better => tr!("Better in the second audit"),
        Trend::Otherwise => tr!("Another verdict, neither better nor worse"),
        Trend::SameVerdict => tr!("The same verdict, by other evidence"),
    }
}

/// What one audit says about a knob: its state, its severity if the state is bad, and the evidence.
fn side(finding: Option<&Finding>) -> String {
    let Some(finding) = finding else { return tr!("not audited").to_owned() };
    let state = match finding.state {
        State::Bad => words::severity(finding.severity).to_owned(),
        _ => words::state(&finding.state).to_owned(),
    };
    format!("{state}: {}", found(finding))
}

/// The difference as text. The text is empty if nothing differs.
pub fn text(difference: &AuditDifference, names: Names<'_>, style: Style) -> String {
    if difference.is_empty() {
        return String::new();
    }
    let mut sheet = Sheet::new(style);
    sheet.paragraph(0, &tr!("From {from} to {to}", from = names.from, to = names.to));
    for (heading, changes) in [(tr!("Machine"), &difference.facts), (tr!("Kernel configuration"), &difference.options)]
    {
        if changes.is_empty() {
            continue;
        }
        sheet.heading(heading);
        for Changed { name, from, to } in changes {
            sheet.hanging_paragraph(2, 4, Tone::Quiet, &format!("{name}:"), &format!("{from} -> {to}"));
        }
    }
    if !(difference.words_removed.is_empty() && difference.words_added.is_empty()) {
        sheet.heading(tr!("Command line"));
        for (sign, tone, words) in
            [("-", Tone::Bad, &difference.words_removed), ("+", Tone::Good, &difference.words_added)]
        {
            for word in words {
                sheet.toned_paragraph(2, tone, sign, word);
            }
        }
    }
    for trend in Trend::ALL {
        let turns: Vec<&Turn> = difference.with(trend).collect();
        if turns.is_empty() {
            continue;
        }
        let tone = match trend {
            Trend::Worse => Tone::Bad,
            Trend::Better => Tone::Good,
            Trend::Otherwise => Tone::Doubt,
            Trend::SameVerdict => Tone::Quiet,
        };
        sheet.gap();
        sheet.toned_paragraph(0, tone, heading(trend), &format!("({})", turns.len()));
        for turn in turns {
            sheet.toned_paragraph(2, Tone::Heading, &turn.id, "");
            sheet.hanging_paragraph(4, 6, Tone::Quiet, "-", &side(turn.from.as_ref()));
            sheet.hanging_paragraph(4, 6, Tone::Quiet, "+", &side(turn.to.as_ref()));
        }
    }
    sheet.finish()
}

/// The difference as Markdown. It says so if nothing differs, because a comment in a merge request should not be empty.
pub fn markdown(difference: &AuditDifference, names: Names<'_>) -> Result<String, fmt::Error> {
    let mut out = String::new();
    writeln!(out, "# What differs from {} to {}\n", code(names.from), code(names.to))?;
    if difference.is_empty() {
        writeln!(out, "Nothing.")?;
        return Ok(out);
    }
    let counts = Trend::ALL.map(|trend| (difference.with(trend).count(), heading(trend).to_lowercase()));
    let counts: Vec<String> = counts.iter().map(|(count, words)| format!("{count} {words}")).collect();
    writeln!(out, "{}.", counts.join("; "))?;
    for (heading, changes) in [(tr!("Machine"), &difference.facts), (tr!("Kernel configuration"), &difference.options)]
    {
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n## {heading}\n\n| | from | to |\n|---|---|---|")?;
        for Changed { name, from, to } in changes {
            writeln!(out, "| {} | {} | {} |", cell(&prose(name)), cell(&code(from)), cell(&code(to)))?;
        }
    }
    if !(difference.words_removed.is_empty() && difference.words_added.is_empty()) {
        writeln!(out, "\n## Command line\n")?;
        for (what, words) in [(tr!("removed"), &difference.words_removed), (tr!("added"), &difference.words_added)] {
            words.iter().try_for_each(|word| writeln!(out, "- {what} {}", code(word)))?;
        }
    }
    for trend in Trend::ALL {
        let turns: Vec<&Turn> = difference.with(trend).collect();
        if turns.is_empty() {
            continue;
        }
        writeln!(out, "\n## {}\n\n| knob | from | to |\n|---|---|---|", heading(trend))?;
        for turn in turns {
            let [from, to] = [&turn.from, &turn.to].map(|finding| cell(&code(&side(finding.as_ref()))));
            writeln!(out, "| {} | {from} | {to} |", code(&turn.id))?;
        }
    }
    Ok(out)
}

/// The difference from one audited machine to another.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DifferenceDocument<'a> {
    #[serde(flatten)]
    pub names: Names<'a>,
    #[serde(flatten)]
    pub difference: &'a AuditDifference,
}

impl Published for DifferenceDocument<'_> {
    const SCHEMA: &'static str = "punctual/audit-diff/2";
}
