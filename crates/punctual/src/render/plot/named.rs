//! The data of charts: results of punctual or of another program, each with the name that a reader sees.

use crate::render::chart::{self, Shape};
use crate::render::clean::visible;
use punctual_hist::{Counts, Nanos};
use punctual_numbers::foreign::ForeignRun;
use punctual_numbers::report::Report;

pub struct Named {
    pub name: String,
    pub of: Measured,
}

pub enum Measured {
    Recording(Box<Report>),
    Import(Box<ForeignRun>),
}

impl Named {
    pub fn report(&self) -> Option<&Report> {
        match &self.of {
            Measured::Recording(report) => Some(report),
            Measured::Import(_) => None,
        }
    }

    pub fn import(&self) -> Option<&ForeignRun> {
        match &self.of {
            Measured::Recording(_) => None,
            Measured::Import(run) => Some(run),
        }
    }

    /// The shapes of this result, with all CPUs added up. Series of another program that mean different things are kept
    /// separate.
    fn together(&self) -> Vec<Shape> {
        match &self.of {
            Measured::Recording(report) => vec![Shape::of_counts(0, self.name.clone(), &together(report).0)],
            Measured::Import(run) => chart::by_context(&self.name, run),
        }
    }
}

/// Counts of latencies, summed over all CPUs: (activations that ran, skipped releases).
pub fn together(report: &Report) -> (Counts, Counts) {
    let (mut ran, mut skipped) = (Counts::new(), Counts::new());
    for cpu in &report.cpus {
        ran.merge(&cpu.ran);
        skipped.merge(&cpu.skipped);
    }
    (ran, skipped)
}

/// The shapes of all results in order, each with the CPUs of its result added up.
pub fn shapes(all: &[Named]) -> Vec<Shape> {
    let shapes = all.iter().flat_map(Named::together).enumerate();
    shapes.map(|(number, shape)| Shape { number, ..shape }).collect()
}

/// The budget, if all recordings have the same one.
pub fn budget_of(all: &[Named]) -> Option<Nanos> {
    let mut budgets = all.iter().filter_map(Named::report).map(|report| report.need.budget);
    let first = budgets.next()?;
    first.filter(|_| budgets.all(|budget| budget == first))
}

/// Possible names of a result.
pub struct Called {
    /// File name of the result, without its folder.
    pub title: String,
    pub path: String,
}

/// Names for all results: the file name, or the path if two files have the same name.
pub fn names(all: &[Called]) -> Vec<String> {
    let name = |one: &Called| {
        let twice = all.iter().filter(|other| other.title == one.title).count() > 1;
        if twice { &one.path } else { &one.title }.chars().map(visible).collect()
    };
    all.iter().map(name).collect()
}
