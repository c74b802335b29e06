//! The result of each change of a plan, as text.

use crate::render::lang::{said, tr};
use crate::render::sheet::{Sheet, Style, Tone};
use punctual_linux::apply::{Applied, Fate, Reverted, Tried, UndoneStep};
use punctual_linux::journal::{StepOutcome, Undone};
use punctual_tuning::plan::{Plan, subject};
use std::collections::BTreeMap;

/// The text after a plan was carried out: one line for each change, and what to do next.
pub fn results(plan: &Plan, applied: &Applied, next: &[String], style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading(&tr!("Transaction {transaction}", transaction = applied.transaction));
    for tried in &applied.changes {
        let (tone, word, why) = told(tried);
        let title = plan.changes.iter().find(|change| change.id == tried.id).map_or("", |change| change.title.as_str());
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        sheet.toned_entry(2, 11, tone, word, &format!("{} {}{why}", tried.id, said(title)));
        for seen in waits(tried) {
            sheet.entry(4, 9, "", &seen);
        }
    }
    if !next.is_empty() {
        sheet.gap();
    }
    for sentence in next {
        sheet.paragraph(0, &said(sentence));
    }
    sheet.finish()
}

/// Sentences about steps of a change that are not in effect yet, and about steps that were refused while others of the
/// same change succeeded.
fn waits(tried: &Tried) -> Vec<String> {
    let told = |outcome: &StepOutcome| match outcome {
        StepOutcome::Waits { seen } => Some(tr!("not yet: still reads {seen}", seen = said(seen))),
        StepOutcome::Refused { why } if matches!(tried.fate, Fate::Partly { .. }) => Some(said(why).into_owned()),
        _ => None,
    };
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for text in tried.steps.iter().flatten().filter_map(told) {
        *counted.entry(text).or_default() += 1;
    }
    counted
        .into_iter()
        .map(|(text, count)| if count > 1 { tr!("{count} times: {text}", count, text) } else { text })
        .collect()
}

/// The result of a change in a word, and the reason.
pub(super) fn told(tried: &Tried) -> (Tone, &'static str, String) {
    match &tried.fate {
        Fate::Done => (Tone::Good, tr!("done"), String::new()),
        Fate::Already => (Tone::Quiet, tr!("was so"), String::new()),
        Fate::Gone => (Tone::Quiet, tr!("gone"), tr!("the thread or device that it concerns is not there").to_owned()),
        Fate::Waits => (
            Tone::Doubt,
            tr!("waits"),
            tr!("accepted; it takes effect when the interrupt or thread next runs").to_owned(),
        ),
        Fate::NextBoot => (Tone::Doubt, tr!("next boot"), tr!("no part of it can be done now").to_owned()),
        Fate::TooBroad { blast } => (
            Tone::Bad,
            tr!("left out"),
            tr!("the change is {blast}, which was not allowed (--blast)", blast = said(blast.name())),
        ),
        Fate::Partly { refused, of, why } => (
            Tone::Doubt,
            tr!("in part"),
            tr!("{refused} of {of} steps were refused; the first, because: {why}", refused, of, why = said(why)),
        ),
        Fate::TakenBack { why } => {
            (Tone::Bad, tr!("refused"), tr!("{why}; the steps before it were undone", why = said(why)))
        }
        Fate::Stuck { why, left } => {
            (Tone::Bad, tr!("stuck"), tr!("{why}; not undone: {left}", why = said(why), left = said(&left.join("; "))))
        }
    }
}

/// The text of a revert: the settings that were put back, and those that could not be.
pub fn reverted(reverted: &Reverted, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    for UndoneStep { intent, how } in &reverted.undone {
        let what = subject(&intent.step);
        match how {
            Undone::Restored => {
                sheet.toned_entry(2, 11, Tone::Good, tr!("put back"), &format!("{} {}", intent.change, said(&what)));
            }
            Undone::Nothing { why } => {
                sheet.toned_entry(
                    2,
                    11,
                    Tone::Quiet,
                    tr!("nothing"),
                    &format!("{} {}: {}", intent.change, said(&what), said(why)),
                );
            }
            Undone::Left { what: left } => {
                sheet.toned_entry(
                    2,
                    11,
                    Tone::Doubt,
                    tr!("left"),
                    &format!("{} {}: {}", intent.change, said(&what), said(left)),
                );
            }
        }
    }
    for trouble in &reverted.trouble {
        let what = subject(&trouble.intent.step);
        let remedy = if trouble.conflict { tr!(" (--leave-conflicts keeps it as it is now)") } else { "" };
        let text = format!("{} {}: {}{remedy}", trouble.intent.change, said(&what), said(&trouble.why));
        sheet.toned_entry(2, 11, Tone::Bad, tr!("not undone"), &text);
    }
    for damage in &reverted.damage {
        sheet.toned_entry(
            2,
            11,
            Tone::Bad,
            tr!("damaged"),
            &tr!("the journal: {damage}", damage = said(&damage.to_string())),
        );
    }
    if let Some(why) = &reverted.unwritten {
        sheet.toned_entry(2, 11, Tone::Bad, tr!("unwritten"), &said(why));
    }
    sheet.gap();
    sheet.paragraph(0, summary(reverted));
    sheet.finish()
}

fn summary(reverted: &Reverted) -> &'static str {
    match (reverted.closed, reverted.undone.is_empty(), reverted.trouble.is_empty()) {
        (true, true, _) => tr!("Nothing was applied: the machine is as it was."),
        (true, false, _) => {
            tr!("Everything is put back; settings that this boot started with stay in force until the next boot.")
        }
        (false, true, true) => tr!("There was nothing to put back."),
        (false, false, true) => tr!("These transactions are put back; earlier ones stay."),
        (false, _, false) => tr!("Not everything could be put back; the journal is kept, and revert can be run again."),
    }
}
