//! How the events of a run gather in a few places. Few places do not show how much counts vary from run to run.

use crate::stats::float::{float, whole};
use std::cmp::Ordering;

/// (events, activations) of a cell of the run, which is a stretch of time. All cells are about equally long.
pub type Cell = (f64, f64);

/// A cell differs from the usual one if it is farther from it than this number of standard deviations. Of 256 usual
/// cells none is, except in one run of 6000.
const APART: f64 = 5.0;
/// If places beyond this number of standard deviations are not few, cells vary widely as a rule, and those that are
/// farther away are no moods of their own.
const OFF: f64 = 3.0;
/// The median of the distances of normal deviates from their mean, over their standard deviation.
const MEDIAN_DISTANCE: f64 = 0.674_5;
/// A machine that was in another mood at fewer places than this does not show how often and for how long it is.
pub const PLACES_MIN: usize = 12;

/// How each cell of a run compares with the usual cell: whether far more or far fewer of its activations are events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excursions {
    cells: Vec<Ordering>,
    /// Number of places that are somewhat off, the excursions among them.
    off: usize,
}

impl Excursions {
    /// Compares angles whose variance does not depend on the rate (Anscombe 1948). The usual cell is their median. Its
    /// standard deviation is that of independent events, or the larger one that the median distance shows.
    pub fn of(cells: &[Cell]) -> Self {
        let angle = |(events, of): &Cell| ((events + 0.375) / (of + 0.75)).clamp(0.0, 1.0).sqrt().asin();
        let usual = middle(cells.iter().filter(|cell| cell.1 > 0.0).map(angle).collect());
        let off: Vec<f64> = cells.iter().map(|cell| 2.0 * cell.1.sqrt() * (angle(cell) - usual)).collect();
        let deviation = (middle(off.iter().map(|off| off.abs()).collect()) / MEDIAN_DISTANCE).max(1.0);
        let beyond = |times: f64| -> Vec<Ordering> {
            let is_far = |off: &f64| off.abs() > times * deviation;
            off.iter().map(|off| if is_far(off) { off.total_cmp(&0.0) } else { Ordering::Equal }).collect()
        };
        Self { cells: beyond(APART), off: places(&beyond(OFF)) }
    }

    /// Number of places that differ from the usual. Neighbouring cells that differ in the same direction are one place.
    pub fn places(&self) -> usize {
        places(&self.cells)
    }

    /// Whether the machine was in another mood, but too rarely to show how often and for how long it is.
    pub fn are_few(&self) -> bool {
        self.places() > 0 && self.off < PLACES_MIN
    }

    /// The excursions in either of two directions, or of two kinds of events.
    pub fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            *mine = mine.then(*theirs);
        }
        self.off = self.off.max(other.off);
    }

    pub fn without(&self, cells: &[Cell]) -> Vec<Cell> {
        cells.iter().zip(&self.cells).filter(|(_, order)| order.is_eq()).map(|(cell, _)| *cell).collect()
    }

    /// Number of places that differ in this direction, and the sum of their cells.
    pub fn towards(&self, direction: Ordering, cells: &[Cell]) -> (usize, Cell) {
        let places = self.cells.chunk_by(PartialEq::eq).filter(|place| place.first() == Some(&direction)).count();
        let there = cells.iter().zip(&self.cells).filter(|(_, order)| **order == direction);
        (places, there.fold((0.0, 0.0), |sum, (cell, _)| (sum.0 + cell.0, sum.1 + cell.1)))
    }
}

fn places(cells: &[Ordering]) -> usize {
    cells.chunk_by(PartialEq::eq).filter(|place| place.first() != Some(&Ordering::Equal)).count()
}

/// Over how many of `stretches` equal parts of the run the events are spread. The second number is the same for the
/// surplus of each part over the quietest quarter of the parts. Each number is the square of the sum over the sum of
/// squares, which is the number of parts if all hold equally many.
pub fn spread_over(cells: &[Cell], stretches: f64) -> (f64, f64) {
    let parts = stretches.clamp(1.0, float(cells.len().max(1)));
    let size = usize::try_from(whole((float(cells.len()) / parts).ceil())).unwrap_or(usize::MAX);
    let counts = cells.chunks(size.max(1)).map(|part| part.iter().map(|cell| cell.0).sum::<f64>());
    let mut counts: Vec<f64> = counts.collect();
    counts.sort_by(f64::total_cmp);
    let quiet = counts.get(counts.len() / 4).copied().unwrap_or_default();
    let spread = |base: f64| {
        let beyond = counts.iter().map(|count| (count - base).max(0.0));
        let (sum, squares) = beyond.fold((0.0, 0.0), |(sum, squares), k| (sum + k, squares + k * k));
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    };
    (spread(0.0), spread(quiet))
}

/// The median; 0 of an empty list.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 256 cells of 1000 activations, half of which are events, but 100 more in the cells of `busy`.
    fn cells(busy: impl Fn(usize) -> bool) -> Vec<Cell> {
        let noise = |at: usize| float((at * 7_919) % 31) - 15.0;
        (0..256).map(|at| (500.0 + noise(at) + if busy(at) { 100.0 } else { 0.0 }, 1_000.0)).collect()
    }

    #[test]
    fn places_that_differ_are_counted_and_chance_is_none() {
        let places = |cells: &[Cell]| Excursions::of(cells).places();
        assert_eq!(places(&cells(|_| false)), 0);
        assert_eq!(places(&cells(|at| at == 0)), 1);
        assert_eq!(places(&cells(|at| (10..20).contains(&at) || at == 30)), 2);
        assert_eq!(places(&cells(|at| at >= 3)), 1, "the usual cell is the frequent one");
        assert_eq!((places(&[]), places(&[(0.0, 0.0); 9]), places(&[(0.0, 5.0); 9])), (0, 0, 0));
    }

    #[test]
    fn usual_cells_are_what_is_left() {
        let busy = cells(|at| (10..20).contains(&at));
        let found = Excursions::of(&busy);
        assert!(found.are_few() && found.without(&busy).len() == 246);
        assert_eq!(found.towards(Ordering::Less, &busy), (0, (0.0, 0.0)));
        let (places, (_, of)) = found.towards(Ordering::Greater, &busy);
        assert_eq!((places, whole(of)), (1, 10_000));
        // A cell in twenty is four standard deviations off, and a single one six.
        let mut varied = busy.clone();
        for (at, cell) in varied.iter_mut().enumerate() {
            cell.0 = 500.0
                + if at == 50 {
                    95.0
                } else if at % 20 == 0 {
                    64.0
                } else {
                    0.0
                };
        }
        let varied = Excursions::of(&varied);
        assert!(varied.places() == 1 && !varied.are_few(), "many places are somewhat off");
        let mut both = Excursions::of(&cells(|at| at == 100));
        both.join(&found);
        assert_eq!(both.places(), 2);
    }
}
