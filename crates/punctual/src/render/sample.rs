//! Reports for the tests of all renderers, made from recordings of a fixed generator. Only the claims are written by
//! hand, so that each form of a claim occurs.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Confidence, Evidence, Finding, Severity, State, WhyUnknown};
use punctual_facts::machine::MachineLine;
use punctual_hist::{Activation, Counts, MonoTime, Nanos, SplitMix, bucket_low};
use punctual_numbers::claims::{
    Beyond, CauseClaims, Claims, Hill, Level, Methods, Misses, Moods, NewMaximum, Percentile, PhaseClaims, Refusal,
    Sign, TooFar,
};
use punctual_numbers::explain::{Cause, Class};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{
    Clock, Counters, CpuInterval, CutOff, CutReason, End, EndReason, Event, EventKind, Frame, Granted, Header, InForce,
    Interval, LoadDone, Mark, MarkKind, Moment, RecTime, Recording, WarmUp, Worst,
};
use punctual_numbers::report::{Distrust, LatencyRow, Percentiles, Report, WorstAt};
use punctual_numbers::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use punctual_numbers::stats::tail::Estimate;

const LOADS: [&str; 5] = ["cpu", "memory", "io-write", "switch", "net"];
const PERIOD: Nanos = Nanos::from_ms(1);
const RELEASES_PER_SECOND: u64 = 1_000;
pub const EPOCH_NS: u64 = 5_000_000_000_000;

/// Every sample with the name of its golden files.
pub fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("two-cpus", two_cpus()),
        ("eight-cpus", eight_cpus()),
        ("skipped", skipped()),
        ("empty", empty()),
        ("cut-off", cut_off()),
        ("no-budget", no_budget()),
    ]
}

/// A run on two CPUs for 30 s, idle and then under load. The budget is held, although the hypervisor took time.
pub fn two_cpus() -> Report {
    let run = Sample { cpus: 2, seconds: 30, budget: Some(100), ..SAMPLE };
    run.report(vec![event(20, 40, EventKind::Steal, 0)])
}

/// A run on eight CPUs for 2 min. A few releases miss the budget, and there are doubts of several directions.
pub fn eight_cpus() -> Report {
    let run = Sample { cpus: 8, seconds: 120, budget: Some(72), governor_after: "performance", ..SAMPLE };
    let events = [event(40, 0, EventKind::WallClockStep, 0), event(83, 2_300, EventKind::Paused, 18_400)];
    let counters = Counters { minor_faults: 2, ..Counters::default() };
    let faults = CpuInterval { cpu: 3, counters, ..CpuInterval::default() };
    run.report(events.into_iter().chain([interval(119, 1, vec![faults])]).collect())
}

/// A run on two CPUs. The first is blocked for 20 ms of every second, and one load could not run.
pub fn skipped() -> Report {
    let run = Sample { cpus: 2, seconds: 10, budget: Some(50), hog: true, ..SAMPLE };
    let (load, why) = ("graphics".to_owned(), "x11perf is not found on PATH; install it to use this load".to_owned());
    run.report(vec![mark(3, MarkKind::LoadSkipped { load, why })])
}

/// A run that ended without any measured release.
pub fn empty() -> Report {
    let header = Sample { cpus: 1, budget: Some(50), ..SAMPLE }.header();
    Report::of(&Recording::new(Header { machine: Vec::new(), ..header }))
}

/// A recording that ends in the middle of a frame.
pub fn cut_off() -> Report {
    let mut recording = Sample { cpus: 2, seconds: 7, budget: Some(100), end: None, ..SAMPLE }.recording();
    recording.cut_off = Some(CutOff { good_bytes: 18_211, lost_bytes: 37, reason: CutReason::InAFrame });
    Report { claims: Sample { cpus: 2, seconds: 7, budget: Some(100), ..SAMPLE }.claims(), ..Report::of(&recording) }
}

/// A short run of one CPU without a budget, by a user who may not use the real-time class.
pub fn no_budget() -> Report {
    Sample { cpus: 1, seconds: 2, policy: Policy::Other, end: Some(EndReason::Interrupted), ..SAMPLE }
        .report(Vec::new())
}

/// The result of a load that ran for 20 s.
pub fn load(phase: u16, name: &str, operations: Option<u64>) -> LoadDone {
    LoadDone {
        phase,
        name: name.to_owned(),
        cpus: CpuSet::from_iter([0, 1]),
        unit: "loops".to_owned(),
        operations,
        time: Nanos::from_secs(20),
        failure: None,
    }
}

/// A report of a damaged file: every number is the largest that a file can hold.
pub fn absurd() -> Report {
    let mut report = skipped();
    let most = Some(Nanos::MAX);
    let points =
        Percentiles { min: Some(Nanos::ZERO), mean: most, p50: most, p99: most, p99_9: most, p99_99: most, max: most };
    for cpu in &mut report.cpus {
        for bucket in [0, 1, 2, 3_000, 3_001, 3_775] {
            cpu.ran.record_n(Nanos::from_ns(bucket_low(bucket)), u64::MAX);
        }
        cpu.row = LatencyRow {
            due: u64::MAX,
            ran: u64::MAX,
            skipped: u64::MAX,
            over_budget: u64::MAX,
            latency: points,
            latency_due: points,
        };
        (cpu.longest_gap, cpu.worst_at) =
            (Nanos::MAX, Some(WorstAt { at: RecTime::after_epoch(Nanos::MAX), phase: String::new() }));
    }
    report.total = report.cpus.first().map(|cpu| cpu.row.clone());
    for point in &mut report.timeline {
        (point.start, point.length, point.max, point.skipped) =
            (RecTime::after_epoch(Nanos::MAX), Nanos::MAX, most, u64::MAX);
    }
    for span in &mut report.spans {
        span.from = RecTime::after_epoch(Nanos::MAX);
        span.to = span.from;
    }
    report.events = vec![Event {
        at: RecTime::after_epoch(Nanos::MAX),
        length: Nanos::MAX,
        kind: EventKind::Suspended,
        releases_lost: u64::MAX,
    }];
    for load in &mut report.loads {
        (load.operations, load.time) = (Some(u64::MAX), Nanos::from_ns(1));
    }
    (report.measured, report.started_unix_ns) = (Nanos::MAX, u64::MAX);
    (report.need.period, report.need.budget) = (Nanos::ZERO, most);
    (report.verdict.due, report.verdict.missed, report.verdict.miss_probability_upper) = (0, u64::MAX, Some(f64::NAN));
    report
}

pub fn every_distrust() -> Vec<Distrust> {
    let (cpus, length) = (CpuSet::from_iter([0, 1]), Nanos::from_ms(40));
    vec![
        Distrust::Steal { time: length },
        Distrust::Paused { times: 2, total: length },
        Distrust::Suspended { times: 1, total: length },
        Distrust::WallClockStep { times: 1 },
        Distrust::TscDrift,
        Distrust::HelperShared { cpus: cpus.clone() },
        Distrust::HelperSibling { cpus },
        Distrust::Throttled,
        Distrust::RtThrottled,
        Distrust::SlowClock { cost: Nanos::from_ns(850) },
        Distrust::Faults { cpu: 3, faults: 7 },
        Distrust::InBand { cpu: 3, times: 7 },
        Distrust::Migrations { cpu: 3, times: 7 },
        Distrust::MemoryNotLocked,
        Distrust::NotRealTime,
        Distrust::GrantedOtherwise { cpu: 3 },
        Distrust::TooFew { due: 0 },
        Distrust::TooFew { due: 200 },
        Distrust::EndedEarly { reason: EndReason::Interrupted },
        Distrust::CutOff,
        Distrust::Damaged { lost_bytes: 4_096 },
        Distrust::WriteFailed,
        Distrust::MaximaLost { maxima: 3 },
        Distrust::ChangedDuring { path: "/proc/sys/kernel/sched_rt_runtime_us".to_owned() },
        Distrust::Tracing { tracer: "function".to_owned() },
        Distrust::Early { cpu: 1, times: 4, by: Some(Nanos::from_ns(1_250)) },
        Distrust::LoadMissing { load: "net".to_owned(), why: "no peer".to_owned() },
        Distrust::Drifts { load: LOADS.join("+") },
    ]
}

fn event(at_s: u64, length_ms: u64, kind: EventKind, releases_lost: u64) -> Frame {
    let at = RecTime::from_secs(at_s);
    Frame::Event(Event { at, length: Nanos::from_ms(length_ms), kind, releases_lost })
}

fn mark(second: u64, kind: MarkKind) -> Frame {
    Frame::Mark(Mark { at: RecTime::from_secs(second), kind })
}

fn interval(second: u64, phase: u16, cpus: Vec<CpuInterval>) -> Frame {
    Frame::Interval(Interval { start: RecTime::from_secs(second), length: Nanos::from_secs(1), phase, cpus })
}

struct Dice(SplitMix);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    /// A latency drawn from a body, a shoulder that occurs only under load, and a thin tail.
    fn latency(&mut self, loaded: bool, cpu: u32) -> Nanos {
        let body: u64 = (0..4).map(|_| self.below(1_100)).sum::<u64>() + 2_100 + u64::from(cpu) * 140;
        let shoulder = if loaded && self.below(5) == 0 { self.below(4_000) + self.below(9_000) } else { 0 };
        let tail = if self.below(if loaded { 1_500 } else { 20_000 }) == 0 {
            self.below(31_000) + self.below(31_000)
        } else {
            0
        };
        Nanos::from_ns(body + shoulder + tail)
    }
}

pub struct Sample {
    pub cpus: u32,
    pub seconds: u64,
    /// Largest latency that does not count as a miss, in microseconds.
    pub budget: Option<u64>,
    pub hog: bool,
    pub policy: Policy,
    pub end: Option<EndReason>,
    pub governor_after: &'static str,
}

pub const SAMPLE: Sample = Sample {
    cpus: 1,
    seconds: 0,
    budget: None,
    hog: false,
    policy: Policy::Fifo(90),
    end: Some(EndReason::Completed),
    governor_after: "schedutil",
};

/// Counts of one CPU's latencies in one second.
#[derive(Default)]
struct Second {
    ran: Counts,
    skipped: Counts,
    over_budget: u64,
    worst: Vec<Worst>,
}

impl Sample {
    fn report(&self, more: Vec<Frame>) -> Report {
        let mut recording = self.recording();
        for frame in more {
            recording.add(frame);
        }
        Report { claims: self.claims(), ..Report::of(&recording) }
    }

    fn recording(&self) -> Recording {
        let mut recording = Recording::new(self.header());
        let end =
            self.end.map(|reason| Frame::End(End { at: RecTime::from_secs(self.seconds), reason, write_error: None }));
        let phases = [MarkKind::PhaseStart(0), MarkKind::PhaseEnd(0), MarkKind::PhaseStart(1), MarkKind::PhaseEnd(1)];
        let moments = [0, self.split(), self.split(), self.seconds];
        let warm_up = |cpu| WarmUp { cpu, activations: 200, max: Nanos::from_us(212 + u64::from(cpu)) };
        let frames = [
            Frame::Threads((0..self.cpus).map(|cpu| self.granted(cpu)).collect()),
            Frame::Findings(findings()),
            Frame::WarmUp((0..self.cpus).map(warm_up).collect()),
            mark(0, MarkKind::Note("recorded on the bench <left>, lid closed".to_owned())),
            Frame::LoadDone(load(1, "cpu", Some(41_872_334))),
            Frame::LoadDone(load(1, "cmd:glmark2 --off-screen", None)),
        ];
        let marks = moments.into_iter().zip(phases).map(|(second, kind)| mark(second, kind));
        let frames = frames.into_iter().chain(self.in_force()).chain(marks).chain(self.measured()).chain(end);
        for frame in frames {
            recording.add(frame);
        }
        recording
    }

    pub fn header(&self) -> Header {
        let housekeeping = CpuSet::from_iter([self.cpus]);
        Header {
            tool_version: "0.1.0".to_owned(),
            started_unix_ns: 1_763_718_077_000_000_000,
            epoch: MonoTime::from_ns(EPOCH_NS),
            scenario: self.scenario(),
            machine: machine(),
            placement: Placement { housekeeping, ..Placement::default() },
            clock: Clock::default(),
            checkpoint: Nanos::from_secs(1),
        }
    }

    /// Claims of two phases: in one every claim is possible, in the other most are refused.
    #[allow(clippy::too_many_lines, reason = "a value, written out")]
    fn claims(&self) -> Claims {
        if self.seconds == 0 {
            return Claims::default();
        }
        let percentile = |one_in, us: u64, more: Option<u64>| Percentile {
            one_in,
            value: more.is_none().then(|| Nanos::from_us(us)),
            low: more.is_none().then(|| Nanos::from_us(us - 1)),
            high: more.is_none().then(|| Nanos::from_us(us + 2)),
            more: more.map(Nanos::from_secs),
            independent: Some(self.seconds * 300),
        };
        let level = |once_in, us| Level {
            once_in,
            value: Nanos::from_us(us),
            low: Nanos::from_us(us - 9),
            high: Some(Nanos::from_us(us + 14)),
        };
        let day = Nanos::from_secs(86_400);
        let idle = PhaseClaims {
            phase: 0,
            cpus: (0..self.cpus).collect(),
            due: self.seconds * 333 * u64::from(self.cpus),
            time: Nanos::from_secs(self.split()),
            largest: Some(Nanos::from_us(61)),
            clustering: 1.0,
            moods: Some(Moods { probability: 0.02, length: None, stretches: 200.0, too_long: false, run_wanted: None }),
            methods: Methods::USED,
            extremal_index: None,
            drift: None,
            misses: self.budget.map(Nanos::from_us).map(|budget| Misses {
                budget,
                missed: 0,
                spread: 1.0,
                upper: Some(1.5e-4),
                independent: Some(20_000),
                wanted_one_in: 10_000,
                more: Some(Nanos::from_secs(50)),
            }),
            next: vec![
                NewMaximum { time: Nanos::from_secs(3_600), odds: 0.92 },
                NewMaximum { time: day, odds: 0.9995 },
            ],
            percentiles: vec![percentile(100, 6, None), percentile(1_000, 9, None), percentile(10_000, 0, Some(19))],
            beyond: Ok(Beyond {
                threshold: Nanos::from_us(31),
                exceedances: 320,
                blocks: 2_000,
                block: Nanos::from_secs(1),
                shape: Estimate { value: 0.02, low: -0.08, high: 0.13 },
                fits: 0.4,
                levels: vec![level(Nanos::from_secs(3_600), 88), level(day, 117)],
                too_far: vec![TooFar {
                    once_in: Nanos::from_secs(365 * 86_400),
                    run_wanted: Nanos::from_secs(500_000),
                }],
            }),
            by_cause: Vec::new(),
            signs: Vec::new(),
            by_cpu: Vec::new(),
        };
        let latest = PhaseClaims {
            cpus: CpuSet::from_iter([0]),
            largest: Some(Nanos::from_us(143)),
            percentiles: vec![percentile(100, 14, None), percentile(1_000, 31, None)],
            ..idle.clone()
        };
        let loaded = PhaseClaims {
            phase: 1,
            clustering: 3.2,
            moods: Some(Moods {
                probability: 0.998,
                length: Some(Nanos::from_secs(4)),
                stretches: 50.0,
                too_long: false,
                run_wanted: None,
            }),
            extremal_index: Some(0.31),
            misses: self.budget.map(Nanos::from_us).map(seven_missed),
            beyond: Err(Refusal::TooFew { blocks: self.seconds, wanted: 334, more: Nanos::from_secs(320) }),
            signs: vec![
                Sign::EveryNth { cpu: 0, activations: 4 },
                Sign::Modes {
                    cpu: 0,
                    hills: vec![
                        Hill { at: Nanos::from_us(3), share: 0.8 },
                        Hill { at: Nanos::from_us(14), share: 0.2 },
                    ],
                },
            ],
            by_cause: by_cause(idle.beyond.clone()),
            by_cpu: if self.cpus > 1 { vec![latest] } else { Vec::new() },
            ..idle.clone()
        };
        Claims { phases: vec![idle, loaded] }
    }

    /// The second at which load begins.
    fn split(&self) -> u64 {
        self.seconds / 3
    }

    /// The frames of the run: an interval for each second, then the worst activations.
    fn measured(&self) -> Vec<Frame> {
        let mut dice: Vec<Dice> = (0..self.cpus).map(|cpu| Dice(SplitMix::new(u64::from(cpu) + 1))).collect();
        let (mut frames, mut worst) = (Vec::new(), Vec::new());
        for second in 0..self.seconds {
            let drawn = (0..self.cpus).zip(&mut dice).map(|(cpu, dice)| (cpu, self.draw(cpu, second, dice)));
            let drawn: Vec<(u32, Second)> = drawn.collect();
            let cpus = drawn.iter().map(|(cpu, second)| second.frame(*cpu)).collect();
            frames.push(interval(second, u16::from(second >= self.split()), cpus));
            worst.extend(drawn.into_iter().flat_map(|(_, second)| second.worst));
        }
        worst.sort_by_key(|worst: &Worst| std::cmp::Reverse(worst.activation.latency()));
        worst.truncate(12);
        frames.push(Frame::Worst(worst));
        frames
    }

    fn draw(&self, cpu: u32, second: u64, dice: &mut Dice) -> Second {
        let mut drawn = Second::default();
        for i in 0..RELEASES_PER_SECOND {
            let is_held_back = self.hog && cpu == 0 && i < 20;
            let late = if is_held_back { PERIOD.times(20 - i) } else { dice.latency(second >= self.split(), cpu) };
            if is_held_back && i > 0 {
                drawn.skipped.record(late);
                continue;
            }
            drawn.ran.record(late);
            drawn.over_budget += u64::from(self.budget.is_some_and(|us| late > Nanos::from_us(us)));
            if late > Nanos::from_us(45) {
                drawn.worst.push(worst(cpu, Nanos::from_secs(second).plus(PERIOD.times(i)), late));
            }
        }
        drawn
    }

    fn scenario(&self) -> Scenario {
        Scenario {
            threads: (0..self.cpus).map(|cpu| ProbeThread { cpu, period: PERIOD }).collect(),
            policy: self.policy,
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Auto,
            warm_up: Amount::Activations(200),
            length: Amount::Time(Nanos::from_secs(self.seconds)),
            budget: self.budget.map(Nanos::from_us),
            limit: None,
            dma_latency_us: None,
            load_phases: vec![
                LoadPhase { loads: Vec::new(), parts: 1 },
                LoadPhase { loads: LOADS.map(str::to_owned).to_vec(), parts: 2 },
            ],
            load_cpus: None,
            suite: None,
        }
    }

    fn granted(&self, cpu: u32) -> Granted {
        let memory_locked = self.policy != Policy::Other;
        Granted { cpu, tid: 4_100 + cpu, policy: self.policy, affinity: CpuSet::from_iter([cpu]), memory_locked }
    }

    fn in_force(&self) -> [Frame; 3] {
        let at = |moment, governor: &str| {
            let values = [
                ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor),
                ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
                ("/dev/cpu_dma_latency", "2000000000 us"),
            ];
            Frame::InForce(InForce { moment, values: values.map(MachineLine::from).to_vec() })
        };
        let same = "schedutil";
        [at(Moment::Before, same), at(Moment::During, same), at(Moment::After, self.governor_after)]
    }
}

impl Second {
    fn frame(&self, cpu: u32) -> CpuInterval {
        let skipped_max = self.skipped.max().unwrap_or_default();
        CpuInterval {
            over_budget: self.over_budget,
            longest_gap: PERIOD.plus(skipped_max.max(self.ran.max().unwrap_or_default())),
            ..CpuInterval::of(cpu, &self.ran, &self.skipped)
        }
    }
}

fn worst(cpu: u32, at: Nanos, late: Nanos) -> Worst {
    let release = MonoTime::from_ns(EPOCH_NS).plus(at);
    let (index, counted_over) = (at.whole(PERIOD), Nanos::from_secs(1));
    let activation =
        Activation { release, woke: release.plus(late), index, cpu, counted_over, ..Activation::default() };
    Worst { cpu, activation }
}

/// Claims of two causes: one with levels of its own, and one of which only a sample is known.
fn by_cause(told: Result<Beyond, Refusal>) -> Vec<CauseClaims> {
    let sampled = Err(Refusal::Sampled { known: 352, late: 9_020 });
    vec![
        CauseClaims { cause: cause("nvme0q3 (irq 131)"), activations: 240, beyond: told },
        CauseClaims { cause: cause("eth0 (irq 44)"), activations: 112, beyond: sampled },
    ]
}

fn seven_missed(budget: Nanos) -> Misses {
    Misses {
        budget,
        missed: 7,
        spread: 1.0,
        upper: Some(4e-3),
        independent: Some(2_500),
        wanted_one_in: 1_000,
        more: None,
    }
}

fn cause(name: &str) -> Cause {
    Cause { class: Class::HardIrq, name: name.into() }
}

fn machine() -> Vec<MachineLine> {
    let lines = [
        ("model", "Acme Reference Board"),
        ("kernel", "6.12.43, stock (PREEMPT_DYNAMIC), arm64"),
        ("cpus", "0-7 online, isolated 2-3, tick-free none, no SMT, clock arch_sys_counter"),
        ("virtualisation", "none"),
        (
            "command line",
            "root=/dev/sda1 ro quiet isolcpus=nohz,domain,managed_irq,2-3 rcu_nocbs=2-3 console=ttyS0,115200 audit=0",
        ),
        ("idle states", "WFI 1 us, cpu-sleep 133 us"),
        ("bench", "left, lid closed"),
    ];
    lines.map(MachineLine::from).to_vec()
}

/// Findings as texts: severity and state, id, title, source and value of the evidence, effect, fix, cost.
const FINDINGS: [[&str; 8]; 6] = [
    [
        "high bad",
        "dyn.preempt",
        "Preemption mode full",
        "/sys/kernel/debug/sched/preempt",
        "none (voluntary) full lazy",
        "A wake-up waits until the kernel code that runs reaches a point where it may be left, which takes hundreds of microseconds under load.",
        "Boot with preempt=full, or install a kernel built with PREEMPT_RT.",
        "A few percent of throughput.",
    ],
    [
        "high bad",
        "pm.idle_state",
        "Only shallow sleep on the real-time CPUs",
        "/sys/devices/system/cpu/cpu0/cpuidle/state3/disable",
        "0",
        "After every idle stretch a wake-up waits up to 133 us for the CPU to come back.",
        "Hold /dev/cpu_dma_latency open with the value 0 while the application runs.",
        "More power drawn and more heat when idle.",
    ],
    [
        "medium bad",
        "pm.governor",
        "Governor performance on the real-time CPUs",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "schedutil",
        "Work after a wake-up runs at whatever frequency the last second needed.",
        "cpupower frequency-set -g performance",
        "More power drawn.",
    ],
    [
        "high unknown",
        "fw.smi_count",
        "System management interrupts can be counted",
        "/dev/cpu/0/msr",
        "permission denied",
        "Firmware stops all CPUs for as long as it likes.",
        "Look for SMI sources in the firmware set-up.",
        "",
    ],
    ["medium good", "mem.swap", "No swap", "/proc/swaps", "no entries", "", "", ""],
    ["medium none", "cpu.smt", "A core to oneself", "/sys/devices/system/cpu/smt/control", "notsupported", "", "", ""],
];

fn findings() -> Vec<Finding> {
    let finding = |[state, texts @ ..]: [&str; 8]| {
        let [id, title, source, value, why, fix, cost] = texts.map(str::to_owned);
        let (severity, state) = state.split_once(' ').unwrap();
        let state = match state {
            "bad" => State::Bad,
            "unknown" => State::Unknown(WhyUnknown::refused("reading /dev/cpu/0/msr")),
            "good" => State::Good,
            _ => State::NotApplicable("the processor has no SMT".to_owned()),
        };
        let is_high = severity == "high";
        let (severity, confidence) =
            if is_high { (Severity::High, Confidence::High) } else { (Severity::Medium, Confidence::Medium) };
        Finding { id, title, severity, state, evidence: vec![Evidence { source, value }], why, fix, cost, confidence }
    };
    FINDINGS.map(finding).to_vec()
}
