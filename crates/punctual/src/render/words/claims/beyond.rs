//! Sentences on return levels: latencies that are reached once in a time longer than the run.

use super::times::{article, longer, span};
use crate::render::lang::tr;
use crate::render::units;
use punctual_numbers::claims::{Beyond, Level};

/// A level with its confidence limits: `74 us (68 to 85 us)`.
fn level(level: &Level) -> String {
    let high = level.high.map_or_else(|| tr!("no limit").to_owned(), units::latency);
    tr!("{value} ({low} to {high})", value = units::latency(level.value), low = units::latency(level.low), high)
}

/// Sentences about levels: those of the named cause or, without a name, of all causes together.
pub(super) fn beyond(beyond: &Beyond, cause: Option<&str>) -> Vec<String> {
    let begin = |all: &str, of_cause: &str| match cause {
        None => all.to_owned(),
        Some(name) => tr!("By cause ({name}): {of_cause}", name, of_cause),
    };
    let levels: Vec<String> = beyond
        .levels
        .iter()
        .map(|at| tr!("once {once_in} {at}", once_in = article(&span(at.once_in)), at = level(at)))
        .collect();
    let far: Vec<String> = beyond
        .too_far
        .iter()
        .map(|far| {
            tr!(
                "for a latency of once {once_in}, measure for {run_wanted}",
                once_in = article(&span(far.once_in)),
                run_wanted = longer(far.run_wanted)
            )
        })
        .collect();
    let mut lines = Vec::new();
    if !levels.is_empty() {
        lines.push(tr!(
            "{begin} latencies above {threshold} stay as frequent as in this run, these latencies are reached: \
            {levels}.",
            begin = begin(tr!("If"), tr!("if")),
            threshold = units::latency(beyond.threshold),
            levels = levels.join(", ")
        ));
    }
    if !far.is_empty() {
        lines.push(tr!(
            "{begin} rare to be estimated from this run: {far}.",
            begin = begin(tr!("Too"), tr!("too")),
            far = far.join(", ")
        ));
    }
    lines
}
