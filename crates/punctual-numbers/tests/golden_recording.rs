//! Checks that format 1 does not change: a recording that this version writes equals the committed one byte for byte,
//! and the committed one is read with the expected values. `BLESS=1 cargo test -p punctual-numbers --test
//! golden_recording` writes the committed files again. A difference in the bytes means that existing recordings can no
//! longer be read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Confidence, Evidence, Finding, Severity, State};
use punctual_hist::{Activation, MonoTime, Nanos};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{
    Clock, Counters, CpuInterval, End, EndReason, Event, EventKind, Frame, FrameReader, Good, Granted, Header, InForce,
    Interval, LoadDone, Mark, MarkKind, MaximaLost, Moment, RecTime, ThreadPhase, WarmUp, Worst, encode,
    encode_preamble,
};
use punctual_numbers::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use punctual_numbers::trace::{
    Address, Around, Blind, Context, Counter, Growth, Incomplete, IrqLine, Kept, Late, LateList, LateTotal, Names,
    NoiseKind, RefusedRung, RemoteRecord, Rung, SelfTest, TraceEvent, TraceRecord, TraceTotal, Tracing, Vector, Window,
};
use std::fmt::Write;
use std::path::PathBuf;

/// The frame of lost maxima in the committed recording. Its length of 20 ms is less than one second and so means no
/// lost maximum. No program ever wrote this frame, and this version writes it differently. Tests of the module `wire`
/// check real frames.
const MADE_UP_LOSS: &str = "0b0000000800bc0ce0052101b4c447015575632e";

fn text(text: &str) -> String {
    text.to_owned()
}

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn header() -> Header {
    let phase = |loads: &[&str], parts| LoadPhase { loads: loads.iter().copied().map(text).collect(), parts };
    Header {
        tool_version: text("0.1.0"),
        started_unix_ns: 1_700_000_000_123_456_789,
        epoch: MonoTime::from_ns(987_654_321_000),
        scenario: Scenario {
            threads: [1, 3].map(|cpu| ProbeThread { cpu, period: Nanos::from_ms(1) }).to_vec(),
            policy: Policy::Fifo(90),
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Random(42),
            warm_up: Amount::Activations(100),
            length: Amount::Time(Nanos::from_secs(30)),
            budget: Some(Nanos::from_us(50)),
            limit: None,
            dma_latency_us: Some(0),
            load_phases: vec![phase(&[], 1), phase(&["cpu", "cmd:stress-ng --vm 1"], 2)],
            load_cpus: Some(set("0,2")),
            suite: None,
        },
        machine: vec![("kernel", "6.12.9 PREEMPT_RT").into(), ("processor", "Fictional µ-Core").into()],
        placement: Placement {
            housekeeping: set("0"),
            loads: set("0,2"),
            isolated: set("1,3"),
            shared: CpuSet::new(),
            shared_siblings: set("3"),
        },
        clock: Clock {
            source: Some(text("tsc")),
            read_cost: Nanos::from_ns(24),
            tick: Nanos::from_ms(4),
            phase: [(1, 500), (3, 750)].map(|(cpu, us)| ThreadPhase { cpu, offset: Nanos::from_us(us) }).to_vec(),
        },
        checkpoint: Nanos::from_secs(1),
    }
}

fn intervals() -> [Frame; 2] {
    let busy = CpuInterval {
        cpu: 1,
        ran: vec![(300, 3), (301, 440), (302, 520), (303, 17), (390, 1)],
        ran_sum: Nanos::from_ns(1_755_000),
        ran_min: Some(Nanos::from_ns(1_402)),
        ran_max: Some(Nanos::from_ns(5_001)),
        skipped: vec![(860, 1), (920, 2)],
        skipped_sum: Nanos::from_us(4_000),
        skipped_max: Nanos::from_us(1_900),
        over_budget: 1,
        early: 2,
        longest_gap: Nanos::from_us(2_900),
        block_max: vec![(0, Nanos::from_ns(5_001)), (1, Nanos::from_ns(4_805)), (3, Nanos::from_ns(4_990))],
        counters: Counters {
            voluntary_switches: 981,
            involuntary_switches: 4,
            minor_faults: 1,
            major_faults: 0,
            migrations: 0,
        },
    };
    let silent = CpuInterval { cpu: 3, ..CpuInterval::default() };
    let interval = |start, phase, cpus| {
        Frame::Interval(Interval { start: RecTime::from_secs(start), length: Nanos::from_secs(1), phase, cpus })
    };
    [interval(0, 0, vec![busy, silent]), interval(1, 1, vec![])]
}

fn findings() -> Frame {
    let finding = |id, severity, state, confidence| Finding {
        id: text(id),
        title: text("a knob"),
        severity,
        state,
        evidence: vec![Evidence { source: text("/sys/knob"), value: text("1") }],
        why: text("because"),
        fix: text("turn it"),
        cost: text("nothing"),
        confidence,
    };
    Frame::Findings(vec![
        finding("one", Severity::Fatal, State::Bad, Confidence::High),
        finding("two", Severity::High, State::Unknown("reading is refused".into()), Confidence::Medium),
        finding("three", Severity::Medium, State::NotApplicable(text("no such thing")), Confidence::Low),
        finding("four", Severity::Info, State::Good, Confidence::Low),
    ])
}

fn lists() -> [Frame; 3] {
    let granted =
        |cpu, policy, memory_locked| Granted { cpu, tid: 1000 + cpu, policy, affinity: set("1,3"), memory_locked };
    let deadline = Policy::Deadline { runtime: Nanos::from_us(200) };
    let release = MonoTime::from_ns(987_654_999_000);
    let late = Activation {
        release,
        woke: release.plus(Nanos::from_ns(5_001)),
        index: 678,
        cpu: 1,
        involuntary_switches: 1,
        faults: 2,
        migrations: 0,
        counted_over: Nanos::from_ms(999),
    };
    let early = Activation { release, woke: release.minus(Nanos::from_ns(7)), cpu: 2, ..Activation::default() };
    [
        Frame::Threads(vec![
            granted(1, Policy::Fifo(90), true),
            granted(3, Policy::RoundRobin(1), false),
            granted(4, deadline, true),
            granted(5, Policy::Other, true),
        ]),
        Frame::WarmUp(vec![WarmUp { cpu: 1, activations: 100, max: Nanos::from_us(31) }]),
        Frame::Worst(vec![Worst { cpu: 1, activation: late }, Worst { cpu: 3, activation: early }]),
    ]
}

fn happenings() -> Vec<Frame> {
    let at = Nanos::from_ms(1_500);
    let event = |kind| {
        Frame::Event(Event { at: RecTime::after_epoch(at), length: Nanos::from_ms(20), kind, releases_lost: 40 })
    };
    let kinds = [
        EventKind::Suspended,
        EventKind::Paused,
        EventKind::WallClockStep,
        EventKind::TscDrift,
        EventKind::Steal,
        EventKind::Throttled,
        EventKind::RtThrottled,
    ];
    let marks = [
        MarkKind::PhaseStart(0),
        MarkKind::PhaseEnd(0),
        MarkKind::LoadSkipped { load: text("net"), why: text("no loopback") },
        MarkKind::Note(text("a note")),
    ];
    let lost = Frame::MaximaLost(MaximaLost { at: RecTime::after_epoch(at), blocks: 0 });
    let marks = marks.map(|kind| Frame::Mark(Mark { at: RecTime::after_epoch(at), kind }));
    marks.into_iter().chain(kinds.map(event)).chain([lost, event(EventKind::Moved)]).collect()
}

fn states_and_end() -> Vec<Frame> {
    let state = |moment, value| {
        Frame::InForce(InForce { moment, values: vec![("/sys/kernel/tracing/current_tracer", value).into()] })
    };
    let load = |operations, failure| {
        let (name, unit, time) = (text("cpu"), text("loops"), Nanos::from_secs(20));
        Frame::LoadDone(LoadDone { phase: 1, name, cpus: set("0,2"), unit, operations, time, failure })
    };
    vec![
        state(Moment::Before, "nop"),
        state(Moment::During, "nop"),
        state(Moment::After, "function"),
        load(Some(123_456_789), None),
        load(None, Some(text("exit status 1"))),
        Frame::End(End { at: RecTime::from_secs(2), reason: EndReason::Interrupted, write_error: Some(text("full")) }),
    ]
}

fn tracing() -> [Frame; 3] {
    let tracing = Tracing {
        rung: Rung::Tracefs,
        refused: vec![RefusedRung { rung: Rung::Timerlat, why: text("the kernel has no such tracer") }],
        phases: vec![1],
        events: vec![text("sched:sched_switch"), text("sched:sched_waking")],
        blind: vec![
            Blind::Records,
            Blind::Event(text("nmi:nmi_handler")),
            Blind::CriticalSections,
            Blind::Firmware,
            Blind::Hypervisor,
            Blind::Holes(1),
        ],
        clock: text("mono"),
        buffer_bytes: 8 << 20,
        threshold: Some(Nanos::from_us(150)),
        windows_max: 2000,
        self_test: vec![SelfTest {
            cpu: 1,
            timers: 20,
            expiries: 20,
            wakings: 20,
            switches: 2,
            warp: Nanos::from_ns(40),
        }],
    };
    let late = Late { cpu: 1, release: MonoTime::from_ns(987_654_999_000), latency: Nanos::from_us(310) };
    let (threshold, latency) = (Nanos::from_us(150), Nanos::from_us(490));
    let total = LateTotal { cpu: 1, count: 2, latency, threshold, passed_over: 1 };
    let totals = vec![TraceTotal { cpu: 1, records: 1_234_567, lost: 3, bytes: 44_444_412 }];
    [
        Frame::Tracing(tracing),
        Frame::Late(LateList { late: vec![late], totals: vec![total] }),
        Frame::TraceTotals(totals),
    ]
}

fn happened() -> Vec<TraceEvent> {
    let (timer, function, handler) = (Address(0xffff_8881_0000_1040), Address(0xffff_ffff_8112_3450), Address(0));
    let kinds = [NoiseKind::Nmi, NoiseKind::Irq, NoiseKind::Softirq, NoiseKind::Thread];
    let noise = |kind| TraceEvent::Noise { kind, id: -1, start: MonoTime::from_ns(7), took: Nanos::from_us(2) };
    let mut all = vec![
        TraceEvent::Switch { prev: 900, prev_prio: 9, prev_state: 1, next: 0, next_prio: 120 },
        TraceEvent::Waking { tid: 900, prio: 9, target: 1 },
        TraceEvent::IrqEntry { irq: 131 },
        TraceEvent::IrqExit { irq: 131 },
        TraceEvent::SoftirqEntry { vector: 3 },
        TraceEvent::SoftirqExit { vector: 3 },
        TraceEvent::SoftirqRaise { vector: 3 },
        TraceEvent::HrtimerStart { timer, function, expires: 987_654_999_000 },
        TraceEvent::HrtimerEntry { timer, function },
        TraceEvent::HrtimerExit { timer },
        TraceEvent::TimerEntry { timer, function },
        TraceEvent::TimerExit { timer },
        TraceEvent::Nmi { handler, took: Nanos::from_us(3) },
        TraceEvent::WorkStart { function },
        TraceEvent::WorkEnd,
        TraceEvent::CallEntry { function },
        TraceEvent::CallExit,
        TraceEvent::IpiSend { target: 1, callsite: function, callback: handler },
        TraceEvent::Idle { state: Some(2) },
        TraceEvent::Idle { state: None },
        TraceEvent::Fault { address: Address(0x7f00_1234_5000), ip: Address(0x5555_0000), user: true },
        TraceEvent::Frequency { cpu: 1, khz: 3_200_000 },
        TraceEvent::Migrate { tid: 900, from_cpu: 1, to_cpu: 3 },
        TraceEvent::Boost { tid: 900, from: 120, prio: 9 },
        TraceEvent::Timerlat { context: 1, latency: Nanos::from_us(9) },
        TraceEvent::Lost { count: Some(17) },
        TraceEvent::Lost { count: None },
    ];
    all.extend(Vector::ALL.map(|vector| TraceEvent::VectorEntry { vector }));
    all.push(TraceEvent::VectorExit { vector: Vector::LocalTimer });
    all.extend(kinds.map(noise));
    all
}

fn around() -> Around {
    let counters = [
        Counter::Interrupt(text("131"), text("nvme0q3")),
        Counter::Softirq(text("NET_RX")),
        Counter::RunDelay,
        Counter::IdleState(text("C6")),
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
        Counter::OwnRunDelay,
    ];
    let (from, to) = (MonoTime::from_ns(987_600_000_000), MonoTime::from_ns(987_700_000_000));
    let changes = counters.into_iter().map(|counter| Growth { counter, by: 3, usually: Some(1) });
    let mut changes: Vec<Growth> = changes.collect();
    changes.push(Growth { counter: Counter::Smi, by: 0, usually: None });
    Around { from, to, changes, standstill: Some(Nanos::from_us(12)) }
}

fn windows() -> Vec<Frame> {
    let release = MonoTime::from_ns(987_654_999_000);
    let record = |(after, what)| TraceRecord {
        at: release.plus(Nanos::from_us(after)),
        tid: 900,
        context: Context { flags: 0x15, preempt: 1 },
        what,
    };
    let names = Names {
        tasks: [(0, text("")), (900, text("probe"))].into(),
        kernel_threads: vec![0],
        irqs: [(131, IrqLine { action: text("nvme0q3"), affinity: text("1"), managed: true })].into(),
        functions: [(Address(0xffff_ffff_8112_3450), text("hrtimer_wakeup"))].into(),
    };
    let window = |slot, kept, incomplete| Window {
        slot,
        kept,
        cpu: 1,
        tid: 900,
        release,
        woke: release.plus(Nanos::from_us(310)),
        phase: 1,
        records: Vec::new(),
        elsewhere: Vec::new(),
        names: Names::default(),
        incomplete,
        around: None,
    };
    let before = TraceRecord { at: release.minus(Nanos::from_us(40)), ..record((0, TraceEvent::WorkEnd)) };
    let mut full = window(0, Kept::Worst, None);
    full.records = (0..).zip(happened()).map(record).collect();
    full.elsewhere = vec![RemoteRecord { cpu: 0, record: before }];
    full.names = names;
    full.around = Some(around());
    let why = [
        Incomplete::Lost,
        Incomplete::Late,
        Incomplete::Short,
        Incomplete::Warped,
        Incomplete::TooLong,
        Incomplete::NoTrace,
    ];
    let mut all = vec![full, window(1, Kept::Ordinary, None)];
    all.extend((2..).zip(why).map(|(slot, why)| window(slot, Kept::Sampled, Some(why))));
    all.into_iter().map(|window| Frame::Window(Box::new(window))).collect()
}

fn frames() -> Vec<Frame> {
    let mut frames = vec![Frame::Header(Box::new(header())), findings()];
    frames.extend(lists());
    frames.extend(intervals());
    frames.extend(happenings());
    frames.extend(tracing());
    frames.extend(windows());
    frames.extend(states_and_end());
    frames
}

fn rendered(frames: &[Frame]) -> String {
    let mut text = String::new();
    for frame in frames {
        writeln!(text, "{frame:#?}").unwrap();
    }
    text
}

fn to_hex(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().fold(String::new(), |line, byte| line + &format!("{byte:02x}")) + "\n";
    bytes.chunks(32).map(line).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures/recordings", name].iter().collect()
}

/// The contents of the committed file `name`. If `BLESS` is set, `current` is written to it first.
fn committed(name: &str, current: &str) -> String {
    let path = fixture(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, current).unwrap();
    }
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}; BLESS=1 writes it", path.display()))
}

#[test]
fn format_1_is_written_and_read_as_ever() {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    for frame in frames() {
        match frame {
            Frame::MaximaLost(_) => bytes.extend(from_hex(MADE_UP_LOSS)),
            frame => encode(&frame, &mut bytes).unwrap(),
        }
    }
    let hex = committed("format-1.hex", &to_hex(&bytes));
    assert_eq!(to_hex(&bytes), hex, "this version writes format 1 differently");

    let mut read = Vec::new();
    let mut reader = FrameReader::new();
    reader.feed(&from_hex(&hex), |frame| read.push(frame)).unwrap();
    assert_eq!(reader.finish(), Good { bytes: bytes.len() as u64, lost_bytes: 0, then: None });
    assert_eq!(
        rendered(&read),
        committed("format-1.txt", &rendered(&frames())),
        "this version reads format 1 differently"
    );
}
