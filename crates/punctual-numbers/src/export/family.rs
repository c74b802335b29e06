//! Metrics as Prometheus knows them, and their `OpenMetrics` text. [`super::protobuf`] writes the same with native buckets.

use super::prometheus::{BUCKETS_NS, QUANTILES_PPM, head, seconds};
use punctual_hist::{Counts, Nanos, bucket_high};
use std::fmt::Write as _;

/// The media type of the text.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All samples of one metric.
pub struct Family<'a> {
    pub name: &'static str,
    pub help: &'static str,
    pub samples: Samples<'a>,
}

/// The samples, each with what it is of, if it is of one thing.
pub enum Samples<'a> {
    Counter(Vec<(Option<&'a Which>, Number)>),
    Gauge(Vec<(Option<&'a Which>, Number)>),
    Summary(Vec<(&'a Which, &'a Counts)>),
    Histogram(Vec<(&'a Which, &'a Counts)>),
}

/// What a sample is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    Cpu(u32),
    /// A thread of a watched program, by name.
    Thread {
        program: String,
        thread: String,
    },
}

impl Which {
    /// The labels, with their values.
    pub fn labels(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Cpu(cpu) => vec![("cpu", cpu.to_string())],
            Self::Thread { program, thread } => vec![("program", program.clone()), ("thread", thread.clone())],
        }
    }

    /// The labels as text, without braces.
    fn text(&self) -> String {
        let label = |(name, value): (&str, String)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        };
        self.labels().into_iter().map(label).collect::<Vec<_>>().join(",")
    }
}

#[derive(Clone, Copy)]
pub enum Number {
    Length(Nanos),
    Count(u64),
}

impl Number {
    fn text(self) -> String {
        match self {
            Self::Length(length) => seconds(length),
            Self::Count(count) => count.to_string(),
        }
    }
}

/// The text, which ends with the mark that all of it was written.
pub fn open_metrics(families: &[Family]) -> String {
    let mut text = String::new();
    for Family { name, help, samples } in families {
        match samples {
            Samples::Counter(of) => {
                head(&mut text, name, "counter", help);
                numbers(&mut text, &format!("{name}_total"), of);
            }
            Samples::Gauge(of) => {
                head(&mut text, name, "gauge", help);
                numbers(&mut text, name, of);
            }
            Samples::Summary(of) => {
                head(&mut text, name, "summary", help);
                for (cpu, counts) in of {
                    summary(&mut text, name, &cpu.text(), counts);
                }
            }
            Samples::Histogram(of) => {
                head(&mut text, name, "histogram", help);
                for (cpu, counts) in of {
                    buckets(&mut text, name, &cpu.text(), counts);
                }
            }
        }
    }
    text.push_str("# EOF\n");
    text
}

fn numbers(text: &mut String, name: &str, of: &[(Option<&Which>, Number)]) {
    for (cpu, number) in of {
        let label = cpu.map_or_else(String::new, |which| format!("{{{}}}", which.text()));
        let _ = writeln!(text, "{name}{label} {}", number.text());
    }
}

fn summary(text: &mut String, name: &str, labels: &str, ran: &Counts) {
    for ppm in QUANTILES_PPM {
        let quantile = seconds(Nanos::from_us(u64::from(ppm)));
        if let Some(value) = ran.percentile_ppm(ppm) {
            let _ = writeln!(text, "{name}{{{labels},quantile=\"{quantile}\"}} {}", seconds(value));
        }
    }
    sum_and_count(text, name, labels, ran);
}

/// A cell is counted in the first bucket that contains the whole cell.
fn buckets(text: &mut String, name: &str, labels: &str, ran: &Counts) {
    for (edge, count) in classic(ran) {
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{}\"}} {count}", seconds(edge));
    }
    let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", ran.count());
    sum_and_count(text, name, labels, ran);
}

/// The upper edges of the classic buckets, with the number of values up to each.
pub fn classic(ran: &Counts) -> impl Iterator<Item = (Nanos, u64)> {
    BUCKETS_NS.into_iter().map(|edge| {
        let within = ran.nonzero().filter(|(cell, _)| bucket_high(*cell) <= edge);
        (Nanos::from_ns(edge), within.fold(0_u64, |sum, (_, n)| sum.saturating_add(n)))
    })
}

fn sum_and_count(text: &mut String, name: &str, labels: &str, ran: &Counts) {
    let _ = writeln!(text, "{name}_sum{{{labels}}} {}", seconds(ran.sum()));
    let _ = writeln!(text, "{name}_count{{{labels}}} {}", ran.count());
}
