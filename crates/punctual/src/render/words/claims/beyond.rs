//! Levels beyond what was seen.

use super::times::{article, longer, span};
use crate::render::units;
use punctual_core::claims::{Beyond, Level};

/// `74 us (68 to 85 us)`.
fn level(level: &Level) -> String {
    let high = level.high.map_or_else(|| "no limit".to_owned(), units::latency);
    format!("{} ({} to {high})", units::latency(level.value), units::latency(level.low))
}

pub(super) fn beyond(beyond: &Beyond, of_what: &str) -> Vec<String> {
    let levels: Vec<String> =
        beyond.levels.iter().map(|(time, value)| format!("once {} {}", article(&span(*time)), level(value))).collect();
    let far: Vec<String> = beyond
        .too_far
        .iter()
        .map(|(time, run)| format!("{} a run of {}", article(&span(*time)), longer(*run)))
        .collect();
    let mut lines = Vec::new();
    if !levels.is_empty() {
        lines.push(format!(
            "If the tail{of_what} goes on as it was measured, from {} on, and nothing unseen comes: {}.",
            units::latency(beyond.threshold),
            levels.join(", ")
        ));
    }
    if !far.is_empty() {
        lines.push(format!(
            "Too far to be told{of_what}: {}.",
            far.iter().map(|far| format!("for {far} would be needed")).collect::<Vec<_>>().join(", ")
        ));
    }
    lines
}
