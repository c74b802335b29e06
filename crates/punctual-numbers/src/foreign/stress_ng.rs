//! Reads the output of `stress-ng --cyclic`: percentiles of at most 10 000 samples for each stressor.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Series, StatedPercentile, Unfit};
use super::{ForeignRun, MOST_COLUMNS, Problem};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;

/// The last percentile that is printed, in parts per million.
const LAST: u32 = 999_900;
/// The number of samples that stress-ng keeps. Later samples are measured and dropped.
const KEPT: u64 = 10_000;

#[derive(Default)]
pub(super) struct Reader {
    series: Vec<Series>,
    policy: Vec<MachineLine>,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let Some((_, said)) = line.split_once("cyclic:") else { return Ok(()) };
        let said = said.trim();
        if let Some(rest) = said.strip_prefix("sched ") {
            return self.begin(number, rest);
        }
        let Some(series) = self.series.last_mut() else { return Ok(()) };
        for part in said.split(',') {
            let Some((name, value)) = part.trim().split_once(':') else { continue };
            let Some(value) = number::length(value.trim().trim_end_matches("ns"), Unit::Ns) else { continue };
            match name.trim() {
                "mean" => series.mean = Some(value),
                "min" => series.min = Some(value),
                "max" => series.max = Some(value),
                name => series.points.extend(ppm(name).map(|ppm| StatedPercentile { ppm, value })),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.series.is_empty() {
            return Err(Problem::new(
                "no `cyclic: sched …` is in it: stress-ng measured nothing, or not with --cyclic",
            ));
        }
        let mut notes = vec!["lost: there is no histogram in it, only the percentiles that stress-ng chose".to_owned()];
        if self.series.iter().any(|series| series.stated_count >= Some(KEPT)) {
            notes.push(format!("doubted: stress-ng keeps {KEPT} samples and drops what comes later: the maximum is that of the first ones"));
        }
        for series in &mut self.series {
            let is_whole = series.max.is_some() && series.points.iter().any(|stated| stated.ppm == LAST);
            if !is_whole && series.stated_count != Some(0) {
                series.unfit = Some(Unfit::Doubted);
                notes.push(format!(
                    "doubted: {}: the file was cut off: stress-ng prints the maximum and percentiles up to 99.99 %",
                    series.label
                ));
            }
        }
        Ok(ForeignRun {
            program: Some("stress-ng --cyclic".to_owned()),
            machine: std::mem::take(&mut self.policy),
            series: std::mem::take(&mut self.series),
            notes,
            ..ForeignRun::default()
        })
    }
}

impl Reader {
    /// Reads the first line of a stressor, such as `SCHED_FIFO: 1000000 ns delay, 3850 samples`.
    fn begin(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let (policy, rest) = text.split_once(':').ok_or_else(|| Problem::at(line, "no policy is named"))?;
        let mut numbers = rest.split_whitespace().filter_map(number::count);
        let (period, samples) = (numbers.next().map(Nanos::from_ns), numbers.next());
        if self.series.len() >= MOST_COLUMNS {
            return Err(Problem::at(line, "more stressors than any machine has CPUs"));
        }
        if self.policy.is_empty() {
            self.policy.push(("policy", policy).into());
        }
        let label = format!("stressor {}", self.series.len());
        let grain = Nanos::from_ns(1);
        self.series.push(Series { label, period, stated_count: samples, grain, ..Series::default() });
        Ok(())
    }
}

/// Reads `99.90%` in parts per million.
fn ppm(name: &str) -> Option<u32> {
    // `99.90` read as microseconds gives 99 900 ns, and one percent is 10 000 ppm, so 1 ns stands for 10 ppm.
    let percent = number::number(name.strip_suffix('%')?.as_bytes(), Unit::Us)?;
    u32::try_from(percent.ns.checked_mul(10)?).ok().filter(|ppm| *ppm <= 1_000_000)
}
