//! `punctual measure --kernel linux,evl`: measures the same with two kernels in turn, and compares them.
//!
//! `punctual_optimize::turns` determines the order, `punctual_numbers::compare` judges the rounds.

use super::compare::exit_of;
use super::files::{check_new, write_new};
use super::optimize::kept::Folder;
use super::optimize::time::seed_of_the_clock;
use super::preconditions::none_under_way;
use super::session::{self, Outputs};
use crate::cli::{Form, MeasureArgs};
use crate::exit::Exit;
use crate::render::{self, compare, units, words};
use anyhow::{Context, Result, anyhow, bail};
use punctual_hist::Nanos;
use punctual_linux::measure::{Setting, look_for};
use punctual_linux::recording::read_file;
use punctual_linux::{interrupt, merge::merge};
use punctual_numbers::compare::{Comparison, Options};
use punctual_numbers::recording::{EndReason, Merging, Recording};
use punctual_numbers::scenario::{Amount, Mechanism, Scenario};
use punctual_optimize::turns::{NextTurn, Turn, Turns};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The recordings of one kernel, with their paths.
type Side = Vec<(String, Recording)>;

fn named(side: &Side) -> Vec<(String, &Recording)> {
    side.iter().map(|(name, recording)| (name.clone(), recording)).collect()
}

/// Two kernels that are measured in turn, with what is the same for both.
pub struct Kernels {
    mechanisms: [Mechanism; 2],
    rounds: u32,
    /// What one stretch measures, on whichever kernel.
    scenario: Scenario,
    folder: PathBuf,
    /// The page, if it was not asked to be in the folder.
    html: Option<PathBuf>,
    form: Form,
}

impl Kernels {
    /// Divides `whole`, the scenario that was asked for, among the stretches of all rounds.
    pub fn of(args: &MeasureArgs, mechanisms: [Mechanism; 2], whole: Scenario) -> Result<Self> {
        if args.live || args.resume.resume.is_some() {
            bail!("--live and --resume are for one kernel: measure each by itself, or leave them away");
        }
        let stretches = u64::from(args.rounds) * 2;
        let length = match whole.length {
            Amount::Time(time) => Amount::Time(Nanos::from_ns(time.as_ns() / stretches)),
            Amount::Activations(n) => Amount::Activations(n / stretches),
        };
        let default = || PathBuf::from(format!("punctual-kernels-{}", units::file_stamp()));
        Ok(Self {
            mechanisms,
            rounds: args.rounds,
            scenario: Scenario { length, ..whole },
            folder: args.out.clone().unwrap_or_else(default),
            html: args.html.clone(),
            form: args.form,
        })
    }

    /// The scenario of a stretch on either kernel.
    pub fn scenarios(&self) -> [Scenario; 2] {
        self.mechanisms.map(|mechanism| Scenario { mechanism, ..self.scenario.clone() })
    }

    /// Measures all rounds, writes one recording for each kernel and a page, and prints the comparison.
    pub fn run(&self, setting: &Setting) -> Result<Exit> {
        none_under_way()?;
        for mechanism in self.mechanisms {
            look_for(mechanism).map_err(words::measure_error)?;
        }
        self.html.as_deref().map_or(Ok(()), check_new)?;
        let interrupted = interrupt::flag().context("install signal handlers")?;
        let folder = Folder::make(&self.folder)?;
        for scenario in self.scenarios() {
            session::check_loads(&scenario.load_phases, &setting.load_dir)?;
        }
        if let Some(ended) = self.measure(setting, &interrupted)? {
            render::say(&format!(
                "No comparison was made. The stretches that were measured are in {}",
                folder.display()
            ));
            return Ok(ended);
        }
        let sides = [self.side(Turn::A)?, self.side(Turn::B)?];
        self.tell(&sides)
    }

    /// Measures all stretches. Returns an exit code if the rounds ended early.
    fn measure(&self, setting: &Setting, interrupted: &AtomicBool) -> Result<Option<Exit>> {
        let mut turns = Turns {
            arguments: Vec::new(),
            commands: [String::new(), String::new()],
            seed: seed_of_the_clock(),
            rounds: self.rounds,
            measured: 0,
            last: None,
        };
        while let Some(next) = turns.next() {
            let shows = !self.form.brief && !self.form.json;
            if shows {
                let name = words::kernel(self.mechanism(next.turn));
                render::say(&format!("round {} of {}: {name}", next.round + 1, self.rounds));
            }
            let scenario = Scenario { mechanism: self.mechanism(next.turn), ..self.scenario.clone() };
            let outputs =
                Outputs { progress: shows, ..Outputs::recording(Some(&self.recording(next.turn, next.round))) };
            let report = session::run_apart(&scenario, setting, outputs, interrupted)?.report;
            if let Some(error) = &report.write_error {
                bail!("{error}");
            }
            match report.end {
                Some(EndReason::Completed) => turns.measured += 1,
                Some(EndReason::LimitExceeded) => return Ok(Some(Exit::exceeded_if(true))),
                Some(EndReason::Stalled) => bail!("a measuring thread made no more progress in {}", self.name(next)),
                Some(EndReason::CoreLost) => bail!("the real-time core was stopped in {}", self.name(next)),
                _ => return Ok(Some(Exit::Doubtful)),
            }
        }
        Ok(None)
    }

    fn name(&self, next: NextTurn) -> String {
        self.recording(next.turn, next.round).display().to_string()
    }

    fn mechanism(&self, turn: Turn) -> Mechanism {
        let [first, second] = self.mechanisms;
        if turn == Turn::A { first } else { second }
    }

    fn recording(&self, turn: Turn, round: u32) -> PathBuf {
        self.folder.join(format!(
            "round-{:04}-{}.punctual",
            round + 1,
            words::kernel(self.mechanism(turn)).to_lowercase()
        ))
    }

    /// Reads the stretches of one kernel, and writes them as one recording.
    fn side(&self, turn: Turn) -> Result<Side> {
        let paths: Vec<PathBuf> = (0..self.rounds).map(|round| self.recording(turn, round)).collect();
        let recordings = paths.iter().map(|path| read_file(path)).collect::<Result<Vec<Recording>, _>>()?;
        let whole = self.folder.join(format!("{}.punctual", words::kernel(self.mechanism(turn)).to_lowercase()));
        let merging =
            Merging::of(&recordings).map_err(|against| anyhow!(words::runs::unmergeable(&against, &paths)))?;
        merge(&merging, &paths, &whole)?;
        Ok(paths.iter().map(|path| path.display().to_string()).zip(recordings).collect())
    }

    fn tell(&self, [first, second]: &[Side; 2]) -> Result<Exit> {
        let options = Options { budget: self.scenario.budget, ..Options::default() };
        let comparison = Comparison::of_sides(&named(first), &named(second), true, options)
            .map_err(|refused| anyhow!(words::compare::refused(&refused)))?;
        let [a, b] = self.mechanisms.map(words::kernel);
        let page = self.html.clone().unwrap_or_else(|| self.folder.join("kernels.html"));
        write_new(&page, compare::html(&comparison, &format!("{a} / {b}"))?)?;
        render::print(&match self.form {
            Form { json: true, .. } => compare::json(&comparison)?,
            Form { brief: true, .. } => render::brief::compare(&comparison),
            Form { full: true, .. } => compare::text(&comparison, Some(&page), render::style()),
            _ => compare::short(&comparison, Some(&page), render::style()),
        })?;
        Ok(exit_of(&comparison, None))
    }
}
