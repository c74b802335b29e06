//! The text on one knob: its state on this machine, how much it matters, and what to do.

use super::{Advice, Audit};
use crate::render::lang::{said, tr};
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
        &format!("{} ({})", said(knob.title), said(knob.family.name())),
    );
    sheet.gap();
    if let Some(finding) = audit.findings.iter().find(|finding| finding.id == knob.id) {
        here(&mut sheet, finding);
        let severity = words::severity(finding.severity);
        sheet.entry(
            2,
            NAMES,
            tr!("severity"),
            &tr!("{severity} when bad here: {circumstances}", severity, circumstances = circumstances(case)),
        );
    }
    let by_kind = Kind::ALL.map(|kind| {
        tr!(
            "{severity} for {kind} work",
            severity = words::severity(knob.severity.for_kind(kind)),
            kind = said(kind.name())
        )
    });
    sheet.entry(2, NAMES, tr!("in general"), &by_kind.join(", "));
    let advice = Advice::of(knob, case);
    for (name, text) in [
        (tr!("why"), knob.why.to_owned()),
        (tr!("now"), knob.fix_here(case)),
        (tr!("lasting"), advice.persist),
        (tr!("undo"), advice.undo),
        (tr!("undo lasting"), advice.undo_persist.unwrap_or_default()),
        (tr!("bears on"), words::causes::borne_on(knob.id)),
        (tr!("try"), knob.resort.or(case.resort()).map_or("", words::resort).to_owned()),
        (tr!("cost"), knob.cost.to_owned()),
        (tr!("blast radius"), format!("{}: {}", said(knob.blast.name()), words::blast_meaning(knob.blast))),
        (tr!("confidence"), words::confidence(knob.confidence).to_owned()),
    ] {
        if text.is_empty() {
            continue;
        }
        sheet.gap();
        sheet.entry(2, NAMES, name, &said(&text));
    }
    sheet.gap();
    for (n, source) in knob.sources.iter().enumerate() {
        sheet.entry(2, NAMES, if n == 0 { tr!("sources") } else { "" }, source);
    }
    sheet.finish()
}

fn here(sheet: &mut Sheet, finding: &Finding) {
    let because = finding.state.because().map(|because| tr!(", because {because}", because = said(because)));
    let because = match &finding.state {
        State::Advice(look) => Some(format!(": {}", said(look))),
        _ => because,
    };
    sheet.toned_entry(
        2,
        NAMES,
        Tone::of(finding),
        tr!("here"),
        &format!("{}{}", words::state(&finding.state), because.unwrap_or_default()),
    );
    for evidence in &finding.evidence {
        sheet.entry(2, NAMES, "", &format!("{} = {}", said(&evidence.source), said(&evidence.value)));
    }
}

/// The kernel, CPUs and kind of work that the severity depends on.
fn circumstances(case: &Case<'_>) -> String {
    let kernel = &case.machine.kernel;
    let version = kernel.version.known().map_or_else(
        || tr!("a kernel of unknown version").to_owned(),
        |version| tr!("kernel {major}.{minor}", major = version.major, minor = version.minor),
    );
    let flavour = kernel.flavour.known().map_or(tr!("of unknown kind"), |flavour| flavour.name());
    let arch = kernel.arch.known().map_or(tr!("unknown architecture"), |arch| arch.name());
    tr!("{kind} work, {version}, {flavour}, {arch}", kind = said(case.need.kind.name()), version, flavour, arch)
}
