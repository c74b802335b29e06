//! Reads the output of hwlatdetect and its `--report`: the times in which hardware or firmware took the CPU.
//!
//! Only values above the threshold are listed, so there is no distribution. By default the CPU is watched for half of
//! the time: an empty list means that nothing exceeded the threshold in that half.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Quantity, Series, Stated, Unfit};
use super::{ForeignRun, Problem};
use punctual_facts::machine::MachineLine;
use punctual_hist::{Counts, Nanos};

#[derive(Default)]
pub(super) struct Reader {
    facts: Vec<MachineLine>,
    duration: Option<Nanos>,
    max: Option<Nanos>,
    samples: Counts,
    listed: u64,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if let Some(sample) = line.strip_prefix("ts: ") {
            return self.sample(number, sample);
        }
        if let Some(rest) = line.strip_prefix("hwlatdetect:") {
            self.duration = rest.split_whitespace().find_map(number::count).map(Nanos::from_secs);
            return Ok(());
        }
        let Some((name, value)) = line.split_once(':') else { return Ok(()) };
        let (name, value) = (name.trim(), value.trim());
        if name == "Max Latency" {
            self.max = number::length(value.trim_end_matches("us"), Unit::Us);
        }
        if self.facts.len() >= 1_000 {
            return Err(Problem::at(number, "more facts than hwlatdetect prints"));
        }
        self.facts.push((name, value).into());
        Ok(())
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        let fact = |name: &str| MachineLine::of(&self.facts, name);
        let us = |name: &str| fact(name).and_then(|value| number::length(value.trim_end_matches("us"), Unit::Us));
        let stated = fact("Samples exceeding threshold").or(fact("Samples recorded")).and_then(number::count);
        let mut notes = vec![match us("Latency threshold") {
            Some(threshold) => format!(
                "lost: hwlatdetect lists only what is above its threshold of {}: there is no distribution below it",
                number::us(threshold)
            ),
            None => "lost: hwlatdetect lists only what is above its threshold, which is not in this file".to_owned(),
        }];
        let (window, width) = (us("Sample window"), us("Sample width"));
        let observed =
            self.duration.zip(window.zip(width)).map(|(length, (window, width))| part(length, width, window));
        if let Some((window, width)) = window.zip(width) {
            let blind = window.minus(width).times(100).whole(window);
            notes.push(format!(
                "lost: {blind} % of the time nobody looked (width {} of a window of {})",
                number::us(width),
                number::us(window)
            ));
        }
        if self.duration.is_some() && fact("Max Latency").is_none() {
            notes.push("doubted: the file was cut off before the result that hwlatdetect prints at the end".to_owned());
        }
        if self.listed == 0 && self.duration.is_none() && self.facts.is_empty() {
            return Err(Problem::new("there is no result in it: hwlatdetect failed before it printed one"));
        }
        let series = Series {
            quantity: Quantity::Noise,
            stated_count: stated,
            threshold: us("Latency threshold"),
            observed,
            unfit: Some(Unfit::Censored),
            max: self.samples.max().max(self.max),
            ..Series::of_rounded("all CPUs".to_owned(), &self.samples, Nanos::from_us(1))
        };
        Ok(ForeignRun {
            program: Some("hwlatdetect".to_owned()),
            duration: self.duration.map(|length| Stated { length, grain: Nanos::from_secs(1) }),
            machine: std::mem::take(&mut self.facts),
            series: vec![series],
            notes,
            ..ForeignRun::default()
        })
    }
}

/// The share `width / window` of a length; all of it if the window is zero.
fn part(length: Nanos, width: Nanos, window: Nanos) -> Nanos {
    let (width, window) = (u128::from(width.as_ns()), u128::from(window.as_ns()));
    let part = (u128::from(length.as_ns()) * width.min(window)).checked_div(window);
    part.and_then(|part| u64::try_from(part).ok()).map_or(length, Nanos::from_ns)
}

impl Reader {
    /// Reads a line such as `1699.123456789, inner:12, outer:13, cpu:2, count:1`.
    fn sample(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let field =
            |name: &str| text.split(',').find_map(|part| part.trim().strip_prefix(name)).and_then(number::count);
        let (Some(inner), Some(outer)) = (field("inner:"), field("outer:")) else {
            return Err(Problem::at(line, "a sample lacks `inner` or `outer`"));
        };
        self.samples.record(Nanos::from_us(inner.max(outer)));
        self.listed = self.listed.saturating_add(1);
        Ok(())
    }
}
