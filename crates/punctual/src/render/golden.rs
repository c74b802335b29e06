//! What the samples look like, compared with files a reviewer has read. `BLESS=1 cargo test` writes them anew.

use super::{sample, text};
use std::path::Path;

/// Asserts that `text` is what the golden file holds.
pub(in crate::render) fn assert_golden(name: &str, text: &str) {
    fixtures::check(&fixtures::repository("crates/punctual/tests/golden").join(name), text);
}

fn paths() -> (Option<&'static Path>, Option<&'static Path>) {
    (Some(Path::new("bench.punctual")), Some(Path::new("bench.html")))
}

#[test]
fn check_at_80_columns() {
    for (name, report) in sample::all() {
        let (recording, html) = paths();
        let text = text::check(&report, recording, html, text::Style::default());
        assert_golden(&format!("{name}.check.txt"), &text);
    }
}

#[test]
fn check_on_a_wide_terminal() {
    let text = text::check(&sample::skipped(), None, None, text::Style { width: 160, colour: false });
    assert_golden("skipped.check-wide.txt", &text);
}

#[test]
fn the_full_text() {
    for (name, report) in sample::all() {
        let text = text::full(&report, None, None, text::Style::default());
        assert_golden(&format!("{name}.full.txt"), &text);
    }
}

#[test]
fn every_line_fits_and_nothing_claims_a_worst_case() {
    for (name, report) in sample::all() {
        for width in [80, 120] {
            let style = text::Style { width, colour: false };
            for text in [text::check(&report, None, None, style), text::full(&report, None, None, style)] {
                assert!(!text.to_lowercase().contains("worst case"), "{name}");
                assert!(text.is_ascii(), "{name}: a serial console shows ASCII only");
                for line in text.lines() {
                    assert!(line.chars().count() <= width || !line.trim().contains(' '), "{name} at {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn an_absent_number_is_a_dash_not_a_zero() {
    let text = text::check(&sample::empty(), None, None, text::Style { width: 120, colour: false });
    let row = text.lines().find(|l| l.trim_start().starts_with("0 ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["0", "0", "0", "0", "-", "-", "-", "-", "-", "-", "-"]);
}

#[test]
fn colours_change_nothing_but_colour() {
    for (name, report) in sample::all() {
        let plain = text::check(&report, None, None, text::Style { width: 80, colour: false });
        let coloured = text::check(&report, None, None, text::Style { width: 80, colour: true });
        assert!(!plain.contains('\x1b') && coloured.contains('\x1b'), "{name}");
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain, "{name}");
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let mut report = sample::eight_cpus();
    let bad = report.findings[0].clone();
    report.findings.extend((0..9).map(|n| punctual_facts::finding::Finding { id: format!("more-{n}"), ..bad.clone() }));
    let phases = report.phases.clone();
    report.phases.extend(phases.into_iter().map(|row| punctual_numbers::report::PhaseRow { cpu: row.cpu + 8, ..row }));
    report.phases.sort_by_key(|row| (row.phase, row.cpu));
    let text = text::check(&report, None, None, text::Style::default());
    assert_eq!(text.matches("    sure ").count(), 8, "eight findings are shown");
    assert!(text.contains("and 4 more: punctual audit"), "{text}");
    assert!(text.contains("The latest CPU of each phase; all of them: punctual report --text"), "{text}");
}

#[test]
fn absurd_numbers_are_rendered_and_break_nothing() {
    let report = sample::absurd();
    for width in [0, 80, 200] {
        let style = text::Style { width, colour: true };
        assert!(text::check(&report, None, None, style).contains("Verdict"));
        assert!(text::full(&report, None, None, style).contains("Latest activations"));
    }
    let document: serde_json::Value = serde_json::from_str(&super::json::check(&report, None)).unwrap();
    assert_eq!(document["cpus"][0]["ran"], u64::MAX);
    assert_eq!(document["miss_probability_upper"], serde_json::Value::Null);
    let page = super::html::page(&report, "absurd", None).unwrap();
    assert!(page.contains("</html>") && !page.contains("NaN"), "no coordinate is lost");
}
