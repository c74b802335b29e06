//! Scales of charts, with their ticks and labels.

use super::{Plot, escaped, path, px, text, wide};
use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::recording::RecTime;
use punctual_numbers::stats::float::{self, float};
use std::fmt::Write as _;

/// Maps values to coordinates, logarithmically. Values outside of the range are mapped to its edge.
#[derive(Clone, Copy, Debug)]
pub struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogScale {
    /// Maps `low..high` onto `from..to`. An empty range is widened, so that no coordinate is divided by zero.
    pub fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = low.max(0.1);
        Self { low, high: high.max(low * 1.5), from, to }
    }

    pub fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        self.from + (value / self.low).ln() / (self.high / self.low).ln() * (self.to - self.from)
    }

    pub fn at_ns(&self, length: Nanos) -> f64 {
        self.at(float(length.as_ns()))
    }

    /// Ticks as (value, whether to label it). A range that holds less than two of the usual ones has ticks at equal
    /// distances, because one label alone shows no scale.
    pub fn ticks(&self) -> Vec<(f64, bool)> {
        let usual = self.usual_ticks();
        if usual.len() >= 2 { usual } else { self.even_ticks() }
    }

    /// Two to six ticks at multiples of 1, 2 or 5 times a power of ten.
    fn even_ticks(&self) -> Vec<(f64, bool)> {
        let least = (self.high - self.low) / 5.0;
        let power = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0].map(|times| times * power).into_iter().find(|step| *step >= least);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step * 0.999).ceil();
        let values = (0..6).map(|number| (first + f64::from(number)) * step);
        values.take_while(|value| *value <= self.high * 1.001).map(|value| (value, true)).collect()
    }

    /// Ticks at 1, 2 and 5 times the powers of ten. A short range has a label at each tick, a long one only at powers of
    /// ten.
    fn usual_ticks(&self) -> Vec<(f64, bool)> {
        let decades = (self.high / self.low).log10();
        let mut ticks = Vec::new();
        let mut power = 10f64.powf(self.low.log10().floor());
        while power <= self.high {
            for step in [1.0, 2.0, 5.0] {
                let value = power * step;
                if value >= self.low * 0.999 && value <= self.high * 1.001 {
                    ticks.push((value, step < 1.5 || decades < 3.2));
                }
            }
            power *= 10.0;
        }
        ticks
    }

    /// The ticks that a vertical axis labels: only powers of ten if there are at least two of them.
    pub fn ticks_left(&self) -> Vec<f64> {
        let ticks = self.ticks();
        let powers = ticks.iter().filter(|(value, _)| is_power_of_ten(*value)).count();
        let is_shown = |(value, labelled): &(f64, bool)| if powers >= 2 { is_power_of_ten(*value) } else { *labelled };
        ticks.into_iter().filter(is_shown).map(|(value, _)| value).collect()
    }
}

/// The title of an axis of latencies. All their labels are in microseconds, as the tables of the page are.
fn latency() -> &'static str {
    tr!("latency (µs)")
}

/// Horizontal axis of latencies: grid lines through the plot, labels under it where there is room, and the title.
pub fn latencies_below(out: &mut String, scale: &LogScale, plot: Plot) {
    let mut ticks = scale.ticks();
    // Powers of ten get their labels first; a label that would cover another one is left out.
    ticks.sort_by_key(|(value, _)| !is_power_of_ten(*value));
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (value, labelled) in ticks {
        let (x, label) = (scale.at(value), microseconds(value));
        path(out, if labelled { "grid" } else { "grid minor" }, plot.upright(x));
        let half = wide(&label) / 2.0 + 4.0;
        if labelled && taken.iter().all(|(at, other)| (at - x).abs() > other + half) {
            taken.push((x, half));
            text(out, "tick mid", (x, plot.bottom + 17.0), &label);
        }
    }
    title_below(out, plot, latency());
}

/// The title of a horizontal axis, at its right end under the labels.
pub fn title_below(out: &mut String, plot: Plot, title: &str) {
    text(out, "tick end", (plot.right, plot.bottom + 35.0), title);
}

/// The title of a vertical axis, which reads upwards.
pub fn title_left(out: &mut String, plot: Plot, title: &str) {
    let (y, title) = (px(f64::midpoint(plot.top, plot.bottom)), escaped(title));
    let _ = write!(out, r#"<text class="tick mid" transform="translate(12 {y})rotate(-90)">{title}</text>"#);
}

pub fn latencies_left(out: &mut String, scale: &LogScale, plot: Plot) {
    left(out, scale, plot, latency(), microseconds);
}

pub fn counts_left(out: &mut String, scale: &LogScale, plot: Plot, title: &str) {
    left(out, scale, plot, title, |n| units::count(float::whole(n.round())));
}

fn left(out: &mut String, scale: &LogScale, plot: Plot, title: &str, label: fn(f64) -> String) {
    for value in scale.ticks_left() {
        grid_left(out, plot, scale.at(value), &label(value));
    }
    title_left(out, plot, title);
}

/// A horizontal grid line through the plot, with its label at the left.
pub fn grid_left(out: &mut String, plot: Plot, y: f64, label: &str) {
    path(out, "grid", plot.level(y));
    text(out, "tick end", (plot.left - 8.0, y + 4.0), label);
}

fn is_power_of_ten(value: f64) -> bool {
    (value.log10() - value.log10().round()).abs() < 1e-6
}

pub fn microseconds(ns: f64) -> String {
    if ns < 999.0 { format!("{}", ns.round() / 1e3) } else { units::count(float::whole((ns / 1e3).round())) }
}

/// The stretch of time a picture shows.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub from: RecTime,
    pub to: RecTime,
}

impl Times {
    fn length(self) -> Nanos {
        self.to.since(self.from)
    }

    /// The share of the stretch that has passed at `at`: 0 at its beginning, 1 at its end.
    pub fn share(self, at: RecTime) -> f64 {
        at.since(self.from).as_secs_f64() / self.length().as_secs_f64().max(1e-9)
    }
}

/// Horizontal axis of time since the start, with at most ten round moments.
pub fn moments_below(out: &mut String, times: Times, plot: Plot, labelled: bool) {
    let step = moment_step(times.length());
    let (unit, length) = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
        .into_iter()
        .find(|(_, seconds)| step >= Nanos::from_secs(*seconds))
        .unwrap_or(("s", 1));
    for at in round_moments(times) {
        let x = moment_at(at, times, plot);
        path(out, "grid minor", plot.upright(x));
        if labelled {
            let units = at.since_epoch().as_secs_f64() / float(length);
            text(out, "tick mid", (x, plot.bottom + 17.0), &format!("{}", (units * 10.0).round() / 10.0));
        }
    }
    if labelled {
        title_below(out, plot, &tr!("time since the start of the run ({unit})", unit));
    }
}

/// Round moments within the stretch, at most ten.
pub fn round_moments(times: Times) -> impl Iterator<Item = RecTime> {
    let step = moment_step(times.length());
    let first = times.from.as_ns().div_ceil(step.as_ns().max(1));
    (first..=times.to.since_epoch().whole(step).max(first))
        .map(move |n| RecTime::after_epoch(step.times(n)))
        .filter(move |at| *at <= times.to)
}

pub fn moment_label(at: RecTime) -> String {
    if at == RecTime::EPOCH { "0".to_owned() } else { units::duration(at.since_epoch()) }
}

pub fn moment_at(at: RecTime, times: Times, plot: Plot) -> f64 {
    plot.left + times.share(at).clamp(0.0, 1.0) * (plot.right - plot.left)
}

/// A round step that cuts a stretch of this length into five to ten parts.
fn moment_step(end: Nanos) -> Nanos {
    // Steps in tenths of a second, up to two days.
    const STEPS: [u64; 22] = [
        1, 2, 5, 10, 20, 50, 100, 150, 300, 600, 1_200, 3_000, 6_000, 9_000, 18_000, 36_000, 72_000, 144_000, 216_000,
        432_000, 864_000, 1_728_000,
    ];
    let tenths = |step: u64| Nanos::from_ms(100).times(step);
    let fits = |step: &&u64| end.whole(tenths(**step)) <= 9;
    let longest = Nanos::from_ns(end.as_ns() / 8);
    STEPS.iter().find(fits).map_or(longest, |step| tenths(*step))
}
