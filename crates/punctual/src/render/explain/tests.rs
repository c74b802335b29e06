//! What each form shows of the samples, and that it holds whatever it is given.

use super::*;
use crate::render::golden::assert_golden;
use crate::render::html;
use crate::render::text::{self, Style};
use std::path::Path;

const ALL: Show = Show { top: 10, spike: None };

fn paths() -> [Option<&'static Path>; 2] {
    [Some(Path::new("bench.punctual")), None]
}

#[test]
fn the_text_of_each_sample() {
    for (name, report) in sample::all() {
        assert_golden(&format!("{name}.explain.txt"), &explain(&report, ALL, paths(), Style::default()));
    }
}

#[test]
fn one_late_activation_part_by_part() {
    for (number, golden) in [(3, "causes.spike-nested.txt"), (5, "causes.spike-incomplete.txt")] {
        let show = Show { top: 10, spike: Some(number) };
        assert_golden(golden, &explain(&sample::causes(), show, paths(), Style::default()));
    }
}

#[test]
fn check_says_who_it_was_apart_from_the_headline() {
    let text = text::check(&sample::causes(), paths()[0], None, Style::default());
    assert_golden("causes.check.txt", &text);
    assert!(text.contains("(traced)") && text.contains("punctual explain bench.punctual"), "{text}");
}

#[test]
fn every_line_fits_and_is_ascii() {
    let reports: Vec<_> = sample::all().into_iter().chain([("many", sample::many(100))]).collect();
    for (name, report) in reports {
        for width in [80, 120] {
            let style = Style { width, colour: false };
            for text in [explain(&report, ALL, paths(), style), text::full(&report, None, None, style)] {
                assert!(text.is_ascii() && !text.to_lowercase().contains("worst case"), "{name}");
                for line in text.lines() {
                    assert!(line.chars().count() <= width || !line.trim().contains(' '), "{name} at {width}: {line}");
                }
            }
        }
    }
}

fn causes_page(report: &punctual_core::report::Report) -> String {
    html::causes_page(report, "bench run", paths()[0]).unwrap()
}

#[test]
fn the_page_of_each_sample_is_closed_escaped_and_loads_nothing() {
    const EVIL: &str = "</title><script>alert(1)</script>\"'><b>";
    let mut evil = sample::causes();
    let causes = evil.causes.as_mut().unwrap();
    causes.causes[0].cause.name = EVIL.to_owned();
    causes.spikes[0].parts[3].cause.name = EVIL.to_owned();
    causes.spikes[0].causes[0].cause.name = EVIL.to_owned();
    causes.tracing.as_mut().unwrap().refused[0].1 = EVIL.to_owned();
    let samples = sample::all().into_iter().chain([("evil", evil), ("many", sample::many(3))]);
    for (name, report) in samples {
        for page in [causes_page(&report), html::page(&report, "bench run", None).unwrap()] {
            for loads in ["http:", "https:", "src=", "@import", "url(", "<link", "<img", "<iframe", "NaN"] {
                assert!(!page.contains(loads), "{name} contains {loads}");
            }
            assert_eq!(page.matches("<script>").count(), 1, "{name}: our own");
            for tag in
                ["svg", "table", "tbody", "tr", "td", "details", "summary", "figure", "dl", "ul", "li", "section"]
            {
                let open = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
                assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{name}: {tag}");
            }
        }
    }
}

#[test]
fn the_page_shows_lanes_marks_and_the_ranking() {
    let page = causes_page(&sample::causes()).replace(crate::render::units::THIN, " ");
    for said in [
        "every 250 ms (57 of 58 fit)",
        "managed",
        "<code>irq.managed</code>",
        ">softirqs<",
        ">our task<",
        ">release<",
        ">timer interrupt, timer expired, woken<",
        ">body<",
        "Incomplete: the kernel lost records in it",
        "from phases that were traced",
        "nvme0q3 (irq 131): 812 \u{b5}s\nfrom 0 ns to 812 \u{b5}s after the release (timer late)",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn ten_thousand_busy_windows_make_a_page_of_bounded_size() {
    for (spikes, at_most) in [(20, 1_500_000), (10_000, 1_500_000)] {
        let size = causes_page(&sample::many(spikes)).len();
        assert!(size < at_most, "{spikes}: {size} bytes");
    }
}

/// Writes the samples where a browser can show them, when asked: `PUNCTUAL_SAMPLE_DIR=DIR cargo test`.
#[test]
fn samples_can_be_looked_at() {
    for (name, report) in sample::all().into_iter().chain([("many", sample::many(30))]) {
        let page = causes_page(&report);
        assert!(page.trim_end().ends_with("</html>"), "{name} is complete");
        if let Some(folder) = std::env::var_os("PUNCTUAL_SAMPLE_DIR") {
            std::fs::write(Path::new(&folder).join(format!("{name}.html")), page).unwrap();
            let page = html::page(&report, "bench run", None).unwrap();
            std::fs::write(Path::new(&folder).join(format!("{name}.report.html")), page).unwrap();
        }
    }
}
