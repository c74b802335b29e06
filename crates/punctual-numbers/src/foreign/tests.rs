//! Bad files: each is refused with the line and the reason, or repaired with a note, and no bytes lead to a panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;
use proptest::prelude::*;
use punctual_hist::Nanos;

mod edges;

fn refused(text: &str) -> String {
    refused_as(text, ImportOptions::default())
}

fn refused_as(text: &str, options: ImportOptions) -> String {
    match import(text.as_bytes(), options) {
        Ok(run) => panic!("taken for {}: {:?}", run.format.name(), run.notes),
        Err(problem) => match &problem.remedy {
            Some(remedy) => format!("{problem}; {remedy:?}"),
            None => problem.to_string(),
        },
    }
}

fn taken(text: &str) -> ForeignRun {
    taken_as(text, ImportOptions::default())
}

fn taken_as(text: &str, options: ImportOptions) -> ForeignRun {
    import(text.as_bytes(), options).unwrap()
}

fn as_format(format: Format) -> ImportOptions {
    ImportOptions { format: Some(format), ..ImportOptions::default() }
}

fn in_unit(unit: Unit) -> ImportOptions {
    ImportOptions { unit: Some(unit), ..ImportOptions::default() }
}

/// Fails unless a note of the run contains these words.
fn says(run: &ForeignRun, words: &str) {
    assert!(run.notes.iter().any(|note| note.contains(words)), "{words}: {:?}", run.notes);
}

const HISTOGRAM: &str = "# Histogram\n000001 000005\t000006\n000002 000001\t000002\n# Min Latencies: 00001 00001\n\
                         # Avg Latencies: 00001 00001\n# Max Latencies: 00002 00002\n# Histogram Overflows: 00000 00000\n";

const LATMUS: &str = "# sampling period: 1000 microseconds\n# max latency: 2.1\n0 5\n1 0\n2 1\n";

#[test]
#[allow(clippy::too_many_lines, reason = "a table of refusals")]
fn what_cannot_be_read_is_refused_with_its_line_and_the_way_out() {
    let plain = ImportOptions::default();
    let (latencies, cyclictest) = (as_format(Format::Latencies), as_format(Format::Cyclictest));
    let in_us = |format| ImportOptions { unit: Some(Unit::Us), ..as_format(format) };
    let period = ImportOptions { period: Some(Nanos::from_us(2_000)), ..plain };
    let row = |columns| format!("# Histogram\n000001 {}\n", "1\t".repeat(columns));
    let edited = |from: &str, to: &str| HISTOGRAM.replace(from, to);
    let cpus = lines((0..300).map(|cpu| format!("5,{cpu}")));
    for (text, options, wanted) in [
        // If several formats or units are possible, the error lists them.
        ("12\n14\n11\n13\n", plain, "SayFormat([Latencies, Periods])"),
        ("1000\n2000\n3000\n", plain, "SayUnit([Ns, Us, Ms, S])"),
        ("hello\n", plain, "it is not recognised as any of"),
        ("\u{feff}", plain, "it is not recognised as any of"),
        ("", plain, "the file is empty"),
        (&format!("{HISTOGRAM}oslat V 2.40\n"), plain, "SayFormat([Cyclictest, Oslat])"),
        ("time_us,latency_us\n1,5\n2,5\n", plain, "SayFormat([Timestamps, Latencies])"),
        // Damaged rows of a histogram.
        (
            &edited("000001\t000002", "-00001\t000002"),
            plain,
            "line 3: a row of the histogram has whole counts; a negative",
        ),
        (&edited("000001\t000002", "000001"), plain, "line 3: 1 columns where the rows before have 2"),
        (&edited("000002 000001", "000001 000001"), plain, "line 3: this row is not above the one before"),
        (&edited("000005", "99999999999999999999999"), plain, "line 2: a row of the histogram has whole counts"),
        (&edited("Min Latencies: 00001 00001", "Min Latencies: 00001 00001 1 1"), plain, "parts of different results"),
        (&edited("Max Latencies: 00002 ", "Max Latencies: x "), plain, "line 6: `Max Latencies` holds"),
        (&row(100_000), cyclictest, "line 2: 100000 columns; no machine"),
        (&row(1_000_000), cyclictest, "line 2: longer than"),
        (
            "T: 4000000000 ( 1) P:80 I:1000 C: 1 Min: 1 Act: 1 Avg: 1 Max: 1\n",
            plain,
            "line 1: no machine has a thread of this number",
        ),
        ("latency_us\n5\nNaN\n", plain, "line 3: `NaN` is no number"),
        ("latency_us\n5\n99999999999999999999\n", plain, "line 3:"),
        ("1e9\n5\n", in_us(Format::Latencies), "line 1: `1e9` is no number"),
        ("5\n1e9\n6\n", plain, "line 2: `1e9` is no number"),
        ("latency_us\nab", plain, "line 2: `ab` is no number"),
        ("latency_us\n1,234\n20,500\n", plain, "line 2: `1,234` has a comma with three digits after it"),
        (
            &format!("{}latency_us\n", "a,".repeat(1_000_000)),
            in_us(Format::Latencies),
            "line 1: the first line is longer than 65536 bytes",
        ),
        ("latency_us,cpu\n5,25,1\n6,25,2\n", plain, "line 2: 3 columns where the lines before have 2, separated by ,"),
        (&format!("latency_us,cpu\n{cpus}"), plain, "line 258: more than 256 CPUs"),
        (
            "latency_us,latency_ms\n5,1\n6,2\n",
            latencies,
            "line 1: 2 columns of latencies: `latency_us` and `latency_ms`; keep one",
        ),
        (
            "latency_us,latency_ms\n5,1\n6,2\n",
            plain,
            "line 1: 2 columns of latencies: `latency_us` and `latency_ms`; keep one",
        ),
        // Instants that go back, periods of zero, and too few numbers.
        ("1000\n2000\n1500\n", in_us(Format::Timestamps), "line 3: this instant is before"),
        ("1000\n0\n", in_us(Format::Periods), "line 2: a period that is not above zero"),
        ("1000\n2000\n", in_us(Format::Timestamps), "2 numbers; it takes 16"),
        // A unit or a period from the user that contradicts the file.
        ("latency_us\n5\n", in_unit(Unit::Ms), "line 1: the heading says us, not ms; LeaveUnitOut"),
        (LATMUS, in_unit(Unit::Ms), "a file of latmus is in us, not in ms; LeaveUnitOut"),
        (LATMUS, period, "the period is 1000 us by the file, not 2000 us; LeavePeriodOut"),
        (
            &format!("# values are microseconds\n{HISTOGRAM}"),
            in_unit(Unit::Ns),
            "line 1: the file is in us by its own word",
        ),
        (
            "{\n  \"schema\": \"punctual/check/1\",\n  \"source\": \"x\", \"total\": 1, \"max\": 2\n}\n",
            plain,
            "it is JSON that punctual printed",
        ),
    ] {
        let told = refused_as(text, options);
        let text: String = text.chars().take(80).collect();
        assert!(told.starts_with(wanted) || told.ends_with(wanted), "{text}: {told}");
    }
    assert!(import(b"\xff\xfe1\x000\x00", plain).unwrap_err().what.contains("UTF-16"));
    assert!(import(b"\x7fELF\0\0\0\0", plain).unwrap_err().what.contains("neither text"));
}

#[test]
fn an_empty_histogram_is_no_result_and_says_so() {
    let run = taken(&HISTOGRAM.replace("000005\t000006", "000000\t000000").replace("000001\t000002", "000000\t000000"));
    says(&run, "doubted: no value at all");
    assert_eq!(run.series[0].percentile_ppm(500_000), None);
}

#[test]
fn units_and_meanings_are_told_or_read() {
    let us = ImportOptions { unit: Some(Unit::Us), ..as_format(Format::Latencies) };
    let wide = format!("{}latency_us\n{}5\n", "a,".repeat(1_500), "1,".repeat(1_500));
    for (text, options, max) in [
        ("5\n7\n", us, 7_000),
        ("seq;latency_us\n1;5,25\n2;7\n", ImportOptions::default(), 7_000),
        ("latency_us\n5\n", in_unit(Unit::Us), 5_000),
        ("time_us,latency_us\n1,5\n2,6\n", as_format(Format::Latencies), 6_000),
        (&wide, ImportOptions::default(), 5_000),
        ("latency_us\n1,234\n0,500\n", ImportOptions::default(), 1_234),
        ("latency_us\n1,234\n2,5\n", ImportOptions::default(), 2_500),
        ("latency_us\n1234,567\n20,500\n", ImportOptions::default(), 1_234_567),
    ] {
        let run = taken_as(text, options);
        assert_eq!((run.series.len(), run.series[0].max), (1, Some(Nanos::from_ns(max))), "{:?}", run.notes);
    }
    says(&taken("seq;latency_us\n1;5,25\n2;7\n"), "comma");
    says(&taken("latency_ns\n-5\n7\n"), "1 latency is negative");
    let period = ImportOptions { period: Some(Nanos::from_ms(1)), ..ImportOptions::default() };
    assert_eq!(taken_as(LATMUS, in_unit(Unit::Us)), taken_as(LATMUS, period));
    let returns = taken(&HISTOGRAM.replace('\n', "\r"));
    assert_eq!((returns.format, returns.series.len()), (Format::Cyclictest, 2));
}

#[test]
fn a_stated_mean_or_maximum_that_cannot_be_is_doubted() {
    let run = taken(&HISTOGRAM.replace("Max Latencies: 00002 00002", "Max Latencies: 00009 00000"));
    let doubts = doubts(&run);
    assert_eq!(doubts.len(), 2, "{doubts:?}");
    assert!(doubts[0].contains("thread 0: the largest value, 9 us, is in no cell"), "{doubts:?}");
    assert!(doubts[1].contains("thread 1: values are counted above the largest"), "{doubts:?}");
    let run = taken(&HISTOGRAM.replace("Avg Latencies: 00001", "Avg Latencies: 00009"));
    says(&run, "the stated mean, 9 us, is not possible");
}

/// An overrun counter is restored if the mean shows which cell it was, and is left alone after several overruns.
#[test]
fn an_overrun_is_repaired_only_where_it_can_be_told() {
    let file = |first: u64, second: u64, mean: &str, clock: &str| {
        format!(
            "# {clock} (periodic user-mode task, 100 us period, priority 99)\n# ----lat min|----lat avg|----lat max|-overrun|---msw|\n\
             #       0.100|      {mean}|     8.900|       0|     0|\n0 1\n0.5 {}\n1.5 {}\n8.5 11\n9 1\n",
            first + 1,
            second + 1
        )
    };
    let wrap = 1u64 << 32;
    // At 10 000 values a second, 200 hours make 7.2e9 values.
    let due = 7_200_000_000u64;
    let alone = taken(&file(due - wrap - 1_010, 1_000, "0.500", "200:00:00"));
    assert_eq!(alone.series[0].counted(), due, "{:?}", alone.notes);
    assert_eq!(alone.series[0].cells[0].count, due - 1_010);
    says(&alone, "it was the counter of 0 to 1 us");
    let high = taken(&file(1_000, due - wrap - 1_010, "1.500", "200:00:00"));
    assert_eq!(high.series[0].cells[1].count, due - 1_010, "{:?}", high.notes);
    let twice = taken(&file(1_000, 10_000_000_000 - 2 * wrap, "1.500", "277:46:40"));
    says(&twice, "2 overruns");
    assert!(twice.series[0].counted() < wrap);
    let none = taken(&file(due - 1_010, 1_000, "0.500", "200:00:00"));
    assert!(!none.notes.iter().any(|note| note.contains("missing, which")), "{:?}", none.notes);
}

/// A log with the packed bytes `counts`. They are written by hand: seven bits of a number in each byte, its sign in the
/// lowest bit.
fn log_of(digits: u32, lowest: u64, length: u32, counts: &[u8]) -> String {
    let mut plain = Vec::new();
    for word in [0x1c84_9313_u32, length, 0, digits] {
        plain.extend(word.to_be_bytes());
    }
    for long in [lowest, 3_600_000_000_000, 1f64.to_bits()] {
        plain.extend(long.to_be_bytes());
    }
    plain.extend(counts);
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut deflated, &plain).unwrap();
    let deflated = deflated.finish().unwrap();
    let mut whole = 0x1c84_9314u32.to_be_bytes().to_vec();
    whole.extend(u32::try_from(deflated.len()).unwrap().to_be_bytes());
    whole.extend(deflated);
    format!("0.000,1.000,1.000,{}\n", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, whole))
}

#[test]
fn a_packed_histogram_is_unpacked_by_hand_as_by_its_definition() {
    // The bytes mean: 7 empty cells, a cell with 3, 2040 empty cells, a cell with 1. With two digits of precision, the
    // first 256 cells are one unit wide, the next 128 two units, and so on.
    let log = log_of(2, 1, 5, &[13, 6, 0xef, 0x1f, 2]);
    let run = taken_as(&log, in_unit(Unit::Us));
    let cells: Vec<(u64, u64, u64)> =
        run.series[0].cells.iter().map(|cell| (cell.low.as_ns(), cell.high.as_ns(), cell.count)).collect();
    // Cell 2048 = 256 + 14 * 128 is the first with a width of 2^15 units, and begins at 2^22 units.
    assert_eq!(cells, [(7_000, 7_999, 3), (4_194_304_000, 4_227_071_999, 1)]);
    assert_eq!(run.series[0].label, "no tag");
    assert!(refused(&log).ends_with("SayUnit([Ns, Us, Ms, S])"));
    let coarse = taken_as(&log_of(0, 1_000, 2, &[2, 4]), in_unit(Unit::Ns));
    assert_eq!(coarse.series[0].cells[1], Cell { low: Nanos::from_ns(512), high: Nanos::from_ns(1_023), count: 2 });
}

#[test]
fn a_log_that_claims_what_no_histogram_has_is_refused_at_its_line() {
    let least = [0xff; 9];
    for (log, wanted) in [
        (log_of(3, 1, 9, &least), "line 1: the histogram is cut off"),
        (log_of(3, 1, 18, &[least, least].concat()), "line 1: the histogram is cut off"),
        (log_of(3, 1, u32::MAX, &[2]), "line 1: the histogram is cut off"),
        (log_of(9, 1, 1, &[2]), "line 1: the histogram has a precision"),
        (log_of(3, 0, 1, &[2]), "line 1: the histogram has a precision"),
        (log_of(3, 1, 4, &[0xff, 0xff, 0x7f, 2]), "line 1: the histogram has values beyond 64 bits"),
        (log_of(3, 1, 1, &[0x80]), "line 1: the histogram is cut off"),
        (log_of(3, 1, 1, &vec![0; 9 << 20]), "line 1: the histogram is larger than any"),
        ("0.0,1.0,2.0,HISTFAAA!!\n".to_owned(), "line 1: the histogram is not in Base64"),
        ("0.0,1.0,2.0,HISTEQAA\n".to_owned(), "line 1: the histogram is of an older version"),
        ("0,0,1,0,2,0,HISTFAAA\n".to_owned(), "line 1: an interval has"),
    ] {
        let told = refused_as(&log, in_unit(Unit::Us));
        assert!(told.starts_with(wanted), "{wanted}: {told}");
    }
    let mixed = log_of(3, 1, 1, &[2]) + &log_of(3, 8, 1, &[2]);
    assert!(refused_as(&mixed, in_unit(Unit::Us)).contains("two rows of the histogram are for 0 ns"));
}

#[test]
fn nanoseconds_of_cyclictest_are_not_taken_for_microseconds() {
    let ns = HISTOGRAM.replace("000001 000005", "020687 000005").replace("000002 000001", "068603 000001");
    let ns =
        ns.replace("Min Latencies: 00001 00001", "Min Latencies: 20687 20687").replace("00002 00002", "68603 68603");
    let asked = refused(&ns);
    assert!(asked.ends_with("SayUnit([Ns, Us])"), "{asked}");
    let max = |unit| taken_as(&ns, in_unit(unit)).series[0].max;
    assert_eq!((max(Unit::Ns), max(Unit::Us)), (Some(Nanos::from_ns(68_603)), Some(Nanos::from_us(68_603))));
    assert!(refused_as(&ns, in_unit(Unit::Ms)).contains("with -N"));
    let verbose = taken("Max CPUs = 2\nThread 0 Interval: 1500\n       0:       0:      20\n");
    assert_eq!((verbose.format, verbose.series[0].counted()), (Format::Cyclictest, 1));
    let thread = "T: 0 ( 1) P:80 I:1000 C: 9 Min: 20687 Act: 9 Avg: 30000 Max: 68603\n";
    assert!(refused(thread).ends_with("SayUnit([Ns, Us])"));
}

/// Of the three generations of latmus, only the first adds one to each count, and only the last writes several columns.
#[test]
fn generations_of_latmus_are_told_apart() {
    let file = |facts: &str, rows: &str| format!("# sampling period: 1000 microseconds\n{facts}{rows}");
    let counts = |run: &ForeignRun| run.series.iter().map(Series::counted).collect::<Vec<_>>();
    let first = taken(&file("# max latency: 2.100\n", "0 5\n1 1\n2 3\n"));
    assert_eq!(counts(&first), [6]);
    says(&first, "first versions of latmus");
    let second = taken(&file("# peak (hhmmss): 00:00:07\n# max latency: 2.100\n", "0 5\n1 1\n2 3\n"));
    assert_eq!(counts(&second), [9]);
    let holds_one = taken(&file("# max latency: 2.100\n", "0 5\n1 0\n2 1\n"));
    assert_eq!(counts(&holds_one), [6], "the last cell holds the maximum, and so was not added to");
    let facts = "# thread affinity: CPU3\n# wakeup min latency: -0.200\n# wakeup max latency: 1.100\n\
                 # wakeup sample count: 6\n# response max latency: 9.500\n# response sample count: 6\n";
    let third = taken(&file(facts, "0 5 0\n1 1 4\n2+ 0 2\n"));
    let labels: Vec<&str> = third.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!((labels, counts(&third)), (vec!["CPU 3 wakeup", "CPU 3 response"], vec![6, 6]));
    assert_eq!(third.series[0].beyond, None);
    assert_eq!(third.series[1].beyond, Some(Beyond { from: Nanos::from_us(2), count: 2 }));
    says(&third, "wakeup: the smallest latency is negative");
    assert!(refused(&file(facts, "0 5 0\n1 1\n")).starts_with("line 9: 1 columns where the rows before have 2"));
}

#[test]
fn each_format_is_found_by_its_name() {
    for format in Format::IMPORTED {
        assert_eq!(Format::named(format.name()), Some(format));
    }
    assert_eq!(Format::named("punctual"), None);
}

proptest! {
    #[test]
    fn nothing_panics_whatever_it_is_taken_for(
        format in prop::sample::select(Format::IMPORTED.to_vec()),
        text in "([#TRIa-z]{0,9}[ :|\t;,.+-]{0,2}[0-9]{0,22}[\r\n]{0,2}){0,30}",
        cut in any::<prop::sample::Index>(),
    ) {
        let options = ImportOptions { format: Some(format), unit: Some(Unit::Us), period: None };
        let at = cut.index(text.len() + 1);
        let whole = import(text.as_bytes(), options);
        let mut pieces = Import::begin(text.as_bytes(), options).ok();
        let bytes = text.as_bytes();
        let fed = pieces.as_mut().map(|pieces| pieces.feed(&bytes[..at]).and_then(|()| pieces.feed(&bytes[at..])));
        let by_pieces = match (pieces, fed) {
            (Some(pieces), Some(Ok(()))) => pieces.finish().ok(),
            _ => None,
        };
        prop_assert_eq!(by_pieces, whole.ok());
    }

    #[test]
    fn counts_and_percentiles_agree_with_the_values(values in prop::collection::vec(0u64..5_000, 100..400)) {
        let text: String = values.iter().map(u64::to_string).collect::<Vec<_>>().join("\n");
        let options = ImportOptions { unit: Some(Unit::Us), ..as_format(Format::Latencies) };
        let run = import(text.as_bytes(), options).unwrap();
        let series = &run.series[0];
        prop_assert_eq!(series.counted(), values.len() as u64);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let truth = Nanos::from_us(sorted[values.len().div_ceil(2) - 1]);
        let median = series.percentile_ppm(500_000).unwrap();
        // The tolerance is the width of our bucket and the microsecond to which values are rounded down.
        prop_assert!(median >= truth && median.minus(truth).as_ns() <= truth.as_ns() / 32 + 1_000, "{median:?} {truth:?}");
    }
}

#[test]
fn a_log_with_too_many_cells_is_refused_within_its_interval() {
    let most = 1 << 20;
    // The last number is cut off, but the cells before it are refused first.
    let counts = [vec![2; most + 1], vec![0x80]].concat();
    let log = log_of(5, 1, u32::try_from(counts.len()).unwrap(), &counts);
    assert_eq!(refused_as(&log, in_unit(Unit::Ns)), "line 1: more than a million cells that hold something");
}

/// Files with a blank in the heading and commas in the rows were once read with the CPU as decimals of the value.
#[test]
fn columns_are_cut_where_heading_and_rows_agree() {
    for (text, options) in [
        ("latency_us, cpu\n5,3\n6,2\n7,1\n", ImportOptions::default()),
        ("Latency (us),CPU\n5,3\n6,2\n7,1\n", in_unit(Unit::Us)),
        ("CPU\tLatency (us)\n3\t5\n2\t6\n1\t7\n", ImportOptions::default()),
        ("cpu latency_us\ncpu3  5\ncpu2  6\ncpu1  7\n", ImportOptions::default()),
    ] {
        let run = taken_as(text, options);
        let each: Vec<(Option<u32>, Option<Nanos>)> = run.series.iter().map(|one| (one.cpu, one.max)).collect();
        let wanted = [(1, 7), (2, 6), (3, 5)].map(|(cpu, us)| (Some(cpu), Some(Nanos::from_us(us))));
        assert_eq!(each, wanted, "{text}");
        assert!(!run.notes.iter().any(|note| note.contains("repaired")), "{text} {:?}", run.notes);
    }
    let alone = taken("Latency (us)\n5\n6\n");
    assert_eq!((alone.series[0].max, alone.series[0].cpu), (Some(Nanos::from_us(6)), None));
    let load = taken("cpu,latency_us\n12.5,5\n3,6\n");
    assert_eq!((load.series.len(), load.series[0].cpu), (1, None), "a load is no CPU");
}

fn file(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn lines(each: impl Iterator<Item = String>) -> String {
    each.map(|line| line + "\n").collect()
}

fn doubts(run: &ForeignRun) -> Vec<&String> {
    run.notes.iter().filter(|note| note.starts_with("doubted")).collect()
}

/// A file written under a locale with decimal commas gives the same numbers as one with points.
#[test]
fn decimal_commas_change_no_number() {
    let with_commas = |text: &str| {
        let is_digit = |at: Option<char>| at.is_some_and(|c| c.is_ascii_digit());
        let chars: Vec<char> = text.chars().collect();
        let comma = |(at, c): (usize, &char)| {
            let between = is_digit(at.checked_sub(1).and_then(|before| chars.get(before)).copied());
            if *c == '.' && between && is_digit(chars.get(at + 1).copied()) { ',' } else { *c }
        };
        chars.iter().enumerate().map(comma).collect::<String>()
    };
    let latmus = "# sampling period: 1000 microseconds\n# min latency: 0.421\n# avg latency: 1.078\n# max latency: 2.113\n\
                  # sample count: 6\n0 2\n1 3\n2 1\n";
    let stress = file("stress-ng-cyclic.txt");
    for text in [latmus, &file("xenomai-live.txt"), &stress] {
        let (plain, comma) = (taken(text), taken(&with_commas(text)));
        assert_ne!(with_commas(text), text);
        assert_eq!(comma.series, plain.series);
        says(&comma, "a comma, which was read as the decimal point");
        assert!(plain.series[0].max.is_some() && !plain.notes.iter().any(|note| note.contains("comma")));
    }
    assert_eq!(taken(&with_commas(&stress)).series[0].percentile_ppm(500_000), Some(Nanos::from_ns(41_318)));
}

#[test]
fn percentiles_that_fall_are_doubted() {
    let falls = file("stress-ng-cyclic.txt").replace("     52406 ns", "     12406 ns");
    let run = taken(&falls);
    assert!(doubts(&run)[0].contains("of 50 % of the values the largest is 41.318 us, and of 75 % it is 12.406 us"));
    assert_eq!(run.series[0].unfit, Some(Unfit::Doubted));
}

/// The beginning of `text` up to the end of the first `words`.
fn cut_after(text: &str, words: &str) -> String {
    text.split_once(words).map(|(before, _)| format!("{before}{words}")).unwrap()
}

#[test]
fn what_was_cut_off_is_said_to_be() {
    let quiet = file("cyclictest-quiet.txt");
    let last = quiet.trim_end().rfind("Act:").unwrap();
    for (text, wanted, unfit) in [
        (cut_after(&file("stress-ng-cyclic.txt"), "90.00%:      63383 ns\n"), "percentiles up to 99.99 %", true),
        (cut_after(&file("rtla-timerlat.txt"), "\ncount:") + "\n", "`count:` below the histogram", true),
        (cut_after(&file("rtla-osnoise.txt"), "\navg:"), "`avg:` below the histogram", true),
        (file("cyclictest-verbose.txt") + "       0:", "no end (line ", true),
        (quiet.get(..last).unwrap().to_owned(), "lacks its number, C or Max", true),
        (cut_after(&file("hwlatdetect.txt"), "test finished\n"), "before the result", false),
        ("latency_us\n50\n5".to_owned(), "the last line, 3, has no end", false),
    ] {
        let run = taken(&text);
        let told = |note: &&String| note.contains(wanted) && note.contains("cut off");
        assert!(doubts(&run).iter().any(told), "{wanted} {:?}", run.notes);
        assert_eq!(run.series.iter().all(|one| one.unfit == Some(Unfit::Doubted)), unfit, "{wanted}");
    }
}

#[test]
fn zeros_and_instants_that_stand_are_no_measurement() {
    let told = import(&[0; 1_000], ImportOptions::default()).unwrap_err().to_string();
    assert!(told.contains("neither text nor a recording"), "{told}");
    assert!(import(&[0; 1_000], as_format(Format::JitterdebuggerRaw)).is_err());
    let record = |seconds: u64| [&1u32.to_le_bytes()[..], &[seconds, 5, 9].map(u64::to_le_bytes).concat()].concat();
    let bytes = |instants: &[u64]| instants.iter().flat_map(|at| record(*at)).collect::<Vec<u8>>();
    assert_eq!(import(&bytes(&[7, 8, 9]), ImportOptions::default()).unwrap().series[0].counted(), 3);
    let stands = import(&bytes(&[7, 8, 8]), ImportOptions::default()).unwrap_err().to_string();
    assert!(stands.contains("record 2: thread 1 did not wake after"), "{stands}");
}

#[test]
fn releases_without_an_instant_are_told() {
    let instants = lines((0..10_000).filter(|k| !(2_000..7_000).contains(k)).map(|k| (1_000 * k).to_string()));
    let run = taken(&format!("timestamp_us\n{instants}"));
    assert_eq!((run.series[0].counted(), run.series[0].skipped), (5_000, Some(5_000)));
    says(&run, "doubted: 5000 of 10000 releases have no instant, at most 5000 of them in a row");
    let two = lines((0..40).map(|k| format!("{},{}", 1_000 * (k / 2), k % 2)));
    let each = taken(&format!("timestamp_us,cpu\n{two}"));
    assert_eq!(
        each.series.iter().map(|one| (one.cpu, one.counted())).collect::<Vec<_>>(),
        [(Some(0), 20), (Some(1), 20)]
    );
}

#[test]
fn json_with_a_byte_order_mark_is_read() {
    let marked = format!("\u{feff}{}", file("jitterdebugger.json"));
    assert_eq!(taken(&marked), taken(&file("jitterdebugger.json")));
}
