//! The list of findings, worst first: a line for each finding that asks for an action, and counts of all others.
//!
//! On a terminal, lines are shortened to fit, except for the commands in them: a shortened command cannot be pasted. In
//! a file or pipe nothing is shortened.

use super::{Audit, Totals, WORST_FIRST, found, shown};
use crate::render::clean::shortened;
use crate::render::lang::{said, text, tr, width};
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::words;
use punctual_facts::finding::{Evidence, Finding, Severity, State};
use punctual_facts::machine::MachineLine;
use punctual_tuning::audit::is_blind;

/// Largest width of the column of knob ids, in characters. A longer id moves the rest of its line to the right.
const ID_MAX: usize = 24;
/// Separates the evidence of a finding from its fix.
const ARROW: &str = " -> ";
/// The evidence shares a line with the fix only if at least this number of its characters fits.
const LEAST_SEEN: usize = 20;

/// The findings as text. `columns` is the width of the terminal, `None` without a terminal. With `all`, knobs that are
/// good or do not apply are listed as well.
pub fn list(audit: &Audit<'_>, columns: Option<usize>, all: bool) -> String {
    let width = columns.map_or(usize::MAX, |columns| columns.max(20));
    let mut sheet = Sheet::new(Style { width, colour: columns.is_some() });
    let machine = audit.case.machine.fingerprint();
    for MachineLine { name, value } in &machine {
        sheet.entry(0, 15, text(name), &shortened(&said(value), width.max(40) - 16));
    }
    sheet.heading(&tr!("For {need}", need = audit.need()));
    sheet.paragraph(2, &Totals::of(audit.findings).to_string());
    if is_blind(audit.findings) {
        sheet.toned_paragraph(
            2,
            Tone::Bad,
            tr!("NOT AUDITED"),
            tr!("almost nothing could be read here: are /proc and /sys mounted?"),
        );
    }
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
        tr!("ADVICE"),
        tr!("software cannot check these; please check them yourself"),
        of(audit.findings, |state| matches!(state, State::Advice(_))),
    );
    let good = of(audit.findings, |state| *state == State::Good);
    let not_here = of(audit.findings, |state| matches!(state, State::NotApplicable(_)));
    for (tone, heading, findings) in [(Tone::Good, tr!("GOOD"), good), (Tone::Quiet, tr!("NOT APPLICABLE"), not_here)] {
        if all {
            page.group(&mut sheet, tone, heading, "", findings);
        } else if !findings.is_empty() {
            title(&mut sheet, tone, heading, findings.len(), "");
            sheet.paragraph(2, &words::by_family(&findings));
        }
    }
    sheet.gap();
    let hint = if all { "" } else { tr!("; --all also lists findings that are good or do not apply") };
    let tells = tr!(
        "punctual audit --explain KNOB tells why it matters, how to change it, what that costs and how to undo \
        it{hint}",
        hint
    );
    sheet.paragraph(0, &tells);
    sheet.finish()
}

fn of(findings: &[Finding], is_wanted: impl Fn(&State) -> bool) -> Vec<&Finding> {
    findings.iter().filter(|finding| is_wanted(&finding.state)).collect()
}

/// Width of the column of knob ids: the length of the longest id that is listed, at most `ID_MAX`.
fn ids(findings: &[Finding], all: bool) -> usize {
    let has_line = |f: &&Finding| all || matches!(f.state, State::Bad | State::Advice(_));
    findings.iter().filter(has_line).map(|f| f.id.chars().count()).max().unwrap_or(0).min(ID_MAX)
}

fn title(sheet: &mut Sheet, tone: Tone, heading: &str, count: usize, meaning: &str) {
    sheet.gap();
    let text = if meaning.is_empty() { format!("({count})") } else { tr!("({count}): {meaning}", count, meaning) };
    sheet.toned_paragraph(0, tone, heading, &text);
}

/// Lists the knobs whose state is unknown, grouped by reason, because many of them share one reason.
fn unknown(sheet: &mut Sheet, findings: &[Finding]) {
    let reasons = words::by_reason(findings);
    if reasons.is_empty() {
        return;
    }
    let count = reasons.iter().map(|alike| alike.findings.len()).sum();
    title(sheet, Tone::Doubt, tr!("UNKNOWN"), count, tr!("could not be determined here"));
    for alike in reasons {
        let (ids, reason) = (alike.ids(), alike.what);
        let Some((first, others)) = ids.split_first() else { continue };
        let (mark, others) = if others.is_empty() { (":", String::new()) } else { (",", others.join(", ") + ": ") };
        sheet.hanging_paragraph(2, 4, Tone::Heading, &format!("{first}{mark}"), &format!("{others}{}", said(reason)));
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

/// The text of a finding and, if both do not fit one line, its fix as a text of its own. The fix of a bad finding is
/// part of the first text if there is room.
fn line(finding: &Finding, room: usize) -> (String, Option<String>) {
    if finding.state != State::Bad {
        return (fitting(found(finding), || brief(&finding.evidence, &finding.state), room), None);
    }
    let fix = said(&finding.fix);
    let deed = format!("{ARROW}{fix}");
    for seen in [shown(&finding.evidence), brief(&finding.evidence, &finding.state)] {
        if width(&seen) + width(&deed) <= room {
            return (seen + &deed, None);
        }
    }
    // The fix matters more than the evidence, so the evidence is shortened as long as LEAST_SEEN characters of it
    // remain.
    if width(&deed) + LEAST_SEEN <= room {
        return (shortened(&brief(&finding.evidence, &finding.state), room - width(&deed)) + &deed, None);
    }
    let wanted = tr!(
        "should be: {title}; {found}",
        title = said(&finding.title),
        found = brief(&finding.evidence, &finding.state)
    );
    (shortened(&wanted, room), Some(fix.into_owned()).filter(|fix| !fix.is_empty()))
}

fn fitting(full: String, brief: impl Fn() -> String, room: usize) -> String {
    if width(&full) <= room { full } else { shortened(&brief(), room) }
}

/// The evidence with each path shortened to its last component. For a finding without a verdict, the reason,
/// unshortened.
fn brief(evidence: &[Evidence], state: &State) -> String {
    if let Some(because) = state.because() {
        return said(because).into_owned();
    }
    let short = |source: &str| match source.rsplit_once('/') {
        Some((folder, name)) if source.starts_with('/') && folder.len() > 4 && !folder.contains(' ') => name.to_owned(),
        _ => source.to_owned(),
    };
    let all: Vec<String> =
        evidence.iter().map(|e| format!("{} = {}", said(&short(&e.source)), said(&e.value))).collect();
    all.join(", ")
}
