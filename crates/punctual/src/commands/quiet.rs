//! Checks whether other programs use CPU time in an idle phase, and names them.

use crate::render;
use crate::render::lang::{for_people, tr};
use crate::render::words::other_work;
use punctual_hist::Nanos;
use punctual_linux::measure::{OtherWork, Progress, Sighting};
use punctual_numbers::scenario::Scenario;
use std::time::{Duration, Instant};

/// Time for which other programs are watched before a measurement.
const LOOK: Duration = Duration::from_millis(400);
/// Shortest idle phase to report on. A shorter one has too few scheduler ticks to show which programs worked in it.
const TELLING: Nanos = Nanos::from_secs(1);

/// Before a scenario with an idle phase, reports other programs that use CPU time, unless the user wants only one line.
/// With `wait`, waits for them, but not longer than this.
pub fn before(scenario: &Scenario, wait: Option<Nanos>, brief: bool) {
    if scenario.load_phases.iter().all(|phase| !phase.loads.is_empty()) || brief && wait.is_none() {
        return;
    }
    let say = |text: String| {
        if !brief {
            render::say_wrapped(&text);
        }
    };
    let deadline = wait.map(|wait| Instant::now() + Duration::from_nanos(wait.as_ns()));
    let mut work = OtherWork::over(LOOK);
    if work.is_quiet() {
        return;
    }
    match deadline {
        None => say(for_people(|| {
            tr!(
                "Not idle: other programs use {work}. To wait for quiet, add --wait-quiet 60s.",
                work = other_work(&work)
            )
        })),
        Some(deadline) => {
            say(for_people(|| tr!("Waiting for quiet: other programs use {work}.", work = other_work(&work))));
            while !work.is_quiet() && Instant::now() < deadline {
                work = OtherWork::over(LOOK);
            }
            if !work.is_quiet() {
                say(for_people(|| tr!("Measuring anyway: other programs use {work}.", work = other_work(&work))));
            }
        }
    }
}

/// Watches other programs while an idle phase is measured.
#[derive(Default)]
pub struct IdleWatch {
    since: Option<(Nanos, Sighting)>,
}

impl IdleWatch {
    /// Takes the progress of the measurement. At the end of an idle phase, returns a sentence about the programs that
    /// worked in it; `None` if none did.
    pub fn see(&mut self, progress: &Progress) -> Option<String> {
        let is_idle = progress.is_idle && !progress.warming_up;
        match (&self.since, is_idle) {
            (None, true) => self.since = Some((progress.elapsed, Sighting::now())),
            (Some((from, _)), false) if progress.elapsed > from.plus(TELLING) => return self.end(),
            (Some(_), false) => self.since = None,
            _ => {}
        }
        None
    }

    /// Ends the current idle phase and returns a sentence about the programs that worked in it; `None` if none did.
    pub fn end(&mut self) -> Option<String> {
        let (_, since) = self.since.take()?;
        let work = Sighting::now().since(&since);
        (!work.is_quiet()).then(|| {
            for_people(|| {
                tr!("While the idle phase was measured, other programs used {work}", work = other_work(&work))
            })
        })
    }
}
