//! Reads the text output of pmqtest, ptsematest, svsematest and sigwaittest, which measure the time from a sender to
//! the receiver that it wakes.
//!
//! Each pair has two lines: its threads with the number of cycles, then the smallest, last, mean and largest latency in
//! whole microseconds. Live output repeats these lines, and the last ones count. The text does not state which of the
//! programs wrote it.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::Series;
use super::{ForeignRun, MOST_COLUMNS, Problem};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Context of these series. Only series of the same context are compared, so these latencies are not compared with
/// latencies after a timer.
pub(super) const CONTEXT: &str = "sender to receiver";
pub(super) const SUMMARY_ONLY: &str = "this program writes a summary only: smallest, mean and largest latency of each pair \
                                       from its sender to its receiver; percentiles are not known";

/// The series of a pair of which only the extremes and the mean are known.
pub(super) fn summary(
    label: String,
    cpu: Option<u32>,
    count: Option<u64>,
    (min, mean, max): (Option<Nanos>, Option<Nanos>, Option<Nanos>),
) -> Series {
    let context = Some(CONTEXT.to_owned());
    Series { label, cpu, context, min, mean, max, grain: Nanos::from_us(1), stated_count: count, ..Series::default() }
}

#[derive(Default)]
pub(super) struct Reader {
    /// The CPU of each receiver and the number of cycles, by the number of the sender's thread.
    threads: BTreeMap<u64, (Option<u32>, Option<u64>)>,
    /// The smallest, mean and largest latency of each pair, by the number of the sender's thread; `None` for a pair
    /// that has not begun.
    latencies: BTreeMap<u64, Option<[u64; 3]>>,
}

impl LineReader for Reader {
    fn line(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let Some(text) = text.trim().strip_prefix('#') else { return Ok(()) };
        if self.threads.len().max(self.latencies.len()) > MOST_COLUMNS {
            return Err(Problem::at(line, "more pairs than any machine has CPUs"));
        }
        match text.split_once(" -> #") {
            Some((sender, rest)) => self.latency(line, sender, rest),
            None => self.threads(line, text),
        }
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.latencies.is_empty() {
            return Err(Problem::new("no latency of a pair of sender and receiver is in it"));
        }
        let one = |(place, (sender, measured)): (usize, (&u64, &Option<[u64; 3]>))| {
            let (cpu, cycles) = self.threads.get(sender).copied().unwrap_or_default();
            let us = |index: usize| measured.and_then(|all| all.get(index).copied()).map(Nanos::from_us);
            summary(format!("pair {place}"), cpu, cycles, (us(0), us(1), us(2)))
        };
        let series: Vec<Series> = self.latencies.iter().enumerate().map(one).collect();
        let mut notes = vec![SUMMARY_ONLY.to_owned()];
        if self.threads.len() > series.len() {
            notes.push("doubted: a pair has no line with its latency: the file was cut off".to_owned());
        }
        Ok(ForeignRun { program: Some("rt-tests".to_owned()), series, notes, ..ForeignRun::default() })
    }
}

impl Reader {
    /// Reads `0: ID27909, P80, CPU0, I1000; #1: ID27910, P80, CPU0, TO 0, Cycles 108`, in which the receiver stands
    /// first.
    fn threads(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let Some((receiver, sender)) = text.split_once("; #") else { return Ok(()) };
        let cpu = receiver.split(", ").find_map(|part| part.strip_prefix("CPU")).and_then(|cpu| cpu.parse().ok());
        let number = sender.split_once(':').and_then(|(number, _)| number::count(number));
        let number = number.ok_or_else(|| Problem::at(line, "the sender of this pair has no number"))?;
        let cycles = sender.split(", ").find_map(|part| part.strip_prefix("Cycles ")).and_then(number::count);
        self.threads.insert(number, (cpu, cycles));
        Ok(())
    }

    /// Reads `#1 -> #0, Min    3, Cur    5, Avg    5, Max   48`. Before the first cycle, the text behind the arrow is
    /// `(not yet ready)`, or the extremes are -1.
    fn latency(&mut self, line: u64, sender: &str, rest: &str) -> Result<(), Problem> {
        let bad = || Problem::at(line, "the line of a pair lacks Min, Avg or Max");
        let sender = number::count(sender).ok_or_else(bad)?;
        if rest.contains("not yet ready") {
            self.latencies.entry(sender).or_default();
            return Ok(());
        }
        let field = |name: &str| rest.split(", ").find_map(|part| part.trim().strip_prefix(name)).map(str::trim);
        let all = [field("Min"), field("Avg"), field("Max")];
        let [Some(min), Some(avg), Some(max)] = all else { return Err(bad()) };
        if min.starts_with('-') || avg.starts_with('-') {
            self.latencies.entry(sender).or_default();
            return Ok(());
        }
        let us =
            |text: &str| number::length(text, Unit::Us).map(|length| length.whole(Nanos::from_us(1))).ok_or_else(bad);
        self.latencies.insert(sender, Some([us(min)?, us(avg)?, us(max)?]));
        Ok(())
    }
}
