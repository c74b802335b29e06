//! Watches the clocks and the hypervisor, and judges long gaps: each is a latency, or the whole machine stood still.
//!
//! Only [`Readings::take`] and [`Accounted::take`] access the machine; everything else computes with their results.

use crate::probe::Gap;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::{Event, EventKind};
use punctual_rt::{kernel, now};
use std::fs;

/// Allowed difference of `CLOCK_BOOTTIME` and of the wall clock from the monotonic clock between two readings.
const CLOCK_TOLERANCE: Nanos = Nanos::from_ms(10);
/// If the watcher was late by this much, it could not run itself. Then it cannot tell whether the machine stood still.
const WATCHER_LATE: Nanos = Nanos::from_ms(50);
/// Clock sources outside the CPU, which the kernel uses if it does not trust the TSC.
const OUTSIDE_CPU: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"];
const STAT_TICK: Nanos = Nanos::from_ms(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readings {
    pub at: MonoTime,
    pub boot: u64,
    pub real: u64,
    pub tsc: Option<u64>,
}

impl Readings {
    /// Reads all clocks. If something interrupted the readings, repeats them, because readings far apart would look
    /// like a step of a clock.
    pub fn take() -> Self {
        const APART: Nanos = Nanos::from_us(100);
        let read = || Self {
            at: now(),
            boot: kernel::boot_time(),
            real: kernel::real_time(),
            tsc: kernel::time_stamp_counter(),
        };
        let mut readings = read();
        for _ in 0..10 {
            if now().since(readings.at) < APART {
                break;
            }
            readings = read();
        }
        readings
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounted {
    pub busy: Nanos,
    /// CPU time that the hypervisor gave to other guests.
    pub steal: Nanos,
}

impl Accounted {
    /// Reads `/proc/stat`; zeros if it cannot be read.
    pub fn take() -> Self {
        fs::read_to_string("/proc/stat").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// Parses the first line of `/proc/stat`: user nice system idle iowait irq softirq steal.
    fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).map_while(|f| f.parse().ok()).collect();
        let sum = |fields: &[usize]| fields.iter().filter_map(|i| ticks.get(*i)).sum::<u64>();
        Self { busy: STAT_TICK.times(sum(&[0, 1, 2, 5, 6])), steal: STAT_TICK.times(sum(&[7])) }
    }
}

pub type Incident = Event<MonoTime>;

pub struct StandstillWatch {
    last: Readings,
    first: Readings,
    tsc_rate: Option<f64>,
    tsc_drifted: bool,
    accounted: Accounted,
    /// Number of CPUs, which limits how much work can be done within a time.
    cpus: u64,
    /// Instants of earlier readings, with the busy time up to each.
    busy: Vec<(MonoTime, Nanos)>,
    /// Periods in which the watcher should have run but did not.
    holes: Vec<(MonoTime, MonoTime)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    Latency,
    MachinePaused,
}

impl StandstillWatch {
    pub fn new(readings: Readings, accounted: Accounted, cpus: usize) -> Self {
        Self {
            last: readings,
            first: readings,
            tsc_rate: None,
            tsc_drifted: false,
            cpus: cpus as u64,
            accounted,
            busy: vec![(readings.at, accounted.busy)],
            holes: Vec::new(),
        }
    }

    /// Ignores the TSC if the kernel uses another clock source.
    #[must_use]
    pub fn for_clock_source(mut self, name: Option<&str>) -> Self {
        if name.is_some_and(|name| OUTSIDE_CPU.contains(&name)) {
            self.first.tsc = None;
        }
        self
    }

    /// Compares with the last reading. The watcher should have run at `due`.
    pub fn tick(&mut self, readings: Readings, due: MonoTime) -> Vec<Incident> {
        let mut events = Vec::new();
        let last = std::mem::replace(&mut self.last, readings);
        if readings.at.since(due) >= WATCHER_LATE {
            self.holes.push((last.at, readings.at));
            self.forget_before(readings.at.minus(Nanos::from_secs(60)));
        }
        let elapsed = |now: u64, then: u64| i128::from(now) - i128::from(then);
        let mono = elapsed(readings.at.as_ns(), last.at.as_ns());
        let suspended = elapsed(readings.boot, last.boot) - mono;
        // The boot clock never falls behind. A negative difference means that the readings were far apart.
        if let Some(length) = beyond_tolerance(suspended.max(0)) {
            events.push(Incident::new(readings.at, length, EventKind::Suspended));
        }
        let stepped = elapsed(readings.real, last.real) - elapsed(readings.boot, last.boot);
        if let Some(length) = beyond_tolerance(stepped) {
            events.push(Incident::new(readings.at, length, EventKind::WallClockStep));
        }
        events.extend(self.check_tsc(&readings));
        events
    }

    /// Learns the rate of the TSC over the first second. After that, the TSC must predict the monotonic clock to 0.1 %.
    #[allow(clippy::cast_precision_loss, reason = "a ratio to three digits")]
    fn check_tsc(&mut self, readings: &Readings) -> Option<Incident> {
        let (first, tsc) = (self.first.tsc?, readings.tsc?);
        let elapsed = readings.at.since(self.first.at);
        if elapsed < Nanos::from_secs(1) || self.tsc_drifted {
            return None;
        }
        let rate = tsc.wrapping_sub(first) as f64 / elapsed.as_ns() as f64;
        let learnt = *self.tsc_rate.get_or_insert(rate);
        self.tsc_drifted = (rate - learnt).abs() > learnt * 1e-3;
        self.tsc_drifted.then(|| Incident::new(readings.at, Nanos::ZERO, EventKind::TscDrift))
    }

    /// Notes the CPU time accounted so far. This is done at every tick, because the work during a gap is known only as
    /// precisely as the readings around it.
    pub fn note_busy(&mut self, at: MonoTime, accounted: Accounted) {
        self.busy.push((at, accounted.busy));
        self.forget_before(at.minus(Nanos::from_secs(60)));
    }

    pub fn account(&mut self, at: MonoTime, accounted: Accounted) -> Option<Incident> {
        let stolen = accounted.steal.minus(self.accounted.steal);
        self.accounted = accounted;
        (stolen > Nanos::ZERO).then(|| Incident::new(at, stolen, EventKind::Steal))
    }

    /// Judges a gap, given whether another measured thread ran meanwhile. A stalled CPU counts as a latency if anything
    /// ran: another measuring thread, the watcher on its housekeeping CPU, or the cause itself, whose time the kernel
    /// accounted. Only if nothing ran did the whole machine stand still.
    pub fn judge(&self, gap: &Gap, others_ran: bool) -> Judgement {
        let (from, to) = (gap.activation.release, gap.activation.woke);
        let half = Nanos::from_ns(to.since(from).as_ns() / 2);
        let watcher_out = self.holes.iter().any(|(start, end)| (*end).min(to).since((*start).max(from)) >= half);
        if watcher_out && !others_ran && self.worked(from, to) < half {
            Judgement::MachinePaused
        } else {
            Judgement::Latency
        }
    }

    /// Time certainly spent working between two instants: the time accounted between the last reading before and the
    /// first one after, minus what all CPUs could have done outside of the two instants.
    fn worked(&self, from: MonoTime, to: MonoTime) -> Nanos {
        let before = self.busy.iter().rev().find(|(at, _)| *at <= from).or(self.busy.first());
        let after = self.busy.iter().find(|(at, _)| *at >= to).or(self.busy.last());
        let (Some((start, busy_then)), Some((end, busy_now))) = (before, after) else { return Nanos::ZERO };
        let outside = end.since(*start).minus(to.since(from));
        busy_now.minus(*busy_then).minus(outside.times(self.cpus))
    }

    /// Keeps one minute, and the last busy reading before it.
    fn forget_before(&mut self, oldest: MonoTime) {
        self.holes.retain(|(_, end)| *end >= oldest);
        let keep_from = self.busy.iter().rposition(|(at, _)| *at < oldest).unwrap_or(0);
        self.busy.drain(..keep_from);
    }
}

fn beyond_tolerance(difference: i128) -> Option<Nanos> {
    let length = Nanos::from_ns(u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX));
    (length > CLOCK_TOLERANCE).then_some(length)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use punctual_hist::Activation;

    fn readings(mono_ms: u64, boot_ms: u64, real_ms: u64) -> Readings {
        let ms = 1_000_000;
        Readings {
            at: MonoTime::from_ns(mono_ms * ms),
            boot: boot_ms * ms,
            real: real_ms * ms,
            tsc: Some(mono_ms * 2 * ms),
        }
    }

    fn watch() -> StandstillWatch {
        StandstillWatch::new(readings(0, 0, 0), Accounted::default(), 2)
    }

    pub(in crate::measure) fn at_ms(ms: u64) -> MonoTime {
        MonoTime::from_ns(ms * 1_000_000)
    }

    pub(in crate::measure) fn gap(from_ms: u64, to_ms: u64) -> Gap {
        let activation = Activation { release: at_ms(from_ms), woke: at_ms(to_ms), ..Activation::default() };
        let since_last_wake = Nanos::from_ms(to_ms - from_ms);
        Gap { activation, skipped: to_ms - from_ms, last_skipped_late: Nanos::ZERO, since_last_wake }
    }

    #[test]
    fn a_quiet_machine_raises_nothing() {
        assert_eq!(watch().tick(readings(100, 100, 100), at_ms(100)), []);
    }

    #[test]
    fn a_suspend_is_one_event_and_no_wall_clock_step() {
        let events = watch().tick(readings(100, 60_100, 60_100), at_ms(100));
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].kind, events[0].length), (EventKind::Suspended, Nanos::from_secs(60)));
    }

    #[test]
    fn readings_taken_far_apart_are_no_suspend() {
        let mut watch = watch();
        watch.tick(readings(100, 120, 120), at_ms(100));
        let kinds: Vec<_> = watch.tick(readings(200, 200, 200), at_ms(200)).iter().map(|e| e.kind).collect();
        assert_eq!(kinds, [], "the boot clock cannot fall behind");
    }

    #[test]
    fn setting_the_wall_clock_back_is_a_step() {
        let mut watch = StandstillWatch::new(readings(0, 0, 50_000), Accounted::default(), 2);
        let events = watch.tick(readings(100, 100, 20_100), at_ms(100));
        assert_eq!((events[0].kind, events[0].length), (EventKind::WallClockStep, Nanos::from_secs(30)));
    }

    #[test]
    fn a_tsc_that_changes_its_rate_is_said_once() {
        let mut watch = watch();
        assert_eq!(watch.tick(readings(1_000, 1_000, 1_000), at_ms(1_000)), []);
        let slow = Readings { tsc: Some(2_900_000_000), ..readings(2_000, 2_000, 2_000) };
        assert_eq!(watch.tick(slow, at_ms(2_000))[0].kind, EventKind::TscDrift);
        assert_eq!(watch.tick(slow, at_ms(2_000)), []);
    }

    #[test]
    fn a_tsc_that_time_is_not_taken_from_may_drift() {
        let slow = Readings { tsc: Some(2_900_000_000), ..readings(2_000, 2_000, 2_000) };
        for (source, events) in [(Some("hpet"), 0), (Some("tsc"), 1), (None, 1)] {
            let mut watch = watch().for_clock_source(source);
            watch.tick(readings(1_000, 1_000, 1_000), at_ms(1_000));
            assert_eq!(watch.tick(slow, at_ms(2_000)).len(), events, "{source:?}");
        }
    }

    /// A watch of two CPUs that are busy up to 100 ms and from 5000 ms on, with `worked_ms` of accounted work in
    /// between.
    fn after_a_hole(worked_ms: u64) -> StandstillWatch {
        let mut watch = watch();
        for (at, busy) in [(100, 200), (5_000, 200 + worked_ms), (5_100, 400 + worked_ms)] {
            watch.tick(readings(at, at, at), at_ms(if at == 5_000 { 200 } else { at }));
            watch.note_busy(at_ms(at), Accounted { busy: Nanos::from_ms(busy), ..Accounted::default() });
        }
        watch
    }

    #[test]
    fn nobody_ran_means_the_machine_was_paused_however_loaded_it_is() {
        assert_eq!(after_a_hole(20).judge(&gap(101, 5_000), false), Judgement::MachinePaused);
        assert_eq!(after_a_hole(20).judge(&gap(101, 5_000), true), Judgement::Latency, "another thread ran");
        assert_eq!(after_a_hole(4_900).judge(&gap(101, 5_000), false), Judgement::Latency, "a hog used one CPU");
    }

    #[test]
    fn a_watcher_that_ran_proves_a_latency() {
        let mut watch = watch();
        for t in 1..=20 {
            watch.tick(readings(t * 100, t * 100, t * 100), at_ms(t * 100));
        }
        assert_eq!(watch.judge(&gap(500, 1_500), false), Judgement::Latency);
    }

    #[test]
    fn steal_is_told_per_reading() {
        let mut watch = watch();
        let stat = Accounted::parse("cpu  10 0 5 900 0 1 2 30 0 0\ncpu0 …\n");
        assert_eq!(stat, Accounted { busy: Nanos::from_ms(180), steal: Nanos::from_ms(300) });
        assert_eq!(watch.account(at_ms(1_000), stat).map(|e| e.length), Some(Nanos::from_ms(300)));
        assert_eq!(watch.account(at_ms(2_000), stat), None);
    }

    #[test]
    fn a_strange_stat_is_no_time_at_all() {
        assert_eq!(Accounted::parse(""), Accounted::default());
        assert_eq!(Accounted::parse("cpu x y"), Accounted::default());
    }
}
