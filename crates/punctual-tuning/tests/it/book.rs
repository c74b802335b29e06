//! Tests that the book's reference page of knobs, which is generated from the catalogue, is up to date.

use crate::{check, repository};
use punctual_facts::profile::Kind;
use punctual_tuning::knobs::{ALL, Family, Knob, Lasting};
use std::fmt::Write as _;

fn entry(out: &mut String, knob: &Knob) -> std::fmt::Result {
    let weights = Kind::ALL.map(|kind| format!("{:?} ({})", knob.severity.for_kind(kind), kind.name()).to_lowercase());
    let lasting: Vec<String> = knob.places().iter().map(Lasting::anywhere).collect();
    let lasting = lasting.join("; ");
    writeln!(out, "### `{}`: {}\n\n{}\n", knob.id, knob.title, knob.why)?;
    for (name, value) in [
        ("Severity when bad", weights.join(", ").as_str()),
        ("Now", knob.fix_anywhere().as_str()),
        ("Lasting", lasting.as_str()),
        ("Undo", knob.undo_anywhere().as_str()),
        ("Cost", knob.cost),
        ("Blast radius", knob.blast.name()),
        ("Confidence", format!("{:?}", knob.confidence).to_lowercase().as_str()),
        ("Sources", knob.sources.join("; ").as_str()),
    ] {
        writeln!(out, "- **{name}:** {}", value.replace('<', "&lt;"))?;
    }
    writeln!(out)
}

fn page() -> Result<String, std::fmt::Error> {
    let mut out = String::from(
        "# Knobs\n\nGenerated from the catalogue in `punctual-tuning`; do not edit. `<I>` stands for the CPUs meant for \
         real-time work, `<H>` for the others, `<H mask>` for those as a hex mask. Severity can be changed by what \
         the machine is; `punctual audit --explain KNOB` tells what it is on yours.\n\n",
    );
    writeln!(out, "{} knobs in {} families.\n", ALL.len(), Family::ALL.len())?;
    for family in Family::ALL {
        let name = family.name();
        let (first, rest) = name.split_at(1);
        writeln!(out, "## {}{rest}\n", first.to_uppercase())?;
        ALL.iter().filter(|knob| knob.family == *family).try_for_each(|knob| entry(&mut out, knob))?;
    }
    Ok(format!("{}\n", out.trim_end()))
}

#[test]
fn the_page_is_fresh() {
    check(&repository("book/src/knobs.md"), &page().unwrap());
}
