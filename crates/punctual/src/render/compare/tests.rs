//! All output formats of a comparison of generated recordings. `BLESS=1 cargo test` rewrites the golden files.

use super::*;
use crate::render::document::schema::assert_valid;
use crate::render::golden::{assert_fits, assert_golden, assert_page};
use crate::render::lang::leftover::{assert_chinese, assert_chinese_page};
use crate::render::sample::{SAMPLE, Sample};
use crate::render::sheet::Style;
use punctual_hist::{MonoTime, Nanos, bucket_index};
use punctual_numbers::compare::{Comparison, Options};
use punctual_numbers::recording::{CpuInterval, Event, EventKind, Frame, Header, Interval, RecTime, Recording};
use punctual_numbers::scenario::{LoadPhase, Mechanism, ProbeThread, Scenario};
use std::path::Path;

/// A recording of 30 s on two CPUs. Latencies are multiplied by `times`; `30 / spikes` of the seconds hold one latency
/// of 300 us.
fn recording(kernel: &str, times: u64, spikes: u64) -> Recording {
    let header = Sample { seconds: 30, budget: Some(100), ..SAMPLE }.header();
    let mut recording = Recording::new(Header {
        epoch: MonoTime::from_ns(0),
        scenario: Scenario {
            threads: [1, 2].map(|cpu| ProbeThread { cpu, period: Nanos::from_ms(1) }).to_vec(),
            load_phases: vec![LoadPhase { loads: vec!["cpu".to_owned()], parts: 1 }],
            ..header.scenario
        },
        machine: vec![("kernel", kernel).into()],
        ..header
    });
    for at in 0..30u64 {
        let bucket = |ns: u64| u16::try_from(bucket_index(ns)).unwrap();
        // Ten cells that vary a little from second to second are the body of the histogram; the two cells added below
        // are its tail.
        let spiky = u64::from(at * 7 % 30 < 30 / spikes);
        let mut ran: Vec<(u16, u64)> =
            (0..10).map(|i| (bucket((5_000 + 500 * i) * times), 90 + (at * (i + 3)) % 20)).collect();
        ran.push((bucket(20_000 * times), 10));
        ran.push((bucket(300_000), spiky));
        ran.retain(|(_, n)| *n > 0);
        let cpu = |cpu| CpuInterval {
            cpu,
            ran: ran.clone(),
            ran_min: Some(Nanos::from_ns(5_000 * times)),
            ran_max: Some(Nanos::from_us(300)),
            over_budget: spiky,
            ..CpuInterval::default()
        };
        let (start, length) = (Nanos::from_secs(at), Nanos::from_secs(1));
        recording.add(Frame::Interval(Interval {
            start: RecTime::after_epoch(start),
            length,
            phase: 0,
            cpus: vec![cpu(1), cpu(2)],
        }));
    }
    recording
}

fn comparison(anyway: bool) -> Comparison {
    let (a, mut b, c) = (recording("6.12", 2, 3), recording("6.12-rt", 1, 30), recording("6.12", 2, 3));
    if anyway {
        b.header.scenario.mechanism = Mechanism::Relative;
    }
    let named =
        [("before.punctual".to_owned(), &a), ("after.punctual".to_owned(), &b), ("again.punctual".to_owned(), &c)];
    Comparison::of(&named, Options { anyway, ..Options::default() }).unwrap()
}

fn on_80(comparison: &Comparison) -> String {
    text(comparison, Some(Path::new("compare.html")), Style::default())
}

fn document(comparison: &Comparison) -> serde_json::Value {
    assert_valid(&json::Document::of(comparison))
}

#[test]
fn stolen_time_is_told_in_text_and_json() {
    let (a, mut b) = (recording("6.12", 1, 1_000), recording("6.12", 2, 1));
    let length = Nanos::from_secs(1);
    b.add(Frame::Event(Event { at: RecTime::after_epoch(length), length, kind: EventKind::Steal, releases_lost: 0 }));
    let named = [("a.punctual".to_owned(), &a), ("b.punctual".to_owned(), &b)];
    let comparison = Comparison::of(&named, Options { ..Options::default() }).unwrap();
    let said = on_80(&comparison);
    assert!(said.lines().any(|line| line.contains("over ") && line.ends_with("stolen time")), "{said}");
    assert!(said.contains("Stolen time: the time that the hypervisor took could"), "{said}");
    let document = document(&comparison);
    let rows = document["others"][0]["groups"][0]["rows"].as_array().unwrap();
    let stolen = |row: &&serde_json::Value| row["withheld"] == "stolen" && row["verdict"] == "not-enough-data";
    assert!(rows.iter().filter(stolen).any(|row| row["what"] == "rare"), "{rows:#?}");
    assert!(rows.iter().any(|row| row["withheld"].is_null() && row["verdict"] == "worse"), "{rows:#?}");
}

#[test]
fn the_text() {
    assert_golden("compare.txt", &on_80(&comparison(false)));
    for (name, anyway) in [("compare.short.txt", false), ("compare-anyway.short.txt", true)] {
        let short = short(&comparison(anyway), Some(Path::new("c.html")), Style::default());
        assert!(short.lines().count() <= 60, "{name}\n{short}");
        assert_golden(name, &short);
    }
}

#[test]
fn every_line_fits_and_nothing_claims_a_worst_case() {
    for width in [20, 40, 80, 120] {
        let text = text(&comparison(true), None, Style { width, colour: false });
        assert!(text.is_ascii() && !text.to_lowercase().contains("worst case"), "{text}");
        assert_fits(&text, width);
    }
}

#[test]
fn what_should_not_be_compared_is_marked_everywhere() {
    let anyway = comparison(true);
    assert!(on_80(&anyway).contains("Not comparable"), "{}", on_80(&anyway));
    assert!(!on_80(&comparison(false)).contains("Not comparable"));
    let page = html(&anyway, "before / after").unwrap();
    assert!(page.contains("Not comparable") && page.contains("way to wait"));
    let document = document(&anyway);
    assert_eq!(document["others"][0]["refused"], true);
    assert_eq!(document["others"][1]["refused"], false);
    assert!(junit(&anyway, false).unwrap().contains("not-comparable"));
}

#[test]
fn the_json_fits_its_schema_and_says_what_the_text_says() {
    let document = document(&comparison(false));
    assert_eq!(document["others"][0]["verdict"], "better");
    assert_eq!(document["others"][1]["verdict"], "not-enough-data");
    assert_eq!(document["others"][0]["groups"][0]["rows"][0]["verdict"], "better");
    assert_eq!(document["others"][0]["differences"][0]["second"]["text"], "6.12-rt");
}

#[test]
fn the_page_draws_each_group_once_and_can_be_looked_at() {
    let page = html(&comparison(false), "a <b>").unwrap();
    assert_page("compare", &page);
    assert_eq!(page.matches(r#"<svg class="exceedance""#).count(), 2);
    assert!(page.contains("a &lt;b&gt;") && page.contains("p99.9"));
    let curves = page.matches(r#"<path class="ran c0"#).count();
    assert!(curves >= 2, "{curves}");
}

#[test]
fn junit_has_a_case_for_each_group_and_fails_where_it_is_worse() {
    let document = junit(&comparison(false), false).unwrap();
    assert_eq!((document.matches("<testsuite ").count(), document.matches("<testcase ").count()), (2, 4));
    assert_eq!(document.matches("<failure").count(), 0);
    let (a, b) = (recording("6.12", 1, 30), recording("6.12", 2, 3));
    let named = [("a".to_owned(), &a), ("b".to_owned(), &b)];
    let worse = Comparison::of(&named, Options { ..Options::default() }).unwrap();
    assert_eq!(junit(&worse, false).unwrap().matches("<failure").count(), 2);
}

fn named<'a>(side: &str, all: &'a [Recording]) -> Vec<(String, &'a Recording)> {
    all.iter().enumerate().map(|(n, of)| (format!("{side}-{n}"), of)).collect()
}

/// Rounds on Linux and on EVL, which is a tenth as late; `rounds` of each.
fn kernels(rounds: u64) -> Comparison {
    let of = |mechanism, times| {
        let mut recording = recording("6.6", times, 30);
        recording.header.scenario.mechanism = mechanism;
        recording
    };
    let linux: Vec<Recording> = (0..rounds).map(|round| of(Mechanism::Absolute, 20 + round)).collect();
    let evl: Vec<Recording> = (0..rounds).map(|round| of(Mechanism::Evl, 2 + round % 2)).collect();
    Comparison::of_sides(&named("linux", &linux), &named("evl", &evl), true, Options::default()).unwrap()
}

#[test]
fn the_page_of_two_cores_can_be_looked_at() {
    assert_page("kernels", &html(&kernels(12), "Linux / EVL").unwrap());
}

#[test]
fn what_a_second_kernel_changes_is_a_sentence_a_section_and_a_value() {
    let decided = kernels(12);
    assert_golden("kernels.txt", &text(&decided, None, Style::default()));
    assert_golden("kernels-short.txt", &short(&decided, None, Style::default()));
    let gained = &document(&decided)["others"][0]["kernels"];
    assert_eq!((&gained["first_mechanism"], &gained["second_mechanism"]), (&"absolute".into(), &"evl".into()));
    assert_eq!(gained["gains"].as_array().unwrap().len(), 2, "one for each CPU");
    assert_eq!(gained["gains"][0]["verdict"], "better");
    assert_eq!(document(&comparison(false))["others"][0]["kernels"], serde_json::Value::Null);
}

#[test]
fn the_command_that_measures_both_kernels_can_be_pasted() {
    let undecided = short(&kernels(2), None, Style::default());
    let command = "punctual measure --kernel linux,evl --cpus 1-2 --period 1ms --rounds 4";
    assert!(undecided.contains(command) && undecided.contains("--load cpu:1"), "{undecided}");
    assert!(!undecided.contains("COMMAND A"), "{undecided}");
}

#[test]
fn a_comparison_is_told_in_chinese() {
    for comparison in [comparison(false), comparison(true), kernels(3)] {
        assert_chinese("compare", || on_80(&comparison));
        assert_chinese("short", || short(&comparison, None, Style::default()));
        assert_chinese_page("compare", || html(&comparison, "A / B").unwrap());
    }
}
