//! The text on one knob: its state on this machine, how much it matters, and what to do.

use super::{Advice, Audit};
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::words;
use punctual_facts::finding::{Finding, State};
use punctual_facts::profile::Kind;
use punctual_tuning::knobs::{Case, Knob};

/// Width, in columns of the terminal, of the labels at the left of the text.
const NAMES: usize = 12;

pub fn essay(audit: &Audit<'_>, knob: &Knob, style: Style) -> String {
    let case = audit.case;
    let mut sheet = Sheet::new(style);
    sheet.toned_paragraph(
        0,
        Tone::Heading,
        &format!("{}:", knob.id),
        &format!("{} ({})", knob.title, knob.family.name()),
    );
    sheet.gap();
    if let Some(finding) = audit.findings.iter().find(|finding| finding.id == knob.id) {
        here(&mut sheet, finding);
        let severity = words::severity(finding.severity);
        sheet.entry(2, NAMES, "severity", &format!("{severity} when bad here: {}", circumstances(case)));
    }
    let by_kind =
        Kind::ALL.map(|kind| format!("{} for {} work", words::severity(knob.severity.for_kind(kind)), kind.name()));
    sheet.entry(2, NAMES, "in general", &by_kind.join(", "));
    let advice = Advice::of(knob, case);
    for (name, text) in [
        ("why", knob.why.to_owned()),
        ("now", knob.fix_here(case)),
        ("lasting", advice.persist),
        ("undo", advice.undo),
        ("undo lasting", advice.undo_persist.unwrap_or_default()),
        ("bears on", words::causes::borne_on(knob.id)),
        ("try", knob.resort.or(case.resort()).map_or("", words::resort).to_owned()),
        ("cost", knob.cost.to_owned()),
        ("blast radius", format!("{}: {}", knob.blast.name(), words::blast_meaning(knob.blast))),
        ("confidence", words::confidence(knob.confidence).to_owned()),
    ] {
        if text.is_empty() {
            continue;
        }
        sheet.gap();
        sheet.entry(2, NAMES, name, &text);
    }
    sheet.gap();
    for (n, source) in knob.sources.iter().enumerate() {
        sheet.entry(2, NAMES, if n == 0 { "sources" } else { "" }, source);
    }
    sheet.finish()
}

fn here(sheet: &mut Sheet, finding: &Finding) {
    let because = finding.state.because().map(|because| format!(", because {because}"));
    let because = match &finding.state {
        State::Advice(look) => Some(format!(": {look}")),
        _ => because,
    };
    sheet.toned_entry(
        2,
        NAMES,
        Tone::of(finding),
        "here",
        &format!("{}{}", words::state(&finding.state), because.unwrap_or_default()),
    );
    for evidence in &finding.evidence {
        sheet.entry(2, NAMES, "", &format!("{} = {}", evidence.source, evidence.value));
    }
}

/// The kernel, CPUs and kind of work that the severity depends on.
fn circumstances(case: &Case<'_>) -> String {
    let kernel = &case.machine.kernel;
    let version = kernel.version.known().map_or_else(
        || "a kernel of unknown version".to_owned(),
        |version| format!("kernel {}.{}", version.major, version.minor),
    );
    let flavour = kernel.flavour.known().map_or("of unknown kind", |flavour| flavour.name());
    let arch = kernel.arch.known().map_or("unknown architecture", |arch| arch.name());
    format!("{} work, {version}, {flavour}, {arch}", case.need.kind.name())
}
