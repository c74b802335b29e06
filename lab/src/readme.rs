//! The table of claims in `lab/README.md`, and the list of what can be asked for.
//!
//! The claims in the table are held to the ones in the code by a test; the verdicts are those of the last run that was
//! asked to write them.

use crate::kernel::KERNELS;
use crate::scenario::{Outcome, SCENARIOS, Verdict};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const README: &str = "lab/README.md";
const BEGIN: &str = "<!-- claims: written by `cargo xtask lab --bless` -->\n";
const END: &str = "<!-- end of claims -->\n";

/// Verdicts of the table: claim and kernel to a word.
type Verdicts = BTreeMap<(String, String), String>;

/// Scenarios and kernels, for whoever wants to name one.
pub fn list() -> String {
    let mut text = String::new();
    for scenario in SCENARIOS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", scenario.name);
        for claim in scenario.claims {
            let _ = writeln!(text, "  {:20} {}", claim.id, claim.says);
        }
    }
    for spec in &KERNELS {
        let _ = writeln!(text, "{:14} {} of Debian {}", spec.id, spec.meta, spec.release.number());
    }
    text
}

/// Whether a scenario or kernel has that name.
pub fn is_known(name: &str) -> bool {
    SCENARIOS.iter().any(|scenario| scenario.name == name) || KERNELS.iter().any(|spec| spec.id == name)
}

/// Writes what came out; what was not tried keeps its verdict.
pub fn write(root: &Path, outcomes: &[Outcome]) -> Result<()> {
    let path = root.join(README);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut verdicts = read(between(&text)?);
    for outcome in outcomes {
        let word = match outcome.verdict {
            Verdict::Held => "held",
            Verdict::Failed(_) => "FAILED",
            Verdict::Skipped(_) => "skipped",
        };
        verdicts.insert((outcome.claim.to_owned(), outcome.kernel.to_owned()), word.to_owned());
    }
    let inside = between(&text)?;
    let new = text.replace(&format!("{BEGIN}{inside}{END}"), &format!("{BEGIN}{}{END}", table(&verdicts)));
    fs::write(&path, new).with_context(|| format!("write {}", path.display()))
}

fn between(text: &str) -> Result<&str> {
    let inside = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(inside, _)| inside);
    inside.with_context(|| format!("find the marks of the table in {README}"))
}

fn table(verdicts: &Verdicts) -> String {
    let mut text = String::from("| claim | what it says |");
    let mut line = String::from("|---|---|");
    for spec in &KERNELS {
        // Writing to a String cannot fail.
        let _ = write!(text, " {} |", spec.id);
        line.push_str("---|");
    }
    let _ = write!(text, "\n{line}\n");
    for scenario in SCENARIOS {
        for claim in scenario.claims {
            let _ = write!(text, "| {} | {} |", claim.id, claim.says);
            for spec in &KERNELS {
                let known = verdicts.get(&(claim.id.to_owned(), spec.id.to_owned())).map(String::as_str);
                let word = if (scenario.wants)(spec) { known.unwrap_or("never tried") } else { "" };
                let _ = write!(text, " {word} |");
            }
            text.push('\n');
        }
    }
    text
}

fn read(table: &str) -> Verdicts {
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let mut verdicts = Verdicts::new();
    let Some(head) = rows.first() else { return verdicts };
    for row in rows.iter().skip(2) {
        let Some(claim) = row.get(1) else { continue };
        for (kernel, word) in head.iter().zip(row).skip(3).filter(|(_, word)| !word.is_empty()) {
            verdicts.insert(((*claim).to_owned(), (*kernel).to_owned()), (*word).to_owned());
        }
    }
    verdicts.retain(|(_, kernel), _| !kernel.is_empty());
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_every_claim_and_no_other() {
        let text = include_str!("../README.md");
        let inside = between(text).unwrap();
        assert_eq!(inside, table(&read(inside)), "`cargo xtask lab --bless` writes the table");
    }

    #[test]
    fn verdicts_survive_being_written() {
        let (claim, kernel) = (SCENARIOS[0].claims[0].id, "12-amd64");
        let verdicts = Verdicts::from([((claim.to_owned(), kernel.to_owned()), "held".to_owned())]);
        let again = read(&table(&verdicts));
        assert_eq!(again[&(claim.to_owned(), kernel.to_owned())], "held");
        assert!(again.values().any(|word| word == "never tried"));
    }
}
