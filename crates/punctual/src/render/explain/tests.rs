//! Tests of all output formats with the samples, and with hostile or very large values.

use super::*;
use crate::render::chart;
use crate::render::document::schema::assert_valid;
use crate::render::golden::{self, assert_golden};
use crate::render::html;
use crate::render::lang::leftover::{assert_chinese, assert_chinese_page};
use crate::render::sheet::Style;
use crate::render::text;
use crate::render::words::causes as words;
use punctual_numbers::explain::Class;
use punctual_numbers::report::Report;
use serde_json::Value;
use std::path::Path;

const ALL: Show = Show { top: 10, full: true, spike: None };

fn paths() -> [Option<&'static Path>; 3] {
    [Some(Path::new("bench.punctual")), None, Some(Path::new("bench.perfetto"))]
}

#[test]
fn the_text_of_each_sample() {
    for (name, report) in sample::all() {
        let short =
            explain(&report, Show { top: 5, full: false, spike: None }, &golden::root(), paths(), Style::default());
        assert!(
            short.lines().count() <= 60 && (short.contains("CAUSE:") || short.contains("NOTHING WAS LATE:")),
            "{name}\n{short}"
        );
        assert_golden(&format!("{name}.short.explain.txt"), &short);
        assert_golden(
            &format!("{name}.explain.txt"),
            &explain(&report, ALL, &golden::root(), paths(), Style::default()),
        );
    }
}

#[test]
fn a_run_that_ended_before_it_was_traced_had_nothing_captured() {
    let mut report = sample::causes();
    let causes = report.causes.as_mut().unwrap();
    (causes.causes, causes.late, causes.spikes) = Default::default();
    let ranked = explain(&report, ALL, &golden::root(), paths(), Style::default());
    assert!(ranked.contains("NOTHING WAS LATE:"), "{ranked}");
    report.causes.as_mut().unwrap().tracing.as_mut().unwrap().phases = vec![99];
    let text = explain(&report, ALL, &golden::root(), paths(), Style::default());
    assert!(text.contains("NOTHING WAS CAPTURED:") && text.contains("No: the run ended before"), "{text}");
    let line = crate::render::brief::explain(&report, Path::new("bench.punctual")).unwrap();
    assert!(line.starts_with("NOTHING CAPTURED cause=none") && line.contains("trust=no"), "{line}");
}

#[test]
fn one_late_activation_part_by_part() {
    for (number, golden) in [(3, "causes.spike-nested.txt"), (5, "causes.spike-incomplete.txt")] {
        let show = Show { top: 10, full: false, spike: Some(number) };
        assert_golden(golden, &explain(&sample::causes(), show, &golden::root(), paths(), Style::default()));
    }
}

#[test]
fn check_says_who_it_was_apart_from_the_headline() {
    let text = text::short(&sample::causes(), &golden::root(), [paths()[0], None], Style::default());
    assert_golden("causes.check.txt", &text);
    assert!(text.contains("Causes of the largest latencies (from a separate pass with tracing)"), "{text}");
}

#[test]
fn every_line_fits_and_is_ascii() {
    let reports: Vec<_> = sample::all().into_iter().chain([("many", sample::many(100))]).collect();
    for (name, report) in reports {
        for width in [20, 40, 80, 120] {
            let style = Style { width, colour: false };
            for text in [explain(&report, ALL, &golden::root(), paths(), style), golden::full(&report, style)] {
                assert!(text.is_ascii() && !text.to_lowercase().contains("worst case"), "{name}");
                golden::assert_fits(&text, width);
            }
        }
    }
}

fn causes_page(report: &Report) -> String {
    html::causes_page(report, "bench run", paths()[0]).unwrap()
}

#[test]
fn pages_can_be_looked_at() {
    const EVIL: &str = "</title><script>alert(1)</script>\"'><b>";
    let mut evil = sample::causes();
    let causes = evil.causes.as_mut().unwrap();
    causes.causes[0].cause.name = EVIL.into();
    causes.spikes[0].parts[3].cause.name = EVIL.into();
    causes.spikes[0].causes[0].cause.name = EVIL.into();
    causes.tracing.as_mut().unwrap().refused[0].why = EVIL.to_owned();
    let samples = sample::all().into_iter().chain([("evil", evil), ("many", sample::many(30))]);
    for (name, report) in samples {
        golden::assert_page(name, &causes_page(&report));
        golden::assert_page(
            &format!("{name}.report"),
            &html::page(golden::of(&report, &golden::root(), None), "bench run").unwrap(),
        );
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
        "Incomplete: the kernel lost records of this activation",
        "from traced phases",
        "nvme0q3 (irq 131): 812 \u{b5}s\nfrom 0 ns to 812 \u{b5}s after the release (timer late)",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

/// Hundreds of interrupts of equal length are joined into few bars, whose counts add up to all of them.
#[test]
fn a_storm_is_drawn_as_bars_that_stand_for_all_of_it() {
    let spike = sample::storm(800);
    let picture = chart::lanes(&spike).unwrap();
    let bars = picture.matches("<rect").count();
    assert!((10..=160).contains(&bars), "{bars}");
    let parts: u64 = picture
        .match_indices(&format!("{}part", crate::render::units::THIN))
        .map(|(at, _)| picture[..at].rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(parts, 1_600, "{picture}");
}

#[test]
fn ten_thousand_busy_windows_make_a_page_of_bounded_size() {
    for (spikes, at_most) in [(20, 1_500_000), (10_000, 1_500_000)] {
        let size = causes_page(&sample::many(spikes)).len();
        assert!(size < at_most, "{spikes}: {size} bytes");
    }
}

fn document(report: &Report) -> Value {
    assert_valid(&json::Document::of(report, paths()[0]).unwrap())
}

#[test]
fn every_document_is_valid() {
    let samples = sample::all().into_iter().chain([("many", sample::many(2)), ("every", sample::every())]);
    for (name, report) in samples {
        let told = report.causes.as_ref().map(|causes| causes.spikes.len());
        assert_eq!(document(&report)["spikes"].as_array().map(Vec::len), told, "{name}");
    }
    assert!(json::document(&crate::render::sample::two_cpus(), None, true).unwrap().is_none(), "nobody looked");
}

#[test]
fn a_document_has_the_worst_spikes_in_full_and_the_number_of_those_left_out() {
    let report = sample::many(100);
    let of = |full| json::document(&report, None, full).unwrap().unwrap();
    let (short, full) = (of(false), of(true));
    assert!(short.len() <= 500_000 && full.len() > 2_000_000, "{} of {}", short.len(), full.len());
    let [short, full] = [short, full].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    let (shown, all) = (short["spikes"].as_array().unwrap(), full["spikes"].as_array().unwrap());
    assert_eq!((all.len(), shown.as_slice()), (100, &all[..shown.len()]));
    let left_out = |document: &Value| document["windows_left_out"].as_u64().unwrap();
    assert_eq!((left_out(&short), left_out(&full)), (100 - shown.len() as u64, 0));
    assert_eq!(short["causes"], full["causes"]);
}

#[test]
fn the_document_holds_what_the_explanation_does() {
    let document = document(&sample::causes());
    assert_golden("causes.explain.json", &(serde_json::to_string_pretty(&document).unwrap() + "\n"));
    let spike = &document["spikes"][0];
    let parts: u64 = spike["parts"].as_array().unwrap().iter().map(|part| part["length_ns"].as_u64().unwrap()).sum();
    assert_eq!(spike["woke_ns"].as_u64().unwrap() - spike["release_ns"].as_u64().unwrap(), parts);
    assert_eq!(
        (&spike["causes"][0]["class"], &spike["causes"][0]["name"]),
        (&"higher-priority".into(), &"hog95".into())
    );
    assert_eq!(document["spikes"][4]["incomplete"], "lost");
}

#[test]
fn every_word_for_programs_and_for_people_is_its_own() {
    let report = sample::every();
    let document = document(&report);
    let spike = &document["spikes"][0];
    let own = |name: &str, texts: Vec<&Value>| {
        let different: std::collections::BTreeSet<&str> = texts.iter().map(|text| text.as_str().unwrap()).collect();
        assert_eq!(different.len(), texts.len(), "{name}: {different:?}");
    };
    let parts = spike["parts"].as_array().unwrap();
    own("classes", parts.iter().map(|part| &part["class"]).collect());
    let why = spike["causes"][0]["why"].as_array().unwrap();
    own("reasons", why.iter().map(|why| &why["code"]).collect());
    let told = &report.causes.as_ref().unwrap().spikes[0].causes[0].why;
    let sentences: std::collections::BTreeSet<String> = told.iter().map(words::why).collect();
    assert_eq!((sentences.len(), told.len()), (why.len(), why.len()), "{sentences:?}");
    let classes: std::collections::BTreeSet<&str> = Class::ALL.iter().map(|class| words::class(*class)).collect();
    assert_eq!(classes.len(), Class::ALL.len());
}

#[test]
fn slices_of_the_trace_nest_and_have_their_names_and_lengths() {
    let mut trace = Vec::new();
    perfetto(&sample::causes(), &sample::windows(), &mut trace).unwrap();
    let slices = packets::slices(&trace);
    let has = |name: &str, us: u64| {
        let named: Vec<_> = slices.iter().filter(|slice| slice.name == name).collect();
        assert!(named.iter().any(|slice| slice.length_ns == us * 1_000), "{name} {us}: {named:?}");
    };
    has("nvme0q3 (irq 131)", 40);
    has("hrtimer_wakeup", 3);
    has("non-maskable interrupt perf_event_nmi_handler", 14);
    has("local timer", 5);
    has("NET_RX", 40);
    has("hog95", 133);
    has("idle", 57);
    has("state 1", 51);
    has("device interrupt nvme0q3 (irq 131)", 812);
    has("latency 883 us: device interrupt nvme0q3 (irq 131)", 883);
}

/// A program with Perfetto's own schema reads the trace: it knows every field and finds slices with their names and
/// lengths.
#[test]
#[ignore = "installs Python's package perfetto into a folder of its own"]
fn the_public_schema_reads_the_trace() {
    let folder = tempfile::TempDir::new().unwrap();
    let trace = folder.path().join("trace.perfetto");
    perfetto(&sample::causes(), &sample::windows(), std::fs::File::create(&trace).unwrap()).unwrap();
    let run = |program: &Path, words: &[&std::ffi::OsStr]| {
        let done = std::process::Command::new(program).args(words).output().unwrap();
        assert!(done.status.success(), "{program:?} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let venv = folder.path().join("venv");
    run(Path::new("python3"), &["-m".as_ref(), "venv".as_ref(), venv.as_os_str()]);
    let python = venv.join("bin/python");
    run(&python, &["-m", "pip", "install", "-q", "perfetto", "protobuf"].map(std::ffi::OsStr::new));
    let read = run(&python, &["-c".as_ref(), include_str!("perfetto/read.py").as_ref(), trace.as_os_str()]);
    let read: Value = serde_json::from_str(&read).unwrap();
    assert_eq!(read["unknown_fields"], 0);
    assert_eq!(read["primary_trace_clock"], 3);
    let mut theirs: Vec<(String, u64)> = serde_json::from_value(read["slices"].clone()).unwrap();
    let mut ours: Vec<(String, u64)> =
        packets::slices(&std::fs::read(&trace).unwrap()).into_iter().map(|s| (s.name, s.length_ns)).collect();
    theirs.sort();
    ours.sort();
    assert_eq!(theirs, ours);
    assert!(theirs.contains(&("device interrupt nvme0q3 (irq 131)".to_owned(), 812_000)));
}

#[test]
fn causes_are_told_in_chinese() {
    for (name, report) in sample::all() {
        let report = Report { findings: Vec::new(), ..report };
        assert_chinese(name, || explain(&report, ALL, &golden::root(), paths(), Style::default()));
        assert_chinese_page(name, || causes_page(&report));
    }
}
