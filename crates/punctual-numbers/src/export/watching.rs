//! What a watch has seen since it began, as metrics for Prometheus.
//!
//! Counters and buckets only grow while the process runs, and begin at zero when it is started anew, which Prometheus takes
//! for a restart. The histogram has classic or native buckets, and a summary has the quantiles of the exact cells.

use super::family::{Family, Number, Samples, Which, open_metrics};
use super::protobuf::delimited;
use crate::recording::{EventKind, Frame, Interval, WatchedProgram};
use punctual_hist::{Counts, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// The recent maximum is that of this time. It covers several scrapes, so that none misses it.
const RECENT: Nanos = Nanos::from_secs(300);

/// Sums over all runs of one watch.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    each: BTreeMap<Which, OfCpu>,
    program: Option<WatchedProgram>,
    watched: Nanos,
    releases_lost: u64,
    events: BTreeMap<EventKind, u64>,
    /// CPU time that the watch itself has used.
    pub own_cpu: Nanos,
    /// Actions that were carried out.
    pub actions: u64,
    /// The present period of the watching threads.
    pub period: Nanos,
    pub store_bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct OfCpu {
    ran: Counts,
    skipped: u64,
    over_budget: u64,
    /// Largest latencies of the last intervals, with the lengths of these.
    recent: VecDeque<(Nanos, Nanos)>,
}

impl Watching {
    pub fn add(&mut self, frame: &Frame) {
        match frame {
            Frame::Program(program) => self.program = Some(program.clone()),
            Frame::Interval(interval) => self.interval(interval),
            Frame::Event(event) => {
                self.releases_lost = self.releases_lost.saturating_add(event.releases_lost);
                *self.events.entry(event.kind).or_default() += 1;
            }
            _ => {}
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.watched = self.watched.plus(interval.length);
        for cpu in &interval.cpus {
            let of = self.each.entry(which(self.program.as_ref(), cpu.cpu)).or_default();
            let pairs = cpu.ran.iter().map(|(bucket, n)| (usize::from(*bucket), *n));
            if let (false, Some(min), Some(max)) = (cpu.ran.is_empty(), cpu.ran_min, cpu.ran_max) {
                of.ran.merge_nonzero(pairs, min, max, cpu.ran_sum);
            }
            of.skipped = cpu.skipped.iter().fold(of.skipped, |sum, (_, n)| sum.saturating_add(*n));
            of.over_budget = of.over_budget.saturating_add(cpu.over_budget);
            let max = cpu.block_max.iter().map(|(_, max)| *max).max().unwrap_or_default();
            of.recent.push_back((interval.length, max));
            let mut length = of.recent.iter().fold(Nanos::ZERO, |sum, (length, _)| sum.plus(*length));
            while let Some((oldest, _)) = of.recent.front().filter(|(oldest, _)| length.minus(*oldest) >= RECENT) {
                length = length.minus(*oldest);
                of.recent.pop_front();
            }
        }
    }

    /// As `OpenMetrics` text, with classic buckets.
    pub fn text(&self) -> String {
        open_metrics(&self.families())
    }

    /// As messages of Protocol Buffers, with native buckets as well.
    pub fn messages(&self) -> Vec<u8> {
        delimited(&self.families())
    }

    fn families(&self) -> Vec<Family<'_>> {
        let ran = || self.each.iter().map(|(which, of)| (which, &of.ran)).collect();
        let by_cpu =
            |value: fn(&OfCpu) -> Number| self.each.iter().map(|(which, of)| (Some(which), value(of))).collect();
        let one = |number: Number| vec![(None, number)];
        let family = |name: &'static str, help: &'static str, samples| Family { name, help, samples };
        vec![
            family("punctual_watch_latency_seconds", "Latency of the activations that ran", Samples::Histogram(ran())),
            family(
                "punctual_watch_latency_quantiles_seconds",
                "Quantiles of the latency since the watch began",
                Samples::Summary(ran()),
            ),
            family(
                "punctual_watch_recent_latency_max_seconds",
                "Largest latency of the last five minutes",
                Samples::Gauge(by_cpu(|of| Number::Length(of.recent_max()))),
            ),
            family(
                "punctual_watch_skipped_releases",
                "Releases that passed without running",
                Samples::Counter(by_cpu(|of| Number::Count(of.skipped))),
            ),
            family(
                "punctual_watch_over_budget",
                "Activations with a latency above the budget",
                Samples::Counter(by_cpu(|of| Number::Count(of.over_budget))),
            ),
            family(
                "punctual_watch_watched_seconds",
                "Time that was watched",
                Samples::Counter(one(Number::Length(self.watched))),
            ),
            family(
                "punctual_watch_own_cpu_seconds",
                "CPU time that the watch itself used",
                Samples::Counter(one(Number::Length(self.own_cpu))),
            ),
            family(
                "punctual_watch_actions",
                "Actions that late activations caused",
                Samples::Counter(one(Number::Count(self.actions))),
            ),
            family(
                "punctual_watch_releases_lost",
                "Releases due while the machine did not run",
                Samples::Counter(one(Number::Count(self.releases_lost))),
            ),
            family(
                "punctual_watch_period_seconds",
                "Period of the watching threads",
                Samples::Gauge(one(Number::Length(self.period))),
            ),
            family(
                "punctual_watch_store_bytes",
                "Size of the store",
                Samples::Gauge(one(Number::Count(self.store_bytes))),
            ),
        ]
    }
}

/// What stands under this number: a CPU, or a thread of the watched program.
fn which(program: Option<&WatchedProgram>, number: u32) -> Which {
    let thread = program.and_then(|program| Some((program.name.clone(), program.thread(number)?.to_owned())));
    thread.map_or(Which::Cpu(number), |(program, thread)| Which::Thread { program, thread })
}

impl OfCpu {
    fn recent_max(&self) -> Nanos {
        self.recent.iter().map(|(_, max)| *max).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{CpuInterval, RecTime, WatchedThread};
    use std::collections::BTreeSet;

    #[test]
    fn figures_of_a_program_are_those_of_its_threads_by_name() {
        let mut watching = Watching::default();
        let thread = |tid: u32| WatchedThread { number: 0, tid, name: "a \"loop\"".to_owned() };
        for tid in [7, 8] {
            let program = WatchedProgram { pid: 7, name: "arm".to_owned(), threads: vec![thread(tid)] };
            watching.add(&Frame::Program(program));
            let mut counts = Counts::new();
            counts.record_n(Nanos::from_us(3), 10);
            let (start, cpus) = (RecTime::from_secs(0), vec![CpuInterval::of(0, &counts, &Counts::new())]);
            watching.add(&Frame::Interval(Interval { start, length: Nanos::from_secs(10), phase: 0, cpus }));
        }
        let count = "punctual_watch_latency_seconds_count{program=\"arm\",thread=\"a \\\"loop\\\"\"} 20\n";
        assert!(watching.text().contains(count), "{}", watching.text());
    }

    #[test]
    fn the_recent_maximum_is_forgotten_and_the_counts_stay() {
        let mut watching = Watching::default();
        let mut feed = |second: u32, latency_us: u64| {
            let mut counts = Counts::new();
            counts.record_n(Nanos::from_us(latency_us), 10);
            let max = vec![(second, Nanos::from_us(latency_us))];
            let cpu = CpuInterval { block_max: max, ..CpuInterval::of(2, &counts, &Counts::new()) };
            let start = RecTime::from_secs(u64::from(second));
            watching.add(&Frame::Interval(Interval { start, length: Nanos::from_secs(10), phase: 0, cpus: vec![cpu] }));
            watching.text()
        };
        let first = feed(0, 700);
        assert!(first.contains("punctual_watch_recent_latency_max_seconds{cpu=\"2\"} 0.0007\n"), "{first}");
        let last = (1..=40).map(|n| feed(n * 10, 3)).last().unwrap();
        assert!(last.contains("punctual_watch_recent_latency_max_seconds{cpu=\"2\"} 0.000003\n"), "{last}");
        assert!(last.contains("punctual_watch_latency_seconds_bucket{cpu=\"2\",le=\"0.000005\"} 400\n"), "{last}");
        assert!(last.contains("punctual_watch_latency_seconds_count{cpu=\"2\"} 410\n"), "{last}");
        assert!(last.contains("punctual_watch_watched_seconds_total 410\n"), "{last}");
        assert!(last.ends_with("# EOF\n"));
    }

    /// A rule about a metric that nobody writes never fires, and a panel of it stays empty.
    #[test]
    fn rules_and_panels_name_metrics_that_a_watch_writes() {
        let mut watching = Watching::default();
        let cpu = CpuInterval::of(2, &Counts::new(), &Counts::new());
        let start = RecTime::from_secs(0);
        watching.add(&Frame::Interval(Interval { start, length: Nanos::from_secs(10), phase: 0, cpus: vec![cpu] }));
        let names = |text: &str| -> BTreeSet<String> {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.filter(|word| word.starts_with("punctual_watch_")).map(str::to_owned).collect()
        };
        let written = names(&watching.text());
        for file in ["prometheus/punctual.rules.yml", "grafana/punctual-watch.json"] {
            let used = names(&std::fs::read_to_string(fixtures::repository("contrib").join(file)).unwrap());
            assert!(used.len() > 4, "{file}: {used:?}");
            assert_eq!(used.difference(&written).collect::<Vec<_>>(), Vec::<&String>::new(), "{file}");
        }
    }
}
