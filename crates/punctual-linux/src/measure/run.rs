//! Runs a scenario: the part that the housekeeping thread does.

use super::causes::Causes;
use super::gaps::{Gaps, JUDGE_AFTER};
use super::phases::{self, Loads, mark};
use super::prepare::Prepared;
use super::terms::{CpuProgress, Observer, Pace, PhaseNumber, Progress, Setting};
use super::watch::{Accounted, Incident, Readings, StandstillWatch};
use crate::in_force;
use crate::probe::{Assignment, Collector, Go, Probe, Recorder};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::{
    Earliest, End, EndReason, EventKind, Frame, Header, InBand, Interval, MarkKind, MaximaLost, Moment, RecTime, Worst,
    interval_length,
};
use punctual_numbers::scenario::{Mechanism, Policy, Scenario};
use punctual_rt::{kernel, now};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SECOND: Nanos = Nanos::from_secs(1);
/// Time from the last preparation to the first release of the warm-up.
const LEAD: Nanos = Nanos::from_ms(20);
/// How long to wait for a thread after the end of its phase.
const PATIENCE: Nanos = Nanos::from_secs(10);

pub(super) fn run(
    prepared: Prepared,
    scenario: &Scenario,
    setting: &Setting,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> EndReason {
    let mut run = ScenarioRun::new(prepared, scenario, setting, observer);
    // When a recording is resumed, the phases that were already finished have no parts.
    let phases = scenario.load_phases.iter().enumerate().filter(|(_, phase)| phase.parts > 0);
    for (phase, first) in phases.map(|(number, _)| number).zip(std::iter::once(true).chain(std::iter::repeat(false))) {
        run.begin_phase(phase, first, setting, interrupted);
        run.housekeep(interrupted);
        run.end_phase();
        if run.prepared.control.stopped() || run.stalled {
            break;
        }
    }
    run.finish(interrupted)
}

struct ScenarioRun<'a> {
    scenario: &'a Scenario,
    observer: &'a mut dyn Observer,
    prepared: Prepared,
    collectors: Vec<Collector>,
    loads: Loads,
    pace: Pace,
    phase: usize,
    /// Origin of the recording's time: the first release of the first phase.
    epoch: MonoTime,
    /// When the last thread should have finished the phase.
    phase_end: MonoTime,
    measured: Nanos,
    watch: StandstillWatch,
    next_tick: MonoTime,
    next_account: MonoTime,
    interval_from: MonoTime,
    skipped: u64,
    gaps: Gaps,
    /// When latencies are passed to the observer again, if it wants them.
    next_close_look: MonoTime,
    /// The worst activations as last written to the recording, one list for each thread.
    worst: Vec<Vec<Worst>>,
    mid_state_written: bool,
    throttled_before: u64,
    stalled: bool,
}

impl<'a> ScenarioRun<'a> {
    fn new(prepared: Prepared, scenario: &'a Scenario, setting: &Setting, observer: &'a mut dyn Observer) -> Self {
        let watch = StandstillWatch::new(Readings::take(), Accounted::take(), setting.cpus.online.len())
            .for_clock_source(prepared.clock.source.as_deref());
        let collector = |probe: &Probe| Collector::new(&probe.granted, probe.thread.period, scenario.budget);
        let at = now();
        Self {
            loads: Loads::new(prepared.placement.loads.clone(), setting.load_dir.clone()),
            collectors: prepared.probes.iter().map(collector).collect(),
            scenario,
            observer,
            prepared,
            pace: setting.pace,
            phase: 0,
            epoch: MonoTime::default(),
            phase_end: at,
            measured: Nanos::ZERO,
            watch,
            next_tick: at.plus(setting.pace.tick),
            next_account: at.plus(SECOND),
            interval_from: at,
            skipped: 0,
            gaps: Gaps::new(scenario.threads.iter().map(|t| t.period).collect()),
            next_close_look: at,
            worst: vec![Vec::new(); scenario.threads.len()],
            mid_state_written: false,
            throttled_before: 0,
            stalled: false,
        }
    }

    /// Starts the loads of a phase, lets the threads warm up under them, and begins to count.
    fn begin_phase(&mut self, phase: usize, first: bool, setting: &Setting, interrupted: &AtomicBool) {
        self.phase = phase;
        let number = self.phase_number();
        self.prepared.causes.iter_mut().for_each(|causes| causes.prepare(number));
        let lengths = phases::lengths(self.scenario, phase);
        let skipped =
            self.loads.start(self.phase_number(), &self.scenario.load_phases[phase], lengths.total(), interrupted);
        let earliest = now().plus(LEAD).plus(lengths.warm_up);
        // Seconds are numbered across phases, so this phase continues after the last number used.
        let second = if first { 0 } else { earliest.since(self.epoch).whole(SECOND) + 1 };
        if first {
            self.epoch = earliest;
        }
        let from = self.epoch.plus(SECOND.times(second));
        self.send_off(from, second);
        if first {
            self.announce(setting);
        }
        self.emit(skipped.into_iter().map(|kind| mark(RecTime::EPOCH, kind)));
        self.sleep_until(from.minus(LEAD), interrupted);
        self.collectors.iter_mut().for_each(Collector::zero_counters);
        self.sleep_until(from, interrupted);
        self.prepared.causes.iter().for_each(|causes| causes.warmed_up(&self.collectors));
        let warm_up = self.collectors.iter().map(Collector::warm_up).collect();
        let at = self.recorded(from);
        self.emit([Frame::WarmUp(warm_up), mark(at, MarkKind::PhaseStart(self.phase_number()))]);
        self.interval_from = from;
        self.rest();
    }

    /// Sleeps until `until`, or until the run is interrupted; then stops the run.
    fn sleep_until(&mut self, until: MonoTime, interrupted: &AtomicBool) {
        while now() < until && !self.prepared.control.stopped() {
            let warming_up = self.progress(now(), true);
            self.observer.progress(&warming_up);
            kernel::sleep_until(until.min(now().plus(self.pace.tick)));
            if interrupted.load(Relaxed) {
                self.prepared.control.stop();
            }
        }
    }

    /// Starts each thread. The releases of a thread lie at multiples of its period plus its offset.
    fn send_off(&mut self, from: MonoTime, second: u64) {
        self.phase_end = from;
        let taps = self.prepared.causes.as_ref().map(|causes| causes.taps(self.scenario, self.phase));
        let mut taps = taps.unwrap_or_default().into_iter();
        let is_out_of_band = self.scenario.mechanism.is_out_of_band();
        let threads = self.prepared.probes.iter_mut().zip(&mut self.collectors).zip(&self.prepared.clock.phase);
        for ((probe, collector), phase) in threads {
            let period = probe.thread.period;
            let count = self.scenario.due(self.phase, period);
            let grid = MonoTime::from_ns(from.as_ns().next_multiple_of(period.as_ns()));
            let first = grid.plus(phase.offset);
            let warm_up_from = first.minus(period.times(phases::warm_ups(self.scenario, period)));
            let (warm_up, warm_up_reader) = Recorder::new(warm_up_from, period, None);
            let warm_up = warm_up.out_of_band(is_out_of_band);
            let (recorder, reader) = Recorder::new(from, period, self.scenario.budget);
            let recorder = recorder.tapped(taps.next()).out_of_band(is_out_of_band);
            let end = first.plus(period.times(count));
            let stretch = Assignment { from, first_second: second, due: count, end };
            collector.begin(&stretch, warm_up_reader, reader);
            probe.begin(Go { warm_up_from, from: first, end, warm_up, recorder });
            self.phase_end = self.phase_end.max(end);
        }
    }

    /// Writes the first frames, during the first warm-up.
    fn announce(&mut self, setting: &Setting) {
        let header = Header {
            tool_version: setting.tool_version.clone(),
            started_unix_ns: kernel::real_time().saturating_add(self.epoch.since(now()).as_ns()),
            epoch: self.epoch,
            scenario: self.scenario.clone(),
            machine: setting.machine.clone(),
            placement: self.prepared.placement.clone(),
            clock: self.prepared.clock.clone(),
            checkpoint: self.pace.interval.unwrap_or_else(|| interval_length(Nanos::ZERO)),
        };
        let granted = self.prepared.probes.iter().map(|p| p.granted.clone()).collect();
        let state = in_force::read(Moment::Before, &self.scenario.cpus());
        self.throttled_before = in_force::times_throttled(&state);
        self.emit([
            Frame::Header(Box::new(header)),
            Frame::Threads(granted),
            Frame::Findings(setting.findings.clone()),
            Frame::InForce(state),
        ]);
        let tracing = self.prepared.causes.as_ref().map(Causes::frame);
        self.emit(tracing);
        let notes = std::mem::take(&mut self.prepared.notes);
        self.emit(notes.into_iter().map(Frame::Mark));
        // The first checkpoint may start a thread, which must not happen during the measurement.
        self.observer.checkpoint();
    }

    fn housekeep(&mut self, interrupted: &AtomicBool) {
        let mut alive = (0, now());
        while !self.prepared.probes.iter().all(Probe::is_idle) {
            kernel::sleep_until(self.next_tick);
            let at = now();
            if interrupted.load(Relaxed) {
                self.prepared.control.stop();
            }
            self.tick(at);
            if self.prepared.probes.iter().any(Probe::has_vanished) {
                // The run ends here as when it is stopped: later releases were not due.
                self.prepared.control.lose_core();
                self.stalled = true;
                return;
            }
            let activations: u64 = self.collectors.iter().map(Collector::activations).sum();
            if activations != alive.0 {
                alive = (activations, at);
            }
            if at >= self.phase_end.plus(PATIENCE) && at >= alive.1.plus(PATIENCE) {
                // A thread that has still not finished is not waited for any longer.
                return self.give_up(at);
            }
        }
    }

    fn give_up(&mut self, at: MonoTime) {
        self.stalled = true;
        let stuck = self.prepared.probes.iter().zip(&mut self.collectors).filter(|(probe, _)| !probe.is_idle());
        stuck.for_each(|(_, collector)| collector.give_up(at));
    }

    fn end_phase(&mut self) {
        let at = now();
        let standstill = self.gaps.settle(at, at, &mut self.collectors, &self.watch);
        self.emit_seen(standstill);
        let causes = self.prepared.causes.as_mut().map(|causes| causes.end_phase(&mut self.collectors));
        self.emit(causes.into_iter().flatten());
        // Releases end with the phase. So the last interval ends there as well, although the end may be noticed later.
        self.cut_interval(at.min(self.phase_end).max(self.interval_from), true);
        self.check_rt_throttling(at);
        let loads_done = self.loads.stop();
        self.emit(loads_done);
        self.measured = self.measured.plus(phases::lengths(self.scenario, self.phase).counted);
        self.emit([mark(self.recorded(at), MarkKind::PhaseEnd(self.phase_number()))]);
    }

    fn phase_number(&self) -> u16 {
        u16::try_from(self.phase).unwrap_or(u16::MAX)
    }

    fn tick(&mut self, at: MonoTime) {
        let events = self.watch.tick(Readings::take(), self.next_tick);
        self.watch.note_busy(at, Accounted::take());
        self.emit_seen(events);
        let standstill = self.gaps.settle(at, at.minus(JUDGE_AFTER), &mut self.collectors, &self.watch);
        self.emit_seen(standstill);
        let causes = self.prepared.causes.as_ref().map(|causes| causes.look(&mut self.collectors));
        self.emit(causes.into_iter().flatten());
        if at >= self.next_account {
            self.next_account = at.plus(SECOND);
            self.account(at);
        }
        let so_far = self.interval_from.since(self.epoch);
        if at >= self.interval_from.plus(self.pace.interval.unwrap_or_else(|| interval_length(so_far))) {
            self.cut_interval(at, false);
        }
        if !self.mid_state_written && self.elapsed(at).as_ns() >= phases::total(self.scenario).as_ns() / 2 {
            self.mid_state_written = true;
            let state = in_force::read(Moment::During, &self.scenario.cpus());
            self.emit([Frame::InForce(state)]);
        }
        let mut progress = self.progress(at, false);
        if at >= self.next_close_look && self.observer.looks_closely() {
            // Ticks are never early but a little late, so the next look is due half a tick earlier.
            self.next_close_look = at.plus(SECOND).minus(Nanos::from_ns(self.pace.tick.as_ns() / 2));
            progress.latencies = self.collectors.iter().map(Collector::so_far).collect();
        }
        self.observer.progress(&progress);
        self.rest();
    }

    /// Plans the next tick relative to now, so that the time spent here is not taken for a standstill of the machine.
    fn rest(&mut self) {
        self.next_tick = now().plus(self.pace.tick);
    }

    fn account(&mut self, at: MonoTime) {
        let stolen = self.watch.account(at, Accounted::take());
        self.emit_seen(stolen);
    }

    fn elapsed(&self, at: MonoTime) -> Nanos {
        let counted = phases::lengths(self.scenario, self.phase).counted;
        self.measured.plus(at.since(self.phase_end.minus(counted)).min(counted))
    }

    fn progress(&self, at: MonoTime, warming_up: bool) -> Progress {
        let so_far = |c: &Collector| CpuProgress {
            cpu: c.cpu,
            activations: c.activations(),
            max: c.max(),
            over_budget: c.over_budget(),
        };
        Progress {
            at,
            elapsed: self.elapsed(at),
            total: phases::total(self.scenario),
            phase: self.scenario.load_phases[self.phase].name(),
            is_idle: self.scenario.load_phases[self.phase].loads.is_empty(),
            phase_number: PhaseNumber { number: self.phase + 1, of: self.scenario.load_phases.len() },
            warming_up,
            cpus: self.collectors.iter().map(so_far).collect(),
            skipped: self.skipped,
            latencies: Vec::new(),
        }
    }

    /// Writes what happened since the last interval. The last interval of a phase also contains gaps and seconds that
    /// were held back until then.
    fn cut_interval(&mut self, at: MonoTime, last: bool) {
        let (start, length) = (self.recorded(self.interval_from), at.since(self.interval_from));
        self.interval_from = at.max(self.epoch);
        let cpus: Vec<_> = self.collectors.iter_mut().map(|c| c.interval(at, last)).collect();
        self.skipped += cpus.iter().flat_map(|c| &c.skipped).map(|(_, n)| n).sum::<u64>();
        let blocks: u64 = self.collectors.iter_mut().map(|c| std::mem::take(&mut c.blocks_lost)).sum();
        if blocks > 0 {
            self.emit([Frame::MaximaLost(MaximaLost { at: RecTime::of(at, self.epoch), blocks })]);
        }
        self.check_affinity(at);
        self.emit([Frame::Interval(Interval { start, length, phase: self.phase_number(), cpus })]);
        self.write_in_band(at);
        self.write_earliest(at);
        self.write_worst();
        self.observer.checkpoint();
    }

    /// Writes how often threads were taken in-band since the last interval.
    fn write_in_band(&mut self, at: MonoTime) {
        let at = self.recorded(at);
        let taken = |probe: &mut Probe| InBand { at, cpu: probe.thread.cpu, switches: probe.take_in_band() };
        let taken: Vec<_> = self.prepared.probes.iter_mut().map(taken).filter(|taken| taken.switches > 0).collect();
        self.emit(taken.into_iter().map(Frame::InBand));
    }

    /// Writes by how much activations preceded their releases, if that has grown since the last interval.
    fn write_earliest(&mut self, at: MonoTime) {
        let at = self.recorded(at);
        let grown = |c: &mut Collector| c.take_earliest().map(|by| Earliest { at, cpu: c.cpu, by });
        let grown: Vec<_> = self.collectors.iter_mut().filter_map(grown).collect();
        self.emit(grown.into_iter().map(Frame::Earliest));
    }

    /// Reports threads that are no longer pinned: when a CPU goes offline, the kernel moves its pinned threads.
    fn check_affinity(&mut self, at: MonoTime) {
        let moved = self
            .collectors
            .iter()
            .zip(&self.prepared.probes)
            .any(|(collector, probe)| collector.affinity().is_some_and(|cpus| cpus != probe.granted.affinity));
        if moved {
            self.emit_seen([Incident::new(at, Nanos::ZERO, EventKind::Moved)]);
        }
    }

    /// Reports the kernel's pause for real-time threads. A spinning thread never sleeps, so a gap of about the length
    /// of that pause is the pause.
    fn check_rt_throttling(&mut self, at: MonoTime) {
        let spins = self.scenario.mechanism == Mechanism::Spin && self.scenario.policy != Policy::Other;
        let Some(pause) = in_force::real_time_pause().filter(|_| spins) else { return };
        let gap = self.collectors.iter().map(|collector| collector.longest_gap).max().unwrap_or_default();
        if gap.plus(gap) >= pause {
            self.emit_seen([Incident::new(at, gap, EventKind::RtThrottled)]);
        }
    }

    /// Writes the lists of worst activations that changed. The others stay valid, because a frame replaces only the
    /// lists of the CPUs that it names.
    fn write_worst(&mut self) {
        let mut changed = Vec::new();
        for (collector, written) in self.collectors.iter().zip(&mut self.worst) {
            let worst = collector.worst();
            if worst != *written {
                changed.extend(&worst);
                *written = worst;
            }
        }
        if !changed.is_empty() {
            self.emit([Frame::Worst(changed)]);
        }
    }

    fn finish(mut self, interrupted: &AtomicBool) -> EndReason {
        self.prepared.control.stop();
        let at = now();
        self.account(at);
        let state = in_force::read(Moment::After, &self.scenario.cpus());
        if in_force::times_throttled(&state) > self.throttled_before {
            self.emit_seen([Incident::new(at, Nanos::ZERO, EventKind::Throttled)]);
        }
        self.emit([Frame::InForce(state)]);
        let probes = std::mem::take(&mut self.prepared.probes);
        let all_ended_well = !self.stalled && probes.into_iter().all(Probe::join);
        let control = &self.prepared.control;
        let reason = match (all_ended_well, control.limit_hit(), interrupted.load(Relaxed)) {
            _ if control.core_lost() => EndReason::CoreLost,
            _ if control.source_lost() => EndReason::SourceLost,
            (false, ..) => EndReason::Stalled,
            (_, true, _) => EndReason::LimitExceeded,
            (_, _, true) => EndReason::Interrupted,
            _ => EndReason::Completed,
        };
        let totals = self.prepared.causes.take().map(Causes::finish);
        self.emit(totals.into_iter().flatten());
        let refused = self.prepared.control.take_refused();
        let set = self.prepared.control.clock_set();
        let moved = (set > 0).then(|| {
            format!("the clock of the releases was set {set} times during the run; the releases under way then are not counted")
        });
        let at_end = self.recorded(at);
        self.emit(refused.into_iter().chain(moved).map(|why| mark(at_end, MarkKind::Note(why))));
        let write_error = self.observer.write_error();
        self.emit([Frame::End(End { at: self.recorded(at), reason, write_error })]);
        self.observer.checkpoint();
        reason
    }

    fn recorded(&self, at: MonoTime) -> RecTime {
        RecTime::of(at, self.epoch)
    }

    fn emit(&mut self, frames: impl IntoIterator<Item = Frame>) {
        frames.into_iter().for_each(|frame| self.observer.frame(frame));
    }

    fn emit_seen(&mut self, incidents: impl IntoIterator<Item = Incident>) {
        for incident in incidents {
            self.observer.frame(Frame::Event(incident.recorded(self.epoch)));
        }
    }
}
