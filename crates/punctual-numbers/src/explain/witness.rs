//! What counters, the run's events and facts of the machine say of time in which the kernel ran nothing.
//!
//! A gap without records has no name of its own. It is given to firmware, the hypervisor or a pause only where a
//! witness speaks for that; otherwise it stays what it looks like, or unexplained.

use super::{Class, Why};
use crate::recording::{EventKind, Recording};
use crate::scenario::Policy;
use crate::trace::{Counter, Window};
use punctual_facts::machine::{IDLE, IdleState};
use punctual_hist::{MonoTime, Nanos};

/// Standing still for less than this is what housekeeping that comes every 10 ms always seems to do.
const STANDSTILL_LEAST: Nanos = Nanos::from_ms(15);
/// In a guest the way out of an idle state takes no longer by itself: beyond that it is the host's business, or unknown.
const GUEST_IDLE: Nanos = Nanos::from_us(50);
/// An idle state takes no longer to leave than so many times what its driver says.
const IDLE_TIMES: u64 = 2;
/// Whatever idle state is the one that is left, by whoever's word, little is lost by calling so much time its.
const IDLE_LEAST: Nanos = Nanos::from_us(20);
/// No idle state that kernels offer takes longer to leave.
const IDLE_MOST: Nanos = Nanos::from_ms(1);

/// From, to, and what it was.
type Stretch = (MonoTime, MonoTime, EventKind);

/// What is known of the machine of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Setting {
    /// It is a guest.
    pub guest: bool,
    /// Its kernel is `PREEMPT_RT`.
    pub rt: bool,
    /// Measuring threads may run on any CPU, as the deadline class wants it.
    pub roams: bool,
    /// Times in which the machine stood still or was suspended.
    pub stretches: Vec<Stretch>,
    /// Its idle states by number; none where that is not known.
    pub idle: Vec<IdleState>,
}

impl Setting {
    pub(super) fn of(recording: &Recording) -> Self {
        let fact = |name: &str, word: &str| {
            let facts = &recording.header.machine;
            facts.iter().any(|(fact, value)| fact == name && value.contains(word))
        };
        let idle = recording.header.machine.iter().find(|(fact, _)| fact == IDLE);
        let epoch = recording.header.epoch;
        let stands = |kind| matches!(kind, EventKind::Suspended | EventKind::Paused);
        let stretch = |event: &crate::recording::Event| {
            let to = epoch.plus(event.at.since_epoch());
            (to.minus(event.length), to, event.kind)
        };
        Self {
            guest: fact("virtualisation", "guest of"),
            rt: fact("kernel", "PREEMPT_RT"),
            roams: matches!(recording.header.scenario.policy, Policy::Deadline { .. }),
            stretches: recording.events.iter().filter(|event| stands(event.kind)).map(stretch).collect(),
            idle: idle.map(|(_, line)| IdleState::parse_line(line)).unwrap_or_default(),
        }
    }
}

/// What speaks of one window.
#[derive(Debug)]
pub(super) struct Witness<'a> {
    setting: &'a Setting,
    window: &'a Window,
    /// Those of the run that overlap the window.
    stretches: Vec<&'a Stretch>,
}

impl<'a> Witness<'a> {
    pub(super) fn of(setting: &'a Setting, window: &'a Window) -> Self {
        let overlaps = |(from, to, _): &&Stretch| *from < window.woke && window.release < *to;
        Self { setting, window, stretches: setting.stretches.iter().filter(overlaps).collect() }
    }

    /// By how much a counter grew, and by how much it usually does.
    fn grew(&self, counter: &Counter) -> Option<(u64, Option<u64>)> {
        let around = self.window.around.as_ref()?;
        around.changes.iter().find(|change| change.counter == *counter).map(|change| (change.by, change.usually))
    }

    /// A counter grew, and not as it always does.
    fn stands_out(&self, counter: &Counter) -> Option<u64> {
        let (by, usually) = self.grew(counter)?;
        (by > usually.unwrap_or(0).saturating_mul(2)).then_some(by)
    }

    /// Real-time throttling set in.
    pub(super) fn throttled(&self) -> Option<Why> {
        self.stands_out(&Counter::RtThrottled).map(|by| Why::Counter { name: "throttled".to_owned(), grew: by })
    }

    /// The whole machine stood still for most of such a gap: whoever had the CPU is not to blame.
    pub(super) fn paused(&self, from: MonoTime, to: MonoTime) -> Option<(Class, Why)> {
        let length = to.since(from);
        let most = |part: Nanos| part.as_ns() >= length.as_ns().saturating_mul(4) / 5;
        let stood = self.window.around.as_ref().and_then(|around| around.standstill);
        let stood = stood.filter(|_| most(self.quiet_elsewhere(from, to)));
        if let Some(stood) = stood.filter(|stood| length >= STANDSTILL_LEAST && most(*stood)) {
            return Some((Class::Paused, Why::Counter { name: "standstill".to_owned(), grew: stood.as_ns() }));
        }
        self.stretch(from, to)
    }

    /// The run itself says that the machine stood still for most of this time.
    pub(super) fn stretch(&self, from: MonoTime, to: MonoTime) -> Option<(Class, Why)> {
        let length = to.since(from);
        let most = |part: Nanos| part.as_ns() >= length.as_ns().saturating_mul(4) / 5;
        self.stretches.iter().find_map(|(begin, end, kind)| {
            let common = to.min(*end).since(from.max(*begin));
            let name = if *kind == EventKind::Suspended { "suspended" } else { "standstill" };
            let told = length >= Nanos::from_us(100) && most(common);
            told.then(|| (Class::Paused, Why::Counter { name: name.to_owned(), grew: common.as_ns() }))
        })
    }

    /// The longest time in it without a record of another CPU. CPUs of a guest do not go on all at once.
    fn quiet_elsewhere(&self, from: MonoTime, to: MonoTime) -> Nanos {
        let elsewhere = self.window.elsewhere.iter().map(|(_, record)| record.at);
        let mut at: Vec<MonoTime> = elsewhere.filter(|at| from < *at && *at < to).chain([from, to]).collect();
        at.sort_unstable();
        at.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or_default()
    }

    /// What was outside of the kernel, in a gap in which nothing the kernel ran can be named.
    pub(super) fn outside(&self, from: MonoTime, to: MonoTime) -> Option<(Class, Why)> {
        if let Some(paused) = self.paused(from, to) {
            return Some(paused);
        }
        if let Some(by) = self.stands_out(&Counter::Smi) {
            return Some((Class::Firmware, Why::Counter { name: "SMI".to_owned(), grew: by }));
        }
        let enough = |by: &u64| *by >= to.since(from).as_ns() / 2;
        let steal = self.stands_out(&Counter::Steal).filter(enough);
        steal.map(|by| (Class::Hypervisor, Why::Counter { name: "steal".to_owned(), grew: by }))
    }

    /// The host took this guest's CPU around the window, from whomever.
    pub(super) fn stolen(&self) -> Option<Why> {
        let by = self.stands_out(&Counter::Steal).filter(|by| self.setting.guest && *by > 0)?;
        Some(Why::PartlyStolen { time: Nanos::from_ns(by).min(self.window.woke.since(self.window.release)) })
    }

    /// Whether the way out of this idle state, or of any where that is not known, can take so long.
    pub(super) fn is_idle_exit(&self, state: Option<u32>, length: Nanos) -> bool {
        let states = &self.setting.idle;
        let known = state.and_then(|state| states.get(state as usize)).or_else(|| states.iter().max_by_key(|s| s.exit));
        let most = known.map_or(IDLE_MOST, |state| state.exit.times(IDLE_TIMES).max(IDLE_LEAST));
        length <= if self.setting.guest { GUEST_IDLE } else { most }
    }

    /// The name of an idle state.
    pub(super) fn idle_state(&self, state: u32) -> String {
        self.setting.idle.get(state as usize).map_or_else(|| format!("state {state}"), |state| state.name.clone())
    }
}
