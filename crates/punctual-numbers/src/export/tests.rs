//! Tests that a run that is exported and imported again is unchanged, as far as the format can hold it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;
use crate::foreign::{Beyond, Cell, ImportOptions, Stated, import};
use crate::recording::{Frame, Recording, sample};
use crate::report::Report;
use proptest::prelude::*;
use punctual_hist::{Counts, bucket_index};
use std::collections::BTreeMap;

/// A run in whole microseconds, like an import from cyclictest.
fn in_us(columns: &[BTreeMap<u64, u64>], later: &[u64]) -> ForeignRun {
    let rows = columns.iter().filter_map(|cells| cells.keys().next_back()).max().map_or(0, |row| row + 1);
    let series = columns.iter().zip(later).enumerate().map(|(index, (cells, later))| {
        let cells: Vec<Cell> = cells.iter().map(|(row, count)| Cell::of_width(*row, US, *count)).collect();
        let max = if *later > 0 { US.times(rows + 7) } else { cells.last().map_or(Nanos::ZERO, |cell| cell.low) };
        Series {
            label: format!("thread {index}"),
            cpu: Some(u32::try_from(index).unwrap()),
            min: cells.first().map(|cell| cell.low),
            mean: Some(US.times(3)),
            max: Some(max),
            grain: US,
            beyond: (*later > 0).then_some(Beyond { from: US.times(rows), count: *later }),
            cells,
            ..Series::default()
        }
    });
    ForeignRun { series: series.collect(), ..ForeignRun::default() }
}

fn columns() -> impl Strategy<Value = (Vec<BTreeMap<u64, u64>>, Vec<u64>)> {
    let column = prop::collection::btree_map(0u64..900, 1u64..1 << 40, 1..20);
    prop::collection::vec((column, prop_oneof![Just(0u64), 1u64..1000]), 1..5).prop_map(|both| both.into_iter().unzip())
}

proptest! {
    #[test]
    fn cyclictest_text_and_rt_tests_json_read_back_as_they_were((columns, later) in columns()) {
        let run = in_us(&columns, &later);
        let back = |text: Result<String, NotExported>| import(text.unwrap().as_bytes(), ImportOptions::default()).unwrap();
        let (text, json) = (back(cyclictest(&run)), back(rt_tests(&run)));
        prop_assert_eq!((text.series.len(), json.series.len()), (run.series.len(), run.series.len()));
        for ((ours, text), json) in run.series.iter().zip(&text.series).zip(&json.series) {
            for theirs in [text, json] {
                prop_assert_eq!(&ours.cells, &theirs.cells);
                prop_assert_eq!((ours.min, ours.mean, ours.max), (theirs.min, theirs.mean, theirs.max));
                prop_assert_eq!(ours.counted(), theirs.counted());
            }
            prop_assert_eq!((ours.beyond, Some(ours.counted())), (text.beyond, text.stated_count));
            prop_assert_eq!(ours.cpu, json.cpu);
        }
        prop_assert!(!text.notes.iter().any(|note| note.contains("states")), "{:?}", text.notes);
    }

    #[test]
    fn an_hdr_log_is_read_back_cell_by_cell_and_written_again_it_is_the_same(
        all in prop::collection::vec(prop::collection::vec((0u64..1 << 36, 1u64..1 << 40), 1..40), 1..4),
        length in 1u64..1 << 40,
    ) {
        let series = all.iter().enumerate().map(|(cpu, values)| {
            let mut counts = Counts::new();
            for (value, n) in values {
 counts.record_n(Nanos::from_ns(*value), *n);
}
            let cpu = u32::try_from(cpu).unwrap();
            Series::of_counts(format!("CPU {cpu}"), Some(cpu), &counts)
        });
        let duration = Some(Stated { length: Nanos::from_ms(length), grain: Nanos::from_ms(1) });
        let run = ForeignRun { series: series.collect(), duration, ..ForeignRun::default() };
        let log = hdr(&run).unwrap();
        let back = import(log.as_bytes(), ImportOptions::default()).unwrap();
        prop_assert_eq!(back.duration, run.duration);
        for (ours, theirs) in run.series.iter().zip(&back.series) {
            prop_assert_eq!((&ours.label, ours.cpu), (&theirs.label, theirs.cpu));
            // Each of our cells is imported as one cell of HdrHistogram, whose upper edge agrees to three digits.
            prop_assert_eq!(ours.cells.len(), theirs.cells.len());
            for (our, their) in ours.cells.iter().zip(&theirs.cells) {
                let end = our.high.min(ours.max.unwrap());
                prop_assert!(their.low <= end && end <= their.high && our.count == their.count, "{our:?} {their:?}");
                prop_assert_eq!(bucket_index(their.low.as_ns()), bucket_index(our.low.as_ns()));
                prop_assert!(their.high.minus(their.low).as_ns() <= their.low.as_ns() / 1_000);
            }
        }
        prop_assert_eq!(hdr(&back).unwrap(), log);
    }

    #[test]
    fn csv_has_every_cell_once((columns, later) in columns()) {
        let run = in_us(&columns, &later);
        let text = csv(&run).unwrap();
        let mut rows = 0usize;
        let mut sum = 0u64;
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            prop_assert_eq!(fields.len(), 6);
            sum += fields[5].parse::<u64>().unwrap();
            rows += 1;
        }
        let beyond = run.series.iter().filter(|series| series.beyond.is_some()).count();
        prop_assert_eq!(rows, columns.iter().map(BTreeMap::len).sum::<usize>() + beyond);
        prop_assert_eq!(sum, run.series.iter().map(Series::counted).sum::<u64>());
    }

    #[test]
    fn buckets_of_prometheus_rise_and_never_claim_too_much((columns, later) in columns()) {
        let run = in_us(&columns, &later);
        let text = prometheus(&run).unwrap();
        for series in &run.series {
            let own = format!("series=\"{}\"", series.label);
            let buckets: Vec<u64> = text.lines()
                .filter(|line| line.starts_with("punctual_latency_seconds_bucket") && line.contains(&own))
                .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
                .collect();
            prop_assert_eq!(buckets.len(), BUCKETS_NS.len() + 1);
            prop_assert!(buckets.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert_eq!(buckets.last().copied(), Some(series.counted()));
            for (edge, count) in BUCKETS_NS.iter().zip(&buckets) {
                let truth: u64 = series.cells.iter().filter(|c| c.high.as_ns() <= *edge).map(|c| c.count).sum();
                prop_assert_eq!(*count, truth);
            }
        }
    }
}

fn two() -> ForeignRun {
    let columns = [BTreeMap::from([(3, 900), (12, 99), (40, 1)]), BTreeMap::from([(2, 1_000)])];
    let mut run = in_us(&columns, &[2, 0]);
    run.program = Some("cyclictest".to_owned());
    run.duration = Some(Stated { length: Nanos::from_ms(1_002), grain: Nanos::from_ms(1) });
    run
}

#[test]
fn passed_failed_and_skipped_are_told_apart() {
    let run = two();
    let held = ktap(&run, Some(Nanos::from_us(20)));
    assert_eq!(
        held,
        "KTAP version 1\n1..2\n# largest of 1002: 48.000 us, 3 missed at least\nnot ok 1 latency.thread_0\n\
         # largest of 1000: 2.000 us\nok 2 latency.thread_1\n"
    );
    assert!(ktap(&run, None).contains("ok 1 latency.thread_0 # SKIP no budget"));
    let lines = lava(&run, Some(Nanos::from_us(20)));
    assert!(lines.contains("TEST_CASE_ID=thread_0-within-budget RESULT=fail>"), "{lines}");
    assert!(lines.contains("TEST_CASE_ID=thread_1-max-latency RESULT=pass UNITS=us MEASUREMENT=2.000>"), "{lines}");
    let labels = ["a b", "A_b", "a_b"].map(|label| Series { label: label.to_owned(), ..run.series[0].clone() });
    let alike = lava(&ForeignRun { series: labels.to_vec(), ..ForeignRun::default() }, None);
    let ids: Vec<&str> = alike.lines().filter(|line| line.contains("max-latency")).collect();
    assert!(["=a_b-max", "=a_b_2-max", "=a_b_3-max"].iter().zip(ids).all(|(id, line)| line.contains(id)), "{alike}");
    let skipped = Series { skipped: Some(4), ..run.series[1].clone() };
    assert_eq!(gate(&run, &skipped, Some(Nanos::from_us(20))), Gate::Missed { count: 4, at_least: true });
    assert_eq!(gate(&run, &Series::default(), Some(US)), Gate::Nothing);
}

#[test]
fn what_is_doubted_has_not_passed_and_what_was_missed_stays_missed() {
    let mut run = two();
    run.notes = vec!["doubted: thread 1: the cells contradict the mean".to_owned(), "lost: a unit".to_owned()];
    let (held, missed) = (Some(Nanos::from_us(60)), Some(Nanos::from_us(20)));
    assert_eq!(gate(&run, &run.series[0], held), Gate::Held, "the doubt is about the other");
    assert_eq!(gate(&run, &run.series[1], held), Gate::Doubted("thread 1: the cells contradict the mean".to_owned()));
    run.notes = vec!["doubted: the file was cut off".to_owned()];
    assert_eq!(gate(&run, &run.series[0], missed), Gate::Missed { count: 3, at_least: true });
    assert!(gate(&run, &run.series[1], missed).is_open() && !gate(&run, &run.series[1], None).is_open());
    let text = ktap(&run, missed);
    assert!(text.contains("not ok 2 latency.thread_1 # ERROR the numbers are doubted\n"), "{text}");
    assert!(text.contains("# doubted: the file was cut off\n") && !text.contains("\nok "), "{text}");
    let text = lava(&run, missed);
    assert!(text.contains("TEST_CASE_ID=thread_1-within-budget RESULT=unknown>") && !text.contains("=pass"), "{text}");
    // Values above the histogram have missed the budget, although it is not known by how much.
    run.series[0].max = None;
    assert_eq!(gate(&run, &run.series[0], missed), Gate::Missed { count: 3, at_least: true });
}

#[test]
fn a_copy_says_what_was_doubted_and_invents_no_number() {
    let cut = include_bytes!("../../../../fixtures/foreign/cut-cyclictest.txt");
    let run = import(cut, ImportOptions::default()).unwrap();
    let text = cyclictest(&run).unwrap();
    assert!(text.contains("\n# note: doubted: the lines below the histogram are missing"), "{}", &text[..400]);
    for line in ["# Avg Latencies", "# Max Latencies", "# Histogram Overflows:"] {
        assert!(!text.contains(line), "the file says nothing of {line}");
    }
    let back = import(text.as_bytes(), ImportOptions::default()).unwrap();
    assert!(doubts(&back, &back.series[0]).count() > 0, "{:?}", back.notes);
    let json: serde_json::Value = serde_json::from_str(&rt_tests(&run).unwrap()).unwrap();
    assert!(json["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().starts_with("doubted:")));
    assert_eq!((json["thread"]["0"].get("avg"), json["thread"]["0"].get("max")), (None, None));
    assert!(hdr(&run).unwrap().contains("#note: doubted:") && gnuplot(&run).unwrap().contains("# note: doubted:"));
}

/// Exports a recording with skipped releases in three formats.
#[test]
fn a_recording_keeps_its_skips_its_misses_and_its_machine() {
    let recording = skipping();
    let run = run_of(&recording);
    let series = &run.series[0];
    let report = Report::of(&recording);
    let row = &report.cpus[0].row;
    assert_eq!((row.skipped, row.over_budget), (40, 1_000));
    let missed = gate(&run, series, Some(Nanos::from_us(50)));
    assert_eq!(missed, Gate::Missed { count: report.verdict.missed, at_least: false });
    assert_eq!(series.due_percentile_ppm(999_000), row.latency_due.p99_9);
    assert_ne!(series.percentile_ppm(999_000), row.latency_due.p99_9);
    let due = lava(&run, None).lines().find(|line| line.contains("=cpu_1-p99.9-due-latency ")).unwrap().to_owned();
    assert!(due.contains("MEASUREMENT=3000.000>"), "{due}");
    assert!(cyclictest(&run).unwrap().contains("# note: lost: CPU 1: 40 of 3040 releases were skipped"));
    let json: serde_json::Value = serde_json::from_str(&rt_tests(&run).unwrap()).unwrap();
    let about = &json["sysinfo"];
    assert_eq!(
        (&about["release"], &about["realtime"], &about["machine"]),
        (&"6.12.1".into(), &1.into(), &"aarch64".into())
    );
    let unknown: serde_json::Value = serde_json::from_str(&rt_tests(&two()).unwrap()).unwrap();
    assert_eq!(unknown["sysinfo"].get("realtime"), None, "nobody said that it is none");
}

/// The lines are what the parser of `InfluxDB` takes: tags with escapes, whole numbers with `i`, one time.
#[test]
fn a_point_of_influxdb_has_its_tags_escaped_and_its_lengths_whole() {
    let recording = skipping();
    let line = influx(&run_of(&recording), Some(1_790_000_000_000_000_000));
    assert!(
        line.starts_with("punctual_latency,cpu=1,series=CPU\\ 1 ran=3000i,skipped=40i,over_budget=1000i,"),
        "{line}"
    );
    assert!(line.contains(",max_ns=70000i") && line.ends_with(" 1790000000000000000\n"), "{line}");
    let mut counts = Counts::new();
    counts.record(Nanos::from_us(5));
    let one = Series { context: Some("a=b,\\\n".to_owned()), ..Series::of_counts("x".to_owned(), None, &counts) };
    let run = ForeignRun { series: vec![one.clone(), one, Series::default()], ..ForeignRun::default() };
    let text = influx(&run, None);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "a series without numbers is no point: {text}");
    assert!(lines[0].starts_with("punctual_latency,context=a\\=b\\,/\\ ,series=x ran=1i,"), "{text}");
    assert!(lines[1].contains(",series=x_2 ran=1i,"), "equal points would replace each other: {text}");
}

/// Three seconds with 1000 activations each, a third of them late, and 40 skipped releases, whose thread ran 3 ms after
/// them.
fn skipping() -> Recording {
    let mut header = sample::header(0);
    header.machine = vec![("kernel", "6.12.1, PREEMPT_RT, arm64").into()];
    let mut recording = Recording::new(header);
    for (n, latency_us) in [10, 12, 70].into_iter().enumerate() {
        let Frame::Interval(mut interval) = sample::second(n as u64, Nanos::from_us(latency_us)) else { continue };
        let cpu = &mut interval.cpus[0];
        if n == 2 {
            let waited = Nanos::from_ms(3);
            cpu.skipped = vec![(u16::try_from(bucket_index(waited.as_ns())).unwrap(), 40)];
            (cpu.skipped_sum, cpu.skipped_max, cpu.over_budget) = (waited.times(40), waited, 1_000);
        }
        recording.add(Frame::Interval(interval));
    }
    recording
}

#[test]
fn a_run_without_histogram_is_not_made_one() {
    let mut run = two();
    run.series.iter_mut().for_each(|series| series.cells.clear());
    assert_eq!(cyclictest(&run), Err(NotExported::NoHistogram));
    assert_eq!(hdr(&run), Err(NotExported::NoHistogram));
}

#[test]
fn what_is_later_than_the_rows_is_an_overflow_and_not_lost() {
    let mut counts = Counts::new();
    counts.record_n(Nanos::from_us(5), 10);
    counts.record_n(Nanos::from_secs(2), 3);
    let run =
        ForeignRun { series: vec![Series::of_counts("CPU 0".to_owned(), Some(0), &counts)], ..ForeignRun::default() };
    let text = cyclictest(&run).unwrap();
    assert!(
        text.contains("# Histogram Overflows: 00003\n") && text.contains("# Total: 000000010\n"),
        "{}",
        &text[..300]
    );
    assert!(text.contains("\n000005 000010\n"));
}

/// Public plotting scripts rely on these rules: lines that do not begin with `#` are rows, blanks separate columns, and
/// there is one column more than there are CPUs.
#[test]
fn rows_of_cyclictest_text_are_what_plotting_scripts_take() {
    let text = cyclictest(&two()).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split([' ', '\t']).collect())
        .collect();
    assert_eq!(rows.len(), 41);
    assert!(rows.iter().enumerate().all(|(number, row)| row.len() == 3 && row[0].parse() == Ok(number)), "{rows:?}");
    assert_eq!(rows[12], ["000012", "000099", "000000"]);
    // Plotting scripts cut the line of maxima at single blanks and take the largest number in it for the title.
    let maxima = text.lines().find(|line| line.contains("Max Latencies")).unwrap();
    assert_eq!(maxima.split(' ').filter_map(|word| word.parse::<u64>().ok()).max(), Some(48));
    assert_eq!(gnuplot(&two()).unwrap().lines().nth(1), Some("3.000 0 1000"));
}
