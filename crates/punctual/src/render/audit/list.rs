//! The list of findings, worst first: a line for each that asks for something, and counts of all others.
//!
//! On a terminal a line is cut to fit, but a command in it never is: half a command is worse than none. In a file or
//! pipe nothing is cut.

use super::{Audit, Totals, WORST_FIRST, found, shown};
use crate::render::clean::shortened;
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::words;
use punctual_facts::finding::{Evidence, Finding, Severity, State};
use punctual_facts::machine::MachineLine;

/// Widest column of ids.
const ID_MAX: usize = 24;
/// Stands between what was read and what to do.
const ARROW: &str = " -> ";
/// Fewest characters of what was read that are worth their place beside what to do.
const LEAST_SEEN: usize = 20;

/// The findings as text. `columns` is the width of the terminal, `None` without a terminal. With `all`, knobs that are
/// good or do not apply are listed as well.
pub fn list(audit: &Audit<'_>, columns: Option<usize>, all: bool) -> String {
    let width = columns.map_or(usize::MAX, |columns| columns.max(20));
    let mut sheet = Sheet::new(Style { width, colour: columns.is_some() });
    let machine = audit.case.machine.fingerprint();
    for MachineLine { name, value } in &machine {
        sheet.entry(0, 15, name, &shortened(value, width.max(40) - 16));
    }
    sheet.heading(&format!("For {}", audit.need()));
    sheet.paragraph(2, &Totals::of(audit.findings).to_string());
    if let Some(resort) = audit.case.resort() {
        sheet.paragraph(2, words::resort(resort));
    }
    let page = Page { width, ids: ids(audit.findings, all) };
    for severity in WORST_FIRST {
        let tone = if severity >= Severity::High { Tone::Bad } else { Tone::Doubt };
        let heading = words::severity(severity).to_uppercase();
        page.group(&mut sheet, tone, &heading, words::severity_meaning(severity), audit.bad(severity).collect());
    }
    unknown(&mut sheet, audit.findings);
    page.group(
        &mut sheet,
        Tone::Doubt,
        "ADVICE",
        "software cannot see these",
        of(audit.findings, |state| matches!(state, State::Advice(_))),
    );
    let good = of(audit.findings, |state| *state == State::Good);
    let not_here = of(audit.findings, |state| matches!(state, State::NotApplicable(_)));
    for (tone, heading, findings) in [(Tone::Good, "GOOD", good), (Tone::Quiet, "NOT APPLICABLE", not_here)] {
        if all {
            page.group(&mut sheet, tone, heading, "", findings);
        } else if !findings.is_empty() {
            title(&mut sheet, tone, heading, findings.len(), "");
            sheet.paragraph(2, &words::by_family(&findings));
        }
    }
    sheet.gap();
    let hint = if all { "" } else { "; --all lists what is good and what does not apply" };
    sheet
        .paragraph(0, &format!("punctual audit --explain KNOB tells why, how, what it costs and how to undo it{hint}"));
    sheet.finish()
}

fn of(findings: &[Finding], is_wanted: impl Fn(&State) -> bool) -> Vec<&Finding> {
    findings.iter().filter(|finding| is_wanted(&finding.state)).collect()
}

/// Width of the column of ids, from the longest id that gets a line.
fn ids(findings: &[Finding], all: bool) -> usize {
    let has_line = |f: &&Finding| all || matches!(f.state, State::Bad | State::Advice(_));
    findings.iter().filter(has_line).map(|f| f.id.chars().count()).max().unwrap_or(0).min(ID_MAX)
}

fn title(sheet: &mut Sheet, tone: Tone, heading: &str, count: usize, meaning: &str) {
    sheet.gap();
    let colon = if meaning.is_empty() { "" } else { ": " };
    sheet.toned_paragraph(0, tone, heading, &format!("({count}){colon}{meaning}"));
}

/// The findings that are unknown, grouped by reason, because many have the same one.
fn unknown(sheet: &mut Sheet, findings: &[Finding]) {
    let reasons = words::by_reason(findings);
    if reasons.is_empty() {
        return;
    }
    let count = reasons.iter().map(|alike| alike.findings.len()).sum();
    title(sheet, Tone::Doubt, "UNKNOWN", count, "could not be told");
    for alike in reasons {
        let (ids, reason) = (alike.ids(), alike.what);
        let Some((first, others)) = ids.split_first() else { continue };
        let (mark, others) = if others.is_empty() { (":", String::new()) } else { (",", others.join(", ") + ": ") };
        sheet.hanging_paragraph(2, 4, Tone::Heading, &format!("{first}{mark}"), &format!("{others}{reason}"));
    }
}

struct Page {
    width: usize,
    ids: usize,
}

impl Page {
    fn group(&self, sheet: &mut Sheet, tone: Tone, heading: &str, meaning: &str, findings: Vec<&Finding>) {
        if findings.is_empty() {
            return;
        }
        title(sheet, tone, heading, findings.len(), meaning);
        for finding in findings {
            let room = self.width.max(40).saturating_sub(self.ids.max(finding.id.chars().count()) + 3);
            let (told, deed) = line(finding, room);
            sheet.toned_entry(2, self.ids, Tone::Heading, &finding.id, &told);
            if let Some(deed) = deed {
                sheet.hanging_paragraph(4, 7, Tone::Quiet, ARROW.trim(), &deed);
            }
        }
    }
}

/// What was found and what to do about it: on the same line where both fit, else on lines of its own.
fn line(finding: &Finding, room: usize) -> (String, Option<String>) {
    if finding.state != State::Bad {
        return (fitting(found(finding), || brief(&finding.evidence, &finding.state), room), None);
    }
    let deed = format!("{ARROW}{}", finding.fix);
    for seen in [shown(&finding.evidence), brief(&finding.evidence, &finding.state)] {
        if seen.chars().count() + deed.chars().count() <= room {
            return (seen + &deed, None);
        }
    }
    // What to do matters more than what was read, which is shortened as long as LEAST_SEEN characters of it remain.
    if deed.chars().count() + LEAST_SEEN <= room {
        return (shortened(&brief(&finding.evidence, &finding.state), room - deed.chars().count()) + &deed, None);
    }
    let wanted = format!("should be: {}; {}", finding.title, brief(&finding.evidence, &finding.state));
    (shortened(&wanted, room), Some(finding.fix.clone()).filter(|fix| !fix.is_empty()))
}

fn fitting(full: String, brief: impl Fn() -> String, room: usize) -> String {
    if full.chars().count() <= room { full } else { shortened(&brief(), room) }
}

/// The evidence with only the last name of each path; reasons stay as they are.
fn brief(evidence: &[Evidence], state: &State) -> String {
    if let Some(because) = words::state_because(state) {
        return because.to_owned();
    }
    let short = |source: &str| match source.rsplit_once('/') {
        Some((folder, name)) if source.starts_with('/') && folder.len() > 4 && !folder.contains(' ') => name.to_owned(),
        _ => source.to_owned(),
    };
    let all: Vec<String> = evidence.iter().map(|e| format!("{} = {}", short(&e.source), e.value)).collect();
    all.join(", ")
}
