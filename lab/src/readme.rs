//! Writes the tables of claims in `lab/README.md`, and the list of everything that can be named on the command line.
//!
//! A test checks that the table has the claims of the code. The verdicts are those of the last run that was asked to
//! write them.

use crate::disk;
use crate::kernel::KERNELS;
use crate::scenario::{LONG, Outcome, SCENARIOS, Scenario, Verdict};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const README: &str = "lab/README.md";
/// The lines before and after a table.
type Marks = (&'static str, &'static str);

const QUICK: Marks = ("<!-- claims: written by `cargo xtask lab --bless` -->\n", "<!-- end of claims -->\n");
const DISK: Marks = (
    "<!-- claims of the disk: written by `cargo xtask lab --full --bless` -->\n",
    "<!-- end of the disk's claims -->\n",
);

/// The verdicts of a table, by claim and kernel.
type Verdicts = BTreeMap<(String, String), String>;

/// Lists scenarios, claims and kernels, which can be named on the command line.
pub fn list() -> String {
    let mut text = String::new();
    for scenario in SCENARIOS {
        // Writing to a String cannot fail.
        let when = if LONG.contains(&scenario.name) { " (only when named)" } else { "" };
        let _ = writeln!(text, "{}{when}", scenario.name);
        for claim in scenario.claims {
            let _ = writeln!(text, "  {:20} {}", claim.id, claim.says);
        }
    }
    for (name, claims) in disk::all() {
        let _ = writeln!(text, "{name} (--full)");
        for (id, says) in claims {
            let _ = writeln!(text, "  {id:22} {says}");
        }
    }
    for spec in &KERNELS {
        let _ = writeln!(text, "{:14} {} of Debian {}", spec.id, spec.meta(), spec.release.number());
    }
    text
}

/// Whether a scenario, a claim or a kernel has this name.
pub fn is_known(name: &str) -> bool {
    let has = |scenario: &&Scenario| scenario.name == name || scenario.claims.iter().any(|claim| claim.id == name);
    SCENARIOS.iter().any(has) || KERNELS.iter().any(|spec| spec.id == name)
}

/// Writes the outcomes into the table. A claim that was not tried keeps its verdict.
pub fn write(root: &Path, outcomes: &[Outcome]) -> Result<()> {
    rewrite(root, QUICK, |inside| {
        let mut verdicts = read(inside);
        for outcome in outcomes {
            let word = match outcome.verdict {
                Verdict::Held => "held",
                Verdict::Failed(_) => "FAILED",
                Verdict::Skipped(_) => "skipped",
            };
            verdicts.insert((outcome.claim.to_owned(), outcome.kernel.to_owned()), word.to_owned());
        }
        table(&verdicts)
    })
}

/// Writes the verdicts on the claims of the disk's stories into their table.
pub fn write_disk(root: &Path, told: &[(&str, bool)]) -> Result<()> {
    rewrite(root, DISK, |inside| {
        let mut verdicts = read_disk(inside);
        let word = |held: bool| if held { "held" } else { "FAILED" }.to_owned();
        verdicts.extend(told.iter().map(|(id, held)| ((*id).to_owned(), word(*held))));
        disk_table(&verdicts)
    })
}

/// Replaces the table between two marks.
fn rewrite(root: &Path, marks: Marks, table: impl Fn(&str) -> String) -> Result<()> {
    let path = root.join(README);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let inside = between(&text, marks)?;
    let (begin, end) = marks;
    let new = text.replace(&format!("{begin}{inside}{end}"), &format!("{begin}{}{end}", table(inside)));
    fs::write(&path, new).with_context(|| format!("write {}", path.display()))
}

fn between(text: &str, (begin, end): Marks) -> Result<&str> {
    let inside = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map(|(inside, _)| inside);
    inside.with_context(|| format!("find the marks of the table in {README}"))
}

fn disk_table(verdicts: &BTreeMap<String, String>) -> String {
    let mut text = String::from("| story | claim | what it says | verdict |\n|---|---|---|---|\n");
    for (story, claims) in disk::all() {
        for (id, says) in claims {
            let word = verdicts.get(*id).map_or("never tried", String::as_str);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "| {story} | {id} | {says} | {word} |");
        }
    }
    text
}

fn read_disk(table: &str) -> BTreeMap<String, String> {
    let rows = table.lines().skip(2).map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    rows.filter_map(|row| Some(((*row.get(2)?).to_owned(), (*row.get(4)?).to_owned()))).collect()
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
        let inside = between(text, QUICK).unwrap();
        assert_eq!(inside, table(&read(inside)), "`cargo xtask lab --bless` writes the table");
        let inside = between(text, DISK).unwrap();
        assert_eq!(inside, disk_table(&read_disk(inside)), "`cargo xtask lab --full --bless` writes the table");
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
