//! Comparisons of simulated recordings. Two recordings of one system must not be found to differ.

use super::*;
use crate::made_up;
use crate::recording::sample::interval;
use crate::recording::strategies;
use crate::recording::{
    CpuInterval, Event, EventKind, Frame, Granted, Header, InForce, Mark, MarkKind, Moment, RecTime,
};
use crate::report::Report;
use crate::scenario::{LoadPhase, Mechanism, Policy, ProbeThread, TimerPhase};
use crate::stats::float::whole;
use proptest::prelude::*;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Confidence, Finding, Severity, State};
use punctual_hist::{Counts, SplitMix};

const BUDGET: Nanos = Nanos::from_us(100);

fn header(cpus: &[u32], loads: &[&str]) -> Header {
    let phase =
        |load: &&str| LoadPhase { loads: if *load == "idle" { vec![] } else { vec![(*load).to_owned()] }, parts: 1 };
    let mut header = made_up::header(0, Nanos::from_secs(60));
    header.scenario.threads = cpus.iter().map(|cpu| ProbeThread { cpu: *cpu, period: Nanos::from_ms(1) }).collect();
    header.scenario.load_phases = loads.iter().map(phase).collect();
    header.scenario.budget = Some(BUDGET);
    header.machine = vec![("kernel", "6.12").into()];
    header.clock.source = Some("tsc".to_owned());
    header
}

/// Time from each skipped release until its thread ran.
const WAITED: Nanos = Nanos::from_ms(2);

fn second(cpu: u32, latencies: &[u64], skipped: u64, worst: &mut (u64, u64)) -> CpuInterval {
    let (mut ran, mut waited) = (Counts::new(), Counts::new());
    for ns in latencies {
        ran.record(Nanos::from_ns(*ns));
        *worst = (worst.0.min(*ns), worst.1.max(*ns));
    }
    waited.record_n(WAITED, skipped);
    CpuInterval {
        ran_min: Some(Nanos::from_ns(worst.0)),
        ran_max: Some(Nanos::from_ns(worst.1)),
        skipped_max: WAITED,
        over_budget: latencies.iter().filter(|ns| Nanos::from_ns(**ns) > BUDGET).count() as u64,
        ..CpuInterval::of(cpu, &ran, &waited)
    }
}

/// A recording of `seconds` for each load. `draw` takes a second and the number of an activation in it, and returns the
/// latency in nanoseconds.
fn recording(header: Header, seconds: u64, mut draw: impl FnMut(u64, u64) -> u64) -> Recording {
    let (cpus, loads) = (header.scenario.threads.clone(), header.scenario.load_phases.len());
    let mut recording = Recording::new(header);
    let mut worst = (u64::MAX, 0);
    for at in 0..seconds * loads as u64 {
        let mut measured = Vec::new();
        for thread in &cpus {
            let latencies: Vec<u64> = (0..1000).map(|i| draw(at, i)).collect();
            measured.push(second(thread.cpu, &latencies, 0, &mut worst));
        }
        recording.add(interval(at, u16::try_from(at / seconds).unwrap(), measured));
    }
    recording
}

/// Latencies of 5 us plus an exponential part with a mean of 10 us.
pub(super) fn quiet(seed: u64) -> impl FnMut(u64, u64) -> u64 {
    let mut random = SplitMix::new(seed);
    move |_, _| whole(5_000.0 - 10_000.0 * random.unit().ln())
}

/// Latencies with bursts: in some seconds a twentieth of the activations is much later.
fn bursty(seed: u64) -> impl FnMut(u64, u64) -> u64 {
    let (mut random, mut current, mut burst) = (SplitMix::new(seed), None, false);
    move |at, _| {
        if current.replace(at) != Some(at) {
            burst = random.unit() < 0.2;
        }
        let tail = if burst && random.unit() < 0.05 { 150_000.0 * random.unit() } else { 0.0 };
        whole(5_000.0 - 10_000.0 * random.unit().ln() + tail)
    }
}

/// Latencies whose level changes slowly, so that neighbouring seconds are alike.
fn wandering(seed: u64) -> impl FnMut(u64, u64) -> u64 {
    let (mut random, mut current, mut level) = (SplitMix::new(seed), None, 0.0);
    move |at, _| {
        if current.replace(at) != Some(at) {
            level = 0.7 * level + 0.2 * crate::stats::normal::quantile(random.unit());
        }
        whole((5_000.0 - 10_000.0 * random.unit().ln()) * f64::exp(level))
    }
}

/// Like [`quiet`], and every hundredth activation meets a hog of up to 100 us.
fn hogged(seed: u64) -> impl FnMut(u64, u64) -> u64 {
    let (mut random, mut quiet) = (SplitMix::new(seed ^ 0xabc), quiet(seed));
    move |at, i| quiet(at, i) + if i % 100 == 50 { whole(100_000.0 * random.unit()) } else { 0 }
}

pub(super) fn options() -> Options {
    Options { ..Options::default() }
}

fn compared(a: &Recording, b: &Recording, options: Options) -> Result<Comparison, Refused> {
    Comparison::of(&[("a".to_owned(), a), ("b".to_owned(), b)], options)
}

pub(super) fn plain(seconds: u64, draw: impl FnMut(u64, u64) -> u64) -> Recording {
    recording(header(&[1], &["idle"]), seconds, draw)
}

fn row(comparison: &Comparison, what: impl Fn(&ComparedNumber) -> bool) -> RowResult {
    comparison.others[0].groups[0].rows.iter().find(|row| what(&row.what)).unwrap().clone()
}

#[test]
fn a_system_against_itself_shows_no_difference() {
    let comparison = compared(&plain(30, quiet(1)), &plain(30, quiet(2)), options()).unwrap();
    assert_eq!(comparison.verdict(), Compared::NoDifferenceShown);
    let other = &comparison.others[0];
    assert!(!other.refused && other.differences.is_empty() && other.left_out.is_empty());
    assert_eq!((other.groups[0].due, other.wants), ((30_000, 30_000), None));
    assert!(other.told_to_ppm >= Some(999_000), "{:?}", other.told_to_ppm);
    assert!(other.groups[0].delta.unwrap().abs() < 0.03);
    let p99 = row(&comparison, |what| *what == ComparedNumber::Percentile { ppm: 990_000 });
    // The true percentile is 5 us + 10 us * ln 100.
    assert!((p99.first.unwrap() / 51_052.0 - 1.0).abs() < 0.05, "{p99:?}");
    assert!(p99.odds_of_all.unwrap() >= p99.odds.unwrap());
}

/// Compares a few pairs of each law; `tests/compare_figures.rs` counts false alarms and missed effects over many pairs.
#[test]
fn few_pairs_of_one_system_are_told_apart_whatever_its_noise() {
    for (what, draw) in [
        ("quiet", (|seed| Box::new(quiet(seed)) as Box<dyn FnMut(u64, u64) -> u64>) as fn(u64) -> Box<_>),
        ("bursty", |seed| Box::new(bursty(seed))),
        ("wandering", |seed| Box::new(wandering(seed))),
    ] {
        let wrong = (0..12u64).filter(|i| {
            let comparison = compared(&plain(20, draw(2 * i)), &plain(20, draw(2 * i + 1)), options()).unwrap();
            matches!(comparison.verdict(), Compared::Better | Compared::Worse | Compared::Mixed)
        });
        assert!(wrong.count() <= 1, "{what}");
    }
}

#[test]
fn a_hog_is_found_in_both_directions() {
    let (without, with) = (plain(10, quiet(3)), plain(10, hogged(4)));
    assert_eq!(compared(&without, &with, options()).unwrap().verdict(), Compared::Worse);
    let comparison = compared(&with, &without, options()).unwrap();
    assert_eq!(comparison.verdict(), Compared::Better);
    let misses = row(&comparison, |what| matches!(what, ComparedNumber::Misses { .. }));
    assert_eq!((misses.what, misses.verdict), (ComparedNumber::Misses { budget: Some(BUDGET) }, Compared::Better));
    let Some(Change::Ratio(limits)) = misses.change else { panic!("{misses:?}") };
    assert!(limits.high < 1.0 && limits.low >= 0.0, "{limits:?}");
}

#[test]
fn what_is_smaller_than_the_margin_is_no_difference() {
    let scaled = |times: f64| {
        let mut draw = quiet(7);
        move |at, i| whole(arm::float(draw(at, i)) * times)
    };
    let (a, b) = (plain(60, scaled(1.0)), plain(60, scaled(1.06)));
    assert_eq!(compared(&a, &b, options()).unwrap().verdict(), Compared::NoDifferenceShown);
    assert_eq!(compared(&a, &b, Options { margin: 0.01, ..options() }).unwrap().verdict(), Compared::Worse);
}

#[test]
fn too_little_says_so_and_how_much_more() {
    let tiny = compared(&plain(2, quiet(1)), &plain(2, quiet(2)), options()).unwrap();
    assert_eq!((tiny.verdict(), tiny.others[0].told_to_ppm), (Compared::NotEnoughData, None));
    let mut wrong = 0;
    for seed in 0..16 {
        let short = compared(&plain(10, wandering(2 * seed)), &plain(10, wandering(2 * seed + 1)), options()).unwrap();
        wrong += u32::from(matches!(short.verdict(), Compared::Better | Compared::Worse | Compared::Mixed));
        assert!(short.verdict() != Compared::NotEnoughData || short.others[0].wants > Some(Nanos::from_secs(10)));
    }
    assert!(wrong <= 2, "{wrong} of 16 runs of ten seconds were told apart");
}

#[test]
fn empty_recordings_and_single_activations_are_compared_to_nothing() {
    let empty = Recording::new(header(&[1], &["idle"]));
    assert!(matches!(compared(&empty, &empty, options()), Err(Refused::NothingInCommon(..))));
    let mut one = Recording::new(header(&[1], &["idle"]));
    let cpus = vec![second(1, &[7_000], 0, &mut (u64::MAX, 0))];
    one.add(interval(0, 0, cpus));
    assert_eq!(compared(&one, &one, options()).unwrap().verdict(), Compared::NotEnoughData);
    assert_eq!(compared(&one, &plain(30, quiet(1)), options()).unwrap().verdict(), Compared::NotEnoughData);
    assert!(matches!(Comparison::of(&[("a".to_owned(), &one)], options()), Err(Refused::Alone)));
    assert!(matches!(compared(&one, &one, Options { margin: f64::NAN, ..options() }), Err(Refused::Margin(_))));
}

#[test]
fn numbers_that_mean_something_else_are_refused_unless_asked_for() {
    let a = plain(10, quiet(1));
    let changed = |change: fn(&mut Header)| {
        let mut header = header(&[1], &["idle"]);
        change(&mut header);
        recording(header, 10, quiet(2))
    };
    for change in [
        (|h| h.scenario.mechanism = Mechanism::Relative) as fn(&mut Header),
        |h| h.scenario.threads[0].period = Nanos::from_us(500),
        |h| h.clock.source = Some("hpet".to_owned()),
        |h| h.scenario.load_phases[0].loads = vec!["cpu".to_owned()],
    ] {
        let b = changed(change);
        assert!(compared(&a, &b, options()).is_err());
        let anyway = compared(&a, &b, Options { anyway: true, ..options() }).unwrap();
        assert!(anyway.others[0].refused, "the result is marked");
    }
    let intended = changed(|h| {
        h.machine = vec![("kernel", "6.12-rt").into()];
        h.scenario.dma_latency_us = Some(0);
        h.scenario.phase = TimerPhase::Aligned;
    });
    let comparison = compared(&a, &intended, options()).unwrap();
    assert!(!comparison.others[0].refused);
    let listed: Vec<&Subject> = comparison.others[0].differences.iter().map(|d| &d.subject).collect();
    assert_eq!(listed, [&Subject::TimerPhase, &Subject::DmaLatency, &Subject::Machine("kernel".to_owned())]);
}

#[test]
fn settings_policies_and_findings_are_held_against_each_other() {
    let with = |governor: &str, policy, state| {
        let mut recording = plain(6, quiet(1));
        let path = "/sys/devices/system/cpu/cpuidle/current_governor".to_owned();
        let values = vec![(path, governor).into(), ("x/core_throttle_count", governor).into()];
        recording.add(Frame::InForce(InForce { moment: Moment::Before, values }));
        let affinity = CpuSet::parse_list("1").unwrap();
        recording.add(Frame::Threads(vec![Granted { cpu: 1, tid: 1, policy, affinity, memory_locked: true }]));
        recording.add(Frame::Findings(vec![Finding {
            id: "idle.states".to_owned(),
            title: String::new(),
            severity: Severity::High,
            state,
            evidence: vec![],
            why: String::new(),
            fix: String::new(),
            cost: String::new(),
            confidence: Confidence::High,
        }]));
        recording
    };
    let a = with("menu", Policy::Fifo(90), State::Bad);
    let b = with("teo", Policy::Other, State::Good);
    let differences = comparable::differences(&a, &b);
    let subjects: Vec<&Subject> = differences.iter().map(|d| &d.subject).collect();
    let setting = Subject::Setting("/sys/devices/system/cpu/cpuidle/current_governor".to_owned());
    assert_eq!(subjects, [&Subject::Policy(1), &setting, &Subject::Knob("idle.states".to_owned())]);
    assert!(comparable::differences(&a, &a).is_empty());
}

#[test]
fn like_is_held_against_like() {
    let a = recording(header(&[1, 2], &["idle", "cpu"]), 8, quiet(1));
    let b = recording(header(&[2, 3], &["cpu", "idle"]), 8, quiet(2));
    let comparison = compared(&a, &b, options()).unwrap();
    let groups: Vec<(&str, u32)> =
        comparison.others[0].groups.iter().map(|g| (g.group.load.as_deref().unwrap(), g.group.cpu.unwrap())).collect();
    assert_eq!(groups, [("cpu", 2), ("idle", 2)]);
    let left: Vec<(Option<u32>, bool)> =
        comparison.others[0].left_out.iter().map(|l| (l.group.cpu, l.in_first)).collect();
    assert_eq!(left, [(Some(1), true), (Some(1), true), (Some(3), false), (Some(3), false)]);
    // A load that could not be run does not count as applied.
    let mut b = recording(header(&[1], &["cpu"]), 8, quiet(2));
    let kind = MarkKind::LoadSkipped { load: "cpu".to_owned(), why: "no room".to_owned() };
    b.add(Frame::Mark(Mark { at: RecTime::EPOCH, kind }));
    let error = compared(&a, &b, options()).map(|c| c.others[0].groups[0].group.load.clone());
    assert_eq!(error, Ok(Some("idle".to_owned())));
}

#[test]
fn skipped_releases_count_with_the_time_until_their_thread_ran_as_they_do_in_a_report() {
    let mut stalls = Recording::new(header(&[1], &["idle"]));
    let (mut draw, mut worst) = (quiet(5), (u64::MAX, 0));
    for at in 0..30 {
        let latencies: Vec<u64> = (0..970).map(|i| draw(at, i)).collect();
        let cpus = vec![second(1, &latencies, 30, &mut worst)];
        stalls.add(interval(at, 0, cpus));
    }
    let comparison = compared(&plain(30, quiet(6)), &stalls, options()).unwrap();
    assert_eq!(comparison.verdict(), Compared::Worse);
    let p99 = row(&comparison, |what| *what == ComparedNumber::Percentile { ppm: 990_000 });
    assert!((p99.second.unwrap() / 2e6 - 1.0).abs() < 0.02, "{p99:?}");
    let told = Report::of(&stalls).cpus[0].row.latency_due.p99.unwrap();
    assert!((p99.second.unwrap() / told.as_secs_f64() / 1e9 - 1.0).abs() < 0.02, "{p99:?} {told:?}");
    let misses = row(&comparison, |what| matches!(what, ComparedNumber::Misses { .. }));
    assert!((misses.second.unwrap() - 30_000.0).abs() < 1_000.0, "per million: {misses:?}");
}

/// Latencies of [`quiet`], with one far larger value in each `every`-th second.
fn spiky(seed: u64, every: u64) -> impl FnMut(u64, u64) -> u64 {
    let mut quiet = quiet(seed);
    move |at, i| quiet(at, i) + if i == 500 && at % every == 1 { 400_000 } else { 0 }
}

fn rare(comparison: &Comparison) -> RowResult {
    row(comparison, |what| matches!(what, ComparedNumber::Rare { .. }))
}

#[test]
fn ten_times_as_many_spikes_are_a_verdict() {
    let comparison = compared(&plain(120, spiky(1, 40)), &plain(120, spiky(2, 4)), options()).unwrap();
    let rare = rare(&comparison);
    let ComparedNumber::Rare { threshold, first, second } = rare.what else { panic!("{rare:?}") };
    assert_eq!((first, second), (3, 30), "the widest gap of the tail parts spikes from all else");
    assert!((Nanos::from_us(300)..Nanos::from_us(410)).contains(&threshold), "{threshold:?}");
    assert!(rare.odds.unwrap() < 1e-4, "{rare:?}");
    assert_eq!((rare.verdict, comparison.verdict()), (Compared::Worse, Compared::Worse));
    assert!((comparison.error_rate - 0.05).abs() < 1e-12);
}

#[test]
fn rare_events_decide_nothing_where_what_the_hypervisor_took_would_make_as_many() {
    let stolen_of = |lengths: [Nanos; 2]| {
        let mut both = [plain(120, spiky(1, 40)), plain(120, spiky(2, 4))];
        for (recording, length) in both.iter_mut().zip(lengths) {
            let event = Event { at: RecTime::from_secs(20), length, kind: EventKind::Steal, releases_lost: 0 };
            recording.add(Frame::Event(event));
        }
        rare(&compared(&both[0], &both[1], options()).unwrap())
    };
    let little = stolen_of([Nanos::ZERO, Nanos::from_us(10)]);
    assert_eq!((little.verdict, little.withheld), (Compared::Worse, None), "{little:?}");
    let much = stolen_of([Nanos::ZERO, Nanos::from_secs(1)]);
    assert_eq!((much.verdict, much.withheld), (Compared::NotEnoughData, Some(Withheld::Stolen)), "{much:?}");
    let of_the_better = stolen_of([Nanos::from_secs(1), Nanos::ZERO]);
    assert_eq!((of_the_better.verdict, of_the_better.withheld), (Compared::Worse, None), "it made the first no better");
}

/// Latencies with a level that is drawn anew every `mood` seconds; the levels depend on `seed`.
fn moody(seed: u64, mood: u64) -> impl FnMut(u64, u64) -> u64 {
    let (mut random, mut current, mut level) = (SplitMix::new(seed), None, 1.0);
    move |at, _| {
        if current.replace(at / mood) != Some(at / mood) {
            level = (0.3 * crate::stats::normal::quantile(random.unit())).exp();
        }
        whole((5_000.0 - 10_000.0 * random.unit().ln()) * level)
    }
}

#[test]
fn runs_that_saw_few_moods_say_so_and_decide_nothing() {
    let mut told = 0;
    for seed in 0..8 {
        let comparison =
            compared(&plain(60, moody(2 * seed, 20)), &plain(60, moody(2 * seed + 1, 20)), options()).unwrap();
        assert!(!matches!(comparison.verdict(), Compared::Better | Compared::Worse | Compared::Mixed), "{seed}");
        if let Some(Undecided::Moods(mood)) = comparison.others[0].undecided {
            assert!(mood.run == Nanos::from_secs(60) && mood.seen() < 20.0, "{mood:?}");
            told += 1;
        }
    }
    assert!(told >= 6, "{told} of 8");
}

/// Latency has only two values, and the 99th percentile lies between them. An increase of late activations then has
/// small odds before the percentile itself is certain to be larger. The row must not decide while its interval contains
/// "no change".
#[test]
fn a_row_decides_only_if_its_interval_excludes_no_change() {
    let of = |late: fn(u64) -> u64| plain(300, move |at, i| if i < late(at) { 20_000 } else { 5_000 });
    let fewer = of(|at| 9 + u64::from(at % 3 != 0));
    for (second, wanted) in
        [(of(|at| 10 + u64::from(at % 3 == 0)), Compared::NotEnoughData), (of(|_| 12), Compared::Worse)]
    {
        let comparison = compared(&fewer, &second, options()).unwrap();
        let p99 = row(&comparison, |what| *what == ComparedNumber::Percentile { ppm: 990_000 });
        let Some(Change::Difference(limits)) = p99.change else { panic!("{p99:?}") };
        assert!(p99.odds_of_all.unwrap() < 0.05, "{p99:?}");
        assert_eq!((limits.low <= 0.0, p99.verdict), (wanted == Compared::NotEnoughData, wanted), "{p99:?}");
    }
}

/// An interval wholly beyond the margin contradicts "no difference shown".
#[test]
fn no_difference_is_said_only_of_limits_within_the_margin() {
    for (seed, times) in [(1, 1.0), (2, 1.05), (3, 1.09), (4, 1.12), (5, 1.15), (6, 1.2), (7, 0.85)] {
        let mut draw = quiet(seed);
        let scaled = move |at, i| whole(arm::float(draw(at, i)) * times);
        let comparison = compared(&plain(30, quiet(100 + seed)), &plain(30, scaled), options()).unwrap();
        for row in &comparison.others[0].groups[0].rows {
            let (Some(Change::Difference(limits)), Some(first)) = (row.change, row.first) else { continue };
            if row.verdict == Compared::NoDifferenceShown {
                assert!(limits.low.abs().max(limits.high.abs()) <= 0.1 * first + 1e-6, "{times}: {row:?}");
            }
            if matches!(row.verdict, Compared::Better | Compared::Worse) {
                assert!(limits.seen.unwrap().abs() > 0.1 * first && row.odds_of_all.unwrap() < 0.05, "{row:?}");
            }
        }
    }
}

#[test]
fn strange_runs_are_compared_without_a_false_verdict() {
    let constant = |ns: u64| move |_: u64, _: u64| ns;
    let two = |seed: u64| {
        let mut random = SplitMix::new(seed);
        move |_: u64, _: u64| if random.unit() < 0.3 { 40_000 } else { 8_000 }
    };
    let pairs = [
        (plain(60, constant(9_000)), plain(30, constant(9_000))),
        (plain(40, two(1)), plain(40, two(2))),
        (plain(1, quiet(1)), plain(1, quiet(2))),
        (plain(120, quiet(3)), plain(30, quiet(4))),
        (plain(1, quiet(5)), plain(120, quiet(6))),
    ];
    for (a, b) in &pairs {
        let verdict = compared(a, b, options()).unwrap().verdict();
        assert!(matches!(verdict, Compared::NoDifferenceShown | Compared::NotEnoughData), "{verdict:?}");
    }
    let other = compared(&plain(30, constant(9_000)), &plain(30, constant(12_000)), options()).unwrap();
    assert_eq!(other.verdict(), Compared::Worse, "all equal on each side, and different");
    // The machine was paused for an hour in the middle of the recording.
    let gap = |seed| {
        let mut recording = Recording::new(header(&[1], &["idle"]));
        let (mut draw, mut worst) = (quiet(seed), (u64::MAX, 0));
        for at in 0..40 {
            let latencies: Vec<u64> = (0..1000).map(|i| draw(at, i)).collect();
            let start = if at < 20 { at } else { at + 3_600 };
            recording.add(interval(start, 0, vec![second(1, &latencies, 0, &mut worst)]));
        }
        recording
    };
    let verdict = compared(&gap(1), &gap(2), options()).unwrap().verdict();
    assert_eq!(verdict, Compared::NoDifferenceShown);
}

#[test]
fn each_of_several_is_held_against_the_first_and_pays_for_the_others() {
    let (a, b, c) = (plain(10, quiet(1)), plain(10, quiet(2)), plain(10, hogged(3)));
    let named = [("a".to_owned(), &a), ("b".to_owned(), &b), ("c".to_owned(), &c)];
    let comparison = Comparison::of(&named, options()).unwrap();
    let verdicts: Vec<Compared> = comparison.others.iter().map(|other| other.verdict).collect();
    assert_eq!(verdicts, [Compared::NoDifferenceShown, Compared::Worse]);
    assert_eq!(comparison.verdict(), Compared::Worse);
    let alone = compared(&a, &c, options()).unwrap();
    let p99 = |against: &Against| against.groups[0].rows[1].odds_of_all;
    assert!(p99(&comparison.others[1]) >= p99(&alone.others[0]));
    assert!(comparison.looked_at > alone.looked_at);
}

/// Repeats an interval nine times, so that there are several blocks.
fn repeated(frame: &Frame) -> impl Iterator<Item = Frame> + '_ {
    let times = if matches!(frame, Frame::Interval(_)) { 9 } else { 1 };
    std::iter::repeat_n(frame, times).cloned()
}

proptest! {
    #[test]
    fn no_recordings_make_comparing_panic(
        headers in (strategies::header(), strategies::header()),
        frames in prop::collection::vec(strategies::frame(), 0..12),
        interval in strategies::interval(), margin in 0.0f64..2.0,
    ) {
        let (mut a, mut b) = (Recording::new(headers.0.clone()), Recording::new(headers.1));
        let mut c = Recording::new(headers.0);
        for frame in frames.iter().flat_map(repeated) {
            a.add(frame.clone());
            b.add(frame);
        }
        for frame in repeated(&Frame::Interval(interval)) {
            b.add(frame.clone());
            c.add(frame);
        }
        let options = Options { anyway: true, margin, budget: None, as_if_independent: true };
        let named = [("a".to_owned(), &a), ("b".to_owned(), &b), ("c".to_owned(), &c)];
        for named in [&named[..], &named[1..], &[named[2].clone(), named[0].clone()]] {
            let Ok(comparison) = Comparison::of(named, options) else { continue };
            for row in comparison.others.iter().flat_map(|o| &o.groups).flat_map(|g| &g.rows) {
                prop_assert!(row.odds.is_none_or(|p| (0.0..=1.0).contains(&p)), "{:?}", row);
                let ordered = match row.change {
                    Some(Change::Difference(l) | Change::Ratio(l)) => l.low <= l.high,
                    None => true,
                };
                prop_assert!(ordered, "{:?}", row);
            }
        }
    }
}
