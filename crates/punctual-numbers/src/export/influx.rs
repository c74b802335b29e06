//! Writes a run in the line protocol of `InfluxDB`, which Telegraf and `VictoriaMetrics` read as well: one point for each
//! series, with lengths as whole nanoseconds.
//!
//! Points with the same tags and the same time replace each other, so each series has a tag of its own. Files of other
//! programs do not state when they began in a form that is known; their points have no time, and the server takes the
//! time of arrival.

use super::names;
use crate::foreign::{ForeignRun, Series};
use punctual_hist::Nanos;

/// `started_unix_ns` is the wall clock at the start of the run, in nanoseconds since 1970.
pub fn influx(run: &ForeignRun, started_unix_ns: Option<u64>) -> String {
    let time = started_unix_ns.map(|time| format!(" {time}")).unwrap_or_default();
    let line = |(name, series): (String, &Series)| {
        let fields = fields(series);
        let is_empty = fields.is_empty();
        (!is_empty).then(|| format!("punctual_latency,{} {}{time}\n", tags(&name, series), fields.join(",")))
    };
    names(run, str::to_owned).into_iter().zip(&run.series).filter_map(line).collect()
}

fn tags(name: &str, series: &Series) -> String {
    let cpu = series.cpu.map(|cpu| cpu.to_string());
    let all = [("context", series.context.clone()), ("cpu", cpu), ("series", Some(name.to_owned()))];
    // The protocol has no empty values.
    let known = all.into_iter().filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_empty())?)));
    known.map(|(key, value)| format!("{key}={}", escaped(&value))).collect::<Vec<_>>().join(",")
}

fn fields(series: &Series) -> Vec<String> {
    let at = |ppm: u32| series.percentile_ppm(ppm);
    let counts = [
        ("ran", series.count()),
        ("skipped", series.skipped),
        ("over_budget", series.over_budget.map(|(_, count)| count)),
    ];
    let lengths = [
        ("budget_ns", series.over_budget.map(|(budget, _)| budget)),
        ("period_ns", series.period),
        ("min_ns", series.smallest()),
        ("mean_ns", series.mean),
        ("p50_ns", at(500_000)),
        ("p99_ns", at(990_000)),
        ("p99_9_ns", at(999_000)),
        ("p99_99_ns", at(999_900)),
        ("max_ns", series.largest()),
    ];
    let lengths = lengths.into_iter().map(|(name, length)| (name, length.map(Nanos::as_ns)));
    let known = counts.into_iter().chain(lengths).filter_map(|(name, value)| Some((name, value?)));
    // Whole numbers of the protocol have 63 bits.
    known.map(|(name, value)| format!("{name}={}i", value.min(i64::MAX.unsigned_abs()))).collect()
}

/// A value of a tag. The protocol cannot escape a backslash, which would take the separator behind it for a part of the
/// value, and ends a point at a line break.
fn escaped(value: &str) -> String {
    let plain = value.chars().map(|c| if c == '\\' { '/' } else { c });
    let escape = |c: char| if matches!(c, ',' | '=' | ' ') { format!("\\{c}") } else { c.to_string() };
    plain.map(|c| if c.is_control() { ' ' } else { c }).map(escape).collect()
}
