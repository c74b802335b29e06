//! The search for what made a kernel worse: text, one line, and JSON.

use crate::render::document::{self, Published};
use crate::render::lang::{for_people, tr};
use crate::render::sheet::{Sheet, Style, Tone, table::Table};
use crate::render::units;
use crate::render::words::compare::percentile;
use punctual_hist::Nanos;
use punctual_numbers::kernels::Criterion;
use serde::Serialize;

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
}

impl Published for Bisected {
    const SCHEMA: &'static str = "punctual/lab-bisect/1";
}

/// One kernel that was measured.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BisectStep {
    /// The kernel, or the changes that it was given.
    pub what: String,
    /// Its value of the criterion.
    #[serde(rename = "value_ns")]
    pub value: Nanos,
    /// Whether the value is beyond the limit.
    pub is_bad: bool,
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
    },
}

pub fn bisect_json(bisected: &Bisected) -> serde_json::Result<String> {
    document::document(bisected)
}

pub fn bisect_brief(bisected: &Bisected) -> String {
    match &bisected.culprit {
        None => "INCONCLUSIVE: good and bad do not differ".to_owned(),
        Some(culprit) => format!("FOUND: {}", named(culprit)),
    }
}

pub fn bisect_text(bisected: &Bisected, style: Style) -> String {
    for_people(|| told(bisected, style))
}

fn told(bisected: &Bisected, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let Some((criterion, culprit)) = bisected.criterion.as_ref().zip(bisected.culprit.as_ref()) else {
        let why = tr!(
            "good and bad do not differ clearly under these loads, so there is nothing to search. Try another --load, or \
             a longer --duration."
        );
        sheet.hanging_paragraph(0, 2, Tone::Doubt, tr!("INCONCLUSIVE:"), why);
        return sheet.finish();
    };
    let what = criterion.ppm.map_or_else(|| tr!("largest latency").to_owned(), percentile);
    sheet.paragraph(
        0,
        &tr!(
            "Judged by: {what} under {load}, {good} when good, {bad} when bad; beyond {limit} is bad.",
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
        let word = if step.is_bad { tr!("bad") } else { tr!("good") };
        table.row([step.what.clone(), units::column_us(Some(step.value)), word.to_owned()]);
    }
    sheet.table(&table);
    sheet.gap();
    sheet.hanging_paragraph(0, 2, Tone::Heading, tr!("FOUND:"), &named(culprit));
    sheet.finish()
}

fn named(culprit: &Culprit) -> String {
    match culprit {
        Culprit::Kernel { good, bad } => tr!("{bad} is the first bad one; {good} is good", bad, good),
        Culprit::Words { words } => words.join(" "),
        Culprit::Options { options } => options.join(", "),
    }
}

pub fn building(name: &str) -> String {
    for_people(|| tr!("building {name}", name))
}
