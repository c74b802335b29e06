//! Tables of generated recordings.

use super::criterion::Criterion;
use super::*;
use crate::made_up;
use crate::recording::CpuInterval;
use crate::recording::sample::interval;
use crate::scenario::LoadPhase;
use punctual_hist::SplitMix;

/// A recording with two loads of three seconds each. Latencies are 20 us and up to 5 us more; under the second load one
/// in a hundred is `spike_us`.
fn recording(seed: u64, spike_us: u64) -> Recording {
    let mut header = made_up::header(1, Nanos::from_secs(6));
    let phase = |loads: &[&str]| LoadPhase { loads: loads.iter().map(|load| (*load).to_owned()).collect(), parts: 1 };
    header.scenario.load_phases = vec![phase(&[]), phase(&["io-write"])];
    header.machine = vec![("kernel", "6.12.1").into()];
    let mut recording = Recording::new(header);
    let mut random = SplitMix::new(seed);
    for second in 0..6_u64 {
        let mut ran = Counts::new();
        for number in 0..1000 {
            let ordinary = 20_000 + random.bits() % 5_000;
            let is_spike = second >= 3 && number % 100 == 7;
            ran.record(Nanos::from_ns(if is_spike { spike_us * 1_000 + ordinary } else { ordinary }));
        }
        let cpu = CpuInterval::of(0, &ran, &Counts::new());
        recording.add(interval(second, u16::from(second >= 3), vec![cpu]));
    }
    recording
}

fn kernel<'a>(name: &str, runs: &'a [Recording]) -> KernelRuns<'a> {
    KernelRuns { name: name.to_owned(), runs: runs.iter().collect(), traced: Vec::new() }
}

fn runs(from: u64, spike_us: u64) -> Vec<Recording> {
    (from..from + 5).map(|seed| recording(seed, spike_us)).collect()
}

#[test]
fn a_kernel_is_told_from_another_under_the_load_that_shows_it() {
    let (good, same, worse) = (runs(1, 40), runs(11, 40), runs(21, 300));
    let kernels = [kernel("good", &good), kernel("same", &same), kernel("worse", &worse), kernel("missing", &[])];
    let table = SideBySide::of(&kernels, Options::default());
    assert_eq!(
        (table.loads.as_slice(), table.kernels.len()),
        (["idle".to_owned(), "io-write".to_owned()].as_slice(), 3)
    );
    let verdict =
        |kernel: usize, load: usize| table.kernels[kernel].cells[load].against_first.as_ref().map(|a| a.verdict);
    assert_eq!((verdict(0, 0), verdict(0, 1)), (None, None));
    assert_eq!(verdict(2, 1), Some(Compared::Worse));
    assert!(!matches!(verdict(1, 1), Some(Compared::Worse | Compared::Better | Compared::Mixed)));
    assert!(!matches!(verdict(2, 0), Some(Compared::Worse | Compared::Better | Compared::Mixed)));
    let cell = &table.kernels[2].cells[1];
    assert_eq!((cell.row.due, cell.largest.len(), table.kernels[2].release.as_deref()), (15_000, 5, Some("6.12.1")));
    let place = table.thresholds.iter().position(|level| *level == Nanos::from_us(150)).unwrap();
    assert_eq!(cell.later[place], 150, "one in a hundred of 15 000 releases");
    assert!(table.thresholds.len() <= THRESHOLDS_MAX);
}

/// The error rate of a gate: of twenty pairs of equal kernels, none is called worse.
#[test]
fn equal_kernels_give_no_alarm() {
    let first = runs(1, 40);
    let alarms = (1..=20).filter(|pair| {
        let other = runs(100 * pair, 40);
        let table = SideBySide::of(&[kernel("a", &first[..3]), kernel("b", &other[..3])], Options::default());
        matches!(table.kernels[1].against_first, Some(Compared::Worse | Compared::Mixed))
    });
    assert_eq!(alarms.count(), 0);
}

/// With two runs each, equal kernels are apart in one of three cases.
#[test]
fn two_runs_decide_no_percentile() {
    let (good, worse) = (runs(1, 40), runs(21, 300));
    let apart = |n: usize| criterion::are_apart(&kernel("good", &good[..n]), &kernel("worse", &worse[..n]), 1, 999_000);
    assert_eq!((apart(2), apart(3)), (false, true));
    assert!(!criterion::are_apart(&kernel("a", &good[..3]), &kernel("b", &good[2..]), 1, 999_000));
    let table = SideBySide::of(&[kernel("good", &good[..2]), kernel("worse", &worse[..2])], Options::default());
    let cell = table.kernels[1].cells[1].against_first.as_ref().unwrap();
    let percentiles = cell.numbers.iter().filter(|number| matches!(number.what, ComparedNumber::Percentile { .. }));
    assert!(percentiles.into_iter().all(|number| !matches!(number.verdict, Compared::Worse | Compared::Better)));
}

#[test]
fn a_criterion_is_the_clearest_point() {
    let (good, bad, between) = (runs(1, 40), runs(21, 300), runs(31, 50));
    let criterion = Criterion::between(&kernel("good", &good), &kernel("bad", &bad), 0.1).unwrap();
    assert_eq!(criterion.load, "io-write");
    assert!(criterion.good < criterion.limit && criterion.limit < criterion.bad);
    assert!(!criterion.is_bad(criterion.value(&kernel("between", &between)).unwrap()));
    assert!(criterion.is_bad(criterion.bad));
    assert_eq!(Criterion::between(&kernel("good", &good), &kernel("good", &runs(41, 40)), 0.1), None);
}
