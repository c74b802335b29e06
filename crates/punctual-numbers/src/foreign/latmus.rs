//! Reads the output of `latmus -g` of EVL: facts as comments, then cells of one microsecond.
//!
//! The first versions, up to 2020, add one to every count for the sake of logarithmic axes; later versions do not. The
//! file does not state its version, but only later versions state the number of samples or the time of the peak. The
//! first and the last cell are never empty, so a count of 1 there also shows that nothing was added. A `+` behind the
//! last cell means that it also counts all larger values.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Series, Stated};
use super::table::Table;
use super::{Beyond, Cell, ForeignRun, Problem};
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;

const US: Nanos = Nanos::from_us(1);

#[derive(Default)]
pub(super) struct Reader {
    facts: Vec<MachineLine>,
    machine: Vec<MachineLine>,
    table: Table,
    /// For each column, the values in the last row, if that row also counts everything above the histogram.
    beyond: Vec<Beyond>,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            let comment = comment.trim();
            match comment.split_once(':') {
                Some((name, value)) => self.facts.push((name.trim(), value.trim()).into()),
                None => self.machine.extend((!comment.is_empty()).then(|| ("says", comment).into())),
            }
            if self.facts.len().saturating_add(self.machine.len()) > 10_000 {
                return Err(Problem::at(number, "more comments than latmus writes"));
            }
            return Ok(());
        }
        if line.is_empty() || ["RTT|", "RTH|", "RTD|", "RTS|", "---"].iter().any(|live| line.starts_with(live)) {
            return Ok(());
        }
        self.cell(number, line)
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.table.is_empty() && self.beyond.is_empty() {
            return Err(Problem::new("there is no histogram in it (latmus -g writes one)"));
        }
        let mut columns = std::mem::take(&mut self.table).into_columns();
        let mut notes: Vec<String> = self.without_ones(&mut columns).into_iter().chain(self.claims()).collect();
        let names = self.names(columns.len());
        let series = names.iter().zip(columns).enumerate();
        let series: Vec<Series> =
            series.map(|(index, (name, cells))| self.series(index, name, cells, &mut notes)).collect();
        let length = self.fact("duration (hhmmss)").and_then(number::clock);
        Ok(ForeignRun {
            program: Some(
                self.fact("libevl version").map_or("latmus".to_owned(), |version| format!("latmus, {version}")),
            ),
            started: self.fact("test started on").or(self.fact("Test started on")).map(str::to_owned),
            duration: length.map(|length| Stated { length, grain: Nanos::from_secs(1) }),
            machine: self.about_the_machine(),
            series,
            notes,
            ..ForeignRun::default()
        })
    }
}

impl Reader {
    fn fact(&self, name: &str) -> Option<&str> {
        MachineLine::of(&self.facts, name)
    }

    /// Subtracts the one that the first versions of latmus add to each count, if the file was written by one of them.
    fn without_ones(&self, columns: &mut [Vec<Cell>]) -> Option<String> {
        let is_later =
            self.facts.iter().any(|of| of.name.ends_with("peak (hhmmss)") || of.name.ends_with("sample count"));
        let cells = columns.first_mut()?;
        let holds_one = [cells.first(), cells.last()].into_iter().flatten().any(|cell| cell.count == 1);
        if is_later || holds_one {
            return None;
        }
        for cell in &mut *cells {
            cell.count = cell.count.saturating_sub(1);
        }
        cells.retain(|cell| cell.count > 0);
        Some(
            "repaired: neither the number of samples nor the time of the peak is stated, so this is one of the first \
             versions of latmus, which add one to each count: one was taken off each"
                .to_owned(),
        )
    }

    /// The prefix of each column's facts, with a blank at its end: later versions measure several things at once and
    /// prefix the facts of each.
    fn names(&self, columns: usize) -> Vec<String> {
        let maxima = self.facts.iter().filter_map(|fact| fact.name.strip_suffix("max latency").map(str::to_owned));
        let mut names: Vec<String> = maxima.collect();
        // A column without values has no facts. If the numbers differ, facts cannot be assigned to columns by their
        // order.
        if names.len() != columns {
            names = vec![String::new(); columns];
        }
        names
    }

    fn series(&self, index: usize, name: &str, cells: Vec<Cell>, notes: &mut Vec<String>) -> Series {
        let own = |fact: &str| self.fact(&format!("{name}{fact}"));
        let us = |fact: &str| own(fact).and_then(|text| number::length(text, Unit::Us));
        let cpu = self.fact("thread affinity").and_then(cpu_of);
        let thread = cpu.map_or_else(|| "the sampler".to_owned(), |cpu| format!("CPU {cpu}"));
        let label = match name.trim() {
            "" if index > 0 => format!("{thread} column {}", index.saturating_add(1)),
            "" => thread,
            name => format!("{thread} {name}"),
        };
        if own("min latency").is_some_and(|min| min.starts_with('-')) {
            notes.push(format!(
                "lost: {label}: the smallest latency is negative, woken before the release: latmus counts such values \
                 in the cells of their size without the sign"
            ));
        }
        Series {
            label,
            cpu,
            context: Some(name.trim().to_owned()).filter(|name| !name.is_empty()),
            period: self.fact("sampling period").and_then(period),
            cells,
            beyond: self.beyond.get(index).copied().filter(|beyond| beyond.count > 0),
            skipped: own("OVERRUNS").and_then(number::count),
            min: us("min latency"),
            mean: us("avg latency"),
            max: us("max latency"),
            grain: Nanos::from_ns(1),
            stated_count: own("sample count").and_then(number::count),
            ..Series::default()
        }
    }

    fn cell(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let bad = || Problem::at(line, "neither a comment nor a cell with its counts");
        let mut words = text.split_whitespace();
        let cell = words.next().ok_or_else(bad)?;
        let open = cell.ends_with('+');
        let index = number::count(cell.trim_end_matches('+')).ok_or_else(bad)?;
        let Cell { low, high, .. } = Cell::of_width(index, US, 0);
        if open {
            let counts = self.table.counts(line, words)?;
            self.beyond = counts.into_iter().map(|count| Beyond { from: low, count }).collect();
            return Ok(());
        }
        self.table.row(line, (low, high), words)
    }

    fn claims(&self) -> Option<String> {
        let restricted = self.machine.iter().any(|line| line.value == "C-state restricted");
        restricted.then(|| {
            "unproven: the file says that C-states were restricted; versions of latmus write one byte where the kernel \
             wants four, which is refused, and say so all the same"
                .to_owned()
        })
    }

    fn about_the_machine(&self) -> Vec<MachineLine> {
        let own = ["min latency", "avg latency", "max latency", "sample count", "est started on"];
        let facts = self.facts.iter().filter(|fact| !own.iter().any(|own| fact.name.ends_with(own))).cloned();
        facts.chain(self.machine.iter().cloned()).collect()
    }
}

/// Reads a fact such as `1000 microseconds`.
fn period(text: &str) -> Option<Nanos> {
    let (number, unit) = text.split_once(' ')?;
    number::length(number, Unit::named(unit.trim())?)
}

/// Reads a fact such as `CPU1-noisol`.
fn cpu_of(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("CPU")?;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
