//! Adds up all series of a run. A field is set if all series agree about it or it can be added up, and is left out
//! otherwise.

use super::{Beyond, Cell, Series};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// The sum of all series; `None` if there are fewer than two, if one has no cells, or if they differ in quantity or
/// context.
pub fn total(series: &[Series]) -> Option<Series> {
    let first = series.first().filter(|_| series.len() > 1)?;
    let alike = |one: &Series| one.quantity == first.quantity && one.context == first.context && !one.cells.is_empty();
    if !series.iter().all(alike) {
        return None;
    }
    let mut cells = BTreeMap::new();
    for cell in series.iter().flat_map(|one| &one.cells) {
        let count: &mut u64 = cells.entry((cell.low, cell.high)).or_default();
        *count = count.saturating_add(cell.count);
    }
    let beyond = series.iter().filter_map(|one| one.beyond);
    let beyond = beyond.reduce(|a, b| Beyond { from: a.from.min(b.from), count: a.count.saturating_add(b.count) });
    Some(Series {
        label: "all".to_owned(),
        quantity: first.quantity,
        cells: cells.into_iter().map(|((low, high), count)| Cell { low, high, count }).collect(),
        beyond,
        context: first.context.clone(),
        min: series.iter().map(Series::smallest).min().flatten(),
        mean: mean_of(series),
        // If the largest value of any series is unknown, so is the largest of all.
        max: series.iter().map(Series::largest).collect::<Option<Vec<Nanos>>>().and_then(|all| all.into_iter().max()),
        grain: first.grain,
        rounded_up: first.rounded_up,
        threshold: first.threshold,
        observed: first.observed,
        unaccounted: series.iter().fold(0, |sum, one| sum.saturating_add(one.unaccounted)),
        skipped: series.iter().filter_map(|one| one.skipped).reduce(u64::saturating_add),
        stated_count: stated_of(series),
        unfit: series.iter().find_map(|one| one.unfit),
        ..Series::default()
    })
}

fn mean_of(series: &[Series]) -> Option<Nanos> {
    let sums =
        series.iter().map(|one| Some((u128::from(one.mean?.as_ns()) * u128::from(one.counted()), one.counted())));
    let sums: Option<Vec<(u128, u64)>> = sums.collect();
    let (sum, count) =
        sums?.into_iter().fold((0u128, 0u128), |(sum, count), (s, c)| (sum.saturating_add(s), count + u128::from(c)));
    u64::try_from(sum.checked_div(count)?).ok().map(Nanos::from_ns)
}

fn stated_of(series: &[Series]) -> Option<u64> {
    series.iter().try_fold(0u64, |sum, one| Some(sum.saturating_add(one.stated_count?)))
}
