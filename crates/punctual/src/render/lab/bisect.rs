//! The search for what made a kernel worse: text, one line, and JSON.

use super::NotMeasured;
use super::text::not_measured as told_missing;
use crate::render::clean::visible;
use crate::render::document::{self, Published};
use crate::render::lang::{for_people, tr};
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::units;
use crate::render::words::compare::percentile;
use punctual_hist::Nanos;
use punctual_lab::config::Change;
use punctual_numbers::kernels::Criterion;
use serde::Serialize;
use std::path::Path;

/// What a search came to.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bisected {
    /// The number that tells good from bad; null if they do not differ, and then nothing was searched.
    pub criterion: Option<Criterion>,
    /// What was measured, in order.
    pub steps: Vec<BisectStep>,
    /// What is to blame; null if nothing was searched.
    pub culprit: Option<Culprit>,
    /// What leaves the answer open, because kernels could not be judged: of a list, the kernels between the good and the
    /// bad one; else the changes that might be left out of the answer.
    pub open: Vec<String>,
}

impl Published for Bisected {
    const SCHEMA: &'static str = "punctual/lab-bisect/1";
}

/// One kernel that was asked about.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BisectStep {
    /// The kernel, or the changes that it was given.
    pub what: String,
    /// Its value of the criterion; null if there is none.
    #[serde(rename = "value_ns")]
    pub value: Option<Nanos>,
    /// Whether the value is beyond the limit; null if there is none.
    pub is_bad: Option<bool>,
    /// Why there is no value: the kernel was not built, or does not boot.
    pub not_measured: Option<NotMeasured>,
    /// Changes that were asked for and are not in the kernel that was built. Only kernels with `/proc/config.gz` tell.
    pub dropped: Vec<String>,
}

impl BisectStep {
    pub fn judged(what: String, value: Nanos, is_bad: bool) -> Self {
        Self { what, value: Some(value), is_bad: Some(is_bad), not_measured: None, dropped: Vec::new() }
    }

    pub fn not_judged(what: String, why: NotMeasured) -> Self {
        Self { what, value: None, is_bad: None, not_measured: Some(why), dropped: Vec::new() }
    }
}

/// What is to blame.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Culprit {
    /// Of a list of kernels, the first bad one after a good one.
    Kernel {
        /// The last good kernel.
        good: String,
        /// The first bad kernel.
        bad: String,
    },
    /// Words of the command line, none of which can be left out.
    Words {
        /// The words; `-WORD` is one that is missing.
        words: Vec<String>,
    },
    /// Options of the configuration, none of which can be left out.
    Options {
        /// The options, as their lines in the bad configuration.
        options: Vec<String>,
        /// Those of them without which Kconfig drops others.
        needs: Vec<Need>,
        /// Everything that these options changed in the kernel that was built, as lines of its configuration; null if the
        /// kernels do not tell.
        built: Option<Vec<String>>,
    },
}

/// An option that lets others in.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Need {
    /// The option, as its line in the bad configuration.
    pub option: String,
    /// The options that Kconfig drops without it.
    pub of: Vec<String>,
}

pub fn bisect_json(bisected: &Bisected) -> serde_json::Result<String> {
    document::document(bisected)
}

pub fn bisect_brief(bisected: &Bisected) -> String {
    match &bisected.culprit {
        None => "INCONCLUSIVE: good and bad do not differ".to_owned(),
        Some(culprit) if bisected.open.is_empty() => format!("FOUND: {}", named(culprit)),
        Some(culprit) => format!("FOUND IN PART: {}; open: {}", named(culprit), bisected.open.join(", ")),
    }
}

pub fn bisect_text(bisected: &Bisected, style: Style) -> String {
    for_people(|| told(bisected, style))
}

fn told(bisected: &Bisected, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let Some((criterion, culprit)) = bisected.criterion.as_ref().zip(bisected.culprit.as_ref()) else {
        let why = tr!(
            "the good and the bad kernel do not differ clearly under these loads, so nothing can be searched. Try \
            another --load, or a longer --duration."
        );
        sheet.hanging_paragraph(0, 2, Tone::Doubt, tr!("INCONCLUSIVE:"), why);
        return sheet.finish();
    };
    let what = criterion.ppm.map_or_else(|| tr!("largest latency").to_owned(), percentile);
    sheet.paragraph(
        0,
        &tr!(
            "Judged by: {what} under {load}, which is {good} for the good and {bad} for the bad kernel; beyond {limit} \
            a kernel is bad.",
            what,
            load = criterion.load,
            good = units::latency(criterion.good),
            bad = units::latency(criterion.bad),
            limit = units::latency(criterion.limit)
        ),
    );
    sheet.heading(tr!("Measured"));
    let mut table = Table::new(&[tr!("<what"), &tr!(">{what}, us", what), "<"]);
    for step in &bisected.steps {
        let word = match step.is_bad {
            Some(true) => tr!("bad"),
            Some(false) => tr!("good"),
            None => tr!("not measured"),
        };
        table.row([step.what.clone(), units::column_us(step.value), word.to_owned()]);
    }
    sheet.table(&table);
    troubles(&mut sheet, &bisected.steps);
    sheet.gap();
    let (tone, word) =
        if bisected.open.is_empty() { (Tone::Heading, tr!("FOUND:")) } else { (Tone::Doubt, tr!("FOUND IN PART:")) };
    sheet.hanging_paragraph(0, 2, tone, word, &named(culprit));
    for line in remarks(bisected, culprit) {
        sheet.point(2, &line);
    }
    sheet.finish()
}

/// Kernels that could not be measured, each with its reason, and changes that Kconfig dropped.
fn troubles(sheet: &mut Sheet, steps: &[BisectStep]) {
    if steps.iter().any(|step| step.not_measured.is_some()) {
        sheet.heading(tr!("Not measured"));
    }
    for missing in steps.iter().filter_map(|step| step.not_measured.as_ref()) {
        told_missing(sheet, missing);
    }
    if steps.iter().any(|step| !step.dropped.is_empty()) {
        sheet.heading(tr!("Requested, but not in the kernel that was built"));
    }
    for step in steps.iter().filter(|step| !step.dropped.is_empty()) {
        let dropped = listed(&step.dropped);
        let is_all = step.what == step.dropped.join(" ");
        let line =
            if is_all { dropped } else { tr!("{dropped}, when {what} was requested", dropped, what = step.what) };
        sheet.point(2, &line);
    }
}

/// What a reader must know beside the names.
fn remarks(bisected: &Bisected, culprit: &Culprit) -> Vec<String> {
    let mut lines = Vec::new();
    if !bisected.open.is_empty() {
        let open = listed(&bisected.open);
        lines.push(match culprit {
            Culprit::Kernel { .. } => {
                tr!("Nothing is known about the kernels between them, which could not be measured: {open}.", open)
            }
            Culprit::Words { .. } | Culprit::Options { .. } => {
                tr!(
                    "Perhaps some of these make no difference: kernels without one of the following could not be \
                    measured: {open}.",
                    open
                )
            }
        });
    }
    if let Culprit::Options { options, needs, built } = culprit {
        lines.extend(needs.iter().map(|need| {
            tr!(
                "{option} is needed: without it, Kconfig drops {dropped}.",
                option = need.option,
                dropped = listed(&need.of)
            )
        }));
        match built {
            None => lines.push(
                tr!("These kernels do not show their options, so nothing is known about options that Kconfig dropped \
                    or added. Build them with CONFIG_IKCONFIG_PROC=y to see this.")
                .to_owned(),
            ),
            Some(built) => {
                let others: Vec<String> = built.iter().filter(|line| !options.contains(line)).cloned().collect();
                if !others.is_empty() {
                    lines.push(tr!(
                        "With the options that were found, Kconfig also changed: {others}.",
                        others = listed(&others)
                    ));
                }
            }
        }
    }
    lines
}

/// Longest list of options that is shown; JSON has all.
const LISTED: usize = 12;

fn listed(all: &[String]) -> String {
    let shown = all.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match all.len().checked_sub(LISTED) {
        None | Some(0) => shown,
        Some(more) => tr!("{shown} and {more} more", shown, more),
    }
}

fn named(culprit: &Culprit) -> String {
    match culprit {
        Culprit::Kernel { good, bad } => tr!("{bad} is the first bad one; {good} is good", bad, good),
        Culprit::Words { words } => words.join(" "),
        Culprit::Options { options, .. } => options.join(", "),
    }
}

/// One line that says what is being built.
pub fn building(name: &str, log: &Path) -> String {
    for_people(|| tr!("building {name}; what the command prints is in {log}", name, log = log.display()))
}

/// Why a kernel of the user's command is not there.
pub fn not_built(name: &str, why: String, last_lines: Vec<String>) -> NotMeasured {
    let clean = |line: String| line.chars().map(visible).collect();
    NotMeasured { name: name.to_owned(), why, last_lines: last_lines.into_iter().map(clean).collect() }
}

pub fn build_ended(command: &str, status: &str) -> String {
    format!("`{command}` ended with {status}")
}

pub fn no_image(command: &str) -> String {
    format!("`{command}` left no image in $PUNCTUAL_IMAGE")
}

/// Refuses a kernel that was built otherwise than a file of options says.
pub fn not_as_asked(name: &str, unmet: &[Change]) -> String {
    let lines: Vec<String> = unmet.iter().map(Change::to_string).collect();
    format!(
        "{name} was built otherwise than --config says; it does not have {}. Kconfig drops an option whose dependencies are \
         not met, and sets one that others select",
        listed(&lines)
    )
}

pub fn does_not_tell(name: &str) -> String {
    format!(
        "{name} does not tell with which options it was built, so --config was not checked; with CONFIG_IKCONFIG_PROC=y it tells"
    )
}
