//! Every frame there can be, for property tests.

pub(crate) use super::trace_strategies::window;
use super::trace_strategies::{late_list, trace_total, tracing};
use crate::placement::Placement;
use crate::recording::{
    Clock, Counters, CpuInterval, End, EndReason, Event, EventKind, Frame, FurtherRun, Granted, Header, InForce,
    Interval, LoadDone, Mark, MarkKind, MaximaLost, Moment, RecTime, WarmUp, Worst,
};
use crate::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Confidence, Evidence, Finding, Severity, State};
use punctual_hist::{Activation, BUCKETS, MonoTime, Nanos};

/// Any frame.
pub(crate) fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        header().prop_map(|header| Frame::Header(Box::new(header))),
        vec(granted(), 0..4).prop_map(Frame::Threads),
        vec(finding(), 0..4).prop_map(Frame::Findings),
        (moment(), texts()).prop_map(|(moment, values)| Frame::InForce(InForce { moment, values })),
        vec((any::<u32>(), any::<u64>(), nanos()), 0..4).prop_map(|list| {
            let warm_up = |(cpu, activations, max)| WarmUp { cpu, activations, max };
            Frame::WarmUp(list.into_iter().map(warm_up).collect())
        }),
        interval().prop_map(Frame::Interval),
        (nanos(), mark_kind()).prop_map(|(at, kind)| Frame::Mark(Mark { at: RecTime::after_epoch(at), kind })),
        event().prop_map(Frame::Event),
        (nanos(), 0..=u64::MAX / 1_000_000_000)
            .prop_map(|(at, blocks)| Frame::MaximaLost(MaximaLost { at: RecTime::after_epoch(at), blocks })),
        vec(worst(), 0..6).prop_map(Frame::Worst),
        load_done().prop_map(Frame::LoadDone),
        end().prop_map(Frame::End),
        tracing().prop_map(Frame::Tracing),
        window().prop_map(|window| Frame::Window(Box::new(window))),
        late_list().prop_map(Frame::Late),
        vec(trace_total(), 0..4).prop_map(Frame::TraceTotals),
        (nanos(), header())
            .prop_map(|(at, header)| Frame::Run(Box::new(FurtherRun { at: RecTime::after_epoch(at), header }))),
    ]
}

/// Any header.
pub(crate) fn header() -> impl Strategy<Value = Header> {
    let times = (any::<u64>(), any::<u64>(), nanos());
    (text(), times, scenario(), texts(), placement(), clock()).prop_map(
        |(tool_version, (started_unix_ns, epoch, checkpoint), scenario, machine, placement, clock)| Header {
            tool_version,
            started_unix_ns,
            epoch: MonoTime::from_ns(epoch),
            scenario,
            machine,
            placement,
            clock,
            checkpoint,
        },
    )
}

/// Any interval a measurement could make: buckets and seconds ascend.
pub(crate) fn interval() -> impl Strategy<Value = Interval> {
    (nanos(), nanos(), any::<u16>(), vec(cpu_interval(), 0..4)).prop_map(|(start, length, phase, cpus)| Interval {
        start: RecTime::after_epoch(start),
        length,
        phase,
        cpus,
    })
}

fn cpu_interval() -> impl Strategy<Value = CpuInterval> {
    let ran = (buckets(), nanos(), option::of(nanos()), option::of(nanos()));
    let skipped = (buckets(), nanos(), nanos());
    let rest = (wide(), wide(), nanos(), btree_map(any::<u32>(), nanos(), 0..20), any::<[u64; 5]>());
    (0u32..8192, ran, skipped, rest).prop_map(|(cpu, ran, skipped, rest)| CpuInterval {
        cpu,
        ran: ran.0,
        ran_sum: ran.1,
        ran_min: ran.2,
        ran_max: ran.3,
        skipped: skipped.0,
        skipped_sum: skipped.1,
        skipped_max: skipped.2,
        over_budget: rest.0,
        early: rest.1,
        longest_gap: rest.2,
        block_max: rest.3.into_iter().collect(),
        counters: counters(rest.4),
    })
}

fn counters(n: [u64; 5]) -> Counters {
    let [voluntary_switches, involuntary_switches, minor_faults, major_faults, migrations] = n;
    Counters { voluntary_switches, involuntary_switches, minor_faults, major_faults, migrations }
}

#[allow(clippy::cast_possible_truncation, reason = "there are 3776 buckets")]
fn buckets() -> impl Strategy<Value = Vec<(u16, u64)>> {
    btree_map(0..BUCKETS as u16, wide(), 0..60).prop_map(|pairs| pairs.into_iter().collect())
}

/// Numbers of every magnitude alike.
pub(super) fn wide() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(n, shift)| n >> shift)
}

pub(super) fn nanos() -> impl Strategy<Value = Nanos> {
    wide().prop_map(Nanos::from_ns)
}

pub(super) fn text() -> impl Strategy<Value = String> {
    ".{0,12}"
}

fn texts() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..4)
}

fn cpu_set() -> impl Strategy<Value = CpuSet> {
    btree_set(0u32..8192, 0..12).prop_map(|cpus| cpus.into_iter().collect())
}

fn placement() -> impl Strategy<Value = Placement> {
    (cpu_set(), cpu_set(), cpu_set(), cpu_set(), cpu_set()).prop_map(
        |(housekeeping, loads, isolated, shared, shared_siblings)| Placement {
            housekeeping,
            loads,
            isolated,
            shared,
            shared_siblings,
        },
    )
}

fn clock() -> impl Strategy<Value = Clock> {
    (option::of(text()), nanos(), nanos(), vec((any::<u32>(), nanos()), 0..4))
        .prop_map(|(source, read_cost, tick, phase)| Clock { source, read_cost, tick, phase })
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        any::<u8>().prop_map(Policy::Fifo),
        any::<u8>().prop_map(Policy::RoundRobin),
        nanos().prop_map(|runtime| Policy::Deadline { runtime }),
        Just(Policy::Other),
    ]
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![nanos().prop_map(Amount::Time), any::<u64>().prop_map(Amount::Activations)]
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let thread = (any::<u32>(), nanos()).prop_map(|(cpu, period)| ProbeThread { cpu, period });
    let phase = (vec(text(), 0..3), any::<u32>()).prop_map(|(loads, parts)| LoadPhase { loads, parts });
    let mechanism = prop::sample::select(vec![
        Mechanism::Absolute,
        Mechanism::Relative,
        Mechanism::Timerfd,
        Mechanism::Futex,
        Mechanism::Hybrid,
        Mechanism::Spin,
        Mechanism::Nanosleep,
    ]);
    let fixed = vec![TimerPhase::Auto, TimerPhase::Aligned, TimerPhase::Staggered];
    let timer_phase = prop_oneof![prop::sample::select(fixed), any::<u64>().prop_map(TimerPhase::Random)];
    let how = (vec(thread, 0..5), policy(), mechanism, timer_phase);
    let limits = (option::of(nanos()), option::of(nanos()), option::of(any::<u32>()));
    let loads = (vec(phase, 0..4), option::of(cpu_set()), option::of(text()));
    (how, amount(), amount(), limits, loads).prop_map(|(how, warm_up, length, limits, loads)| Scenario {
        threads: how.0,
        policy: how.1,
        mechanism: how.2,
        phase: how.3,
        warm_up,
        length,
        budget: limits.0,
        limit: limits.1,
        dma_latency_us: limits.2,
        load_phases: loads.0,
        load_cpus: loads.1,
        suite: loads.2,
    })
}

fn granted() -> impl Strategy<Value = Granted> {
    (any::<u32>(), any::<u32>(), policy(), cpu_set(), any::<bool>())
        .prop_map(|(cpu, tid, policy, affinity, memory_locked)| Granted { cpu, tid, policy, affinity, memory_locked })
}

fn finding() -> impl Strategy<Value = Finding> {
    let severity = prop::sample::select(vec![Severity::Info, Severity::Medium, Severity::High, Severity::Fatal]);
    let confidence = prop::sample::select(vec![Confidence::Low, Confidence::Medium, Confidence::High]);
    let state = prop_oneof![
        Just(State::Good),
        Just(State::Bad),
        text().prop_map(State::Unknown),
        text().prop_map(State::NotApplicable),
        text().prop_map(State::Advice)
    ];
    let words = (text(), text(), text(), text(), text());
    (severity, confidence, state, texts(), words).prop_map(|(severity, confidence, state, evidence, words)| Finding {
        id: words.0,
        title: words.1,
        severity,
        state,
        evidence: evidence.into_iter().map(|(source, value)| Evidence { source, value }).collect(),
        why: words.2,
        fix: words.3,
        cost: words.4,
        confidence,
    })
}

fn moment() -> impl Strategy<Value = Moment> {
    prop::sample::select(vec![Moment::Before, Moment::During, Moment::After])
}

fn mark_kind() -> impl Strategy<Value = MarkKind> {
    prop_oneof![
        any::<u16>().prop_map(MarkKind::PhaseStart),
        any::<u16>().prop_map(MarkKind::PhaseEnd),
        (text(), text()).prop_map(|(load, why)| MarkKind::LoadSkipped(load, why)),
        text().prop_map(MarkKind::Note),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(vec![
        EventKind::Suspended,
        EventKind::Paused,
        EventKind::WallClockStep,
        EventKind::TscDrift,
        EventKind::Steal,
        EventKind::Throttled,
        EventKind::RtThrottled,
        EventKind::Moved,
    ]);
    (nanos(), nanos(), kind, wide()).prop_map(|(at, length, kind, releases_lost)| Event {
        at: RecTime::after_epoch(at),
        length,
        kind,
        releases_lost,
    })
}

fn worst() -> impl Strategy<Value = Worst> {
    let times = (wide(), wide(), wide(), nanos());
    (any::<u32>(), times, any::<[u32; 4]>()).prop_map(|(cpu, (release, woke, index, counted_over), counters)| {
        let [on, involuntary_switches, faults, migrations] = counters;
        let (release, woke) = (MonoTime::from_ns(release), MonoTime::from_ns(woke));
        let activation =
            Activation { release, woke, index, cpu: on, involuntary_switches, faults, migrations, counted_over };
        Worst { cpu, activation }
    })
}

fn load_done() -> impl Strategy<Value = LoadDone> {
    let done = (option::of(wide()), nanos(), option::of(text()));
    (any::<u16>(), text(), cpu_set(), text(), done).prop_map(|(phase, name, cpus, unit, done)| LoadDone {
        phase,
        name,
        cpus,
        unit,
        operations: done.0,
        time: done.1,
        failure: done.2,
    })
}

fn end() -> impl Strategy<Value = End> {
    let reason = prop::sample::select(vec![
        EndReason::Completed,
        EndReason::Interrupted,
        EndReason::LimitExceeded,
        EndReason::Stalled,
    ]);
    (nanos(), reason, option::of(text())).prop_map(|(at, reason, write_error)| End {
        at: RecTime::after_epoch(at),
        reason,
        write_error,
    })
}
