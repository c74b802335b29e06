//! The causes of late activations as text: ranking, knobs for each cause, worst wake-ups, method of the search.

use crate::render::clean::shortened;
use crate::render::lang::tr;
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::units;
use crate::render::words::answer;
use crate::render::words::causes as words;
use crate::render::words::command::Command;
use crate::render::words::next::{Reader, Wording};
use crate::render::words::{distrust, phase_name};
use punctual_hist::Nanos;
use punctual_numbers::explain::{Explanation, Ranked, Spike};
use punctual_numbers::report::{CausesDoubt, Distrust, Report};
use punctual_numbers::trace::Incomplete;
use std::path::Path;

/// Number of causes that a report's text lists.
const SHORT: usize = 5;
const SPIKES_SHOWN: usize = 10;
/// Number of reasons listed for one cause: why it could take the CPU.
const REASONS_SHOWN: usize = 3;
/// How many knobs of one cause are listed.
const KNOBS_SHOWN: usize = 4;

/// Number of causes whose details the text without `--full` shows.
const DETAILED: usize = 2;

#[derive(Clone, Copy, Debug)]
pub struct Show {
    pub top: usize,
    /// Whether to show everything. Otherwise the text has at most 60 lines.
    pub full: bool,
    /// Shows only the late activation of this rank, part by part; 1 is the one with the largest latency.
    pub spike: Option<usize>,
}

/// The text that `punctual explain` prints; empty for a run that did not look for causes.
pub fn explain(report: &Report, show: Show, reader: &Reader, paths: [Option<&Path>; 3], style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let Some(causes) = &report.causes else { return sheet.finish() };
    if let Some(number) = show.spike {
        if let Some(spike) = causes.spikes.get(number.wrapping_sub(1)) {
            one(&mut sheet, report, number, spike);
        }
        return sheet.finish();
    }
    sheet.heading(tr!("Causes of the largest latencies"));
    said(&mut sheet, report, causes);
    ranking(&mut sheet, causes, show.top, style.width);
    let detailed = if show.full { show.top } else { DETAILED };
    for (place, ranked) in (1..).zip(&causes.causes).take(detailed) {
        if super::is_told_in_full(place, ranked) {
            detail(&mut sheet, report, place, ranked);
        }
    }
    if show.full {
        aside(&mut sheet, words::rhythms(causes));
        spikes(&mut sheet, report, causes, style.width);
        aside(&mut sheet, words::ordinary(causes));
        how(&mut sheet, report, causes);
    }
    answer(&mut sheet, report, causes, reader, paths);
    sheet.finish()
}

/// The last lines: the first cause, the share of latency that is explained, whether to trust the ranking, and the next
/// command.
fn answer(sheet: &mut Sheet, report: &Report, causes: &Explanation, reader: &Reader, paths: [Option<&Path>; 3]) {
    let [recording, html, trace] = paths;
    sheet.gap();
    match answer::top_cause(report) {
        Some(found) => {
            sheet.hanging_paragraph(0, 2, Tone::Heading, tr!("CAUSE:"), &found);
            sheet.answer(tr!("How sure"), &words::explained(causes));
        }
        None if report.causes_doubt() == Some(CausesDoubt::NotReached) => {
            sheet.hanging_paragraph(
                0,
                2,
                Tone::Heading,
                tr!("NOTHING WAS CAPTURED:"),
                tr!("causes cannot be determined."),
            );
        }
        None => sheet.hanging_paragraph(
            0,
            2,
            Tone::Heading,
            tr!("NOTHING WAS LATE:"),
            tr!("there is no cause to look for."),
        ),
    }
    sheet.answer(tr!("Trust"), &trust(report));
    let next = Wording { report, reader, recording }.for_causes();
    sheet.answer_next(&next.why, &next.command.to_string(), next.then.map(|then| then.to_string()));
    for (label, path) in [(tr!("Files"), recording), ("", html), ("", trace)] {
        if let Some(path) = path {
            sheet.answer(label, &path.display().to_string());
        }
    }
    if trace.is_some() {
        sheet.answer_more(tr!("The trace opens at ui.perfetto.dev."));
    }
}

/// Whether the ranking can be trusted. A recording that was cut off or damaged lacks activations and their causes.
fn trust(report: &Report) -> String {
    let is_lost = |doubt: &&Distrust| matches!(doubt, Distrust::CutOff | Distrust::Damaged { .. });
    let lost = report.trust.reasons.iter().find(is_lost).map(distrust);
    match (lost, report.causes_doubt().map(words::doubt)) {
        (None, None) => tr!("Yes: {report}.", report = words::checked(report)),
        (None, Some(doubt)) => tr!("No: {doubt}", doubt),
        (Some(lost), None) => tr!("No: {lost}", lost),
        (Some(lost), Some(doubt)) => tr!("No: {lost} {doubt}", lost, doubt = units::capitalised(doubt)),
    }
}

/// The first causes, as a section of a report's text.
pub fn short(sheet: &mut Sheet, report: &Report, recording: Option<&Path>, width: usize) {
    let Some(causes) = &report.causes else { return };
    sheet.heading(tr!("Causes of the largest latencies"));
    said(sheet, report, causes);
    if let Some(sentence) = words::phases(report) {
        sheet.paragraph(2, &sentence);
    }
    ranking(sheet, causes, SHORT, width);
    if !causes.causes.is_empty() {
        let file = recording.map(|path| path.display().to_string());
        let explain = Command::new(["explain".to_owned()].into_iter().chain(file));
        sheet.command(2, &tr!("What caused each of them, when, and which knobs affect it: {explain}", explain));
    }
}

/// Prints the number of late activations, the share of their latency that is explained, and a doubt if there is one.
fn said(sheet: &mut Sheet, report: &Report, causes: &Explanation) {
    for sentence in words::late(report, causes) {
        sheet.paragraph(2, &sentence);
    }
    if let Some(why) = report.causes_doubt() {
        sheet.toned_paragraph(2, Tone::Doubt, tr!("Inconclusive:"), words::doubt(why));
    }
}

fn ranking(sheet: &mut Sheet, causes: &Explanation, top: usize, width: usize) {
    if causes.causes.is_empty() {
        return;
    }
    let mut table = Table::new(&[">", tr!(">share"), tr!(">spikes"), tr!(">total"), tr!(">at most"), tr!("<cause")]);
    // The other columns rarely take more than 44 characters.
    let room = width.saturating_sub(44).max(24);
    for (place, ranked) in causes.causes.iter().take(top).enumerate() {
        table.row([
            (place + 1).to_string(),
            if ranked.total == Nanos::ZERO { units::ABSENT.to_owned() } else { units::portion(ranked.share) },
            units::count(ranked.count),
            time(ranked.total, units::duration),
            time(ranked.worst, units::latency),
            shortened(&words::cause(&ranked.cause), room),
        ]);
    }
    sheet.gap();
    sheet.table(&table);
    if let Some(more) = causes.causes.len().checked_sub(top).filter(|more| *more > 0) {
        sheet.paragraph(2, &tr!("and {more} more", more = units::count(more as u64)));
    }
}

/// The text of a length of time, or a dash for zero, which stands for an unknown time: counters name causes without
/// their times.
fn time(length: Nanos, text: fn(Nanos) -> String) -> String {
    if length == Nanos::ZERO { units::ABSENT.to_owned() } else { text(length) }
}

fn detail(sheet: &mut Sheet, report: &Report, place: usize, ranked: &Ranked) {
    sheet.gap();
    sheet.toned_entry(2, 3, Tone::Heading, &place.to_string(), &words::cause(&ranked.cause));
    let entry = |sheet: &mut Sheet, label: &str, text: &str| sheet.entry(6, 5, label, text);
    entry(sheet, tr!("took"), &words::weight(ranked));
    if let Some(pattern) = words::pattern(ranked) {
        entry(sheet, tr!("when"), &pattern);
    }
    let places = words::places(ranked, report);
    if !places.is_empty() {
        entry(sheet, tr!("where"), &places.join("; "));
    }
    let reasons = words::reasons(ranked, REASONS_SHOWN);
    if !reasons.is_empty() {
        entry(sheet, tr!("why"), &reasons.join("; "));
    }
    for (place, knob) in words::knobs(ranked, report).iter().take(KNOBS_SHOWN).enumerate() {
        let label = if place == 0 { tr!("knobs") } else { "" };
        entry(sheet, label, &format!("{} ({})", knob.id, knob.wanted()));
    }
}

fn spikes(sheet: &mut Sheet, report: &Report, causes: &Explanation, width: usize) {
    if causes.spikes.is_empty() {
        return;
    }
    sheet.heading(tr!("Worst wake-ups that were traced"));
    let mut table = Table::new(&[">", tr!(">latency"), tr!(">CPU"), tr!(">released at"), tr!("<main cause")]);
    let room = width.saturating_sub(42).max(24);
    for (place, spike) in causes.spikes.iter().take(SPIKES_SHOWN).enumerate() {
        let first = spike.primary().map_or_else(|| units::ABSENT.to_owned(), words::blamed);
        let incomplete = spike.incomplete.filter(|why| *why != Incomplete::NoTrace);
        let first = incomplete.map_or(first, |why| tr!("incomplete: {why}", why = words::incomplete(why)));
        table.row([
            (place + 1).to_string(),
            units::latency(spike.latency()),
            spike.cpu.to_string(),
            words::at(report, spike.release),
            shortened(&first, room),
        ]);
    }
    sheet.table(&table);
    let more = causes.spikes.len().saturating_sub(SPIKES_SHOWN);
    let more = if more > 0 { tr!("{more} more. ", more = units::count(more as u64)) } else { String::new() };
    sheet.paragraph(2, &tr!("{more}To see the parts of one of them: --spike N", more));
}

fn one(sheet: &mut Sheet, report: &Report, number: usize, spike: &Spike) {
    sheet.heading(&tr!(
        "Wake-up {number} (1 has the largest latency): CPU {cpu}, released at {release}, latency {latency}",
        number,
        cpu = spike.cpu,
        release = words::at(report, spike.release),
        latency = units::latency(spike.latency())
    ));
    let phase = report.phase_name(spike.phase);
    sheet.paragraph(
        2,
        &tr!(
            "Load at that time: {phase}. Kept because it is {kept}.",
            phase = phase_name(&phase),
            kept = words::kept(spike.kept)
        ),
    );
    if let Some(why) = spike.incomplete {
        let but = tr!("{why}; the ranking of the causes leaves this activation out.", why = words::incomplete(why));
        sheet.toned_paragraph(2, Tone::Doubt, tr!("Incomplete:"), &but);
    }
    parts(sheet, spike);
    if spike.causes.is_empty() {
        return;
    }
    sheet.gap();
    sheet.paragraph(2, tr!("Causes, largest first:"));
    for blame in &spike.causes {
        sheet.point(2, &words::blame(blame));
    }
}

fn parts(sheet: &mut Sheet, spike: &Spike) {
    if spike.parts.is_empty() {
        return sheet.paragraph(2, tr!("This wake-up was not traced."));
    }
    let mut table = Table::new(&[tr!(">from (us)"), tr!(">for (us)"), tr!("<what")]);
    let mut titled = None;
    for part in &spike.parts {
        if titled.replace(part.stage) != Some(part.stage) {
            table.title(words::stage(part.stage));
        }
        let doubt = if part.certain { "" } else { " (?)" };
        table.row([
            units::exact_us(Some(part.from.since(spike.release))),
            units::exact_us(Some(part.length)),
            format!("{}{doubt}", words::cause(&part.cause)),
        ]);
    }
    sheet.gap();
    sheet.table(&table);
    if spike.parts.iter().any(|part| !part.certain) {
        sheet.paragraph(
            2,
            tr!("(?): the record of one end of this part is missing, so only the time of its other end is certain."),
        );
    }
}

fn aside(sheet: &mut Sheet, sentence: Option<String>) {
    if let Some(sentence) = sentence {
        sheet.gap();
        sheet.paragraph(2, &sentence);
    }
}

fn how(sheet: &mut Sheet, report: &Report, causes: &Explanation) {
    let Some(tracing) = &causes.tracing else { return };
    sheet.heading(tr!("Method"));
    for sentence in words::how(tracing, report).into_iter().chain(words::lost(causes)) {
        sheet.point(2, &sentence);
    }
}
