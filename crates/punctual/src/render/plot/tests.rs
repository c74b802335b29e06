//! Tests that charts of other programs' results draw every value and no others.

use super::*;
use crate::render::sample;
use punctual_numbers::foreign::{ForeignRun, ImportOptions, import};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign")
}

fn read(path: &Path) -> Option<ForeignRun> {
    import(&std::fs::read(path).ok()?, ImportOptions::default()).ok()
}

fn named(name: &str) -> Named {
    let run = read(&fixtures().join(name)).unwrap();
    Named { name: name.to_owned(), of: Measured::Import(Box::new(run)) }
}

fn recording(name: &str) -> Named {
    Named { name: name.to_owned(), of: Measured::Recording(Box::new(sample::skipped())) }
}

fn plain(text: &str) -> String {
    text.replace(units::THIN, " ").replace("\u{b5}s", "us")
}

#[test]
fn whatever_is_imported_with_counts_is_drawn_in_every_way() {
    let mut drawn = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        let Some(run) = read(&path) else { continue };
        let has_counts = run.series.iter().any(chart::is_drawn);
        let all = [Named { name: "a".to_owned(), of: Measured::Import(Box::new(run)) }];
        for chart in [ChartName::Histogram, ChartName::Exceedance] {
            let (picture, text) = (svg(chart, &all), terminal::draw(chart, &all, 80));
            assert_eq!((picture.is_some(), text.is_some()), (has_counts, has_counts), "{}", path.display());
            let (Some(picture), Some(text)) = (picture, text) else { continue };
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{}: {picture}", path.display());
            assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 80), "{text}");
            drawn += 1;
        }
    }
    assert!(drawn > 30, "{drawn}");
}

#[test]
fn columns_say_how_many_values_they_hold_and_hold_all() {
    // The first file has 37 more values that are only counted, because they lie beyond its last cell.
    for (file, wanted) in [("xenomai-latency-211h.txt", 7_598_944_873u64), ("latmus-rk3588-2h.txt", 7_309_414)] {
        let picture = plain(&svg(ChartName::Histogram, &[named(file)]).unwrap());
        let titles = picture.split("<title>").skip(2).filter_map(|title| title.split("</title>").next());
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let held = titles.map(|title| digits(title.rsplit(": ").next().unwrap()).parse::<u64>().unwrap());
        assert_eq!(held.sum::<u64>(), wanted, "{file}");
    }
}

#[test]
fn what_overflowed_is_told_and_drawn_no_further_than_it_is_known() {
    let all = [named("cyclictest-dense.txt")];
    for chart in [ChartName::Histogram, ChartName::Exceedance] {
        let picture = plain(&svg(chart, &all).unwrap());
        let said: Vec<&str> = picture.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect();
        let said = said.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("Dashed: only counted. thread 0: 215 values from 60 us to 2.26 ms"), "{said}");
        assert_eq!(picture.matches("class=\"skipped c").count(), 3, "two series and the legend");
        let text = terminal::draw(chart, &all, 80).unwrap();
        assert!(text.replace('\n', " ").contains("cyclictest-dense.txt: 468 values from 60 us to 2.26 ms"), "{text}");
    }
}

#[test]
fn results_of_different_programs_lie_over_each_other_under_their_names() {
    let all = [named("latmus-rk3588-2h.txt"), recording("ours"), named("rtla-timerlat.txt")];
    for chart in [ChartName::Histogram, ChartName::Exceedance] {
        let picture = plain(&svg(chart, &all).unwrap());
        for name in ["latmus-rk3588-2h.txt<", "ours<", "rtla-timerlat.txt: IRQ<", "rtla-timerlat.txt: Thr<"] {
            assert!(picture.contains(name), "{name}: {picture}");
        }
        assert!(picture.contains("3 results") && picture.contains("skipped are not drawn"), "{picture}");
        let text = terminal::draw(chart, &all, 80).unwrap();
        assert!(text.contains("  2  ours\n") && text.contains("  4  rtla-timerlat.txt: Thr\n"), "{text}");
    }
}

#[test]
fn what_holds_only_the_largest_says_so() {
    let picture = svg(ChartName::Exceedance, &[named("hwlatdetect.txt")]).unwrap();
    assert!(picture.contains("only what was above a threshold is known"), "{picture}");
}
