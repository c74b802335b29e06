//! How each type of a recording is written: its fields, in the order in which they are listed here, and nothing else.
//!
//! The types themselves do not depend on the format. A new field or variant needs a new format number; a new kind of
//! frame does not, because readers skip frames they do not know.

use super::bits::{BitReader, BitWriter, Damage};
#[cfg(test)]
use super::strategies::{Made, Numbers};
use crate::placement::Placement;
use crate::recording::{
    Clock, Earliest, End, EndReason, Event, EventKind, Frame, FurtherRun, Granted, Header, InBand, InForce, LoadDone,
    Mark, MarkKind, MaximaLost, Moment, RecTime, ThreadPhase, WarmUp, WatchedProgram, WatchedThread, Worst,
};
use crate::scenario::{Amount, Channel, LoadPhase, Mechanism, OtherClock, Policy, ProbeThread, Scenario, TimerPhase};
use punctual_facts::cpu_set::{CPU_LIMIT, CpuSet};
use punctual_facts::finding::{Confidence, Evidence, Finding, Severity, State, WhyUnknown};
use punctual_facts::machine::MachineLine;
use punctual_hist::{Activation, MonoTime, Nanos};

/// A value that a frame can hold, written to bits and read back.
pub(super) trait Wire: Sized {
    fn put(&self, to: &mut BitWriter);
    fn take(from: &mut BitReader) -> Result<Self, Damage>;
}

pub(super) const UNKNOWN_VARIANT: Damage = Damage("a value is none of those this format has");
pub(super) const TOO_LARGE: Damage = Damage("a number is too large for its field");

/// Only the text is written, as every version of the format has it.
impl Wire for WhyUnknown {
    fn put(&self, to: &mut BitWriter) {
        self.because.put(to);
    }

    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        Wire::take(from).map(Self::recorded)
    }
}

#[cfg(test)]
impl Made for WhyUnknown {
    fn made(of: &mut Numbers) -> Self {
        Self::recorded(Made::made(of))
    }
}

/// Implements [`Wire`] for structs: the fields are written in the listed order.
macro_rules! fields {
    ($($type:ident { $($field:ident),+ })+) => { $(
        impl Wire for $type {
            fn put(&self, to: &mut BitWriter) {
                $( self.$field.put(to); )+
            }
            fn take(from: &mut BitReader) -> Result<Self, Damage> {
                Ok(Self { $( $field: Wire::take(from)? ),+ })
            }
        }

        #[cfg(test)]
        impl Made for $type {
            fn made(of: &mut Numbers) -> Self {
                Self { $( $field: Made::made(of) ),+ }
            }
        }
    )+ };
}

/// Implements [`Wire`] for enums: the number of the variant is written, then its fields, which the pattern names.
macro_rules! variants {
    ($($type:ident { $($number:literal => $variant:ident $(($($inner:ident),+))? $({ $($field:ident),+ })?),+ })+) => { $(
        impl Wire for $type {
            fn put(&self, to: &mut BitWriter) {
                match self {
                    $( Self::$variant $(($($inner),+))? $({ $($field),+ })? => {
                        to.number(3, $number);
                        $($( $inner.put(to); )+)?
                        $($( $field.put(to); )+)?
                    } )+
                }
            }
            fn take(from: &mut BitReader) -> Result<Self, Damage> {
                match from.number(3)? {
                    $( $number => {
                        $($( let $inner = Wire::take(from)?; )+)?
                        $($( let $field = Wire::take(from)?; )+)?
                        Ok(Self::$variant $(($($inner),+))? $({ $($field),+ })?)
                    } )+
                    _ => Err(UNKNOWN_VARIANT),
                }
            }
        }

        #[cfg(test)]
        impl Made for $type {
            fn made(of: &mut Numbers) -> Self {
                match of.early(&[$( $number ),+]) {
                    $( $number => {
                        $($( let $inner = Made::made(of); )+)?
                        $($( let $field = Made::made(of); )+)?
                        Self::$variant $(($($inner),+))? $({ $($field),+ })?
                    } )+
                    _ => unreachable!("one of the numbers above"),
                }
            }
        }
    )+ };
}

fields! {
    Header { tool_version, started_unix_ns, epoch, scenario, machine, placement, clock, checkpoint }
    Placement { housekeeping, loads, isolated, shared, shared_siblings }
    Clock { source, read_cost, tick, phase }
    ThreadPhase { cpu, offset }
    Granted { cpu, tid, policy, affinity, memory_locked }
    InForce { moment, values }
    WarmUp { cpu, activations, max }
    Mark { at, kind }
    Event { at, length, kind, releases_lost }
    LoadDone { phase, name, cpus, unit, operations, time, failure }
    End { at, reason, write_error }
    FurtherRun { at, header }
    Finding { id, title, severity, state, evidence, why, fix, cost, confidence }
    Evidence { source, value }
    MachineLine { name, value }
    Scenario {
        threads, policy, mechanism, phase, warm_up, length, budget, limit, dma_latency_us, load_phases, load_cpus, suite
    }
    ProbeThread { cpu, period }
    InBand { at, cpu, switches }
    Earliest { at, cpu, by }
    WatchedProgram { pid, name, threads }
    WatchedThread { number, tid, name }
    LoadPhase { loads, parts }
}

variants! {
    Moment { 0 => Before, 1 => During, 2 => After }
    MarkKind { 0 => PhaseStart(n), 1 => PhaseEnd(n), 2 => LoadSkipped { load, why }, 3 => Note(text) }
    EventKind {
        0 => Suspended, 1 => Paused, 2 => WallClockStep, 3 => TscDrift, 4 => Steal, 5 => Throttled, 6 => RtThrottled,
        8 => Moved
    }
    EndReason {
        0 => Completed, 1 => Interrupted, 2 => LimitExceeded, 3 => Stalled, 4 => CoreLost, 5 => SourceLost,
        6 => ProgramEnded
    }
    Severity { 0 => Info, 1 => Medium, 2 => High, 3 => Fatal }
    State { 0 => Good, 1 => Bad, 2 => Unknown(why), 3 => NotApplicable(why), 4 => Advice(why) }
    Confidence { 0 => Low, 1 => Medium, 2 => High }
    Policy { 0 => Fifo(priority), 1 => RoundRobin(priority), 2 => Deadline { runtime }, 3 => Other }
    Mechanism {
        0 => Absolute, 1 => Relative, 2 => Timerfd, 3 => Futex, 4 => Spin, 5 => Nanosleep, 6 => Hybrid, 7 => Evl,
        8 => Cobalt, 9 => CobaltTimer, 10 => EvlKernel, 11 => EvlIrq, 12 => CobaltKernel, 13 => CobaltIrq,
        14 => OnClock(clock), 15 => RoundTrip(channel)
    }
    Channel { 0 => Rpmsg, 1 => SharedMemory }
    OtherClock { 0 => Realtime, 1 => Tai, 2 => Auxiliary(number), 3 => Ptp(number) }
    TimerPhase { 0 => Auto, 1 => Aligned, 2 => Staggered, 3 => Random(seed) }
    Amount { 0 => Time(length), 1 => Activations(n) }
}

/// The kind of event as which lost maxima are written. The number of lost maxima, as a time in seconds, stands in the
/// place of the event's length.
const MAXIMA_LOST: u64 = 7;
const SECOND: Nanos = Nanos::from_secs(1);

impl MaximaLost {
    pub(super) fn put(&self, to: &mut BitWriter) {
        let no_releases_lost = 0_u64;
        self.at.put(to);
        SECOND.times(self.blocks).put(to);
        to.number(3, MAXIMA_LOST);
        no_releases_lost.put(to);
    }
}

/// Reads an event or lost maxima, which share one kind of frame.
pub(super) fn take_happened(from: &mut BitReader) -> Result<Frame, Damage> {
    let (at, length) = (Wire::take(from)?, Nanos::take(from)?);
    let mut ahead = from.clone();
    if ahead.number(3)? != MAXIMA_LOST {
        let (kind, releases_lost) = (Wire::take(from)?, Wire::take(from)?);
        return Ok(Frame::Event(Event { at, length, kind, releases_lost }));
    }
    *from = ahead;
    let _no_releases_lost = u64::take(from)?;
    Ok(Frame::MaximaLost(MaximaLost { at, blocks: length.whole(SECOND) }))
}

macro_rules! integers {
    ($($type:ident)+) => { $(
        impl Wire for $type {
            fn put(&self, to: &mut BitWriter) {
                to.number(7, u64::from(*self));
            }
            fn take(from: &mut BitReader) -> Result<Self, Damage> {
                Self::try_from(from.number(7)?).map_err(|_| TOO_LARGE)
            }
        }
    )+ };
}

integers! { u8 u16 u32 u64 }

pub(super) use {fields, variants};

impl Wire for bool {
    fn put(&self, to: &mut BitWriter) {
        to.bits(u64::from(*self), 1);
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        Ok(from.bits(1)? == 1)
    }
}

impl Wire for Nanos {
    fn put(&self, to: &mut BitWriter) {
        to.number(20, self.as_ns());
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        from.number(20).map(Self::from_ns)
    }
}

impl Wire for RecTime {
    fn put(&self, to: &mut BitWriter) {
        self.since_epoch().put(to);
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        Nanos::take(from).map(Self::after_epoch)
    }
}

impl Wire for MonoTime {
    fn put(&self, to: &mut BitWriter) {
        to.number(48, self.as_ns());
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        from.number(48).map(Self::from_ns)
    }
}

impl Wire for String {
    fn put(&self, to: &mut BitWriter) {
        to.number(7, self.len() as u64);
        to.bytes(self.as_bytes());
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        let length = from.number(7)?;
        let text = std::str::from_utf8(from.bytes(length)?).map_err(|_| Damage("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut BitWriter) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        if bool::take(from)? { T::take(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, to: &mut BitWriter) {
        to.number(4, self.len() as u64);
        for value in self {
            value.put(to);
        }
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        // The vector grows item by item, so that a damaged count does not reserve memory.
        (0..from.count(4)?).map(|_| T::take(from)).collect()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, to: &mut BitWriter) {
        self.0.put(to);
        self.1.put(to);
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, to: &mut BitWriter) {
        (**self).put(to);
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        T::take(from).map(Self::new)
    }
}

/// A CPU set is written as its size and the gap before each CPU.
impl Wire for CpuSet {
    fn put(&self, to: &mut BitWriter) {
        // A CPU at or above `CPU_LIMIT` is left out, because readers refuse the whole set.
        let cpus = || self.iter().filter(|cpu| *cpu < CPU_LIMIT);
        to.number(4, cpus().count() as u64);
        let mut next = 0;
        for cpu in cpus() {
            to.number(0, u64::from(cpu - next));
            next = cpu + 1;
        }
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        let count = from.count(4)?;
        let mut next = 0u32;
        let take_cpu = |_| {
            let gap = u32::try_from(from.number(0)?).map_err(|_| TOO_LARGE)?;
            let cpu = next.checked_add(gap).filter(|cpu| *cpu < CPU_LIMIT).ok_or(TOO_LARGE)?;
            next = cpu + 1;
            Ok(cpu)
        };
        (0..count).map(take_cpu).collect()
    }
}

/// Lists of worst activations are written often, so an entry has a code of its own: 17 bytes instead of 40 with plain
/// fields.
impl Wire for Worst {
    fn put(&self, to: &mut BitWriter) {
        let late = &self.activation;
        to.number(4, u64::from(self.cpu));
        to.number(48, late.release.as_ns());
        to.difference(14, late.release.as_ns(), late.woke.as_ns());
        to.number(32, late.index);
        to.difference(0, u64::from(self.cpu), u64::from(late.cpu));
        for counter in [late.involuntary_switches, late.faults, late.migrations] {
            to.number(0, u64::from(counter));
        }
        to.number(30, late.counted_over.as_ns());
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        let narrow = |n: u64| u32::try_from(n).map_err(|_| TOO_LARGE);
        let cpu = narrow(from.number(4)?)?;
        let release = from.number(48)?;
        let activation = Activation {
            release: MonoTime::from_ns(release),
            woke: MonoTime::from_ns(from.difference(14, release)?),
            index: from.number(32)?,
            cpu: narrow(from.difference(0, u64::from(cpu))?)?,
            involuntary_switches: narrow(from.number(0)?)?,
            faults: narrow(from.number(0)?)?,
            migrations: narrow(from.number(0)?)?,
            counted_over: Nanos::from_ns(from.number(30)?),
        };
        Ok(Self { cpu, activation })
    }
}
