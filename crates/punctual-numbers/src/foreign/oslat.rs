//! Reads the text output of oslat: a table with one column for each CPU. Rows are named by their upper edges; minimum
//! and maximum are rounded up as well.
//!
//! The last row counts everything from its lower edge on. The average that oslat prints is computed from upper edges
//! and is not imported.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Quantity, Series, Stated};
use super::table::Table;
use super::{ForeignRun, Problem};
use punctual_hist::Nanos;

#[derive(Default)]
pub(super) struct Reader {
    program: Option<String>,
    cpus: Vec<u32>,
    table: Table,
    last_overflows: bool,
    min: Vec<Nanos>,
    max: Vec<Nanos>,
    duration: Option<Nanos>,
    grain: Nanos,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        if line.starts_with("oslat V ") {
            self.program = Some(line.trim().to_owned());
        }
        let Some((label, rest)) = line.split_once(":\t") else { return Ok(()) };
        let label = label.trim();
        let (values, note) = rest.split_once('(').unwrap_or((rest, ""));
        match label {
            "Core" => {
                let bad = || Problem::at(number, "`Core` names something that is no CPU");
                let cpu = |word: &str| word.parse().map_err(|_| bad());
                self.cpus = values.split_whitespace().map(cpu).collect::<Result<_, _>>()?;
                self.table.widen(self.cpus.len(), number)
            }
            "Minimum" | "Maximum" => {
                let unit = Unit::named(note.trim_end().trim_end_matches(')')).unwrap_or(Unit::Us);
                let bad = || Problem::at(number, format!("`{label}` holds something that is no time"));
                let value = |word: &str| number::length(word, unit).ok_or_else(bad);
                let values = values.split_whitespace().map(value).collect::<Result<_, _>>()?;
                *(if label == "Minimum" { &mut self.min } else { &mut self.max }) = values;
                Ok(())
            }
            "Duration" => {
                let longest = values.split_whitespace().filter_map(|word| number::length(word, Unit::S)).max();
                self.duration = longest;
                Ok(())
            }
            _ => match label.strip_suffix("(us)") {
                Some(edge) => self.row(number, edge.trim(), values, note),
                None => Ok(()),
            },
        }
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.cpus.is_empty() {
            return Err(Problem::new(
                "there is no table in it: oslat was stopped (-T), or failed before it printed one",
            ));
        }
        let end = self.table.end();
        let columns = std::mem::take(&mut self.table).into_columns();
        let mut notes = vec![
            "oslat counts turns of its loop by how long each took, not activations of a timer: its values are noise, \
             and its average, made of the rows' upper edges, is not taken over"
                .to_owned(),
        ];
        if self.max.is_empty() {
            notes.push("doubted: the lines below the table are missing: the file was cut off".to_owned());
        }
        let was_cut = self.max.is_empty();
        let mut series = Vec::new();
        for (index, (cpu, cells)) in self.cpus.iter().zip(columns).enumerate() {
            let mut one = Series {
                label: format!("CPU {cpu}"),
                cpu: Some(*cpu),
                quantity: Quantity::Noise,
                cells,
                min: self.min.get(index).copied(),
                max: self.max.get(index).copied(),
                grain: Nanos::from_us(1),
                rounded_up: true,
                ..Series::default()
            };
            let at_end = one.cells.last().is_some_and(|cell| cell.high.plus(Nanos::from_ns(1)) == end);
            // A maximum within the table proves that the last row holds nothing from beyond it.
            if self.last_overflows && at_end && one.max.is_none_or(|max| max > end) {
                one.open_last();
            }
            series.push(one);
        }
        let duration = self.duration.map(|length| Stated { length, grain: Nanos::from_ms(1) });
        let mut run = ForeignRun { program: self.program.take(), duration, series, notes, ..ForeignRun::default() };
        if was_cut {
            run.doubt();
        }
        Ok(run)
    }
}

impl Reader {
    fn row(&mut self, line: u64, edge: &str, values: &str, note: &str) -> Result<(), Problem> {
        let edge = number::length(edge, Unit::Us);
        let edge = edge.ok_or_else(|| Problem::at(line, "a row of the table begins with its upper edge"))?;
        // The first row gives the width of all rows, also if -z leaves out empty rows: their edges are multiples of the
        // width.
        if self.grain == Nanos::ZERO {
            self.grain = if edge.as_ns() % 1_000 == 0 { Nanos::from_us(1) } else { edge };
        }
        self.last_overflows = note.contains("including overflows");
        let edges = (edge.minus(self.grain), edge.minus(Nanos::from_ns(1)));
        self.table.row(line, edges, values.split_whitespace())
    }
}
