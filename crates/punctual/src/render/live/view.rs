//! Lays out the live view of a running measurement: numbers so far, the effect of keys, lines on a screen.
//!
//! Knows neither a terminal nor a clock: it takes progress and keys, and returns lines.

use super::keys::Key;
use super::picture::{Picture, Scroll, Wish};
use super::screen::{Line, Weight};
use crate::render::lang::tr;
use crate::render::sheet::table::Table;
use crate::render::units::{self, ABSENT};
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_linux::measure::{CpuSoFar, PhaseNumber, Progress, Spike};
use punctual_numbers::recording::RecTime;
use std::collections::BTreeMap;

/// Columns and lines of the smallest screen that gets a table. On a smaller screen each CPU gets one line.
const LEAST: (usize, usize) = (40, 8);
/// Number of lines around the table: four above it (time, load, blank, caption) and three below (blank, message, keys).
const AROUND: usize = 7;

#[derive(Clone, Debug, Default, PartialEq)]
struct Numbers {
    /// Recent rate of activations per second; `None` until there are two readings.
    rate: Option<u64>,
    now: Summary,
    so_far: Summary,
    skipped: u64,
    spike: Option<Spike>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Summary {
    p50: Option<Nanos>,
    p999: Option<Nanos>,
    max: Option<Nanos>,
}

impl Summary {
    fn of(counts: &Counts) -> Self {
        let percentile = |ppm| counts.percentile_ppm(ppm);
        Self { p50: percentile(500_000), p999: percentile(999_000), max: counts.max() }
    }

    fn cells(&self) -> [String; 3] {
        [self.p50, self.p999, self.max].map(|value| format!("{:>8}", units::column_us(value)))
    }
}

#[derive(Debug, Default)]
pub struct View {
    progress: Option<Progress>,
    cpus: BTreeMap<u32, Numbers>,
    /// The numbers that the view keeps showing while it is paused; `None` if it is not.
    frozen: Option<BTreeMap<u32, Numbers>>,
    /// The last reading, and the time at which it was taken.
    last: Option<(MonoTime, Vec<CpuSoFar>)>,
    /// The reading at the last reset, and its time in the run: "so far" covers the time since then. `None` if it covers
    /// the whole run.
    reset: Option<(RecTime, Vec<CpuSoFar>)>,
    /// The CPUs that are shown, if not all fit.
    scroll: Scroll,
    message: String,
    ending: bool,
}

impl Picture for View {
    type News = Progress;

    fn take(&mut self, progress: Progress) {
        if progress.warming_up {
            // Activations of a warm-up are not counted, so a rate over it would be too low.
            self.last = None;
        }
        if !progress.latencies.is_empty() {
            self.take_latencies(&progress);
        }
        self.progress = Some(progress);
    }

    fn say(&mut self, message: &str) {
        message.clone_into(&mut self.message);
    }

    fn press(&mut self, key: Key) -> Option<Wish> {
        match key {
            Key::Char('q') => {
                self.ending = true;
                return Some(Wish::Quit);
            }
            Key::Char('m') => return Some(Wish::Mark),
            Key::Char('\x0c') => return Some(Wish::Redraw),
            Key::Char('p' | ' ') => {
                self.frozen = if self.frozen.is_some() { None } else { Some(self.cpus.clone()) };
            }
            Key::Char('r') => self.reset(),
            key => self.scroll.press(key),
        }
        None
    }

    fn end(&mut self) {
        self.ending = true;
    }

    fn lines(&mut self, columns: usize, rows: usize) -> Vec<Line> {
        let line = |weight, text: &str| Line::new(weight, text, columns);
        let Some(progress) = &self.progress else { return vec![line(Weight::Plain, tr!("about to begin"))] };
        if columns < LEAST.0 || rows < LEAST.1 {
            return self.few_lines(columns, rows);
        }
        let mut lines = vec![
            line(Weight::Heading, &time(progress)),
            line(Weight::Plain, &load(progress)),
            Line::default(),
            line(Weight::Plain, &self.caption()),
        ];
        let shown = self.frozen.as_ref().unwrap_or(&self.cpus);
        let (table, first, page) = fitting(shown, progress.at, self.scroll.first, columns, rows - AROUND);
        let below = if page < shown.len() {
            tr!(
                "CPU rows {first} to {page} of {shown}: arrow keys scroll. {message}",
                first = first + 1,
                page = first + page,
                shown = shown.len(),
                message = self.message
            )
        } else {
            self.message.clone()
        };
        lines.extend(table);
        lines.resize(lines.len().max(rows - 3), Line::default());
        lines.extend([Line::default(), line(Weight::Plain, &below), self.keys(columns)]);
        self.scroll = Scroll { first, page };
        lines
    }
}

impl View {
    fn take_latencies(&mut self, progress: &Progress) {
        let (last, base) = (self.last.as_ref(), self.reset.as_ref().map(|(_, base)| base));
        for cpu in &progress.latencies {
            let of = |all: &Vec<CpuSoFar>| all.iter().find(|other| other.cpu == cpu.cpu).cloned();
            let before = last.and_then(|(at, all)| Some((progress.at.since(*at), of(all)?)));
            let base = base.and_then(of);
            let since = |base: &CpuSoFar| cpu.ran.since(&base.ran);
            let recent = before.map(|(time, before)| (time, since(&before)));
            let numbers = Numbers {
                rate: recent.as_ref().and_then(|(time, ran)| per_second(ran.count(), *time)),
                now: recent.as_ref().map(|(_, ran)| Summary::of(ran)).unwrap_or_default(),
                so_far: Summary::of(&base.as_ref().map_or_else(|| cpu.ran.clone(), since)),
                skipped: cpu.skipped.saturating_sub(base.as_ref().map_or(0, |base| base.skipped)),
                spike: cpu.last_spike.clone(),
            };
            self.cpus.insert(cpu.cpu, numbers);
        }
        self.last = Some((progress.at, progress.latencies.clone()));
    }

    /// Makes "so far" cover the time from now on. The recording is not affected.
    fn reset(&mut self) {
        let (Some(progress), Some((_, last))) = (&self.progress, &self.last) else {
            tr!("nothing to reset yet").clone_into(&mut self.message);
            return;
        };
        self.reset = Some((RecTime::after_epoch(progress.elapsed), last.clone()));
        for numbers in self.cpus.values_mut() {
            (numbers.so_far, numbers.skipped) = (Summary::default(), 0);
        }
        tr!("the numbers of this view start again; the recording keeps all of them").clone_into(&mut self.message);
    }

    /// Lines for a small screen: maximum and a percentile of as many CPUs as fit, then the state and the keys.
    fn few_lines(&mut self, columns: usize, rows: usize) -> Vec<Line> {
        let shown = self.frozen.as_ref().unwrap_or(&self.cpus);
        let state = match (self.ending, self.frozen.is_some()) {
            (true, _) => Some((Weight::Alert, tr!("ending"))),
            (_, true) => Some((Weight::Alert, tr!("PAUSED, p continues"))),
            _ => (rows > shown.len() && rows > 1).then_some((Weight::Heading, tr!("us  p r m q"))),
        };
        let page = rows.saturating_sub(usize::from(state.is_some())).max(1);
        let first = self.scroll.first.min(shown.len().saturating_sub(page));
        let row = |(cpu, numbers): (&u32, &Numbers)| {
            let [_, p999, max] = numbers.so_far.cells();
            Line::new(
                Weight::Plain,
                &tr!("{cpu} max {max} p99.9 {p999}", cpu, max = max.trim(), p999 = p999.trim()),
                columns,
            )
        };
        let mut lines: Vec<Line> = shown.iter().skip(first).take(page).map(row).collect();
        lines.extend(state.map(|(weight, text)| Line::new(weight, text, columns)));
        lines.truncate(rows);
        self.scroll = Scroll { first, page };
        lines
    }

    fn caption(&self) -> String {
        let since = self.reset.as_ref().map(|(at, _)| units::moment(*at));
        let so_far = since.map_or_else(|| tr!("so far").to_owned(), |at| tr!("since the reset at {at}", at));
        tr!("wake-up latency in us: now = the last second, all = {so_far}", so_far)
    }

    fn keys(&self, columns: usize) -> Line {
        match (self.ending, self.frozen.is_some()) {
            (true, _) => Line::new(Weight::Alert, tr!("ending: loads stop, the recording is completed"), columns),
            (_, true) => {
                Line::new(Weight::Alert, tr!("PAUSED, measuring goes on   p continue  m mark  q quit"), columns)
            }
            _ => Line::new(Weight::Heading, tr!("p pause  r reset  m mark  q quit"), columns),
        }
    }
}

fn time(progress: &Progress) -> String {
    let (second, total) = (Nanos::from_secs(1), units::duration(progress.total));
    let elapsed = Nanos::from_secs(progress.elapsed.whole(second));
    let left = Nanos::from_secs(progress.total.minus(progress.elapsed).as_ns().div_ceil(second.as_ns()));
    format!("punctual measure   {} of {total}, {} left", units::duration(elapsed), units::duration(left))
}

fn load(progress: &Progress) -> String {
    let PhaseNumber { number, of: all } = progress.phase_number;
    let which = if all > 1 { tr!("load phase {number} of {all}", number, all) } else { tr!("load phase").to_owned() };
    let state = if progress.warming_up { tr!(", warming up: not counted") } else { "" };
    format!("{which}: {}{state}", progress.phase)
}

/// The lines of the part of the table that fits into `rows`, the index of its first CPU, and its number of CPUs.
fn fitting(
    cpus: &BTreeMap<u32, Numbers>,
    at: MonoTime,
    first: usize,
    columns: usize,
    rows: usize,
) -> (Vec<Line>, usize, usize) {
    let part = |first: usize, page: usize| {
        let lines = table(cpus.iter().skip(first).take(page), at).lines(columns);
        let weight = |heading| if heading { Weight::Heading } else { Weight::Plain };
        lines.iter().map(|line| Line::new(weight(line.heading), &line.text, columns)).collect::<Vec<Line>>()
    };
    // Each CPU takes a line in each block of the table, and there is at least one block.
    let mut page = cpus.len().min(rows.saturating_sub(1)).max(1);
    loop {
        let first = first.min(cpus.len().saturating_sub(page));
        let mut lines = part(first, page);
        if lines.len() <= rows || page == 1 {
            lines.truncate(rows);
            return (lines, first, page.min(cpus.len()));
        }
        page -= 1;
    }
}

fn table<'a>(cpus: impl Iterator<Item = (&'a u32, &'a Numbers)>, at: MonoTime) -> Table {
    let mut table = Table::new(&[
        tr!(">CPU"),
        tr!(">rate/s"),
        tr!(">now p50"),
        ">p99.9",
        tr!(">max"),
        tr!(">all p50"),
        ">p99.9",
        tr!(">max"),
        tr!(">skipped"),
        tr!(">last spike"),
        tr!(">ago"),
        tr!("<cause"),
    ]);
    for (cpu, numbers) in cpus {
        let rate = numbers.rate.map_or_else(|| ABSENT.to_owned(), units::count);
        let mut cells = vec![format!("{cpu:>3}"), format!("{rate:>6}")];
        cells.extend(numbers.now.cells());
        cells.extend(numbers.so_far.cells());
        cells.push(units::count(numbers.skipped));
        cells.extend(spike(numbers.spike.as_ref(), at));
        table.row(cells);
    }
    table
}

/// Cells of the table for a spike: its latency, the time since it, and its cause.
fn spike(spike: Option<&Spike>, at: MonoTime) -> [String; 3] {
    let Some(spike) = spike else { return [ABSENT.to_owned(), format!("{ABSENT:>8}"), ABSENT.to_owned()] };
    let seconds = Nanos::from_secs(at.since(spike.woke).as_ns() / 1_000_000_000);
    let cause = spike.cause.clone().unwrap_or_else(|| ABSENT.to_owned());
    [units::column_us(Some(spike.latency)), format!("{:>8}", units::duration(seconds)), cause]
}

fn per_second(count: u64, time: Nanos) -> Option<u64> {
    let rounded = u128::from(count) * 1_000_000_000 + u128::from(time.as_ns()) / 2;
    rounded.checked_div(u128::from(time.as_ns())).and_then(|rate| u64::try_from(rate).ok())
}
