//! What the file of another program can claim.

use super::beyond::beyond;
use super::limits::{chances, percentiles};
use super::refused_of_import;
use punctual_numbers::claims::SeriesClaims;
use punctual_numbers::foreign::{ForeignRun, Series, total};

/// With more series of an import than this only the latest of them is told what it can claim.
const SERIES_SHOWN: usize = 4;

/// What holds for all of it that is claimed of an import.
pub const CONDITION_IMPORTED: &str = "With 95\u{202f}% confidence each, if every value came by itself: without times nobody \
                                      sees whether late ones come together, at regular times or more and more often. What \
                                      was not there while it was measured is in none of these numbers.";

/// What can be claimed of an import, a sentence each: of all series, or of the latest where there are many, and of all
/// together, by name.
pub fn of_import(run: &ForeignRun) -> Vec<(String, Vec<String>)> {
    let all = total(&run.series);
    let latest = run.series.iter().max_by_key(|series| series.largest());
    let shown: Vec<&Series> =
        if run.series.len() > SERIES_SHOWN { latest.into_iter().collect() } else { run.series.iter().collect() };
    let claimed = shown.into_iter().chain(all.as_ref()).filter_map(|series| {
        let claims = SeriesClaims::of(run, series)?;
        Some((series.label.clone(), imported(&claims)))
    });
    claimed.filter(|(_, lines)| !lines.is_empty()).collect()
}

/// What can be claimed of a histogram of another program, a sentence each.
fn imported(claims: &SeriesClaims) -> Vec<String> {
    let odds = chances(&claims.next);
    let mut lines: Vec<String> = Vec::new();
    lines.extend((!odds.is_empty()).then(|| format!("Probability of a new maximum: {}.", odds.join(", "))));
    lines.extend(percentiles(&claims.percentiles));
    match &claims.beyond {
        Ok(levels) => lines.extend(beyond(levels, None)),
        Err(refusal) => lines.push(refused_of_import(refusal)),
    }
    lines
}
