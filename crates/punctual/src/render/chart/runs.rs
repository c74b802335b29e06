//! Values of a series of runs, side by side: a dot for each run, joined by lines, and a mark at each shift.

use super::{LogScale, Plot, WIDTH, axis, escaped, opened, path, px, series, text};
use crate::render::lang::tr;
use punctual_hist::Nanos;
use punctual_numbers::stats::float::float;
use std::fmt::Write as _;

/// One value of each run, or none.
#[derive(Clone, Debug)]
pub struct Line {
    pub number: usize,
    pub name: String,
    pub values: Vec<Option<Nanos>>,
}

const HEIGHT: f64 = 330.0;

/// The picture; `None` without a value. `names` are those of the runs, `marks` the runs at which something changed.
pub fn runs(title: &str, names: &[String], lines: &[Line], marks: &[(usize, String)]) -> Option<String> {
    let all = || lines.iter().flat_map(|line| line.values.iter().flatten()).map(|value| float(value.as_ns().max(1)));
    let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let plot = Plot::of(WIDTH, HEIGHT);
    let scale = LogScale::new(low * 0.9, high * 1.1, plot.bottom, plot.top);
    let step = (plot.right - plot.left) / float(names.len().max(2) - 1);
    let at = |run: usize| plot.left + step * float(run);
    let mut out = opened("timeline", WIDTH, HEIGHT, title);
    axis::latencies_left(&mut out, &scale, plot);
    let every = names.len().div_ceil(10).max(1);
    for run in (0..names.len()).step_by(every) {
        text(&mut out, "tick mid", (at(run), plot.bottom + 17.0), &(run + 1).to_string());
    }
    axis::title_below(&mut out, plot, tr!("run"));
    for (run, says) in marks {
        let x = at(*run) - step / 2.0;
        let _ = write!(out, "<g><title>{}</title>", escaped(says));
        path(&mut out, "axis", plot.upright(x));
        out.push_str("</g>");
    }
    for line in lines {
        let mut d = String::new();
        let mut is_joined = false;
        for (run, value) in line.values.iter().enumerate() {
            if let Some(value) = value {
                let _ = write!(d, "{}{} {}", if is_joined { 'L' } else { 'M' }, px(at(run)), px(scale.at_ns(*value)));
            }
            is_joined = value.is_some();
        }
        path(&mut out, &format!("ran {}", series(line.number)), d);
    }
    out.push_str("</svg>");
    Some(out)
}
