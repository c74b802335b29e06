//! Claims of a run, in sentences for readers who are no statisticians. A sentence never says more than its number.
//!
//! `limits` has the sentences on confidence limits of measured values. `beyond` has those on levels that are rarer than
//! the run could show, and `refused` those on why there are no levels. `signs` has hints at an origin, and `imported`
//! all claims of another program's file.

mod beyond;
mod imported;
mod limits;
mod refused;
mod signs;
mod times;

pub use imported::{condition_imported, of_import, points_of_import};
#[cfg(test)]
pub use refused::examples;
pub use refused::{reason, refused, refused_of_import};
pub use signs::sign;

use super::causes::cause;
use crate::render::lang::tr;
use crate::render::units;
use beyond::beyond;
use limits::{clustered, method, missed, misses, moods, percentiles, seen, wanted};
use punctual_numbers::claims::{CauseClaims, PhaseClaims};
use refused::{CAUSES_SHOWN, reasons_of_cause};

pub fn condition() -> String {
    tr!(
        "With {confidence} confidence each, for this machine under this load: events that did not occur during the \
        measurement, such as a rare interrupt or a hot day, are in none of these numbers.",
        confidence = format!("95{}%", units::THIN)
    )
}

pub fn claims(phase: &PhaseClaims) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(seen(phase));
    lines.extend(phase.misses.as_ref().map(misses));
    lines.extend(percentiles(&phase.percentiles));
    lines.extend(wanted(phase));
    lines.extend(clustered(phase));
    lines.extend(moods(phase));
    lines.extend(phase.signs.iter().map(sign));
    match &phase.beyond {
        Ok(levels) => lines.extend(beyond(levels, None)),
        Err(refusal) if phase.due > 0 => lines.push(refused(refusal)),
        Err(_) => {}
    }
    lines.extend(phase.by_cause.iter().take(CAUSES_SHOWN).flat_map(of_cause));
    lines.extend(phase.latest_if_it_differs().map(latest));
    lines.extend(method(phase));
    lines
}

fn of_cause(claims: &CauseClaims) -> Vec<String> {
    let name = cause(&claims.cause);
    match &claims.beyond {
        Ok(levels) => beyond(levels, Some(&name)),
        Err(refusal) => {
            let (why, help) = reasons_of_cause(refusal);
            vec![tr!(
                "By cause ({name}): the latency that is reached once in a day or a year is not estimated: {why}. \
                {help}",
                name,
                why,
                help
            )]
        }
    }
}

/// Claims of the CPU with the largest latency, if it differs from the others.
fn latest(cpu: &PhaseClaims) -> String {
    let number = cpu.cpus.iter().next().unwrap_or_default();
    let largest = cpu.largest.map_or_else(|| units::ABSENT.to_owned(), units::latency);
    let mut said = tr!(
        "CPU {number} has larger latencies than the measured CPUs as a whole: its largest is {largest}.",
        number,
        largest
    );
    for more in [percentiles(&cpu.percentiles), cpu.misses.as_ref().map(missed)].into_iter().flatten() {
        said.push(' ');
        said.push_str(&more);
    }
    said
}
