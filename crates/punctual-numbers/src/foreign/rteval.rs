//! Reads `summary.xml` of rteval: statistics of the system and of each core, with a histogram that leaves out empty
//! buckets.
//!
//! rteval leaves out all statistics if a value exceeded its limit (3500 us by default).

use super::number::{self, Unit};
use super::run::{Series, Stated};
use super::table::ascending;
use super::{Cell, ForeignRun, MOST_CELLS, MOST_COLUMNS, Problem};
use punctual_hist::Nanos;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

#[derive(Default)]
struct Reading {
    run: ForeignRun,
    path: Vec<String>,
    core: Option<Series>,
    kept: usize,
    skipped: bool,
    text: String,
}

/// Largest depth of nested elements that is accepted; rteval nests about ten levels.
const DEEPEST: usize = 64;

pub(super) fn read(bytes: &[u8]) -> Result<ForeignRun, Problem> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    let mut reading = Reading::default();
    loop {
        let event = reader.read_event();
        let position = reader.buffer_position();
        let at = |what: String| Problem { line: line_of(&text, position), ..Problem::new(what) };
        match event {
            Err(error) => return Err(at(format!("not valid XML: {error}"))),
            Ok(Event::Eof) => break,
            Ok(Event::Start(start)) => reading.open(&start).map_err(at)?,
            Ok(Event::Empty(start)) => {
                reading.open(&start).map_err(at)?;
                reading.close();
            }
            Ok(Event::End(_)) => reading.close(),
            Ok(Event::Text(words)) => {
                let words = String::from_utf8_lossy(&words).into_owned();
                reading.text = words.trim().chars().take(4096).collect();
            }
            Ok(_) => {}
        }
    }
    reading.finish()
}

fn line_of(text: &str, position: u64) -> Option<u64> {
    let before = text.as_bytes().get(..usize::try_from(position).ok()?)?;
    Some(before.split(|byte| *byte == b'\n').count() as u64)
}

impl Reading {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        let name = String::from_utf8_lossy(start.local_name().as_ref()).into_owned();
        let attribute = |wanted: &str| -> Option<String> {
            let found = start.try_get_attribute(wanted).ok()??;
            Some(String::from_utf8_lossy(&found.value).into_owned())
        };
        self.text.clear();
        match name.as_str() {
            "rteval" => {
                let version = attribute("version").unwrap_or_default();
                self.run.program = Some(format!("rteval {version}").trim().to_owned());
            }
            "core" | "system" if self.inside("Measurements") => {
                let id = attribute("id");
                let cpu = id.as_deref().and_then(|id| id.parse().ok());
                let label = id.map_or("system".to_owned(), |id| format!("CPU {id}"));
                self.core = Some(Series { label, cpu, grain: Nanos::from_us(1), ..Series::default() });
            }
            "cyclictest" | "timerlat" => self.run.command = attribute("command_line").or(self.run.command.take()),
            "run_info" => {
                let part = |name: &str| attribute(name).and_then(|text| number::count(&text)).unwrap_or(0);
                let units = [("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1)];
                let length = units.iter().fold(Nanos::ZERO, |sum, (name, seconds)| {
                    sum.plus(Nanos::from_secs(part(name).saturating_mul(*seconds)))
                });
                self.run.duration = (length > Nanos::ZERO).then_some(Stated { length, grain: Nanos::from_secs(60) });
            }
            "bucket" => self.bucket(attribute("index").as_deref(), attribute("value").as_deref())?,
            "abort_report" | "stoptrace_report" => {
                self.run.notes.push(format!("doubted: the run was stopped early ({name})"));
            }
            _ => {}
        }
        if self.path.len() >= DEEPEST {
            return Err("nested deeper than rteval writes".to_owned());
        }
        self.path.push(name);
        Ok(())
    }

    fn inside(&self, name: &str) -> bool {
        self.path.iter().any(|open| open == name)
    }

    fn bucket(&mut self, index: Option<&str>, value: Option<&str>) -> Result<(), String> {
        let Some(core) = &mut self.core else { return Ok(()) };
        let (index, count) = (index.and_then(number::count), value.and_then(number::count));
        let (Some(index), Some(count)) = (index, count) else {
            return Err("a bucket lacks its index or its value".to_owned());
        };
        self.kept += 1;
        if self.kept > MOST_CELLS {
            return Err(format!("more than {MOST_CELLS} buckets"));
        }
        if count > 0 {
            core.cells.push(Cell::of_width(index, Nanos::from_us(1), count));
        }
        Ok(())
    }

    fn close(&mut self) {
        let Some(name) = self.path.pop() else { return };
        let text = std::mem::take(&mut self.text);
        if matches!(name.as_str(), "core" | "system") {
            if let Some(core) = self.core.take() {
                if self.run.series.len() < MOST_COLUMNS {
                    self.run.series.push(core);
                }
            }
            return;
        }
        if !text.is_empty() && self.core.is_none() && self.inside("SystemInfo") && self.run.machine.len() < 1_000 {
            self.run.machine.push((name.as_str(), text.as_str()).into());
        }
        self.skipped |= text.contains("Skipping statistics");
        let Some(core) = &mut self.core else { return };
        let us = || number::length(&text, Unit::Us);
        match name.as_str() {
            "samples" => core.stated_count = number::count(&text),
            "minimum" => core.min = us(),
            "maximum" => core.max = us(),
            "mean" => core.mean = us(),
            _ => {}
        }
    }

    fn finish(mut self) -> Result<ForeignRun, Problem> {
        if !self.path.is_empty() {
            return Err(Problem::new("the file ends before its XML does: it was cut off"));
        }
        // If there are series of cores, the series `system` is dropped, because it is only their sum.
        if self.run.series.len() > 1 {
            self.run.series.retain(|series| series.cpu.is_some() || series.label != "system");
        }
        for series in &mut self.run.series {
            series.cells = ascending(std::mem::take(&mut series.cells), &series.label)?;
        }
        if self.run.series.is_empty() {
            let why = if self.skipped {
                "rteval left its statistics out, because a value was above its limit"
            } else {
                "no measurement is in it"
            };
            return Err(Problem::new(why));
        }
        if self.run.series.iter().any(|series| series.cells.is_empty()) {
            self.run.notes.push(
                "doubted: rteval leaves histogram and statistics out where a value was above its limit".to_owned(),
            );
        }
        let asked = self.run.command.as_deref().map(super::command::asked).unwrap_or_default();
        for series in &mut self.run.series {
            series.period = asked.period(0);
        }
        Ok(self.run)
    }
}
