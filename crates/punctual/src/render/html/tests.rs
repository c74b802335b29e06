//! The page: complete, closed, escaped, small, and loading nothing.

use super::*;
use crate::render::sample;
use punctual_numbers::recording::RecTime;
use punctual_numbers::report::WorstAt;

fn page_of(report: &Report) -> String {
    page(report, "bench run", Some(Path::new("bench.punctual"))).unwrap()
}

#[test]
fn every_sample_makes_a_page_that_loads_nothing() {
    for (name, report) in sample::all() {
        let page = page_of(&report);
        for loads in ["http:", "https:", "src=", "@import", "url(", "<link", "<img", "<iframe"] {
            assert!(!page.contains(loads), "{name} contains {loads}");
        }
        assert!(!page.to_lowercase().contains("worst case"), "{name}");
        assert!(!page.contains("NaN"), "{name}");
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
        "kernel-preemption",
        "budget 50 \u{b5}s",
        "x11perf is not installed",
        "bench.punctual",
    ] {
        assert!(plain.contains(said), "{said}");
    }
}

#[test]
fn tags_are_closed() {
    for (name, report) in sample::all() {
        let page = page_of(&report);
        for tag in [
            "svg", "table", "tbody", "tr", "td", "section", "figure", "dl", "ul", "g", "article", "p", "div",
            "details", "summary",
        ] {
            let open = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
            assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{name}: {tag}");
        }
    }
}

#[test]
fn whatever_comes_from_outside_is_escaped() {
    const EVIL: &str = "</title><script>alert(1)</script>\"'><b>";
    let mut report = sample::two_cpus();
    report.machine[0].1 = EVIL.to_owned();
    report.notes = vec![EVIL.to_owned()];
    report.findings[0].title = EVIL.to_owned();
    report.findings[0].evidence[0].value = EVIL.to_owned();
    report.spans[1].name = EVIL.to_owned();
    report.cpus[0].worst_at = Some(WorstAt { at: RecTime::EPOCH, phase: EVIL.to_owned() });
    report.worst[0].phase = EVIL.to_owned();
    report.loads[0].name = EVIL.to_owned();
    report.loads[0].failure = Some(EVIL.to_owned());
    report.loads_skipped[0].because = EVIL.to_owned();
    report.in_force[0].values[0].1 = EVIL.to_owned();
    report.tool_version = EVIL.to_owned();
    let page = page(&report, EVIL, Some(Path::new(EVIL))).unwrap();
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

/// Writes the samples where a browser can show them, when asked: `PUNCTUAL_SAMPLE_DIR=DIR cargo test`.
#[test]
fn samples_can_be_looked_at() {
    let pages = sample::all().into_iter().map(|(name, report)| (name, page_of(&report)));
    for (name, page) in pages {
        assert!(page.ends_with("</html>\n") || page.ends_with("</html>"), "{name} is complete");
        if let Some(folder) = std::env::var_os("PUNCTUAL_SAMPLE_DIR") {
            std::fs::write(Path::new(&folder).join(format!("{name}.html")), page).unwrap();
        }
    }
}

#[test]
fn no_name_from_outside_turns_the_page_around() {
    let shown = visible_only("a\u{1b}[31m<b>\u{202e}\n\tc");
    assert_eq!(shown, "a?[31m<b>?\n\tc");
}
