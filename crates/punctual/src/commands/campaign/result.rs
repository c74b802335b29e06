//! The result of a campaign from its recordings: the numbers of each cell, and the comparisons that its file asks for.

use super::cell::filled;
use super::file::{CellPlan, Figure, Plan, Published};
use super::recording_of;
use crate::commands::source::result as read_result;
use crate::render::campaign::{CellResult, CpuNumbers, PairResult, PublishedFigure, Result as Shown};
use crate::render::words;
use anyhow::{Result, bail};
use punctual_facts::machine::MachineFacts;
use punctual_hist::{Counts, Nanos};
use punctual_linux::result_file::ResultFile;
use punctual_numbers::compare::{Comparison, Options};
use punctual_numbers::foreign::ImportOptions;
use punctual_numbers::recording::Recording;
use punctual_numbers::report::{Distrust, LatencyRow, Percentiles, Report};
use punctual_optimize::experiment::{Experiment, Kept};
use std::collections::BTreeMap;
use std::path::Path;

/// The recordings of each cell, by their repetition.
type Runs = Vec<BTreeMap<u32, Box<Recording>>>;

pub fn of(folder: &Path, kept: &Kept, plan: &Plan, is_home: bool) -> Result<Shown> {
    let experiment = &kept.experiment;
    let runs: Runs = (0..plan.cells.len()).map(|cell| recordings(folder, experiment, cell)).collect::<Result<_>>()?;
    let cells = plan.cells.iter().zip(&runs).enumerate();
    let cells = cells.map(|(place, (cell, runs))| numbers(cell, runs, experiment.refused(place))).collect();
    let pairs = plan.pairs.iter().map(|pair| {
        let (first, second) = (&runs[pair.first], &runs[pair.second]);
        let names = [pair.first, pair.second].map(|place| plan.cells[place].name.clone());
        compared(names, [first, second], &pair.question)
    });
    Ok(Shown {
        title: plan.title.clone(),
        about: plan.about.clone(),
        source: plan.source.clone(),
        order: experiment.order,
        seed: experiment.seed,
        repetitions: experiment.repetitions,
        shortened: kept.shorten,
        cells,
        comparisons: pairs.collect(),
        boots: kept.across.as_ref().map(|across| across.boots),
        gave_up: kept.across.as_ref().and_then(|across| across.gave_up.clone()),
        is_home,
        folder: folder.display().to_string(),
    })
}

fn recordings(folder: &Path, experiment: &Experiment, cell: usize) -> Result<BTreeMap<u32, Box<Recording>>> {
    let one = |repetition: u32| {
        let path = recording_of(folder, &experiment.cells[cell].name, repetition);
        match read_result(&path, ImportOptions::default())? {
            ResultFile::Recording(recording) => Ok((repetition, recording)),
            ResultFile::Foreign(_) => bail!("{}: it is no recording of punctual", path.display()),
        }
    };
    experiment.measured(cell).into_iter().map(one).collect()
}

/// The latencies of one CPU over all repetitions.
#[derive(Default)]
struct Sum {
    ran: Counts,
    skipped: Counts,
    late: u64,
}

impl Sum {
    fn row(&self) -> LatencyRow {
        LatencyRow::of(&self.ran, &self.skipped, self.late)
    }
}

fn numbers(cell: &CellPlan, runs: &BTreeMap<u32, Box<Recording>>, refused: Option<&str>) -> CellResult {
    let (mut by_cpu, mut all, mut doubts) = (BTreeMap::<u32, Sum>::new(), Sum::default(), BTreeMap::new());
    let mut scenario = String::new();
    for recording in runs.values() {
        let report = Report::of(recording);
        scenario = format!("{} {}", words::scenario(&report), words::loads(&report));
        for cpu in &report.cpus {
            for sum in [by_cpu.entry(cpu.cpu).or_default(), &mut all] {
                sum.ran.merge(&cpu.ran);
                sum.skipped.merge(&cpu.skipped);
                sum.late = sum.late.saturating_add(cpu.row.over_budget);
            }
        }
        for reason in &report.trust.reasons {
            let (_, count) = doubts.entry(kind_of(reason)).or_insert_with(|| (words::distrust(reason), 0_u64));
            *count += 1;
        }
    }
    let cpus: Vec<CpuNumbers> = by_cpu.iter().map(|(cpu, sum)| CpuNumbers { cpu: *cpu, row: sum.row() }).collect();
    let whole = (!cpus.is_empty()).then(|| all.row());
    let published = cell.published.iter().map(|of| beside(of, &cpus, whole.as_ref())).collect();
    CellResult {
        name: cell.name.clone(),
        about: cell.about.clone(),
        scenario,
        boot: booted_with(cell, runs),
        knobs: cell.knobs.clone(),
        refused: refused.map(str::to_owned),
        runs: runs.len(),
        whole,
        cpus,
        published,
        doubts: doubts.into_values().map(|(told, count)| doubt(&told, count, runs.len())).collect(),
        latencies: all.ran,
    }
}

/// The words that a cell was booted with. A cell that was never measured has them as its file does.
fn booted_with(cell: &CellPlan, runs: &BTreeMap<u32, Box<Recording>>) -> Vec<String> {
    let header = runs.values().next().map(|recording| &recording.header);
    let online = header.and_then(|header| MachineFacts::of(&header.machine).online_cpus);
    let Some((header, online)) = header.zip(online) else { return cell.boot.clone() };
    filled(&cell.boot, &header.scenario.cpus(), &online)
}

/// The name of a reason's variant, so that reasons of one kind count as one, whatever their numbers are.
fn kind_of(reason: &Distrust) -> String {
    let name = format!("{reason:?}");
    name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// The first reason of a kind, and in how many of the runs there was one.
fn doubt(told: &str, count: u64, runs: usize) -> String {
    if runs < 2 { told.to_owned() } else { format!("{} ({count} of {runs} runs).", told.trim_end_matches('.')) }
}

/// A published figure beside the one that was measured here on the same CPU or, if it names none, on all.
fn beside(of: &Published, cpus: &[CpuNumbers], whole: Option<&LatencyRow>) -> PublishedFigure {
    let row = match of.cpu {
        Some(cpu) => cpus.iter().find(|one| one.cpu == cpu).map(|one| &one.row),
        None => whole,
    };
    PublishedFigure {
        of: of.of.clone(),
        cpu: of.cpu,
        what: of.figure.name(),
        published: of.value,
        here: row.and_then(|row| figure(of.figure, &row.latency)),
    }
}

fn figure(figure: Figure, of: &Percentiles) -> Option<Nanos> {
    match figure {
        Figure::Min => of.min,
        Figure::Mean => of.mean,
        Figure::P50 => of.p50,
        Figure::P99 => of.p99,
        Figure::P99_9 => of.p99_9,
        Figure::Max => of.max,
    }
}

/// Compares the repetitions in which both cells were measured. What differs between the cells is what the campaign is
/// about, so that is no reason to refuse.
fn compared(names: [String; 2], runs: [&BTreeMap<u32, Box<Recording>>; 2], question: &str) -> PairResult {
    let [first, second] = runs;
    let both: Vec<u32> = first.keys().filter(|repetition| second.contains_key(repetition)).copied().collect();
    let side = |runs: &BTreeMap<u32, Box<Recording>>, name: &str| -> Vec<(String, Box<Recording>)> {
        both.iter().map(|repetition| (format!("{name} {}", repetition + 1), runs[repetition].clone())).collect()
    };
    let both_sides = [side(first, &names[0]), side(second, &names[1])];
    let of_side = |place: usize| -> Vec<(String, &Recording)> {
        both_sides[place].iter().map(|(name, recording)| (name.clone(), &**recording)).collect()
    };
    let options = Options { anyway: true, ..Options::default() };
    let comparison = match both.as_slice() {
        [] => Err("one of them was not measured".to_owned()),
        [_] => Comparison::of(&[of_side(0), of_side(1)].concat(), options).map_err(|why| words::compare::refused(&why)),
        _ => Comparison::of_sides(&of_side(0), &of_side(1), true, options).map_err(|why| words::compare::refused(&why)),
    };
    let [first, second] = names;
    PairResult::of(first, second, question.to_owned(), both.len(), &comparison)
}
