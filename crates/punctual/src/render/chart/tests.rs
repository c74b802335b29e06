//! Tests of scales and of the markup of pictures.

use super::axis::LogScale;
use super::*;
use crate::render::sample;
use punctual_hist::Nanos;
use punctual_numbers::foreign::Cell;
use punctual_numbers::stats::float::whole;

#[test]
fn a_log_scale_maps_decades_evenly_and_keeps_to_its_edges() {
    let scale = LogScale::new(1.0, 1_000.0, 0.0, 300.0);
    for (value, at) in [(1.0, 0.0), (10.0, 100.0), (100.0, 200.0), (1_000.0, 300.0), (0.0, 0.0), (1e9, 300.0)] {
        assert!((scale.at(value) - at).abs() < 1e-6, "{value}");
    }
    assert!(LogScale::new(5.0, 5.0, 0.0, 1.0).at(5.0).is_finite(), "a range without extent is no division by zero");
}

#[test]
fn a_narrow_range_has_several_labels_at_equal_distances() {
    let values = |low, high| -> Vec<u64> {
        let ticks = LogScale::new(low, high, 0.0, 1.0).ticks();
        assert!(ticks.iter().all(|(_, labelled)| *labelled));
        ticks.into_iter().map(|(value, _)| whole(value)).collect()
    };
    assert_eq!(values(20_000.0, 25_000.0), [20_000, 22_000, 24_000, 26_000, 28_000, 30_000]);
    assert_eq!(values(12_000.0, 18_000.0), [12_000, 14_000, 16_000, 18_000]);
    assert_eq!(values(21_000.0, 48_000.0), [30_000, 40_000]);
    for low in 1..1_000_u32 {
        for part in [1.0, 1.5, 2.0, 3.0, 4.9] {
            let low = f64::from(low);
            let count = LogScale::new(low, low * part, 0.0, 1.0).ticks().len();
            assert!((2..=6).contains(&count), "{low} to {}: {count}", low * part);
        }
    }
}

#[test]
fn ticks_are_round_and_inside() {
    let ticks = LogScale::new(2_000.0, 70_000.0, 0.0, 1.0).ticks();
    let values: Vec<String> = ticks.iter().map(|(value, _)| format!("{value:.0}")).collect();
    assert_eq!(values, ["2000", "5000", "10000", "20000", "50000"]);
}

#[test]
fn nothing_measured_makes_no_picture() {
    let report = sample::empty();
    assert!(histogram(&Shape::of_cpus(&report.cpus), &[0], None, false).is_none());
    let reach = reach(&report).unwrap_or_default();
    assert!(timeline(&report, 0, reach, true, true).is_none());
    assert!(ruler(&report.cpus[0].row.latency, None, "", false).is_none());
}

#[test]
fn a_histogram_accounts_for_every_activation_in_its_titles() {
    let report = sample::skipped();
    let svg = histogram(&Shape::of_cpus(&report.cpus), &[0], report.need.budget, false).unwrap();
    let counts = |after: &str| -> u64 {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().unwrap();
        svg.split("<title>")
            .skip(1)
            .filter_map(|t| t.split("</title>").next()?.split_once(after).map(|(_, n)| n.to_owned()))
            .map(|n| digits(n.split(", and").next().unwrap().split(" skipped").next().unwrap()))
            .sum()
    };
    assert_eq!(counts("CPU 0: "), report.cpus[0].row.ran);
    assert_eq!(counts(", and "), report.cpus[0].row.skipped);
}

#[test]
fn names_from_outside_stay_text() {
    let mut report = sample::two_cpus();
    report.spans[0].name = "cmd:<script>&\"'\x07".to_owned();
    let svg = timeline(&report, 0, reach(&report).unwrap(), true, true).unwrap();
    assert!(!svg.contains("<script"), "{svg}");
    assert!(svg.contains("cmd:&lt;script&gt;&amp;&quot;&#39;?"));
}

#[test]
fn extremes_of_counts_do_not_break_a_picture() {
    let mut report = sample::two_cpus();
    report.cpus[0].ran.record(Nanos::MAX);
    report.cpus[0].ran.record_n(Nanos::ZERO, u64::MAX);
    let svg = histogram(&Shape::of_cpus(&report.cpus), &[0, 1], Some(Nanos::MAX), false).unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

/// The `d` attribute of the first path with this class.
fn path<'a>(svg: &'a str, class: &str) -> &'a str {
    let rest = svg.split_once(&format!("class=\"{class} ")).unwrap().1;
    rest.split_once("d=\"").unwrap().1.split('"').next().unwrap()
}

#[test]
fn a_curve_ends_where_values_are_only_counted() {
    let cells = [(1, 90), (2, 9)].map(|(us, count)| Cell::of_width(us, Nanos::from_us(1), count)).to_vec();
    let shape = |to| {
        let apart = Some(shape::Apart { from: Nanos::from_us(400), to, count: 1 });
        Shape { cells: cells.clone(), largest: to, apart, ..Shape::default() }
    };
    // Computed by hand: 10 and then 1 of 100 values are above, on axes from all to 1 in 200 and from 1 us to 440.001
    // us.
    let open = exceedance(&[shape(None)], None).unwrap();
    assert_eq!(path(&open, "ran c0"), "M122 20H208.9V154.7H259.9V289.4H874");
    assert_eq!(path(&open, "skipped c0"), "M874 289.4H886", "nobody knows where it falls");
    let ended = exceedance(&[shape(Some(Nanos::from_ms(2)))], None).unwrap();
    assert!(path(&ended, "skipped c0").ends_with(" 289.4H886V330"), "{ended}");
}
