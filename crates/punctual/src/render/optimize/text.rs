//! The text of a campaign for a terminal.

use super::{NotTried, Result, words as say};
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::{units, words};
use punctual_hist::Nanos;
use punctual_optimize::format::{Doubts, strategy_name};
use punctual_optimize::{Campaign, CampaignStage, CandidateVerdict, Design, ERROR_RATE, Judged, LOOKS, Metric, Tried};

/// If verdicts would take more than this number of times as many rounds, the text does not advise to go on.
const LONGER_MAX: f64 = 100.0;

/// The text before a campaign begins: what it will try, and how long it takes.
pub fn intended(design: &Design, left: &[NotTried], limits: &[String], each: Nanos, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.heading("To be tried");
    for candidate in &design.candidates {
        sheet.point(2, &format!("{}: {} (costs: {})", candidate.id, candidate.title, candidate.cost));
    }
    if !left.is_empty() {
        sheet.heading("Not tried");
    }
    for NotTried { id, why } in left {
        sheet.point(2, &format!("{id}: {why}"));
    }
    let most = design.runs_at_most();
    let takes_boots = design.candidates.iter().any(|candidate| !candidate.boot.is_empty());
    let back = if takes_boots {
        "Each measurement has a boot of its own, so the machine is started again for each of them, and once more at the end; \
         a command line is tried by one boot alone, and the boot after that is the old one."
    } else {
        "Each setting is put back before the next one."
    };
    sheet.heading("How");
    sheet.paragraph(
        2,
        &format!(
            "{}: {} rounds at most, in each of them every candidate once and the machine as it was {} times, in an order \
             drawn by lot (seed {}); {} of {}, about {} if no verdict ends it before. {back}",
            strategy_name(design.strategy),
            design.rounds,
            design.baselines,
            design.seed,
            units::counted(most, "measurement"),
            units::duration(each),
            units::duration(each.times(most)),
        ),
    );
    if !limits.is_empty() {
        sheet.heading("To be known");
    }
    for limit in limits {
        sheet.point(2, limit);
    }
    sheet.finish()
}

pub fn not_tried(left: &[NotTried]) -> String {
    let told: Vec<String> = left.iter().map(|NotTried { id, why }| format!("{id} ({why})")).collect();
    if told.is_empty() { "every knob is as it should be".to_owned() } else { told.join("; ") }
}

/// The line that says which candidates are being measured, and in which stage and round.
pub fn step(campaign: &Campaign, arm: &[usize], stage: CampaignStage, round: u32) -> String {
    let design = &campaign.design;
    let names: Vec<&str> =
        arm.iter().filter_map(|place| design.candidates.get(*place)).map(|candidate| candidate.id.as_str()).collect();
    let what = if names.is_empty() { "as it was".to_owned() } else { names.join(" + ") };
    let part = match stage {
        CampaignStage::Screening => "screening".to_owned(),
        CampaignStage::Rounds => format!("round {} of {} at most", round + 1, design.rounds),
        CampaignStage::Together => format!("together, round {}", round + 1),
    };
    format!("measurement {}, {part}: {what}", campaign.runs.len() + 1)
}

pub fn text(result: &Result<'_>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let Result { campaign, standing, .. } = result;
    sheet.heading(if result.stopped { "So far" } else { "Result" });
    if result.stopped {
        let how = format!(
            "after {}; nothing is decided yet. {} To go on: punctual optimize --resume {}",
            units::counted(campaign.runs.len() as u64, "measurement"),
            put_back(result),
            result.folder.display()
        );
        let ended = match &result.gave_up {
            Some(why) => format!("Given up {why};"),
            None => "Interrupted".to_owned(),
        };
        sheet.toned_paragraph(2, Tone::Doubt, &ended, &how);
    } else {
        recommended(&mut sheet, result);
    }
    effects(&mut sheet, result);
    if !result.not_tried.is_empty() {
        sheet.heading("Not tried");
    }
    for NotTried { id, why } in result.not_tried {
        sheet.point(2, &format!("{id}: {why}"));
    }
    sheet.heading("How it was measured");
    sheet.paragraph(2, &how(result));
    if let Some(doubts) = doubts(result) {
        sheet.toned_paragraph(2, Tone::Doubt, "To be doubted:", &doubts);
    }
    sheet.paragraph(
        2,
        &format!(
            "Odds of calling anything better or worse where nothing differs: {} % at most for the whole campaign; verdicts \
             were looked for after {LOOKS} fixed numbers of rounds, which share them. Changes are those of the middle; each \
             interval holds the truth in 95 of 100 cases, and stands for itself. {} rounds were measured.",
            100.0 * ERROR_RATE,
            standing.rounds
        ),
    );
    sheet.entry(2, 10, "recordings", &result.folder.display().to_string());
    sheet.finish()
}

fn recommended(sheet: &mut Sheet, result: &Result<'_>) {
    let Result { campaign, standing, .. } = result;
    let candidates = standing.recommended.iter().filter_map(|place| campaign.design.candidates.get(*place));
    let ids: Vec<&str> = candidates.clone().map(|candidate| candidate.id.as_str()).collect();
    if ids.is_empty() {
        sheet.toned_paragraph(2, Tone::Heading, "Nothing is recommended.", "No candidate was shown to be better.");
    } else {
        sheet.toned_paragraph(2, Tone::Good, "Recommended:", &ids.join(", "));
        let knobs = candidates.filter(|candidate| matches!(Tried::parse(&candidate.id), Tried::Knob(_)));
        let knobs: Vec<&str> = knobs.map(|knob| knob.id.as_str()).collect();
        if !knobs.is_empty() {
            let asked = format!("punctual tune --cpus {} --only {}", result.cpus, knobs.join(","));
            sheet.paragraph(2, &format!("To set it: {asked}"));
        }
    }
    if !standing.together.is_empty() {
        let told: Vec<String> = standing
            .together
            .iter()
            .map(|effect| format!("{} {}", say::metric(effect.metric), say::change(effect)))
            .collect();
        sheet.paragraph(2, &format!("Set together: {}.", told.join(", ")));
    }
    sheet.paragraph(2, put_back(result));
}

/// Says whether a setting that was tried may still be in force.
fn put_back(result: &Result<'_>) -> &'static str {
    if result.is_home {
        "Everything that was tried is put back."
    } else {
        "No boot entry stands. This boot may still run on a command line that was tried: the next one is the old one."
    }
}

fn effects(sheet: &mut Sheet, result: &Result<'_>) {
    let Result { campaign, standing, .. } = result;
    sheet.heading("Effects, and what they cost");
    let first = standing.judged.iter().find(|judged| !judged.effects.is_empty());
    if let Some(judged) = first {
        let was: Vec<String> = judged
            .effects
            .iter()
            .map(|effect| format!("{} {}", say::metric(effect.metric), say::baseline(effect)))
            .collect();
        sheet.paragraph(2, &format!("As it was: {} (median of the rounds).", was.join(", ")));
    }
    let mut table = Table::new(&["<knob", "<verdict", ">p50", ">p99.9", ">misses/million", ">rounds"]);
    let mut costs = Vec::new();
    for judged in &standing.judged {
        let Some(candidate) = campaign.design.candidates.get(judged.candidate) else { continue };
        let change = |metric: Metric| {
            let effect = judged.effects.iter().find(|effect| effect.metric == metric);
            effect.map_or_else(|| units::ABSENT.to_owned(), say::change)
        };
        let verdict = if result.stopped { "open" } else { say::verdict(&judged.verdict) };
        table.row([
            candidate.id.clone(),
            verdict.to_owned(),
            change(Metric::P50),
            change(Metric::P99_9),
            change(Metric::Misses),
            judged.rounds.to_string(),
        ]);
        let refused = match &judged.verdict {
            CandidateVerdict::Refused(why) => format!("; could not be measured: {why}"),
            _ => String::new(),
        };
        costs.push(format!("{} ({}) costs: {}{refused}", candidate.id, candidate.title, candidate.cost));
    }
    sheet.table(&table);
    for cost in costs {
        sheet.point(2, &cost);
    }
    if let Some(longer) = longer(result) {
        sheet.paragraph(2, &longer);
    }
}

/// A sentence that estimates how many more rounds the open verdicts need; `None` if no verdict is open.
pub(super) fn longer(result: &Result<'_>) -> Option<String> {
    let times = result.standing.judged.iter().filter_map(Judged::longer).fold(0.0, f64::max);
    (times > 0.0 && !result.stopped).then(|| {
        if times > LONGER_MAX {
            return "What lacks data here would take more than a hundred times as long: measure a machine that does less \
                    beside, or ask for less with --margin."
                .to_owned();
        }
        format!("What lacks data would be told by about {times:.0} times as many rounds (--budget), if the noise stays what it was.", times = times.ceil())
    })
}

/// The number of doubtful measurements, with examples of reasons. A disturbance that is the same in all measurements
/// can hide an effect but not feign one.
pub(super) fn doubts(result: &Result<'_>) -> Option<String> {
    let Doubts { reasons, runs } = result.doubts;
    let counted = units::counted(*runs as u64, "measurement");
    (*runs > 0).then(|| format!("{counted}, for example: {}", reasons.join(" ")))
}

/// A sentence that says what was measured.
pub(super) fn how(result: &Result<'_>) -> String {
    let misses = match result.late {
        Some(late) => format!("a miss is a release that was skipped or later than {}", units::latency(late)),
        None => "a miss is a release that was skipped".to_owned(),
    };
    let pauses = result.campaign.pauses.len() as u64;
    let pauses = (pauses > 0).then(|| {
        format!(
            "; {}, after which what had been measured of the round was left out, and the round begun anew",
            units::counted(pauses, "long pause")
        )
    });
    let boots = result.boots.map(|boots| format!(" and {}", units::counted(u64::from(boots), "boot")));
    format!(
        "{} under load {}, {} of {} each in {}{}, strategy {}, seed {}; over the releases due, {misses}{}.",
        words::cpus(result.cpus),
        result.load,
        units::counted(result.campaign.runs.len() as u64, "measurement"),
        units::duration(result.run),
        units::duration(result.spent),
        boots.unwrap_or_default(),
        strategy_name(result.campaign.design.strategy),
        result.campaign.design.seed,
        pauses.unwrap_or_default(),
    )
}
