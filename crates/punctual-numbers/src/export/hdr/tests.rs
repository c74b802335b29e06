//! Logs over time: each line has the right tag and time, and the lines add up to the run.

use super::*;
use crate::export::run_of;
use crate::foreign::{Beyond, Cell, ImportOptions, Series, import};
use crate::made_up;
use crate::recording::CpuInterval;
use crate::recording::sample::interval;
use crate::report::tests::tracing;
use crate::scenario::LoadPhase;
use proptest::prelude::*;
use punctual_hist::{Counts, bucket_index};
use std::collections::BTreeMap;

/// A recording of CPUs 0 and 1 with the phases `loads` and one interval for each of `seconds`: (phase, latencies).
fn recording(loads: &[&[&str]], seconds: &[(u16, Vec<u64>)]) -> Recording {
    let mut recording = begun(loads);
    measure(&mut recording, seconds);
    recording
}

fn begun(loads: &[&[&str]]) -> Recording {
    let mut header = made_up::header(2, Nanos::from_secs(60));
    let phase = |loads: &&[&str]| LoadPhase { loads: loads.iter().map(|l| (*l).to_owned()).collect(), parts: 1 };
    header.scenario.load_phases = loads.iter().map(phase).collect();
    Recording::new(header)
}

/// Adds an interval for each of `seconds`: (load phase, latencies on CPU 0). The latencies on CPU 1 are half as large.
fn measure(recording: &mut Recording, seconds: &[(u16, Vec<u64>)]) {
    let mut so_far = [Counts::new(), Counts::new()];
    for (second, (phase, values)) in (0u64..).zip(seconds) {
        let cpu = |cpu: u32, so_far: &mut Counts| {
            let mut counts = Counts::new();
            for ns in values {
                counts.record(Nanos::from_ns(ns / (u64::from(cpu) + 1)));
            }
            so_far.merge(&counts);
            let (ran_min, ran_max) = (so_far.min(), so_far.max());
            CpuInterval { ran_min, ran_max, ..CpuInterval::of(cpu, &counts, &Counts::new()) }
        };
        let [first, other] = &mut so_far;
        let cpus = vec![cpu(0, first), cpu(1, other)];
        recording.add(interval(second, *phase, cpus));
    }
}

/// The tag, the start and the length of each line; times are in seconds.
fn lines(log: &str) -> Vec<(String, u64, u64)> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.strip_prefix("Tag=")?.splitn(5, ',').collect();
        let seconds = |text: &str| text.strip_suffix(".000").unwrap().parse().unwrap();
        Some((fields[0].to_owned(), seconds(fields[1]), seconds(fields[2])))
    };
    log.lines().filter_map(line).collect()
}

/// The number of values by (CPU, index of our bucket).
fn held(run: &ForeignRun) -> BTreeMap<(u32, usize), u64> {
    let mut held = BTreeMap::new();
    for series in &run.series {
        for cell in &series.cells {
            let count: &mut u64 = held.entry((series.cpu.unwrap(), bucket_index(cell.low.as_ns()))).or_default();
            *count += cell.count;
        }
    }
    held
}

/// The expected texts were packed by the crate `hdrhistogram` 7.5.4.
#[test]
fn histograms_are_packed_as_by_the_library_of_hdrhistogram() {
    let text = |values: &[(u64, u64)], highest: u64| {
        let mut packed = Packed::default();
        for (value, count) in values {
            packed.add(*value, *count);
        }
        (packed.largest(), packed.text(highest).unwrap())
    };
    let values = [(0, 1), (1, 2), (3, 5), (1_000, 1 << 20), (2_047, 9), (2_048, 1), (2_050, 3), (5_000_000, 70_000)];
    assert_eq!(text(&values, (1 << 23) - 1), (5_001_215, "HISTFAAAAEh4nAE9AML/HISTEwAAABUAAAAAAAAAAwAAAAAAAAABAAAAAAB///8/8AAAAAAAAAIEAArHD4CAgAGrEBICBoOzAeDFCPcpCyw=".to_owned()));
    assert_eq!(
        text(&[(7, 1 << 62), (u64::MAX >> 20, 1)], u64::MAX >> 20),
        (
            17_592_186_044_415,
            "HISTFAAAADR4nDXIvQ0AEBQA4fPTotDaxWoKGxjEZBIbEHne11xypY8MRIT7NZDOU7eM0NSa3l4Mjg3B".to_owned()
        )
    );
    assert_eq!(text(&[], 3), (0, "HISTFAAAABt4nJNpmSzMwMDAyAABzFAazrf/AGUBADzTAn4=".to_owned()));
    let mut beyond = Packed::default();
    beyond.add(1, 1 << 63);
    assert!(beyond.text(3).is_err());
}

#[test]
fn a_line_says_when_on_which_cpu_and_under_which_load() {
    let recording = recording(&[&[], &["cpu", "memory"]], &[(0, vec![900]), (0, vec![700; 3]), (1, vec![5_000])]);
    let log = hdr_over_time(&recording, &run_of(&recording)).unwrap();
    let line = |tag: &str, start| (tag.to_owned(), start, 1);
    let wanted = [
        line("CPU_0_idle", 0),
        line("CPU_1_idle", 0),
        line("CPU_0_idle", 1),
        line("CPU_1_idle", 1),
        line("CPU_0_cpu_memory", 2),
        line("CPU_1_cpu_memory", 2),
    ];
    assert_eq!(lines(&log), wanted);
    assert!(log.contains("#[StartTime: 1700000000.000 (seconds since epoch)]\n"), "{log}");
    let back = import(log.as_bytes(), ImportOptions::default()).unwrap();
    let told = |series: &Series| (series.label.clone(), series.cpu, series.context.clone(), series.counted());
    let told: Vec<_> = back.series.iter().map(told).collect();
    let of = |cpu, load: &str, count| (format!("CPU {cpu} {load}"), Some(cpu), Some(load.to_owned()), count);
    assert_eq!(told, [of(0, "idle", 4), of(1, "idle", 4), of(0, "cpu_memory", 1), of(1, "cpu_memory", 1)]);
}

#[test]
fn one_load_is_no_part_of_a_tag_and_what_was_traced_stays_out() {
    let mut recording = begun(&[&[], &["cpu"]]);
    recording.add(tracing(&[1]));
    measure(&mut recording, &[(0, vec![900]), (1, vec![5_000; 7])]);
    let log = hdr_over_time(&recording, &run_of(&recording)).unwrap();
    assert_eq!(lines(&log), [("CPU_0".to_owned(), 0, 1), ("CPU_1".to_owned(), 0, 1)]);
    assert_eq!(held(&import(log.as_bytes(), ImportOptions::default()).unwrap()), held(&run_of(&recording)));
}

#[test]
fn a_clock_that_was_never_set_says_no_time() {
    let mut recording = recording(&[&[]], &[(0, vec![900])]);
    recording.header.started_unix_ns = 86_400_000_000_000;
    assert!(!hdr_over_time(&recording, &run_of(&recording)).unwrap().contains("StartTime"));
}

#[test]
fn nothing_counted_is_no_log() {
    let empty = recording(&[&[]], &[(0, Vec::new())]);
    assert_eq!(hdr_over_time(&empty, &run_of(&empty)), Err(NotExported::NoHistogram));
}

#[test]
fn weeks_are_at_most_a_thousand_lines_for_each_cpu_and_the_whole_run() {
    let seconds: Vec<(u16, Vec<u64>)> = (0..3_000).map(|second| (0, vec![second + 1; 2])).collect();
    let recording = recording(&[&[]], &seconds);
    let log = hdr_over_time(&recording, &run_of(&recording)).unwrap();
    let lines = lines(&log);
    assert!((1_024..=2_048).contains(&lines.len()), "{}", lines.len());
    assert_eq!(lines.iter().map(|(_, _, length)| length).sum::<u64>(), 2 * 3_000);
    assert_eq!(held(&import(log.as_bytes(), ImportOptions::default()).unwrap()), held(&run_of(&recording)));
}

#[test]
fn what_is_only_counted_far_beyond_the_last_cell_is_in_the_log() {
    let series = Series {
        label: "thread 0".to_owned(),
        cells: vec![Cell::of_width(3, Nanos::from_us(1), 7)],
        beyond: Some(Beyond { from: Nanos::from_us(400), count: 2 }),
        ..Series::default()
    };
    let log = hdr(&ForeignRun { series: vec![series], ..ForeignRun::default() }).unwrap();
    let back = import(log.as_bytes(), ImportOptions::default()).unwrap();
    let counts: Vec<u64> = back.series[0].cells.iter().map(|cell| cell.count).collect();
    assert_eq!(counts, [7, 2]);
}

proptest! {
    #[test]
    fn the_lines_of_a_recording_are_the_whole_run(
        idle in prop::collection::vec(prop::collection::vec(2u64..1 << 34, 1..20), 1..6),
        loaded in prop::collection::vec(prop::collection::vec(2u64..1 << 34, 0..20), 0..6),
    ) {
        let length = u64::try_from(idle.len() + loaded.len()).unwrap();
        let seconds = idle.into_iter().map(|values| (0, values)).chain(loaded.into_iter().map(|values| (1, values)));
        let recording = recording(&[&[], &["cpu"]], &seconds.collect::<Vec<_>>());
        let whole = run_of(&recording);
        let back = import(hdr_over_time(&recording, &run_of(&recording)).unwrap().as_bytes(), ImportOptions::default()).unwrap();
        prop_assert_eq!(held(&back), held(&whole));
        prop_assert_eq!(back.duration.map(|stated| stated.length), Some(Nanos::from_secs(length)));
        for ours in &whole.series {
            let theirs = back.series.iter().filter(|theirs| theirs.cpu == ours.cpu).filter_map(Series::largest).max();
            let (theirs, largest) = (theirs.unwrap(), ours.max.unwrap());
            prop_assert!(theirs >= largest && theirs.minus(largest).as_ns() <= largest.as_ns() / 1_000, "{:?} {:?}", theirs, largest);
        }
    }
}
