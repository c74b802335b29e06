//! Encodes windows of the kernel's trace. A record is written as the difference of its time to the record before, the
//! number of its kind and its fields.

use super::bits::{BitReader, BitWriter, Damage};
#[cfg(test)]
use super::strategies::{Made, Numbers};
use super::values::{TOO_LARGE, UNKNOWN_VARIANT, Wire, fields, variants};
use crate::trace::{
    Address, Around, Blind, Context, Counter, Growth, Incomplete, IrqLine, Kept, Late, LateList, LateTotal, Names,
    NoiseKind, RefusedRung, RemoteRecord, Rung, SelfTest, TraceEvent, TraceRecord, TraceTotal, Tracing, Vector, Window,
};
use punctual_hist::MonoTime;
use std::collections::BTreeMap;

fields! {
    Tracing { rung, refused, phases, events, blind, clock, buffer_bytes, threshold, windows_max, self_test }
    RefusedRung { rung, why }
    SelfTest { cpu, timers, expiries, wakings, switches, warp }
    TraceTotal { cpu, records, lost, bytes }
    LateList { late, totals }
    Late { cpu, release, latency }
    LateTotal { cpu, count, latency, threshold, passed_over }
    Context { flags, preempt }
    IrqLine { action, affinity, managed }
    Names { tasks, kernel_threads, irqs, functions }
    Around { from, to, changes, standstill }
    Growth { counter, by, usually }
}

variants! {
    Rung { 0 => Timerlat, 1 => Tracefs, 2 => Bpf, 3 => Deltas, 4 => InProcess }
    Blind {
        0 => Records, 1 => Event(name), 2 => CriticalSections, 3 => Firmware, 4 => Hypervisor, 5 => Holes(cpu),
        6 => Witness(what, why)
    }
    Kept { 0 => Worst, 1 => Sampled, 2 => Ordinary }
    Incomplete { 0 => Lost, 1 => Late, 2 => Short, 3 => Warped, 4 => TooLong, 5 => NoTrace, 6 => Holes, 7 => Elsewhere }
    NoiseKind { 0 => Nmi, 1 => Irq, 2 => Softirq, 3 => Thread }
    Vector {
        0 => LocalTimer, 1 => Reschedule, 2 => CallFunction, 3 => CallFunctionSingle, 4 => IrqWork, 5 => Thermal,
        6 => MachineCheck, 7 => Platform, 8 => Error, 9 => Ipi
    }
    Counter {
        0 => Interrupt(line, what), 1 => Softirq(name), 2 => RunDelay, 3 => IdleState(name), 4 => Steal, 5 => Smi,
        6 => Throttled, 7 => FrequencyRatio, 8 => MinorFaults, 9 => MajorFaults, 10 => InvoluntarySwitches,
        11 => VoluntarySwitches, 12 => Migrations, 13 => RtThrottled, 14 => OwnRunDelay
    }
    TraceEvent {
        0 => Switch { prev, prev_prio, prev_state, next, next_prio }, 1 => Waking { tid, prio, target },
        2 => IrqEntry { irq }, 3 => IrqExit { irq }, 4 => SoftirqEntry { vector }, 5 => SoftirqExit { vector },
        6 => SoftirqRaise { vector }, 7 => VectorEntry { vector }, 8 => VectorExit { vector },
        9 => HrtimerStart { timer, function, expires }, 10 => HrtimerEntry { timer, function },
        11 => HrtimerExit { timer }, 12 => TimerEntry { timer, function }, 13 => TimerExit { timer },
        14 => Nmi { handler, took }, 15 => WorkStart { function }, 16 => WorkEnd, 17 => CallEntry { function },
        18 => CallExit, 19 => IpiSend { target, callsite, callback }, 20 => Idle { state },
        21 => Fault { address, ip, user }, 22 => Frequency { cpu, khz }, 23 => Migrate { tid, from_cpu, to_cpu },
        24 => Noise { kind, id, start, took }, 25 => Timerlat { context, latency }, 26 => Lost { count },
        27 => Stack { addresses }, 28 => Boost { tid, from, prio }
    }
}

impl Wire for i32 {
    fn put(&self, to: &mut BitWriter) {
        to.difference(9, 0, u64::from_ne_bytes(i64::from(*self).to_ne_bytes()));
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        Self::try_from(i64::from_ne_bytes(from.difference(9, 0)?.to_ne_bytes())).map_err(|_| TOO_LARGE)
    }
}

impl Wire for i64 {
    fn put(&self, to: &mut BitWriter) {
        to.difference(48, 0, u64::from_ne_bytes(self.to_ne_bytes()));
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        from.difference(48, 0).map(|bits| Self::from_ne_bytes(bits.to_ne_bytes()))
    }
}

/// Kernel addresses are near 2^64, so the complement, which is a smaller number, is written.
impl Wire for Address {
    fn put(&self, to: &mut BitWriter) {
        to.number(31, !self.0);
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        from.number(31).map(|bits| Self(!bits))
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, to: &mut BitWriter) {
        to.number(4, self.len() as u64);
        for (key, value) in self {
            key.put(to);
            value.put(to);
        }
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        (0..from.count(4)?).map(|_| Ok((K::take(from)?, V::take(from)?))).collect()
    }
}

/// The time of a record is written as the difference to the record before, mostly microseconds. Differences have a sign,
/// since clocks may step back.
fn put_record(record: &TraceRecord, last: &mut MonoTime, to: &mut BitWriter) {
    to.difference(11, last.as_ns(), record.at.as_ns());
    *last = record.at;
    record.tid.put(to);
    record.context.flags.put(to);
    record.context.preempt.put(to);
    record.what.put(to);
}

fn take_record(last: &mut MonoTime, from: &mut BitReader) -> Result<TraceRecord, Damage> {
    let at = MonoTime::from_ns(from.difference(11, last.as_ns())?);
    *last = at;
    let tid = Wire::take(from)?;
    let context = Context { flags: Wire::take(from)?, preempt: Wire::take(from)? };
    Ok(TraceRecord { at, tid, context, what: Wire::take(from)? })
}

impl Wire for Window {
    fn put(&self, to: &mut BitWriter) {
        self.slot.put(to);
        self.kept.put(to);
        self.cpu.put(to);
        self.tid.put(to);
        self.release.put(to);
        self.woke.put(to);
        self.phase.put(to);
        to.number(6, self.records.len() as u64);
        let mut last = self.release;
        self.records.iter().for_each(|record| put_record(record, &mut last, to));
        to.number(2, self.elsewhere.len() as u64);
        let mut last = self.release;
        for RemoteRecord { cpu, record } in &self.elsewhere {
            cpu.put(to);
            put_record(record, &mut last, to);
        }
        self.names.put(to);
        self.incomplete.put(to);
        self.around.put(to);
    }
    fn take(from: &mut BitReader) -> Result<Self, Damage> {
        let (slot, kept, cpu, tid) = (Wire::take(from)?, Wire::take(from)?, Wire::take(from)?, Wire::take(from)?);
        let (release, woke, phase) = (Wire::take(from)?, Wire::take(from)?, Wire::take(from)?);
        let mut last = release;
        let records = (0..from.count(6)?).map(|_| take_record(&mut last, from)).collect::<Result<_, _>>()?;
        let mut last = release;
        let elsewhere = (0..from.count(2)?)
            .map(|_| Ok(RemoteRecord { cpu: Wire::take(from)?, record: take_record(&mut last, from)? }))
            .collect::<Result<_, _>>()?;
        let (names, incomplete, around) = (Wire::take(from)?, Wire::take(from)?, Wire::take(from)?);
        Ok(Self { slot, kept, cpu, tid, release, woke, phase, records, elsewhere, names, incomplete, around })
    }
}
