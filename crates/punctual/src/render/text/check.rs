//! What `punctual check` prints at its end, in the order a reader needs it: what the machine is, what stands in its
//! way, the numbers, the verdict, whether to believe it, what to do.

use super::{Style, section, sheet::Sheet};
use crate::render::{explain, words};
use punctual_facts::finding::{Finding, State};
use punctual_numbers::claims::PhaseClaims;
use punctual_numbers::report::Report;
use std::cmp::Reverse;
use std::path::Path;

/// At most so many findings; the rest is named by number.
const FINDINGS_SHOWN: usize = 8;
/// At most so many of those that could not be told, by name only.
const UNKNOWN_SHOWN: usize = 6;
/// Of more load phases than this, the claims of the latest only are shown.
const CLAIMS_SHOWN: usize = 3;
/// With more rows than this the table of load phases shows the latest CPU of each phase only.
const PHASE_ROWS_SHOWN: usize = 24;

/// The whole text.
pub fn check(report: &Report, recording: Option<&Path>, html: Option<&Path>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    section::machine(&mut sheet, report, style.width.max(40));
    if !report.findings.is_empty() {
        findings(&mut sheet, report);
    }
    section::notes(&mut sheet, report);
    section::latencies(&mut sheet, report);
    phases(&mut sheet, report);
    loads(&mut sheet, report);
    explain::short(&mut sheet, report, recording, style.width.max(40));
    section::verdict(&mut sheet, report);
    claims(&mut sheet, report);
    section::trust(&mut sheet, report);
    section::next(&mut sheet, report);
    section::files(&mut sheet, recording, html);
    sheet.finish()
}

/// What matters most of what the run can claim, of each load phase; of many, of the latest.
fn claims(sheet: &mut Sheet, report: &Report) {
    let mut phases: Vec<&PhaseClaims> = report.claims.phases.iter().filter(|phase| phase.due > 0).collect();
    if phases.len() > CLAIMS_SHOWN {
        phases.sort_by_key(|phase| Reverse(phase.largest));
        phases.truncate(1);
    }
    if phases.is_empty() {
        return;
    }
    sheet.heading("What it can claim");
    for phase in &phases {
        if report.claims.phases.len() > 1 {
            let name = report.phase_name(phase.phase);
            sheet.paragraph(2, &format!("{}:", words::phase_name(&name)));
        }
        for line in words::claims::short(phase) {
            sheet.point(2, &line);
        }
    }
    sheet.paragraph(2, "At 95\u{202f}% each, for this machine under this load. More: punctual report --text");
}

fn findings(sheet: &mut Sheet, report: &Report) {
    sheet.heading(&format!("What stands in the way ({})", words::findings_counted(&report.findings)));
    let standing = words::standing_in_the_way(report);
    let (bad, unknown): (Vec<&Finding>, Vec<&Finding>) = standing.into_iter().partition(|f| f.state == State::Bad);
    for finding in bad.iter().take(FINDINGS_SHOWN) {
        section::finding(sheet, finding);
    }
    match bad.len().saturating_sub(FINDINGS_SHOWN) {
        0 if bad.is_empty() => sheet.paragraph(2, "Nothing that was found."),
        0 => {}
        more => sheet.paragraph(2, &format!("and {more} more: punctual audit")),
    }
    if !unknown.is_empty() {
        let ids: Vec<&str> = unknown.iter().take(UNKNOWN_SHOWN).map(|finding| finding.id.as_str()).collect();
        let more = unknown.len().saturating_sub(ids.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        sheet.paragraph(2, &format!("Could not be told: {}{more} (punctual audit says why).", ids.join(", ")));
    }
}

/// What the loads did, so that one that did next to nothing is seen.
fn loads(sheet: &mut Sheet, report: &Report) {
    if report.loads.is_empty() {
        return;
    }
    let did: Vec<String> = report.loads.iter().map(words::achieved).collect();
    sheet.paragraph(2, &format!("The loads did: {}.", did.join("; ")));
}

fn phases(sheet: &mut Sheet, report: &Report) {
    if report.spans.len() < 2 && report.phases.iter().all(|row| row.phase == 0) {
        return;
    }
    sheet.heading("What load does (latency in us)");
    if report.phases.len() <= PHASE_ROWS_SHOWN {
        return sheet.table(&section::phase_table(report, report.phases.iter()));
    }
    let mut phases: Vec<u16> = report.phases.iter().map(|row| row.phase).collect();
    phases.dedup();
    let latest = phases.iter().filter_map(|phase| {
        report.phases.iter().filter(|row| row.phase == *phase).max_by_key(|row| row.row.latency_due.max)
    });
    sheet.table(&section::phase_table(report, latest));
    sheet.paragraph(2, "The latest CPU of each phase; all of them: punctual report --text");
}
