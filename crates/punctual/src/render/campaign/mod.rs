//! The output formats of a campaign: text, a page with a picture of all cells, JSON.
//!
//! Every value shown comes from [`Result`]. This module must not judge.

mod html;
#[cfg(test)]
mod tests;
mod text;

pub use html::html;
pub use text::{brief, step, text};

use crate::render::document::Published;
use crate::render::lang::{for_people, tr};
use crate::render::sheet::{Sheet, Style};
use crate::render::{units, words};
use punctual_hist::{Counts, Nanos};
use punctual_numbers::compare::{Compared, Comparison};
use punctual_numbers::report::LatencyRow;
use punctual_optimize::experiment::{Experiment, Order};
use serde::Serialize;

/// The plan of a campaign before its first measurement.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Intended {
    /// Title of the campaign.
    title: String,
    /// The order of the cells within a repetition.
    order: &'static str,
    /// Seed of the order, where it is random.
    seed: u64,
    /// Number of times that each cell is measured.
    repetitions: u32,
    /// Names of the cells in the order in which they are measured first.
    sequence: Vec<String>,
    /// Number of measurements in all.
    measurements: usize,
    /// Least time that the measurements take together, without boots.
    takes_ns: Nanos,
    /// Number of cells that need a boot with another command line.
    cells_with_boots: usize,
}

impl Published for Intended {
    const SCHEMA: &'static str = "punctual/campaign-plan/1";
}

impl Intended {
    /// `lengths` are the lengths of one measurement of each cell.
    pub fn of(title: &str, lengths: &[Nanos], experiment: &Experiment) -> Self {
        let names = experiment.sequence(0).into_iter().map(|cell| experiment.cells[cell].name.clone());
        let once = lengths.iter().fold(Nanos::ZERO, |sum, length| sum.plus(*length));
        Self {
            title: title.to_owned(),
            order: order_name(experiment.order),
            seed: experiment.seed,
            repetitions: experiment.repetitions,
            sequence: names.collect(),
            measurements: experiment.planned(),
            takes_ns: once.times(u64::from(experiment.repetitions)),
            cells_with_boots: experiment.cells.iter().filter(|cell| !cell.boot.is_empty()).count(),
        }
    }

    pub fn text(&self, style: Style) -> String {
        for_people(|| self.told(style))
    }

    fn told(&self, style: Style) -> String {
        let mut sheet = Sheet::new(style);
        sheet.heading(if self.title.is_empty() { tr!("Campaign") } else { &self.title });
        let boots = match self.cells_with_boots {
            0 => String::new(),
            1 => tr!(
                " One cell needs a boot with another command line, which is used once; the machine is rebooted for it."
            )
            .to_owned(),
            many => tr!(
                " {many} cells need a boot with another command line, which is used once; the machine is rebooted for \
                them.",
                many
            ),
        };
        sheet.paragraph(
            2,
            &tr!(
                "{cells}, each {times}, {order}: {measurements}, at least {time}.{boots} Settings of a cell are put back \
                 before the next one.",
                cells = units::counted(self.sequence.len() as u64, "cell"),
                times = units::counted(u64::from(self.repetitions), "time"),
                order = told_order(self.order, self.seed),
                measurements = units::counted(self.measurements as u64, "measurement"),
                time = units::duration(self.takes_ns),
                boots,
            ),
        );
        sheet.paragraph(2, &tr!("Order of the first repetition: {cells}.", cells = self.sequence.join(tr!(", "))));
        sheet.finish()
    }
}

fn order_name(order: Order) -> &'static str {
    match order {
        Order::Abba => "abba",
        Order::Random => "random",
        Order::Written => "written",
    }
}

fn told_order(order: &str, seed: u64) -> String {
    match order {
        "random" => tr!("in random order (seed {seed})", seed),
        "abba" => tr!("in the order of the file, mirrored in every second repetition").to_owned(),
        _ => tr!("in the order of the file").to_owned(),
    }
}

/// A campaign with all that its forms show.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Result {
    /// Title of the campaign.
    pub title: String,
    /// What the campaign is about.
    pub about: String,
    /// Where the published figures come from.
    pub source: String,
    #[serde(serialize_with = "named")]
    #[cfg_attr(test, schemars(with = "String", description = "The order of the cells within a repetition."))]
    pub order: Order,
    /// Seed of the order, where it is random.
    pub seed: u64,
    /// Number of times that each cell was to be measured.
    pub repetitions: u32,
    /// Factor by which all lengths were shortened; 1 for the lengths of the file.
    pub shortened: f64,
    /// The cells in the order of the file.
    pub cells: Vec<CellResult>,
    /// The comparisons that the campaign file asks for.
    pub comparisons: Vec<PairResult>,
    /// Number of boots that the campaign asked for; null if it needs none.
    pub boots: Option<u32>,
    /// Why the campaign was given up; null if it was not.
    pub gave_up: Option<String>,
    /// Whether the machine is known to run as it did before the campaign.
    pub is_home: bool,
    /// Path of the folder with the recordings.
    pub folder: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn named<S: serde::Serializer>(order: &Order, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(order_name(*order))
}

impl Published for Result {
    const SCHEMA: &'static str = "punctual/campaign/1";
}

/// One cell over all its repetitions.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CellResult {
    /// Name of the cell.
    pub name: String,
    /// What the cell is, in the words of the file.
    pub about: String,
    /// What was measured, in words; empty if nothing was.
    pub scenario: String,
    /// Words of the kernel command line that the cell was booted with; as the campaign file has them if it was not measured.
    pub boot: Vec<String>,
    /// Ids of the knobs that were set.
    pub knobs: Vec<String>,
    /// Why the cell could not be measured; null if it was.
    pub refused: Option<String>,
    /// Number of complete measurements.
    pub runs: usize,
    /// All CPUs together; null if nothing was measured.
    pub whole: Option<LatencyRow>,
    /// One entry for each measured CPU, in the order of their numbers.
    pub cpus: Vec<CpuNumbers>,
    /// Published figures of this cell.
    pub published: Vec<PublishedFigure>,
    /// Reasons not to trust some of the measurements.
    pub doubts: Vec<String>,
    /// The latencies of all activations that ran, for the picture.
    #[serde(skip)]
    pub latencies: Counts,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuNumbers {
    /// Number of the CPU.
    pub cpu: u32,
    #[serde(flatten)]
    pub row: LatencyRow,
}

/// A figure that somebody published, beside what was measured here.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PublishedFigure {
    /// The machine that was measured by its publisher.
    pub of: String,
    /// The CPU that the figure is of; null if it is of all of them.
    pub cpu: Option<u32>,
    /// Which figure it is: min, mean, p50, p99, p99.9 or max.
    pub what: &'static str,
    /// The figure that was published, in nanoseconds.
    #[serde(rename = "published_ns")]
    pub published: Nanos,
    /// The same figure of this campaign; null if that CPU was not measured here.
    #[serde(rename = "here_ns")]
    pub here: Option<Nanos>,
}

/// How one cell differs from another, with the confidence of that.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PairResult {
    /// Name of the cell that is compared with.
    pub first: String,
    /// Name of the cell that is judged.
    pub second: String,
    /// What the comparison is to answer.
    pub question: String,
    /// Number of repetitions in which both cells were measured.
    pub repetitions: usize,
    /// The verdict on the second cell, in words.
    pub verdict: String,
    /// Whether the verdict says better or worse.
    pub is_certain: bool,
}

impl PairResult {
    pub fn of(
        first: String,
        second: String,
        question: String,
        repetitions: usize,
        comparison: &std::result::Result<Comparison, String>,
    ) -> Self {
        let (verdict, is_certain) = match comparison {
            Ok(comparison) => match comparison.others.first() {
                Some(other) => (
                    words::compare::verdict_on(other),
                    matches!(other.verdict, Compared::Better | Compared::Worse | Compared::Mixed)
                        && other.undecided.is_none(),
                ),
                None => (words::compare::verdict(comparison.verdict()).to_owned(), false),
            },
            Err(why) => (format!("not compared: {}", why.lines().next().unwrap_or_default()), false),
        };
        Self { first, second, question, repetitions, verdict, is_certain }
    }
}
