//! Reports made by hand, for the tests of all renderers: drawn from a fixed generator, so always the same.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Confidence, Evidence, Finding, Severity, State};
use punctual_hist::{Activation, Counts, MonoTime, Nanos, SplitMix};
use punctual_numbers::claims::{
    Beyond, CauseClaims, Claims, Hill, Level, Misses, NewMaximum, Percentile, PhaseClaims, Refusal, Sign, TooFar,
};
use punctual_numbers::explain::{Cause, Class};
use punctual_numbers::recording::{
    CutOff, CutReason, EndReason, Event, EventKind, Granted, InForce, LoadDone, Moment, RecTime, WarmUp,
};
use punctual_numbers::report::{
    CpuRow, Distrust, Need, NextStep, Percentiles, PhaseRow, PhaseSpan, Report, Row, Seen, SkippedLoad, TimelinePoint,
    Trust, Verdict, WorstAt, WorstRow,
};
use punctual_numbers::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use punctual_numbers::stats::tail::Estimate;

const IDLE: &str = "idle";
const LOADED: &str = "cpu+memory+io-write+switch+net";
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

/// Two CPUs, 30 s, idle then load, held, trusted with a remark.
pub fn two_cpus() -> Report {
    let mut report = Run { cpus: 2, seconds: 30, budget: Some(Nanos::from_us(100)), hog: false }.report();
    report.trust.remarks = vec![Distrust::Steal { time: Nanos::from_ms(40) }];
    report
}

/// Eight CPUs, 2 min, two events, not held by a few releases.
pub fn eight_cpus() -> Report {
    let mut report = Run { cpus: 8, seconds: 120, budget: Some(Nanos::from_us(72)), hog: false }.report();
    report.events = vec![event(40, 0, EventKind::WallClockStep, 0), event(83, 2_300, EventKind::Paused, 18_400)];
    report.next =
        vec![NextStep::Repeat, NextStep::RunAsRoot { adds: "reads /dev/cpu/*/msr and the tracing state".to_owned() }];
    let paused = Distrust::Paused { times: 1, total: Nanos::from_ms(2_300) };
    doubted(report, vec![paused, Distrust::Faults { cpu: 3, faults: 2 }])
}

/// Two CPUs of which the first is blocked for 20 ms of every second.
pub fn skipped() -> Report {
    let mut report = Run { cpus: 2, seconds: 10, budget: Some(Nanos::from_us(50)), hog: true }.report();
    report.next.insert(0, NextStep::LookAtSkips { cpu: 0 });
    report
}

/// A report of a run that did not measure anything.
pub fn empty() -> Report {
    let mut report = Run { cpus: 1, seconds: 0, budget: Some(Nanos::from_us(50)), hog: false }.report();
    report.machine.clear();
    report.findings.clear();
    (report.next, report.loads, report.threads) = (Vec::new(), Vec::new(), Vec::new());
    (report.warm_up, report.in_force, report.spans, report.notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    doubted(report, vec![Distrust::TooFew { due: 0 }])
}

/// A recording that ends in the middle, on a disk that was full.
pub fn cut_off() -> Report {
    let mut report = Run { cpus: 2, seconds: 7, budget: Some(Nanos::from_us(100)), hog: false }.report();
    report.end = None;
    report.cut_off = Some(CutOff { good_bytes: 18_211, lost_bytes: 37, reason: CutReason::InAFrame });
    report.write_error = Some("write to run.punctual: no space left on device".to_owned());
    report.next = vec![NextStep::Repeat];
    doubted(report, vec![Distrust::CutOff, Distrust::WriteFailed])
}

/// A short run of one CPU without a budget, by a user who may not use the real-time class.
pub fn no_budget() -> Report {
    let mut report = Run { cpus: 1, seconds: 2, budget: None, hog: false }.report();
    report.scenario.policy = Policy::Other;
    report.trust.remarks = vec![Distrust::NotRealTime, Distrust::MemoryNotLocked];
    report.next = vec![NextStep::StateBudget];
    report.end = Some(EndReason::Interrupted);
    report
}

/// What a load achieved in 20 s.
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

/// What no machine can measure and any damaged file can hold: every number as large as it gets.
pub fn absurd() -> Report {
    let mut report = skipped();
    let most = Some(Nanos::MAX);
    let points =
        Percentiles { min: Some(Nanos::ZERO), mean: most, p50: most, p99: most, p99_9: most, p99_99: most, max: most };
    for cpu in &mut report.cpus {
        for bucket in [0, 1, 2, 3_000, 3_001, 3_775] {
            cpu.ran.record_n(Nanos::from_ns(punctual_hist::bucket_low(bucket)), u64::MAX);
        }
        cpu.row = Row {
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
    report.next.push(NextStep::MeasureLonger { length: Nanos::MAX, one_in: u64::MAX });
    report
}

/// One of every reason to doubt a run.
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
        Distrust::Early { cpu: 1, times: 4 },
        Distrust::LoadMissing { load: "net".to_owned(), why: "no peer".to_owned() },
        Distrust::Drifts { load: LOADED.to_owned() },
    ]
}

fn event(at_s: u64, length_ms: u64, kind: EventKind, releases_lost: u64) -> Event {
    Event { at: RecTime::after_epoch(Nanos::from_secs(at_s)), length: Nanos::from_ms(length_ms), kind, releases_lost }
}

struct Dice(SplitMix);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    /// A latency as machines have them: a body, a shoulder under load, and a thin tail.
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

/// What the samples differ in.
struct Run {
    cpus: u32,
    seconds: u64,
    budget: Option<Nanos>,
    hog: bool,
}

/// What was drawn for one CPU.
#[derive(Default)]
struct Drawn {
    ran: [Counts; 2],
    skipped: [Counts; 2],
    points: Vec<TimelinePoint>,
    worst: Vec<WorstRow>,
}

impl Run {
    fn report(&self) -> Report {
        let drawn: Vec<Drawn> = (0..self.cpus).map(|cpu| self.draw(cpu)).collect();
        let cpus: Vec<CpuRow> = (0..self.cpus).zip(&drawn).map(|(cpu, d)| self.cpu_row(cpu, d)).collect();
        let (mut ran, mut skipped) = (Counts::new(), Counts::new());
        for cpu in &cpus {
            ran.merge(&cpu.ran);
            skipped.merge(&cpu.skipped);
        }
        let total = self.row(&ran, &skipped);
        let mut worst: Vec<WorstRow> = drawn.iter().flat_map(|d| d.worst.iter().cloned()).collect();
        worst.sort_by_key(|w| std::cmp::Reverse(w.activation.latency()));
        worst.truncate(12);
        let (split, measured) = (self.split(), Nanos::from_secs(self.seconds));
        let need = Need { period: PERIOD, budget: self.budget, cpus: (0..self.cpus).collect() };
        let span = |name: &str, from, to| PhaseSpan {
            name: name.to_owned(),
            from: RecTime::after_epoch(Nanos::from_secs(from)),
            to: RecTime::after_epoch(Nanos::from_secs(to)),
        };
        Report {
            tool_version: "0.1.0".to_owned(),
            started_unix_ns: 1_763_718_077_000_000_000,
            epoch: MonoTime::from_ns(EPOCH_NS),
            runs: Vec::new(),
            stretch: None,
            measured,
            scenario: self.scenario(),
            machine: machine(),
            findings: findings(),
            verdict: verdict(&need, &cpus, measured, &[]),
            need,
            total: (self.cpus > 1).then_some(total),
            cpus,
            phases: (0..2).flat_map(|phase| self.phase_rows(phase, &drawn)).collect(),
            spans: vec![span(IDLE, 0, split), span(LOADED, split, self.seconds)],
            timeline: drawn.iter().flat_map(|d| d.points.iter().cloned()).collect(),
            worst,
            claims: self.claims(),
            causes: None,
            loads: vec![load(1, "cpu", Some(41_872_334)), load(1, "cmd:glmark2 --off-screen", None)],
            loads_skipped: vec![SkippedLoad {
                name: "graphics".to_owned(),
                because: "x11perf is not installed".to_owned(),
            }],
            notes: vec!["recorded on the bench <left>, lid closed".to_owned()],
            events: Vec::new(),
            threads: (0..self.cpus).map(granted).collect(),
            warm_up: (0..self.cpus)
                .map(|cpu| WarmUp { cpu, activations: 200, max: Nanos::from_us(212 + u64::from(cpu)) })
                .collect(),
            in_force: in_force(),
            housekeeping: CpuSet::from_iter([self.cpus]),
            trust: Trust::default(),
            next: vec![
                NextStep::Fix { id: "cpuidle-deep".to_owned() },
                NextStep::MeasureLonger { length: Nanos::from_secs(2_996), one_in: 1_000_000 },
            ],
            end: Some(EndReason::Completed),
            cut_off: None,
            write_error: None,
        }
    }

    /// One phase of which much can be said and one of which little can.
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
            extremal_index: None,
            drift: None,
            misses: self.budget.map(|budget| Misses {
                budget,
                missed: 0,
                spread: 1.0,
                upper: 1.5e-4,
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
            extremal_index: Some(0.31),
            misses: self.budget.map(seven_missed),
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

    fn draw(&self, cpu: u32) -> Drawn {
        let mut dice = Dice(SplitMix::new(u64::from(cpu) + 1));
        let mut drawn = Drawn::default();
        let step = (self.seconds / 200).max(1);
        for second in (0..self.seconds).step_by(usize::try_from(step).unwrap()) {
            let loaded = second >= self.split();
            let (mut ran, mut skipped) = (Counts::new(), Counts::new());
            for i in 0..RELEASES_PER_SECOND * step {
                let late =
                    if self.hog && cpu == 0 && i < 20 { PERIOD.times(20 - i) } else { dice.latency(loaded, cpu) };
                let at = Nanos::from_secs(second).plus(PERIOD.times(i));
                if self.hog && cpu == 0 && (1..20).contains(&i) {
                    skipped.record(late);
                    continue;
                }
                ran.record(late);
                if late > Nanos::from_us(45) {
                    drawn.worst.push(worst_row(cpu, at, late, loaded));
                }
            }
            drawn.points.push(point(cpu, second, step, &ran, &skipped));
            drawn.ran[usize::from(loaded)].merge(&ran);
            drawn.skipped[usize::from(loaded)].merge(&skipped);
        }
        drawn
    }

    fn cpu_row(&self, cpu: u32, drawn: &Drawn) -> CpuRow {
        let (mut ran, mut skipped) = (drawn.ran[0].clone(), drawn.skipped[0].clone());
        ran.merge(&drawn.ran[1]);
        skipped.merge(&drawn.skipped[1]);
        let worst = drawn.worst.iter().max_by_key(|w| w.activation.latency());
        CpuRow {
            cpu,
            period: PERIOD,
            row: self.row(&ran, &skipped),
            worst_at: worst.map(|w| WorstAt { at: w.at, phase: w.phase.clone() }),
            longest_gap: PERIOD.plus(skipped.max().or(ran.max()).unwrap_or_default()),
            early: 0,
            ran,
            skipped,
        }
    }

    fn phase_rows(&self, phase: u16, drawn: &[Drawn]) -> Vec<PhaseRow> {
        let name = if phase == 0 { IDLE } else { LOADED };
        let place = usize::from(phase);
        (0..self.cpus)
            .zip(drawn)
            .map(|(cpu, d)| PhaseRow {
                phase,
                name: name.to_owned(),
                cpu,
                row: self.row(&d.ran[place], &d.skipped[place]),
            })
            .collect()
    }

    fn row(&self, ran: &Counts, skipped: &Counts) -> Row {
        let mut due = ran.clone();
        due.merge(skipped);
        let late = |(bucket, n)| {
            if self.budget.is_some_and(|b| punctual_hist::bucket_high(bucket) > b.as_ns()) { n } else { 0 }
        };
        Row {
            due: due.count(),
            ran: ran.count(),
            skipped: skipped.count(),
            over_budget: ran.nonzero().map(late).sum(),
            latency: percentiles(ran),
            latency_due: percentiles(&due),
        }
    }

    fn scenario(&self) -> Scenario {
        let loads = ["cpu", "memory", "io-write", "switch", "net"].map(str::to_owned).to_vec();
        Scenario {
            threads: (0..self.cpus).map(|cpu| ProbeThread { cpu, period: PERIOD }).collect(),
            policy: Policy::Fifo(90),
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Auto,
            warm_up: Amount::Activations(200),
            length: Amount::Time(Nanos::from_secs(self.seconds)),
            budget: self.budget,
            limit: None,
            dma_latency_us: None,
            load_phases: vec![LoadPhase { loads: Vec::new(), parts: 1 }, LoadPhase { loads, parts: 2 }],
            load_cpus: None,
            suite: None,
        }
    }
}

fn percentiles(counts: &Counts) -> Percentiles {
    Percentiles {
        min: counts.min(),
        mean: counts.mean(),
        p50: counts.percentile_ppm(500_000),
        p99: counts.percentile_ppm(990_000),
        p99_9: counts.percentile_ppm(999_000),
        p99_99: counts.percentile_ppm(999_900),
        max: counts.max(),
    }
}

fn point(cpu: u32, second: u64, step: u64, ran: &Counts, skipped: &Counts) -> TimelinePoint {
    TimelinePoint {
        start: RecTime::after_epoch(Nanos::from_secs(second)),
        length: Nanos::from_secs(step),
        cpu,
        min: ran.min(),
        p50: ran.percentile_ppm(500_000),
        p99_9: ran.percentile_ppm(999_000),
        max: ran.max(),
        skipped: skipped.count(),
    }
}

fn worst_row(cpu: u32, at: Nanos, late: Nanos, loaded: bool) -> WorstRow {
    let release = MonoTime::from_ns(EPOCH_NS).plus(at);
    let activation = Activation {
        release,
        woke: release.plus(late),
        index: at.whole(PERIOD),
        cpu,
        involuntary_switches: 0,
        faults: 0,
        migrations: 0,
        counted_over: Nanos::from_secs(1),
    };
    WorstRow {
        cpu,
        at: RecTime::after_epoch(at),
        phase: if loaded { LOADED } else { IDLE }.to_owned(),
        latency: late,
        activation,
    }
}

fn verdict(need: &Need, cpus: &[CpuRow], measured: Nanos, doubts: &[Distrust]) -> Verdict {
    Verdict::of(&Seen::of(need, cpus, 1.0, measured), doubts)
}

/// The same with these doubts, and the verdict that they leave.
fn doubted(mut report: Report, doubts: Vec<Distrust>) -> Report {
    report.verdict = verdict(&report.need, &report.cpus, report.measured, &doubts);
    report.trust.reasons = doubts;
    report
}

fn granted(cpu: u32) -> Granted {
    Granted { cpu, tid: 4_100 + cpu, policy: Policy::Fifo(90), affinity: CpuSet::from_iter([cpu]), memory_locked: true }
}

fn pairs(values: &[(&str, &str)]) -> Vec<(String, String)> {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// One cause with a tail of its own, and one of which only a part is known.
fn by_cause(told: Result<Beyond, Refusal>) -> Vec<CauseClaims> {
    let sampled = Err(Refusal::Sampled { known: 352, late: 9_020 });
    vec![
        CauseClaims { cause: cause("nvme0q3 (irq 131)"), activations: 240, beyond: told },
        CauseClaims { cause: cause("eth0 (irq 44)"), activations: 112, beyond: sampled },
    ]
}

fn seven_missed(budget: Nanos) -> Misses {
    Misses { budget, missed: 7, spread: 1.0, upper: 4e-3, wanted_one_in: 1_000, more: None }
}

fn cause(name: &str) -> Cause {
    Cause { class: Class::HardIrq, name: name.into() }
}

fn machine() -> Vec<(String, String)> {
    pairs(&[
        ("processor", "Acme Reference Board, 8 cores at 2.4 GHz, no SMT"),
        ("kernel", "6.12.43 PREEMPT_DYNAMIC (voluntary), x86_64, HZ=250"),
        ("CPUs", "0-7 online, none isolated, none tickless"),
        ("clock", "tsc, read in the vDSO"),
        ("virtual", "no"),
        (
            "command line",
            "root=/dev/sda1 ro quiet isolcpus=nohz,domain,managed_irq,2-3 rcu_nocbs=2-3 console=ttyS0,115200 audit=0",
        ),
    ])
}

fn in_force() -> Vec<InForce> {
    let at = |moment, governor: &str| InForce {
        moment,
        values: pairs(&[
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor),
            ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("/dev/cpu_dma_latency", "2000000000 us"),
        ]),
    };
    vec![at(Moment::Before, "schedutil"), at(Moment::During, "schedutil"), at(Moment::After, "performance")]
}

fn finding(
    id: &str,
    title: &str,
    severity: Severity,
    state: State,
    evidence: &[(&str, &str)],
    words: [&str; 3],
) -> Finding {
    let [why, fix, cost] = words.map(str::to_owned);
    let evidence = pairs(evidence).into_iter().map(|(source, value)| Evidence { source, value }).collect();
    let confidence = if severity == Severity::High { Confidence::High } else { Confidence::Medium };
    Finding { id: id.to_owned(), title: title.to_owned(), severity, state, evidence, why, fix, cost, confidence }
}

fn findings() -> Vec<Finding> {
    vec![
        finding(
            "kernel-preemption",
            "Preemption mode full",
            Severity::High,
            State::Bad,
            &[("/sys/kernel/debug/sched/preempt", "none (voluntary) full lazy")],
            [
                "A wake-up waits until the kernel code that runs reaches a point where it may be left, which takes hundreds of microseconds under load.",
                "Boot with preempt=full, or install a kernel built with PREEMPT_RT.",
                "A few percent of throughput.",
            ],
        ),
        finding(
            "cpuidle-deep",
            "Only shallow sleep on the real-time CPUs",
            Severity::High,
            State::Bad,
            &[
                ("/sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "0"),
                ("/sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "133"),
            ],
            [
                "After every idle stretch a wake-up waits up to 133 us for the CPU to come back.",
                "Hold /dev/cpu_dma_latency open with the value 0 while the application runs.",
                "More power drawn and more heat when idle.",
            ],
        ),
        finding(
            "governor",
            "Governor performance on the real-time CPUs",
            Severity::Medium,
            State::Bad,
            &[("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil")],
            [
                "Work after a wake-up runs at whatever frequency the last second needed.",
                "cpupower frequency-set -g performance",
                "More power drawn.",
            ],
        ),
        finding(
            "smi-count",
            "System management interrupts can be counted",
            Severity::High,
            State::Unknown("reading /dev/cpu/0/msr is refused; root may be allowed to".to_owned()),
            &[("/dev/cpu/0/msr", "permission denied")],
            ["Firmware stops all CPUs for as long as it likes.", "Look for SMI sources in the firmware set-up.", ""],
        ),
        finding("mem.swap", "No swap", Severity::Medium, State::Good, &[("/proc/swaps", "no entries")], [""; 3]),
        finding(
            "cpu.smt",
            "A core to oneself",
            Severity::Medium,
            State::NotApplicable("the processor has no SMT".to_owned()),
            &[("/sys/devices/system/cpu/smt/control", "notsupported")],
            [""; 3],
        ),
    ]
}
