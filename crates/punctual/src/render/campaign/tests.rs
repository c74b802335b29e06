//! The forms of a campaign's result.

use super::*;
use crate::render::document::schema::assert_valid;
use crate::render::golden::assert_page;
use crate::render::lang::leftover::{assert_chinese, assert_chinese_page};

fn cell(name: &str, refused: Option<&str>) -> CellResult {
    let mut latencies = Counts::new();
    (1..=1000u64).for_each(|us| latencies.record(Nanos::from_us(us)));
    let row = LatencyRow::of(&latencies, &Counts::new(), 3);
    let measured = refused.is_none();
    CellResult {
        name: name.to_owned(),
        about: "As it comes.".to_owned(),
        scenario: "FIFO 90 on CPU 1.".to_owned(),
        boot: Vec::new(),
        knobs: vec!["pm.governor".to_owned()],
        refused: refused.map(str::to_owned),
        runs: usize::from(measured),
        whole: measured.then(|| row.clone()),
        cpus: if measured {
            vec![CpuNumbers { cpu: 0, row: row.clone() }, CpuNumbers { cpu: 1, row }]
        } else {
            Vec::new()
        },
        published: vec![PublishedFigure {
            of: "RK3588".to_owned(),
            cpu: Some(1),
            what: "max",
            published: Nanos::from_us(37),
            here: measured.then(|| Nanos::from_us(1000)),
        }],
        doubts: Vec::new(),
        latencies: if measured { latencies } else { Counts::new() },
    }
}

const NOT_UP: &str = "after 2 boots in which the machine did not run with the requested kernel and command line, or rebooted \
     before punctual could check: it was seen with kernel 6.1 and 'ro'";

fn result() -> Result {
    Result {
        title: "Two cells".to_owned(),
        about: "One setting.".to_owned(),
        source: "a page".to_owned(),
        order: Order::Abba,
        seed: 1,
        repetitions: 2,
        shortened: 100.0,
        cells: vec![cell("plain", None), cell("tuned", Some(NOT_UP))],
        comparisons: vec![PairResult::of(
            "plain".to_owned(),
            "tuned".to_owned(),
            "Does it help?".to_owned(),
            0,
            &Err("one of them was not measured".to_owned()),
        )],
        boots: Some(2),
        gave_up: None,
        is_home: true,
        folder: "/tmp/c".to_owned(),
    }
}

/// The same with a third cell, whose latencies are a tenth, and a comparison that is decided.
fn with_two_curves() -> Result {
    let Result { mut cells, mut comparisons, .. } = result();
    let mut latencies = Counts::new();
    (1..=1000u64).for_each(|number| latencies.record(Nanos::from_ns(number * 100)));
    let row = LatencyRow::of(&latencies, &Counts::new(), 0);
    let cpus = [0, 1].map(|cpu| CpuNumbers { cpu, row: row.clone() }).into();
    cells.push(CellResult { whole: Some(row), cpus, latencies, published: Vec::new(), ..cell("isolated", None) });
    comparisons.push(PairResult {
        first: "plain".to_owned(),
        second: "isolated".to_owned(),
        question: "What does isolation buy?".to_owned(),
        repetitions: 2,
        verdict: words::compare::verdict(Compared::Better).to_owned(),
        is_certain: true,
    });
    Result { title: "Three cells".to_owned(), cells, comparisons, ..result() }
}

#[test]
fn the_text_has_every_cell_every_comparison_and_what_was_published() {
    let told = text(&result(), Style::default());
    assert!(told.lines().all(|line| line.len() <= 80), "{told}");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Two cells",
        "tuned: not measured, after 2 boots",
        "Does it help? tuned against plain: not compared: one of them was not measured (0 repetitions)",
        "RK3588",
        "37",
        "divided by 100",
        "/tmp/c/result.html",
    ] {
        assert!(told.contains(part), "no '{part}' in\n{told}");
    }
    assert_eq!(
        brief(&result()).replace('\u{202f}', " "),
        "campaign: 2 cells, 1 refused; 0 of 1 comparison decided; /tmp/c\n"
    );
}

#[test]
fn the_page_has_the_same_and_a_picture_and_can_be_looked_at() {
    let page = html(&result()).unwrap();
    assert_page("campaign", &html(&with_two_curves()).unwrap());
    for part in ["Two cells", "after 2 boots", "Does it help?", "RK3588", "<svg", "pm.governor", "By CPU"] {
        assert!(page.contains(part), "no '{part}'");
    }
    assert!(page.replace('\u{202f}', " ").contains("1 of 2 cells measured"));
    assert!(page.contains("tuned was left out: after 2 boots") && !page.contains("until its next boot"));
}

#[test]
fn a_page_repeats_no_table_and_says_that_the_machine_is_not_back() {
    let one = |cell: CellResult| CellResult { cpus: cell.cpus.into_iter().take(1).collect(), ..cell };
    let cells = result().cells.into_iter().map(one).collect();
    let page = html(&Result { cells, is_home: false, ..result() }).unwrap();
    assert!(!page.contains("By CPU") && page.contains("until its next boot"));
}

#[test]
fn the_document_fits_its_schema() {
    let document = assert_valid(&result());
    assert_eq!(document["cells"][0]["whole"]["due"], 1000);
    assert_eq!(document["cells"][1]["published"][0]["here_ns"], serde_json::Value::Null);
}

#[test]
fn a_campaign_is_told_in_chinese() {
    assert_chinese("campaign", || text(&result(), Style::default()));
    assert_chinese_page("campaign", || html(&result()).unwrap());
}
