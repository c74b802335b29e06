//! Explanations made by hand, for the tests of all renderers.

use crate::render::sample;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::explain::{
    Blame, Cause, Class, CpuExcess, CpuLate, CpuRhythm, CpuThreshold, Explanation, LateCount, OrdinaryTime, Part,
    PhaseExcess, Ranked, Rhythm, Spike, Stage, Why, WhyCount,
};
use punctual_numbers::recording::Windows;
use punctual_numbers::report::Report;
use punctual_numbers::trace::{
    Address, Blind, Context, Incomplete, Kept, Line, Names, Record, Rung, SelfTest, TraceTotal, Tracing,
    Vector as VectorKind, What, Window,
};

/// Every sample with the name of its golden files.
pub fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("causes", causes()),
        ("causes-doubtful", doubtful()),
        ("causes-counters", counters()),
        ("causes-none-late", none_late()),
    ]
}

/// Some causes of every kind, traced apart from the headline, with a rhythm, knobs and an incomplete window.
#[allow(clippy::too_many_lines, reason = "a value, written out")]
pub fn causes() -> Report {
    let spikes = vec![hogged(), by_device(), nested(), in_firmware(), cut()];
    let ranked = vec![
        Ranked {
            by_cpu: vec![
                CpuExcess { cpu: 0, spikes: 3, excess: Nanos::from_us(300) },
                CpuExcess { cpu: 1, spikes: 55, excess: Nanos::from_us(17_900) },
            ],
            by_phase: vec![PhaseExcess { phase: 1, spikes: 58, excess: Nanos::from_us(18_200) }],
            rhythm: Some(Rhythm { period: Nanos::from_ms(250), chance: 1e-9, fitting: (57, 58) }),
            why: vec![
                WhyCount { why: Why::Managed, spikes: 58 },
                WhyCount { why: Why::Affinity { cpus: "0-3".to_owned() }, spikes: 58 },
            ],
            knobs: vec!["irq.managed", "irq.affinity"],
            ..ranked(Class::HardIrq, "nvme0q3 (irq 131)", [51, 58], [18_200, 812], 0.61, 1)
        },
        Ranked {
            by_cpu: vec![CpuExcess { cpu: 1, spikes: 12, excess: Nanos::from_us(6_000) }],
            by_phase: vec![PhaseExcess { phase: 1, spikes: 12, excess: Nanos::from_us(6_000) }],
            bursts: Some((2, 9)),
            why: vec![
                WhyCount { why: Why::Priority { its: 4, ours: 9 }, spikes: 12 },
                WhyCount { why: Why::WokenBy { task: 812, name: "planner".to_owned() }, spikes: 7 },
            ],
            ..ranked(Class::HigherPriority, "hog95", [12, 12], [6_000, 1_000], 0.2, 0)
        },
        ranked(Class::Softirq, "NET_RX", [2, 9], [900, 211], 0.03, 2),
        ranked(Class::Firmware, "", [1, 1], [610, 610], 0.0205, 3),
        ranked(Class::Unexplained, "", [1, 3], [40, 21], 0.000_9, 3),
    ];
    report(Explanation {
        tracing: Some(tracing(Rung::Tracefs)),
        totals: vec![total(0, 0), total(1, 312)],
        late: vec![
            CpuLate {
                cpu: 0,
                count: LateCount {
                    late: 14,
                    latency: Nanos::from_us(1_900),
                    kept: 14,
                    complete: 14,
                    sampled: 4,
                    passed_over: 0,
                },
            },
            CpuLate {
                cpu: 1,
                count: LateCount {
                    late: 298,
                    latency: Nanos::from_us(61_400),
                    kept: 82,
                    complete: 80,
                    sampled: 64,
                    passed_over: 7,
                },
            },
        ],
        thresholds: vec![
            CpuThreshold { cpu: 0, threshold: Nanos::from_ns(45_200) },
            CpuThreshold { cpu: 1, threshold: Nanos::from_us(61) },
        ],
        causes: ranked,
        spikes,
        rhythms: vec![CpuRhythm {
            cpu: 1,
            rhythm: Rhythm { period: Nanos::from_ms(250), chance: 1e-6, fitting: (70, 80) },
        }],
        explained: Some(0.93),
        complete: Some(0.97),
        ordinary: vec![
            OrdinaryTime { cause: cause(Class::WakeUp, ""), median: Nanos::from_ns(2_150) },
            OrdinaryTime { cause: cause(Class::TimerInterrupt, ""), median: Nanos::from_ns(1_320) },
        ],
        opinions: None,
    })
}

/// Too much of it without a cause, after a self-test with holes.
pub fn doubtful() -> Report {
    let mut report = causes();
    if let Some(causes) = &mut report.causes {
        causes.explained = Some(0.35);
        causes.causes.truncate(1);
        let tracing = causes.tracing.as_mut().unwrap();
        tracing.blind.push(Blind::Holes(1));
        tracing.self_test[1].wakings = 171;
        tracing.self_test[1].warp = Nanos::from_us(3);
    }
    report
}

/// Without a trace: causes have no time.
pub fn counters() -> Report {
    let told = vec![Blame {
        cause: cause(Class::HardIrq, "eth0-rx (irq 44)"),
        time: Nanos::ZERO,
        excess: Nanos::ZERO,
        why: vec![Why::Counter { name: "interrupts of line 44".to_owned(), grew: 1_402 }],
    }];
    let late = spike(1, 4_000, 420_000, &[]);
    let late = Spike { causes: told, incomplete: Some(Incomplete::NoTrace), ..late };
    let mut tracing = tracing(Rung::Deltas);
    tracing.refused = vec![(Rung::Tracefs, "no right to mount tracefs (permission denied); run it as root".to_owned())];
    tracing.blind = vec![Blind::Records];
    (tracing.self_test, tracing.events) = (Vec::new(), Vec::new());
    let count = LateCount { late: 9, latency: Nanos::from_us(3_100), kept: 9, complete: 0, sampled: 0, passed_over: 0 };
    let mut by_counters = ranked(Class::HardIrq, "eth0-rx (irq 44)", [7, 8], [0, 0], 0.0, 0);
    by_counters.why =
        vec![WhyCount { why: Why::Counter { name: "interrupts of line 44".to_owned(), grew: 1_402 }, spikes: 8 }];
    report(Explanation {
        tracing: Some(tracing),
        late: vec![CpuLate { cpu: 1, count }],
        causes: vec![by_counters],
        spikes: vec![late],
        ..Explanation::default()
    })
}

/// Looked, and nothing was late.
pub fn none_late() -> Report {
    let late = [0, 1].map(|cpu| CpuLate { cpu, count: LateCount::default() }).to_vec();
    let tracing = Tracing { threshold: Some(Nanos::from_us(50)), ..tracing(Rung::Tracefs) };
    let thresholds = [0, 1].map(|cpu| CpuThreshold { cpu, threshold: Nanos::from_us(50) }).to_vec();
    report(Explanation { tracing: Some(tracing), late, thresholds, ..Explanation::default() })
}

/// A report with so many late activations of many parts.
pub fn many(spikes: usize) -> Report {
    let mut report = causes();
    if let Some(causes) = &mut report.causes {
        let one = busy();
        causes.spikes = (0..spikes).map(|_| one.clone()).collect();
    }
    report
}

/// Every class once.
pub const CLASSES: [Class; 25] = [
    Class::Nmi,
    Class::HardIrq,
    Class::TimerCallback,
    Class::TimerInterrupt,
    Class::Ipi,
    Class::Vector,
    Class::Softirq,
    Class::HigherPriority,
    Class::SamePriority,
    Class::StopMachine,
    Class::Worker,
    Class::PreemptOff,
    Class::IrqOff,
    Class::IdleExit,
    Class::WakeUp,
    Class::OwnPath,
    Class::PageFault,
    Class::Throttled,
    Class::Stopped,
    Class::Migration,
    Class::Frequency,
    Class::Firmware,
    Class::Hypervisor,
    Class::Paused,
    Class::Unexplained,
];

/// One late activation with every class, why and blind spot once.
pub fn every() -> Report {
    let mut report = causes();
    if let Some(causes) = &mut report.causes {
        let parts: Vec<(Stage, Class, &str, u64)> =
            CLASSES.iter().map(|class| (Stage::Unknown, *class, "x", 1_000)).collect();
        let mut spike = spike(0, 5_000, 0, &parts);
        spike.causes[0].why = vec![
            Why::Priority { its: -1, ours: 120 },
            Why::Boosted { own: 120 },
            Why::MigrationOff,
            Why::PreemptOff,
            Why::IrqsOff,
            Why::NotPreempted,
            Why::WokenBy { task: 1, name: String::new() },
            Why::SentBy { cpu: 2, by: "systemd".to_owned(), work: String::new() },
            Why::Affinity { cpus: "0-1".to_owned() },
            Why::Managed,
            Why::Counter { name: "SMI".to_owned(), grew: 3 },
        ];
        causes.spikes = vec![spike];
        causes.causes.clear();
        let tracing = causes.tracing.as_mut().unwrap();
        tracing.blind = vec![
            Blind::Records,
            Blind::Event("a:b".to_owned()),
            Blind::CriticalSections,
            Blind::Firmware,
            Blind::Hypervisor,
            Blind::Holes(3),
            Blind::Witness("SMI count (CPU 3)".to_owned(), "no such file".to_owned()),
        ];
    }
    report
}

/// A late activation in which so many interrupts of one timer came.
pub fn storm(times: u64) -> Spike {
    let pair =
        [(Stage::Dispatch, Class::TimerCallback, "storm", 900), (Stage::Dispatch, Class::SamePriority, "us", 600)];
    let parts: Vec<(Stage, Class, &str, u64)> = (0..times).flat_map(|_| pair).collect();
    spike(1, 9_000, 0, &parts)
}

/// A late activation with hundreds of parts of every class.
pub fn busy() -> Spike {
    let parts: Vec<(Stage, Class, &str, u64)> = (0..400)
        .map(|n| (Stage::Dispatch, CLASSES[n % CLASSES.len()], "a name of some length", 400 + (n as u64 * 37) % 900))
        .collect();
    spike(1, 9_000, 0, &parts)
}

fn report(causes: Explanation) -> Report {
    let mut report = sample::two_cpus();
    report.causes = Some(causes);
    report
}

fn cause(class: Class, name: &str) -> Cause {
    Cause { class, name: name.to_owned() }
}

fn ranked(class: Class, name: &str, spikes: [u64; 2], us: [u64; 2], share: f64, example: usize) -> Ranked {
    let at = |ms| MonoTime::from_ns(sample::EPOCH_NS).plus(Nanos::from_ms(ms));
    Ranked {
        cause: cause(class, name),
        first_in: spikes[0],
        count: spikes[1],
        total: Nanos::from_us(us[0]),
        worst: Nanos::from_us(us[1]),
        share,
        by_cpu: vec![CpuExcess { cpu: 1, spikes: spikes[1], excess: Nanos::from_us(us[0]) }],
        by_phase: vec![PhaseExcess { phase: 1, spikes: spikes[1], excess: Nanos::from_us(us[0]) }],
        seen: (at(11_000), at(29_000)),
        rhythm: None,
        bursts: None,
        why: Vec::new(),
        knobs: Vec::new(),
        example,
    }
}

/// A late activation of CPU `cpu`, so many milliseconds after the start, from parts of these lengths in ns.
fn spike(cpu: u32, at_ms: u64, late_ns: u64, parts: &[(Stage, Class, &str, u64)]) -> Spike {
    let release = MonoTime::from_ns(sample::EPOCH_NS).plus(Nanos::from_ms(at_ms));
    let mut from = release;
    let mut of = |(stage, class, name, ns): &(Stage, Class, &str, u64)| {
        let part = Part { stage: *stage, cause: cause(*class, name), from, length: Nanos::from_ns(*ns), certain: true };
        from = from.plus(part.length);
        part
    };
    let parts: Vec<Part> = parts.iter().map(&mut of).collect();
    let mut causes: Vec<Blame> = Vec::new();
    for part in &parts {
        match causes.iter_mut().find(|blame| blame.cause == part.cause) {
            Some(blame) => {
                blame.time = blame.time.plus(part.length);
                blame.excess = blame.time;
            }
            None => causes.push(Blame {
                cause: part.cause.clone(),
                time: part.length,
                excess: part.length,
                why: Vec::new(),
            }),
        }
    }
    causes.sort_by_key(|blame| std::cmp::Reverse(blame.time));
    let woke = if parts.is_empty() { release.plus(Nanos::from_ns(late_ns)) } else { from };
    Spike { cpu, release, woke, phase: 1, kept: Kept::Worst, incomplete: None, parts, causes }
}

fn hogged() -> Spike {
    let mut spike = spike(
        1,
        17_312,
        0,
        &[
            (Stage::TimerLate, Class::IdleExit, "C1", 1_210),
            (Stage::Expiry, Class::TimerInterrupt, "", 1_640),
            (Stage::Waking, Class::WakeUp, "", 2_105),
            (Stage::Dispatch, Class::HigherPriority, "hog95", 400_300),
            (Stage::Dispatch, Class::TimerInterrupt, "", 5_400),
            (Stage::Dispatch, Class::HigherPriority, "hog95", 599_700),
            (Stage::Dispatch, Class::WakeUp, "", 2_300),
            (Stage::Return, Class::OwnPath, "", 1_150),
        ],
    );
    spike.causes[0].why =
        vec![Why::Priority { its: 4, ours: 9 }, Why::WokenBy { task: 812, name: "planner".to_owned() }];
    spike
}

fn by_device() -> Spike {
    let mut spike = spike(
        1,
        12_250,
        0,
        &[
            (Stage::TimerLate, Class::HardIrq, "nvme0q3 (irq 131)", 812_000),
            (Stage::Expiry, Class::TimerInterrupt, "", 2_200),
            (Stage::Waking, Class::WakeUp, "", 2_400),
            (Stage::Dispatch, Class::Softirq, "NET_RX", 40_200),
            (Stage::Dispatch, Class::WakeUp, "", 2_500),
            (Stage::Return, Class::PageFault, "", 21_800),
            (Stage::Return, Class::OwnPath, "", 1_900),
        ],
    );
    spike.causes[0].excess = Nanos::from_us(811);
    spike.causes[0].why = vec![Why::Managed, Why::Affinity { cpus: "0-3".to_owned() }];
    spike
}

fn nested() -> Spike {
    let mut spike = spike(
        0,
        21_004,
        0,
        &[
            (Stage::TimerLate, Class::IrqOff, "kworker/0:2", 33_000),
            (Stage::Expiry, Class::TimerCallback, "tick_nohz_handler", 9_000),
            (Stage::Expiry, Class::Nmi, "perf_event_nmi_handler", 14_000),
            (Stage::Expiry, Class::TimerCallback, "tick_nohz_handler", 2_000),
            (Stage::Waking, Class::WakeUp, "", 2_700),
            (Stage::Dispatch, Class::Softirq, "NET_RX", 120_000),
            (Stage::Dispatch, Class::Ipi, "flush_tlb_func", 7_000),
            (Stage::Dispatch, Class::Softirq, "NET_RX", 91_000),
            (Stage::Dispatch, Class::Worker, "vmstat_update", 12_000),
            (Stage::Dispatch, Class::WakeUp, "", 2_100),
            (Stage::Return, Class::OwnPath, "", 1_300),
        ],
    );
    spike.parts[0].certain = false;
    spike.kept = Kept::Sampled;
    spike
}

fn in_firmware() -> Spike {
    spike(
        1,
        26_999,
        0,
        &[
            (Stage::TimerLate, Class::Firmware, "", 180_000),
            (Stage::TimerLate, Class::Unexplained, "", 21_000),
            (Stage::Expiry, Class::TimerInterrupt, "", 1_500),
            (Stage::Waking, Class::WakeUp, "", 2_000),
            (Stage::Return, Class::OwnPath, "", 1_000),
        ],
    )
}

/// Windows of the first three late activations, as far as a few records tell.
pub fn windows() -> Windows {
    let report = causes();
    let spikes = report.causes.map(|causes| causes.spikes).unwrap_or_default();
    spikes.iter().take(3).zip(0..).map(|(spike, slot)| window(spike, slot)).collect()
}

fn window(spike: &Spike, slot: u32) -> Window {
    let record = |at, what| Record { at, tid: 0, context: Context::default(), what };
    let at = |us| spike.release.plus(Nanos::from_us(us));
    let function = Address(0x10);
    let to = |prev, next| What::Switch { prev, prev_prio: 120, prev_state: 0, next, next_prio: 9 };
    let timer = VectorKind::LocalTimer;
    let records = vec![
        record(at(0).minus(Nanos::from_us(50)), What::Idle { state: Some(1) }),
        record(at(1), What::Idle { state: None }),
        record(at(1), What::VectorEntry { vector: timer }),
        record(at(2), What::HrtimerEntry { timer: Address(1), function }),
        record(at(4), What::Waking { tid: 70, prio: 9, target: spike.cpu }),
        record(at(5), What::HrtimerExit { timer: Address(1) }),
        // An exit without an entry says nothing.
        record(at(5), What::IrqExit { irq: 7 }),
        record(at(6), What::VectorExit { vector: timer }),
        record(at(7), to(0, 60)),
        record(at(20), What::IrqEntry { irq: 131 }),
        record(at(30), What::Nmi { handler: function, took: Nanos::from_us(3) }),
        record(at(60), What::IrqExit { irq: 131 }),
        record(at(60), What::SoftirqEntry { vector: 3 }),
        record(at(100), What::SoftirqExit { vector: 3 }),
        record(at(140), to(60, 70)),
    ];
    let names = Names {
        tasks: [(60, "hog95"), (70, "punctual")].map(|(tid, name)| (tid, name.to_owned())).into(),
        kernel_threads: Vec::new(),
        irqs: [(131, Line { action: "nvme0q3".to_owned(), ..Line::default() })].into(),
        functions: [(function, "hrtimer_wakeup".to_owned())].into(),
    };
    let sent = What::IpiSend { target: spike.cpu, callsite: Address(0), callback: function };
    Window {
        slot,
        kept: spike.kept,
        cpu: spike.cpu,
        tid: 70,
        release: spike.release,
        woke: spike.woke,
        phase: spike.phase,
        records,
        elsewhere: vec![(3, record(at(19), sent))],
        names,
        incomplete: spike.incomplete,
        around: None,
    }
}

fn cut() -> Spike {
    let mut spike = spike(
        1,
        28_100,
        0,
        &[(Stage::Unknown, Class::Unexplained, "", 90_000), (Stage::Dispatch, Class::HigherPriority, "hog95", 60_000)],
    );
    spike.incomplete = Some(Incomplete::Lost);
    spike
}

fn total(cpu: u32, lost: u64) -> TraceTotal {
    TraceTotal { cpu, records: 184_220 + u64::from(cpu), lost, bytes: 5_120_000 }
}

fn tracing(rung: Rung) -> Tracing {
    let test = |cpu| SelfTest { cpu, timers: 200, expiries: 200, wakings: 200, switches: 200, warp: Nanos::ZERO };
    Tracing {
        rung,
        refused: vec![(Rung::Timerlat, "this kernel is built without CONFIG_TIMERLAT_TRACER".to_owned())],
        phases: vec![1],
        events: ["sched:sched_switch", "irq:irq_handler_entry"].map(str::to_owned).to_vec(),
        blind: vec![Blind::CriticalSections, Blind::Event("nmi:nmi_handler".to_owned()), Blind::Firmware],
        clock: "mono".to_owned(),
        buffer_bytes: 1 << 20,
        threshold: None,
        windows_max: 4_096,
        self_test: vec![test(0), test(1)],
    }
}
