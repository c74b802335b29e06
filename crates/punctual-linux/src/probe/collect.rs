//! Collects the records of one measuring thread, divided into intervals.

use super::{Block, Gap, RecorderReader};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::stat_line::StatLine;
use punctual_hist::{Activation, Counts, Histogram, MonoTime, Nanos, WORST_K};
use punctual_numbers::recording::{Counters, CpuInterval, Granted, WarmUp, Worst};
use std::collections::BTreeMap;
use std::fs;

#[derive(Default)]
pub struct Collector {
    pub cpu: u32,
    period: Nanos,
    budget: Nanos,
    tid: u32,
    warm_up: RecorderReader,
    reader: RecorderReader,
    ran: Counts,
    skipped: Counts,
    over_budget: u64,
    early: u64,
    /// The longest time by which an activation preceded its release, if it was not taken yet.
    earliest: Option<Nanos>,
    earliest_taken: Nanos,
    counters: Counters,
    /// Releases of this stretch that lie in judged gaps and were counted.
    settled: u64,
    late: Vec<Gap>,
    /// Gaps that were judged to be latencies and that [`Self::take_judged`] has not returned yet.
    judged: Vec<Activation>,
    /// Extremes of all intervals so far. They include judged gaps, which the recorder does not know.
    ran_min: Option<Nanos>,
    ran_max: Option<Nanos>,
    skipped_max: Nanos,
    judged_worst: Vec<Worst>,
    /// The largest judged gap of each unfinished second.
    judged_max: BTreeMap<u64, Nanos>,
    former_worst: Vec<Worst>,
    /// Latencies of the stretches before this one, and of every judged gap.
    former_ran: Counts,
    former_skipped: u64,
    stretch: Assignment,
    /// Finished seconds that are held back because a gap in them may still have to be judged.
    held: Vec<Block>,
    /// Releases that were due after the thread was given up.
    unserved: Option<Unserved>,
    /// Longest time between two wake-ups in the stretch, up to the last interval.
    pub longest_gap: Nanos,
    /// Number of finished seconds that were not read in time.
    pub blocks_lost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Assignment {
    pub from: MonoTime,
    /// Number of the stretch's first second within the whole run.
    pub first_second: u64,
    pub due: u64,
    /// The end of the stretch: releases at or after this instant are not due.
    pub end: MonoTime,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSoFar {
    pub cpu: u32,
    /// Latencies of the activations that ran, without gaps that are still to be judged.
    pub ran: Counts,
    pub skipped: u64,
    pub last_spike: Option<Spike>,
}

/// One of the worst activations of its CPU, with a latency above the run's p99.9 so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spike {
    pub woke: MonoTime,
    pub latency: Nanos,
    /// The cause, if it is already known.
    pub cause: Option<String>,
}

/// Releases that never ran, because the measurement stopped waiting for their thread.
struct Unserved {
    count: u64,
    least_late: Nanos,
    since: Nanos,
}

impl Collector {
    pub fn new(thread: &Granted, period: Nanos, budget: Option<Nanos>) -> Self {
        let budget = budget.unwrap_or(Nanos::MAX);
        Self { cpu: thread.cpu, period, budget, tid: thread.tid, ..Self::default() }
    }

    pub fn begin(&mut self, stretch: &Assignment, warm_up: RecorderReader, reader: RecorderReader) {
        self.former_worst = self.worst();
        self.former_ran.merge(&self.reader.ran());
        self.former_skipped += self.reader.skipped().count();
        self.judged_worst.clear();
        self.stretch = *stretch;
        (self.warm_up, self.reader) = (warm_up, reader);
        (self.ran, self.skipped) = (Counts::new(), Counts::new());
        (self.over_budget, self.early, self.settled, self.longest_gap) = (0, 0, 0, Nanos::ZERO);
    }

    /// Remembers the kernel's counters, so that only what they count from now on is reported.
    pub fn zero_counters(&mut self) {
        self.counters = self.kernel_counters();
    }

    pub fn warm_up(&self) -> WarmUp {
        let ran = self.warm_up.ran();
        WarmUp { cpu: self.cpu, activations: ran.count(), max: ran.max().unwrap_or_default() }
    }

    pub fn activations(&self) -> u64 {
        self.reader.activations()
    }

    /// Activations of this stretch with a latency above the budget, without gaps.
    pub fn over_budget(&self) -> u64 {
        self.reader.over_budget()
    }

    pub fn take_gap(&mut self) -> Option<Gap> {
        self.reader.take_gap()
    }

    /// Counts a gap that was judged to be a latency.
    pub fn count_late(&mut self, gap: Gap) {
        self.judged_worst.push(Worst { cpu: self.cpu, activation: gap.activation });
        keep_worst(&mut self.judged_worst);
        let second = gap.activation.woke.since(self.stretch.from).whole(Nanos::from_secs(1));
        let max = self.judged_max.entry(second).or_default();
        *max = (*max).max(gap.activation.latency());
        self.judged.push(gap.activation);
        self.former_ran.record(gap.activation.latency());
        self.former_skipped += gap.skipped;
        self.late.push(gap);
    }

    /// Gaps that were judged to be latencies since the last call.
    pub fn take_judged(&mut self) -> Vec<Activation> {
        std::mem::take(&mut self.judged)
    }

    /// Latencies in this stretch, without gaps.
    pub fn ran_so_far(&self) -> Counts {
        self.reader.ran()
    }

    /// Latencies in the warm-up of this stretch.
    pub fn warm_up_counts(&self) -> Counts {
        self.warm_up.ran()
    }

    pub fn worst(&self) -> Vec<Worst> {
        let mut worst = self.former_worst.clone();
        worst.extend(&self.judged_worst);
        worst.extend(self.reader.worst().into_iter().map(|activation| Worst { cpu: self.cpu, activation }));
        keep_worst(&mut worst);
        worst
    }

    pub fn so_far(&self) -> CpuSoFar {
        let mut ran = self.reader.ran();
        ran.merge(&self.former_ran);
        let usual = ran.percentile_ppm(999_000).unwrap_or(Nanos::MAX);
        let spikes = self.worst().into_iter().map(|w| w.activation).filter(|a| a.latency() > usual);
        let last_spike =
            spikes.max_by_key(|a| a.woke).map(|a| Spike { woke: a.woke, latency: a.latency(), cause: None });
        CpuSoFar { cpu: self.cpu, ran, skipped: self.former_skipped + self.reader.skipped().count(), last_spike }
    }

    pub fn max(&self) -> Option<Nanos> {
        self.ran_max
    }

    /// Stops waiting for the thread: its remaining releases count as due and not run.
    pub fn give_up(&mut self, now: MonoTime) {
        let served = self.reader.ran().count() + self.reader.skipped().count() + self.reader.gaps_waiting();
        let in_late_gaps: u64 = self.late.iter().map(Gap::due).sum();
        let count = self.stretch.due.saturating_sub(served).saturating_sub(self.settled).saturating_sub(in_late_gaps);
        let least_late = now.since(self.stretch.end.minus(self.period));
        self.unserved =
            (count > 0).then_some(Unserved { count, least_late, since: now.since(self.reader.last_wake()) });
    }

    /// What happened since the last call; `at` is the present time. With `all`, nothing is held back for a later call.
    pub fn interval(&mut self, at: MonoTime, all: bool) -> CpuInterval {
        let (ran_now, skipped_now) = (self.reader.ran(), self.reader.skipped());
        let (mut ran, mut skipped) = (ran_now.since(&self.ran), skipped_now.since(&self.skipped));
        let (over_budget_now, early_now, counters_now) =
            (self.reader.over_budget(), self.reader.early(), self.kernel_counters());
        let mut blocks = self.take_blocks(at, all);
        self.blocks_lost += self.reader.take_blocks_lost();
        let mut over_budget = over_budget_now.saturating_sub(self.over_budget);
        for block in &mut blocks {
            block.max = block.max.max(self.judged_max.remove(&block.second).unwrap_or_default());
        }
        let gaps = std::mem::take(&mut self.late);
        for gap in &gaps {
            ran.record(gap.activation.latency());
            // The skipped releases of a gap count in the same way as those that the recorder counts itself.
            skipped.merge(&series(gap.last_skipped_late, self.period, gap.skipped));
            over_budget += u64::from(gap.activation.latency() > self.budget);
        }
        self.settled += gaps.iter().map(Gap::due).sum::<u64>();
        let unserved = self.unserved.take();
        if let Some(unserved) = &unserved {
            skipped.merge(&series(unserved.least_late, self.period, unserved.count));
        }
        self.note_extremes(&ran_now, &skipped_now, &gaps, unserved.as_ref());
        let interval = CpuInterval {
            ran_min: self.ran_min,
            ran_max: self.ran_max,
            skipped_max: self.skipped_max,
            over_budget,
            early: early_now.saturating_sub(self.early),
            longest_gap: blocks
                .iter()
                .map(|b| b.longest_gap)
                .chain(gaps.iter().map(|gap| gap.since_last_wake))
                .chain(unserved.iter().map(|unserved| unserved.since))
                .max()
                .unwrap_or_default(),
            block_max: blocks.iter().map(|b| (self.run_second(b.second), b.max)).collect(),
            counters: difference(&counters_now, &self.counters),
            ..CpuInterval::of(self.cpu, &ran, &skipped)
        };
        self.longest_gap = self.longest_gap.max(interval.longest_gap);
        self.note_earliest();
        (self.ran, self.skipped) = (ran_now, skipped_now);
        (self.over_budget, self.early, self.counters) = (over_budget_now, early_now, counters_now);
        interval
    }

    fn note_earliest(&mut self) {
        let earliest = self.reader.earliest();
        if earliest > self.earliest_taken {
            self.earliest_taken = earliest;
            self.earliest = Some(earliest);
        }
    }

    /// The longest time by which an activation preceded its release, if it has grown since the last call.
    pub fn take_earliest(&mut self) -> Option<Nanos> {
        self.earliest.take()
    }

    /// Converts the number of a second within the stretch to its number within the whole run.
    fn run_second(&self, second: u64) -> u32 {
        u32::try_from(self.stretch.first_second.saturating_add(second)).unwrap_or(u32::MAX)
    }

    /// Takes the finished seconds whose gaps are all judged.
    fn take_blocks(&mut self, at: MonoTime, all: bool) -> Vec<Block> {
        const JUDGED: Nanos = Nanos::from_ms(500);
        self.held.extend(self.reader.take_blocks());
        let from = self.stretch.from;
        let end = |block: &Block| from.plus(Nanos::from_secs(1).times(block.second.saturating_add(1)));
        let ripe = self.held.iter().take_while(|block| all || at.since(end(block)) >= JUDGED).count();
        self.held.drain(..ripe).collect()
    }

    fn note_extremes(&mut self, ran: &Counts, skipped: &Counts, gaps: &[Gap], unserved: Option<&Unserved>) {
        let late = |gap: &Gap| gap.activation.latency();
        let least = gaps.iter().map(late).min();
        self.ran_min = [self.ran_min, ran.min(), least].into_iter().flatten().min();
        self.ran_max = [self.ran_max, ran.max(), gaps.iter().map(late).max()].into_iter().flatten().max();
        let first_of = |last: Nanos, count: u64| last.plus(self.period.times(count.saturating_sub(1)));
        let in_gaps = gaps.iter().filter(|g| g.skipped > 0).map(|g| first_of(g.last_skipped_late, g.skipped)).max();
        let never = unserved.map(|u| first_of(u.least_late, u.count));
        self.skipped_max = self.skipped_max.max(skipped.max().max(in_gaps).max(never).unwrap_or_default());
    }

    /// CPUs on which the kernel lets the thread run at present; `None` if the thread has ended.
    pub fn affinity(&self) -> Option<CpuSet> {
        CpuSet::parse_list(status_field(&self.status()?, "Cpus_allowed_list")?).ok()
    }

    fn status(&self) -> Option<String> {
        fs::read_to_string(format!("/proc/self/task/{}/status", self.tid)).ok()
    }

    /// The kernel's counters of the thread, or the last known ones if it has ended.
    fn kernel_counters(&self) -> Counters {
        let read = || {
            let status = self.status()?;
            let stat = fs::read_to_string(format!("/proc/self/task/{}/stat", self.tid)).ok()?;
            let field = |name| status_field(&status, name)?.parse().ok();
            let stat = StatLine::parse(&stat)?;
            Some(Counters {
                voluntary_switches: field("voluntary_ctxt_switches")?,
                involuntary_switches: field("nonvoluntary_ctxt_switches")?,
                minor_faults: stat.number(10)?,
                major_faults: stat.number(12)?,
                migrations: self.reader.migrations(),
            })
        };
        read().unwrap_or(self.counters)
    }
}

fn keep_worst(worst: &mut Vec<Worst>) {
    worst.sort_by_key(|w| std::cmp::Reverse(w.activation.latency()));
    worst.truncate(WORST_K);
}

fn status_field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn difference(now: &Counters, then: &Counters) -> Counters {
    Counters {
        voluntary_switches: now.voluntary_switches.saturating_sub(then.voluntary_switches),
        involuntary_switches: now.involuntary_switches.saturating_sub(then.involuntary_switches),
        minor_faults: now.minor_faults.saturating_sub(then.minor_faults),
        major_faults: now.major_faults.saturating_sub(then.major_faults),
        migrations: now.migrations.saturating_sub(then.migrations),
    }
}

fn series(first: Nanos, step: Nanos, count: u64) -> Counts {
    let (mut writer, reader) = Histogram::new();
    writer.record_series(first, step, count);
    reader.snapshot()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Recorder;
    use punctual_numbers::scenario::Policy;
    use punctual_rt::Grid;

    const MS: Nanos = Nanos::from_ms(1);

    fn collect(lates_us: &[u64]) -> (u64, Collector) {
        let epoch = MonoTime::from_ns(9_000_000_000);
        let mut grid = Grid::new(epoch, MS);
        let (mut recorder, reader) = Recorder::new(epoch, MS, Some(Nanos::from_us(50)));
        for late in lates_us {
            let woke = grid.release().plus(Nanos::from_us(*late));
            recorder.record(&grid.advance(woke));
        }
        recorder.finish();
        let thread = Granted { cpu: 0, tid: 0, policy: Policy::Other, affinity: CpuSet::new(), memory_locked: false };
        let mut collector = Collector::new(&thread, MS, Some(Nanos::from_us(50)));
        let stretch = Assignment { from: epoch, first_second: 0, due: grid.index(), end: grid.release() };
        collector.begin(&stretch, RecorderReader::default(), reader);
        (grid.index(), collector)
    }

    fn total(pairs: &[(u16, u64)]) -> u64 {
        pairs.iter().map(|(_, n)| n).sum()
    }

    #[test]
    fn a_gap_judged_late_is_counted_as_if_never_set_aside() {
        let (due, mut collector) = collect(&[10, 10, 300_007, 10]);
        let gap = collector.take_gap().unwrap();
        collector.count_late(gap);
        let interval = collector.interval(MonoTime::default(), true);
        assert_eq!(total(&interval.ran) + total(&interval.skipped), due);
        assert_eq!((total(&interval.ran), interval.over_budget), (4, 1));
        assert_eq!(interval.ran_max, Some(Nanos::from_us(300_007)));
        assert_eq!(interval.skipped_max, Nanos::from_us(299_007));
        assert_eq!(interval.block_max, [(0, Nanos::from_us(300_007))]);
        assert_eq!(interval.longest_gap, Nanos::from_us(300_997));
        assert_eq!(collector.worst()[0].activation.latency(), Nanos::from_us(300_007));
        let so_far = collector.so_far();
        assert_eq!((so_far.ran.count() + so_far.skipped, so_far.ran.max()), (due, Some(Nanos::from_us(300_007))));
    }

    #[test]
    fn the_last_spike_is_the_last_that_stands_out_and_outlives_its_stretch() {
        let mut lates = vec![10; 2000];
        (lates[700], lates[1500]) = (300, 200);
        let (_, mut collector) = collect(&lates);
        let so_far = collector.so_far();
        assert_eq!(so_far.last_spike.clone().map(|spike| spike.latency), Some(Nanos::from_us(200)));
        collector.begin(&Assignment::default(), RecorderReader::default(), RecorderReader::default());
        assert_eq!(collector.so_far(), so_far, "a new stretch takes nothing away");
        assert_eq!(collect(&[10; 100]).1.so_far().last_spike, None, "too few to tell what stands out");
    }

    #[test]
    fn a_gap_not_counted_leaves_no_trace_in_the_latencies() {
        let (_, mut collector) = collect(&[10, 300_007, 10]);
        assert!(collector.take_gap().is_some());
        let interval = collector.interval(MonoTime::default(), true);
        assert_eq!((total(&interval.ran), total(&interval.skipped), interval.over_budget), (2, 0, 0));
        assert_eq!(interval.ran_max, Some(Nanos::from_us(10)));
        assert!(interval.longest_gap < Nanos::from_ms(2), "a pause of the machine is no gap of a thread's");
    }

    #[test]
    fn a_second_stretch_keeps_the_extremes_and_the_worst() {
        let (_, mut collector) = collect(&[10, 900, 30]);
        collector.interval(MonoTime::default(), true);
        let epoch = MonoTime::from_ns(20_000_000_000);
        let (mut recorder, reader) = Recorder::new(epoch, MS, None);
        let stretch = Assignment { from: epoch, first_second: 11, due: 1, end: epoch.plus(MS) };
        collector.begin(&stretch, RecorderReader::default(), reader);
        let mut grid = Grid::new(epoch, MS);
        recorder.record(&grid.advance(epoch.plus(Nanos::from_us(5))));
        recorder.finish();
        let interval = collector.interval(MonoTime::default(), true);
        assert_eq!((interval.ran_min, interval.ran_max), (Some(Nanos::from_us(5)), Some(Nanos::from_us(900))));
        assert_eq!(interval.block_max, [(11, Nanos::from_us(5))]);
        assert_eq!(collector.worst().len(), 4);
        assert_eq!(collector.worst()[0].activation.latency(), Nanos::from_us(900));
    }

    #[test]
    fn what_a_starved_thread_never_ran_was_due_all_the_same() {
        let (due, mut collector) = collect(&[10, 10]);
        let end = MonoTime::from_ns(9_000_000_000).plus(MS.times(due + 1_000));
        (collector.stretch.due, collector.stretch.end) = (due + 1_000, end);
        collector.give_up(end.plus(Nanos::from_secs(10)));
        let interval = collector.interval(end, true);
        assert_eq!(total(&interval.ran) + total(&interval.skipped), due + 1_000);
        assert_eq!(interval.skipped_max, Nanos::from_ms(11_000), "the first of them");
        assert!(interval.longest_gap > Nanos::from_secs(10));
    }

    #[test]
    fn a_second_is_held_back_until_its_gaps_are_judged() {
        let (_, mut collector) = collect(&[10; 1_200]);
        let at = |ms| MonoTime::from_ns(9_000_000_000).plus(Nanos::from_ms(ms));
        assert_eq!(collector.interval(at(1_100), false).block_max, []);
        assert_eq!(collector.interval(at(1_600), false).block_max.len(), 1);
        assert_eq!(collector.interval(at(1_700), true).block_max.len(), 1, "the unfinished one, at the end");
    }

    #[test]
    fn intervals_add_up() {
        let (_, mut collector) = collect(&[10, 20, 30]);
        assert_eq!(total(&collector.interval(MonoTime::default(), true).ran), 3);
        assert_eq!(total(&collector.interval(MonoTime::default(), true).ran), 0, "nothing new");
    }
}
