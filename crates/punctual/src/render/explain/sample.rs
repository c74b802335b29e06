//! Reports with explanations written by hand, for the tests of all output formats.

use crate::render::sample;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::explain::{
    Blame, Bursts, Cause, Class, CpuExcess, CpuLate, CpuRhythm, CpuThreshold, Explanation, LateCount, OrdinaryTime,
    Part, PhaseExcess, Ranked, Rhythm, Spike, Stage, Why, WhyCount,
};
use punctual_numbers::recording::Windows;
use punctual_numbers::report::Report;
use punctual_numbers::trace::{
    Address, Blind, Context, Incomplete, IrqLine, Kept, Names, RefusedRung, RemoteRecord, Rung, SelfTest, TraceEvent,
    TraceRecord, TraceTotal, Tracing, Vector as VectorKind, Window,
};

const STAGES: [Stage; 6] =
    [Stage::TimerLate, Stage::Expiry, Stage::Waking, Stage::Dispatch, Stage::Return, Stage::Unknown];

/// Every sample with the name of its golden files.
pub fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("causes", causes()),
        ("causes-doubtful", doubtful()),
        ("causes-counters", counters()),
        ("causes-none-late", none_late()),
    ]
}

/// A run with causes of several kinds, traced in load phases of their own, with a rhythm, knobs and an incomplete
/// window.
pub fn causes() -> Report {
    let by_cpu = |(cpu, spikes, us)| CpuExcess { cpu, spikes, excess: Nanos::from_us(us) };
    let rhythm = |chance, fitting| Rhythm { period: Nanos::from_ms(250), chance, fitting };
    let ranked = vec![
        Ranked {
            by_cpu: [(0, 3, 300), (1, 55, 17_900)].map(by_cpu).to_vec(),
            rhythm: Some(rhythm(1e-9, (57, 58))),
            why: whys([(Why::Managed, 58), (Why::Affinity { cpus: "0-3".to_owned() }, 58)]),
            knobs: vec!["irq.managed", "irq.affinity"],
            ..ranked(Class::HardIrq, "nvme0q3 (irq 131)", [51, 58], [18_200, 812], 0.61, 1)
        },
        Ranked {
            bursts: Some(Bursts { clusters: 2, largest: 9 }),
            why: whys([(Why::Priority { its: 4, ours: 9 }, 12), (woken_by_planner(), 7)]),
            ..ranked(Class::HigherPriority, "hog95", [12, 12], [6_000, 1_000], 0.2, 0)
        },
        ranked(Class::Softirq, "NET_RX", [2, 9], [900, 211], 0.03, 2),
        ranked(Class::Firmware, "", [1, 1], [610, 610], 0.0205, 3),
        ranked(Class::Unexplained, "", [1, 3], [40, 21], 0.000_9, 3),
    ];
    let ordinary = |class, ns| OrdinaryTime { cause: cause(class, ""), median: Nanos::from_ns(ns) };
    report(Explanation {
        tracing: Some(tracing(Rung::Tracefs)),
        totals: [(0, 184_220, 0), (1, 184_221, 312)]
            .map(|(cpu, records, lost)| TraceTotal { cpu, records, lost, bytes: 5_120_000 })
            .to_vec(),
        late: vec![late(0, 1_900, [14, 14, 14, 4, 0]), late(1, 61_400, [298, 82, 80, 64, 7])],
        thresholds: [(0, 45_200), (1, 61_000)].map(threshold).to_vec(),
        causes: ranked,
        spikes: vec![hogged(), by_device(), nested(), in_firmware(), cut()],
        rhythms: vec![CpuRhythm { cpu: 1, rhythm: rhythm(1e-6, (70, 80)) }],
        explained: Some(0.93),
        complete: Some(0.97),
        ordinary: vec![ordinary(Class::WakeUp, 2_150), ordinary(Class::TimerInterrupt, 1_320)],
        opinions: None,
    })
}

/// A run in which more than a fifth of the latency has no cause, and the self-test of the trace failed.
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

const NO_TRACEFS: &str = "no tracefs: this process may not mount it (CAP_SYS_ADMIN, or a filter of system calls): \
     Operation not permitted (os error 1)";

/// A run whose causes come from counters alone, so that their times are unknown.
pub fn counters() -> Report {
    let counter = || Why::Counter { name: "eth0-rx (irq 44)".to_owned(), grew: 1_402, is_time: false };
    let line = "eth0-rx (irq 44)";
    let told =
        Blame { cause: cause(Class::HardIrq, line), time: Nanos::ZERO, excess: Nanos::ZERO, why: vec![counter()] };
    let mut spike = spike(1, 4_000, "");
    spike.woke = spike.release.plus(Nanos::from_us(420));
    report(Explanation {
        tracing: Some(Tracing {
            refused: vec![refused(Rung::Tracefs, NO_TRACEFS)],
            blind: vec![Blind::Records],
            self_test: Vec::new(),
            events: Vec::new(),
            ..tracing(Rung::Deltas)
        }),
        late: vec![late(1, 3_100, [9, 9, 0, 0, 0])],
        causes: vec![Ranked { why: whys([(counter(), 8)]), ..ranked(Class::HardIrq, line, [7, 8], [0, 0], 0.0, 0) }],
        spikes: vec![Spike { causes: vec![told], incomplete: Some(Incomplete::NoTrace), ..spike }],
        ..Explanation::default()
    })
}

pub fn none_late() -> Report {
    let tracing = Tracing { threshold: Some(Nanos::from_us(50)), ..tracing(Rung::Tracefs) };
    report(Explanation {
        tracing: Some(tracing),
        late: [0, 1].map(|cpu| late(cpu, 0, [0; 5])).to_vec(),
        thresholds: [(0, 50_000), (1, 50_000)].map(threshold).to_vec(),
        ..Explanation::default()
    })
}

/// A report with this number of late activations, each of which has hundreds of parts.
pub fn many(spikes: usize) -> Report {
    let mut report = causes();
    if let Some(causes) = &mut report.causes {
        causes.spikes = vec![busy(); spikes];
    }
    report
}

/// A run with one late activation that has every class of cause, every reason and every blind spot once.
pub fn every() -> Report {
    let mut report = causes();
    if let Some(causes) = &mut report.causes {
        let parts: Vec<_> = Class::ALL.iter().map(|class| (Stage::Unknown, *class, "x", 1_000)).collect();
        let mut spike = of_parts(0, 5_000, &parts);
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
            Why::Counter { name: "SMI".to_owned(), grew: 3, is_time: false },
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

/// A late activation in which one timer callback interrupted `times` times.
pub fn storm(times: usize) -> Spike {
    let pair =
        [(Stage::Dispatch, Class::TimerCallback, "storm", 900), (Stage::Dispatch, Class::SamePriority, "us", 600)];
    of_parts(1, 9_000, &pair.repeat(times))
}

/// A late activation with hundreds of parts of every class.
fn refused(rung: Rung, why: &str) -> RefusedRung {
    RefusedRung { rung, why: why.to_owned() }
}

fn busy() -> Spike {
    let part = |n: u16| {
        (
            Stage::Dispatch,
            Class::ALL[usize::from(n) % Class::ALL.len()],
            "a name of some length",
            400 + (u64::from(n) * 37) % 900,
        )
    };
    of_parts(1, 9_000, &(0..400).map(part).collect::<Vec<_>>())
}

fn report(causes: Explanation) -> Report {
    Report { causes: Some(causes), ..sample::two_cpus() }
}

fn cause(class: Class, name: &str) -> Cause {
    Cause { class, name: name.into() }
}

fn whys<const N: usize>(all: [(Why, u64); N]) -> Vec<WhyCount> {
    all.map(|(why, spikes)| WhyCount { why, spikes }).to_vec()
}

fn woken_by_planner() -> Why {
    Why::WokenBy { task: 812, name: "planner".to_owned() }
}

fn late(cpu: u32, us: u64, [late, kept, complete, sampled, passed_over]: [u64; 5]) -> CpuLate {
    let latency = Nanos::from_us(us);
    CpuLate { cpu, count: LateCount { late, latency, kept, complete, sampled, passed_over } }
}

fn threshold((cpu, ns): (u32, u64)) -> CpuThreshold {
    CpuThreshold { cpu, threshold: Nanos::from_ns(ns) }
}

fn at(ms: u64) -> MonoTime {
    MonoTime::from_ns(sample::EPOCH_NS).plus(Nanos::from_ms(ms))
}

fn ranked(class: Class, name: &str, spikes: [u64; 2], us: [u64; 2], share: f64, example: usize) -> Ranked {
    let [total, worst] = us.map(Nanos::from_us);
    Ranked {
        cause: cause(class, name),
        first_in: spikes[0],
        count: spikes[1],
        total,
        worst,
        share,
        by_cpu: vec![CpuExcess { cpu: 1, spikes: spikes[1], excess: total }],
        by_phase: vec![PhaseExcess { phase: 1, spikes: spikes[1], excess: total }],
        seen: (at(11_000), at(29_000)),
        rhythm: None,
        bursts: None,
        why: Vec::new(),
        knobs: Vec::new(),
        example,
    }
}

/// A late activation from text such as `expiry: timer-interrupt 1640; dispatch: softirq 40200 NET_RX, wake-up 2500`:
/// stages are separated by semicolons, and each part of a stage is a class, a number of nanoseconds and, if it has one,
/// a name.
fn spike(cpu: u32, at_ms: u64, parts: &str) -> Spike {
    fn named<T: Copy + serde::Serialize>(all: &[T], name: &str) -> T {
        *all.iter().find(|one| serde_json::to_value(one).unwrap() == name).unwrap()
    }
    let mut read = Vec::new();
    for (stage, list) in parts.split("; ").filter_map(|stage| stage.split_once(": ")) {
        for part in list.split(", ") {
            let mut words = part.splitn(3, ' ');
            let mut word = || words.next().unwrap_or_default();
            let (class, ns) = (named(Class::ALL, word()), word().parse().unwrap());
            read.push((named(&STAGES, stage), class, word(), ns));
        }
    }
    of_parts(cpu, at_ms, &read)
}

/// A late activation of `cpu`, released `at_ms` after the start, from parts as (stage, class, name, nanoseconds).
fn of_parts(cpu: u32, at_ms: u64, parts: &[(Stage, Class, &str, u64)]) -> Spike {
    let release = at(at_ms);
    let mut woke = release;
    let mut spike =
        Spike { cpu, release, woke, phase: 1, kept: Kept::Worst, incomplete: None, parts: vec![], causes: vec![] };
    for (stage, class, name, ns) in parts {
        let (cause, length) = (cause(*class, name), Nanos::from_ns(*ns));
        match spike.causes.iter_mut().find(|blame| blame.cause == cause) {
            Some(blame) => blame.time = blame.time.plus(length),
            None => spike.causes.push(Blame { cause: cause.clone(), time: length, excess: length, why: vec![] }),
        }
        spike.parts.push(Part { stage: *stage, cause, from: woke, length, certain: true });
        woke = woke.plus(length);
    }
    spike.causes.iter_mut().for_each(|blame| blame.excess = blame.time);
    spike.causes.sort_by_key(|blame| std::cmp::Reverse(blame.time));
    Spike { woke, ..spike }
}

fn hogged() -> Spike {
    let mut spike = spike(
        1,
        17_312,
        "timer-late: idle-exit 1210 C1; expiry: timer-interrupt 1640; waking: wake-up 2105; \
         dispatch: higher-priority 400300 hog95, timer-interrupt 5400, higher-priority 599700 hog95, wake-up 2300; \
         return: own-path 1150",
    );
    spike.causes[0].why = vec![Why::Priority { its: 4, ours: 9 }, woken_by_planner()];
    spike
}

fn by_device() -> Spike {
    let mut spike = spike(
        1,
        12_250,
        "timer-late: hard-irq 812000 nvme0q3 (irq 131); expiry: timer-interrupt 2200; waking: wake-up 2400; \
         dispatch: softirq 40200 NET_RX, wake-up 2500; return: page-fault 21800, own-path 1900",
    );
    spike.causes[0].excess = Nanos::from_us(811);
    spike.causes[0].why = vec![Why::Managed, Why::Affinity { cpus: "0-3".to_owned() }];
    spike
}

fn nested() -> Spike {
    let mut spike = spike(
        0,
        21_004,
        "timer-late: irq-off 33000 kworker/0:2; expiry: timer-callback 9000 tick_nohz_handler, \
         nmi 14000 perf_event_nmi_handler, timer-callback 2000 tick_nohz_handler; waking: wake-up 2700; \
         dispatch: softirq 120000 NET_RX, ipi 7000 flush_tlb_func, softirq 91000 NET_RX, worker 12000 vmstat_update, \
         wake-up 2100; return: own-path 1300",
    );
    spike.parts[0].certain = false;
    spike.kept = Kept::Sampled;
    spike
}

fn in_firmware() -> Spike {
    let parts = "timer-late: firmware 180000, unexplained 21000; expiry: timer-interrupt 1500; waking: wake-up 2000; \
                 return: own-path 1000";
    spike(1, 26_999, parts)
}

fn cut() -> Spike {
    let spike = spike(1, 28_100, "unknown: unexplained 90000; dispatch: higher-priority 60000 hog95");
    Spike { incomplete: Some(Incomplete::Lost), ..spike }
}

/// Windows with a few records each, for the first three late activations of [`causes`].
pub fn windows() -> Windows {
    let report = causes();
    let spikes = report.causes.map(|causes| causes.spikes).unwrap_or_default();
    spikes.iter().take(3).zip(0..).map(|(spike, slot)| window(spike, slot)).collect()
}

fn window(spike: &Spike, slot: u32) -> Window {
    let record = |at, what| TraceRecord { at, tid: 0, context: Context::default(), what };
    let at = |us| spike.release.plus(Nanos::from_us(us));
    let function = Address(0x10);
    let to = |prev, next| TraceEvent::Switch { prev, prev_prio: 120, prev_state: 0, next, next_prio: 9 };
    let timer = VectorKind::LocalTimer;
    let records = vec![
        record(at(0).minus(Nanos::from_us(50)), TraceEvent::Idle { state: Some(1) }),
        record(at(1), TraceEvent::Idle { state: None }),
        record(at(1), TraceEvent::VectorEntry { vector: timer }),
        record(at(2), TraceEvent::HrtimerEntry { timer: Address(1), function }),
        record(at(4), TraceEvent::Waking { tid: 70, prio: 9, target: spike.cpu }),
        record(at(5), TraceEvent::HrtimerExit { timer: Address(1) }),
        // An exit without an entry is ignored.
        record(at(5), TraceEvent::IrqExit { irq: 7 }),
        record(at(6), TraceEvent::VectorExit { vector: timer }),
        record(at(7), to(0, 60)),
        record(at(20), TraceEvent::IrqEntry { irq: 131 }),
        record(at(30), TraceEvent::Nmi { handler: function, took: Nanos::from_us(3) }),
        record(at(60), TraceEvent::IrqExit { irq: 131 }),
        record(at(60), TraceEvent::SoftirqEntry { vector: 3 }),
        record(at(100), TraceEvent::SoftirqExit { vector: 3 }),
        record(at(140), to(60, 70)),
    ];
    let names = Names {
        tasks: [(60, "hog95"), (70, "punctual")].map(|(tid, name)| (tid, name.to_owned())).into(),
        kernel_threads: Vec::new(),
        irqs: [(131, IrqLine { action: "nvme0q3".to_owned(), ..IrqLine::default() })].into(),
        functions: [(function, "hrtimer_wakeup".to_owned())].into(),
    };
    let sent = TraceEvent::IpiSend { target: spike.cpu, callsite: Address(0), callback: function };
    Window {
        slot,
        kept: spike.kept,
        cpu: spike.cpu,
        tid: 70,
        release: spike.release,
        woke: spike.woke,
        phase: spike.phase,
        records,
        elsewhere: vec![RemoteRecord { cpu: 3, record: record(at(19), sent) }],
        names,
        incomplete: spike.incomplete,
        around: None,
    }
}

fn tracing(rung: Rung) -> Tracing {
    let test = |cpu| SelfTest { cpu, timers: 200, expiries: 200, wakings: 200, switches: 200, warp: Nanos::ZERO };
    Tracing {
        rung,
        refused: vec![refused(Rung::Timerlat, "the kernel was built without CONFIG_TIMERLAT_TRACER")],
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
