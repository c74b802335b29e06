//! What the figures say of the claims: ratios, since no two machines agree on anything else. Pure; fails nothing.

use crate::figures::{Details, Figures};
use serde::Serialize;
use std::collections::BTreeMap;

/// All figures, by strategy.
pub type Table = BTreeMap<&'static str, (Figures, Details)>;

/// One claim, held against the figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What is claimed.
    pub claim: String,
    /// What was found; `None` where what it rests on was not run.
    pub value: Option<f64>,
    /// It must not be more than this.
    pub limit: f64,
    /// Whether it is not.
    pub reached: Option<bool>,
    /// The figures behind it.
    pub figures: String,
}

/// A reading of one figure.
type Reading = (&'static str, fn(&(Figures, Details)) -> f64);

const P50: Reading = ("p50", |(figures, _)| ns(figures.p50_ns));
const P99: Reading = ("p99", |(figures, _)| ns(figures.p99_ns));
const OFF: Reading = ("share off by > 10 us", |(figures, _)| figures.off_by_10us_share);
const SPIN: Reading = ("share of time spent polling", |(figures, _)| figures.spin_share);
const CPU: Reading = ("share of CPU time", |(_, details)| details.cpu_share);

/// Each ratio: of whom, to whom, in what, and the limit.
const RATIOS: [(&str, &str, Reading, f64); 13] = [
    ("hybrid_auto", "sleep_absolute", P50, 0.01),
    ("hybrid_auto", "sleep_absolute", P99, 0.2),
    ("hybrid_auto", "sleep_absolute", OFF, 0.05),
    ("hybrid_auto", "cpp_sleep_absolute", P50, 1.0),
    ("hybrid_auto", "cpp_sleep_absolute", P99, 1.0),
    ("hybrid_auto", "spin_sleep", P50, 1.0),
    ("hybrid_auto", "spin_sleep", P99, 1.0),
    ("hybrid_auto", "spin_sleep", CPU, 1.0),
    ("hybrid_auto_steered", "hybrid_auto", P50, 1.2),
    ("hybrid_auto_steered", "hybrid_auto", P99, 1.2),
    ("hybrid_auto_stats_read", "hybrid_auto_stats", P50, 1.2),
    ("hybrid_auto_stats_read", "hybrid_auto_stats", P99, 1.2),
    ("hybrid_auto", "hybrid_auto_on_tick", OFF, 1.0),
];
/// Each bound: of whom, in what, and the limit.
const BOUNDS: [(&str, Reading, f64); 2] = [("hybrid_auto", SPIN, 0.05), ("hybrid_auto_unprivileged", P50, 1_000.0)];

/// All claims.
pub fn all(table: &Table) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = RATIOS.iter().map(|row| ratio(table, row)).collect();
    verdicts.extend(BOUNDS.iter().map(|row| bound(table, row)));
    verdicts.push(at_the_same_p99(table));
    verdicts
}

fn ratio(table: &Table, (name, against, (what, read), limit): &(&str, &str, Reading, f64)) -> Verdict {
    let pair = table.get(name).zip(table.get(against)).map(|(one, other)| (read(one), read(other)));
    let figures =
        pair.map_or_else(|| "not run".to_owned(), |(one, other)| format!("{} : {}", shown(one), shown(other)));
    let value = pair.map(|(one, other)| quotient(one, other));
    Verdict { claim: format!("{name} / {against}, {what}"), ..judged(value, *limit, figures) }
}

fn bound(table: &Table, (name, (what, read), limit): &(&str, Reading, f64)) -> Verdict {
    let value = table.get(name).map(read);
    let figures = value.map_or_else(|| "not run".to_owned(), shown);
    Verdict { claim: format!("{name}, {what}"), ..judged(value, *limit, figures) }
}

/// Against `spin_sleep` with the accuracy that spins least among those that come as near as ours. Where none does, it
/// cannot be had there at any price, and the claim is reached.
fn at_the_same_p99(table: &Table) -> Verdict {
    let claim = "hybrid_auto / best spin_sleep of the same p99 (within 10 %), share of CPU time".to_owned();
    let Some(ours) = table.get("hybrid_auto") else {
        return Verdict { claim, ..judged(None, 1.0, "not run".to_owned()) };
    };
    let theirs = table.iter().filter(|(name, _)| name.starts_with("spin_sleep"));
    let as_good = theirs.filter(|(_, figures)| P99.1(figures) <= P99.1(ours) * 1.1);
    let best = as_good.min_by(|(_, one), (_, other)| CPU.1(one).total_cmp(&CPU.1(other)));
    let Some((name, best)) = best else {
        let any = table.keys().any(|name| name.starts_with("spin_sleep"));
        let (value, figures) = if any { (Some(0.0), "none comes as near") } else { (None, "not run") };
        return Verdict { claim, ..judged(value, 1.0, figures.to_owned()) };
    };
    let (one, other) = (CPU.1(ours), CPU.1(best));
    let figures = format!("{} : {} of {name}", shown(one), shown(other));
    Verdict { claim, ..judged(Some(quotient(one, other)), 1.0, figures) }
}

fn judged(value: Option<f64>, limit: f64, figures: String) -> Verdict {
    let value = value.filter(|value| value.is_finite());
    Verdict { claim: String::new(), value, limit, reached: value.map(|value| value <= limit), figures }
}

/// Nothing to nothing is even; something to nothing has no ratio.
fn quotient(one: f64, other: f64) -> f64 {
    if one <= 0.0 && other <= 0.0 { 1.0 } else { one / other }
}

/// Nanoseconds are whole, shares are below one.
fn shown(value: f64) -> String {
    if value > 0.0 && value <= 1.0 { format!("{:.2} %", value * 100.0) } else { format!("{value:.0}") }
}

#[allow(clippy::cast_precision_loss, reason = "a length of 2^53 ns is over 100 days")]
fn ns(value: u64) -> f64 {
    value as f64
}
