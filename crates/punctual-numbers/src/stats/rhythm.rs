//! Tests whether events come at regular times, and finds their period.
//!
//! Periods to try come from the spacings of the events, from a coarse periodogram and from a list of usual timers. Each
//! is refined on longer and longer stretches, so that a period of a quarter second stays in step for hours. A period
//! counts if chance is an unlikely explanation, by Rayleigh's test or by the number of events near its multiples,
//! corrected for the number of periods tried. Events are seen at releases only, so periods shorter than three releases
//! are not tried: the test would find the period of the releases.
//!
//! All events within one cycle count as one for the odds.

#[cfg(test)]
mod tests;

use crate::stats::float::{float, whole};
use punctual_hist::{MonoTime, Nanos};
use std::f64::consts::TAU;

/// With events in fewer cycles than this no rhythm is reported.
const LEAST: usize = 8;
/// Only this number of latest events is used, to bound the computing time.
const MOST: usize = 300;
/// A rhythm counts if its odds by chance are below this.
const BELIEVED: f64 = 1e-3;
/// A rhythm must explain at least this part of the events.
const FITTING: f64 = 0.6;
/// Usual periods of timers and jobs on a machine, in seconds.
const USUAL: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0];

/// Events that recur with one period.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rhythm {
    #[serde(rename = "period_ns")]
    pub period: Nanos,
    /// Odds that chance alone looks as regular, corrected for how many periods were tried.
    pub chance: f64,
    /// Number of events that fit the period, and number of all events.
    pub fitting: (u64, u64),
}

/// The rhythm of these times, if they have one. `grid` is the time between releases, `tick` that of the kernel's tick.
pub fn rhythm(times: &[MonoTime], grid: Nanos, tick: Nanos) -> Option<Rhythm> {
    let mut times: Vec<MonoTime> = times.to_vec();
    times.sort_unstable();
    times.dedup();
    // The latest events are kept instead of every n-th one, which would change the spacings.
    let first = *times.get(times.len().saturating_sub(MOST))?;
    let times: Vec<f64> = times.iter().filter(|at| **at >= first).map(|at| at.since(first).as_secs_f64()).collect();
    let span = *times.last()?;
    let events = Events { times, span, grid: grid.as_secs_f64() };
    if events.times.len() < LEAST {
        return None;
    }
    let candidates = events.candidates(tick.as_secs_f64());
    let tried = candidates.len();
    let scored = candidates.iter().filter_map(|period| events.score(events.refine(*period)?, tried));
    let believed: Vec<Rhythm> = scored.filter(|rhythm| rhythm.chance < BELIEVED).collect();
    let best = believed.iter().min_by(|a, b| a.chance.total_cmp(&b.chance))?;
    believed.iter().filter(|longer| replaces(longer, best)).max_by_key(|rhythm| rhythm.period).copied()
}

/// Whether `longer` is the true period where `best` fits most events. Events of every second also fit a period of half
/// a second, and stray events fit the shorter period better. So a longer multiple replaces a period if nearly as many
/// events fit it.
fn replaces(longer: &Rhythm, best: &Rhythm) -> bool {
    let times = longer.period.as_secs_f64() / best.period.as_secs_f64();
    let multiple = times > 0.999 && (times / times.round() - 1.0).abs() < 2e-3;
    multiple && longer.fitting.0 * 20 >= best.fitting.0 * 17
}

/// Times of events in seconds since the first one, ascending.
struct Events {
    times: Vec<f64>,
    span: f64,
    grid: f64,
}

impl Events {
    /// Periods to try, longest first.
    fn candidates(&self, tick: f64) -> Vec<f64> {
        let mut periods: Vec<f64> = USUAL.to_vec();
        periods.extend([1.0, 2.0, 5.0, 10.0].map(|n| n * tick));
        for spacing in self.spacings() {
            periods.extend((1..=4).map(|parts| spacing / f64::from(parts)));
        }
        periods.extend(self.peaks());
        let (shortest, longest) = (self.grid * 3.0, self.span / 6.0);
        periods.retain(|period| *period > shortest.max(1e-6) && *period <= longest);
        periods.sort_by(|a, b| b.total_cmp(a));
        periods.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-3);
        periods
    }

    /// The most frequent distances from an event to one of the next three.
    fn spacings(&self) -> Vec<f64> {
        let far = |lag: usize| self.times.windows(lag + 1).map(move |pair| pair[lag] - pair[0]);
        let mut all: Vec<f64> = (1..=3).flat_map(far).collect();
        all.sort_by(f64::total_cmp);
        let mut groups: Vec<(usize, f64)> = Vec::new();
        let mut from = 0;
        for (at, distance) in all.iter().enumerate() {
            let wide = (2.0 * self.grid).max(distance * 0.01);
            while distance - all[from] > wide {
                from += 1;
            }
            groups.push((at + 1 - from, all[from..=at].iter().sum::<f64>() / float(at + 1 - from)));
        }
        groups.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        let mut best: Vec<f64> = Vec::new();
        for (_, distance) in groups {
            if best.len() < 6 && best.iter().all(|other| (other - distance).abs() > (4.0 * self.grid).max(0.03 * other))
            {
                best.push(distance);
            }
        }
        best
    }

    /// Peaks of a coarse periodogram of low frequencies.
    fn peaks(&self) -> Vec<f64> {
        let step = 1.0 / (2.0 * self.span);
        let lengths = self.sweep(12.0 * step, step, 1012, self.times.len());
        let mut power: Vec<(f64, f64)> = lengths.zip(12..).map(|(length, k)| (length, f64::from(k) * step)).collect();
        power.sort_by(|a, b| b.0.total_cmp(&a.0));
        power.into_iter().take(4).map(|(_, frequency)| 1.0 / frequency).collect()
    }

    /// Length of the mean direction of the first `n` events at `count` frequencies, `step` apart from `first` on. From
    /// one frequency to the next each event turns by a constant angle, so that multiplying replaces sines and cosines.
    fn sweep(&self, first: f64, step: f64, count: usize, n: usize) -> impl Iterator<Item = f64> + use<> {
        let turned = |at: f64, frequency: f64| ((at * frequency).fract() * TAU).sin_cos();
        let mut sums = vec![(0.0, 0.0); count];
        for at in self.times.iter().take(n) {
            let ((mut sine, mut cosine), (s, c)) = (turned(*at, first), turned(*at, step));
            for sum in &mut sums {
                *sum = (sum.0 + sine, sum.1 + cosine);
                (sine, cosine) = (sine * c + cosine * s, cosine * c - sine * s);
            }
        }
        let n = float(n.max(1));
        sums.into_iter().map(move |(sine, cosine): (f64, f64)| sine.hypot(cosine) / n)
    }

    /// Length and angle of the mean direction of the first `n` events, each taken as a phase at this frequency.
    fn resultant(&self, frequency: f64, n: usize) -> (f64, f64) {
        let turn = |at: &f64| (at * frequency).fract() * TAU;
        let (sine, cosine) = self.times.iter().take(n).map(turn).fold((0.0, 0.0), |(s, c), phase| {
            let (sine, cosine) = phase.sin_cos();
            (s + sine, c + cosine)
        });
        (f64::hypot(sine, cosine) / float(n.max(1)), f64::atan2(sine, cosine))
    }

    /// The best period near this one, found on longer and longer stretches; `None` as soon as there is none.
    fn refine(&self, period: f64) -> Option<f64> {
        let mut frequency = 1.0 / period;
        // Spacings are rounded to whole releases, so the true frequency is at most this far off.
        let mut off = frequency * (1.5 * self.grid / period).clamp(1e-4, 0.05);
        let mut length = 16.0 * period;
        loop {
            let n = self.times.partition_point(|at| *at <= length);
            let step = 0.2 / length;
            let steps = (off / step).ceil().min(60.0);
            if n >= 6 && steps >= 1.0 {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 60")]
                let count = 2 * steps as usize + 1;
                let tried = |index: u32| frequency + (f64::from(index) - steps) * off / steps;
                let lengths = self.sweep(tried(0), off / steps, count, n).zip((0..).map(tried));
                let best = lengths.fold((0.0, frequency), |best, next| if next.0 > best.0 { next } else { best });
                if n >= 24 && best.0 < 0.35 {
                    // A true period fits better than this on every stretch.
                    return None;
                }
                frequency = best.1;
                off = off.min(0.4 / length);
            }
            if length >= self.span {
                return Some(1.0 / frequency);
            }
            length *= 4.0;
        }
    }

    /// The rhythm of this period; `None` if too few events or cycles fit it.
    fn score(&self, period: f64, tried: usize) -> Option<Rhythm> {
        let n = self.times.len();
        let (length, direction) = self.resultant(1.0 / period, n);
        let middle = direction / TAU;
        let near = (period / 20.0).max(self.grid);
        let fits = |at: &&f64| {
            let cycles = *at / period - middle;
            (cycles - cycles.round()).abs() * period <= near
        };
        let fitting = self.times.iter().filter(fits).count();
        let mut cycles: Vec<f64> = self.times.iter().map(|at| (at / period - middle).round()).collect();
        cycles.dedup();
        let independent = float(cycles.len());
        let part = float(fitting) / float(n);
        if cycles.len() < LEAST || part < FITTING {
            return None;
        }
        let by_chance = ((2.0 * near + self.grid) / period).min(1.0);
        let odds = (-independent * length * length).exp().min(tail(independent, part, by_chance));
        let corrected = float(tried) * (self.span / period).max(1.0) * 2.0;
        let nanos = (period * 1e9).round();
        let period = Nanos::from_ns(whole(nanos));
        Some(Rhythm { period, chance: (odds * corrected).min(1.0), fitting: (fitting as u64, n as u64) })
    }
}

/// Upper bound of the probability that at least a share `part` of `n` events has a property that each has with
/// probability `q` (Chernoff).
fn tail(n: f64, part: f64, q: f64) -> f64 {
    if part <= q || q >= 1.0 {
        return 1.0;
    }
    let term = |p: f64, q: f64| if p <= 0.0 { 0.0 } else { p * (p / q).ln() };
    (-n * (term(part, q) + term(1.0 - part, 1.0 - q))).exp()
}
