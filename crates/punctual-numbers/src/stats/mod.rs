//! Statistics: limits, tests and fits on plain numbers. Nothing here knows what the numbers measure.

pub mod binomial;
pub mod chances;
pub mod clusters;
pub mod dependence;
pub mod float;
pub mod goodness;
pub mod histogram;
pub mod modes;
pub mod moods;
pub mod multiplicity;
pub mod normal;
pub mod optimum;
pub mod order;
pub mod ranks;
pub mod ratio;
pub mod residues;
pub mod rhythm;
pub mod tail;
#[cfg(test)]
pub(crate) mod tests;
pub mod trend;
