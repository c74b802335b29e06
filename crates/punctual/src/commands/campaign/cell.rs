//! One cell of a campaign on this machine: its scenario, its words for the command line, and one measurement of it.

use super::file::{CellPlan, Plan};
use crate::cli::{Cli, Command, Loads, OptimizeArgs, PRIORITY};
use crate::commands::here::Here;
use crate::commands::optimize::bench::{Bench, why_unfinished};
use crate::commands::optimize::candidates::{Selection, find};
use crate::commands::optimize::time::WARM_UP;
use crate::commands::session::{self, Outputs};
use crate::render::words;
use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_linux::measure::Setting;
use punctual_numbers::recording::EndReason;
use punctual_numbers::scenario::{Amount, Mechanism, Policy, Scenario};
use punctual_optimize::experiment::{Cell, Outcome};
use punctual_optimize::format::{Doubts, Kept};
use punctual_optimize::{Campaign, Design, Strategy};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Length of a measurement that the file does not state.
const EACH: Nanos = Nanos::from_secs(30);
/// Fewest releases of a shortened measurement: with fewer there would be nothing to show.
const RELEASES_MIN: u64 = 20;

/// This machine, as the cells of a campaign see it.
pub struct Bed {
    here: Here,
    /// Factor by which lengths are shortened.
    shorten: f64,
}

impl Bed {
    pub fn here(plan: &Plan, shorten: f64) -> Result<Self> {
        let bed = Self { here: Here::read(), shorten };
        for cell in &plan.cells {
            bed.scenario(cell).with_context(|| format!("cell '{}'", cell.name))?;
        }
        Ok(bed)
    }

    fn cpus(&self, cell: &CellPlan) -> CpuSet {
        cell.settings.terms.cpus.clone().unwrap_or_else(|| self.here.cpus.allowed.clone())
    }

    /// A length of the file, shortened.
    pub fn shortened(&self, length: Nanos) -> Nanos {
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "no length needs more than 53 bits"
        )]
        Nanos::from_ns((length.as_ns() as f64 / self.shorten) as u64)
    }

    pub fn scenario(&self, cell: &CellPlan) -> Result<Scenario> {
        let settings = &cell.settings;
        let mechanism = settings.mechanism.unwrap_or(Mechanism::Absolute);
        let usual = if mechanism == Mechanism::Nanosleep { Nanos::from_ms(50) } else { Nanos::from_ms(1) };
        let period = settings.terms.period.unwrap_or(usual);
        let least = period.times(RELEASES_MIN);
        let length = self.shortened(settings.terms.duration.unwrap_or(EACH)).max(least);
        let scenario = Scenario {
            mechanism,
            warm_up: Amount::Time(WARM_UP),
            budget: settings.terms.budget,
            dma_latency_us: settings.dma_latency_us,
            load_phases: Loads::or_idle(settings.terms.load.as_ref()),
            ..Scenario::plain(
                self.cpus(cell).iter(),
                period,
                Policy::Fifo(settings.terms.priority.unwrap_or(PRIORITY)),
                Amount::Time(length),
            )
        };
        scenario.checked(&self.here.cpus).map_err(words::scenario_error)
    }

    /// The length of each cell's measurement, in the order of the file.
    pub fn lengths(&self, plan: &Plan) -> Result<Vec<Nanos>> {
        let length = |cell: &CellPlan| match self.scenario(cell)?.length {
            Amount::Time(length) => Ok(length.plus(WARM_UP)),
            Amount::Activations(_) => bail!("a campaign measures for a time"),
        };
        plan.cells.iter().map(length).collect()
    }

    /// The words of a cell for the kernel's command line on this machine.
    fn words(&self, cell: &CellPlan) -> Vec<String> {
        filled(&cell.boot, &self.cpus(cell), &self.here.cpus.online)
    }

    fn setting(&self, load_dir: &Path) -> Setting {
        self.here.setting(load_dir.to_path_buf(), Vec::new(), false)
    }

    /// Sets the knobs of a cell, measures it, and puts them back. `None` if interrupted.
    pub fn measured(
        &self,
        cell: &CellPlan,
        recording: &Path,
        load_dir: &Path,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Option<Outcome>> {
        let scenario = self.scenario(cell)?;
        let setting = self.setting(load_dir);
        if cell.knobs.is_empty() {
            return plainly(&scenario, &setting, recording, interrupted);
        }
        let args = self.knobs(cell)?;
        let found = find(&args)?;
        let left = found.not_tried.iter().filter(|not| cell.knobs.contains(&not.id));
        let left: Vec<String> = left.map(|not| format!("{}: {}", not.id, not.why)).collect();
        if !left.is_empty() {
            return Ok(Some(Outcome::Refused(left.join("; "))));
        }
        let all: Vec<usize> = (0..found.candidates.len()).collect();
        let mut bench =
            Bench::new(&args, &found, &kept(&found, cell), scenario.clone(), load_dir.to_path_buf(), interrupted)?;
        bench.during(&all, Outcome::Refused, |_| plainly(&scenario, &setting, recording, interrupted))
    }

    /// The options of `optimize` that name the knobs of a cell, so that they are found and set as there.
    fn knobs(&self, cell: &CellPlan) -> Result<OptimizeArgs> {
        let cpus = self.cpus(cell).to_string();
        let words = ["punctual", "optimize", "--knobs", &cell.knobs.join(","), "--cpus", &cpus, "--blast", "any"];
        match Cli::try_parse_from(words) {
            Ok(Cli { command: Command::Optimize(args), .. }) => Ok(*args),
            Ok(_) => bail!("cell '{}': its knobs are no options", cell.name),
            Err(error) => Err(anyhow!("cell '{}': {error}", cell.name)),
        }
    }
}

/// Words for the kernel's command line, with the measured CPUs in place of `<cpus>` and all others that are online in
/// place of `<others>`.
pub fn filled(words: &[String], cpus: &CpuSet, online: &CpuSet) -> Vec<String> {
    let others = online.difference(cpus);
    let fill = |word: &String| word.replace("<cpus>", &cpus.to_string()).replace("<others>", &others.to_string());
    words.iter().map(fill).collect()
}

/// What `optimize` would keep of a campaign with these candidates.
fn kept(found: &Selection, cell: &CellPlan) -> Kept {
    let candidates = found.candidates.iter().map(|found| found.candidate.clone()).collect();
    let design = Design { candidates, strategy: Strategy::OneAtATime, seed: 0, rounds: 1, baselines: 1, margin: 0.0 };
    Kept {
        arguments: vec!["campaign".to_owned(), cell.name.clone()],
        spent: Nanos::ZERO,
        last: None,
        campaign: Campaign::new(design),
        across: None,
        doubts: Doubts::default(),
    }
}

/// Measures once. `None` if interrupted.
fn plainly(
    scenario: &Scenario,
    setting: &Setting,
    recording: &Path,
    interrupted: &AtomicBool,
) -> Result<Option<Outcome>> {
    let finished = session::run_apart(scenario, setting, Outputs::recording(Some(recording)), interrupted)?;
    if let Some(error) = &finished.report.write_error {
        bail!("{error}");
    }
    if finished.report.end == Some(EndReason::Completed) {
        return Ok(Some(Outcome::Measured));
    }
    Ok(why_unfinished(finished.report.end).map(|why| Outcome::Refused(why.to_owned())))
}

/// The cells of a plan, with the words that they need on this machine.
pub fn cells(plan: &Plan, bed: &Bed) -> Vec<Cell> {
    plan.cells.iter().map(|cell| Cell { name: cell.name.clone(), boot: bed.words(cell) }).collect()
}
