//! A plan as text: its CPUs, the changes with how each is undone, and the knobs that are left alone.

use super::NAMES;
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::words;
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
    let keep = if house.len() == 1 { "does" } else { "do" };
    let what = format!(
        "for {} work on {}; {} {keep} the housekeeping",
        wishes.need.kind.name(),
        words::cpus(rt),
        words::cpus(house)
    );
    sheet.toned_paragraph(0, Tone::Heading, "Plan", &what);
    for reason in &plan.choice.reasons {
        sheet.point(2, reason);
    }
    for warning in &plan.choice.warnings {
        sheet.toned_paragraph(2, Tone::Doubt, "careful:", &format!("{warning}. {}", warning.remedy()));
    }
}

fn changes(sheet: &mut Sheet, changes: &[Change]) {
    if changes.is_empty() {
        sheet.heading("Nothing is to be changed");
        return;
    }
    sheet.heading(&format!("{} change{}, in this order", changes.len(), if changes.len() == 1 { "" } else { "s" }));
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
        count => Some(format!("{count} {}", blast.name())),
    };
    let radii: Vec<String> = [Blast::Harmless, Blast::Disturbing, Blast::Breaking].into_iter().filter_map(of).collect();
    let later = match changes.iter().filter(|change| change.takes == Takes::NextBoot).count() {
        0 => String::new(),
        count => format!("; {count} from the next boot on"),
    };
    format!("{}{later}", radii.join(", "))
}

fn one(sheet: &mut Sheet, n: usize, change: &Change) {
    sheet.toned_paragraph(0, Tone::Heading, &format!("{n:>2}. {}:", change.id), &change.title);
    let tone = match change.blast {
        Blast::Harmless => Tone::Good,
        Blast::Disturbing => Tone::Doubt,
        Blast::Breaking => Tone::Bad,
    };
    let when = match change.takes {
        Takes::Now => "now",
        Takes::NextBoot => "from the next boot on",
    };
    let until = match change.lasts {
        Lasts::Process => "as long as our process lives",
        Lasts::Reboot => "until the next boot",
        Lasts::ForGood => "for good",
    };
    sheet.toned_entry(4, NAMES, tone, change.blast.name(), &format!("{when}, {until}"));
    let also = if change.also.is_empty() { String::new() } else { format!(" (also for {})", change.also.join(", ")) };
    for (name, text) in [
        ("before", change.before.clone()),
        ("after", format!("{}{also}", change.after)),
        ("why", change.why.clone()),
        ("cost", change.cost.clone()),
        ("risk", change.risk.clone()),
        ("undo", change.undo.clone()),
        ("proof", change.proof.clone()),
    ] {
        if !text.is_empty() {
            sheet.entry(4, NAMES, name, &text);
        }
    }
}

fn conflicts(sheet: &mut Sheet, plan: &Plan) {
    if plan.conflicts.is_empty() {
        return;
    }
    sheet.heading("Who else has a hand in it");
    for conflict in &plan.conflicts {
        sheet.point(2, &owner(conflict));
    }
}

/// A sentence about another program that sets the same things, and how the conflict is resolved.
pub(super) fn owner(conflict: &Conflict) -> String {
    let resolved = match &conflict.resolved {
        Resolution::Silenced => "it is stopped and kept from starting".to_owned(),
        Resolution::Overridden => "what the plan sets counts more".to_owned(),
        Resolution::Replaced => "what the plan sets takes its place".to_owned(),
        Resolution::LeftAlone(why) => format!("left alone: {why}"),
    };
    format!("{} ({}): {resolved}", conflict.what, conflict.evidence)
}

fn lasting(sheet: &mut Sheet, plan: &Plan) {
    let how = match &plan.starts {
        Starts::NotNeeded => None,
        Starts::NextBoot => Some(
            "The new command line is tried by the next boot, and by that one only; `punctual status --confirm` keeps it."
                .to_owned(),
        ),
        Starts::Reboot(run) => Some(format!(
            "The new command line is tried by `{} {}`, once; `punctual status --confirm` keeps it.",
            run.program,
            run.arguments.join(" ")
        )),
        Starts::Menu(entry) => Some(format!(
            "The new command line is tried by choosing '{entry}' in the boot menu; `punctual status --confirm` keeps it."
        )),
    };
    if how.is_none() && plan.limits.is_empty() {
        return;
    }
    sheet.heading("How it lasts");
    for sentence in how.iter().chain(&plan.limits) {
        sheet.point(2, sentence);
    }
}

fn left(sheet: &mut Sheet, left: &[Left]) {
    let mut told: Vec<&Left> = left.iter().filter(|left| left.reason != Reason::Excepted).collect();
    if told.is_empty() {
        return;
    }
    told.sort_by_key(|left| std::cmp::Reverse(left.severity));
    sheet.heading("Left as it is");
    for left in told.iter().filter(|left| left.severity > Severity::Info) {
        let severity = words::severity(left.severity);
        let text = format!("{severity}: {}; {}", left.title, why(&left.reason));
        sheet.entry(2, 22, &left.id, &text);
    }
    let small: Vec<&str> =
        told.iter().filter(|left| left.severity == Severity::Info).map(|left| left.id.as_str()).collect();
    if !small.is_empty() {
        sheet.entry(2, 22, "of little weight", &format!("{} (--only NAME changes one)", small.join(", ")));
    }
}

/// Why a knob is left alone, as part of a sentence.
pub fn why(reason: &Reason) -> String {
    match reason {
        Reason::Excepted => "you left it out".to_owned(),
        Reason::Unasked(why) => format!("only when named (--only), since {why}"),
        Reason::Blast(blast) => format!("the change is {}: allow it with --blast {}", blast.name(), allowing(*blast)),
        Reason::ByHand(how) => format!("by hand: {how}"),
        Reason::NotHere(why) => format!("cannot be changed here: {why}"),
        Reason::Decided { by } => format!("{by} decides that"),
    }
}

fn allowing(blast: Blast) -> &'static str {
    match blast {
        Blast::Harmless => "harmless",
        Blast::Disturbing => "disturbing",
        Blast::Breaking => "any",
    }
}
