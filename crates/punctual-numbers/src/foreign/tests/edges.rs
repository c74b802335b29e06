//! The upper end of histograms: values above the last cell, the width of the top cell, files that are cut off, and
//! results without any value above a threshold.

use super::*;
use crate::claims::{Refusal, SeriesClaims};
use crate::export::{Gate, gate, ktap, prometheus};

/// The output of `latency -g` for these counts in cells of 1 us.
fn latency(cells: &[u64], max: &str) -> String {
    let seconds = cells.iter().sum::<u64>() / 1_000;
    let rows = lines(cells.iter().zip(0u32..).map(|(count, cell)| format!("{cell}.5 {}", count + 1)));
    format!(
        "# 00:{:02}:{:02} (periodic user-mode task, 1000 us period, priority 99)\n# ----lat min|----lat avg|----lat max|\n\
         #       0.112|      1.250|     {max}|       0|\n0 1\n{rows}{} 1\n",
        seconds / 60,
        seconds % 60,
        cells.len()
    )
}

/// `latency` counts all values above its histogram (`-H`) in the last cell.
#[test]
fn what_latency_counts_in_its_last_cell_is_at_least_that_late() {
    let mut cells = vec![60_000, 25_000, 13_480];
    cells.extend([200; 6]);
    // `whole` has 320 values above 9 us, the largest in the cell of 33 us. `cut` has the same values in the last of 10
    // cells.
    let whole = [&cells[..], &[100], &[0; 14], &[150], &[0; 8], &[70]].concat();
    let cut = [&cells[..], &[320]].concat();
    let (whole, cut) = (taken(&latency(&whole, "33.714")), taken(&latency(&cut, "33.714")));
    let at = |run: &ForeignRun, ppm: u32| (run.series[0].percentile_ppm(ppm), run.series[0].percentile_at_least(ppm));
    assert_eq!(at(&whole, 998_000).0, Some(Nanos::from_ns(24_999)));
    assert_eq!(at(&whole, 998_000).1, None);
    let (max, from) = (Some(Nanos::from_ns(33_714)), Some(Nanos::from_us(9)));
    assert_eq!([at(&cut, 998_000), at(&cut, 999_900)], [(max, from); 2], "{:?}", cut.notes);
    assert_eq!(cut.series[0].beyond, Some(Beyond { from: Nanos::from_us(9), count: 320 }));
    says(
        &cut,
        "320 of 100000 values lie at 9 us or above, where the histogram ends: a percentile among them is at least that",
    );
    assert!(doubts(&cut).is_empty(), "{:?}", cut.notes);
    // If the maximum lies within the last cell, that cell holds no larger values.
    let sound = taken(&latency(&[&cells[..], &[320]].concat(), "9.714"));
    assert_eq!((sound.series[0].beyond, at(&sound, 998_000).0), (None, Some(Nanos::from_ns(9_714))));
}

#[test]
fn nothing_is_claimed_of_a_file_that_was_cut_or_is_doubted() {
    for name in ["cut-cyclictest.txt", "xenomai-latency-211h.txt"] {
        let run = taken(&file(name));
        for series in &run.series {
            let claims = SeriesClaims::of(&run, series).unwrap();
            assert_eq!((claims.beyond, claims.percentiles.len(), claims.next.len()), (Err(Refusal::Doubted), 0, 0));
        }
    }
    let oslat = taken(&cut_after(&file("oslat.txt"), "030 (us):\t 36\n"));
    assert_eq!(oslat.series[0].unfit, Some(Unfit::Doubted), "{:?}", oslat.notes);
    // If the last line of a table has no line end, its count may have lost digits.
    let open = taken(HISTOGRAM.trim_end());
    assert!(open.series.iter().all(|series| series.unfit == Some(Unfit::Doubted)), "{:?}", open.notes);
    assert_eq!(taken(HISTOGRAM).series[0].unfit, None);
}

#[test]
fn releases_that_nothing_accounts_for_may_be_larger_than_all() {
    let short = latency(&[60_000, 25_000, 13_480], "2.714").replace("00:01:38", "00:01:48");
    let run = taken(&short);
    says(&run, "are missing: skipped, lost, or the run ended early");
    assert_eq!((run.series[0].unaccounted, run.series[0].missing()), (9_520, 9_520));
    let claims = SeriesClaims::of(&run, &run.series[0]).unwrap();
    assert_eq!((claims.percentiles[0].high, claims.next.len()), (None, 0), "p99 may lie among them");
}

/// Files that punctual writes count a bucket of 1.6 % in the row where it ends, and state minimum and mean exactly.
#[test]
fn a_copy_of_a_long_latency_does_not_contradict_itself() {
    let mut counts = punctual_hist::Counts::new();
    counts.record_n(Nanos::from_us(1_000), 5_000);
    counts.record_n(Nanos::from_us(2_000), 1);
    let run =
        ForeignRun { series: vec![Series::of_counts("CPU 1".to_owned(), Some(1), &counts)], ..ForeignRun::default() };
    let copy = taken(&crate::export::cyclictest(&run).unwrap());
    assert!(doubts(&copy).is_empty() && copy.series[0].unfit.is_none(), "{:?}", copy.notes);
    assert!(copy.series[0].cells[0].low > Nanos::from_us(1_000), "the case occurs: {copy:?}");
}

/// The program oslat names rows by their upper edges and rounds the maximum up.
#[test]
fn a_maximum_within_the_table_of_oslat_is_no_doubt() {
    let run = taken(&file("oslat-inside.txt"));
    assert!(doubts(&run).is_empty(), "{:?}", run.notes);
    assert_eq!((run.series[0].max, run.series[0].beyond), (Some(Nanos::from_us(695)), None));
    assert_eq!(run.series[0].cells.last().unwrap().high, Nanos::from_ns(694_999));
    let budget = |us| gate(&run, &run.series[0], Some(Nanos::from_us(us)));
    assert_eq!(budget(700), Gate::Held);
    assert_eq!(budget(500), Gate::Missed { count: 1, at_least: true });
    assert!(ktap(&run, Some(Nanos::from_us(700))).contains("\nok 1 "), "{}", ktap(&run, Some(Nanos::from_us(700))));
    let doubted = taken(&file("oslat-inside.txt").replace("Maximum:\t 695", "Maximum:\t 697"));
    assert!(doubts(&doubted)[0].contains("is in no cell"), "{:?}", doubted.notes);
}

#[test]
fn the_top_cell_is_as_wide_as_the_grain_of_its_program() {
    let of = |row: &str, us: &str| {
        let text = HISTOGRAM.replace("000001 000005\t000006\n000002 000001\t000002", row);
        let text = ["Min", "Avg", "Max"].iter().fold(text, |text, name| {
            let begin = text.find(&format!("# {name} Latencies")).unwrap();
            let end = begin + text[begin..].find('\n').unwrap();
            format!("{}# {name} Latencies: {us} {us}{}", &text[..begin], &text[end..])
        });
        taken(&text)
    };
    for (row, us, top) in [("000000 100000\t100000", "00000", 999), ("000005 100000\t100000", "00005", 5_999)] {
        let run = of(row, us);
        assert!(doubts(&run).is_empty(), "{:?}", run.notes);
        assert_eq!(run.series[0].percentile_ppm(990_000), Some(Nanos::from_ns(top)));
        let claims = SeriesClaims::of(&run, &run.series[0]).unwrap();
        assert_eq!(claims.percentiles[0].high, Some(Nanos::from_ns(top)));
    }
}

#[test]
fn nothing_above_a_threshold_is_a_result_of_the_time_that_was_observed() {
    let run = taken(&file("hwlatdetect-below.txt"));
    assert!(doubts(&run).is_empty(), "{:?}", run.notes);
    let claims = SeriesClaims::of(&run, &run.series[0]).unwrap();
    let above = claims.above.unwrap();
    let half = Nanos::from_secs(300);
    assert_eq!((above.threshold, above.count, above.observed), (Nanos::from_us(10), 0, Some(half)));
    // By the rule of three, the upper limit is 2.9957 events in 300 s.
    assert!((above.per_hour_upper.unwrap() - 2.9957 * 12.0).abs() < 0.01, "{above:?}");
    assert_eq!(claims.time, Some(half));
    assert!((claims.next[0].odds - 3_600.0 / 3_900.0).abs() < 1e-9, "{:?}", claims.next);
    let budget = |us| gate(&run, &run.series[0], Some(Nanos::from_us(us)));
    assert_eq!((budget(10), budget(9)), (Gate::Held, Gate::NoMaximum));
    let cut = taken(&cut_after(&file("hwlatdetect-below.txt"), "Starting test\n"));
    says(&cut, "cut off before the result");
    assert!(gate(&cut, &cut.series[0], Some(Nanos::from_us(10))) != Gate::Held);
}

/// `OpenMetrics` 1.0 requires `_count` if and only if there is `_sum`.
#[test]
fn a_histogram_of_metrics_has_its_sum_and_its_count_or_neither() {
    let mut run = taken(HISTOGRAM);
    let value = |run: &ForeignRun, name: &str| {
        let text = prometheus(run).unwrap();
        let line = text.lines().find(|line| line.starts_with(&format!("punctual_latency_seconds_{name}{{")));
        line.map(|line| line.rsplit(' ').next().unwrap().to_owned())
    };
    assert_eq!(value(&run, "sum").as_deref(), Some("0.000006"), "6 values with a mean of 1 us");
    for series in &mut run.series {
        series.mean = None;
    }
    // The sum of upper edges: 5 values of at most 1.999 us, and 1 value of at most 2.999 us.
    assert_eq!(value(&run, "sum").as_deref(), Some("0.000012994"));
    for series in &mut run.series {
        (series.max, series.beyond) = (None, Some(Beyond { from: Nanos::from_us(3), count: 1 }));
    }
    assert_eq!((value(&run, "sum"), value(&run, "count")), (None, None));
}

#[test]
fn summaries_of_pairs_are_read_from_json_and_from_text() {
    for (name, measured) in [
        ("pmqtest.json", (1_871, 3_000, 4_170, 44_000)),
        ("sigwaittest.json", (1_896, 3_000, 5_280, 53_000)),
        ("svsematest.txt", (1_910, 2_000, 4_000, 33_000)),
    ] {
        let run = taken(&file(name));
        let series = &run.series[0];
        let ns = |length: Option<Nanos>| length.unwrap().as_ns();
        let told = (series.stated_count.unwrap(), ns(series.min), ns(series.mean), ns(series.max));
        assert_eq!((told, series.cpu, run.series.len()), (measured, Some(0), 2), "{name}");
        says(&run, "percentiles are not known");
        assert!(doubts(&run).is_empty(), "{name}: {:?}", run.notes);
    }
    let live = taken(&file("ptsematest-live.txt"));
    assert!(live.series.iter().all(|series| series.max.is_some()), "the last lines count: {live:?}");
}

#[test]
fn queuelat_leaves_out_cells_that_are_like_the_next_one() {
    let table = |rows: &str| {
        format!(
            "max_queue_len = 480\n[0 - 99] = 9  packetfillrates=[0 - 0]\n...\n[70000 - END] = 0\n\
             default_n=104000 nr_packets_drain_per_block=264\n{rows}\n ---------------- \nAvg loop processing time: 99\n"
        )
    };
    let run = taken(&table("...\n[200 - 299] = 0\n...\n[500 - 599] = 7\n[600 - 699] = 1\n...\n[70000 - END] = 2\n"));
    let cells: Vec<(u64, u64)> = run.series[0].cells.iter().map(|cell| (cell.low.as_ns(), cell.count)).collect();
    // Rows that are left out have the count of the next printed row: those from 300 to 499 ns the count of the row 500,
    // and those above 700 ns that of the last row.
    assert_eq!(cells[..4], [(300, 7), (400, 7), (500, 7), (600, 1)]);
    assert_eq!((cells.len(), cells[4], run.series[0].counted()), (697, (700, 2), 22 + 693 * 2 + 2));
    assert_eq!(run.series[0].beyond, Some(Beyond { from: Nanos::from_us(70), count: 2 }));
    assert!(refused(&file("queuelat-calibrating.txt")).contains("queuelat was stopped while it still looked"));
    assert!(refused(&table("[500 - 599] = 7\n")).contains("the table has no end"));
    assert!(refused(&table("[500 - 599] = 7\n[400 - 499] = 7\n[70000 - END] = 0\n")).starts_with("line 7: "));
    assert_eq!(taken(&file("queuelat.txt")).series[0].counted(), 400_000);
}

/// A damaged first row counts nothing, and the row below it has the same value.
#[test]
fn rows_of_one_value_make_one_sound_cell() {
    let text = file("python.hgrm").replacen("0.000000000000       3100", "0.000000000000       0", 1);
    let run = taken_as(&text, in_unit(Unit::Us));
    let first = run.series[0].cells[0];
    assert!(first.low <= first.high && first.count == 3_100, "{first:?}");
}

#[test]
fn a_percentile_table_has_the_counts_of_its_rows() {
    let text = file("python.hgrm");
    assert!(refused(&text).ends_with("SayUnit([Ns, Us, Ms, S])"));
    let run = taken_as(&text, in_unit(Unit::Us));
    let series = &run.series[0];
    assert!(doubts(&run).is_empty(), "{:?}", run.notes);
    assert_eq!((series.counted(), series.max), (20_001, Some(Nanos::from_us(812))));
    assert_eq!(series.cells[0], Cell { low: Nanos::from_ns(3_998), high: Nanos::from_us(4), count: 3_100 });
    assert_eq!(series.percentile_ppm(500_000), Some(Nanos::from_us(8)), "11 433 of 20 001 are no larger");
    let cut = taken_as(&cut_after(&text, "0.999700309327      19996        3336.77\n"), in_unit(Unit::Us));
    assert_eq!(cut.series[0].unfit, Some(Unfit::Doubted), "{:?}", cut.notes);
    let csv = "\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\"\n4.0,0.0,5,1.0\n9.0,1.0,7,Infinity\n";
    assert_eq!(taken_as(csv, in_unit(Unit::Ms)).series[0].counted(), 7);
}
