//! A written-down experiment: named cells, each measured the same number of times in a stated order.
//!
//! The next measurement follows from the design and the outcomes so far alone, so a resumed campaign continues as if it
//! had not been interrupted. A cell that was refused once is not tried again. Must not know what a cell measures or
//! sets, only which words of the kernel command line it needs.

use super::Arm;
use super::across::{Across, Course};
use super::design::shuffle;
use super::format::Unusable;
use punctual_hist::SplitMix;
use punctual_tuning::plan::Keep;
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "punctual/experiment/1";
/// Largest number of cells and of repetitions. An experiment with more is a mistake, or a damaged document.
pub const MOST: usize = 1_000;

/// The order of the cells within a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As the cells are written, mirrored in every second repetition (A B, B A), so that steady drift cancels.
    #[default]
    Abba,
    /// Drawn by lot in each repetition. Cells with the same command line stay together, so that few boots are needed.
    Random,
    /// As the cells are written, in every repetition.
    Written,
}

/// What the order and the boots of an experiment depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    pub name: String,
    /// Words of the kernel command line that the cell needs, and names of words that it needs to be gone, with a minus
    /// before them; empty for the machine's own command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boot: Vec<String>,
}

/// What one measurement came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Measured,
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub cell: usize,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    pub outcome: Outcome,
}

/// A design, and the measurements by it so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experiment {
    pub cells: Vec<Cell>,
    pub order: Order,
    pub seed: u64,
    pub repetitions: u32,
    pub made: Vec<Made>,
}

/// All that is saved of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Path of the campaign file, for messages.
    pub file: String,
    /// Text of the campaign file as it was at the beginning, because the file may have changed or be gone after a boot.
    pub text: String,
    /// Factor by which all lengths are shortened.
    pub shorten: f64,
    #[serde(flatten)]
    pub experiment: Experiment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<Across>,
}

impl Experiment {
    pub fn new(cells: Vec<Cell>, order: Order, seed: u64, repetitions: u32) -> Self {
        Self { cells, order, seed, repetitions, made: Vec::new() }
    }

    /// The measurement that comes next, by its cell and repetition; `None` if all are made.
    pub fn next(&self) -> Option<(usize, u32)> {
        let is_made = |cell: usize, repetition: u32| {
            self.made.iter().any(|made| {
                made.cell == cell && (made.repetition == repetition || matches!(made.outcome, Outcome::Refused(_)))
            })
        };
        let open = |repetition: u32| {
            let cell = self.sequence(repetition).into_iter().find(|cell| !is_made(*cell, repetition))?;
            Some((cell, repetition))
        };
        // Only the last repetition with a measurement, and the one after it, can be open.
        let first = self.made.iter().map(|made| made.repetition).max().unwrap_or(0);
        (first..self.repetitions).find_map(open)
    }

    /// The cells of a repetition in their order.
    pub fn sequence(&self, repetition: u32) -> Vec<usize> {
        let mut cells: Vec<usize> = (0..self.cells.len()).collect();
        match self.order {
            Order::Abba if repetition % 2 == 1 => cells.reverse(),
            Order::Abba | Order::Written => {}
            Order::Random => {
                let mut random = SplitMix::new(self.seed ^ (u64::from(repetition) << 32));
                let mut groups: Vec<Vec<usize>> = Vec::new();
                for cell in cells {
                    let same = |group: &&mut Vec<usize>| {
                        group.first().is_some_and(|first| self.cells[*first].boot == self.cells[cell].boot)
                    };
                    match groups.iter_mut().find(same) {
                        Some(group) => group.push(cell),
                        None => groups.push(vec![cell]),
                    }
                }
                for group in &mut groups {
                    shuffle(group, &mut random);
                }
                shuffle(&mut groups, &mut random);
                return groups.concat();
            }
        }
        cells
    }

    /// Number of measurements in all.
    pub fn planned(&self) -> usize {
        self.cells.len() * self.repetitions as usize
    }

    pub fn takes_boots(&self) -> bool {
        self.cells.iter().any(|cell| !cell.boot.is_empty())
    }

    /// Why a cell was refused; `None` if it was not.
    pub fn refused(&self, cell: usize) -> Option<&str> {
        self.made.iter().find_map(|made| match &made.outcome {
            Outcome::Refused(why) if made.cell == cell => Some(why.as_str()),
            _ => None,
        })
    }

    /// The repetitions in which a cell was measured, in order.
    pub fn measured(&self, cell: usize) -> Vec<u32> {
        let is_it = |made: &&Made| made.cell == cell && made.outcome == Outcome::Measured;
        let mut repetitions: Vec<u32> = self.made.iter().filter(is_it).map(|made| made.repetition).collect();
        repetitions.sort_unstable();
        repetitions
    }

    fn note(&mut self, arm: &[usize], outcome: Outcome) {
        if let Some((cell, repetition)) = self.next().filter(|(cell, _)| arm == [*cell]) {
            self.made.push(Made { cell, repetition, outcome });
        }
    }
}

impl Course for Experiment {
    type Outcome = Outcome;

    fn due(&self) -> Option<Arm> {
        self.next().map(|(cell, _)| vec![cell])
    }

    fn words(&self, arm: &[usize]) -> Vec<Keep> {
        arm.iter().filter_map(|cell| self.cells.get(*cell)).flat_map(|cell| &cell.boot).map(|word| keep(word)).collect()
    }

    /// A cell may be measured in the boot of another one: which cells have a boot in common is the author's choice.
    fn may_stay(&self) -> bool {
        true
    }

    fn is_plain(&self, _: &[usize]) -> bool {
        false
    }

    fn made(&self) -> usize {
        self.made.len()
    }

    fn take(&mut self, arm: &[usize], outcome: Outcome) {
        self.note(arm, outcome);
    }

    fn refuse(&mut self, arm: &[usize], why: String) {
        self.note(arm, Outcome::Refused(why));
    }

    /// An experiment has no time limit of its own.
    fn close(&mut self) {}

    /// A pause spoils nothing: the repetitions of all cells are compared, not single runs.
    fn begin_anew(&mut self) {}
}

fn keep(word: &str) -> Keep {
    match word.strip_prefix('-') {
        Some(name) => Keep::NoWord(name.to_owned()),
        None => Keep::Word(word.to_owned()),
    }
}

/// # Errors
/// If the document cannot be made, which only a defect of this program explains.
pub fn write(kept: &Kept) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'a str,
        #[serde(flatten)]
        kept: &'a Kept,
    }
    serde_json::to_string_pretty(&Document { schema: SCHEMA, kept })
}

/// # Errors
/// If the text is another document, or its numbers contradict each other.
pub fn read(text: &str) -> Result<Kept, Unusable> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let Head { schema } = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    if schema != SCHEMA {
        return Err(Unusable::OtherThan { found: schema, wanted: SCHEMA });
    }
    let kept: Kept = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    let Experiment { cells, repetitions, made, .. } = &kept.experiment;
    let counts = [cells.len(), *repetitions as usize];
    if counts.iter().any(|count| !(1..=MOST).contains(count)) {
        return Err(Unusable::Senseless("its cells or repetitions are none, or too many"));
    }
    if made.iter().any(|made| made.cell >= cells.len() || made.repetition >= *repetitions) {
        return Err(Unusable::Senseless("a cell was measured that it does not have"));
    }
    if !(1.0..=1e9).contains(&kept.shorten) {
        return Err(Unusable::Senseless("it is shortened by no factor"));
    }
    Ok(kept)
}

#[cfg(test)]
mod boots;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(name: &str, words: &[&str]) -> Cell {
        Cell { name: name.to_owned(), boot: words.iter().map(|word| (*word).to_owned()).collect() }
    }

    fn experiment(order: Order, seed: u64, repetitions: u32) -> Experiment {
        let cells = vec![cell("a", &[]), cell("b", &["nohz_full=1"]), cell("c", &[]), cell("d", &["nohz_full=1"])];
        Experiment::new(cells, order, seed, repetitions)
    }

    fn run_out(mut experiment: Experiment) -> Vec<(usize, u32)> {
        while let Some(arm) = experiment.due() {
            experiment.take(&arm, Outcome::Measured);
        }
        experiment.made.iter().map(|made| (made.cell, made.repetition)).collect()
    }

    #[test]
    fn every_second_repetition_is_the_mirror_image() {
        let cells = |order| run_out(experiment(order, 1, 2)).into_iter().map(|(cell, _)| cell).collect::<Vec<_>>();
        assert_eq!(cells(Order::Abba), [0, 1, 2, 3, 3, 2, 1, 0]);
        assert_eq!(cells(Order::Written), [0, 1, 2, 3, 0, 1, 2, 3]);
    }

    #[test]
    fn a_refused_cell_is_not_tried_again_and_the_others_go_on() {
        let mut experiment = experiment(Order::Abba, 1, 3);
        experiment.take(&[0], Outcome::Measured);
        experiment.refuse(&[1], "no boot".to_owned());
        // An outcome of a cell that is not due is dropped.
        experiment.take(&[0], Outcome::Measured);
        let all = run_out(experiment.clone());
        assert_eq!(all.len(), 1 + 3 * 3);
        assert_eq!(experiment.refused(1), Some("no boot"));
        assert_eq!((experiment.refused(0), experiment.measured(0)), (None, vec![0]));
    }

    proptest! {
        #[test]
        fn each_cell_is_measured_once_in_each_repetition_in_the_same_order_each_time(
            seed: u64, repetitions in 1u32..6, cut in 0usize..24,
            order in prop_oneof![Just(Order::Abba), Just(Order::Random), Just(Order::Written)],
        ) {
            let begun = experiment(order, seed, repetitions);
            let all = run_out(begun.clone());
            prop_assert_eq!(all.len(), begun.planned());
            for (number, repetition) in all.chunks(4).enumerate() {
                let mut cells: Vec<usize> = repetition.iter().map(|(cell, _)| *cell).collect();
                if order == Order::Random {
                    let boots = cells.windows(2).filter(|two| begun.cells[two[0]].boot != begun.cells[two[1]].boot);
                    prop_assert_eq!(boots.count(), 1, "cells of one boot stay together");
                }
                cells.sort_unstable();
                prop_assert_eq!(cells, [0, 1, 2, 3]);
                prop_assert!(repetition.iter().all(|(_, of)| *of as usize == number));
            }
            // Whoever is interrupted and reads the state back comes to the same.
            let mut half = begun;
            for _ in 0..cut {
                let Some(arm) = half.due() else { break };
                half.take(&arm, Outcome::Measured);
            }
            let kept = Kept { file: "x.toml".into(), text: String::new(), shorten: 1.0, experiment: half, across: None };
            let back = read(&write(&kept).unwrap()).unwrap();
            prop_assert_eq!(&back, &kept);
            prop_assert_eq!(run_out(back.experiment), all);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let kept = Kept {
            file: "x.toml".into(),
            text: String::new(),
            shorten: 2.0,
            experiment: experiment(Order::Random, 7, 2),
            across: None,
        };
        let text = write(&kept).unwrap();
        let changes = [("experiment/1", "experiment/2"), ("\"repetitions\": 2", "\"repetitions\": 0"), ("2.0", "0.5")];
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            assert!(read(&text.replace(from, to)).is_err(), "{to}");
        }
        assert!(read("{}").is_err() && read("").is_err());
    }
}
