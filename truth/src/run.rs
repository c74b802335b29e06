//! Simulates one run of a family as a recording. Every activation is drawn, and its frames become a recording by the
//! same code as those of a measurement.

use super::dice::Dice;
use super::family::{Family, Spikes};
use super::mood::{Moods, Piece};
use punctual_hist::{Activation, BUCKETS, MonoTime, Nanos, WORST_K, bucket_index};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{
    Clock, CpuInterval, End, EndReason, Event, EventKind, Frame, Granted, Header, Interval, RecTime, Recording, Worst,
    interval_length,
};
use punctual_numbers::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};

/// Number of activations per second.
const EACH: u32 = 1_000;
/// The CPU that is measured.
const CPU: u32 = 1;

/// The change of every value of the second run of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Shift {
    Same,
    Times(f64),
    /// Multiplies by a factor that rises from 1 at the first value to the third number at the second value.
    Stretched(f64, f64, f64),
    /// Doubles the distance from this value for all values above it.
    Doubled(f64),
}

impl Shift {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Same => value,
            Self::Times(times) => value * times,
            Self::Stretched(from, to, times) => {
                value * (1.0 + (times - 1.0) * ((value - from) / (to - from)).clamp(0.0, 1.0))
            }
            Self::Doubled(from) => {
                if value > from {
                    from + 2.0 * (value - from)
                } else {
                    value
                }
            }
        }
    }
}

#[derive(Debug)]
pub struct Machine<'a> {
    family: &'a Family,
    dice: Dice,
    moods: Moods,
    piece: Piece,
    /// Spikes of the family and those that a pair adds, each with the number of activations until the next one.
    spikes: Vec<(Spikes, f64)>,
    shift: Shift,
    seconds: u32,
}

impl<'a> Machine<'a> {
    /// The machine with the number `run`, which seeds its random values, for a measurement of `seconds`.
    pub fn new(family: &'a Family, run: u64, seconds: u32) -> Self {
        let mut dice = Dice::new(family.name, run);
        let moods = Moods::new(family.mood, seconds, &mut dice);
        let piece = Piece { activations: 0, times: 1.0 };
        let machine = Self { family, dice, moods, piece, spikes: Vec::new(), shift: Shift::Same, seconds };
        machine.with(family.spikes)
    }

    pub fn with(mut self, more: Option<Spikes>) -> Self {
        if let Some(spikes) = more {
            let part = if spikes.regular { self.dice.unit() } else { self.dice.exponential() };
            self.spikes.push((spikes, (part * spikes.gap).floor()));
        }
        self
    }

    pub fn shifted(self, shift: Shift) -> Self {
        Self { shift, ..self }
    }

    /// The same machine, of which each measurement lasts this number of seconds.
    pub fn measured_for(self, seconds: u32) -> Self {
        Self { seconds, ..self }
    }

    /// Lets this number of seconds pass without a measurement.
    pub fn rest(&mut self, seconds: u32) {
        (0..seconds).for_each(|_| self.second(|_| ()));
    }

    /// Whether the run so far shows that the machine has moods.
    pub fn shows_itself(&self) -> bool {
        self.moods.shows_itself()
    }

    /// Draws the values of one second.
    fn second(&mut self, mut each: impl FnMut(f64)) {
        let mut left = EACH;
        while left > 0 {
            if self.piece.activations == 0 {
                self.piece = self.moods.next(&mut self.dice);
            }
            let now = left.min(self.piece.activations);
            for _ in 0..now {
                let usual = self.family.law.draw(&mut self.dice) * self.piece.times;
                let value = self.spiked().unwrap_or(usual);
                each(self.shift.of(self.family.cut(value)));
            }
            self.piece.activations -= now;
            left -= now;
        }
    }

    /// The value of a spike, if this activation is one.
    fn spiked(&mut self) -> Option<f64> {
        let mut value = None;
        for (spikes, until) in &mut self.spikes {
            *until -= 1.0;
            if *until < 0.0 {
                value = Some(spikes.size.0 + spikes.size.1 * self.dice.exponential());
                if *until <= -f64::from(spikes.together) {
                    let gap = if spikes.regular { 1.0 } else { self.dice.exponential() };
                    *until = (gap * spikes.gap - f64::from(spikes.together)).max(0.0).round();
                }
            }
        }
        value
    }

    /// Draws the largest value of the next hour. Values within a stretch of constant mood are independent, so the
    /// largest value of each stretch is drawn directly.
    pub fn largest_of_an_hour(&mut self) -> f64 {
        let (mut passed, mut largest) = (0u32, 0.0f64);
        while passed < 3_600 * EACH {
            let piece = self.moods.next(&mut self.dice);
            let own = self.family.law.largest_of(f64::from(piece.activations), &mut self.dice);
            largest = largest.max(own * piece.times);
            passed = passed.saturating_add(piece.activations);
        }
        for (spikes, _) in &self.spikes {
            let mut at = self.dice.exponential();
            while at * spikes.gap < 3_600.0 * f64::from(EACH) {
                for _ in 0..spikes.together {
                    largest = largest.max(spikes.size.0 + spikes.size.1 * self.dice.exponential());
                }
                at += if spikes.regular { 1.0 } else { self.dice.exponential() };
            }
        }
        self.family.cut(largest)
    }

    /// Measures the machine for the planned time.
    pub fn measure(&mut self, budget: Nanos) -> Recording {
        let header = header(self.seconds, budget);
        let mut recording = Recording::new(header.clone());
        self.frames(header, |frame| recording.add(frame));
        recording
    }

    /// Emits the frames of a measurement.
    fn frames(&mut self, header: Header, mut emit: impl FnMut(Frame)) {
        let (seconds, epoch) = (self.seconds, header.epoch);
        let budget = header.scenario.budget.unwrap_or(Nanos::MAX);
        emit(Frame::Header(Box::new(header)));
        emit(Frame::Threads(vec![granted()]));
        let mut tally = Tally::new(budget);
        let mut from = 0;
        for second in 0..seconds {
            if let Some((length, every)) =
                self.family.pauses.filter(|(length, every)| second % every + length >= *every)
            {
                if second % every + length == every {
                    emit(paused(second, length));
                }
                (from, tally.activations) = (second + 1, tally.activations + u64::from(EACH));
                continue;
            }
            self.second(|value| tally.add(value));
            tally.end_second(second);
            let start = Nanos::from_secs(u64::from(from));
            let length = Nanos::from_secs(u64::from(second + 1 - from));
            if length >= interval_length(start) || second + 1 == seconds {
                emit(Frame::Interval(tally.interval(RecTime::after_epoch(start), length)));
                from = second + 1;
            }
        }
        emit(Frame::Worst(tally.worst(epoch)));
        let at = RecTime::from_secs(u64::from(seconds));
        emit(Frame::End(End { at, reason: EndReason::Completed, write_error: None }));
    }

    /// The bytes of the file that a measurement writes.
    #[cfg(test)]
    pub fn file(&mut self, budget: Nanos) -> Vec<u8> {
        let mut bytes = Vec::new();
        punctual_numbers::recording::encode_preamble(&mut bytes);
        self.frames(header(self.seconds, budget), |frame| {
            punctual_numbers::recording::encode(&frame, &mut bytes).unwrap();
        });
        bytes
    }
}

/// The counts of a measuring thread.
struct Tally {
    budget: Nanos,
    counts: Vec<u64>,
    used: (usize, usize),
    cpu: CpuInterval,
    sum: u64,
    second_max: u64,
    activations: u64,
    /// (latency, number) of the activations with the largest latencies so far. When the list is full, `floor` is its
    /// smallest latency.
    latest: Vec<(u64, u64)>,
    floor: u64,
}

impl Tally {
    fn new(budget: Nanos) -> Self {
        Self {
            budget,
            counts: vec![0; BUCKETS],
            used: (BUCKETS, 0),
            cpu: CpuInterval { cpu: CPU, ..CpuInterval::default() },
            sum: 0,
            second_max: 0,
            activations: 0,
            latest: Vec::new(),
            floor: 0,
        }
    }

    fn add(&mut self, value: f64) {
        let ns = value as u64;
        let bucket = bucket_index(ns);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.used = (self.used.0.min(bucket), self.used.1.max(bucket));
        self.sum = self.sum.saturating_add(ns);
        self.cpu.over_budget += u64::from(ns > self.budget.as_ns());
        self.second_max = self.second_max.max(ns);
        let least = self.cpu.ran_min.map_or(ns, |min| min.as_ns().min(ns));
        self.cpu.ran_min = Some(Nanos::from_ns(least));
        if ns > self.floor || self.latest.len() < WORST_K {
            self.keep(ns);
        }
        self.activations += 1;
    }

    fn keep(&mut self, ns: u64) {
        self.latest.push((ns, self.activations));
        if self.latest.len() > WORST_K {
            let least = (0..self.latest.len()).min_by_key(|i| self.latest.get(*i)).unwrap_or_default();
            self.latest.swap_remove(least);
            self.floor = self.latest.iter().map(|(ns, _)| *ns).min().unwrap_or_default();
        }
    }

    fn end_second(&mut self, second: u32) {
        let max = Nanos::from_ns(self.second_max);
        self.cpu.block_max.push((second, max));
        self.cpu.ran_max = self.cpu.ran_max.max(Some(max));
        self.second_max = 0;
    }

    fn interval(&mut self, start: RecTime, length: Nanos) -> Interval {
        let (low, high) = self.used;
        for (bucket, count) in self.counts.iter_mut().enumerate().take(high + 1).skip(low).filter(|(_, n)| **n > 0) {
            self.cpu.ran.push((u16::try_from(bucket).unwrap_or(u16::MAX), *count));
            *count = 0;
        }
        self.used = (BUCKETS, 0);
        self.cpu.ran_sum = Nanos::from_ns(std::mem::take(&mut self.sum));
        let (ran_min, ran_max) = (self.cpu.ran_min, self.cpu.ran_max);
        let next = CpuInterval { cpu: CPU, ran_min, ran_max, ..CpuInterval::default() };
        Interval { start, length, phase: 0, cpus: vec![std::mem::replace(&mut self.cpu, next)] }
    }

    fn worst(&self, epoch: MonoTime) -> Vec<Worst> {
        let activation = |(ns, index): &(u64, u64)| {
            let release = epoch.plus(Nanos::from_ms(*index));
            let woke = release.plus(Nanos::from_ns(*ns));
            Activation { release, woke, index: *index, cpu: CPU, ..Activation::default() }
        };
        self.latest.iter().map(|latest| Worst { cpu: CPU, activation: activation(latest) }).collect()
    }
}

fn paused(second: u32, length: u32) -> Frame {
    let until = RecTime::from_secs(u64::from(second + length));
    let length = Nanos::from_secs(u64::from(length));
    Frame::Event(Event { releases_lost: length.as_ns() / 1_000_000, ..Event::new(until, length, EventKind::Paused) })
}

fn granted() -> Granted {
    let affinity = [CPU].into_iter().collect();
    Granted { cpu: CPU, tid: 1, policy: Policy::Fifo(90), affinity, memory_locked: true }
}

fn header(seconds: u32, budget: Nanos) -> Header {
    Header {
        tool_version: "truth".to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        epoch: MonoTime::from_ns(1_000_000_000),
        scenario: Scenario {
            threads: vec![ProbeThread { cpu: CPU, period: Nanos::from_ms(1) }],
            policy: Policy::Fifo(90),
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Auto,
            warm_up: Amount::Activations(100),
            length: Amount::Time(Nanos::from_secs(u64::from(seconds))),
            budget: Some(budget),
            limit: None,
            dma_latency_us: None,
            load_phases: vec![LoadPhase { loads: Vec::new(), parts: 1 }],
            load_cpus: None,
            suite: None,
        },
        machine: Vec::new(),
        placement: Placement { housekeeping: [0].into_iter().collect(), ..Placement::default() },
        clock: Clock::default(),
        checkpoint: Nanos::from_secs(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family;

    #[test]
    fn every_activation_is_in_the_recording_and_the_law_is_the_family_s() {
        for name in ["lognormal", "AR(1) 10 ms", "wanders 0.1 s", "spikes 1/s", "spikes in fives", "steps of 1 us"] {
            let families = family::all();
            let family = families.iter().find(|family| family.name == name).unwrap();
            let budget = Nanos::from_ns(family.at(1e-3) as u64);
            let (mut over, mut all) = (0, 0);
            for run in 0..5 {
                let recording = Machine::new(family, run, 100).measure(budget);
                let cpu = &recording.cpus[&CPU];
                assert_eq!((cpu.ran.count(), recording.blocks.of(0, |_| true).len()), (100_000, 100), "{name}");
                over += cpu.over_budget;
                all += cpu.ran.count();
            }
            let (expected, n) = (family.above(budget.as_ns() as f64), all as f64);
            let off = (over as f64 / n - expected) / (expected / n * 30.0).sqrt();
            assert!(off.abs() < 4.0, "{name}: {over} of {all}, expected {expected}");
        }
    }

    #[test]
    fn the_same_number_makes_the_same_run() {
        let families = family::all();
        for family in &families {
            let run = |number| Machine::new(family, number, 3).measure(Nanos::from_us(50)).cpus[&CPU].ran.clone();
            assert_eq!(run(5), run(5), "{}", family.name);
            assert!(run(5) != run(6) || family.name == "constant", "{}", family.name);
        }
    }

    #[test]
    fn a_pause_is_told_and_holds_no_activation() {
        let families = family::all();
        let family = families.iter().find(|family| family.name == "pauses").unwrap();
        let recording = Machine::new(family, 1, 120).measure(Nanos::from_us(50));
        assert_eq!(recording.covered, Nanos::from_secs(111));
        assert_eq!(recording.event_totals[&EventKind::Paused].times, 3);
        assert_eq!(recording.event_totals[&EventKind::Paused].releases_lost, 9_000);
    }
}
