//! Latency of one CPU over the run: smallest, median, p99.9 and largest latency of each stretch of time, with the load
//! phases marked.

use super::axis::{self, LogScale, Times};
use super::{Plot, WIDTH, escaped, opened, path, px, rect, series, text};
use crate::render::lang::tr;
use crate::render::{units, words};
use punctual_hist::Nanos;
use punctual_numbers::recording::{Event, RecTime};
use punctual_numbers::report::{PhaseSpan, Report, TimelinePoint};
use punctual_numbers::stats::float::float;
use std::fmt::Write as _;

/// Stretches are joined until there are at most this many columns.
const COLUMNS: usize = 150;
/// Heights, in units of the picture: of the plot, of the names of load phases above it, and of the time axis below it.
const PLOT: f64 = 120.0;
const NAMED: f64 = 26.0;
const LABELLED: f64 = 42.0;
/// Height of a time line that has both the names of load phases and the time axis.
pub const TIMELINE_HEIGHT: f64 = NAMED + PLOT + LABELLED;

type Value = fn(&TimelinePoint) -> Option<Nanos>;

/// The range of latencies that the axis of a time line shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    pub low: Nanos,
    pub high: Nanos,
}

/// The smallest and the largest of the report's latencies and its budget. `None` if nothing ran.
pub fn reach(report: &Report) -> Option<Reach> {
    let measured = || report.timeline.iter();
    let low = measured().filter_map(|p| p.min).chain(report.need.budget).min()?;
    let high = measured().filter_map(|p| p.max).chain(report.need.budget).max()?;
    Some(Reach { low, high })
}

/// The time line of the CPU with this index in the report, on an axis from `low` to `high`. Of several time lines in a
/// column, the `first` one names the load phases and the `last` one has the time axis. `None` if nothing ran on the
/// CPU.
pub fn timeline(report: &Report, number: usize, Reach { low, high }: Reach, first: bool, last: bool) -> Option<String> {
    let cpu = report.cpus.get(number)?.cpu;
    let points = joined(&report.timeline, cpu);
    let times = times(report)?;
    let top = if first { NAMED } else { 8.0 };
    let plot = Plot { top, right: WIDTH - 60.0, bottom: top + PLOT, ..Plot::of(WIDTH, 0.0) };
    let y = LogScale::new(float(low.as_ns()) / 1.15, float(high.as_ns()) * 1.15, plot.bottom, plot.top);
    let height = plot.bottom + if last { LABELLED } else { 6.0 };
    let mut out = opened("timeline", WIDTH, height, &format!("Latency of CPU {cpu} over the run; logarithmic"));
    phases(&mut out, &report.spans, times, plot, first);
    axis::latencies_left(&mut out, &y, plot);
    axis::moments_below(&mut out, times, plot, last);
    lines(&mut out, &points, times, plot, &y, &series(number));
    if let Some(budget) = report.need.budget {
        path(&mut out, "limit", plot.level(y.at_ns(budget)));
    }
    events(&mut out, &report.events, times, plot);
    names(&mut out, &points, plot, &y, report.need.budget);
    hits(&mut out, &points, &report.spans, times, plot);
    out.push_str("</svg>");
    Some(out)
}

/// The time that a report covers: the whole run, or the stretch that the user selected.
pub fn times(report: &Report) -> Option<Times> {
    let ends = report.timeline.iter().map(|p| p.start.plus(p.length));
    let to = ends.chain(report.spans.iter().map(|s| s.to)).max()?;
    let from = report.stretch.and_then(|stretch| stretch.edges).map_or(RecTime::EPOCH, |edges| edges.from);
    Some(Times { from, to })
}

/// The points of one CPU, joined to at most [`COLUMNS`]. Each percentile of a joined point is the largest of the points
/// it stands for.
fn joined(timeline: &[TimelinePoint], cpu: u32) -> Vec<TimelinePoint> {
    let own: Vec<&TimelinePoint> = timeline.iter().filter(|p| p.cpu == cpu).collect();
    let join = |points: &[&TimelinePoint]| {
        let (first, last) = (points.first()?, points.last()?);
        Some(TimelinePoint {
            start: first.start,
            length: last.start.plus(last.length).since(first.start),
            cpu,
            min: points.iter().filter_map(|p| p.min).min(),
            p50: points.iter().filter_map(|p| p.p50).max(),
            p99_9: points.iter().filter_map(|p| p.p99_9).max(),
            max: points.iter().filter_map(|p| p.max).max(),
            skipped: points.iter().fold(0, |sum, p| sum.saturating_add(p.skipped)),
        })
    };
    own.chunks(own.len().div_ceil(COLUMNS).max(1)).filter_map(join).collect()
}

fn phases(out: &mut String, spans: &[PhaseSpan], times: Times, plot: Plot, named: bool) {
    for (i, span) in spans.iter().enumerate() {
        let [from, to] = [span.from, span.to].map(|at| axis::moment_at(at, times, plot));
        rect(out, &format!("phase p{}", i % 2), (from, plot.top), (to, plot.bottom), None);
        let name = words::phase_name(&span.name);
        let room = (to - from) / 6.6;
        if named && room > 4.0 {
            let shown = if float(name.chars().count()) <= room { name.to_owned() } else { cut(name, room) };
            path(out, "phase-edge", format_args!("M{} {}V{}", px(from), px(plot.top - 20.0), px(plot.top)));
            let (x, y) = (px(from + 6.0), px(plot.top - 9.0));
            let (shown, title) = (escaped(&shown), escaped(name));
            let _ = write!(out, r#"<text class="phase-name" x="{x}" y="{y}">{shown}<title>{title}</title></text>"#);
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "room is small and not negative")]
fn cut(name: &str, room: f64) -> String {
    name.chars().take((room as usize).saturating_sub(1)).chain(std::iter::once('\u{2026}')).collect()
}

fn lines(out: &mut String, points: &[TimelinePoint], times: Times, plot: Plot, y: &LogScale, class: &str) {
    let x = |at: RecTime| axis::moment_at(at, times, plot);
    let mut band = String::new();
    for point in points {
        if let (Some(min), Some(max)) = (point.min, point.max) {
            let (left, right) = (px(x(point.start)), px(x(point.start.plus(point.length))));
            let _ = write!(band, "M{left} {}V{}H{right}V{}Z", px(y.at_ns(min)), px(y.at_ns(max)), px(y.at_ns(min)));
        }
    }
    path(out, &format!("band {class}"), band);
    let series: [(&str, Value); 3] = [("line-max", |p| p.max), ("line-p999", |p| p.p99_9), ("line-p50", |p| p.p50)];
    for (name, value) in series {
        let mut line = String::new();
        let mut drawn_to = None;
        for point in points {
            let Some(value) = value(point) else { continue };
            let (right, height) = (point.start.plus(point.length), px(y.at_ns(value)));
            match drawn_to {
                Some(to) if to == point.start => write!(line, "V{height}"),
                _ => write!(line, "M{} {height}", px(x(point.start))),
            }
            .and_then(|()| write!(line, "H{}", px(x(right))))
            .ok();
            drawn_to = Some(right);
        }
        if !line.is_empty() {
            path(out, &format!("{name} {class}"), line);
        }
    }
    for point in points.iter().filter(|p| p.skipped > 0) {
        let middle = x(point.start.plus(Nanos::from_ns(point.length.as_ns() / 2)));
        path(out, "skip", format_args!("M{} {}v-9", px(middle), px(plot.bottom)));
    }
}

fn events(out: &mut String, events: &[Event], times: Times, plot: Plot) {
    for event in events {
        let x = axis::moment_at(event.at, times, plot);
        let title = escaped(&format!("{}: {}", units::moment(event.at), words::event(event)));
        let flag = format!("M{} {}l5 4l-5 4z", px(x), px(plot.top));
        for (class, d) in [("event", plot.upright(x)), ("event-flag", flag)] {
            let _ = write!(out, r#"<path class="{class}" d="{d}"><title>{title}</title></path>"#);
        }
    }
}

/// Names at the right end of the lines, moved apart where they would cover each other.
fn names(out: &mut String, points: &[TimelinePoint], plot: Plot, y: &LogScale, budget: Option<Nanos>) {
    let last = |value: Value| points.iter().rev().find_map(value);
    let named = [
        ("min", last(|p| p.min), "name"),
        ("p50", last(|p| p.p50), "name"),
        ("p99.9", last(|p| p.p99_9), "name"),
        ("largest", last(|p| p.max), "name"),
        (tr!("budget"), budget, "name limit-name"),
    ];
    let mut named: Vec<(f64, &str, &str)> =
        named.iter().filter_map(|(name, value, class)| value.map(|v| (y.at_ns(v), *name, *class))).collect();
    named.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut free_above = plot.bottom + 4.0;
    for (at, name, class) in named {
        let at = (at + 4.0).min(free_above);
        free_above = at - 12.0;
        text(out, class, (plot.right + 6.0, at), name);
    }
}

/// Invisible rectangles over the points: a pointer over one shows the point's numbers.
fn hits(out: &mut String, points: &[TimelinePoint], spans: &[PhaseSpan], times: Times, plot: Plot) {
    out.push_str(r#"<g class="hits">"#);
    for point in points {
        let to = point.start.plus(point.length);
        let (left, right) = (axis::moment_at(point.start, times, plot), axis::moment_at(to, times, plot));
        let span = spans.iter().find(|s| s.from <= point.start && point.start < s.to);
        let load = span.map_or_else(String::new, |s| format!(", {}", words::phase_name(&s.name)));
        let value = |v: Option<Nanos>| v.map_or_else(|| units::ABSENT.to_owned(), units::latency);
        let mut says = format!(
            "{} to {}{load}\nmin {}, p50 {}, p99.9 {}, largest {}",
            units::moment(point.start),
            units::moment(to),
            value(point.min),
            value(point.p50),
            value(point.p99_9),
            value(point.max)
        );
        if point.skipped > 0 {
            let _ = write!(says, "\n{} skipped", units::count(point.skipped));
        }
        rect(out, "hit", (left, plot.top), (right, plot.bottom), Some(&says));
    }
    out.push_str("</g>");
}
