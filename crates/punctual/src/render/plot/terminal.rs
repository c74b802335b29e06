//! Charts made of ASCII characters, because many real-time machines are used over serial consoles.

mod field;

use super::named::{budget_of, shapes};
use super::{Named, band, caption, title, wrapped};
use crate::cli::ChartName;
use crate::render::chart::{self, LogScale, Shape, Times, limits, moment_label, round_moments, times};
use crate::render::units;
use field::{Field, HEIGHT, cell, ns};
use punctual_hist::Nanos;
use punctual_numbers::recording::RecTime;
use punctual_numbers::report::TimelinePoint;
use punctual_numbers::stats::float::{self, float};
use std::fmt::Write as _;

const MARKS: [char; 9] = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
/// Mark of the range that holds values which were only counted.
const APART: char = '-';

/// The chart as text for a terminal of `columns` columns; `None` if there is nothing to draw.
pub fn draw(chart: ChartName, all: &[Named], columns: usize) -> Option<String> {
    let shapes = shapes(all);
    let names: Vec<&str> = match chart {
        ChartName::OverTime => all.iter().map(|one| one.name.as_str()).collect(),
        ChartName::Histogram | ChartName::Exceedance => shapes.iter().map(|shape| shape.name.as_str()).collect(),
    };
    let mut out = String::new();
    let _ = writeln!(out, "{}", title(chart));
    match names.as_slice() {
        [one] => {
            let _ = writeln!(out, "{}", ascii(one));
        }
        several => {
            for (mark, name) in MARKS.iter().zip(several) {
                let _ = writeln!(out, "  {mark}  {}", ascii(name));
            }
        }
    }
    out.push('\n');
    let drawn = shapes.get(..MARKS.len()).unwrap_or(&shapes);
    let said = match chart {
        ChartName::Histogram => histogram(&mut out, drawn, budget_of(all), columns)?,
        ChartName::Exceedance => exceedance(&mut out, drawn, budget_of(all), columns)?,
        ChartName::OverTime => over_time(&mut out, all, columns)?,
    };
    let left_out = names.len().saturating_sub(MARKS.len());
    let left_out = if left_out > 0 { format!(" Not drawn: {left_out} more.") } else { String::new() };
    out.push('\n');
    let said = format!("{} {said}{left_out}", caption(chart, all, &shapes)).replace(units::THIN, " ");
    for line in wrapped(&said, columns) {
        let _ = writeln!(out, "{}", ascii(&line));
    }
    Some(out.replace(units::THIN, " "))
}

/// A name with each character outside ASCII replaced by `?`.
fn ascii(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

fn budget_said(budget: Option<Nanos>) -> String {
    budget.map_or_else(String::new, |budget| format!("| the budget, {}.", units::latency(budget)))
}

fn latencies(field: &Field, shapes: &[Shape], budget: Option<Nanos>) -> Option<LogScale> {
    let (low, high) = chart::range(shapes, budget)?;
    Some(field.latencies(float(low) / 1.02, float(high) * 1.02))
}

fn histogram(out: &mut String, shapes: &[Shape], budget: Option<Nanos>, columns: usize) -> Option<String> {
    let most = shapes.iter().map(Shape::count).max()?;
    let mut field = Field::new(columns, &units::count(most));
    let x = latencies(&field, shapes, budget)?;
    let columns = chart::columns(shapes, chart::range(shapes, budget)?, float(field.width));
    let counted: Vec<Vec<u64>> = shapes.iter().map(|shape| chart::counts(&columns, &shape.cells)).collect();
    let aparts = shapes.iter().filter_map(|shape| shape.apart.map(|apart| apart.count));
    let most = counted.iter().flatten().copied().chain(aparts).max()?;
    let y = LogScale::new(0.6, float(most) * 1.2, float(HEIGHT), 0.0);
    let line = |count: u64| cell(y.at(float(count)), HEIGHT);
    for ((shape, counts), mark) in shapes.iter().zip(&counted).zip(MARKS) {
        if let Some(apart) = shape.apart {
            let span = field.span(&x, apart.from.as_ns(), apart.end());
            span.for_each(|at| field.put(at, line(apart.count), APART));
        }
        for (column, count) in columns.iter().zip(counts).filter(|(_, count)| **count > 0) {
            for at in field.span(&x, column.low, column.above) {
                if shapes.len() == 1 {
                    (line(*count)..HEIGHT).for_each(|line| field.put(at, line, '#'));
                } else {
                    field.put(at, line(*count), mark);
                }
            }
        }
    }
    if let Some(budget) = budget {
        field.budget_line(cell(x.at_ns(budget), field.width));
    }
    field.label_latencies(&x);
    field.label_left(&y, |n| units::count(float::whole(n.round())));
    field.print(out);
    Some(budget_said(budget))
}

fn exceedance(out: &mut String, shapes: &[Shape], budget: Option<Nanos>, columns: usize) -> Option<String> {
    let most = shapes.iter().map(Shape::count).max()?;
    let parts = std::iter::successors(Some(1u64), |one_in| one_in.checked_mul(10)).take_while(|one_in| *one_in <= most);
    let label = |one_in| if one_in == 1 { "all".to_owned() } else { format!("1 in {}", units::count(one_in)) };
    let parts: Vec<(u64, String)> = parts.map(|one_in| (one_in, label(one_in))).collect();
    let mut field = Field::new(columns, parts.last().map_or("", |(_, label)| label));
    let x = latencies(&field, shapes, budget)?;
    // Shares are multiplied by the number of values, because a `LogScale` begins at 0.1.
    let y = LogScale::new(0.5, float(most), float(HEIGHT), 0.0);
    let line = |share: f64| cell(y.at(share * float(most)), HEIGHT);
    for (shape, mark) in shapes.iter().zip(MARKS) {
        curve(&mut field, shape, &x, line, (shapes.len() > 1).then_some(mark));
    }
    if let Some(budget) = budget {
        field.budget_line(cell(x.at_ns(budget), field.width));
    }
    field.label_latencies(&x);
    field.left.extend(parts.into_iter().map(|(one_in, label)| (line(1.0 / float(one_in)), label)));
    field.print(out);
    // With several curves no bands are drawn, because they would cover each other.
    let band = if shapes.len() == 1 { format!("{} ", band()) } else { String::new() };
    Some(format!("{band}{}", budget_said(budget)))
}

/// Draws a curve. With `mark`, it is one of several; without, it is the only one and gets the band of its confidence
/// limits.
fn curve(field: &mut Field, shape: &Shape, x: &LogScale, line: impl Fn(f64) -> usize, mark: Option<char>) {
    let total = shape.count();
    let level = |share: f64| if share > 0.0 { line(share) } else { HEIGHT - 1 };
    let level_of = |n: u64| level(float(n) / float(total.max(1)));
    let mut points = vec![None; field.width];
    let mut beyond = total;
    for (at, count) in shape.falls() {
        beyond = beyond.saturating_sub(count);
        if let Some(point) = points.get_mut(cell(x.at_ns(at), field.width)) {
            *point = Some(beyond);
        }
    }
    let mut beyond = total;
    let last = points.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    for (column, point) in points.iter().enumerate().take(last) {
        let before = beyond;
        beyond = point.unwrap_or(beyond);
        if mark.is_none() {
            let (low, high) = limits(beyond, total);
            (line(high)..=level(low)).for_each(|line| field.put_behind(column, line, ':'));
        }
        // Where the curve falls, the column is filled from the old level down to the new one.
        (level_of(before)..=level_of(beyond)).for_each(|line| field.put(column, line, mark.unwrap_or('*')));
    }
    if let Some(apart) = shape.apart {
        let span = field.span(x, apart.from.as_ns(), apart.end());
        let line = level_of(beyond);
        (last..span.start).for_each(|column| field.put(column, line, mark.unwrap_or('*')));
        (span.start.max(last)..span.end).for_each(|column| field.put(column, line, APART));
    }
}

fn over_time(out: &mut String, all: &[Named], columns: usize) -> Option<String> {
    let shown = || all.iter().filter_map(Named::report).take(MARKS.len());
    let budget = budget_of(all);
    let mut field = Field::new(columns, "");
    let spans: Vec<Times> = shown().filter_map(times).collect();
    let times = Times { from: spans.iter().map(|t| t.from).min()?, to: spans.iter().map(|t| t.to).max()? };
    let points = || shown().flat_map(|report| report.timeline.iter());
    let low = points().filter_map(|p| p.p50.or(p.min)).chain(budget).min()?;
    let high = points().filter_map(|p| p.max).chain(budget).max()?;
    let y = LogScale::new(float(low.as_ns()) / 1.3, float(high.as_ns()) * 1.1, float(HEIGHT), 0.0);
    let width = field.width;
    let column = |at: RecTime| cell(times.share(at) * float(width), width);
    if let Some(budget) = budget {
        let line = cell(y.at_ns(budget), HEIGHT);
        (0..width).for_each(|column| field.put(column, line, '-'));
    }
    for (report, mark) in shown().zip(MARKS) {
        let mut draw = |value: fn(&TimelinePoint) -> Option<Nanos>, mark: char| {
            let mut largest: Vec<Option<Nanos>> = vec![None; width];
            for point in &report.timeline {
                let end = point.start.plus(point.length).minus(Nanos::from_ns(1));
                for slot in largest.iter_mut().take(column(end) + 1).skip(column(point.start)) {
                    *slot = (*slot).max(value(point));
                }
            }
            for (column, value) in largest.iter().enumerate() {
                if let Some(value) = value {
                    field.put(column, cell(y.at_ns(*value), HEIGHT), mark);
                }
            }
        };
        if all.len() == 1 {
            draw(|p| p.p50, 'o');
            draw(|p| p.p99_9, '+');
            draw(|p| p.max, '^');
        } else {
            draw(|p| p.max, mark);
        }
    }
    field.below = round_moments(times).map(|at| (column(at), moment_label(at).replace(units::THIN, " "))).collect();
    field.label_left(&y, ns);
    field.print(out);
    let marks = if all.len() == 1 {
        "o median, + 99.9 %, ^ largest, of whichever CPU is latest."
    } else {
        "Drawn is the largest of whichever CPU is latest."
    };
    let budget = budget.map_or_else(String::new, |budget| format!(" - the budget, {}.", units::latency(budget)));
    Some(format!("{marks}{budget}"))
}
