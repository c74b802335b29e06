//! Turns values into output for people and programs. This is the only module that formats a number or words a fact.
//!
//! Every renderer takes a finished value and returns a `String`. Nothing here reads the machine, decides anything or
//! computes a statistic. A missing number is shown as missing.

pub mod audit;
pub mod brief;
pub mod campaign;
mod chart;
mod clean;
pub mod compare;
pub mod document;
pub mod explain;
pub mod export;
pub mod fleet;
#[cfg(test)]
mod golden;
pub mod help;
pub mod html;
pub mod inspect;
pub mod json;
mod junit;
pub mod lab;
pub mod lang;
pub mod lint;
pub mod live;
pub mod loads;
mod markdown;
pub mod optimize;
mod out;
pub mod plot;
pub mod progress;
#[cfg(test)]
mod sample;
pub mod sarif;
pub mod share;
pub mod sheet;
mod snapshot;
pub mod text;
pub mod torture;
pub mod trend;
pub mod tune;
pub mod units;
pub mod watch;
pub mod why_not;
pub mod words;

pub use document::document;
pub use lang::for_people;
pub use out::{ask, colour, columns, error, print, say, say_wrapped, style, usage};
pub use snapshot::snapshot;
