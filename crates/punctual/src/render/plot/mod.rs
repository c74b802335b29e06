//! Charts of one or several results in one plot: as an SVG document, and as text for a terminal.
//!
//! The functions of the report's page draw the curves. A separate document also needs a title, a legend and colours,
//! which are added here.

mod named;
pub mod terminal;
mod words;

pub use named::{Called, Measured, Named, names, together};
pub use words::{band, cautions, nothing, only_counted};

use super::chart::{self, COLOURS, HEIGHT, Reach, Shape, WIDTH, escaped};
use super::units;
use crate::cli::ChartName;
use named::{budget_of, shapes};
use punctual_numbers::report::{CpuRow, Report};
use punctual_numbers::stats::float::float;
use std::fmt::Write as _;
use words::{caption, title};

const STYLE: &str = include_str!("plot.css");
/// Colours of series: those that the page has on paper.
const SERIES: [&str; COLOURS] =
    ["#0b5fa5", "#c24e00", "#007f6d", "#9b3f86", "#8a6a00", "#2389b8", "#7a2e2e", "#59636e"];
/// Largest number of CPUs that are drawn: those with the largest latency.
const CPUS_MAX: usize = 16;
/// Smallest width of an entry of the legend, in units of the picture.
const ENTRY: f64 = 140.0;
const CAPTION_CHARS: usize = 112;

struct Drawn {
    /// (heading, picture, height) of each picture, from top to bottom.
    pictures: Vec<(Option<String>, String, f64)>,
    /// Entries of the legend: the classes that give a line its looks, and its name.
    legend: Vec<(String, String)>,
    caption: String,
}

/// The chart as an SVG document. `None` when there is nothing to draw.
pub fn svg(chart: ChartName, all: &[Named]) -> Option<String> {
    let drawn = match chart {
        ChartName::Histogram => histogram(all)?,
        ChartName::Exceedance => exceedance(all)?,
        ChartName::OverTime => over_time(all)?,
    };
    let mut body = String::new();
    let mut y = 62.0 + legend(&mut body, &drawn.legend, 62.0);
    for (heading, picture, height) in &drawn.pictures {
        if let Some(heading) = heading {
            let _ = write!(body, r#"<text class="sub" x="74" y="{}">{}</text>"#, y + 12.0, escaped(heading));
            y += 16.0;
        }
        let nested = picture.replacen("<svg ", &format!(r#"<svg x="0" y="{y}" width="{WIDTH}" height="{height}" "#), 1);
        body.push_str(&nested);
        y += height + 4.0;
    }
    for line in wrapped(&drawn.caption, CAPTION_CHARS) {
        y += 16.0;
        let _ = write!(body, r#"<text class="sub" x="74" y="{y}">{}</text>"#, escaped(&line));
    }
    Some(alone(chart, all, &body, y + 14.0))
}

/// Draws the legend with its upper edge at `top`, and returns its height.
fn legend(body: &mut String, names: &[(String, String)], top: f64) -> f64 {
    let longest = names.iter().map(|(_, name)| cut(name).chars().count()).max().unwrap_or(0);
    let entry = ENTRY.max(44.0 + 7.0 * float(longest));
    let columns = ((WIDTH - 88.0) / entry).floor().max(1.0);
    for (place, (class, name)) in names.iter().enumerate() {
        let at = float(place);
        let (x, y) = (74.0 + at % columns * entry, top + (at / columns).floor() * 17.0);
        let name = escaped(&cut(name));
        let _ = write!(
            body,
            r#"<path class="{class}" d="M{x} {}h18"/><text class="sub" x="{}" y="{y}">{name}</text>"#,
            y - 4.0,
            x + 24.0
        );
    }
    (float(names.len()) / columns).ceil() * 17.0
}

fn alone(chart: ChartName, all: &[Named], body: &str, height: f64) -> String {
    let mut style = STYLE.to_owned();
    for (number, colour) in SERIES.iter().enumerate() {
        let _ = writeln!(
            style,
            ".c{number} {{ stroke: {colour}; }}\n.filled.c{number}, .band.c{number} {{ fill: {colour}; }}"
        );
    }
    style.push_str(
        ".band { stroke: none; fill-opacity: .16; }\n.of-many { fill-opacity: .11; }\n.d1 { stroke-dasharray: 7 2; }\n.d2 { stroke-dasharray: 2 2; }\n",
    );
    let (title, sub) = (escaped(title(chart)), escaped(&origin(all)));
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">
<title>{title}: {sub}</title>
<style>
{style}</style>
<rect class="paper" width="{WIDTH}" height="{height}"/>
<text class="head" x="74" y="26">{title}</text><text class="sub" x="74" y="43">{sub}</text>
{body}
</svg>
"#
    )
}

/// The line below the title: where the numbers come from, and when they were measured.
fn origin(all: &[Named]) -> String {
    let [one] = all else { return units::counted(all.len() as u64, "result") };
    let name = cut(&one.name);
    match &one.of {
        Measured::Recording(report) => {
            let (begun, length) = (units::date(report.started_unix_ns), units::duration(report.measured));
            format!("{name}: {begun}, measured {length}")
        }
        Measured::Import(run) => {
            let started = run.started.as_deref().map_or_else(String::new, |started| format!(", {}", cut(started)));
            let length = run.duration.map(|stated| format!(", measured {}", units::duration(stated.length)));
            format!("{name}: imported as {}{started}{}", run.format.name(), length.unwrap_or_default())
        }
    }
}

/// `text` in lines of at most `columns` characters if its words are short enough. A number stays with its unit.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A name short enough for a legend.
fn cut(name: &str) -> String {
    if name.chars().count() <= 60 { name.to_owned() } else { name.chars().take(59).chain(['\u{2026}']).collect() }
}

/// The histogram. Of one result, it has a line for each CPU or series; of several results, one line each for all CPUs
/// together.
fn histogram(all: &[Named]) -> Option<Drawn> {
    let shapes = match all {
        [Named { of: Measured::Recording(report), .. }] => {
            let rows: Vec<CpuRow> = latest(report).into_iter().cloned().collect();
            Shape::of_cpus(&rows)
        }
        _ if all.iter().all(|one| one.report().is_some()) => {
            let shapes = shapes(all).into_iter().zip(all.iter().filter_map(Named::report));
            shapes.map(|(shape, report)| shape.with_skipped(&together(report).1)).collect()
        }
        _ => of_each(all),
    };
    let shown: Vec<usize> = (0..shapes.len()).collect();
    let picture = chart::histogram(&shapes, &shown, budget_of(all), false)?;
    Some(drawn(picture, &shapes, caption(ChartName::Histogram, all, &shapes)))
}

fn exceedance(all: &[Named]) -> Option<Drawn> {
    let shapes = of_each(all);
    let said = format!("{} {}", caption(ChartName::Exceedance, all, &shapes), band());
    Some(drawn(chart::exceedance(&shapes, budget_of(all))?, &shapes, said))
}

fn drawn(picture: String, shapes: &[Shape], caption: String) -> Drawn {
    let lines = shapes.iter().map(|one| (format!("ran {}", chart::series(one.number)), one.name.clone()));
    let dashed = |name: &str, is_drawn: fn(&Shape) -> bool| {
        let first = shapes.iter().find(|shape| is_drawn(shape))?;
        Some((format!("skipped {}", chart::series(first.number)), name.to_owned()))
    };
    let skipped = dashed("skipped releases", |shape| !shape.skipped.is_empty());
    let counted = dashed("only counted", |shape| shape.apart.is_some());
    let legend = lines.chain(skipped).chain(counted).collect();
    Drawn { pictures: vec![(None, picture, HEIGHT)], legend, caption }
}

/// The shapes to draw: the series of a single file of another program, or else one shape for each result.
fn of_each(all: &[Named]) -> Vec<Shape> {
    match all {
        [Named { of: Measured::Import(run), .. }] => chart::of_run(run),
        _ => shapes(all),
    }
}

/// Latency over time. Of one recording, there is a picture for each CPU; of several recordings, one picture each, of
/// the CPU with the largest latency.
fn over_time(all: &[Named]) -> Option<Drawn> {
    let reports = || all.iter().filter_map(|one| Some((one.name.as_str(), one.report()?)));
    let mut pictures = Vec::new();
    // All pictures share one scale, so that they can be compared.
    let reaches = reports().filter_map(|(_, report)| chart::reach(report));
    let reach = reaches.reduce(|a, b| Reach { low: a.low.min(b.low), high: a.high.max(b.high) })?;
    for (name, report) in reports() {
        let cpus = latest(report);
        let few = if all.len() > 1 { 1 } else { cpus.len() };
        let mut numbers: Vec<usize> =
            cpus.iter().take(few).filter_map(|row| report.cpus.iter().position(|cpu| cpu.cpu == row.cpu)).collect();
        numbers.sort_unstable();
        let drawn = |number: &usize| {
            let picture = chart::timeline(report, *number, reach, true, true)?;
            let cpu = report.cpus.get(*number)?.cpu;
            let heading = if all.len() > 1 { format!("{}, CPU {cpu}", cut(name)) } else { format!("CPU {cpu}") };
            Some((Some(heading), picture, chart::TIMELINE_HEIGHT))
        };
        pictures.extend(numbers.iter().filter_map(drawn));
    }
    let said = caption(ChartName::OverTime, all, &[]);
    let caption = format!("{said} Band: from the smallest to the largest. Shades: load phases.");
    (!pictures.is_empty()).then_some(Drawn { pictures, legend: Vec::new(), caption })
}

/// The CPUs to draw, those with the largest latency first.
fn latest(report: &Report) -> Vec<&CpuRow> {
    let mut rows: Vec<&CpuRow> = report.cpus.iter().filter(|row| row.row.due > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.row.latency_due.max));
    rows.truncate(CPUS_MAX);
    rows
}

#[cfg(test)]
mod tests;
