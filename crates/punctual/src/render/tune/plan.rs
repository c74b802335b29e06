//! A plan as text: its CPUs, the changes with how each is undone, and the knobs that are left alone.

use super::NAMES;
use crate::render::lang::{said, tr};
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::{units, words};
use punctual_facts::finding::Severity;
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::conflicts::{Conflict, Resolution};
use punctual_tuning::plan::lasting::Starts;
use punctual_tuning::plan::{Change, Lasts, Left, Plan, Reason, Takes, Wishes};

pub fn plan(plan: &Plan, wishes: &Wishes, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    choice(&mut sheet, plan, wishes);
    changes(&mut sheet, &plan.changes);
    conflicts(&mut sheet, plan);
    lasting(&mut sheet, plan);
    left(&mut sheet, &plan.left);
    sheet.finish()
}

fn choice(sheet: &mut Sheet, plan: &Plan, wishes: &Wishes) {
    let (rt, house) = (&plan.choice.cpus, &plan.choice.housekeeping);
    let (kind, rt) = (said(wishes.need.kind.name()), words::cpus(rt));
    let what = match house.len() {
        1 => tr!("for {kind} work on {rt}; {house} does the housekeeping", kind, rt, house = words::cpus(house)),
        _ => tr!("for {kind} work on {rt}; {house} do the housekeeping", kind, rt, house = words::cpus(house)),
    };
    sheet.toned_paragraph(0, Tone::Heading, tr!("Plan"), &what);
    for reason in &plan.choice.reasons {
        sheet.point(2, &said(reason));
    }
    for warning in &plan.choice.warnings {
        sheet.toned_paragraph(2, Tone::Doubt, tr!("careful:"), &said(&format!("{warning}. {}", warning.remedy())));
    }
}

fn changes(sheet: &mut Sheet, changes: &[Change]) {
    if changes.is_empty() {
        sheet.heading(tr!("Nothing is to be changed"));
        return;
    }
    sheet.heading(&tr!("{changes}, in this order", changes = units::counted(changes.len() as u64, "change")));
    sheet.paragraph(2, &totals(changes));
    for (n, change) in changes.iter().enumerate() {
        sheet.gap();
        one(sheet, n + 1, change);
    }
}

/// The number of changes of each blast radius, for the user who has to agree to the plan.
fn totals(changes: &[Change]) -> String {
    let of = |blast: Blast| match changes.iter().filter(|change| change.blast == blast).count() {
        0 => None,
        count => Some(format!("{count} {}", said(blast.name()))),
    };
    let radii: Vec<String> = [Blast::Harmless, Blast::Disturbing, Blast::Breaking].into_iter().filter_map(of).collect();
    let later = match changes.iter().filter(|change| change.takes == Takes::NextBoot).count() {
        0 => String::new(),
        count => tr!("; {count} only in force from the next boot on", count),
    };
    format!("{}{later}", radii.join(", "))
}

fn one(sheet: &mut Sheet, n: usize, change: &Change) {
    sheet.toned_paragraph(0, Tone::Heading, &format!("{n:>2}. {}:", change.id), &said(&change.title));
    let tone = match change.blast {
        Blast::Harmless => Tone::Good,
        Blast::Disturbing => Tone::Doubt,
        Blast::Breaking => Tone::Bad,
    };
    let when = match change.takes {
        Takes::Now => tr!("now"),
        Takes::NextBoot => tr!("from the next boot on"),
    };
    let until = match change.lasts {
        Lasts::Process => tr!("as long as punctual's process runs"),
        Lasts::Reboot => tr!("until the next boot"),
        Lasts::ForGood => tr!("for good"),
    };
    sheet.toned_entry(4, NAMES, tone, &said(change.blast.name()), &format!("{when}, {until}"));
    let also = if change.also.is_empty() {
        String::new()
    } else {
        tr!(" (this also serves {also})", also = change.also.join(", "))
    };
    for (name, text) in [
        (tr!("before"), values(&change.before)),
        (tr!("after"), format!("{}{also}", values(&change.after))),
        (tr!("why"), said(&change.why).into_owned()),
        (tr!("cost"), said(&change.cost).into_owned()),
        (tr!("risk"), said(&change.risk).into_owned()),
        (tr!("undo"), said(&change.undo).into_owned()),
        (tr!("proof"), said(&change.proof).into_owned()),
    ] {
        if !text.is_empty() {
            sheet.entry(4, NAMES, name, &text);
        }
    }
}

/// The values before or after, each with what it belongs to, such as `ff (unbound work); 0 (CPU 3)`. A value of one word is
/// what the kernel shows, and stays.
fn values(text: &str) -> String {
    let whole = said(text);
    if whole != text {
        return whole.into_owned();
    }
    let value = |value: &str| if value.contains([' ', '(']) { said(value).into_owned() } else { value.to_owned() };
    let one = |one: &str| match one.strip_suffix(')').and_then(|one| one.rsplit_once(" (")) {
        Some((before, subjects)) => format!("{} ({})", value(before), said(subjects)),
        None => value(one),
    };
    text.split("; ").map(one).collect::<Vec<_>>().join("; ")
}

fn conflicts(sheet: &mut Sheet, plan: &Plan) {
    if plan.conflicts.is_empty() {
        return;
    }
    sheet.heading(tr!("Programs that set the same things"));
    for conflict in &plan.conflicts {
        sheet.point(2, &owner(conflict));
    }
}

/// A sentence about another program that sets the same things, and how the conflict is resolved.
pub(super) fn owner(conflict: &Conflict) -> String {
    let resolved = match &conflict.resolved {
        Resolution::Silenced => tr!("it is stopped and kept from starting").to_owned(),
        Resolution::Overridden => tr!("the plan overrides it").to_owned(),
        Resolution::Replaced => tr!("the plan replaces it").to_owned(),
        Resolution::LeftAlone(why) => tr!("left alone: {why}", why = said(why)),
    };
    format!("{} ({}): {resolved}", said(&conflict.what), said(&conflict.evidence))
}

fn lasting(sheet: &mut Sheet, plan: &Plan) {
    let how = match &plan.starts {
        Starts::NotNeeded => None,
        Starts::NextBoot => Some(
            tr!("The next boot tries the new command line, and only that boot; `punctual status --confirm` keeps it.")
                .to_owned(),
        ),
        Starts::Reboot(run) => Some(tr!(
            "The new command line is tried by `{program} {arguments}`, once; `punctual status --confirm` keeps it.",
            program = run.program,
            arguments = run.arguments.join(" ")
        )),
        Starts::Menu(entry) => Some(tr!(
            "The new command line is tried by choosing '{entry}' in the boot menu; `punctual status --confirm` keeps it.",
            entry
        )),
    };
    if how.is_none() && plan.limits.is_empty() {
        return;
    }
    sheet.heading(tr!("How it lasts"));
    for sentence in how.iter().chain(&plan.limits) {
        sheet.point(2, &said(sentence));
    }
}

fn left(sheet: &mut Sheet, left: &[Left]) {
    let mut told: Vec<&Left> = left.iter().filter(|left| left.reason != Reason::Excepted).collect();
    if told.is_empty() {
        return;
    }
    told.sort_by_key(|left| std::cmp::Reverse(left.severity));
    sheet.heading(tr!("Left as it is"));
    for left in told.iter().filter(|left| left.severity > Severity::Info) {
        let severity = words::severity(left.severity);
        let title = tr!("should be: {title}", title = said(&left.title));
        let text = format!("{severity}: {title}; {}", why(&left.reason));
        sheet.entry(2, 22, &left.id, &text);
    }
    let small: Vec<&str> =
        told.iter().filter(|left| left.severity == Severity::Info).map(|left| left.id.as_str()).collect();
    if !small.is_empty() {
        sheet.entry(
            2,
            22,
            tr!("of little weight"),
            &tr!("{knobs} (--only NAME changes one)", knobs = small.join(", ")),
        );
    }
}

/// Why a knob is left alone, as part of a sentence.
pub fn why(reason: &Reason) -> String {
    match reason {
        Reason::Excepted => tr!("you left it out").to_owned(),
        Reason::Unasked(why) => tr!("only if you name it (--only), because {why}", why = said(why)),
        Reason::Blast(blast) => tr!(
            "the change is {blast}: allow it with --blast {allowing}",
            blast = said(blast.name()),
            allowing = allowing(*blast)
        ),
        Reason::ByHand(how) => tr!("by hand: {how}", how = said(how)),
        Reason::NotHere(why) => tr!("cannot be changed here: {why}", why = said(why)),
        Reason::Decided { by } => tr!("{by} decides that", by = said(by)),
    }
}

fn allowing(blast: Blast) -> &'static str {
    match blast {
        Blast::Harmless => "harmless",
        Blast::Disturbing => "disturbing",
        Blast::Breaking => "any",
    }
}
