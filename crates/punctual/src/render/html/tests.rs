//! Tests that pages are complete, have all tags closed, escape text from outside, are small and load nothing.

use super::*;
use crate::render::golden::{assert_page, of, root};
use crate::render::lang::leftover::assert_chinese_page;
use crate::render::sample;
use punctual_numbers::recording::RecTime;
use punctual_numbers::report::{SkippedLoad, WorstAt};
use std::fmt::Write as _;

fn page_of(report: &Report) -> String {
    page(of(report, &root(), Some(Path::new("bench.punctual"))), "bench run").unwrap()
}

#[test]
fn pages_can_be_looked_at() {
    for (name, report) in sample::all() {
        let page = page_of(&report);
        assert_page(name, &page);
        assert!(page.len() < 600_000, "{name}: {} bytes", page.len());
    }
}

#[test]
fn the_page_says_what_the_report_holds() {
    let report = sample::skipped();
    let page = page_of(&report);
    let plain = page.replace(units::THIN, " ");
    for said in [
        "Not held",
        "per release due",
        "CPU 0 skipped 190 of 10 000 releases",
        "Can this run be trusted?",
        "dyn.preempt",
        "budget 50 \u{b5}s",
        "x11perf is not found on PATH",
        "bench.punctual",
    ] {
        assert!(plain.contains(said), "{said}");
    }
}

#[test]
fn whatever_comes_from_outside_is_escaped() {
    const EVIL: &str = "</title><script>alert(1)</script>\"'><b>";
    let mut report = sample::two_cpus();
    report.machine[0].value = EVIL.to_owned();
    report.notes = vec![EVIL.to_owned()];
    report.findings[0].title = EVIL.to_owned();
    report.findings[0].evidence[0].value = EVIL.to_owned();
    report.spans[1].name = EVIL.to_owned();
    report.cpus[0].worst_at = Some(WorstAt { at: RecTime::EPOCH, phase: EVIL.to_owned() });
    report.worst[0].phase = EVIL.to_owned();
    report.loads[0].name = EVIL.to_owned();
    report.loads[0].failure = Some(EVIL.to_owned());
    report.loads_skipped = vec![SkippedLoad { name: "graphics".to_owned(), because: EVIL.to_owned() }];
    report.in_force[0].values[0].value = EVIL.to_owned();
    report.tool_version = EVIL.to_owned();
    let page = page(of(&report, &root(), Some(Path::new(EVIL))), EVIL).unwrap();
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script>").count(), 1, "our own");
    assert!(page.matches("alert(1)").count() > 10, "it is shown");
    assert_eq!(page.matches("alert(1)").count(), page.matches("&lt;script&gt;alert(1)").count());
}

#[test]
fn many_cpus_keep_the_page_readable_and_say_what_is_not_drawn() {
    let mut report = sample::eight_cpus();
    let eight = report.cpus.clone();
    report.cpus = (0..64).zip(eight.iter().cycle()).map(|(cpu, row)| CpuRow { cpu, ..row.clone() }).collect();
    let page = page_of(&report);
    assert!(page.contains("Drawn are the 16 CPUs with the largest latency"));
    assert!(page.len() < 1_200_000, "{} bytes", page.len());
}

/// The page calls a recording incomplete if its end could not be written.
#[test]
fn an_incomplete_recording_is_called_so() {
    assert!(page_of(&sample::cut_off()).contains("bench.punctual (incomplete)"));
    assert!(!page_of(&sample::two_cpus()).contains("(incomplete)"));
}

/// The pictures in README are equal to those of the page. `BLESS=1 cargo test` rewrites them.
#[test]
fn the_pictures_of_the_readme_are_fresh() {
    let report = sample::skipped();
    let words = words::verdict(&report);
    let ruler = chart::ruler(&report.total.as_ref().unwrap().latency_due, report.need.budget, "", false).unwrap();
    let shapes = chart::Shape::of_cpus(&report.cpus);
    let histogram = chart::histogram(&shapes, &[0], report.need.budget, false).unwrap();
    let below = "Ruler: both CPUs. Histogram: CPU 0; dashed: skipped releases, by the time until its thread ran.";
    assert_picture("verdict.svg", "missed", &[words.word, &words.seen], &[&ruler, &histogram], below);
    let causes = explain::sample::causes();
    let spike = &causes.causes.as_ref().unwrap().spikes[1];
    let head = format!("{} on CPU {}", units::latency(spike.latency()), spike.cpu);
    let blames: Vec<String> = spike.causes.iter().map(words::causes::blame).collect();
    let lanes = chart::lanes(spike).unwrap();
    assert_picture("cause.svg", "", &[&head, &blames[0]], &[&lanes], "What the CPU did, from the release to the body.");
}

/// Asserts that the file of a picture is up to date. The picture is made of a heading and a line of text (`said`),
/// pictures of the page, and a caption (`below`).
fn assert_picture(name: &str, class: &str, said: &[&str; 2], pictures: &[&str], below: &str) {
    let mut y = 40.0;
    let mut body = String::new();
    let text = |class: &str, y: f64, line: &str| {
        let line = chart::escaped(line);
        format!("<text class=\"{class}\" x=\"12\" y=\"{y}\">{line}</text>\n")
    };
    body.push_str(&text("word", y, said[0]));
    for line in plot::wrapped(said[1], 110) {
        y += 22.0;
        body.push_str(&text("line", y, &line));
    }
    y += 12.0;
    for picture in pictures {
        let (head, rest) = picture.split_once('>').unwrap();
        let (_, size) = head.split_once("viewBox=\"0 0 ").unwrap();
        let height = size.split(['"', ' ']).nth(1).unwrap().parse::<f64>().unwrap();
        // The invisible rectangles that react to a pointer are left out: an image has no pointer.
        let drawn = rest.split("<g class=\"hits\">").next().unwrap().trim_end_matches("</svg>");
        let class = head.split('"').nth(1).unwrap();
        writeln!(body, r#"<g class="{class}" transform="translate(0 {y})">{drawn}</g>"#).unwrap();
        y += height + 8.0;
    }
    body.push_str(&text("below", y + 12.0, below));
    y += 24.0;
    let style = STYLE.replace('<', "&lt;");
    let picture = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {y}" width="900" height="{y}" class="{class}">
<style>
{style}text {{ font-family: system-ui, "DejaVu Sans", sans-serif; }}
svg .word {{ font-size: 34px; }} svg .line {{ font-size: 15px; }} svg .below {{ fill: var(--soft); }}
svg.missed .word {{ fill: var(--missed); }}
</style>
<rect width="900" height="{y}" style="fill: var(--paper)"/>
{body}</svg>
"#
    );
    assert!(picture.len() < 60_000, "{name}: {} bytes", picture.len());
    fixtures::check(&fixtures::repository("book/src/img").join(name), &picture);
}

#[test]
fn no_name_from_outside_turns_the_page_around() {
    let shown = visible_only("a\u{1b}[31m<b>\u{202e}\n\tc");
    assert_eq!(shown, "a?[31m<b>?\n\tc");
}

#[test]
fn pages_are_chinese() {
    for (name, report) in sample::all() {
        let report = Report { findings: Vec::new(), ..report };
        assert_chinese_page(name, || page_of(&report));
    }
}
