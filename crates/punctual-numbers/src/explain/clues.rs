//! What counters, the run's events and facts about the machine show about time in which the kernel ran nothing.
//!
//! A gap without records is blamed on firmware, the hypervisor or a pause only if a clue points to it. Otherwise it
//! stays what it looks like, or unexplained.

use super::{Class, Why};
use crate::recording::{Event, EventKind, Recording};
use crate::scenario::Policy;
use crate::trace::{Counter, Window};
use punctual_facts::machine::{IDLE, IdleState, MachineLine};
use punctual_hist::{MonoTime, Nanos};

/// The standstill counter is read every 10 ms, so that a shorter standstill than this cannot be recognised.
const STANDSTILL_LEAST: Nanos = Nanos::from_ms(15);
/// In a guest, leaving an idle state takes no longer than this by itself. A longer time is the host's doing or unknown.
const GUEST_IDLE: Nanos = Nanos::from_us(50);
/// Leaving an idle state takes at most this multiple of the time that its driver states.
const IDLE_TIMES: u64 = 2;
/// Up to this time, leaving idle is blamed on the idle state whatever its driver states: an error of so short a time
/// does not matter.
const IDLE_LEAST: Nanos = Nanos::from_us(20);
/// Upper limit for leaving an idle state for which the driver states no time. No state that kernels offer takes longer.
const IDLE_MOST: Nanos = Nanos::from_ms(1);

/// (beginning, end, kind of the event that reports the standstill).
type Standstill = (MonoTime, MonoTime, EventKind);

/// What is known of the machine and the run beside the records, to judge the windows of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub guest: bool,
    /// Whether the kernel of the machine is `PREEMPT_RT`.
    pub rt: bool,
    /// Whether measuring threads may run on any CPU, as the deadline class requires.
    pub roams: bool,
    /// Times in which the machine stood still or was suspended.
    pub standstills: Vec<Standstill>,
    /// The idle states by number; empty if they are not known.
    pub idle: Vec<IdleState>,
    /// The longest time that the switch from an interrupted thread, or from the idle task, to ours usually takes, as
    /// learnt from ordinary windows. A span no longer than this needs no other cause.
    pub switch_cost: Nanos,
}

impl Rules {
    pub(super) fn of(recording: &Recording) -> Self {
        let epoch = recording.header.epoch;
        let stands = |kind| matches!(kind, EventKind::Suspended | EventKind::Paused);
        let standstill = |event: &Event| {
            let to = epoch.plus(event.at.since_epoch());
            (to.minus(event.length), to, event.kind)
        };
        Self {
            standstills: recording.events.iter().filter(|event| stands(event.kind)).map(standstill).collect(),
            ..Self::of_machine(
                &recording.header.machine,
                matches!(recording.header.scenario.policy, Policy::Deadline { .. }),
            )
        }
    }

    pub(super) fn of_machine(machine: &[MachineLine], roams: bool) -> Self {
        let fact = |name: &str| MachineLine::of(machine, name);
        Self {
            guest: fact("virtualisation").is_some_and(|value| value.contains("guest of")),
            rt: fact("kernel").is_some_and(|value| value.contains("PREEMPT_RT")),
            roams,
            standstills: Vec::new(),
            idle: fact(IDLE).map(IdleState::parse_line).unwrap_or_default(),
            switch_cost: Nanos::ZERO,
        }
    }
}

/// A cause outside of what the trace shows, with the evidence for it.
pub(super) struct Clue {
    pub class: Class,
    pub why: Why,
}

fn counted(name: &str, grew: u64) -> Why {
    Why::Counter { name: name.to_owned(), grew, is_time: false }
}

fn timed(name: &str, grew: Nanos) -> Why {
    Why::Counter { name: name.to_owned(), grew: grew.as_ns(), is_time: true }
}

/// What bears on the cause of one window besides its trace records: counters, standstills, and facts on machine and run.
#[derive(Debug)]
pub(super) struct Clues<'a> {
    rules: &'a Rules,
    window: &'a Window,
    /// The standstills that overlap the window.
    standstills: Vec<&'a Standstill>,
}

impl<'a> Clues<'a> {
    pub(super) fn of(rules: &'a Rules, window: &'a Window) -> Self {
        let overlaps = |(from, to, _): &&Standstill| *from < window.woke && window.release < *to;
        Self { rules, window, standstills: rules.standstills.iter().filter(overlaps).collect() }
    }

    /// Growth of a counter around the window, and its usual growth.
    fn grew(&self, counter: &Counter) -> Option<(u64, Option<u64>)> {
        let around = self.window.around.as_ref()?;
        around.changes.iter().find(|change| change.counter == *counter).map(|change| (change.by, change.usually))
    }

    /// Growth of a counter, if it is more than twice the usual.
    fn stands_out(&self, counter: &Counter) -> Option<u64> {
        let (by, usually) = self.grew(counter)?;
        (by > usually.unwrap_or(0).saturating_mul(2)).then_some(by)
    }

    /// A reason, if the counter of real-time throttling grew more than usual.
    pub(super) fn throttled(&self) -> Option<Why> {
        self.stands_out(&Counter::RtThrottled).map(|by| counted("throttled", by))
    }

    /// A cause, if the whole machine stood still for most of a gap. Whatever had the CPU is not to blame then.
    pub(super) fn paused(&self, from: MonoTime, to: MonoTime) -> Option<Clue> {
        let length = to.since(from);
        let most = |part: Nanos| part.as_ns() >= length.as_ns().saturating_mul(4) / 5;
        let stood = self.window.around.as_ref().and_then(|around| around.standstill);
        let stood = stood.filter(|_| most(self.quiet_elsewhere(from, to)));
        if let Some(stood) = stood.filter(|stood| length >= STANDSTILL_LEAST && most(*stood)) {
            return Some(Clue { class: Class::Paused, why: timed("standstill", stood) });
        }
        self.standstill(from, to)
    }

    /// A cause, if an event of the recording says that the machine stood still for most of this time.
    pub(super) fn standstill(&self, from: MonoTime, to: MonoTime) -> Option<Clue> {
        let length = to.since(from);
        let most = |part: Nanos| part.as_ns() >= length.as_ns().saturating_mul(4) / 5;
        self.standstills.iter().find_map(|(begin, end, kind)| {
            let common = to.min(*end).since(from.max(*begin));
            let name = if *kind == EventKind::Suspended { "suspended" } else { "standstill" };
            let told = length >= Nanos::from_us(100) && most(common);
            told.then(|| Clue { class: Class::Paused, why: timed(name, common) })
        })
    }

    /// The longest time between `from` and `to` in which no other CPU has a record. The CPUs of a guest that was stopped do
    /// not all resume at once, so the others may be silent for less than the whole time.
    fn quiet_elsewhere(&self, from: MonoTime, to: MonoTime) -> Nanos {
        let elsewhere = self.window.elsewhere.iter().map(|other| other.record.at);
        let mut at: Vec<MonoTime> = elsewhere.filter(|at| from < *at && *at < to).chain([from, to]).collect();
        at.sort_unstable();
        at.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or_default()
    }

    /// A cause outside of the kernel, for a gap in which nothing that the kernel ran can be blamed.
    pub(super) fn outside(&self, from: MonoTime, to: MonoTime) -> Option<Clue> {
        if let Some(paused) = self.paused(from, to) {
            return Some(paused);
        }
        if let Some(by) = self.stands_out(&Counter::Smi) {
            return Some(Clue { class: Class::Firmware, why: counted("SMI", by) });
        }
        let enough = |by: &u64| *by >= to.since(from).as_ns() / 2;
        let steal = self.stands_out(&Counter::Steal).filter(enough);
        steal.map(|by| Clue { class: Class::Hypervisor, why: timed("steal", Nanos::from_ns(by)) })
    }

    /// A reason, if the host took more time than usual from this guest around the window.
    pub(super) fn stolen(&self) -> Option<Why> {
        let by = self.stands_out(&Counter::Steal).filter(|by| self.rules.guest && *by > 0)?;
        Some(Why::PartlyStolen { time: Nanos::from_ns(by).min(self.window.woke.since(self.window.release)) })
    }

    /// Whether leaving this idle state can take `length`. If the state is unknown, the slowest idle state decides.
    pub(super) fn is_idle_exit(&self, state: Option<u32>, length: Nanos) -> bool {
        let states = &self.rules.idle;
        let known = state.and_then(|state| states.get(state as usize)).or_else(|| states.iter().max_by_key(|s| s.exit));
        let most = known.map_or(IDLE_MOST, |state| state.exit.times(IDLE_TIMES).max(IDLE_LEAST));
        length <= if self.rules.guest { GUEST_IDLE } else { most }
    }

    pub(super) fn idle_state(&self, state: u32) -> String {
        self.rules.idle.get(state as usize).map_or_else(|| format!("state {state}"), |state| state.name.clone())
    }
}
