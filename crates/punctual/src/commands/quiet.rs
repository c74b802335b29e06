//! Whether the machine is idle when it is to be measured idle, and who works if it is not.

use crate::render;
use crate::render::words::other_work;
use punctual_hist::Nanos;
use punctual_linux::measure::{OtherWork, Progress, Sighting};
use punctual_numbers::scenario::Scenario;
use std::time::{Duration, Instant};

/// How long others are watched before it is said that they work.
const LOOK: Duration = Duration::from_millis(400);
/// A stretch shorter than this has too few ticks to tell who worked in it.
const TELLING: Nanos = Nanos::from_secs(1);

/// Waits until nobody else works, for `wait` at most, where the scenario has an idle phase. Says what is not quiet.
pub fn before(scenario: &Scenario, wait: Option<Nanos>) {
    if scenario.load_phases.iter().all(|phase| !phase.loads.is_empty()) {
        return;
    }
    let deadline = wait.map(|wait| Instant::now() + Duration::from_nanos(wait.as_ns()));
    let mut work = OtherWork::over(LOOK);
    if work.is_quiet() {
        return;
    }
    match deadline {
        None => render::say(&format!("Not idle: {}. To wait for quiet, add --wait-quiet 60s.", other_work(&work))),
        Some(deadline) => {
            render::say(&format!("Waiting for quiet: {}.", other_work(&work)));
            while !work.is_quiet() && Instant::now() < deadline {
                work = OtherWork::over(LOOK);
            }
            if !work.is_quiet() {
                render::say(&format!("Measuring all the same: {}.", other_work(&work)));
            }
        }
    }
}

/// Watches others while the idle phase is measured.
#[derive(Default)]
pub struct Watch {
    since: Option<(Nanos, Sighting)>,
}

impl Watch {
    /// Sees how far the measurement is; returns who worked during an idle phase that ended, in words, if anybody did.
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

    /// Who worked since the idle phase began that is under way, in words, if anybody did.
    pub fn end(&mut self) -> Option<String> {
        let (_, since) = self.since.take()?;
        let work = Sighting::now().since(&since);
        (!work.is_quiet()).then(|| format!("While idle was measured, others worked: {}", other_work(&work)))
    }
}
