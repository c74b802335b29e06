//! What each form shows of the samples, and that it holds whatever it is given.

use super::*;
use crate::render::golden::assert_golden;
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
