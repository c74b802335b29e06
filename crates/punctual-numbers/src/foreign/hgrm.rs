//! Reads the percentile table of `HdrHistogram` (`.hgrm`): in each row a value and the number of values up to it.
//!
//! The numbers are exact, so two successive rows make a cell, from above the value of the first up to the value of the
//! second. The table does not state its unit. It ends with the row of 100 % and, unless it is CSV, with three comments.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::Series;
use super::table::TOO_LONG;
use super::{Cell, ForeignRun, ImportRemedy, MOST_CELLS, Problem};
use punctual_hist::Nanos;

#[derive(Default)]
pub(super) struct Reader {
    unit: Option<Unit>,
    csv: bool,
    cells: Vec<Cell>,
    /// The value, and the number of values up to it, of the last row.
    last: Option<(Nanos, u64)>,
    decimals: u32,
    complete: bool,
    mean: Option<Nanos>,
    max: Option<Nanos>,
    total: Option<u64>,
    /// `HdrHistogram`'s number of sub-buckets, from which the width of the first cell is computed.
    sub_buckets: Option<u64>,
}

pub(super) fn heading(line: &str) -> bool {
    let words: Vec<&str> = line.split([' ', ',', '\t', '"']).filter(|word| !word.is_empty()).collect();
    words == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if heading(line) {
            self.csv = line.contains(',');
            if self.last.is_some() {
                return Err(Problem::at(number, "a second table begins here: import them in two files"));
            }
            return Ok(());
        }
        if let Some(comment) = line.strip_prefix("#[") {
            self.comment(comment.trim_end_matches(']'));
            return Ok(());
        }
        // Lines before and after the table are other output of the program, and are skipped.
        if line.is_empty() || self.complete || !line.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(());
        }
        self.row(number, line)
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.cells.is_empty() {
            return Err(Problem::new("the percentile table has no rows"));
        }
        let Some(unit) = self.unit else {
            let what = "a percentile table of HdrHistogram does not say in which unit its values are";
            return Err(Problem::new(what).with(ImportRemedy::SayUnit(number::UNITS)));
        };
        let grain = Nanos::from_ns(unit.ns()).divided_by(10u64.pow(self.decimals.min(9))).max(Nanos::from_ns(1));
        self.narrow_first(grain);
        let was_cut = !self.complete || (!self.csv && self.total.is_none());
        let series = Series {
            label: "the histogram".to_owned(),
            cells: std::mem::take(&mut self.cells),
            mean: self.mean,
            max: self.max,
            grain,
            stated_count: self.total,
            ..Series::default()
        };
        let mut run = ForeignRun { series: vec![series], ..ForeignRun::default() };
        if was_cut {
            run.notes.push(
                "doubted: the row of 100 % or the comments below it are missing: the file was cut off".to_owned(),
            );
            run.doubt();
        }
        Ok(run)
    }
}

impl Reader {
    pub fn new(unit: Option<Unit>) -> Self {
        Self { unit, ..Self::default() }
    }

    fn length(&self, text: &str) -> Option<Nanos> {
        number::length(text, self.unit.unwrap_or(Unit::Us))
    }

    /// Reads one of the comments at the end, such as `Mean = 9.528, StdDeviation = 8.255`, `Max = 812.000, TotalCount =
    /// 20001.000` or `Buckets = 22, SubBuckets = 2048`.
    fn comment(&mut self, comment: &str) {
        for (name, value) in comment.split(", ").filter_map(|part| part.split_once('=')) {
            let (name, value) = (name.trim(), value.trim());
            let whole = || number::count(value.split('.').next()?);
            match name {
                "Mean" => self.mean = self.length(value),
                "Max" => self.max = self.length(value),
                "TotalCount" => self.total = whole(),
                "SubBuckets" => self.sub_buckets = whole(),
                _ => {}
            }
        }
    }

    fn row(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let bad = || Problem::at(line, "a row has a value, a percentile and the number of values up to it");
        let mut words = text.split([' ', ',', '\t']).filter(|word| !word.is_empty());
        let (Some(value), Some(percentile), Some(total)) = (words.next(), words.next(), words.next()) else {
            return Err(bad());
        };
        let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        self.decimals = self.decimals.max(u32::try_from(decimals).unwrap_or(0));
        let value = self.length(value).filter(|value| *value < TOO_LONG).ok_or_else(bad)?;
        let total = number::count(total).ok_or_else(bad)?;
        self.complete = percentile.strip_prefix("1.").is_some_and(|rest| rest.bytes().all(|byte| byte == b'0'));
        let (before, counted) = self.last.map_or((None, 0), |(value, total)| (Some(value), total));
        if before.is_some_and(|before| before > value) || total < counted {
            return Err(Problem::at(line, "this row is below the one before; are these two results in one file?"));
        }
        self.last = Some((value, total));
        let count = total.saturating_sub(counted);
        if count == 0 {
            return Ok(());
        }
        if self.cells.len() >= MOST_CELLS {
            return Err(Problem::at(line, format!("more than {MOST_CELLS} rows")));
        }
        if let Some(cell) = self.cells.last_mut().filter(|cell| cell.high == value) {
            cell.count = cell.count.saturating_add(count);
        } else {
            // A row of the same value that counted nothing has left no cell.
            let below = before.filter(|before| *before < value).or_else(|| Some(self.cells.last()?.high));
            let low = below.map_or(Nanos::ZERO, |below| below.plus(Nanos::from_ns(1)));
            self.cells.push(Cell { low, high: value, count });
        }
        Ok(())
    }

    /// Narrows the first cell, which holds the smallest value. The width of that cell is at most its value divided by
    /// half the number of sub-buckets.
    fn narrow_first(&mut self, grain: Nanos) {
        let half = self.sub_buckets.unwrap_or(0) / 2;
        if let Some(first) = self.cells.first_mut().filter(|_| half > 0) {
            let width = first.high.divided_by(half).max(grain);
            first.low = first.low.max(first.high.plus(Nanos::from_ns(1)).minus(width));
        }
    }
}
