//! Collects the numbers of one CPU in a file of samples: a histogram of latencies, or a grid fitted to instants.

use super::grid::{Grid, LEAST};
use super::number::Number;
use super::run::{Quantity, Series};
use super::sequence::Sequence;
use super::{Format, Problem};
use crate::stats::float::whole;
use punctual_hist::Nanos;

/// The numbers of one CPU, or of all CPUs if the file has no column for the CPU.
#[derive(Default)]
pub(super) struct Stream {
    latencies: Sequence,
    grid: Grid,
    at: Option<i64>,
    first: i64,
    count: u64,
    negative: u64,
}

impl Stream {
    pub fn new(period: Option<Nanos>) -> Self {
        Self { grid: Grid::new(period), ..Self::default() }
    }

    pub fn take(&mut self, format: Format, line: u64, number: Number) -> Result<(), Problem> {
        self.count = self.count.saturating_add(1);
        match format {
            Format::Latencies => {
                match u64::try_from(number.ns) {
                    Ok(ns) => self.latencies.record(Nanos::from_ns(ns)),
                    Err(_) => self.negative = self.negative.saturating_add(1),
                }
                Ok(())
            }
            Format::Periods => {
                let next = self.at.unwrap_or(0).checked_add(number.ns).filter(|_| number.ns > 0);
                let next = next
                    .ok_or_else(|| Problem::at(line, "a period that is not above zero, or a sum beyond 292 years"))?;
                if self.at.is_none() {
                    self.grid.push(0);
                }
                self.instant(line, next)
            }
            _ => self.instant(line, number.ns),
        }
    }

    /// Returns the series. If one of several CPUs has too few instants, returns `None` and adds a note.
    pub fn series(
        &mut self,
        format: Format,
        cpu: Option<u32>,
        grain: Nanos,
        notes: &mut Vec<String>,
    ) -> Result<Option<Series>, Problem> {
        let label = cpu.map(|cpu| format!("CPU {cpu}"));
        let said = label.as_ref().map(|label| format!("{label}: ")).unwrap_or_default();
        if format == Format::Latencies {
            if self.negative > 0 {
                let are = if self.negative == 1 { "latency is" } else { "latencies are" };
                notes.push(format!(
                    "lost: {said}{} {are} negative, woken before the release, and in no cell",
                    self.negative
                ));
            }
            let series = Series::of_sequence(label.unwrap_or("the samples".to_owned()), &self.latencies, grain);
            return Ok(Some(Series { cpu, quantity: Quantity::Latency, ..series }));
        }
        if !self.grid.finish() {
            let few = format!("{said}{} numbers; it takes {LEAST} to fit a grid", self.count);
            if cpu.is_none() {
                return Err(Problem::new(few));
            }
            notes.push(format!("lost: {few}"));
            return Ok(None);
        }
        let period = Some(grid_notes(&self.grid, &said, notes)?);
        let skipped = Some(self.grid.skipped);
        let series = Series::of_sequence(label.unwrap_or("the activations".to_owned()), &self.grid.latencies, grain);
        Ok(Some(Series { cpu, quantity: Quantity::Latency, period, skipped, ..series }))
    }

    /// The first and the last instant, if the numbers are instants or periods.
    pub fn ends(&self) -> Option<(i64, i64)> {
        self.at.map(|last| (self.first, last))
    }

    fn instant(&mut self, line: u64, at: i64) -> Result<(), Problem> {
        match self.at {
            Some(last) if at < last => {
                return Err(Problem::at(
                    line,
                    "this instant is before the one above: the clock was set, or the counter has overrun",
                ));
            }
            None => self.first = at,
            Some(_) => {}
        }
        self.at = Some(at);
        self.grid.push(at);
        Ok(())
    }
}

fn grid_notes(grid: &Grid, of: &str, notes: &mut Vec<String>) -> Result<Nanos, Problem> {
    let (shortest, longest) = grid.periods();
    let period = f64::midpoint(shortest, longest);
    if !(1.0..1e18).contains(&period) {
        return Err(Problem::new(format!("{of}the instants have no period")));
    }
    notes.push(format!(
        "{of}a grid was fitted: a period of {:.3} us ({:.3} to {:.3} us in {} blocks). Latency is the distance to the \
         grid, from the earliest activation of each block of 65536 on: what all have in common, and a slow drift of the \
         clocks, are not in it",
        period / 1e3,
        shortest / 1e3,
        longest / 1e3,
        grid.blocks
    ));
    if grid.surplus > 0 {
        notes.push(format!(
            "doubted: {of}{} instants share a release with another: the period may be a multiple of what was fitted, or \
             something else was recorded among the activations",
            grid.surplus
        ));
    }
    if grid.skipped > 0 {
        notes.push(format!(
            "doubted: {of}{} of {} releases have no instant, at most {} of them in a row: skipped, or not recorded; they \
             are in no cell",
            grid.skipped,
            grid.skipped.saturating_add(grid.latencies.counts.count()),
            grid.longest_gap
        ));
    }
    Ok(Nanos::from_ns(whole(period.round())))
}
