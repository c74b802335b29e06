//! Releases that an inspection told, against the record of the program itself.

use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

const PERIOD_NS: u64 = 1_000_000;
/// How far a release that was told may be from the program's own.
const OFF_NS: u64 = 1_000;
/// Cycles at either end of an observation that nobody can tell whole.
const EDGES: u64 = 2;
/// Of this many releases one may be told wrong, or not at all: in loops of many cycles, and in those of few, in which a busy
/// machine weighs more.
const ONE_IN: u64 = 1_000;
const ONE_IN_FEW: u64 = 100;

/// The files of one inspection.
pub struct Files {
    /// When the first cycle was released, by the program itself.
    pub record: PathBuf,
    /// The cycles that the inspection told.
    pub cycles: PathBuf,
}

/// How the releases of loops were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    /// Cycles that the loops had, without those at the ends.
    had: u64,
    right: u64,
    /// Releases that the loop did not have.
    wrong: u64,
}

impl Releases {
    /// `None` if the loop has no record, because its releases have no place of their own in time.
    pub fn read(files: &Files, tid: u64, cycles: u64) -> Result<Option<Self>> {
        let Ok(record) = fs::read_to_string(&files.record) else { return Ok(None) };
        let first = record.trim().parse().with_context(|| format!("read {}", files.record.display()))?;
        let told = fs::read_to_string(&files.cycles).with_context(|| format!("read {}", files.cycles.display()))?;
        Ok(Some(Self::of(first, &told, tid, cycles)))
    }

    /// Lines after the first have the thread and the time of the release before other values.
    fn of(first: u64, told: &str, tid: u64, cycles: u64) -> Self {
        let release = |line: &str| {
            let mut values = line.split(',');
            let of = values.next()?.parse::<u64>().ok()?;
            values.next()?.parse::<u64>().ok().filter(|_| of == tid)
        };
        let is_own = |release: &u64| {
            let after = release.checked_sub(first.saturating_sub(OFF_NS));
            after.is_some_and(|after| after % PERIOD_NS <= 2 * OFF_NS)
        };
        let mut all: Vec<u64> = told.lines().skip(1).filter_map(release).collect();
        let number = all.len() as u64;
        all.retain(is_own);
        // A release that is told twice is right once.
        all.dedup_by_key(|release| (*release + PERIOD_NS / 2 - first.min(*release)) / PERIOD_NS);
        Self { had: cycles.saturating_sub(EDGES), right: all.len() as u64, wrong: number - all.len() as u64 }
    }

    pub fn add(&mut self, other: Self) {
        self.had += other.had;
        self.right += other.right;
        self.wrong += other.wrong;
    }

    pub fn is_right(self, is_quick: bool) -> bool {
        let one_in = if is_quick { ONE_IN_FEW } else { ONE_IN };
        self.had > 0 && self.right * one_in >= self.had * (one_in - 1) && self.wrong * one_in <= self.had
    }
}

impl std::fmt::Display for Releases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} of {} releases told as the programs recorded them, {} others told",
            self.right, self.had, self.wrong
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_on_the_grid_are_right_and_others_are_not() {
        let told = "tid,release_ns,woke_ns\n7,5000000,5000010\n7,6000900,6000910\n7,7000000,1\n7,7000001,1\n7,8500000,2\n\
            7,,3\n8,9000000,4\n7,4000000,5\n";
        let found = Releases::of(5_000_000, told, 7, 5);
        assert_eq!(found, Releases { had: 3, right: 3, wrong: 3 });
        assert!(!found.is_right(true), "{found}");
        let mut all = Releases { had: 2_000, right: 2_000, wrong: 0 };
        assert!(all.is_right(false));
        all.add(Releases { had: 1_000, right: 996, wrong: 0 });
        assert!(!all.is_right(false) && all.is_right(true) && !Releases::default().is_right(true));
    }
}
