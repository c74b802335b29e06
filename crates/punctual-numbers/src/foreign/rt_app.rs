//! Reads a log of rt-app: one line for each activation, whose column `wu_lat` is the wake-up latency in microseconds.
//!
//! One file is the log of one thread. Columns are found by their names, since their order differs between versions.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Series, Stated};
use super::sequence::Sequence;
use super::{ForeignRun, Problem};
use punctual_hist::Nanos;

#[derive(Default)]
pub(super) struct Reader {
    columns: Option<Columns>,
    latencies: Sequence,
    period: Option<Nanos>,
    periods_differ: bool,
    first: Option<Nanos>,
    last: Nanos,
    negative: u64,
}

struct Columns {
    latency: usize,
    period: Option<usize>,
    start: Option<usize>,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if let Some(names) = line.strip_prefix('#') {
            let names: Vec<&str> = names.split_whitespace().take(64).collect();
            let at = |name: &str| names.iter().position(|known| *known == name);
            if let Some(latency) = at("wu_lat") {
                self.columns = Some(Columns { latency, period: at("c_period").or(at("period")), start: at("start") });
            }
            return Ok(());
        }
        if line.is_empty() {
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            return Err(Problem::at(number, "a row before the names of the columns"));
        };
        let words: Vec<&str> = line.split_whitespace().take(64).collect();
        let us = |at: usize| words.get(at).and_then(|word| number::number(word.as_bytes(), Unit::Us)).map(|n| n.ns);
        let Some(latency) = us(columns.latency) else {
            return Err(Problem::at(number, "no latency in the column `wu_lat`: the file was cut off or edited here"));
        };
        match u64::try_from(latency) {
            Ok(latency) => self.latencies.record(Nanos::from_ns(latency)),
            Err(_) => self.negative += 1,
        }
        let length = |at: Option<usize>| at.and_then(us).and_then(|ns| u64::try_from(ns).ok()).map(Nanos::from_ns);
        let (period, start) = (length(columns.period).filter(|p| *p > Nanos::ZERO), length(columns.start));
        self.periods_differ |= self.period.is_some() && period.is_some() && self.period != period;
        self.period = self.period.or(period);
        if let Some(start) = start {
            (self.first, self.last) = (Some(self.first.unwrap_or(start)), self.last.max(start));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.latencies.counts.is_empty() {
            return Err(Problem::new("no row with a latency is in it"));
        }
        let mut notes = Vec::new();
        if self.negative > 0 {
            notes.push(format!(
                "lost: negative latencies ({} of them): woken before the release, and in no cell",
                self.negative
            ));
        }
        if self.periods_differ {
            notes.push("the period changes during the run: counts are not held against the duration".to_owned());
        }
        let series = Series {
            period: self.period.filter(|_| !self.periods_differ),
            ..Series::of_sequence("the thread".to_owned(), &self.latencies, Nanos::from_us(1))
        };
        Ok(ForeignRun {
            program: Some("rt-app".to_owned()),
            duration: self.first.map(|first| Stated { length: self.last.minus(first), grain: Nanos::from_us(1) }),
            series: vec![series],
            notes,
            ..ForeignRun::default()
        })
    }
}
