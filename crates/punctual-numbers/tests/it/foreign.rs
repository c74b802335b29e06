//! Imports the files of other programs in `fixtures/foreign` and compares every number and every note of the runs with
//! the expected text.

use crate::{check, repository};
use proptest::prelude::*;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use punctual_numbers::export;
use punctual_numbers::foreign::{ForeignRun, Format, ImportOptions, Series, Unit, import, total};
use std::fmt::Write as _;
use std::path::Path;

/// Options for files that do not state their unit or period themselves.
fn options(name: &str) -> ImportOptions {
    match name {
        "python.hlog" | "python.hgrm" => ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() },
        "jitterdebugger-guest-raw.hex" => ImportOptions { unit: Some(Unit::Ns), ..ImportOptions::default() },
        "latencies.txt" => ImportOptions { format: Some(Format::Latencies), unit: Some(Unit::Us), period: None },
        _ => ImportOptions::default(),
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|ending| ending == "hex") {
        let digits: Vec<u8> = bytes.into_iter().filter(u8::is_ascii_hexdigit).collect();
        let value = |digit: u8| u8::try_from(char::from(digit).to_digit(16).unwrap()).unwrap();
        return digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect();
    }
    bytes
}

fn text(run: &ForeignRun) -> String {
    let mut out = format!("format {}\n", run.format.name());
    let facts = [("program", &run.program), ("command", &run.command), ("started", &run.started)];
    for (name, value) in facts {
        if let Some(value) = value {
            writeln!(out, "{name} {value}").unwrap();
        }
    }
    if let Some(stated) = run.duration {
        writeln!(out, "duration {:?} to {:?}", stated.length, stated.grain).unwrap();
    }
    for MachineLine { name, value } in &run.machine {
        writeln!(out, "machine {name} = {value}").unwrap();
    }
    for series in run.series.iter().chain(total(&run.series).as_ref()) {
        one(&mut out, series);
    }
    for note in &run.notes {
        writeln!(out, "note {note}").unwrap();
    }
    out
}

fn one(out: &mut String, series: &Series) {
    let Series { label, cpu, quantity, period, min, mean, max, grain, stated_count, skipped, .. } = series;
    writeln!(out, "series {label}: cpu {cpu:?} {quantity:?} period {period:?} grain {grain:?}").unwrap();
    writeln!(out, "  stated count {stated_count:?} min {min:?} mean {mean:?} max {max:?} skipped {skipped:?}").unwrap();
    let cells: Vec<String> =
        series.cells.iter().map(|c| format!("{}-{}:{}", c.low.as_ns(), c.high.as_ns(), c.count)).collect();
    writeln!(out, "  counted {} beyond {:?} cells {}", series.counted(), series.beyond, cells.join(" ")).unwrap();
    let points = [500_000, 990_000, 999_000, 999_900].map(|ppm| series.percentile_ppm(ppm));
    writeln!(out, "  p50 p99 p99.9 p99.99 {points:?}").unwrap();
}

#[test]
fn files_of_other_programs_become_runs() {
    let folder = repository("fixtures/foreign");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() || name == "README.md" {
            continue;
        }
        let told = match import(&bytes(&path), options(&name)) {
            Ok(run) => text(&run),
            Err(problem) => format!("refused: {problem}\n"),
        };
        check(&folder.join("runs").join(format!("{name}.run")), &told);
        seen += 1;
    }
    assert!(seen > 25, "{seen}");
}

fn fixture(name: &str) -> ForeignRun {
    import(&bytes(&repository("fixtures/foreign").join(name)), options(name)).unwrap()
}

/// Checks the sum of the cells, the releases in the duration and the missing values, which must agree with the
/// published analysis of this file.
#[test]
fn a_counter_that_has_overrun_is_found_and_what_follows_is_told() {
    let run = fixture("xenomai-latency-211h.txt");
    let notes = run.notes.join("\n");
    for fact in ["3303977614", "7598950000", "4294972386", "2^32", "5090 values", "0 to 1 us or 1 to 2 us"] {
        assert!(notes.contains(fact), "{fact} is missing in:\n{notes}");
    }
    let series = &run.series[0];
    assert_eq!(series.counted(), 3_303_977_614 + (1 << 32));
    assert_eq!(series.max, Some(Nanos::from_ns(23_110)));
    // Computed by hand: 0.01 % of the values are 759 894. From 13 us on there are 860 766 values, and from 14 us on 443
    // 643, so p99.99 lies in the cell of 13 us.
    assert_eq!(series.percentile_ppm(990_000), Some(Nanos::from_ns(2_999)));
    assert_eq!(series.percentile_ppm(999_900), Some(Nanos::from_ns(13_999)));
}

#[test]
fn a_file_that_agrees_with_its_own_header_has_nothing_to_doubt() {
    let run = fixture("latmus-rk3588-2h.txt");
    assert_eq!(run.series[0].counted(), 7_309_414);
    assert!(!run.notes.iter().any(|note| note.contains("doubted")), "{:?}", run.notes);
}

#[test]
fn the_board_that_cannot_be_a_three_day_run_is_found_and_no_other() {
    let run = fixture("cyclictest-rockchip-3d.json");
    let doubted: Vec<&String> = run.notes.iter().filter(|note| note.contains("cannot be a run")).collect();
    assert_eq!(doubted.len(), 4, "one for each of its cores: {doubted:?}");
    assert!(doubted.iter().all(|note| note.contains("rk3562") && note.contains("4.87 days")), "{doubted:?}");
}

fn all() -> Vec<(Vec<u8>, ImportOptions)> {
    let files = std::fs::read_dir(repository("fixtures/foreign")).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file());
    files.map(|path| (bytes(&path), options(&path.file_name().unwrap().to_string_lossy()))).collect()
}

fn is_sound(run: &ForeignRun) {
    for series in &run.series {
        assert!(series.cells.windows(2).all(|pair| pair[0].high < pair[1].low), "cells overlap: {:?}", series.cells);
        assert!(series.cells.iter().all(|cell| cell.low <= cell.high && cell.count > 0));
        let percentiles = [500_000, 990_000, 999_900].map(|ppm| series.percentile_ppm(ppm));
        let known: Vec<Nanos> = percentiles.into_iter().flatten().collect();
        assert!(series.points.len() > 1 || known.is_sorted(), "{percentiles:?}");
    }
    let budget = Some(Nanos::from_us(20));
    let texts = [export::csv(run), export::gnuplot(run), export::rt_tests(run), export::prometheus(run)];
    let has_cells = run.series.iter().any(|series| !series.cells.is_empty());
    assert!(texts.iter().all(|text| text.is_ok() == has_cells));
    assert_eq!(export::ktap(run, budget).matches("ok ").count(), run.series.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_damaged_file_is_refused_or_sound(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0199-.,:;#|+ \t\r\n\"{}<>/xe\0\xff".to_vec()), 0usize..12), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let all = all();
        let (mut file, options) = which.get(&all).clone();
        for (at, byte, times) in edits {
            let at = at.index(file.len());
            file.splice(at..(at + 1).min(file.len()), std::iter::repeat_n(byte, times));
            if file.is_empty() {
                file.push(b'#');
            }
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Ok(run) = import(&file, options) {
            is_sound(&run);
        }
    }
}
