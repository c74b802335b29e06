//! A grid of characters to draw a chart on, with labels below and at the left.

use crate::render::chart::LogScale;
use crate::render::units;
use punctual_hist::Nanos;
use punctual_numbers::stats::float::{self, float};
use std::fmt::Write as _;
use std::ops::Range;

/// Number of lines of a chart, without its axis.
pub const HEIGHT: usize = 20;
/// Smallest width of the labels at the left, in columns.
const LABEL_MIN: usize = 9;

pub struct Field {
    pub width: usize,
    /// Number of columns of the labels at the left.
    label: usize,
    /// Labels at the left: (line, text).
    pub left: Vec<(usize, String)>,
    /// Labels below: (column, text).
    pub below: Vec<(usize, String)>,
    cells: Vec<Vec<char>>,
}

/// The index of the column or line that holds a coordinate. A coordinate outside of the grid gets the nearest one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the field")]
pub fn cell(at: f64, cells: usize) -> usize {
    (at.max(0.0) as usize).min(cells.saturating_sub(1))
}

impl Field {
    /// An empty grid for a terminal of `columns` columns. `longest` is the longest label at its left.
    pub fn new(columns: usize, longest: &str) -> Self {
        let label = longest.chars().count().max(LABEL_MIN);
        let width = columns.saturating_sub(label + 3).max(20);
        Self { width, label, cells: vec![vec![' '; width]; HEIGHT], left: Vec::new(), below: Vec::new() }
    }

    pub fn put(&mut self, column: usize, line: usize, mark: char) {
        if let Some(cell) = self.cells.get_mut(line).and_then(|line| line.get_mut(column)) {
            *cell = mark;
        }
    }

    /// Puts a mark into a cell only if the cell is empty.
    pub fn put_behind(&mut self, column: usize, line: usize, mark: char) {
        if self.cells.get(line).and_then(|line| line.get(column)) == Some(&' ') {
            self.put(column, line, mark);
        }
    }

    pub fn latencies(&self, low: f64, high: f64) -> LogScale {
        LogScale::new(low, high, 0.0, float(self.width))
    }

    /// The range of columns between two latencies: at least one column.
    pub fn span(&self, x: &LogScale, from: u64, to: u64) -> Range<usize> {
        let [first, end] = [from, to].map(|at| cell(x.at(float(at)), self.width));
        first..end.max(first + 1)
    }

    pub fn label_latencies(&mut self, x: &LogScale) {
        for (value, _) in x.ticks().iter().filter(|(_, labelled)| *labelled) {
            self.below.push((cell(x.at(*value), self.width), ns(*value)));
        }
    }

    pub fn label_left(&mut self, y: &LogScale, text: impl Fn(f64) -> String) {
        self.left.extend(y.ticks_left().into_iter().map(|value| (cell(y.at(value), HEIGHT), text(value))));
    }

    /// Draws the budget as a vertical line, behind everything drawn before.
    pub fn budget_line(&mut self, column: usize) {
        (0..HEIGHT).for_each(|line| self.put_behind(column, line, '|'));
    }

    pub fn print(&self, out: &mut String) {
        for (number, line) in self.cells.iter().enumerate() {
            let label = self.left.iter().find(|(at, _)| *at == number).map_or("", |(_, label)| label);
            let tick = if label.is_empty() { '|' } else { '+' };
            let text: String = line.iter().collect();
            let _ = writeln!(out, "{label:>pad$} {tick}{}", text.trim_end(), pad = self.label);
        }
        let _ = writeln!(out, "{:>pad$} +{}", "", "-".repeat(self.width), pad = self.label);
        let mut labels = String::new();
        for (column, label) in &self.below {
            let length = label.chars().count();
            let left = self.label + 2;
            let at = (left + column).saturating_sub(length / 2).min((left + self.width).saturating_sub(length));
            let used = labels.chars().count();
            if used == 0 || at > used {
                let _ = write!(labels, "{:pad$}{label}", "", pad = at.saturating_sub(used));
            }
        }
        let _ = writeln!(out, "{labels}");
    }
}

pub fn ns(value: f64) -> String {
    units::latency(Nanos::from_ns(float::whole(value.round()))).replace(units::THIN, " ")
}
