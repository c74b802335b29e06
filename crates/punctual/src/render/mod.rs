//! Turns values into what people and programs read; the only place that formats a number or words a fact.
//!
//! Every renderer takes a finished `Report` and returns a `String`: nothing here reads the machine, decides anything
//! or computes a statistic. Numbers that are absent are shown as absent.

mod chart;
#[cfg(test)]
mod golden;
pub mod html;
pub mod json;
#[cfg(test)]
mod sample;
pub mod text;
mod units;
mod words;
