//! Sentences on return levels: latencies that are reached once in a time longer than the run.

use super::times::{article, longer, span};
use crate::render::units;
use punctual_numbers::claims::{Beyond, Level};

/// A level with its confidence limits: `74 us (68 to 85 us)`.
fn level(level: &Level) -> String {
    let high = level.high.map_or_else(|| "no limit".to_owned(), units::latency);
    format!("{} ({} to {high})", units::latency(level.value), units::latency(level.low))
}

/// Sentences about levels: those of the named cause or, without a name, of all causes together.
pub(super) fn beyond(beyond: &Beyond, cause: Option<&str>) -> Vec<String> {
    let begin = |all: &str, of_cause: &str| match cause {
        None => all.to_owned(),
        Some(name) => format!("By cause ({name}): {of_cause}"),
    };
    let levels: Vec<String> =
        beyond.levels.iter().map(|at| format!("once {} {}", article(&span(at.once_in)), level(at))).collect();
    let far: Vec<String> = beyond
        .too_far
        .iter()
        .map(|far| format!("once {} takes a run of {}", article(&span(far.once_in)), longer(far.run_wanted)))
        .collect();
    let mut lines = Vec::new();
    if !levels.is_empty() {
        lines.push(format!(
            "{} latencies above {} go on to come as they did in this run: {}.",
            begin("If", "if"),
            units::latency(beyond.threshold),
            levels.join(", ")
        ));
    }
    if !far.is_empty() {
        lines.push(format!("{} rare to be told from this run: {}.", begin("Too", "too"), far.join(", ")));
    }
    lines
}
