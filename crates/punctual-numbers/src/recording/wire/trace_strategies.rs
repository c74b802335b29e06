//! Every window of a trace there can be, for property tests: mostly few tasks and short times, so that things nest and
//! collide; sometimes numbers of any size.

use super::strategies::{nanos, text, wide};
use crate::trace::{
    Address, Around, Blind, Change, Context, Counter, Incomplete, Kept, Late, LateList, LateTotal, Line, Names,
    NoiseKind, Record, Rung, SelfTest, Tid, TraceTotal, Tracing, Vector, What, Window,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use punctual_hist::{MonoTime, Nanos};

fn tid() -> impl Strategy<Value = Tid> {
    prop_oneof![8 => select(vec![0, 7, 8, 9]), 1 => any::<Tid>()]
}

fn prio() -> impl Strategy<Value = i32> {
    prop_oneof![8 => select(vec![0, 9, 49, 120]), 1 => any::<i32>()]
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![8 => 0u64..4, 1 => any::<u64>()].prop_map(Address)
}

fn few() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0u32..4, 1 => any::<u32>()]
}

fn vector() -> impl Strategy<Value = Vector> {
    select(Vector::ALL.to_vec())
}

fn noise_kind() -> impl Strategy<Value = NoiseKind> {
    select(vec![NoiseKind::Nmi, NoiseKind::Irq, NoiseKind::Softirq, NoiseKind::Thread])
}

fn scheduling() -> impl Strategy<Value = What> {
    let switch = (tid(), prio(), few(), tid(), prio());
    prop_oneof![
        4 => switch.prop_map(|(prev, prev_prio, prev_state, next, next_prio)| What::Switch {
            prev, prev_prio, prev_state, next, next_prio
        }),
        2 => (tid(), prio(), few()).prop_map(|(tid, prio, target)| What::Waking { tid, prio, target }),
        1 => (tid(), prio(), prio()).prop_map(|(tid, from, prio)| What::Boost { tid, from, prio }),
        1 => (tid(), few(), few()).prop_map(|(tid, from_cpu, to_cpu)| What::Migrate { tid, from_cpu, to_cpu }),
        1 => address().prop_map(|function| What::WorkStart { function }),
        1 => Just(What::WorkEnd),
        1 => option::of(few()).prop_map(|state| What::Idle { state }),
        1 => (address(), address(), any::<bool>()).prop_map(|(address, ip, user)| What::Fault { address, ip, user }),
        1 => (few(), any::<u32>()).prop_map(|(cpu, khz)| What::Frequency { cpu, khz }),
        1 => option::of(wide()).prop_map(|count| What::Lost { count }),
    ]
}

fn interrupts() -> impl Strategy<Value = What> {
    let fires = |(timer, function)| What::HrtimerEntry { timer, function };
    prop_oneof![
        few().prop_map(|irq| What::IrqEntry { irq }),
        few().prop_map(|irq| What::IrqExit { irq }),
        few().prop_map(|vector| What::SoftirqEntry { vector }),
        few().prop_map(|vector| What::SoftirqExit { vector }),
        few().prop_map(|vector| What::SoftirqRaise { vector }),
        vector().prop_map(|vector| What::VectorEntry { vector }),
        vector().prop_map(|vector| What::VectorExit { vector }),
        (address(), address(), any::<i64>()).prop_map(|(timer, function, expires)| What::HrtimerStart {
            timer,
            function,
            expires
        }),
        (address(), address()).prop_map(fires),
        address().prop_map(|timer| What::HrtimerExit { timer }),
        (address(), address()).prop_map(|(timer, function)| What::TimerEntry { timer, function }),
        address().prop_map(|timer| What::TimerExit { timer }),
        address().prop_map(|function| What::CallEntry { function }),
        Just(What::CallExit),
        (few(), address(), address()).prop_map(|(target, callsite, callback)| What::IpiSend {
            target,
            callsite,
            callback
        }),
    ]
}

fn told() -> impl Strategy<Value = What> {
    let noise = (noise_kind(), tid(), wide(), nanos());
    prop_oneof![
        (address(), 0u64..60_000).prop_map(|(handler, took)| What::Nmi { handler, took: Nanos::from_ns(took) }),
        (address(), nanos()).prop_map(|(handler, took)| What::Nmi { handler, took }),
        noise.prop_map(|(kind, id, start, took)| What::Noise { kind, id, start: MonoTime::from_ns(start), took }),
        (any::<u8>(), nanos()).prop_map(|(context, latency)| What::Timerlat { context, latency }),
        vec(address(), 0..9).prop_map(|addresses| What::Stack { addresses }),
    ]
}

/// A record so long after an instant, or at any time.
fn record(base: u64) -> impl Strategy<Value = Record> {
    let at = prop_oneof![12 => (0u64..120_000).prop_map(move |after| base.saturating_add(after)), 1 => any::<u64>()];
    let flags = prop_oneof![4 => select(vec![0u8, 0x01, 0x05, 0x09, 0x0d, 0x10, 0x19]), 1 => any::<u8>()];
    let what = prop_oneof![4 => scheduling(), 4 => interrupts(), 1 => told()];
    (at, tid(), flags, any::<u8>(), what).prop_map(|(at, tid, flags, preempt, what)| Record {
        at: MonoTime::from_ns(at),
        tid,
        context: Context { flags, preempt },
        what,
    })
}

fn names() -> impl Strategy<Value = Names> {
    let name = select(vec!["", "hog", "kworker/1:2", "ksoftirqd/1", "migration/1", "irq/9-x", "idle"]);
    let task = prop_oneof![name.prop_map(str::to_owned), text()];
    let function = prop_oneof![Just("hrtimer_wakeup".to_owned()), text()];
    let line =
        (text(), text(), any::<bool>()).prop_map(|(action, affinity, managed)| Line { action, affinity, managed });
    let (tasks, irqs) = (btree_map(tid(), task, 0..4), btree_map(few(), line, 0..3));
    let kernel_threads = vec(tid(), 0..3);
    (tasks, kernel_threads, irqs, btree_map(address(), function, 0..4))
        .prop_map(|(tasks, kernel_threads, irqs, functions)| Names { tasks, kernel_threads, irqs, functions })
}

fn counter() -> impl Strategy<Value = Counter> {
    let plain = vec![
        Counter::RunDelay,
        Counter::OwnRunDelay,
        Counter::Steal,
        Counter::Smi,
        Counter::Throttled,
        Counter::FrequencyRatio,
        Counter::MinorFaults,
        Counter::MajorFaults,
        Counter::InvoluntarySwitches,
        Counter::VoluntarySwitches,
        Counter::Migrations,
        Counter::RtThrottled,
    ];
    prop_oneof![
        select(plain),
        (text(), text()).prop_map(|(line, what)| Counter::Interrupt(line, what)),
        text().prop_map(Counter::Softirq),
        text().prop_map(Counter::IdleState),
    ]
}

fn around() -> impl Strategy<Value = Around> {
    let change =
        (counter(), wide(), option::of(wide())).prop_map(|(counter, by, usually)| Change { counter, by, usually });
    (wide(), wide(), vec(change, 0..6), option::of(nanos())).prop_map(|(from, to, changes, standstill)| Around {
        from: MonoTime::from_ns(from),
        to: MonoTime::from_ns(to),
        changes,
        standstill,
    })
}

fn incomplete() -> impl Strategy<Value = Incomplete> {
    select(vec![
        Incomplete::Lost,
        Incomplete::Late,
        Incomplete::Short,
        Incomplete::Warped,
        Incomplete::TooLong,
        Incomplete::NoTrace,
        Incomplete::Holes,
        Incomplete::Elsewhere,
    ])
}

/// Any window.
pub(crate) fn window() -> impl Strategy<Value = Window> {
    let who = (few(), select(vec![Kept::Worst, Kept::Sampled, Kept::Ordinary]), few(), tid(), any::<u16>());
    let late = prop_oneof![4 => 0u64..100_000, 1 => wide()];
    let told = (names(), option::weighted(0.2, incomplete()), option::of(around()));
    (wide(), late, who, told)
        .prop_flat_map(|(release, late, who, told)| {
            let base = release.saturating_sub(20_000);
            let records = prop_oneof![4 => vec(record(base), 0..60).prop_map(sorted), 1 => vec(record(base), 0..60)];
            let elsewhere = vec((few(), record(base)), 0..4);
            (Just((release, late, who, told)), records, elsewhere)
        })
        .prop_map(|((release, late, who, told), records, elsewhere)| Window {
            slot: who.0,
            kept: who.1,
            cpu: who.2,
            tid: who.3,
            release: MonoTime::from_ns(release),
            woke: MonoTime::from_ns(release.saturating_add(late)),
            phase: who.4,
            records,
            elsewhere,
            names: told.0,
            incomplete: told.1,
            around: told.2,
        })
}

fn sorted(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|record| record.at);
    records
}

pub(super) fn late_list() -> impl Strategy<Value = LateList> {
    let late = (any::<u32>(), wide(), nanos()).prop_map(|(cpu, release, latency)| Late {
        cpu,
        release: MonoTime::from_ns(release),
        latency,
    });
    let total =
        (any::<u32>(), wide(), nanos(), nanos(), wide()).prop_map(|(cpu, count, latency, threshold, passed_over)| {
            LateTotal { cpu, count, latency, threshold, passed_over }
        });
    (vec(late, 0..6), vec(total, 0..3)).prop_map(|(late, totals)| LateList { late, totals })
}

pub(super) fn trace_total() -> impl Strategy<Value = TraceTotal> {
    (any::<u32>(), wide(), wide(), wide()).prop_map(|(cpu, records, lost, bytes)| TraceTotal {
        cpu,
        records,
        lost,
        bytes,
    })
}

fn rung() -> impl Strategy<Value = Rung> {
    select(vec![Rung::Timerlat, Rung::Tracefs, Rung::Bpf, Rung::Deltas, Rung::InProcess])
}

pub(super) fn tracing() -> impl Strategy<Value = Tracing> {
    let blind = prop_oneof![
        select(vec![Blind::Records, Blind::CriticalSections, Blind::Firmware, Blind::Hypervisor]),
        text().prop_map(Blind::Event),
        any::<u32>().prop_map(Blind::Holes),
        (text(), text()).prop_map(|(what, why)| Blind::Witness(what, why)),
    ];
    let self_test = (any::<[u32; 5]>(), nanos()).prop_map(|([cpu, timers, expiries, wakings, switches], warp)| {
        SelfTest { cpu, timers, expiries, wakings, switches, warp }
    });
    let how = (rung(), vec((rung(), text()), 0..3), vec(any::<u16>(), 0..3), vec(text(), 0..3));
    let limits = (text(), wide(), option::of(nanos()), any::<u32>());
    (how, vec(blind, 0..4), limits, vec(self_test, 0..3)).prop_map(|(how, blind, limits, self_test)| Tracing {
        rung: how.0,
        refused: how.1,
        phases: how.2,
        events: how.3,
        blind,
        clock: limits.0,
        buffer_bytes: limits.1,
        threshold: limits.2,
        windows_max: limits.3,
        self_test,
    })
}
