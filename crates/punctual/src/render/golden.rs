//! Compares texts of the samples with golden files that a reviewer has read. `BLESS=1 cargo test` rewrites these files.

use super::sheet::Style;
use super::words::command::Command;
use super::words::next::{Reader, Wording};
use super::{sample, text};
use punctual_numbers::report::Report;
use std::path::Path;

pub(in crate::render) fn assert_golden(name: &str, text: &str) {
    fixtures::check(&fixtures::repository("crates/punctual/tests/golden").join(name), text);
}

/// Asserts that a page is complete: all tags are closed, it has no script but ours, and it loads nothing. If
/// `PUNCTUAL_SAMPLE_DIR` is set, the page is also written into that folder, where `cargo xtask screenshots` opens it in
/// a browser.
pub(in crate::render) fn assert_page(name: &str, page: &str) {
    if let Some(folder) = std::env::var_os("PUNCTUAL_SAMPLE_DIR") {
        std::fs::write(Path::new(&folder).join(format!("{name}.html")), page).unwrap();
    }
    assert!(page.trim_end().ends_with("</html>"), "{name} is complete");
    for lacks in ["http:", "https:", "src=", "@import", "url(", "<link", "<img", "<iframe", "NaN", "worst case", "inf "]
    {
        assert!(!page.contains(lacks), "{name} contains {lacks}");
    }
    assert_eq!(page.matches("<script>").count(), 1, "{name}: our own");
    for tag in "svg table tbody tr td th section figure dl ul ol li g article p div details summary nav a".split(' ') {
        let open = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{name}: {tag}");
    }
    let links = page.split("href=\"#").skip(1).map(|part| part.split('"').next().unwrap());
    assert!(links.clone().count() > 0, "{name} has a list of its sections");
    for link in links {
        assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{name}: {link}");
    }
}

const NO_FILES: [Option<&Path>; 2] = [None, None];

fn paths() -> [Option<&'static Path>; 2] {
    [Some(Path::new("bench.punctual")), Some(Path::new("bench.html"))]
}

pub(in crate::render) fn root() -> Reader {
    Reader { is_root: true, container: None, typed: Some(Command::new(["check", "--out", "bench.punctual"])) }
}

pub(in crate::render) fn of<'a>(report: &'a Report, reader: &'a Reader, recording: Option<&'a Path>) -> Wording<'a> {
    Wording { report, reader, recording }
}

fn short(report: &Report, style: Style) -> String {
    text::short(report, &root(), paths(), style)
}

pub(in crate::render) fn full(report: &Report, style: Style) -> String {
    text::full(report, &root(), NO_FILES, style)
}

#[test]
fn check_at_80_columns() {
    for (name, report) in sample::all() {
        let text = short(&report, Style::default());
        assert!(text.lines().count() <= 60, "{name}: the short text is short\n{text}");
        let answer = text.lines().rev().take(24).collect::<Vec<_>>().join("\n");
        let answers = ["HELD:", "INCONCLUSIVE:", "MEASURED:"].iter().any(|word| answer.contains(word));
        assert!(answers, "{name}: the last screen answers\n{text}");
        assert_golden(&format!("{name}.check.txt"), &text);
    }
}

#[test]
fn check_on_a_wide_terminal() {
    let text = short(&sample::skipped(), Style { width: 160, colour: false });
    assert_golden("skipped.check-wide.txt", &text);
}

#[test]
fn the_full_text() {
    for (name, report) in sample::all() {
        let text = full(&report, Style::default());
        assert_golden(&format!("{name}.full.txt"), &text);
    }
}

#[test]
fn every_line_fits_and_nothing_claims_a_worst_case() {
    for (name, report) in sample::all() {
        for width in [20, 40, 80, 120] {
            let style = Style { width, colour: false };
            for text in [short(&report, style), full(&report, style)] {
                assert!(!text.to_lowercase().contains("worst case"), "{name}");
                assert!(text.is_ascii(), "{name}: a serial console shows ASCII only");
                assert_fits(&text, width);
            }
        }
    }
}

/// Asserts that each line fits the terminal. Commands to paste and lines of one or two words may be longer. On a
/// terminal of 20 columns every line may have 30 characters, because a number and its unit stay on one line.
pub(in crate::render) fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        let is_whole = line.split_whitespace().count() <= 2 || line.contains("punctual ");
        assert!(line.chars().count() <= width.max(30) || is_whole, "at {width}: {line}\n{text}");
    }
}

#[test]
fn an_absent_number_is_a_dash_not_a_zero() {
    let text = short(&sample::empty(), Style { width: 120, colour: false });
    assert!(text.contains("No CPU was measured.") || text.contains(" -  "), "{text}");
}

#[test]
fn colours_change_nothing_but_colour() {
    for (name, report) in sample::all() {
        let plain = short(&report, Style { width: 80, colour: false });
        let coloured = short(&report, Style { width: 80, colour: true });
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
    let text = short(&report, Style::default());
    assert_eq!(text.matches("should be: ").count(), 5, "five findings are shown\n{text}");
    assert!(text.contains("7 more: punctual audit --cpus 0-7 --period 1ms --budget 72us"), "{text}");
    assert!(text.contains("more rows with smaller maxima: punctual report --full"), "{text}");
}

fn in_container() -> Report {
    Report { machine: vec![("virtualisation", "container (docker)").into()], ..sample::skipped() }
}

/// Root of a container is not root on its host, where the change is made and measured.
#[test]
fn what_is_done_on_the_host_has_sudo() {
    let reader = Reader { is_root: true, container: Some("docker".to_owned()), typed: None };
    let mut report = in_container();
    report.causes = super::explain::sample::causes().causes;
    report.findings.iter_mut().for_each(|finding| finding.severity = punctual_facts::finding::Severity::Fatal);
    let said = of(&report, &reader, None).steps();
    assert!(said[0].command.to_string().starts_with("sudo punctual check"), "{said:?}");
    let mut bad = report.findings[0].clone();
    (bad.id, bad.state) = ("dyn.preempt".to_owned(), punctual_facts::finding::State::Bad);
    report.findings = vec![bad];
    report.causes.as_mut().unwrap().causes[0].knobs = vec!["dyn.preempt"];
    let next = of(&report, &reader, None).for_causes();
    assert!(next.command.to_string().starts_with("sudo punctual tune"), "{next:?}");
    assert!(next.then.unwrap().to_string().starts_with("sudo punctual check"));
}

/// Who looks in a container at the recording of a machine is told about that machine.
#[test]
fn the_container_in_which_a_recording_is_shown_is_not_that_of_the_measurement() {
    let reader = Reader { is_root: true, container: Some("docker".to_owned()), typed: None };
    let mut report = sample::skipped();
    let on_host = |report: &_| {
        let steps = of(report, &reader, None).steps();
        steps.iter().any(|next| matches!(next.step, punctual_numbers::report::NextStep::OnHost { .. }))
    };
    let inside = ["container (docker)", "container (lxc) in a guest of KVM"].map(|place| (place, true));
    for (place, expected) in inside.into_iter().chain([("guest of KVM", false), ("none", false)]) {
        report.machine = vec![("virtualisation", place).into()];
        assert_eq!(on_host(&report), expected, "{place}");
    }
    report.machine = Vec::new();
    assert!(on_host(&report), "nothing is known about the measured machine");
}

/// The next step looks for the causes that were not looked for, so that one command is enough.
#[test]
fn a_run_that_did_not_look_for_causes_is_told_one_command() {
    let report = in_container();
    assert!(report.causes.is_none() && report.verdict.missed > 0);
    let typed = Command::new(["check", "--no-explain", "--cpus", "1"]);
    let reader = Reader { typed: Some(typed), container: Some("docker".to_owned()), ..root() };
    let text = text::results(&report, &reader, paths(), Style::default());
    let answer = &text[text.find("Causes").unwrap()..];
    assert_eq!(answer.matches("punctual check").count(), 1, "{answer}");
    assert!(answer.contains("sudo punctual check --cpus 1"), "{answer}");
}

#[test]
fn absurd_numbers_are_rendered_and_break_nothing() {
    let report = sample::absurd();
    for width in [0, 80, 200] {
        let style = Style { width, colour: true };
        assert!(short(&report, style).contains("How sure"));
        assert!(full(&report, style).contains("Worst wake-ups"));
    }
    let document = super::json::check(of(&report, &root(), None)).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["cpus"][0]["ran"], u64::MAX);
    assert_eq!(document["miss_probability_upper"], serde_json::Value::Null);
    let page = super::html::page(of(&report, &root(), None), "absurd").unwrap();
    assert!(page.contains("</html>") && !page.contains("NaN"), "no coordinate is lost");
}
