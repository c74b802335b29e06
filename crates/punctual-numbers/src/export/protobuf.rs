//! Metrics as Prometheus takes them for native histograms: messages of `io.prometheus.client.MetricFamily`, each after
//! its length. Numbers of fields are those of `metrics.proto` of Prometheus' client model.
//!
//! A native bucket is 2.2 % wide, a little more than a cell of ours, so that Prometheus computes any percentile, over any
//! time and over many machines, nearly as exactly as we do. The classic buckets are written beside them.

use super::family::{Family, Number, Samples, Which, classic};
use super::prometheus::QUANTILES_PPM;
use crate::stats::float::float;
use punctual_hist::{Counts, Nanos, bucket_high};

/// The media type of the messages.
pub const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
/// Each power of two is divided into two to this power.
const SCHEMA: i32 = 5;
/// Values up to this are zero.
const ZERO: Nanos = Nanos::from_ns(1);

const NAME: u32 = 1;
const HELP: u32 = 2;
const TYPE: u32 = 3;
const METRIC: u32 = 4;

/// The messages, one after the other.
pub fn delimited(families: &[Family]) -> Vec<u8> {
    let mut all = Message::default();
    for family in families {
        let (kind, suffix, metrics) = match &family.samples {
            Samples::Counter(of) => (0, "_total", of.iter().map(|(cpu, number)| one(*cpu, 3, *number)).collect()),
            Samples::Gauge(of) => (1, "", of.iter().map(|(cpu, number)| one(*cpu, 2, *number)).collect()),
            Samples::Summary(of) => (2, "", of.iter().map(|(cpu, ran)| metric(Some(cpu), 4, &summary(ran))).collect()),
            Samples::Histogram(of) => {
                (4, "", of.iter().map(|(cpu, ran)| metric(Some(cpu), 7, &histogram(ran))).collect::<Vec<_>>())
            }
        };
        let mut message = Message::default();
        message.bytes(NAME, format!("{}{suffix}", family.name).as_bytes());
        message.bytes(HELP, family.help.as_bytes());
        message.whole(TYPE, kind);
        for metric in &metrics {
            message.message(METRIC, metric);
        }
        all.varint(message.0.len() as u64);
        all.0.extend(message.0);
    }
    all.0
}

/// A metric that is a number.
fn one(which: Option<&Which>, field: u32, number: Number) -> Message {
    let mut value = Message::default();
    value.number(
        1,
        match number {
            Number::Length(length) => in_seconds(length),
            Number::Count(count) => float(count),
        },
    );
    metric(which, field, &value)
}

fn metric(which: Option<&Which>, field: u32, value: &Message) -> Message {
    let mut metric = Message::default();
    for (name, value) in which.map(Which::labels).unwrap_or_default() {
        let mut label = Message::default();
        label.bytes(1, name.as_bytes());
        label.bytes(2, value.as_bytes());
        metric.message(1, &label);
    }
    metric.message(field, value);
    metric
}

fn summary(ran: &Counts) -> Message {
    let mut summary = Message::default();
    summary.whole(1, ran.count());
    summary.number(2, in_seconds(ran.sum()));
    for ppm in QUANTILES_PPM {
        if let Some(value) = ran.percentile_ppm(ppm) {
            let mut quantile = Message::default();
            quantile.number(1, float(ppm) / 1e6);
            quantile.number(2, in_seconds(value));
            summary.message(3, &quantile);
        }
    }
    summary
}

fn histogram(ran: &Counts) -> Message {
    let mut histogram = Message::default();
    histogram.whole(1, ran.count());
    histogram.number(2, in_seconds(ran.sum()));
    for (edge, count) in classic(ran) {
        let mut bucket = Message::default();
        bucket.whole(1, count);
        bucket.number(2, in_seconds(edge));
        histogram.message(3, &bucket);
    }
    histogram.signed(5, i64::from(SCHEMA));
    histogram.number(6, in_seconds(ZERO));
    let (zero, buckets) = native(ran);
    histogram.whole(7, zero);
    for (offset, length) in spans(&buckets) {
        let mut span = Message::default();
        span.signed(1, offset);
        span.whole(2, length);
        histogram.message(12, &span);
    }
    let mut before = 0;
    for (_, count) in buckets {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        histogram.signed(13, count - before);
        before = count;
    }
    histogram
}

/// The number of values that are zero, and the native buckets that hold something: number of the bucket and of values. A cell
/// is counted in the bucket of its upper edge, so that no value seems smaller than it was.
fn native(ran: &Counts) -> (u64, Vec<(i64, u64)>) {
    let (mut zero, mut buckets) = (0_u64, Vec::<(i64, u64)>::new());
    for (cell, n) in ran.nonzero() {
        let high = Nanos::from_ns(bucket_high(cell));
        if high <= ZERO {
            zero = zero.saturating_add(n);
            continue;
        }
        #[allow(clippy::cast_possible_truncation, reason = "between -960 and 1 152, as a u64 of nanoseconds is")]
        let number = (in_seconds(high).log2() * f64::from(1 << SCHEMA)).ceil() as i64;
        match buckets.last_mut().filter(|(last, _)| *last == number) {
            Some((_, count)) => *count = count.saturating_add(n),
            None => buckets.push((number, n)),
        }
    }
    (zero, buckets)
}

/// Neighbouring buckets as (distance from the bucket behind the span before, number of buckets).
fn spans(buckets: &[(i64, u64)]) -> Vec<(i64, u64)> {
    let (mut spans, mut next) = (Vec::<(i64, u64)>::new(), 0);
    for (number, _) in buckets {
        match spans.last_mut() {
            Some((_, length)) if *number == next => *length += 1,
            _ => spans.push((number - next, 1)),
        }
        next = number + 1;
    }
    spans
}

fn in_seconds(length: Nanos) -> f64 {
    float(length.as_ns()) / 1e9
}

/// A message of Protocol Buffers: fields, each after its number and the way it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn key(&mut self, field: u32, way: u32) {
        self.varint(u64::from(field << 3 | way));
    }

    fn whole(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    /// Written so that small negative numbers are short.
    fn signed(&mut self, field: u32, value: i64) {
        let folded = value.unsigned_abs().wrapping_mul(2);
        self.whole(field, if value < 0 { folded.wrapping_sub(1) } else { folded });
    }

    fn number(&mut self, field: u32, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u32, message: &Self) {
        self.bytes(field, &message.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: &[(u64, u64)]) -> Counts {
        let mut counts = Counts::new();
        for (ns, n) in values {
            counts.record_n(Nanos::from_ns(*ns), *n);
        }
        counts
    }

    /// Every value lies in its bucket or, by the width of a cell, in the next one, and none is lost.
    #[test]
    fn a_native_bucket_holds_the_values_between_its_edges() {
        for ns in [2_u64, 999, 1_000, 4_321, 50_000, 1_000_000, 123_456_789, 10_000_000_000] {
            let value = float(ns);
            let (zero, buckets) = native(&counts(&[(0, 3), (ns, 7)]));
            let [(number, 7)] = buckets[..] else { panic!("{ns}: {buckets:?}") };
            let edge =
                |number: i64| 1e9 / (float(number.unsigned_abs()) / 32.0).exp2().powi(if number < 0 { 1 } else { -1 });
            assert_eq!(zero, 3);
            assert!(value <= edge(number) * 1.000_000_1, "{ns} lies above {}", edge(number));
            assert!(value >= edge(number - 1) / 1.016, "{ns} lies far below {}", edge(number - 1));
        }
    }

    #[test]
    fn spans_hold_neighbours_and_tell_the_distance_between() {
        assert_eq!(spans(&[(-400, 1), (-399, 2), (-390, 1), (3, 1)]), [(-400, 2), (8, 1), (392, 1)]);
        assert_eq!(spans(&[]), []);
    }

    /// The bytes were read by Prometheus 2.42, and are held against change.
    #[test]
    fn a_family_is_written_as_prometheus_reads_it() {
        let gauge = Family {
            name: "a",
            help: "b",
            samples: Samples::Gauge(vec![(Some(&Which::Cpu(2)), Number::Length(Nanos::from_ms(500)))]),
        };
        let expected = [
            31, 10, 1, b'a', 18, 1, b'b', 24, 1, 34, 21, 10, 8, 10, 3, b'c', b'p', b'u', 18, 1, b'2', 18, 9, 9, 0, 0,
            0, 0, 0, 0, 0xe0, 0x3f,
        ];
        assert_eq!(delimited(&[gauge]), expected);
        let mut message = Message::default();
        message.signed(13, -2);
        message.whole(1, 300);
        assert_eq!(message.0, [0x68, 3, 8, 0xac, 2]);
    }
}
