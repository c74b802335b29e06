//! Checks the library's claims against the figures. Most claims are ratios of two strategies, because absolute figures
//! differ from machine to machine. A claim that does not hold is reported, but is not an error.

use crate::figures::{Details, Figures};
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of all strategies, by name.
pub type Table = BTreeMap<&'static str, (Figures, Details)>;

/// A claim, and whether the figures confirm it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub claim: String,
    /// The measured ratio or figure; `None` if a strategy that it needs was not run.
    pub value: Option<f64>,
    /// The largest value with which the claim holds.
    pub limit: f64,
    /// Whether the value is within the limit; `None` without a value.
    pub reached: Option<bool>,
    /// The figures from which the value was computed.
    pub figures: String,
}

/// Name of a figure, and the function that gets it from a strategy's figures.
type Reading = (&'static str, fn(&(Figures, Details)) -> f64);

const P50: Reading = ("p50", |(figures, _)| ns(figures.p50_ns));
const P99: Reading = ("p99", |(figures, _)| ns(figures.p99_ns));
const OFF: Reading = ("share off by > 10 us", |(figures, _)| figures.off_by_10us_share);
const SPIN: Reading = ("share of time spent polling", |(figures, _)| figures.spin_share);
const CPU: Reading = ("share of CPU time", |(_, details)| details.cpu_share);

/// Claims about ratios: the strategy, the strategy that it is compared with, the figure, and the largest ratio.
const RATIOS: [(&str, &str, Reading, f64); 16] = [
    ("hybrid_auto", "sleep_absolute", P50, 0.01),
    ("hybrid_auto", "sleep_absolute", P99, 0.2),
    ("hybrid_auto", "sleep_absolute", OFF, 0.05),
    ("hybrid_auto", "cpp_sleep_absolute", P50, 1.0),
    ("hybrid_auto", "cpp_sleep_absolute", P99, 1.0),
    ("hybrid_auto", "spin_sleep", P50, 1.0),
    ("hybrid_auto", "spin_sleep", P99, 1.0),
    ("hybrid_auto", "spin_sleep", CPU, 1.0),
    ("hybrid_auto", "spin_sleep_100us", P50, 1.0),
    ("hybrid_auto", "spin_sleep_100us", P99, 1.0),
    ("hybrid_auto", "spin_sleep_100us", CPU, 1.0),
    ("hybrid_auto_steered", "hybrid_auto", P50, 1.2),
    ("hybrid_auto_steered", "hybrid_auto", P99, 1.2),
    ("hybrid_auto_read", "hybrid_auto", P50, 1.2),
    ("hybrid_auto_read", "hybrid_auto", P99, 1.2),
    ("hybrid_auto", "hybrid_auto_on_tick", OFF, 1.0),
];
/// Claims about single figures: the strategy, the figure, and its largest value.
const BOUNDS: [(&str, Reading, f64); 2] = [("hybrid_auto", SPIN, 0.05), ("hybrid_auto_unprivileged", P50, 1_000.0)];

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

/// Compares the CPU time of `hybrid_auto` with that of the thriftiest `spin_sleep` variant whose p99 is at most 10 %
/// worse. If no variant reaches that p99, the claim holds.
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

/// The ratio of two values: 1 if both are zero, not finite if only the second is zero.
fn quotient(one: f64, other: f64) -> f64 {
    if one <= 0.0 && other <= 0.0 { 1.0 } else { one / other }
}

/// The value as text. A value above 0 and at most 1 is a share and is printed in percent; others are nanoseconds.
fn shown(value: f64) -> String {
    if value > 0.0 && value <= 1.0 { format!("{:.2} %", value * 100.0) } else { format!("{value:.0}") }
}

#[allow(clippy::cast_precision_loss, reason = "a length of 2^53 ns is over 100 days")]
fn ns(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Strategy;

    fn row(p50_ns: u64, p99_ns: u64, cpu_share: f64) -> (Figures, Details) {
        let figures = Figures { p50_ns, p99_ns, spin_share: cpu_share, ..Figures::default() };
        (figures, Details { cpu_share, ..Details::default() })
    }

    fn verdict<'a>(verdicts: &'a [Verdict], claim: &str) -> &'a Verdict {
        verdicts.iter().find(|verdict| verdict.claim.starts_with(claim)).unwrap()
    }

    #[test]
    fn every_claim_is_about_strategies_that_there_are() {
        let named = RATIOS.iter().flat_map(|row| [row.0, row.1]).chain(BOUNDS.iter().map(|row| row.0));
        named.for_each(|name| assert!(Strategy::named(name).is_some(), "{name}"));
    }

    #[test]
    fn a_ratio_is_reached_missed_or_unknown() {
        let table = Table::from([("hybrid_auto", row(20, 900, 0.04)), ("sleep_absolute", row(2_000, 4_000, 0.02))]);
        let verdicts = all(&table);
        assert_eq!(verdict(&verdicts, "hybrid_auto / sleep_absolute, p50").reached, Some(true));
        assert_eq!(verdict(&verdicts, "hybrid_auto / sleep_absolute, p99").reached, Some(false));
        assert_eq!(verdict(&verdicts, "hybrid_auto / sleep_absolute, share").value, Some(1.0), "nothing to nothing");
        let unknown = verdict(&verdicts, "hybrid_auto / spin_sleep, p50");
        assert_eq!((unknown.value, unknown.reached, unknown.figures.as_str()), (None, None, "not run"));
    }

    #[test]
    fn spin_sleep_is_judged_by_its_thriftiest_that_is_as_good() {
        let claim = "hybrid_auto / best spin_sleep";
        let ours = ("hybrid_auto", row(20, 1_000, 0.05));
        let (poor, good) = (("spin_sleep_25us", row(20, 9_000, 0.01)), ("spin_sleep_100us", row(20, 1_050, 0.10)));
        let both = all(&Table::from([ours, poor, good, ("spin_sleep", row(20, 100, 0.2))]));
        assert_eq!(verdict(&both, claim).value, Some(0.5));
        assert_eq!(verdict(&all(&Table::from([ours, poor])), claim).reached, Some(true), "none comes as near");
        assert_eq!(verdict(&all(&Table::from([ours])), claim).reached, None);
    }
}
