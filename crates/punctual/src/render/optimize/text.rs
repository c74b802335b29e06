//! The text of a campaign for a terminal.

use super::{NotTried, Result, words as say};
use crate::render::lang::{said, tr};
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
    sheet.heading(tr!("To be tried"));
    for candidate in &design.candidates {
        sheet.point(
            2,
            &tr!(
                "{id}: {title} (costs: {cost})",
                id = candidate.id,
                title = said(&candidate.title),
                cost = said(&candidate.cost)
            ),
        );
    }
    if !left.is_empty() {
        sheet.heading(tr!("Not tried"));
    }
    for NotTried { id, why } in left {
        sheet.point(2, &format!("{id}: {}", said(why)));
    }
    let most = design.runs_at_most();
    let takes_boots = design.candidates.iter().any(|candidate| !candidate.boot.is_empty());
    let back = if takes_boots {
        tr!("The machine is rebooted for each measurement, and once more at the end; each command line is tried by a \
            single boot, and the boot after that uses the old one.")
    } else {
        tr!("Each setting is put back before the next one is tried.")
    };
    sheet.heading(tr!("How"));
    sheet.paragraph(
        2,
        &tr!(
            "{strategy}: at most {rounds} rounds; in each of them every candidate is measured once and the unchanged \
            machine {baselines} times, in random order (seed {seed}); {measurements} of {each}, about {most} if no \
            verdict ends the campaign earlier. {back}",
            strategy = strategy_name(design.strategy),
            rounds = design.rounds,
            baselines = design.baselines,
            seed = design.seed,
            measurements = units::counted(most, "measurement"),
            each = units::duration(each),
            most = units::duration(each.times(most)),
            back
        ),
    );
    if !limits.is_empty() {
        sheet.heading(tr!("Know before you start"));
    }
    for limit in limits {
        sheet.point(2, &said(limit));
    }
    sheet.finish()
}

pub fn not_tried(left: &[NotTried]) -> String {
    let told: Vec<String> = left.iter().map(|NotTried { id, why }| format!("{id} ({why})")).collect();
    if told.is_empty() { tr!("every knob is as it should be").to_owned() } else { told.join("; ") }
}

/// The line that says which candidates are being measured, and in which stage and round.
pub fn step(campaign: &Campaign, arm: &[usize], stage: CampaignStage, round: u32) -> String {
    let design = &campaign.design;
    let names: Vec<&str> =
        arm.iter().filter_map(|place| design.candidates.get(*place)).map(|candidate| candidate.id.as_str()).collect();
    let what = if names.is_empty() { tr!("as it was").to_owned() } else { names.join(" + ") };
    let part = match stage {
        CampaignStage::Screening => tr!("screening").to_owned(),
        CampaignStage::Rounds => tr!("round {round} of {rounds} at most", round = round + 1, rounds = design.rounds),
        CampaignStage::Together => tr!("together, round {round}", round = round + 1),
    };
    tr!("measurement {runs}, {part}: {what}", runs = campaign.runs.len() + 1, part, what)
}

pub fn text(result: &Result<'_>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let Result { campaign, standing, .. } = result;
    sheet.heading(if result.stopped { tr!("So far") } else { tr!("Result") });
    if result.stopped {
        let how = tr!(
            "after {measurements}; nothing is decided yet. {result} To continue: punctual optimize --resume {folder}",
            measurements = units::counted(campaign.runs.len() as u64, "measurement"),
            result = put_back(result),
            folder = result.folder.display()
        );
        let ended = match &result.gave_up {
            Some(why) => tr!("Given up {why};", why),
            None => tr!("Interrupted").to_owned(),
        };
        sheet.toned_paragraph(2, Tone::Doubt, &ended, &how);
    } else {
        recommended(&mut sheet, result);
    }
    effects(&mut sheet, result);
    if !result.not_tried.is_empty() {
        sheet.heading(tr!("Not tried"));
    }
    for NotTried { id, why } in result.not_tried {
        sheet.point(2, &format!("{id}: {why}"));
    }
    sheet.heading(tr!("How it was measured"));
    sheet.paragraph(2, &how(result));
    if let Some(doubts) = doubts(result) {
        sheet.toned_paragraph(2, Tone::Doubt, tr!("To be doubted:"), &doubts);
    }
    sheet.paragraph(
        2,
        &tr!(
            "If no candidate has an effect, the probability of calling any of them better or worse is at most \
            {error_rate} % for the whole campaign: for all {LOOKS} times together that verdicts were sought, each \
            after a number of rounds that was fixed before. Each change is the estimate in the middle of its interval; \
            each interval by itself contains the true value in 95 of 100 cases. {rounds} rounds were measured.",
            error_rate = 100.0 * ERROR_RATE,
            LOOKS,
            rounds = standing.rounds
        ),
    );
    sheet.entry(2, 10, tr!("recordings"), &result.folder.display().to_string());
    sheet.finish()
}

fn recommended(sheet: &mut Sheet, result: &Result<'_>) {
    let Result { campaign, standing, .. } = result;
    let candidates = standing.recommended.iter().filter_map(|place| campaign.design.candidates.get(*place));
    let ids: Vec<&str> = candidates.clone().map(|candidate| candidate.id.as_str()).collect();
    if ids.is_empty() {
        sheet.toned_paragraph(
            2,
            Tone::Heading,
            tr!("Nothing is recommended."),
            tr!("No candidate was shown to be better."),
        );
    } else {
        sheet.toned_paragraph(2, Tone::Good, tr!("Recommended:"), &ids.join(", "));
        let knobs = candidates.filter(|candidate| matches!(Tried::parse(&candidate.id), Tried::Knob(_)));
        let knobs: Vec<&str> = knobs.map(|knob| knob.id.as_str()).collect();
        if !knobs.is_empty() {
            let asked = format!("punctual tune --cpus {} --only {}", result.cpus, knobs.join(","));
            sheet.paragraph(2, &tr!("To set the recommended knobs: {asked}", asked));
        }
    }
    if !standing.together.is_empty() {
        let told: Vec<String> = standing
            .together
            .iter()
            .map(|effect| format!("{} {}", say::metric(effect.metric), say::change(effect)))
            .collect();
        sheet.paragraph(
            2,
            &tr!(
                "All recommended candidates together, compared with the unchanged machine: {told}.",
                told = told.join(", ")
            ),
        );
    }
    sheet.paragraph(2, put_back(result));
}

/// Says whether a setting that was tried may still be in force.
fn put_back(result: &Result<'_>) -> &'static str {
    if result.is_home {
        tr!("Everything that was tried has been put back.")
    } else {
        tr!("No boot entry of the campaign is left. This boot may still use a command line that was tried; the next \
            boot uses the old one.")
    }
}

fn effects(sheet: &mut Sheet, result: &Result<'_>) {
    let Result { campaign, standing, .. } = result;
    sheet.heading(tr!("Effects, and what they cost"));
    let first = standing.judged.iter().find(|judged| !judged.effects.is_empty());
    if let Some(judged) = first {
        let was: Vec<String> = judged
            .effects
            .iter()
            .map(|effect| format!("{} {}", say::metric(effect.metric), say::baseline(effect)))
            .collect();
        sheet.paragraph(2, &tr!("Unchanged machine: {was} (median of the rounds).", was = was.join(", ")));
    }
    let mut table =
        Table::new(&[tr!("<knob"), tr!("<verdict"), ">p50", ">p99.9", tr!(">misses/million"), tr!(">rounds")]);
    let mut costs = Vec::new();
    for judged in &standing.judged {
        let Some(candidate) = campaign.design.candidates.get(judged.candidate) else { continue };
        let change = |metric: Metric| {
            let effect = judged.effects.iter().find(|effect| effect.metric == metric);
            effect.map_or_else(|| units::ABSENT.to_owned(), say::change)
        };
        let verdict = if result.stopped { tr!("open") } else { say::verdict(&judged.verdict) };
        table.row([
            candidate.id.clone(),
            verdict.to_owned(),
            change(Metric::P50),
            change(Metric::P99_9),
            change(Metric::Misses),
            judged.rounds.to_string(),
        ]);
        let refused = match &judged.verdict {
            CandidateVerdict::Refused(why) => tr!("; could not be measured: {why}", why),
            _ => String::new(),
        };
        costs.push(tr!(
            "{id} ({title}) costs: {cost}{refused}",
            id = candidate.id,
            title = said(&candidate.title),
            cost = said(&candidate.cost),
            refused
        ));
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
            return tr!(
                "Candidates without enough data would take more than a hundred times as long: measure while the \
                machine does less other work, or choose a larger --margin."
            )
            .to_owned();
        }
        tr!(
            "For the candidates without enough data, about {times} times as many rounds (--time) would be needed if \
            the noise stays the same.",
            times = format!("{:.0}", times.ceil())
        )
    })
}

/// The number of doubtful measurements, with examples of reasons. A disturbance that is the same in all measurements
/// can hide an effect but not feign one.
pub(super) fn doubts(result: &Result<'_>) -> Option<String> {
    let Doubts { reasons, runs } = result.doubts;
    let counted = units::counted(*runs as u64, "measurement");
    (*runs > 0).then(|| tr!("{counted}; reasons are, for example: {reasons}", counted, reasons = reasons.join(" ")))
}

/// A sentence that says what was measured.
pub(super) fn how(result: &Result<'_>) -> String {
    let misses = match result.late {
        Some(late) => tr!("a miss is a release that was skipped or later than {late}", late = units::latency(late)),
        None => tr!("a miss is a release that was skipped").to_owned(),
    };
    let pauses = result.campaign.pauses.len() as u64;
    let pauses = (pauses > 0).then(|| {
        tr!(
            "; {long_pauses}, after which the interrupted round was started again",
            long_pauses = units::counted(pauses, "long pause")
        )
    });
    let boots = result.boots.map(|boots| tr!(" and {boots}", boots = units::counted(u64::from(boots), "boot")));
    tr!(
        "{cpus} under load {load}, {measurements} of {run} each in {spent}{boots}, strategy {strategy}, seed {seed}; \
        all figures count every release that came due, and {misses}{pauses}.",
        cpus = words::cpus(result.cpus),
        load = result.load,
        measurements = units::counted(result.campaign.runs.len() as u64, "measurement"),
        run = units::duration(result.run),
        spent = units::duration(result.spent),
        boots = boots.unwrap_or_default(),
        strategy = strategy_name(result.campaign.design.strategy),
        seed = result.campaign.design.seed,
        misses,
        pauses = pauses.unwrap_or_default()
    )
}
