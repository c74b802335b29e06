//! Scales and their ticks.

use super::{Plot, escaped, px};
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::recording::RecTime;
use std::fmt::Write as _;

/// Maps values to coordinates, logarithmically. Values outside are drawn at the edge.
#[derive(Clone, Copy, Debug)]
pub struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogScale {
    /// `low..high` onto `from..to`. A range without extent is given one.
    pub fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = low.max(0.1);
        Self { low, high: high.max(low * 1.5), from, to }
    }

    /// The coordinate of `value`.
    pub fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        self.from + (value / self.low).ln() / (self.high / self.low).ln() * (self.to - self.from)
    }

    /// The coordinate of a length of time.
    pub fn at_ns(&self, length: Nanos) -> f64 {
        self.at(as_f64(length.as_ns()))
    }

    /// Ticks at 1, 2 and 5 times the powers of ten, as (value, whether to label it): all of them where the range is
    /// short, the powers of ten where it is long.
    pub fn ticks(&self) -> Vec<(f64, bool)> {
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
}

/// A count as a coordinate can hold it.
#[allow(clippy::cast_precision_loss, reason = "a picture has fewer than 53 bits of pixels")]
pub fn as_f64(n: u64) -> f64 {
    n as f64
}

/// Horizontal axis of latencies: grid lines through the plot and labels under it.
pub fn latencies_below(out: &mut String, scale: &LogScale, plot: Plot) {
    for (value, labelled) in scale.ticks() {
        let x = px(scale.at(value));
        let class = if labelled { "grid" } else { "grid minor" };
        let _ = write!(out, r#"<path class="{class}" d="M{x} {}V{}"/>"#, px(plot.top), px(plot.bottom));
        if labelled {
            let (y, text) = (px(plot.bottom + 17.0), escaped(&latency_label(value)));
            let _ = write!(out, r#"<text class="tick mid" x="{x}" y="{y}">{text}</text>"#);
        }
    }
}

/// Vertical axis of latencies.
pub fn latencies_left(out: &mut String, scale: &LogScale, plot: Plot) {
    left(out, scale, plot, latency_label);
}

/// Vertical axis of counts.
pub fn counts_left(out: &mut String, scale: &LogScale, plot: Plot) {
    left(out, scale, plot, count_label);
}

fn left(out: &mut String, scale: &LogScale, plot: Plot, label: fn(f64) -> String) {
    let powers = scale.ticks().iter().filter(|(value, _)| is_power_of_ten(*value)).count();
    for (value, labelled) in scale.ticks() {
        let power = is_power_of_ten(value);
        let labelled = if powers >= 2 { power } else { labelled };
        let y = scale.at(value);
        if !labelled {
            continue;
        }
        let _ = write!(out, r#"<path class="grid" d="M{} {}H{}"/>"#, px(plot.left), px(y), px(plot.right));
        let (x, y, text) = (px(plot.left - 8.0), px(y + 4.0), escaped(&label(value)));
        let _ = write!(out, r#"<text class="tick end" x="{x}" y="{y}">{text}</text>"#);
    }
}

fn is_power_of_ten(value: f64) -> bool {
    (value.log10() - value.log10().round()).abs() < 1e-6
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ticks are whole and not negative")]
fn latency_label(ns: f64) -> String {
    units::latency(Nanos::from_ns(ns.round() as u64))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ticks are whole and not negative")]
fn count_label(n: f64) -> String {
    short(n.round() as u64)
}

/// A round number in few characters.
pub fn short(n: u64) -> String {
    match n {
        0..10_000 => units::count(n),
        10_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000..1_000_000_000 => format!("{}M", n / 1_000_000),
        _ => format!("{}G", n / 1_000_000_000),
    }
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

    /// How much of it is over at `at`: 0 at its beginning, 1 at its end.
    pub fn share(self, at: RecTime) -> f64 {
        at.since(self.from).as_secs_f64() / self.length().as_secs_f64().max(1e-9)
    }
}

/// Horizontal axis of time since the start: some five to ten round moments.
pub fn moments_below(out: &mut String, times: Times, plot: Plot, labelled: bool) {
    for at in round_moments(times) {
        let x = px(moment_at(at, times, plot));
        let _ = write!(out, r#"<path class="grid minor" d="M{x} {}V{}"/>"#, px(plot.top), px(plot.bottom));
        if labelled {
            let text = escaped(&moment_label(at));
            let _ = write!(out, r#"<text class="tick mid" x="{x}" y="{}">{text}</text>"#, px(plot.bottom + 17.0));
        }
    }
}

/// Some five to ten round moments.
pub fn round_moments(times: Times) -> impl Iterator<Item = RecTime> {
    let step = moment_step(times.length());
    let first = times.from.as_ns().div_ceil(step.as_ns().max(1));
    (first..=times.to.since_epoch().whole(step).max(first))
        .map(move |n| RecTime::after_epoch(step.times(n)))
        .filter(move |at| *at <= times.to)
}

/// What is written at a moment of the axis.
pub fn moment_label(at: RecTime) -> String {
    if at == RecTime::EPOCH { "0".to_owned() } else { units::duration(at.since_epoch()) }
}

/// The coordinate of a moment.
pub fn moment_at(at: RecTime, times: Times, plot: Plot) -> f64 {
    plot.left + times.share(at).clamp(0.0, 1.0) * (plot.right - plot.left)
}

/// A round step that cuts `end` into five to ten parts.
fn moment_step(end: Nanos) -> Nanos {
    const STEPS_MS: [u64; 22] = [
        100,
        200,
        500,
        1_000,
        2_000,
        5_000,
        10_000,
        15_000,
        30_000,
        60_000,
        120_000,
        300_000,
        600_000,
        900_000,
        1_800_000,
        3_600_000,
        7_200_000,
        14_400_000,
        21_600_000,
        43_200_000,
        86_400_000,
        172_800_000,
    ];
    let fits = |step: &&u64| end.whole(Nanos::from_ms(**step)) <= 9;
    let longest = Nanos::from_ns(end.as_ns() / 8);
    STEPS_MS.iter().find(fits).map_or(longest, |ms| Nanos::from_ms(*ms))
}
