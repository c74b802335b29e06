//! Claims of another program's file.

use super::beyond::beyond;
use super::limits::{chances, percentiles};
use super::refused_of_import;
use crate::render::lang::tr;
use crate::render::units;
use punctual_numbers::claims::{Above, Assumed, SeriesClaims};
use punctual_numbers::foreign::{ForeignRun, Series, total};

/// Number of series for which each series gets claims. If a file has more, only the series with the largest value does.
const SERIES_SHOWN: usize = 4;

pub fn condition_imported() -> String {
    tr!(
        "With {confidence} confidence each. \"As if independent\" means that the values are assumed to be independent: \
        without times, it cannot be seen whether late ones come together, at regular times or more and more often. \
        Events that did not occur during the measurement are in none of these numbers.",
        confidence = format!("95{}%", units::THIN)
    )
}

fn as_if() -> &'static str {
    tr!("As if independent: ")
}

/// Minimum, mean, p50, p99, p99.9, p99.99 and maximum in microseconds. A percentile that lies beyond the last cell is
/// shown with its lower bound: `>=12.345`.
pub fn points_of_import(series: &Series) -> Vec<String> {
    let percentile = |ppm| match series.percentile_at_least(ppm) {
        Some(from) => format!(">={}", units::exact_us(Some(from))),
        None => units::exact_us(series.percentile_ppm(ppm)),
    };
    let percentiles = [500_000, 990_000, 999_000, 999_900].map(percentile);
    let ends = [series.smallest(), series.mean].map(units::exact_us);
    ends.into_iter().chain(percentiles).chain([units::exact_us(series.largest())]).collect()
}

/// The claims of one series of an import.
pub struct ClaimsOf {
    pub name: String,
    pub lines: Vec<String>,
}

/// The claims of an import: of each series (or, in a file with many, only of the one with the largest value), and of
/// all series together.
pub fn of_import(run: &ForeignRun) -> Vec<ClaimsOf> {
    let all = total(&run.series);
    let latest = run.series.iter().max_by_key(|series| series.largest());
    let shown: Vec<&Series> =
        if run.series.len() > SERIES_SHOWN { latest.into_iter().collect() } else { run.series.iter().collect() };
    let claimed = shown.into_iter().chain(all.as_ref()).filter_map(|series| {
        let claims = SeriesClaims::of(run, series)?;
        Some(ClaimsOf { name: series.label.clone(), lines: imported(&claims) })
    });
    claimed.filter(|of| !of.lines.is_empty()).collect()
}

fn imported(claims: &SeriesClaims) -> Vec<String> {
    let odds = chances(&claims.next);
    let mut lines: Vec<String> = claims.above.iter().map(above).collect();
    lines.extend(
        (!odds.is_empty())
            .then(|| tr!("{as_if}probability of a new maximum: {odds}.", as_if = as_if(), odds = odds.join(", "))),
    );
    lines.extend(percentiles(&claims.percentiles).map(|told| match claims.assumed {
        Assumed::Independent => format!("{}{told}", as_if()),
        Assumed::InOrder { stretches } => {
            tr!(
                "With limits that allow for how much {parts} of the list differ from each other: {told}",
                parts = units::counted(stretches as u64, "part"),
                told
            )
        }
    }));
    match &claims.beyond {
        Ok(levels) => {
            lines.extend(beyond(levels, None).into_iter().map(|told| format!("{}{}", as_if(), lowered(&told))));
        }
        Err(refusal) => lines.push(refused_of_import(refusal)),
    }
    lines
}

/// The number of values above a threshold, and an upper limit of their number per hour.
fn above(above: &Above) -> String {
    let (count, threshold) = (units::counted(above.count, "value"), units::latency(above.threshold));
    let observed = above
        .observed
        .map_or_else(String::new, |time| tr!(" within {time} of observation", time = units::duration(time)));
    let most = above.per_hour_upper.map_or_else(String::new, |most| {
        tr!(". {as_if}at most {most} an hour", as_if = as_if(), most = format!("{:.1}", most))
    });
    match above.count {
        1 => tr!("{count} was above {threshold}{observed}{most}.", count, threshold, observed, most),
        _ => tr!("{count} were above {threshold}{observed}{most}.", count, threshold, observed, most),
    }
}

fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
